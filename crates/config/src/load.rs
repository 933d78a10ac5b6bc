//! Finds the configuration files, and merges their values with the built-in ones and the flags.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::config_file::{ConfigFile, ConfigSymlinks, ConfigTables, DirectoryTable};
use super::hook::HookTable;
use super::mcp_server::ServerTable;
use super::project_file::{ProjectTables, RefusedKey};
use super::tool_forms::ModelTable;
use super::{ApprovalMode, CandidateState, Config, ConfigCandidate, SettingSource, SourcedValue};
use crate::flags::WorkspaceArgs;
use crate::operation_fault::OperationFault;

/// The project's file.
pub const PROJECT_FILE: &str = "toolgate.toml";
/// The user's file; both names are tried, and only one may exist.
const USER_FILES: [&str; 2] = ["config.toml", "toolgate.toml"];

/// The user's own directories.
#[derive(Debug, Clone, Default)]
pub struct UserDirs {
    /// The home directory.
    pub home: Option<PathBuf>,
    /// Configuration.
    pub config: Option<PathBuf>,
    /// State that is kept across sessions.
    pub state: Option<PathBuf>,
    /// Session journals.
    pub sessions: Option<PathBuf>,
}

impl UserDirs {
    /// Reads the directories from `TOOLGATE_HOME`, else the XDG variables, else the home directory.
    pub fn from_env() -> Result<Self, OperationFault> {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        if let Some(own) = std::env::var_os("TOOLGATE_HOME").map(PathBuf::from) {
            if !own.is_absolute() {
                let wrong = format!("TOOLGATE_HOME is `{}`; it must be a whole path", own.display());
                return Err(OperationFault::usage(wrong));
            }
            let sessions = Some(own.join("sessions"));
            return Ok(Self { home, state: Some(own.join("state")), sessions, config: Some(own) });
        }
        // The XDG standard says that a relative path there is ignored.
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let below = |xdg: &str, default: &str| {
            absolute(xdg).or_else(|| Some(home.as_ref()?.join(default))).map(|dir| dir.join("toolgate"))
        };
        let (config, state) = (below("XDG_CONFIG_HOME", ".config"), below("XDG_STATE_HOME", ".local/state"));
        let sessions = state.as_ref().map(|state| state.join("sessions"));
        Ok(Self { home, config, state, sessions })
    }
}

/// Loads the configuration for work in `cwd`.
pub fn load(cwd: &Path, dirs: &UserDirs, flags: &WorkspaceArgs) -> Result<Config, OperationFault> {
    let mut config = Config::built_in();
    if let Some(file) = read_user_file(dirs, &mut config.candidates)? {
        config.apply_user_file(&file, dirs)?;
        config.apply_directory(&file, cwd);
    }
    let own_model = config.model.value.is_some();
    for file in read_project_files(cwd, &mut config.candidates)? {
        let project = ProjectTables::from_tables(&file.content, config.confinement.require.value)
            .map_err(|refused| refused_key_fault(&file, dirs, &refused))?;
        config.apply_project_file(&file, &project);
        // The model decides which tools are offered, so the user's own choice wins.
        if !own_model {
            file.set(&mut config.model, project.model, |model| Some(model.clone()));
        }
    }
    config.apply_flags(cwd, flags)?;
    Ok(config)
}

/// Returns the path of the user's file, whether or not it exists.
pub fn user_config_path(dirs: &UserDirs) -> Result<PathBuf, OperationFault> {
    let missing =
        || OperationFault::usage("there is no home to keep a configuration in; set HOME or TOOLGATE_HOME");
    let directory = dirs.config.as_ref().ok_or_else(missing)?;
    let there =
        USER_FILES.iter().map(|name| directory.join(name)).find(|path| path.symlink_metadata().is_ok());
    Ok(there.unwrap_or_else(|| directory.join(USER_FILES[0])))
}

fn read_user_file(
    dirs: &UserDirs,
    candidates: &mut Vec<ConfigCandidate>,
) -> Result<Option<ConfigFile>, OperationFault> {
    let Some(directory) = &dirs.config else { return Ok(None) };
    let mut found = None;
    for name in USER_FILES {
        let path = directory.join(name);
        let file = ConfigFile::read(&path, ConfigSymlinks::Follow)?;
        if file.is_some() && found.is_some() {
            let [one, other] = USER_FILES;
            let both = format!("`{}` holds both `{one}` and `{other}`; keep one", directory.display());
            return Err(OperationFault::usage(both));
        }
        candidates.push(ConfigCandidate {
            path,
            found: if file.is_some() { CandidateState::Read } else { CandidateState::NotThere },
        });
        found = file.or(found);
    }
    Ok(found)
}

/// Returns every project file at or above `cwd`, outermost first: up to the top of its git repository, else to the
/// root. Above `cwd`, only files of the owner of `cwd`, of the user or of root count: anyone may put a file into
/// `/tmp`.
fn read_project_files(
    cwd: &Path,
    candidates: &mut Vec<ConfigCandidate>,
) -> Result<Vec<ConfigFile>, OperationFault> {
    let mut files = Vec::new();
    for (path, whose) in paths_at_or_above(cwd, Path::new(PROJECT_FILE)) {
        match whose {
            FileOwner::Others => candidates.push(ConfigCandidate { path, found: CandidateState::NotYours }),
            FileOwner::Ours => {
                if let Some(file) = ConfigFile::read(&path, ConfigSymlinks::Refuse)? {
                    candidates.push(ConfigCandidate { path, found: CandidateState::Read });
                    files.push(file);
                }
            }
        }
    }
    if files.is_empty() {
        let cwd = exec::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        candidates.push(ConfigCandidate { path: cwd.join(PROJECT_FILE), found: CandidateState::NotThere });
    }
    files.reverse();
    Ok(files)
}

/// The owner of a project file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOwner {
    /// The user, root or the owner of the working directory; also if the file does not exist.
    Ours,
    Others,
}

/// Returns the paths of `name` at and above `cwd`, innermost first: up to the top of its git repository, else to the
/// root.
pub(super) fn paths_at_or_above(cwd: &Path, name: &Path) -> Vec<(PathBuf, FileOwner)> {
    // Resolved first, so that `sub/..` does not make `sub` a parent directory.
    let cwd = &exec::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
    let repository = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
    let top = repository.unwrap_or(Path::new("/"));
    let owner = |path: &Path| path.symlink_metadata().ok().map(|meta| meta.uid());
    let trusted = [Some(0), Some(rustix::process::geteuid().as_raw()), owner(cwd)];
    let place = |directory: &Path| {
        let path = directory.join(name);
        let owner = owner(&path);
        let others = directory != cwd && owner.is_some() && !trusted.contains(&owner);
        (path, if others { FileOwner::Others } else { FileOwner::Ours })
    };
    cwd.ancestors().take_while(|dir| dir.starts_with(top)).map(place).collect()
}

/// Explains that a project may not set the key.
fn refused_key_fault(
    file: &ConfigFile,
    dirs: &UserDirs,
    RefusedKey { span, key }: &RefusedKey,
) -> OperationFault {
    let own = dirs.config.as_ref().map(|dir| format!(" ({})", dir.join(USER_FILES[0]).display()));
    let own = own.unwrap_or_default();
    let why = format!(
        "a project may narrow what tools can do, not widen it: `{key}` belongs in your own file{own}"
    );
    file.fault_at(span, &why)
}

impl Config {
    /// Applies the flags.
    fn apply_flags(&mut self, cwd: &Path, flags: &WorkspaceArgs) -> Result<(), OperationFault> {
        if let Some(model) = &flags.model {
            self.model = SourcedValue { value: Some(model.clone()), source: SettingSource::Flag("--model") };
        }
        if let Some(value) = flags.sandbox {
            self.sandbox = SourcedValue { value, source: SettingSource::Flag("--sandbox") };
        }
        if let Some(value) = flags.approval {
            self.approval = SourcedValue { value, source: SettingSource::Flag("--approval") };
        }
        if let Some(value) = flags.changes {
            self.changes = SourcedValue { value, source: SettingSource::Flag("--changes") };
        }
        self.confinement.apply_flags(cwd, &flags.confine)?;
        for pattern in &flags.confine.deny_read {
            let source = SettingSource::Flag("--deny-read");
            // A shell expands a glob to paths relative to the current directory.
            let value = match pattern.strip_prefix("./") {
                Some(rest) => cwd.join(rest).to_string_lossy().into_owned(),
                None => pattern.clone(),
            };
            self.files.deny_read.push(SourcedValue { value, source });
        }
        for root in &flags.read_root {
            let value = cwd.join(root);
            self.files.read_roots.push(SourcedValue { value, source: SettingSource::Flag("--read-root") });
        }
        Ok(())
    }

    /// Applies the user's file.
    fn apply_user_file(&mut self, file: &ConfigFile, dirs: &UserDirs) -> Result<(), OperationFault> {
        let ConfigTables {
            model,
            insecure_http,
            sandbox,
            approval,
            changes,
            tools,
            files,
            commands,
            confinement,
            limits,
            journal,
            wire,
            ..
        } = &file.content;
        file.set(&mut self.model, model.as_ref(), |model| Some(model.clone()));
        file.set(&mut self.insecure_http, insecure_http.as_ref(), |&insecure| insecure);
        file.set(&mut self.sandbox, sandbox.as_ref(), |&sandbox| sandbox);
        file.set(&mut self.approval, approval.as_ref(), |&approval| approval);
        file.set(&mut self.changes, changes.as_ref(), |&changes| changes);
        self.tools.apply_user(file, tools);
        self.models.extend(ModelTable::settings(file));
        self.files.apply_user(file, files, dirs);
        self.commands.apply_user(file, commands);
        self.confinement.apply_user(file, confinement, dirs)?;
        self.limits.apply_user(file, limits);
        self.journal.apply_user(file, journal);
        file.set(&mut self.integers, wire.integers.as_ref(), |&integers| integers);
        self.hooks.extend(HookTable::settings(file, dirs));
        self.servers.extend(ServerTable::settings(file, dirs));
        Ok(())
    }

    /// Applies the user's settings for the innermost directory that contains `cwd`.
    fn apply_directory(&mut self, file: &ConfigFile, cwd: &Path) {
        let tables = file.content.directories.iter().filter(|(directory, _)| cwd.starts_with(directory));
        if let Some((_, table)) = tables.max_by_key(|(directory, _)| directory.components().count()) {
            let DirectoryTable { sandbox, approval, changes } = table.get_ref();
            file.set(&mut self.changes, changes.as_ref(), |&changes| changes);
            file.set(&mut self.sandbox, sandbox.as_ref(), |&sandbox| sandbox);
            file.set(&mut self.approval, approval.as_ref(), |&approval| approval);
        }
    }

    /// Applies a project's file: lists accumulate, limits only shrink.
    fn apply_project_file(&mut self, file: &ConfigFile, project: &ProjectTables<'_>) {
        file.lower(&mut self.sandbox, project.sandbox, |&sandbox| sandbox);
        file.lower(&mut self.changes, project.changes, |&changes| changes);
        // A user who is never asked is not asked more often either, and a disabled approval stays disabled.
        let off = project.approval.is_some_and(|theirs| *theirs.get_ref() == ApprovalMode::Disabled);
        if off || !matches!(self.approval.value, ApprovalMode::Never | ApprovalMode::Disabled) {
            file.set(&mut self.approval, project.approval, |&approval| approval);
        }
        self.tools.apply_project(file, &project.tools);
        self.files.apply_project(file, &project.files);
        self.commands.apply_project(file, &project.commands);
        self.confinement.apply_project(file, &project.confinement);
        self.limits.apply_project(file, project.limits);
        file.set(&mut self.integers, project.integers, |&integers| integers);
    }
}
