//! How commands are run: variables, shell, sessions, what they share with other tool systems of the program.

use std::sync::Arc;
use std::time::Duration;

use exec::session::{Processes, Sessions};
use exec::shell::{Shell, Shells};
use exec::spill::Spill;
use policy::Environment;
use tools::{Commands, DEFAULT_SESSIONS};

use crate::{Builder, Toolgate};

/// How long the end of all sessions may take.
const CLOSE: Duration = Duration::from_secs(5);

/// What the tools that run commands are made with.
pub(crate) struct Means {
    environment: Environment,
    shell: Option<Shell>,
    sessions: usize,
    processes: Arc<Processes>,
    spill: Option<Arc<Spill>>,
}

impl Default for Means {
    fn default() -> Self {
        Self {
            environment: Environment::default(),
            shell: None,
            sessions: DEFAULT_SESSIONS,
            processes: Arc::default(),
            spill: None,
        }
    }
}

impl Means {
    pub(crate) fn spawner(&self) -> exec::process::Spawner {
        self.processes.spawner().clone()
    }

    pub(crate) fn build(self) -> Commands {
        let shell = self.shell.or_else(|| Shell::of_user(std::env::var_os("SHELL").as_deref()));
        Commands {
            sessions: Sessions::new(self.processes, self.spill, self.sessions),
            shells: Shells::new(shell, self.environment, std::env::vars_os()),
        }
    }
}

impl Builder {
    /// Sets which variables commands get.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.means.environment = environment;
        self
    }

    /// Has scripts run by `shell` instead of the user's own.
    #[must_use]
    pub fn shell(mut self, shell: Shell) -> Self {
        self.means.shell = Some(shell);
        self
    }

    /// Sets how many commands may run in the background.
    #[must_use]
    pub fn sessions(mut self, at_most: usize) -> Self {
        self.means.sessions = at_most;
        self
    }

    /// Shares the spawner, and the sessions that are kept, with other tool systems of this program.
    #[must_use]
    pub fn processes(mut self, processes: Arc<Processes>) -> Self {
        self.means.processes = processes;
        self
    }

    /// Lets `spill` have the output that is too long for memory or for the model.
    #[must_use]
    pub fn spill(mut self, spill: Arc<Spill>) -> Self {
        self.means.spill = Some(spill);
        self
    }
}

impl Toolgate {
    /// Tells that a turn is over: the sessions that were to live as long are ended.
    pub fn end_turn(&self) {
        if let Some(commands) = &self.commands {
            commands.sessions.end_turn();
        }
    }

    /// The front door to the tools that programs call and models are not told of, if those we ship are there.
    pub fn programs(&self) -> Option<&engine::ToolRouter> {
        self.programs.as_ref()
    }

    /// The process of this number, if there is one.
    pub fn process(&self, id: u32) -> Option<Arc<exec::session::Session>> {
        self.commands.as_ref()?.sessions.find(id)
    }

    /// Forgets a process of which nothing is left.
    pub fn forget_process(&self, id: u32) {
        if let Some(commands) = &self.commands {
            commands.sessions.forget(id);
        }
    }

    /// How many sessions there are.
    pub fn open_sessions(&self) -> usize {
        self.commands.as_ref().map_or(0, |commands| commands.sessions.all().len())
    }

    /// Ends every session but those that are to be kept, and waits until nothing is left of them.
    ///
    /// Dropping the last clone of this ends them too, but does not wait.
    pub async fn close(&self) {
        if let Some(commands) = &self.commands {
            commands.sessions.close(CLOSE).await;
        }
    }
}
