//! Finds the configuration files, and merges their values with the built-in ones and the flags.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use runtime::HostPattern;
use toml::Spanned;

use super::config_file::{ConfigFile, ConfigSymlinks, ConfigTables};
use super::hook::HookTable;
use super::mcp_server::ServerTable;
use super::project_file::{CommandLimitKeys, NarrowingLists, ProjectTables, RefusedKey};
use super::tool_forms::ModelTable;
use super::web_search::WebSearchKey;
use super::{
    ApprovalMode, CandidateState, Config, ConfigCandidate, HostedSearchMode, INVALID_SOCKET, SettingSource,
    SourcedValue, is_socket_name,
};
use crate::flags::{ConfinementArgs, WorkspaceArgs};
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
        config.apply_user_file(&file);
        config.apply_user_only_keys(&file, dirs)?;
    }
    let own_model = config.model.value.is_some();
    for file in read_project_files(cwd, &mut config.candidates)? {
        let project = ProjectTables::from_tables(&file.content, config.confinement.require.value)
            .map_err(|refused| refused_key_fault(&file, dirs, &refused))?;
        config.apply_project_file(&file, &project);
        // The model decides which tools are offered, so the user's own choice wins.
        if !own_model {
            set_from_file(&mut config.model, &file, project.model, |model| Some(model.clone()));
        }
    }
    if let Some(model) = &flags.model {
        config.model = SourcedValue { value: Some(model.clone()), source: SettingSource::Flag("--model") };
    }
    if let Some(value) = flags.sandbox {
        config.sandbox = SourcedValue { value, source: SettingSource::Flag("--sandbox") };
    }
    if let Some(value) = flags.approval {
        config.approval = SourcedValue { value, source: SettingSource::Flag("--approval") };
    }
    config.apply_flags(cwd, &flags.confine)?;
    for root in &flags.read_root {
        let value = cwd.join(root);
        config.files.read_roots.push(SourcedValue { value, source: SettingSource::Flag("--read-root") });
    }
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

impl super::ConfinementSettings {
    /// Pairs each limit with its value in a file.
    fn limit_pairs<'a>(
        &'a mut self,
        keys: &CommandLimitKeys<'a>,
    ) -> impl Iterator<Item = (&'a mut SourcedValue<Option<u64>>, Option<&'a Spanned<u64>>)> {
        let limits = [
            (&mut self.processes, keys.processes),
            (&mut self.memory_mb, keys.memory_mb),
            (&mut self.file_size_mb, keys.file_size_mb),
            (&mut self.open_files, keys.open_files),
            (&mut self.tmp_mb, keys.tmp_mb),
            (&mut self.shm_mb, keys.shm_mb),
        ];
        limits.into_iter()
    }
}

impl Config {
    /// Applies the confinement flags.
    fn apply_flags(&mut self, cwd: &Path, flags: &ConfinementArgs) -> Result<(), OperationFault> {
        let at = |flag| {
            move |path: &PathBuf| SourcedValue { value: cwd.join(path), source: SettingSource::Flag(flag) }
        };
        let ours = &mut self.confinement;
        ours.writable.extend(flags.writable.iter().map(at("--writable")));
        ours.read_only.extend(flags.read_only.iter().map(at("--read-only")));
        if let Some(value) = flags.network {
            ours.network = SourcedValue { value, source: SettingSource::Flag("--network") };
        }
        if let Some(value) = flags.tier {
            ours.tier = SourcedValue { value, source: SettingSource::Flag("--tier") };
        }
        if let Some(value) = flags.require {
            ours.require = SourcedValue { value, source: SettingSource::Flag("--require") };
        }
        // A user who names a weaker layer wants it to be used.
        if ours.require.source == SettingSource::BuiltIn && ours.tier.value < ours.require.value {
            ours.require = ours.tier.clone();
        }
        let host =
            |host: &HostPattern| SourcedValue { value: host.clone(), source: SettingSource::Flag("--host") };
        ours.hosts.extend(flags.host.iter().map(host));
        for name in &flags.unix_socket {
            if !is_socket_name(name) {
                return Err(OperationFault::usage(format!("--unix-socket {name}: {INVALID_SOCKET}")));
            }
            let source = SettingSource::Flag("--unix-socket");
            ours.unix_sockets.push(SourcedValue { value: name.clone(), source });
        }
        for pattern in &flags.deny_read {
            let source = SettingSource::Flag("--deny-read");
            // A shell expands a glob to paths relative to the current directory.
            let value = match pattern.strip_prefix("./") {
                Some(rest) => cwd.join(rest).to_string_lossy().into_owned(),
                None => pattern.clone(),
            };
            self.files.deny_read.push(SourcedValue { value, source });
        }
        Ok(())
    }

    /// Applies the user's values for keys that any file may set.
    fn apply_user_file(&mut self, file: &ConfigFile) {
        let ConfigTables { sandbox, commands, confinement, limits, .. } = &file.content;
        self.extend_lists(file, &NarrowingLists::from_tables(&file.content));
        let ours = &mut self.confinement;
        set_from_file(&mut ours.network, file, confinement.network.as_ref(), |&network| network);
        set_from_file(&mut ours.require, file, confinement.require.as_ref(), |&tier| tier);
        let keys = CommandLimitKeys {
            processes: confinement.processes.as_ref(),
            memory_mb: confinement.memory_mb.as_ref(),
            file_size_mb: confinement.file_size_mb.as_ref(),
            open_files: confinement.open_files.as_ref(),
            tmp_mb: confinement.tmp_mb.as_ref(),
            shm_mb: confinement.shm_mb.as_ref(),
        };
        for (ours, theirs) in ours.limit_pairs(&keys) {
            set_from_file(ours, file, theirs, |&limit| Some(limit));
        }
        set_from_file(&mut self.sandbox, file, sandbox.as_ref(), |&sandbox| sandbox);
        set_from_file(&mut self.approval, file, file.content.approval.as_ref(), |&approval| approval);
        set_from_file(&mut self.commands.inherit, file, commands.inherit.as_ref(), |&inherit| inherit);
        set_from_file(&mut self.commands.sessions, file, commands.sessions.as_ref(), to_usize);
        set_from_file(&mut self.model, file, file.content.model.as_ref(), |model| Some(model.clone()));
        set_from_file(&mut self.limits.output_tokens, file, limits.output_tokens.as_ref(), to_usize);
        set_from_file(&mut self.limits.call_timeout_ms, file, limits.call_timeout_ms.as_ref(), |&timeout| {
            timeout
        });
        set_from_file(&mut self.limits.parallel, file, limits.parallel.as_ref(), to_usize);
    }

    /// Applies a project's file: lists accumulate, limits only shrink.
    fn apply_project_file(&mut self, file: &ConfigFile, project: &ProjectTables<'_>) {
        self.extend_lists(file, &project.lists);
        let ours = &mut self.confinement;
        shrink_from_file(&mut ours.network, file, project.network, |&network| network);
        // The strongest requirement wins.
        if project.require.is_some_and(|tier| *tier.get_ref() > ours.require.value) {
            set_from_file(&mut ours.require, file, project.require, |&tier| tier);
        }
        for (ours, theirs) in ours.limit_pairs(&project.command_limits) {
            if theirs.is_some_and(|theirs| ours.value.is_none_or(|ours| *theirs.get_ref() < ours)) {
                set_from_file(ours, file, theirs, |&limit| Some(limit));
            }
        }
        shrink_from_file(&mut self.sandbox, file, project.sandbox, |&sandbox| sandbox);
        // A user who is never asked is not asked more often either, and a disabled approval stays disabled.
        let off = project.approval.is_some_and(|theirs| *theirs.get_ref() == ApprovalMode::Disabled);
        if off || !matches!(self.approval.value, ApprovalMode::Never | ApprovalMode::Disabled) {
            set_from_file(&mut self.approval, file, project.approval, |&approval| approval);
        }
        shrink_from_file(&mut self.commands.inherit, file, project.inherit, |&inherit| inherit);
        shrink_from_file(&mut self.commands.sessions, file, project.sessions, to_usize);
        let (ours, theirs) = (&mut self.limits, project.limits);
        shrink_from_file(&mut ours.output_tokens, file, theirs.output_tokens.as_ref(), to_usize);
        shrink_from_file(&mut ours.call_timeout_ms, file, theirs.call_timeout_ms.as_ref(), |&timeout| {
            timeout
        });
        shrink_from_file(&mut ours.parallel, file, theirs.parallel.as_ref(), to_usize);
    }

    /// Adds the lists of a file. Each of them narrows what tools may do.
    fn extend_lists(&mut self, file: &ConfigFile, lists: &NarrowingLists<'_>) {
        set_from_file(&mut self.integers, file, lists.integers, |&integers| integers);
        if let Some(only) = lists.only {
            self.tools.only.push(file.setting(only, Clone::clone));
        }
        let same = |text: &Spanned<String>| file.setting(text, Clone::clone);
        self.tools.without.extend(lists.without.iter().map(same));
        let off = lists.disabled_tools.iter().map(|(tool, off)| file.setting(off, |_| (*tool).to_owned()));
        self.tools.without.extend(off);
        self.files.deny_read.extend(lists.deny_read.iter().map(same));
        let below = |path: &Spanned<String>| file.setting(path, |path| file.base_directory().join(path));
        self.confinement.read_only.extend(lists.read_only.iter().map(below));
    }

    /// Applies the keys that only the user's own file may set.
    fn apply_user_only_keys(&mut self, file: &ConfigFile, dirs: &UserDirs) -> Result<(), OperationFault> {
        let ConfigTables { tools, files, commands, confinement, .. } = &file.content;
        let absolute = |root: &String| match (root.strip_prefix("~/"), &dirs.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) | (None, _) => file.base_directory().join(root),
        };
        self.files.read_roots.extend(files.read_roots.iter().map(|root| file.setting(root, absolute)));
        let ours = &mut self.confinement;
        ours.writable.extend(confinement.writable.iter().map(|root| file.setting(root, absolute)));
        for text in &confinement.hosts {
            let host = file.parse_host(text)?;
            ours.hosts.push(file.setting(text, |_| host));
        }
        let same = |name: &Spanned<String>| file.setting(name, Clone::clone);
        ours.unix_sockets.extend(confinement.unix_sockets.iter().map(same));
        set_from_file(&mut ours.tier, file, confinement.tier.as_ref(), |&tier| tier);
        let asked = |on: &bool| if *on { HostedSearchMode::Live } else { HostedSearchMode::Off };
        set_from_file(&mut self.tools.web_search, file, tools.web_search_request.as_ref(), asked);
        set_from_file(&mut self.tools.web_search, file, tools.web_search.as_ref(), WebSearchKey::hosted_mode);
        let own = tools.web_search.as_ref().and_then(|key| Some((key, key.get_ref().own_search()?)));
        self.tools.search = own.map(|(key, own)| file.setting(key, |_| own.clone()));
        set_from_file(&mut self.tools.shell_type, file, tools.shell_type.as_ref(), |&form| Some(form));
        let patch = tools.apply_patch_tool_type.as_ref();
        set_from_file(&mut self.tools.apply_patch_tool_type, file, patch, |&form| Some(form));
        let streamable = tools.use_experimental_streamable_shell_tool.as_ref();
        let ours = &mut self.tools.use_experimental_streamable_shell_tool;
        set_from_file(ours, file, streamable, |&streamable| Some(streamable));
        self.models.extend(ModelTable::settings(file));
        set_from_file(&mut self.files.deny_read_defaults, file, files.deny_read_defaults.as_ref(), |&on| on);
        self.commands.pass.extend(commands.pass.iter().map(|name| file.setting(name, Clone::clone)));
        let named = |(name, value): (&String, &Spanned<String>)| {
            file.setting(value, |value| (name.clone(), value.clone()))
        };
        self.commands.set.extend(commands.set.iter().map(named));
        set_from_file(&mut self.commands.shell, file, commands.shell.as_ref(), |shell| Some(shell.clone()));
        self.hooks.extend(HookTable::settings(file, dirs));
        self.servers.extend(ServerTable::settings(file, dirs));
        Ok(())
    }
}

fn to_usize(number: &u64) -> usize {
    usize::try_from(*number).unwrap_or(usize::MAX)
}

fn set_from_file<T, U>(
    setting: &mut SourcedValue<U>,
    file: &ConfigFile,
    value: Option<&Spanned<T>>,
    convert: impl Fn(&T) -> U,
) {
    if let Some(value) = value {
        *setting = file.setting(value, convert);
    }
}

fn shrink_from_file<T, U: PartialOrd>(
    setting: &mut SourcedValue<U>,
    file: &ConfigFile,
    value: Option<&Spanned<T>>,
    convert: impl Fn(&T) -> U,
) {
    if value.is_some_and(|value| convert(value.get_ref()) < setting.value) {
        set_from_file(setting, file, value, convert);
    }
}
