//! Configures the command tools (environment, shell, sessions, spill), and finds and ends their processes.

use std::sync::Arc;
use std::time::Duration;

use exec::session::{SessionTable, SharedProcesses};
use exec::shell::{InstalledShell, ShellCommands};
use exec::spill::Spill;
use policy::EnvironmentPolicy;
use tools::{CommandRunner, DEFAULT_SESSIONS};

use crate::{Toolgate, ToolgateBuilder};

/// Time limit for ending all sessions.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings that the command tools are built from.
pub(crate) struct CommandToolSetup {
    environment: EnvironmentPolicy,
    shell: Option<InstalledShell>,
    max_sessions: usize,
    processes: Arc<SharedProcesses>,
    spill: Option<Arc<Spill>>,
}

impl Default for CommandToolSetup {
    fn default() -> Self {
        Self {
            environment: EnvironmentPolicy::default(),
            shell: None,
            max_sessions: DEFAULT_SESSIONS,
            processes: Arc::default(),
            spill: None,
        }
    }
}

impl CommandToolSetup {
    pub(crate) fn spawner(&self) -> exec::process::Spawner {
        self.processes.spawner().clone()
    }

    pub(crate) fn build(self) -> CommandRunner {
        let shell = self.shell.or_else(|| InstalledShell::of_user(std::env::var_os("SHELL").as_deref()));
        CommandRunner {
            sessions: SessionTable::new(self.processes, self.spill, self.max_sessions),
            shells: ShellCommands::new(shell, self.environment, std::env::vars_os()),
        }
    }
}

impl ToolgateBuilder {
    /// Sets the environment variables of commands.
    #[must_use]
    pub fn environment(mut self, environment: EnvironmentPolicy) -> Self {
        self.command_setup.environment = environment;
        self
    }

    /// Runs scripts with `shell` instead of the user's shell.
    #[must_use]
    pub fn shell(mut self, shell: InstalledShell) -> Self {
        self.command_setup.shell = Some(shell);
        self
    }

    /// Sets the maximum number of background sessions.
    #[must_use]
    pub fn sessions(mut self, at_most: usize) -> Self {
        self.command_setup.max_sessions = at_most;
        self
    }

    /// Shares the spawner and the kept sessions with other tool systems of this program.
    #[must_use]
    pub fn processes(mut self, processes: Arc<SharedProcesses>) -> Self {
        self.command_setup.processes = processes;
        self
    }

    /// Sets the spill for output that is too long for memory or for the model. Tools may read its files.
    #[must_use]
    pub fn spill(self, spill: Arc<Spill>) -> Self {
        let mut builder = self.read_kept_in(spill.directory());
        builder.command_setup.spill = Some(spill);
        builder
    }
}

impl Toolgate {
    /// Ends a turn and the sessions that live only as long as it.
    pub fn end_turn(&self) {
        if let Some(commands) = &self.commands {
            commands.sessions.end_turn();
        }
    }

    /// Returns the router of the tools for client programs, which models do not see; `None` without the built-in
    /// tools.
    pub fn program_router(&self) -> Option<&engine::ToolRouter> {
        self.programs.as_ref()
    }

    /// Returns the process with this number, if it exists.
    pub fn find_process(&self, id: u32) -> Option<Arc<exec::session::ProcessSession>> {
        self.commands.as_ref()?.sessions.find(id)
    }

    /// Forgets a process that has ended completely.
    pub fn forget_process(&self, id: u32) {
        if let Some(commands) = &self.commands {
            commands.sessions.forget(id);
        }
    }

    /// Returns the numbers of the processes that outlived their calls.
    pub fn process_ids(&self) -> Vec<u32> {
        let all = self.commands.as_ref().map(|commands| commands.sessions.all()).unwrap_or_default();
        all.iter().map(|session| session.id()).collect()
    }

    /// Returns the number of sessions.
    pub fn open_session_count(&self) -> usize {
        self.commands.as_ref().map_or(0, |commands| commands.sessions.all().len())
    }

    /// Ends every session except those to be kept, and waits until nothing of them is left. Then it removes the
    /// placeholder directories (`.agents`, `.git` …) that protected missing paths from commands, unless a command still
    /// runs. A later call makes new ones.
    ///
    /// Dropping the last clone of this value ends them too, without waiting.
    pub async fn close(&self) {
        if let Some(commands) = &self.commands {
            commands.sessions.close(CLOSE_TIMEOUT).await;
            if let Some(scratch) = &self.scratch {
                commands.sessions.spawner().release_scratch(scratch).await;
            }
        }
    }
}
