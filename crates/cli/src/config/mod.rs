//! The configuration in force: built-in values, the user's file, the project's file, flags; each value knows where
//! it comes from.
//!
//! A project's file comes with the project, from whoever wrote it. It may narrow what tools can do, never widen it.

mod file;
mod load;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use load::{Dirs, load};

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
}

impl<T> Setting<T> {
    fn built_in(value: T) -> Self {
        Self { value, source: Source::BuiltIn }
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    BuiltIn,
    File { path: PathBuf, line: usize },
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LookedFor {
    pub(crate) path: PathBuf,
    pub(crate) found: bool,
}

/// How whole numbers are described to the model's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Integers {
    Keep,
    Number,
}

/// Whether the model's provider may search the web for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WebSearch {
    Off,
    Cached,
    Live,
}

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) model: Setting<Option<String>>,
    /// Each list narrows the one before it.
    pub(crate) only: Vec<Setting<Vec<String>>>,
    pub(crate) without: Vec<Setting<String>>,
    pub(crate) web_search: Setting<WebSearch>,
    pub(crate) read_roots: Vec<Setting<PathBuf>>,
    pub(crate) deny_read: Vec<Setting<String>>,
    pub(crate) deny_read_defaults: Setting<bool>,
    pub(crate) output_tokens: Setting<usize>,
    pub(crate) call_timeout_ms: Setting<u64>,
    pub(crate) parallel: Setting<usize>,
    pub(crate) integers: Setting<Integers>,
    pub(crate) files: Vec<LookedFor>,
}

/// One line of `toolgate config`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) key: &'static str,
    pub(crate) value: Value,
    pub(crate) source: Source,
}

impl Config {
    fn built_in() -> Self {
        let limits = toolgate::Limits::default();
        let timeout = u64::try_from(limits.call_timeout.as_millis()).unwrap_or(u64::MAX);
        Self {
            model: Setting::built_in(None),
            only: Vec::new(),
            without: Vec::new(),
            web_search: Setting::built_in(WebSearch::Off),
            read_roots: Vec::new(),
            deny_read: Vec::new(),
            deny_read_defaults: Setting::built_in(true),
            output_tokens: Setting::built_in(limits.output_tokens),
            call_timeout_ms: Setting::built_in(timeout),
            parallel: Setting::built_in(limits.parallel),
            integers: Setting::built_in(Integers::Keep),
            files: Vec::new(),
        }
    }

    /// The tools that every `only` names; `None` if nothing is said.
    pub(crate) fn only(&self) -> Option<BTreeSet<String>> {
        let sets = self.only.iter().map(|only| only.value.iter().cloned().collect::<BTreeSet<_>>());
        sets.reduce(|one, other| one.intersection(&other).cloned().collect())
    }

    /// Where the tool `name` is named.
    pub(crate) fn names(&self, name: &str) -> Option<&Source> {
        let only = self.only.iter().find(|only| only.value.iter().any(|one| one == name));
        let without = self.without.iter().find(|one| one.value == name);
        only.map(|only| &only.source).or(without.map(|without| &without.source))
    }

    pub(crate) fn call_timeout(&self) -> Duration {
        Duration::from_millis(self.call_timeout_ms.value)
    }

    /// Every value with its source, in the order of the documentation.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut row = |key, value, source: &Source| rows.push(Row { key, value, source: source.clone() });
        row("model", json!(self.model.value), &self.model.source);
        for only in &self.only {
            row("tools.only", json!(only.value), &only.source);
        }
        for name in &self.without {
            row("tools.without", json!(name.value), &name.source);
        }
        row("tools.web_search", json!(self.web_search.value), &self.web_search.source);
        for root in &self.read_roots {
            row("files.read_roots", json!(root.value), &root.source);
        }
        if self.deny_read_defaults.value {
            for pattern in toolgate::DEFAULT_DENY_READ {
                row("files.deny_read", json!(pattern), &Source::BuiltIn);
            }
        }
        for pattern in &self.deny_read {
            row("files.deny_read", json!(pattern.value), &pattern.source);
        }
        row(
            "files.deny_read_defaults",
            json!(self.deny_read_defaults.value),
            &self.deny_read_defaults.source,
        );
        row("limits.output_tokens", json!(self.output_tokens.value), &self.output_tokens.source);
        row("limits.call_timeout_ms", json!(self.call_timeout_ms.value), &self.call_timeout_ms.source);
        row("limits.parallel", json!(self.parallel.value), &self.parallel.source);
        row("wire.integers", json!(self.integers.value), &self.integers.source);
        rows
    }
}
