//! The record of a setup: the text of each file before and after it, so that it can be taken back.

use std::path::PathBuf;

use config::{OperationFault, UserDirs};
use private_files::AtomicFile;
use serde_json::{Value, json};

use super::agent_files::AgentFile;
use super::edit_settings::{FileTexts, take_back_settings};
use super::take_back::{SettingKind, SettingLocation};
use super::{SettingsChange, read_if_exists};
use crate::args::SetupAgent;

/// The file that holds the record for one agent.
pub(super) struct SetupRecord {
    path: PathBuf,
}

/// A file of a setup: its texts before and after it, and the locations of the settings.
pub(super) struct RecordedFile {
    pub(super) change: SettingsChange,
    pub(super) locations: Vec<SettingLocation>,
    /// The directories that the setup made for the file, the innermost first.
    pub(super) made_directories: Vec<PathBuf>,
}

/// The change that takes a setup of a file back.
pub(super) struct UndoneFile {
    pub(super) change: SettingsChange,
    /// The settings that stay, because their values were changed since.
    pub(super) changed: Vec<String>,
}

impl SetupRecord {
    pub(super) fn locate(dirs: &UserDirs, agent: SetupAgent) -> Result<Self, OperationFault> {
        let state = dirs.state.as_ref().ok_or_else(|| {
            OperationFault::usage("neither HOME nor TOOLGATE_HOME is set, so a setup could not be taken back")
        })?;
        Ok(Self { path: state.join("mcp-setup").join(format!("{}.json", agent.as_str())) })
    }

    /// Saves these files, in place of their earlier entries.
    pub(super) fn save(&self, mut files: Vec<RecordedFile>) -> Result<(), OperationFault> {
        for earlier in self.read()? {
            match files.iter_mut().find(|file| file.change.path == earlier.change.path) {
                // The directories exist since the earlier setup.
                Some(file) if file.made_directories.is_empty() => {
                    file.made_directories = earlier.made_directories;
                }
                Some(_) => {}
                None => files.push(earlier),
            }
        }
        self.write(&files)
    }

    /// Returns the changes that take the setup of these files back. Agents rewrite their settings too; the values
    /// that they wrote since stay.
    ///
    /// # Errors
    /// If a file cannot be understood any more.
    pub(super) fn undo_changes(&self, files: &[AgentFile]) -> Result<Vec<UndoneFile>, OperationFault> {
        let mut undone = Vec::new();
        for RecordedFile { change, locations, made_directories: _ } in self.read()? {
            let SettingsChange { path, before, after } = change;
            let Some(file) = files.iter().find(|file| file.path == path) else { continue };
            let now = read_if_exists(&path)?;
            if now == before || now.is_none() {
                continue;
            }
            let (restored, changed) = if now == after {
                (before, Vec::new())
            } else {
                let [old, new, text] =
                    [&before, &after, &now].map(|text| text.as_deref().unwrap_or_default());
                let texts = FileTexts { before: old, after: new, now: text };
                let (text, changed) = take_back_settings(file.format, texts, &locations).map_err(|why| {
                    let why = format!("{}: {why}; nothing was changed", path.display());
                    OperationFault::failed(why).with_hint("remove the settings of `toolgate` from it by hand")
                })?;
                // Nothing but our settings was in it.
                let is_empty = matches!(text.trim(), "" | "{}");
                ((before.is_some() || !is_empty).then_some(text), changed)
            };
            undone
                .push(UndoneFile { change: SettingsChange { path, before: now, after: restored }, changed });
        }
        Ok(undone)
    }

    /// Removes these files from the record. Returns the directories that were made for them, the innermost first.
    pub(super) fn forget(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, OperationFault> {
        let (gone, rest): (Vec<RecordedFile>, Vec<RecordedFile>) =
            self.read()?.into_iter().partition(|file| paths.contains(&file.change.path));
        if rest.is_empty() {
            std::fs::remove_file(&self.path).map_err(|error| self.fault(&error.to_string()))?;
        } else {
            self.write(&rest)?;
        }
        Ok(gone.into_iter().flat_map(|file| file.made_directories).collect())
    }

    fn write(&self, files: &[RecordedFile]) -> Result<(), OperationFault> {
        let files: Vec<Value> = files.iter().map(RecordedFile::to_json).collect();
        let text = format!("{}\n", json!({ "files": files }));
        AtomicFile::open(&self.path)
            .and_then(|file| file.replace(&text))
            .map_err(|error| self.fault(&error.to_string()))
    }

    fn read(&self) -> Result<Vec<RecordedFile>, OperationFault> {
        let Some(text) = read_if_exists(&self.path)? else { return Ok(Vec::new()) };
        let record: Value = serde_json::from_str(&text).map_err(|error| self.fault(&error.to_string()))?;
        Ok(record["files"].as_array().into_iter().flatten().filter_map(RecordedFile::from_json).collect())
    }

    fn fault(&self, why: &str) -> OperationFault {
        OperationFault::failed(format!("{}: {why}", self.path.display()))
    }
}

impl RecordedFile {
    fn to_json(&self) -> Value {
        let SettingsChange { path, before, after } = &self.change;
        let settings: Vec<Value> = self
            .locations
            .iter()
            .map(|SettingLocation { keys, kind }| json!({ "keys": keys, "elements": *kind == SettingKind::Elements }))
            .collect();
        json!({ "path": path, "before": before, "after": after, "settings": settings, "made": self.made_directories })
    }

    fn from_json(file: &Value) -> Option<Self> {
        let side = |name: &str| file[name].as_str().map(str::to_owned);
        let path = PathBuf::from(file["path"].as_str()?);
        let location = |setting: &Value| {
            let keys = setting["keys"].as_array()?.iter();
            let keys = keys.map(|key| key.as_str().map(str::to_owned)).collect::<Option<_>>()?;
            let is_list = setting["elements"].as_bool()?;
            Some(SettingLocation {
                keys,
                kind: if is_list { SettingKind::Elements } else { SettingKind::Value },
            })
        };
        let locations = file["settings"].as_array().into_iter().flatten().filter_map(location).collect();
        let change = SettingsChange { path, before: side("before"), after: side("after") };
        let made = file["made"].as_array().into_iter().flatten();
        let made_directories = made.filter_map(|path| Some(PathBuf::from(path.as_str()?))).collect();
        Some(Self { change, locations, made_directories })
    }
}
