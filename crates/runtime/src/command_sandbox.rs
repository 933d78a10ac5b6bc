//! Runs single commands, confined like those of tools: for programs that need the sandbox without the tools.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use exec::fs::{ConfinedFs, FsError};
use exec::process::{ConfinementReport, PtySize, SpawnFault, Stdio};
use exec::run_to_end::{OneShotCommand, OneShotFault, OneShotOutput};
use exec::sandbox::Scratch;
use exec::session::{Lifetime, ProcessSession, Pump, SessionOrigin, SessionTable};
use exec::shell::ShellCommands;
use policy::{CommandLine, Denial, Gate, Intent, Permit};

use crate::{BuildFault, ToolgateBuilder};

/// A sandbox for commands. Dropping it ends them.
pub struct CommandSandbox {
    gate: Gate,
    directory: PathBuf,
    sessions: SessionTable,
    shells: ShellCommands,
    staged: Option<Arc<crate::StagedWorkspace>>,
    _scratch: Option<Arc<Scratch>>,
}

/// A command that [`CommandSandbox::run_to_end`] runs, with its input and limits.
#[derive(Debug, Clone)]
pub struct SandboxCommand {
    argv: Vec<String>,
    env: BTreeMap<OsString, OsString>,
    input: Vec<u8>,
    time_limit: Duration,
    max_output_bytes: u64,
}

impl SandboxCommand {
    /// The time limit if none is set.
    pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(600);
    /// The limit of standard output if none is set.
    pub const DEFAULT_OUTPUT_BYTES: u64 = 16 << 20;

    /// Creates a command from its program and arguments, with empty input.
    pub fn new(argv: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            input: Vec::new(),
            time_limit: Self::DEFAULT_TIME_LIMIT,
            max_output_bytes: Self::DEFAULT_OUTPUT_BYTES,
        }
    }

    /// Adds an environment variable to those that [`ToolgateBuilder::environment`] admits.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets the content of its standard input.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Sets the time limit. The command is killed after it.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Sets the maximum number of bytes of standard output. The command is killed if it writes more.
    #[must_use]
    pub fn max_output_bytes(mut self, limit: u64) -> Self {
        self.max_output_bytes = limit;
        self
    }
}

/// A running command, and the pump that drives it.
pub type ConfinedCommand = (Arc<ProcessSession>, Pump);

/// The reason why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxFault {
    /// The policy forbids it.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// Its directory cannot be entered.
    #[error(transparent)]
    Directory(#[from] FsError),
    /// It could not be started or confined.
    #[error(transparent)]
    Spawn(#[from] SpawnFault),
    /// It was started and did not finish by itself.
    #[error(transparent)]
    OneShot(#[from] OneShotFault),
}

impl ToolgateBuilder {
    /// Builds the sandbox alone, without tools.
    pub fn build_sandbox(mut self) -> Result<CommandSandbox, BuildFault> {
        let commands = std::mem::take(&mut self.command_setup).build();
        // Rules are for models; here the caller chooses the commands.
        self.asking = crate::approvals::ApprovalSetup::default();
        let resolved = self.resolve_policy(commands.sessions.spawner())?;
        let crate::resolve_policy::ResolvedPolicy { gate, working_dir, scratch, staged } = resolved;
        if let Some(scratch) = &scratch {
            commands.sessions.spawner().lend_scratch(scratch);
        }
        let tools::CommandRunner { sessions, shells } = commands;
        Ok(CommandSandbox { gate, directory: working_dir.cwd, sessions, shells, staged, _scratch: scratch })
    }
}

impl CommandSandbox {
    /// Returns the directory, e.g. `/tmp`, that commands have a private version of, if `path` lies in it.
    #[cfg(feature = "mcp")]
    pub(crate) fn private_dir_of(&self, path: &std::path::Path) -> Option<&std::path::Path> {
        self.gate.read_scope().replaced_place(path)
    }

    /// Returns the staged changes, if changes are staged.
    pub fn staged(&self) -> Option<&Arc<crate::StagedWorkspace>> {
        self.staged.as_ref()
    }

    fn permit_for(&self, line: &CommandLine) -> Result<Permit, Denial> {
        self.gate.permit_chosen("sandbox", &Intent::run(line.clone(), &self.directory))
    }

    /// Runs `argv` with the given standard input, output and error.
    pub async fn run(&self, argv: Vec<String>, stdio: [OwnedFd; 3]) -> Result<ConfinedCommand, SandboxFault> {
        self.start(argv, Stdio::Descriptors(Arc::new(stdio))).await
    }

    /// Runs `argv` in a terminal of its own.
    pub async fn run_in_terminal(
        &self,
        argv: Vec<String>,
        rows: u16,
        cols: u16,
    ) -> Result<ConfinedCommand, SandboxFault> {
        self.start(argv, Stdio::Terminal(PtySize { rows, cols })).await
    }

    async fn start(&self, argv: Vec<String>, stdio: Stdio) -> Result<ConfinedCommand, SandboxFault> {
        let command_text = argv.join(" ");
        let line = CommandLine::from(argv);
        let permit = self.permit_for(&line)?;
        let directory = ConfinedFs::new(&permit).lookup(&self.directory)?;
        let origin = SessionOrigin {
            command: command_text,
            workdir: directory.path().to_owned(),
            owner: "sandbox".to_owned(),
            lifetime: Lifetime::Session,
            terminal: matches!(stdio, Stdio::Terminal(_)),
        };
        let command = self.shells.command_as_is(line, directory, stdio);
        Ok(self.sessions.start(command, origin, &permit).await?)
    }

    /// Returns the enforcement for `argv`.
    pub async fn enforcement(&self, argv: &[String]) -> Result<policy::Enforcement, SandboxFault> {
        let permit = self.permit_for(&argv.to_vec().into())?;
        Ok(self.sessions.spawner().find_cell(&permit).await?.enforcement())
    }

    /// Runs `command` to its end. Processes that it leaves running are killed, and so are all of its processes if the
    /// future is dropped.
    pub async fn run_to_end(&self, command: &SandboxCommand) -> Result<OneShotOutput, SandboxFault> {
        let line = CommandLine::from(command.argv.clone());
        let permit = self.permit_for(&line)?;
        let directory = ConfinedFs::new(&permit).lookup(&self.directory)?;
        let mut env = self.shells.command_as_is(line.clone(), directory, Stdio::NoInput).env;
        env.extend(command.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        let command = OneShotCommand {
            line: &line,
            env: &env,
            directory: &self.directory,
            input: &command.input,
            time_limit: command.time_limit,
            max_output_bytes: command.max_output_bytes,
        };
        Ok(command.run(self.sessions.spawner(), &permit).await?)
    }

    /// Explains how `argv` would be confined.
    pub async fn explain(&self, argv: &[String]) -> Result<ConfinementReport, SandboxFault> {
        let permit = self.permit_for(&argv.to_vec().into())?;
        Ok(self.sessions.spawner().find_cell(&permit).await?.explain())
    }

    /// Tries if this machine can confine commands in the tiers of `confinement`.
    ///
    /// # Errors
    ///
    /// The fault that would refuse each command.
    pub async fn check_tiers(confinement: &policy::Confinement) -> Result<(), SandboxFault> {
        let spawner = exec::process::Spawner::default();
        Ok(exec::sandbox::check_tiers(&spawner, confinement).await?)
    }

    /// Probes what this machine supports, tier by tier, and returns advice on missing support.
    pub async fn probe()
    -> Result<(Vec<exec::sandbox::MachineSupport>, Option<exec::sandbox::SetupFix>), io::Error> {
        let spawner = exec::process::Spawner::default();
        exec::sandbox::probe(&spawner).await.map_err(io::Error::other)
    }
}
