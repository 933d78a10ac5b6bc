//! Staged changes of this user: where they are kept, and how a session with `--changes staged` is set up.

use std::path::{Path, PathBuf};

use journal::SessionId;
use runtime::{StagedFault, StagedSetup};
use staging::{GitLayerDir, GitRules, Stage, StageFault, StageStore};

use crate::compose::ComposedTools;
use config::{ChangesMode, OperationFault, UserDirs};

/// The directory of stages below the state directory.
const STAGES_DIRECTORY: &str = "changes";

/// Returns the stages of this user, and the directory of the records of their commits.
pub fn stage_store(dirs: &UserDirs) -> Result<(StageStore, PathBuf), OperationFault> {
    let Some(state) = &dirs.state else {
        return Err(OperationFault::usage("there is no home directory, so no changes can be kept aside"));
    };
    // A path without links: the directory of a user may be one.
    let state = exec::fs::canonicalize_existing(state);
    Ok((StageStore::new(state.join(STAGES_DIRECTORY)), state.join("edits")))
}

/// Finds the stage with this id, or the newest one whose session worked in `directory`, above it or below it.
pub fn find_stage(
    dirs: &UserDirs,
    id: Option<&str>,
    directory: &Path,
) -> Result<(Stage, PathBuf), OperationFault> {
    let (store, records) = stage_store(dirs)?;
    let all = store.list();
    let found = match id {
        Some("last") | None => all
            .iter()
            .find(|one| one.directory.starts_with(directory) || directory.starts_with(&one.directory)),
        Some(id) => all.iter().find(|one| one.id.starts_with(id)),
    };
    let Some(found) = found else {
        let what = match id {
            Some("last") | None => {
                format!("no session has staged changes in `{}`", directory.display())
            }
            Some(id) => format!("no session `{id}` has staged changes"),
        };
        return Err(OperationFault::usage(what)
            .with_hint("`toolgate try -- CMD` and `--changes staged` stage changes"));
    };
    let stage = store.open(&found.id, &records).map_err(|fault| stage_fault(&fault))?;
    Ok((stage, records))
}

/// The rules by which the sandbox applies changes of git directories.
#[derive(Debug)]
pub struct SandboxGitRules;

impl GitRules for SandboxGitRules {
    fn land(&mut self, layer: &GitLayerDir) -> Vec<String> {
        exec::sandbox::land_git_layer(&layer.git_dir, &layer.upper, layer.since)
    }

    fn is_same_index(&self, known: &Path, now: &Path) -> bool {
        exec::sandbox::is_same_git_index(known, now)
    }
}

/// Converts a fault of a stage to a command's error.
pub fn stage_fault(fault: &StageFault) -> OperationFault {
    let hint = match fault {
        StageFault::Conflicts { .. } => {
            Some("`toolgate apply PATH…` applies other paths, `toolgate discard PATH…` gives these up")
        }
        StageFault::Busy { .. } => Some("wait until it has ended, or end the session"),
        StageFault::NoSuchChange { .. } => Some("`toolgate changes` lists them"),
        StageFault::NoSuchCheckpoint { .. } => Some("`toolgate checkpoints` lists them"),
        StageFault::Io { .. }
        | StageFault::NothingTo(_)
        | StageFault::Refused(_)
        | StageFault::Unreadable { .. } => None,
    };
    let error = OperationFault::usage(fault.to_string());
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Converts the reason why changes cannot be staged to a command's error.
pub fn staged_fault(fault: &StagedFault) -> OperationFault {
    let hint = match fault {
        StagedFault::Stage(fault) => return stage_fault(fault),
        StagedFault::Mount(_) => "`toolgate doctor` says whether user namespaces work here",
        StagedFault::NotConfined | StagedFault::NothingWritable => "add `--sandbox workspace-write`",
        StagedFault::StateInside { .. } => {
            "work in a directory below it, or set TOOLGATE_HOME to a directory elsewhere"
        }
    };
    OperationFault::usage(fault.to_string()).with_hint(hint)
}

impl ComposedTools {
    /// Returns true if changes are staged.
    pub fn stages_changes(&self) -> bool {
        self.config().changes.value == ChangesMode::Staged
    }

    /// Returns true if changes are to be staged, and the session has no stage yet.
    pub(crate) fn lacks_stage(&self) -> bool {
        self.stages_changes() && !self.builder().is_staged()
    }

    /// Checks that a single command, whose changes nothing would stage, may write directly.
    pub(crate) fn check_direct(&self) -> Result<(), OperationFault> {
        match self.lacks_stage() {
            true => Err(OperationFault::usage("`toolgate sandbox` writes to your files directly")
                .with_hint("`toolgate try -- CMD` keeps the changes aside")),
            false => Ok(()),
        }
    }

    /// Stages changes under the id of the session, if the configuration says so.
    pub(crate) fn with_session_stage(self, id: &SessionId) -> Result<Self, OperationFault> {
        if !self.stages_changes() {
            return Ok(self);
        }
        self.with_stage(id.as_str(), "session")
    }

    /// Stages changes under `id`.
    pub fn with_stage(self, id: &str, title: &str) -> Result<Self, OperationFault> {
        let (store, records) = stage_store(self.dirs())?;
        let setup = StagedSetup { store, id: id.to_owned(), title: title.to_owned(), records };
        Ok(self.map_builder(|builder| builder.staged(setup)))
    }
}
