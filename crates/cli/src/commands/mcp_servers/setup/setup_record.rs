//! The record of a setup: the text of each file before and after it, so that it can be taken back.

use std::path::PathBuf;

use config::{OperationFault, UserDirs};
use private_files::AtomicFile;
use serde_json::{Value, json};

use super::merge_lines::merge_lines;
use super::{SettingsChange, read_if_exists};
use crate::args::SetupAgent;

/// The file that holds the record for one agent.
pub(super) struct SetupRecord {
    path: PathBuf,
}

impl SetupRecord {
    pub(super) fn locate(dirs: &UserDirs, agent: SetupAgent) -> Result<Self, OperationFault> {
        let state = dirs.state.as_ref().ok_or_else(|| {
            OperationFault::usage("neither HOME nor TOOLGATE_HOME is set, so a setup could not be taken back")
        })?;
        Ok(Self { path: state.join("mcp-setup").join(format!("{}.json", agent.as_str())) })
    }

    /// Saves the changes, in place of those of the same files.
    pub(super) fn save(&self, mut changes: Vec<SettingsChange>) -> Result<(), OperationFault> {
        let others = self.read()?.into_iter();
        let others: Vec<SettingsChange> =
            others.filter(|first| changes.iter().all(|change| change.path != first.path)).collect();
        changes.extend(others);
        self.write(&changes)
    }

    /// Returns the changes that take the setup of these files back.
    ///
    /// # Errors
    /// If the settings of a setup were changed since.
    pub(super) fn undo_changes(&self, paths: &[PathBuf]) -> Result<Vec<SettingsChange>, OperationFault> {
        let mut changes = Vec::new();
        for SettingsChange { path, before, after } in self.read()? {
            let now = read_if_exists(&path)?;
            if !paths.contains(&path) || now == before {
                continue;
            }
            let restored = if now == after {
                before
            } else {
                // Agents write into their own settings too; what they wrote since stays.
                let [base, old, new] =
                    [&after, &before, &now].map(|text| text.as_deref().unwrap_or_default());
                Some(merge_lines(base, old, new).ok_or_else(|| {
                    let why = format!(
                        "`{}` was changed since the setup in the same lines; nothing was changed",
                        path.display()
                    );
                    OperationFault::failed(why).with_hint("remove the settings of `toolgate` from it by hand")
                })?)
            };
            changes.push(SettingsChange { path, before: now, after: restored });
        }
        Ok(changes)
    }

    /// Removes these files from the record.
    pub(super) fn forget(&self, paths: &[PathBuf]) -> Result<(), OperationFault> {
        let rest: Vec<SettingsChange> =
            self.read()?.into_iter().filter(|change| !paths.contains(&change.path)).collect();
        if rest.is_empty() {
            return std::fs::remove_file(&self.path).map_err(|error| self.fault(&error.to_string()));
        }
        self.write(&rest)
    }

    fn write(&self, files: &[SettingsChange]) -> Result<(), OperationFault> {
        let files: Vec<Value> = files
            .iter()
            .map(|file| json!({ "path": file.path, "before": file.before, "after": file.after }))
            .collect();
        let text = format!("{}\n", json!({ "files": files }));
        AtomicFile::open(&self.path)
            .and_then(|file| file.replace(&text))
            .map_err(|error| self.fault(&error.to_string()))
    }

    fn read(&self) -> Result<Vec<SettingsChange>, OperationFault> {
        let Some(text) = read_if_exists(&self.path)? else { return Ok(Vec::new()) };
        let record: Value = serde_json::from_str(&text).map_err(|error| self.fault(&error.to_string()))?;
        let side = |file: &Value, name: &str| file[name].as_str().map(str::to_owned);
        let files = record["files"].as_array().into_iter().flatten();
        Ok(files
            .filter_map(|file| {
                let path = PathBuf::from(file["path"].as_str()?);
                Some(SettingsChange { path, before: side(file, "before"), after: side(file, "after") })
            })
            .collect())
    }

    fn fault(&self, why: &str) -> OperationFault {
        OperationFault::failed(format!("{}: {why}", self.path.display()))
    }
}
