//! The directory with the stages of all sessions of this user.

use std::path::{Path, PathBuf};

use crate::stage::{NewStage, RECORD_FILE, Stage};
use crate::stage_fault::StageFault;

/// The directory with all stages.
#[derive(Debug, Clone)]
pub struct StageStore {
    directory: PathBuf,
}

/// A stage in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageSummary {
    /// Its id.
    pub id: String,
    /// What the session does.
    pub title: String,
    /// The seconds from 1970 to its creation.
    pub created: u64,
    /// The working directory of the session.
    pub directory: PathBuf,
}

impl StageStore {
    /// Uses `directory`, which is created when it is needed.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates a stage with this id.
    pub fn create(&self, id: &str, new: NewStage) -> Result<Stage, StageFault> {
        let fault = |source| StageFault::Io { directory: self.directory.clone(), source };
        private_files::ensure_private_dir(&self.directory).map_err(fault)?;
        Stage::create(&self.directory.join(id), new)
    }

    /// Opens the stage with this id. `records` is the directory of the records of commits.
    pub fn open(&self, id: &str, records: &Path) -> Result<Stage, StageFault> {
        Stage::open(&self.directory.join(id), records)
    }

    /// Returns true if there is a stage with this id.
    pub fn contains(&self, id: &str) -> bool {
        rustix::fs::stat(self.directory.join(id).join(RECORD_FILE)).is_ok()
    }

    /// Lists all readable stages, the newest first.
    pub fn list(&self) -> Vec<StageSummary> {
        let names = crate::open_files::open_directory(&self.directory)
            .and_then(|directory| crate::open_files::names_in(&directory))
            .unwrap_or_default();
        let summary = |name: std::ffi::OsString| {
            let record = crate::stage::read_record(&self.directory.join(&name)).ok()?;
            Some(StageSummary {
                id: name.into_string().ok()?,
                title: record.title,
                created: record.created,
                directory: record.directory.to_path_buf(),
            })
        };
        let mut all: Vec<StageSummary> = names.into_iter().filter_map(summary).collect();
        all.sort_by(|one, other| (other.created, &other.id).cmp(&(one.created, &one.id)));
        all
    }

    /// Removes the stage with this id, and everything that it keeps.
    pub fn remove(&self, id: &str) -> Result<(), StageFault> {
        let directory = self.directory.join(id);
        patch::remove_tree(&directory).map_err(|source| StageFault::Io { directory, source })
    }
}
