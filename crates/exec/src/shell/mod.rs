//! Turns scripts into commands: chooses the shell and the variables, and runs the user's profile only once.

mod login_profile;
mod simple_script;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{CommandLine, EnvironmentPolicy, Permit, ShellFamily, imposed_variables};

use crate::fs::FileHandle;
use crate::process::{ProcessCommand, Spawner, Stdio};
use login_profile::LoginProfiles;

/// The directories searched for shells: never a PATH, which may lead into the workspace.
const SHELL_DIRS: [&str; 4] = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

/// An installed shell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InstalledShell {
    path: PathBuf,
    family: ShellFamily,
}

/// An unknown or missing shell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a shell that can be used here; leave it out, or give one of {} by its name or path",
    .0,
    ShellFamily::script_shells().collect::<Vec<_>>().join(", ")
)]
pub struct NoShellFault(pub String);

impl InstalledShell {
    /// Finds a shell by a known name, or by the path of a shell with one.
    pub fn find(name: &str) -> Result<Self, NoShellFault> {
        let path = Path::new(name);
        let known = ShellFamily::of(name).filter(|family| family.has_known_options());
        let found = known.and_then(|family| {
            let places = SHELL_DIRS.iter().map(|place| Path::new(place).join(name));
            let mut places: Box<dyn Iterator<Item = PathBuf>> = match path.is_absolute() {
                true => Box::new(std::iter::once(path.to_owned())),
                false if name.contains('/') => Box::new(std::iter::empty()),
                false => Box::new(places),
            };
            places.find(|path| can_run(path)).map(|path| Self { path, family })
        });
        found.ok_or_else(|| NoShellFault(name.to_owned()))
    }

    /// Returns the user's shell if it is supported, else the first installed one.
    pub fn of_user(own: Option<&OsStr>) -> Option<Self> {
        let own = own.and_then(OsStr::to_str).and_then(|own| Self::find(own).ok());
        own.or_else(|| ShellFamily::script_shells().find_map(|name| Self::find(name).ok()))
    }

    /// Returns the arguments that run `script` without reading any start-up file of the user.
    fn without_profile(&self, script: &str) -> Vec<String> {
        let flags: &[&str] = if self.family == ShellFamily::Zsh { &["-f", "-c"] } else { &["-c"] };
        let flags = flags.iter().map(|&flag| flag.to_owned());
        std::iter::once(self.to_string()).chain(flags).chain([script.to_owned()]).collect()
    }

    /// Returns the command line that runs `script`.
    pub fn command_line(&self, script: &str, login: bool) -> CommandLine {
        CommandLine::in_shell(self.to_string(), login, script.to_owned())
    }
}

impl fmt::Display for InstalledShell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

fn can_run(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Builds commands, with their variables and the effects of the user's profile.
#[derive(Debug)]
pub struct ShellCommands {
    default_shell: Option<InstalledShell>,
    environment: EnvironmentPolicy,
    /// The host's variables that every command gets.
    variables: BTreeMap<OsString, OsString>,
    login_profiles: LoginProfiles,
}

impl ShellCommands {
    /// Creates the builder with the variables in `host` that `environment` admits; `default_shell` is the
    /// shell of the user.
    pub fn new(
        default_shell: Option<InstalledShell>,
        environment: EnvironmentPolicy,
        host: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let variables = environment.build(host);
        Self { default_shell, environment, variables, login_profiles: LoginProfiles::default() }
    }

    /// Returns the shell for scripts if the model names none.
    pub fn default_shell(&self) -> Result<InstalledShell, NoShellFault> {
        self.default_shell.clone().ok_or_else(|| NoShellFault("sh".to_owned()))
    }

    /// Builds the command that runs `line`. For a login shell with a script, the recorded effects of the profile are
    /// applied instead of running it again. A script that is one plain command needs no shell at all.
    pub async fn command(
        &self,
        line: CommandLine,
        directory: FileHandle,
        stdio: Stdio,
        spawner: &Spawner,
        permit: &Permit,
    ) -> ProcessCommand {
        let env = self.command_variables(&directory, &stdio);
        let mut command = ProcessCommand::new(line.clone(), env, Arc::new(directory), stdio);
        let CommandLine::Script { shell, login, text: script } = line else { return command };
        let Ok(shell) = InstalledShell::find(&shell) else { return command };
        let profile = match login {
            true => self.login_profiles.load(&shell, &command, spawner, permit).await,
            false => None,
        };
        if let Some(profile) = &profile {
            command.argv = profile.argv(&shell, &script).into_iter().map(OsString::from).collect();
            command.prelude = profile.prelude();
            profile.unset().iter().for_each(|name| drop(command.env.remove(name)));
            command.env.extend(profile.variables(&self.variables, &self.environment).clone());
            impose_variables(&mut command.env, &command.stdio);
        }
        let is_defined = |name: &str| profile.as_ref().is_some_and(|done| done.defines(name));
        let knows_profile = profile.is_some() || !login;
        if let Some(words) =
            simple_script::simple_words(&script).filter(|words| knows_profile && !is_defined(words[0]))
            && simple_script::is_program(
                words[0],
                command.env.get(OsStr::new("PATH")).map(OsString::as_os_str),
            )
        {
            command.argv = words.into_iter().map(OsString::from).collect();
            command.prelude = None;
        }
        command
    }

    /// Builds the command `line` unchanged, for a person: without the settings that only suit models.
    pub fn command_as_is(&self, line: CommandLine, directory: FileHandle, stdio: Stdio) -> ProcessCommand {
        let mut env = self.variables.clone();
        env.insert("PWD".into(), directory.path().into());
        ProcessCommand::new(line, env, Arc::new(directory), stdio)
    }

    /// Forgets the profile after a command was not found: the profile may have changed, or a program may have been
    /// installed.
    pub fn forget_profile(&self) {
        self.login_profiles.forget();
    }

    fn command_variables(&self, directory: &FileHandle, stdio: &Stdio) -> BTreeMap<OsString, OsString> {
        let mut env = self.variables.clone();
        env.insert("PWD".into(), directory.path().into());
        impose_variables(&mut env, stdio);
        env
    }
}

fn impose_variables(env: &mut BTreeMap<OsString, OsString>, stdio: &Stdio) {
    for (name, value) in imposed_variables(matches!(stdio, Stdio::Terminal(_))) {
        env.insert(name.into(), value.into());
    }
}
