//! The table `[limits]`: limits of tool calls. A project may lower each of them.

use serde::Deserialize;
use toml::Spanned;

use super::to_usize;
use crate::SourcedValue;
use crate::config_file::ConfigFile;
use crate::listing::{ConfigRow, one_value, row};
use crate::operation_fault::OperationFault;

/// Limits of tool calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// The maximum length of an answer in tokens of four bytes.
    pub output_tokens: SourcedValue<usize>,
    /// The time limit of a call in milliseconds, counted from its start.
    pub call_timeout_ms: SourcedValue<u64>,
    /// The maximum number of concurrent read-only calls.
    pub parallel: SourcedValue<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsTable {
    output_tokens: Option<Spanned<u64>>,
    call_timeout_ms: Option<Spanned<u64>>,
    parallel: Option<Spanned<u64>>,
}

impl LimitsTable {
    pub(crate) fn check(&self, file: &ConfigFile) -> Result<(), OperationFault> {
        file.check_range("output_tokens", self.output_tokens.as_ref(), 100..=1_000_000)?;
        file.check_range("call_timeout_ms", self.call_timeout_ms.as_ref(), 100..=86_400_000)?;
        file.check_range("parallel", self.parallel.as_ref(), 1..=1024)
    }
}

impl LimitSettings {
    pub(crate) fn built_in() -> Self {
        let limits = runtime::CallLimits::default();
        let timeout = u64::try_from(limits.call_timeout.as_millis()).unwrap_or(u64::MAX);
        Self {
            output_tokens: SourcedValue::built_in(limits.output_tokens),
            call_timeout_ms: SourcedValue::built_in(timeout),
            parallel: SourcedValue::built_in(limits.parallel),
        }
    }

    pub(crate) fn apply_user(&mut self, file: &ConfigFile, table: &LimitsTable) {
        file.set(&mut self.output_tokens, table.output_tokens.as_ref(), to_usize);
        file.set(&mut self.call_timeout_ms, table.call_timeout_ms.as_ref(), |&timeout| timeout);
        file.set(&mut self.parallel, table.parallel.as_ref(), to_usize);
    }

    pub(crate) fn apply_project(&mut self, file: &ConfigFile, table: &LimitsTable) {
        file.lower(&mut self.output_tokens, table.output_tokens.as_ref(), to_usize);
        file.lower(&mut self.call_timeout_ms, table.call_timeout_ms.as_ref(), |&timeout| timeout);
        file.lower(&mut self.parallel, table.parallel.as_ref(), to_usize);
    }

    pub(crate) fn rows(&self) -> Vec<ConfigRow> {
        vec![
            row("limits.output_tokens", one_value(&self.output_tokens)),
            row("limits.call_timeout_ms", one_value(&self.call_timeout_ms)),
            row("limits.parallel", one_value(&self.parallel)),
        ]
    }
}
