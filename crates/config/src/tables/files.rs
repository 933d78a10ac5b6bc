//! The table `[files]`: the paths that tools may read. A project may deny more of them.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use toml::Spanned;

use super::MAX_PATTERNS;
use crate::config_file::ConfigFile;
use crate::listing::{ConfigRow, list_value, one_value, row, value_and_source};
use crate::load::UserDirs;
use crate::operation_fault::OperationFault;
use crate::project_file::{RefusedKey, refuse, refuse_if};
use crate::{SettingSource, SourcedValue};

/// The paths that tools may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    /// Additional directories that tools may read.
    pub read_roots: Vec<SourcedValue<PathBuf>>,
    /// Patterns of paths that are never readable, at any depth.
    pub deny_read: Vec<SourcedValue<String>>,
    /// The use of the built-in deny-read list; true by default.
    pub deny_read_defaults: SourcedValue<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FilesTable {
    read_roots: Vec<Spanned<String>>,
    deny_read: Vec<Spanned<String>>,
    deny_read_defaults: Option<Spanned<bool>>,
}

/// The part of the table that a project may set.
#[derive(Debug)]
pub(crate) struct ProjectFiles<'a> {
    deny_read: &'a [Spanned<String>],
}

impl FilesTable {
    pub(crate) fn check(&self, file: &ConfigFile) -> Result<(), OperationFault> {
        if let Some(one_more) = self.deny_read.get(MAX_PATTERNS) {
            let why = format!("more than {MAX_PATTERNS} patterns are too many");
            return Err(file.fault_at(&one_more.span(), &why));
        }
        for pattern in &self.deny_read {
            // Any home directory serves to validate a pattern.
            runtime::DenyRead::new([pattern.get_ref()], Some(Path::new("/home")))
                .map_err(|fault| file.fault_at(&pattern.span(), &fault.to_string()))?;
        }
        Ok(())
    }

    pub(crate) fn narrowing(&self) -> Result<ProjectFiles<'_>, RefusedKey> {
        let Self { read_roots, deny_read, deny_read_defaults } = self;
        refuse(read_roots.first(), "files.read_roots")?;
        refuse_if(deny_read_defaults.as_ref(), "files.deny_read_defaults", |on| !on)?;
        Ok(ProjectFiles { deny_read })
    }
}

impl FileSettings {
    pub(crate) fn built_in() -> Self {
        Self {
            read_roots: Vec::new(),
            deny_read: Vec::new(),
            deny_read_defaults: SourcedValue::built_in(true),
        }
    }

    pub(crate) fn apply_user(&mut self, file: &ConfigFile, table: &FilesTable, dirs: &UserDirs) {
        let absolute = |root: &Spanned<String>| file.setting(root, |root| file.resolve_path(root, dirs));
        self.read_roots.extend(table.read_roots.iter().map(absolute));
        self.deny_read.extend(file.texts(&table.deny_read));
        file.set(&mut self.deny_read_defaults, table.deny_read_defaults.as_ref(), |&on| on);
    }

    pub(crate) fn apply_project(&mut self, file: &ConfigFile, project: &ProjectFiles<'_>) {
        self.deny_read.extend(file.texts(project.deny_read));
    }

    pub(crate) fn rows(&self) -> Vec<ConfigRow> {
        let Self { read_roots, deny_read, deny_read_defaults } = self;
        let built_in = runtime::DEFAULT_DENY_READ.iter().filter(|_| deny_read_defaults.value);
        let built_in = built_in.map(|pattern| (json!(pattern), SettingSource::BuiltIn));
        vec![
            row("files.read_roots", list_value(read_roots.iter().map(value_and_source))),
            row("files.deny_read", list_value(built_in.chain(deny_read.iter().map(value_and_source)))),
            row("files.deny_read_defaults", one_value(deny_read_defaults)),
        ]
    }
}
