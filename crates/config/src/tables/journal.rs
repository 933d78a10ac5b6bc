//! The table `[journal]`: the quota of stored sessions. A project may not set it.

use serde::Deserialize;
use toml::Spanned;

use crate::SourcedValue;
use crate::config_file::ConfigFile;
use crate::listing::{ConfigRow, optional_value, row};
use crate::operation_fault::OperationFault;
use crate::project_file::{RefusedKey, refuse};

/// The quota of stored sessions. Without a limit, every session stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalSettings {
    /// The number of days after which a session is removed.
    pub keep_days: SourcedValue<Option<u64>>,
    /// The size of all sessions in MiB.
    pub max_mb: SourcedValue<Option<u64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JournalTable {
    keep_days: Option<Spanned<u64>>,
    max_mb: Option<Spanned<u64>>,
}

impl JournalTable {
    pub(crate) fn check(&self, file: &ConfigFile) -> Result<(), OperationFault> {
        file.check_range("keep_days", self.keep_days.as_ref(), 1..=36_500)?;
        file.check_range("max_mb", self.max_mb.as_ref(), 1..=1_000_000_000)
    }

    /// Refuses every key in a project's file: it would remove the user's sessions.
    pub(crate) fn refuse_project(&self) -> Result<(), RefusedKey> {
        let Self { keep_days, max_mb } = self;
        refuse(keep_days.as_ref(), "journal.keep_days")?;
        refuse(max_mb.as_ref(), "journal.max_mb")
    }
}

impl JournalSettings {
    pub(crate) fn built_in() -> Self {
        Self { keep_days: SourcedValue::built_in(None), max_mb: SourcedValue::built_in(None) }
    }

    pub(crate) fn apply_user(&mut self, file: &ConfigFile, table: &JournalTable) {
        file.set(&mut self.keep_days, table.keep_days.as_ref(), |&days| Some(days));
        file.set(&mut self.max_mb, table.max_mb.as_ref(), |&megabytes| Some(megabytes));
    }

    pub(crate) fn rows(&self) -> Vec<ConfigRow> {
        vec![
            row("journal.keep_days", optional_value(&self.keep_days)),
            row("journal.max_mb", optional_value(&self.max_mb)),
        ]
    }
}
