//! The table `[commands]`: environment, shell and session limit of commands; a project may only narrow them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use runtime::EnvironmentPolicy;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toml::Spanned;

use super::{MAX_PATTERNS, to_usize};
use crate::config_file::ConfigFile;
use crate::listing::{ConfigRow, RowValue, list_value, one_value, optional_value, row, value_and_source};
use crate::operation_fault::OperationFault;
use crate::project_file::{RefusedKey, refuse, refuse_if};
use crate::{SettingSource, SourcedValue};

/// Default limit of command sessions that run at a time.
const DEFAULT_SESSIONS: usize = 64;

/// The environment and the shell of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSettings {
    /// The inherited part of the user's environment; core by default.
    pub inherit: SourcedValue<EnvInheritance>,
    /// Names of additional variables to pass; `*` matches any characters.
    pub pass: Vec<SourcedValue<String>>,
    /// Names and values.
    pub set: Vec<SourcedValue<(String, String)>>,
    /// The maximum number of concurrent command sessions; 64 by default.
    pub sessions: SourcedValue<usize>,
    /// The user's own shell if unset.
    pub shell: SourcedValue<Option<PathBuf>>,
}

/// The part of the user's environment that a command inherits; the strictest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvInheritance {
    /// No variables.
    None,
    /// Identity, locale and the locations of toolchains.
    Core,
    /// All variables except the withheld ones, such as credentials.
    All,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CommandsTable {
    inherit: Option<Spanned<EnvInheritance>>,
    pass: Vec<Spanned<String>>,
    set: BTreeMap<String, Spanned<String>>,
    sessions: Option<Spanned<u64>>,
    shell: Option<Spanned<PathBuf>>,
}

/// The part of the table that a project may set.
#[derive(Debug)]
pub(crate) struct ProjectCommands<'a> {
    inherit: Option<&'a Spanned<EnvInheritance>>,
    sessions: Option<&'a Spanned<u64>>,
}

impl CommandsTable {
    pub(crate) fn check(&self, file: &ConfigFile) -> Result<(), OperationFault> {
        let Self { inherit: _, pass, set, sessions, shell } = self;
        file.check_range("sessions", sessions.as_ref(), 1..=1024)?;
        if let Some(one_more) = pass.get(MAX_PATTERNS).or(set.values().nth(MAX_PATTERNS)) {
            let why = format!("more than {MAX_PATTERNS} variables are too many");
            return Err(file.fault_at(&one_more.span(), &why));
        }
        let passed = pass.iter().map(|name| {
            let pass = vec![name.get_ref().clone()];
            (name.span(), EnvironmentPolicy { pass, ..EnvironmentPolicy::default() })
        });
        let set = set.iter().map(|(name, value)| {
            let set = vec![(name.clone(), value.get_ref().clone())];
            (value.span(), EnvironmentPolicy { set, ..EnvironmentPolicy::default() })
        });
        for (span, environment) in passed.chain(set) {
            environment.check().map_err(|fault| file.fault_at(&span, &fault.to_string()))?;
        }
        match shell {
            Some(shell) if !shell.get_ref().is_absolute() => {
                Err(file.fault_at(&shell.span(), "`shell` must be a whole path, e.g. `/bin/bash`"))
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn narrowing(&self) -> Result<ProjectCommands<'_>, RefusedKey> {
        let Self { inherit, pass, set, sessions, shell } = self;
        let inherit = refuse_if(inherit.as_ref(), "commands.inherit", |scope| *scope > EnvInheritance::Core)?;
        refuse(pass.first(), "commands.pass")?;
        refuse(set.values().next(), "commands.set")?;
        refuse(shell.as_ref(), "commands.shell")?;
        Ok(ProjectCommands { inherit, sessions: sessions.as_ref() })
    }
}

impl CommandSettings {
    pub(crate) fn built_in() -> Self {
        Self {
            inherit: SourcedValue::built_in(EnvInheritance::Core),
            pass: Vec::new(),
            set: Vec::new(),
            sessions: SourcedValue::built_in(DEFAULT_SESSIONS),
            shell: SourcedValue::built_in(None),
        }
    }

    pub(crate) fn apply_user(&mut self, file: &ConfigFile, table: &CommandsTable) {
        file.set(&mut self.inherit, table.inherit.as_ref(), |&inherit| inherit);
        self.pass.extend(file.texts(&table.pass));
        let named = |(name, value): (&String, &Spanned<String>)| {
            file.setting(value, |value| (name.clone(), value.clone()))
        };
        self.set.extend(table.set.iter().map(named));
        file.set(&mut self.sessions, table.sessions.as_ref(), to_usize);
        file.set(&mut self.shell, table.shell.as_ref(), |shell| Some(shell.clone()));
    }

    pub(crate) fn apply_project(&mut self, file: &ConfigFile, project: &ProjectCommands<'_>) {
        file.lower(&mut self.inherit, project.inherit, |&inherit| inherit);
        file.lower(&mut self.sessions, project.sessions, to_usize);
    }

    /// Adds a variable from a flag: `NAME` passes the user's own, `NAME=VALUE` sets one.
    pub fn add_variable(&mut self, named: &str) {
        let source = SettingSource::Flag("--env");
        match named.split_once('=') {
            Some((name, value)) => {
                self.set.push(SourcedValue { value: (name.to_owned(), value.to_owned()), source });
            }
            None => self.pass.push(SourcedValue { value: named.to_owned(), source }),
        }
    }

    pub(crate) fn rows(&self) -> Vec<ConfigRow> {
        let Self { inherit, pass, set, sessions, shell } = self;
        let mut rows = vec![
            row("commands.inherit", one_value(inherit)),
            row("commands.pass", list_value(pass.iter().map(value_and_source))),
        ];
        if set.is_empty() {
            rows.push(row("commands.set", RowValue::Unset));
        }
        rows.extend(set.iter().map(|SourcedValue { value: (name, value), source }| {
            let key = Cow::Owned(format!("commands.set.{}", toml_key(name)));
            ConfigRow { key, value: RowValue::One(json!(value), source.clone()) }
        }));
        rows.extend([
            row("commands.sessions", one_value(sessions)),
            row("commands.shell", optional_value(shell)),
        ]);
        rows
    }
}

/// Returns a variable's name as TOML spells a key.
fn toml_key(name: &str) -> String {
    let bare = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if bare { name.to_owned() } else { json!(name).to_string() }
}
