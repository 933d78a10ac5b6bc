//! Host side of the spawner: starts it on demand, finds cells, and reuses supervisors.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use policy::{CommandLine, Enforcement, Permit, Tier};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::codec::MessageEncoder;
use super::messages::{LaunchRequest, LaunchStep, MAX_ORDER_BYTES, SupervisorOrder, SupervisorReport};
use super::pty::PtySize;
use super::running_process::{ControlSocket, ProcessPipes, RunningProcess};
use super::spawn_fault::SpawnFault;
use super::{fd_passing, program_image, spawner_entry};
use crate::fs::FileHandle;
use crate::sandbox::Scratch;
use crate::sandbox::mounted_layers::LayerRequest;
use crate::sandbox::pool::{CellPool, SandboxCell, unconfined_enforcement};

/// The time limit for the spawner to create a supervisor.
const SPAWNER_TIMEOUT: Duration = Duration::from_secs(3);
/// The number of new supervisors that are requested before a call fails.
const MAX_NEW_SUPERVISORS: usize = 2;

/// A program to run, with its environment and standard streams.
#[derive(Debug)]
pub struct ProcessCommand {
    /// The command as the policy judged it.
    pub judged: CommandLine,
    /// The arguments that are executed: those of `judged`, or an equivalent without an unneeded profile or shell.
    pub(crate) argv: Vec<OsString>,
    /// The complete environment.
    pub env: BTreeMap<OsString, OsString>,
    /// The working directory, which passed the policy check.
    pub directory: Arc<FileHandle>,
    /// The standard streams.
    pub stdio: Stdio,
    /// A script that a shell finds at `/dev/fd/9`.
    pub(crate) prelude: Option<Arc<OwnedFd>>,
}

/// The standard streams of a process.
#[derive(Debug, Clone)]
pub enum Stdio {
    /// Empty input; output to pipes.
    NoInput,
    /// Input from a pipe; output to pipes.
    PipedInput,
    /// Input from this file; output to pipes.
    FileInput(Arc<OwnedFd>),
    /// Input from and output to a terminal.
    Terminal(PtySize),
    /// These descriptors: input, output, error.
    Descriptors(Arc<[OwnedFd; 3]>),
}

/// Starts processes. Clones share the spawner process and its supervisors.
#[derive(Debug, Clone, Default)]
pub struct Spawner {
    pub(super) shared: Arc<Mutex<SpawnerState>>,
    cells: Arc<CellPool>,
}

#[derive(Debug, Default)]
pub(super) struct SpawnerState {
    link: Option<SpawnerLink>,
    pub(super) idle: Vec<StdStream>,
}

/// The connection to the running spawner process.
#[derive(Debug)]
struct SpawnerLink {
    socket: StdStream,
    process: Option<std::process::Child>,
}

impl Drop for SpawnerLink {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // The spawner ends when its socket is closed and its last supervisor is gone. A thread reaps it.
        let _closed = self.socket.shutdown(std::net::Shutdown::Both);
        // A program may have stopped the spawner.
        let pid = i32::try_from(process.id()).ok().and_then(rustix::process::Pid::from_raw);
        let _gone = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::CONT));
        let _no_more_threads = std::thread::Builder::new().spawn(move || process.wait());
    }
}

impl Spawner {
    /// Finds the cell for commands that run with `permit`, and creates it if it is missing.
    pub async fn find_cell<'a>(&self, permit: &'a Permit) -> Result<CellPermit<'a>, SpawnFault> {
        Ok(CellPermit { permit, cell: self.cells.find_or_create(self, permit).await? })
    }

    /// Returns the number of sandboxes that were created.
    pub fn cells_created(&self) -> u64 {
        self.cells.created_count()
    }

    /// Starts `command` with its permit, confined as the permit says.
    pub(crate) async fn start(
        &self,
        command: &ProcessCommand,
        allowed: &CellPermit<'_>,
    ) -> Result<RunningProcess, SpawnFault> {
        allowed.permit.may_run(&command.judged)?;
        let cell = allowed.cell.clone();
        let (pipes, theirs) = ProcessPipes::open(&command.stdio, cell.as_deref())?;
        let directory = command.directory.directory()?;
        // In a cell the directory is entered by its path: the descriptor would lead out of the cell.
        let mut fds: Vec<_> = if cell.is_none() { vec![directory.as_fd()] } else { Vec::new() };
        fds.extend(theirs.iter().map(AsFd::as_fd));
        fds.extend(command.prelude.as_deref().map(AsFd::as_fd));
        // An idle supervisor may have been killed, and so may the spawner.
        // ends: idle supervisors are used up, and only `MAX_NEW_SUPERVISORS` new ones are tried
        let mut tries = 0;
        // The watch begins before the run, so that files which the run creates are missing yet.
        let watch = cell.as_ref().map(|cell| cell.begin_watch());
        loop {
            let (supervisor, layer_names, source) = self.take_supervisor(cell.as_deref())?;
            let (requests, layers) =
                cell.as_ref().map(|cell| cell.layers_for_run(&layer_names)).unwrap_or_default();
            let order = SupervisorOrder::Run(command.launch_request(cell.as_deref(), requests)).encode();
            if order.len() > MAX_ORDER_BYTES {
                return Err(command.launch_fault(LaunchStep::Exec, rustix::io::Errno::TOOBIG.raw_os_error()));
            }
            let mut control_socket =
                ControlSocket { stream: UnixStream::from_std(supervisor)?, inbox: Vec::new() };
            tries += usize::from(source != SupervisorSource::Reused);
            let sending = async {
                // A new supervisor that is only late would still run the order.
                if source != SupervisorSource::Reused {
                    self.wait_until_ready(&mut control_socket, source).await?;
                }
                fd_passing::send_all_async(&control_socket.stream, &order, &fds).await
            };
            match sending.await {
                Ok(()) => {
                    tracing::debug!(confined = cell.is_some(), "sent the order to a supervisor");
                    let spawner = self.clone();
                    let run =
                        RunningProcess { control_socket, pipes, spawner, cell, layers, layer_names, watch };
                    return Ok(run);
                }
                Err(error) if tries == MAX_NEW_SUPERVISORS => {
                    if let Some(cell) = &cell {
                        self.cells.forget(cell).await;
                    }
                    return Err(error.into());
                }
                Err(_) => {}
            }
        }
    }

    /// Waits for the first report of a new supervisor. Replaces a spawner that is too late.
    async fn wait_until_ready(
        &self,
        control_socket: &mut ControlSocket,
        source: SupervisorSource,
    ) -> io::Result<()> {
        match timeout(SPAWNER_TIMEOUT, control_socket.next_report()).await {
            Ok(Some(SupervisorReport::Ready)) => Ok(()),
            // The spawner was killed, or could not create another process.
            Ok(_) => Err(io::Error::other("the system lets no more processes be made")),
            Err(_) => {
                self.kill_unresponsive_spawner(source);
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    }

    /// Lets commands use `scratch` as their private directory, if their policy names it.
    pub fn lend_scratch(&self, scratch: &Arc<Scratch>) {
        self.cells.lend_scratch(scratch);
    }

    /// Ends the cells that use `scratch`, and removes the placeholder directories that they needed, unless a command
    /// still runs in one of them.
    pub async fn release_scratch(&self, scratch: &Arc<Scratch>) {
        self.cells.release(scratch).await;
    }

    /// Requests a process from the spawner as `order` says, with these descriptors, and returns the socket to it.
    pub(crate) fn request_cell(&self, order: &[u8], fds: &[OwnedFd]) -> Result<StdStream, SpawnFault> {
        let mut shared = self.shared.lock();
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        shared.request_from_spawner(order, fds, &theirs)?;
        Ok(ours)
    }

    /// Kills a spawner that does not respond, e.g. because a program stopped it. The next request starts another one.
    fn kill_unresponsive_spawner(&self, spawner: SupervisorSource) {
        let mut shared = self.shared.lock();
        // Another thread may have replaced it already.
        if let Some(link) = &mut shared.link
            && spawner == SupervisorSource::Spawner(link.id())
        {
            let _gone = link.process.as_mut().map(std::process::Child::kill);
            shared.link = None;
        }
    }

    /// Returns a free supervisor, its layers if it is in a cell, and its source.
    fn take_supervisor(
        &self,
        cell: Option<&SandboxCell>,
    ) -> Result<(StdStream, Vec<String>, SupervisorSource), SpawnFault> {
        let pair = || {
            let (ours, theirs) = StdStream::pair()?;
            ours.set_nonblocking(true)?;
            io::Result::Ok((ours, theirs))
        };
        if let Some(cell) = cell {
            if let Some((supervisor, layer_names)) = cell.take_idle() {
                return Ok((supervisor, layer_names, SupervisorSource::Reused));
            }
            let (ours, theirs) = pair()?;
            send_request(&cell.control, &[0], &[], &theirs)?;
            return Ok((ours, cell.new_layers(), SupervisorSource::Cell));
        }
        let mut shared = self.shared.lock();
        if let Some(supervisor) = shared.idle.pop() {
            return Ok((supervisor, Vec::new(), SupervisorSource::Reused));
        }
        let (ours, theirs) = pair()?;
        let source = shared.request_from_spawner(&MessageEncoder::new().finish(), &[], &theirs)?;
        Ok((ours, Vec::new(), source))
    }
}

/// A permit, and the cell for the commands that run with it.
#[derive(Debug)]
pub struct CellPermit<'a> {
    permit: &'a Permit,
    /// `None`: the commands are not confined.
    cell: Option<Arc<SandboxCell>>,
}

impl CellPermit<'_> {
    /// Returns the enforcement.
    pub fn enforcement(&self) -> Enforcement {
        self.cell
            .as_ref()
            .map_or_else(|| unconfined_enforcement(self.permit), |cell| cell.enforcement.clone())
    }

    /// Returns the mounts, the tier and the enforcement.
    pub fn explain(&self) -> ConfinementReport {
        ConfinementReport {
            tier: self.cell.as_ref().map_or(Tier::Nothing, |cell| cell.tier),
            enforcement: self.enforcement(),
            mounts: self.cell.as_ref().map(|cell| cell.describe_mounts()).unwrap_or_default(),
        }
    }
}

/// The source of a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SupervisorSource {
    /// An idle supervisor, reused.
    Reused,
    Spawner(Option<u32>),
    Cell,
}

impl SpawnerState {
    /// Sends `order` to the spawner, which is started if there is none.
    fn request_from_spawner(
        &mut self,
        order: &[u8],
        fds: &[OwnedFd],
        theirs: &StdStream,
    ) -> Result<SupervisorSource, SpawnFault> {
        if let Some(link) = &self.link
            && send_request(&link.socket, order, fds, theirs).is_ok()
        {
            return Ok(SupervisorSource::Spawner(link.id()));
        }
        // There is no spawner, or it was killed: it can no longer clean up after the supervisors that it created.
        self.idle.clear();
        let link = self.link.insert(SpawnerLink::open()?);
        send_request(&link.socket, order, fds, theirs)?;
        Ok(SupervisorSource::Spawner(link.id()))
    }
}

/// The confinement of a command, for `--explain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfinementReport {
    /// The layers in force.
    pub tier: Tier,
    /// The enforcement.
    pub enforcement: Enforcement,
    /// Paths that differ from the host's, with a description.
    pub mounts: Vec<(PathBuf, &'static str)>,
}

impl SpawnerLink {
    fn id(&self) -> Option<u32> {
        self.process.as_ref().map(std::process::Child::id)
    }

    fn open() -> Result<Self, SpawnFault> {
        if !program_image::is_proc_mounted() {
            return Err(SpawnFault::NoProc);
        }
        let open_files = spawner_entry::initial_file_limit().ok_or(SpawnFault::NoConstructor)?;
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        // The binary that runs now, even if its file was replaced.
        #[expect(clippy::disallowed_methods, reason = "the one place that starts the spawner")]
        let mut command = std::process::Command::new("/proc/self/exe");
        command.arg0(spawner_entry::SPAWNER_NAME).env_clear().current_dir("/");
        command.args(open_files.map(|limit| limit.to_string()));
        command.stdin(OwnedFd::from(theirs)).stdout(std::process::Stdio::null());
        let process = command.stderr(std::process::Stdio::null()).spawn()?;
        Ok(Self { socket: ours, process: Some(process) })
    }
}

/// Sends an order with the descriptors `fds`, and last the socket `end`, which the new process will serve.
fn send_request(socket: &StdStream, order: &[u8], fds: &[OwnedFd], end: &StdStream) -> io::Result<()> {
    let all: Vec<_> = fds.iter().map(AsFd::as_fd).chain([end.as_fd()]).collect();
    fd_passing::send_all(socket, order, &all, Some(SPAWNER_TIMEOUT)).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => io::Error::new(error.kind(), "the spawner does not answer"),
        _ => error,
    })
}

impl ProcessCommand {
    /// Creates a command that runs exactly what the policy judged.
    pub fn new(
        judged: CommandLine,
        env: BTreeMap<OsString, OsString>,
        directory: Arc<FileHandle>,
        stdio: Stdio,
    ) -> Self {
        let argv = judged.argv().into_iter().map(OsString::from).collect();
        Self { judged, argv, env, directory, stdio, prelude: None }
    }

    fn launch_request(&self, cell: Option<&SandboxCell>, layers: Vec<LayerRequest>) -> LaunchRequest {
        let variable =
            |(name, value): (&OsString, &OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        let mut env = self.env.clone();
        let mut directory = Vec::new();
        if let Some(cell) = cell {
            let inside = cell.path_inside(self.directory.path());
            if env.get(OsStr::new("PWD")).is_some_and(|pwd| pwd == self.directory.path()) {
                env.insert("PWD".into(), inside.clone().into());
            }
            env.extend(cell.variables().iter().map(|(name, value)| ((*name).into(), value.clone().into())));
            directory = inside.into_os_string().into_vec();
        }
        LaunchRequest {
            argv: self.argv.iter().map(|word| word.as_bytes().to_owned()).collect(),
            env: env.iter().map(variable).collect(),
            terminal: matches!(self.stdio, Stdio::Terminal(_)),
            prelude: self.prelude.is_some(),
            directory,
            layers,
        }
    }

    /// Returns the error for a command that was not started, given the failed step.
    pub(crate) fn launch_fault(&self, step: LaunchStep, errno: i32) -> SpawnFault {
        SpawnFault::Refused {
            step,
            program: self.argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            directory: self.directory.path().to_owned(),
            errno: io::Error::from_raw_os_error(errno),
        }
    }
}
