//! Which files are read, and how their values come together.

use std::path::{Path, PathBuf};

use super::file::{ConfigFile, Content};
use super::{Config, LookedFor, Setting, Source};
use crate::args::Place;
use crate::fault::Fault;

/// The project's file.
const PROJECT_FILE: &str = "toolgate.toml";
/// The user's file; both names are looked for, and one of them may be there.
const USER_FILES: [&str; 2] = ["config.toml", "toolgate.toml"];

/// Where the user's own files are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dirs {
    /// Their configuration.
    pub(crate) config: Option<PathBuf>,
    /// What is kept from session to session.
    pub(crate) state: Option<PathBuf>,
}

impl Dirs {
    /// As the environment says: `TOOLGATE_HOME`, else the XDG directories, else below the home directory.
    pub(crate) fn from_env() -> Self {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(home) = absolute("TOOLGATE_HOME") {
            return Self { state: Some(home.join("state")), config: Some(home) };
        }
        let home = std::env::home_dir();
        let below = |xdg: &str, default: &str| {
            absolute(xdg).or_else(|| Some(home.as_ref()?.join(default))).map(|dir| dir.join("toolgate"))
        };
        Self { config: below("XDG_CONFIG_HOME", ".config"), state: below("XDG_STATE_HOME", ".local/state") }
    }
}

/// Reads the configuration for work in `cwd`.
pub(crate) fn load(cwd: &Path, dirs: &Dirs, flags: &Place) -> Result<Config, Fault> {
    let mut config = Config::built_in();
    if let Some(file) = user_file(dirs, &mut config.files)? {
        config.take(&file);
        config.widen(&file);
    }
    if let Some(file) = project_file(cwd, &mut config.files)? {
        narrows_only(&file, dirs)?;
        config.take(&file);
    }
    if let Some(model) = &flags.model {
        config.model = Setting { value: Some(model.clone()), source: Source::Flag("--model") };
    }
    for root in &flags.read_root {
        let value = cwd.join(root);
        config.read_roots.push(Setting { value, source: Source::Flag("--read-root") });
    }
    Ok(config)
}

fn user_file(dirs: &Dirs, looked_for: &mut Vec<LookedFor>) -> Result<Option<ConfigFile>, Fault> {
    let Some(directory) = &dirs.config else { return Ok(None) };
    let mut found = None;
    for name in USER_FILES {
        let path = directory.join(name);
        let file = ConfigFile::read(&path)?;
        if file.is_some() && found.is_some() {
            let [one, other] = USER_FILES;
            let both = format!("`{}` holds both `{one}` and `{other}`; keep one", directory.display());
            return Err(Fault::usage(both));
        }
        looked_for.push(LookedFor { path, found: file.is_some() });
        found = file.or(found);
    }
    Ok(found)
}

/// The nearest file at or above `cwd`, up to the top of its git repository; outside of one, only in `cwd` itself.
fn project_file(cwd: &Path, looked_for: &mut Vec<LookedFor>) -> Result<Option<ConfigFile>, Fault> {
    let repository = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
    let top = repository.unwrap_or(cwd);
    for directory in cwd.ancestors().take_while(|dir| dir.starts_with(top)) {
        let path = directory.join(PROJECT_FILE);
        if let Some(file) = ConfigFile::read(&path)? {
            looked_for.push(LookedFor { path, found: true });
            return Ok(Some(file));
        }
    }
    looked_for.push(LookedFor { path: top.join(PROJECT_FILE), found: false });
    Ok(None)
}

/// Refuses a project's file that would give tools more than the user does.
fn narrows_only(file: &ConfigFile, dirs: &Dirs) -> Result<(), Fault> {
    let files = &file.content.files;
    let root = files.read_roots.first().map(|root| (root.span(), "read_roots"));
    let defaults = files.deny_read_defaults.as_ref().filter(|on| !on.get_ref());
    let defaults = defaults.map(|off| (off.span(), "deny_read_defaults"));
    let search = file.content.tools.web_search.as_ref().map(|search| (search.span(), "web_search"));
    let Some((span, key)) = root.or(defaults).or(search) else { return Ok(()) };
    let own = dirs
        .config
        .as_ref()
        .map_or_else(String::new, |dir| format!(" ({})", dir.join(USER_FILES[0]).display()));
    let why = format!(
        "a project may narrow what tools can do, not widen it: `{key}` belongs in your own file{own}"
    );
    Err(file.fault(&span, &why))
}

impl Config {
    /// Takes what any file may say.
    fn take(&mut self, file: &ConfigFile) {
        let Content { model, tools, files, limits, wire } = &file.content;
        let count = |number: &u64| usize::try_from(*number).unwrap_or(usize::MAX);
        if let Some(model) = model {
            self.model = file.setting(model, |model| Some(model.clone()));
        }
        if let Some(only) = &tools.only {
            self.only.push(file.setting(only, Clone::clone));
        }
        self.without.extend(tools.without.iter().map(|name| file.setting(name, Clone::clone)));
        self.deny_read.extend(files.deny_read.iter().map(|pattern| file.setting(pattern, Clone::clone)));
        if let Some(tokens) = &limits.output_tokens {
            self.output_tokens = file.setting(tokens, count);
        }
        if let Some(timeout) = &limits.call_timeout_ms {
            self.call_timeout_ms = file.setting(timeout, |&timeout| timeout);
        }
        if let Some(parallel) = &limits.parallel {
            self.parallel = file.setting(parallel, count);
        }
        if let Some(integers) = &wire.integers {
            self.integers = file.setting(integers, |&integers| integers);
        }
    }

    /// Takes what only the user's own file may say.
    fn widen(&mut self, file: &ConfigFile) {
        if let Some(search) = &file.content.tools.web_search {
            self.web_search = file.setting(search, |&search| search);
        }
        let files = &file.content.files;
        let absolute = |root: &String| file.directory().join(root);
        self.read_roots.extend(files.read_roots.iter().map(|root| file.setting(root, absolute)));
        if let Some(defaults) = &files.deny_read_defaults {
            self.deny_read_defaults = file.setting(defaults, |&on| on);
        }
    }
}
