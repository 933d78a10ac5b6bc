//! Launches an MCP server program confined like commands, reports its confinement gaps and exit, and ends it.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use exec::run_to_end::find_program;
use exec::session::{ProcessExit, ProcessSession, Pump, SessionStage, SharedProcesses};
use mcp::{LandChangesFn, LaunchFault, LaunchedServer, ServerLauncher};
use policy::{
    Confinement, Enforcement, EnforcementGap, EnvironmentPolicy, NetworkPolicy, SandboxPolicy,
    UnenforcedReason,
};
use tokio::sync::OwnedRwLockReadGuard;
use tool::BoxFuture;

use crate::{CommandSandbox, SandboxFault, Toolgate};

/// A server program of the user and its confinement. By default it can write below its directory and use the network.
#[derive(Debug, Clone)]
pub struct ConfinedServerProgram {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Its environment variables.
    pub environment: EnvironmentPolicy,
    /// Its sandbox policy.
    pub sandbox: SandboxPolicy,
    /// Details of its confinement.
    pub confinement: Confinement,
    /// Patterns it cannot read, in addition to the defaults.
    pub deny_read: Vec<String>,
    /// The shared spawner.
    pub processes: Arc<SharedProcesses>,
    /// Programs that share this queue start one after another, because many at once would overload the machine.
    pub start_queue: Arc<tokio::sync::Mutex<()>>,
    /// Held by every started program until nothing of it is left.
    pub alive: Arc<tokio::sync::RwLock<()>>,
}

impl ConfinedServerProgram {
    /// Creates a program that runs `argv` in `directory`.
    pub fn new(argv: Vec<String>, directory: impl Into<PathBuf>) -> Self {
        Self {
            argv,
            directory: directory.into(),
            environment: EnvironmentPolicy::default(),
            sandbox: SandboxPolicy::WorkspaceWrite,
            confinement: Confinement { network: NetworkPolicy::On, ..Confinement::default() },
            deny_read: Vec::new(),
            processes: Arc::default(),
            start_queue: Arc::default(),
            alive: Arc::default(),
        }
    }

    async fn start(&self, stdio: [OwnedFd; 3]) -> Result<Box<dyn LaunchedServer>, LaunchFault> {
        if let Some(name) = self.argv.first()
            && find_program(name, std::env::var_os("PATH").as_deref()).is_none()
        {
            return Err(permanent_fault(&match name.contains('/') {
                true => format!("`{name}` is not an executable program"),
                false => format!("there is no program `{name}` in PATH"),
            }));
        }
        let turn = Arc::clone(&self.start_queue).lock_owned().await;
        let (program, (sender, receiver)) = (self.clone(), tokio::sync::oneshot::channel());
        // Confinement creates directories on the host, and a cancelled start would leave them behind. So every start
        // completes, and a program whose caller is gone ends before the next one starts.
        #[expect(clippy::disallowed_methods, reason = "no call: it ends with the start of the program")]
        tokio::spawn(async move {
            drop(sender.send(program.start_confined(stdio).await));
            drop(turn);
        });
        receiver.await.unwrap_or_else(|_| Err(permanent_fault("nothing is started any more")))
    }

    async fn start_confined(&self, stdio: [OwnedFd; 3]) -> Result<Box<dyn LaunchedServer>, LaunchFault> {
        let builder = Toolgate::at(&self.directory)
            .sandbox(self.sandbox)
            .confinement(self.confinement.clone())
            .environment(self.environment.clone())
            .processes(Arc::clone(&self.processes));
        let builder = self.deny_read.iter().fold(builder, |builder, pattern| builder.deny_read(pattern));
        let sandbox = builder.build_sandbox().map_err(|fault| permanent_fault(&fault.to_string()))?;
        let (session, pump) = sandbox.run(self.argv.clone(), stdio).await.map_err(|fault| match &fault {
            SandboxFault::Denied(_) | SandboxFault::Directory(_) => permanent_fault(&fault.to_string()),
            SandboxFault::Spawn(_) | SandboxFault::OneShot(_) => {
                LaunchFault { retryable: true, ..permanent_fault(&fault.to_string()) }
            }
        })?;
        let hidden_file_reason = match session.enforcement() {
            Enforcement::Full => self.hidden_file_reason(&sandbox),
            Enforcement::Partial(gaps) if !gaps.contains(&EnforcementGap::PrivateTmp) => {
                self.hidden_file_reason(&sandbox)
            }
            Enforcement::Partial(_) | Enforcement::None { .. } => None,
        };
        let resources =
            ServerResources { pump, _sandbox: sandbox, _alive: Arc::clone(&self.alive).read_owned().await };
        Ok(Box::new(RunningServerProgram { session, resources: Some(resources), hidden_file_reason }))
    }

    /// Returns the reason why the program, or a file among its arguments, is missing inside. Such a file is in the
    /// host's `/tmp`, and the program has a private `/tmp`.
    fn hidden_file_reason(&self, sandbox: &CommandSandbox) -> Option<String> {
        let program =
            self.argv.first().and_then(|name| find_program(name, std::env::var_os("PATH").as_deref()));
        let words = self.argv.iter().skip(1).map(|word| self.directory.join(word));
        let named = program.into_iter().chain(words).map(|path| policy::normalize_path(&path));
        // A word that names no file on the host is not a path, or one that the program creates.
        let mut unseen = named.filter(|path| path.is_file() && sandbox.private_dir_of(path).is_some());
        let path = unseen.next()?;
        let private_dir = sandbox.private_dir_of(&path)?.display();
        let (path, above) = (path.display(), path.parent().unwrap_or(&path).display());
        Some(format!(
            "`{path}` is in the host's `{private_dir}`, and the server has a private `{private_dir}` where it is not: move it \
             elsewhere, or name `{above}` as `cwd` or in `writable` of the server"
        ))
    }
}

impl ServerLauncher for ConfinedServerProgram {
    fn launch(&self, stdio: [OwnedFd; 3]) -> BoxFuture<'_, Result<Box<dyn LaunchedServer>, LaunchFault>> {
        Box::pin(self.start(stdio))
    }

    fn wait_until_settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            drop(self.start_queue.lock().await);
            drop(self.alive.write().await);
        })
    }
}

fn permanent_fault(why: &str) -> LaunchFault {
    LaunchFault { why: format!("cannot be started: {why}"), retryable: false }
}

/// A running program.
struct RunningServerProgram {
    session: Arc<ProcessSession>,
    resources: Option<ServerResources>,
    /// The reason why a host file is missing inside.
    hidden_file_reason: Option<String>,
}

/// Resources that live as long as the program.
struct ServerResources {
    pump: Pump,
    _sandbox: CommandSandbox,
    _alive: OwnedRwLockReadGuard<()>,
}

/// Time for a program to end after it was told to.
const END_GRACE: Duration = Duration::from_millis(200);

impl Drop for RunningServerProgram {
    /// Ends the program and keeps its resources until it is gone. A program that has just started may still be
    /// setting up its confinement, which creates directories on the host.
    fn drop(&mut self) {
        let (Some(resources), Ok(runtime)) = (self.resources.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        if matches!(self.session.stage(), SessionStage::Over { .. } | SessionStage::Lost) {
            return;
        }
        self.session.end(END_GRACE);
        runtime.spawn(async move {
            let ServerResources { pump, _sandbox, _alive } = resources;
            pump.await;
        });
    }
}

/// Gaps in the confinement that make a server's own claims untrustworthy.
const UNTRUSTED_GAPS: &[EnforcementGap] =
    &[EnforcementGap::OutsideWrites, EnforcementGap::ProtectedFiles, EnforcementGap::DenyRead];

impl LaunchedServer for RunningServerProgram {
    fn gaps(&self) -> Vec<&'static str> {
        match self.session.enforcement() {
            Enforcement::Partial(gaps) => gaps
                .into_iter()
                .filter(|gap| UNTRUSTED_GAPS.contains(gap))
                .map(EnforcementGap::sentence)
                .collect(),
            Enforcement::Full
            | Enforcement::None { why: UnenforcedReason::FullAccess | UnenforcedReason::External } => {
                Vec::new()
            }
            Enforcement::None { why: UnenforcedReason::Unsupported } => {
                vec!["nothing confines it: this system cannot"]
            }
        }
    }

    fn land_changes_fn(&self) -> Option<LandChangesFn> {
        let session = Arc::clone(&self.session);
        Some(Arc::new(move || {
            let session = session.has_pending_changes().then(|| Arc::clone(&session))?;
            Some(Box::new(move || session.land()))
        }))
    }

    fn wait_for_exit(&mut self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            if let Some(resources) = &mut self.resources {
                (&mut resources.pump).await;
            }
            let how = match (self.session.take_fault(), self.session.stage().exit()) {
                (Some(fault), _) => fault.to_string(),
                (None, Some(ProcessExit::Code(code))) => format!("exit code {code}"),
                (None, Some(ProcessExit::Signal(signal))) => format!("signal {signal}"),
                (None, None) => "it was killed".to_owned(),
            };
            match &self.hidden_file_reason {
                Some(unseen) => format!("{how}; {unseen}"),
                None => how,
            }
        })
    }
}
