//! The host's side: a spawner that is started when it is needed, keepers that are used again, processes to talk to.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use policy::{Denial, Permit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::message::{LENGTH, Launch, MAX_ORDER, MAX_REPORT, Order, Report, Step};
use super::pty::{self, Size};
use super::{entry, link, sys};
use crate::capture::Stream;
use crate::fs::Found;

/// Keepers that wait for the next run.
const MAX_IDLE: usize = 8;
/// How long the spawner may take for one more keeper.
const BUSY: Duration = Duration::from_secs(3);
/// How many new keepers are asked for before a call fails.
const TRIES: usize = 2;

/// What to run.
#[derive(Debug)]
pub struct Command {
    /// The program and its arguments, as the policy judged them.
    pub stated: Vec<String>,
    /// What is run for it: the same, or the same without a profile or a shell that it does not need.
    pub(crate) argv: Vec<OsString>,
    /// All variables that it gets.
    pub env: BTreeMap<OsString, OsString>,
    /// Where it runs: a directory that was looked at through the door.
    pub directory: Arc<Found>,
    /// What it reads and writes.
    pub stdio: Stdio,
    /// A script that a shell finds at `/dev/fd/9`.
    pub(crate) prelude: Option<Arc<OwnedFd>>,
}

/// What a process reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdio {
    /// Reads nothing, writes into pipes.
    Piped,
    /// Reads from a pipe too.
    Fed,
    /// Reads from and writes to a terminal.
    Terminal(Size),
}

/// Why a process was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnFault {
    /// The permit is for something else.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// The program that embeds us does not say so at the top of its `main`.
    #[error("no process can be started: the program must call `toolgate::init()` first in its `main`")]
    NotReady,
    /// The program could not be run.
    #[error("{}", refusal(*step, program, directory, errno))]
    Refused {
        /// The step that failed.
        step: Step,
        /// What was to be run.
        program: String,
        /// Where.
        directory: PathBuf,
        /// The system's word.
        errno: io::Error,
    },
    /// The spawner or the keeper is gone, or the system is out of something.
    #[error("no process could be started: {0}")]
    System(#[from] io::Error),
}

fn refusal(step: Step, program: &str, directory: &std::path::Path, errno: &io::Error) -> String {
    use rustix::io::Errno;
    let why = Errno::from_io_error(errno);
    let directory = directory.display();
    match (step, why) {
        (Step::Fork, _) => format!("no process could be made for `{program}`: {errno}"),
        (Step::Terminal, _) => format!("`{program}` got no terminal: {errno}"),
        (Step::Directory, _) => format!("the working directory `{directory}` cannot be entered: {errno}"),
        (Step::Exec, Some(Errno::NOENT)) if program.contains('/') => {
            format!("there is no program `{program}`, or what it is to be run by is not there")
        }
        (Step::Exec, Some(Errno::NOENT)) => format!("there is no program `{program}` along the PATH"),
        (Step::Exec, Some(Errno::ACCESS)) => format!("`{program}` may not be executed: {errno}"),
        (Step::Exec, Some(Errno::TOOBIG)) => {
            format!("the arguments of `{program}` are too long for the system; put them into a file")
        }
        (Step::Exec, _) => format!("`{program}` could not be executed: {errno}"),
    }
}

/// Starts processes. Clones share the spawner and its keepers.
#[derive(Debug, Clone, Default)]
pub struct Spawner {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    link: Option<Link>,
    idle: Vec<StdStream>,
}

/// The spawner that is running.
#[derive(Debug)]
struct Link {
    socket: StdStream,
    process: Option<std::process::Child>,
}

impl Drop for Link {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // It ends when its socket is closed and its last keeper is gone. Somebody has to take leave of it.
        let _closed = self.socket.shutdown(std::net::Shutdown::Both);
        // A program may have stopped it.
        let pid = i32::try_from(process.id()).ok().and_then(rustix::process::Pid::from_raw);
        let _gone = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::CONT));
        let _no_more_threads = std::thread::Builder::new().spawn(move || process.wait());
    }
}

impl Spawner {
    /// Starts `command` with the key to it.
    pub(crate) async fn start(&self, command: &Command, permit: &Permit) -> Result<Process, SpawnFault> {
        permit.may_run(&command.stated)?;
        let (pipes, theirs) = Pipes::open(command.stdio)?;
        let directory = command.directory.directory()?;
        let mut fds = vec![directory.as_fd()];
        fds.extend(theirs.iter().map(AsFd::as_fd));
        fds.extend(command.prelude.as_deref().map(AsFd::as_fd));
        let order = Order::Run(command.launch()).encode();
        if order.len() > MAX_ORDER {
            return Err(command.refused(Step::Exec, rustix::io::Errno::TOOBIG.raw_os_error()));
        }
        // A keeper that waited may have been killed meanwhile, and so may the spawner.
        // ends: idle keepers are used up, and only so many new ones are tried
        let mut tries = 0;
        loop {
            let (keeper, made_by) = self.keeper()?;
            let is_new = made_by.is_some();
            let mut talk = Talk { control: UnixStream::from_std(keeper)?, inbox: Vec::new() };
            tries += usize::from(is_new);
            // Nothing is ordered before it is there: a keeper that is only late would run it all the same.
            let sent = match if is_new { timeout(BUSY, talk.report()).await } else { Ok(Some(Report::Ready)) }
            {
                Ok(Some(Report::Ready)) => send(&talk.control, &order, &fds).await,
                // The spawner was killed meanwhile, or could not make one more process.
                Ok(_) => Err(io::Error::other("the system lets no more processes be made")),
                Err(_) => {
                    self.replace(made_by);
                    Err(io::ErrorKind::TimedOut.into())
                }
            };
            match sent {
                Ok(()) => return Ok(Process { talk, pipes, spawner: self.clone() }),
                Err(error) if tries == TRIES => return Err(error.into()),
                Err(_) => {}
            }
        }
    }

    /// The spawner does not do its work: a program has stopped it. The next keeper is asked of another one.
    fn replace(&self, spawner: Option<u32>) {
        let mut shared = self.lock();
        // Somebody else may have done so already.
        if let Some(link) = &mut shared.link
            && link.id() == spawner
        {
            let _gone = link.process.as_mut().map(std::process::Child::kill);
            shared.link = None;
        }
    }

    /// A keeper that is free; if it is new, also who makes it.
    fn keeper(&self) -> Result<(StdStream, Option<u32>), SpawnFault> {
        let mut shared = self.lock();
        if let Some(keeper) = shared.idle.pop() {
            return Ok((keeper, None));
        }
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        if let Some(link) = &shared.link
            && ask(&link.socket, &theirs).is_ok()
        {
            return Ok((ours, link.id()));
        }
        // There is none, or it was killed: nobody would clean up after the keepers that it made.
        shared.idle.clear();
        let link = shared.link.insert(Link::open()?);
        ask(&link.socket, &theirs)?;
        Ok((ours, link.id()))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // A list and a link are right between any two statements.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    fn id(&self) -> Option<u32> {
        self.process.as_ref().map(std::process::Child::id)
    }

    fn open() -> Result<Self, SpawnFault> {
        let open_files = entry::ready().ok_or(SpawnFault::NotReady)?;
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        // What runs now, even if its file was replaced since.
        #[expect(clippy::disallowed_methods, reason = "the one place that starts the spawner")]
        let mut command = std::process::Command::new("/proc/self/exe");
        command.arg0(entry::NAME).env_clear().current_dir("/");
        command.args(open_files.map(|limit| limit.to_string()));
        command.stdin(OwnedFd::from(theirs)).stdout(std::process::Stdio::null());
        let process = command.stderr(std::process::Stdio::null()).spawn()?;
        Ok(Self { socket: ours, process: Some(process) })
    }
}

/// Asks the spawner for a keeper at `end`.
fn ask(spawner: &StdStream, end: &StdStream) -> io::Result<()> {
    // ends: with the message taken, or when the spawner was busy for too long
    loop {
        match link::send(spawner, &[0], &[end.as_fd()]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let wait = Timespec::try_from(BUSY).ok();
                if poll(&mut [PollFd::new(spawner, PollFlags::OUT)], wait.as_ref())? == 0 {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the spawner does not answer"));
                }
            }
            done => return done.map(|_| ()),
        }
    }
}

async fn send(control: &UnixStream, order: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let (mut rest, mut fds) = (order, fds);
    // ends: every round sends some of it or is the last
    while !rest.is_empty() {
        let sent = control.async_io(Interest::WRITABLE, || link::send(control, rest, fds)).await?;
        (rest, fds) = (&rest[sent..], &[]);
    }
    Ok(())
}

impl Command {
    /// Runs what the policy judged, as it is.
    pub fn new(
        stated: Vec<String>,
        env: BTreeMap<OsString, OsString>,
        directory: Arc<Found>,
        stdio: Stdio,
    ) -> Self {
        let argv = stated.iter().map(OsString::from).collect();
        Self { stated, argv, env, directory, stdio, prelude: None }
    }

    fn launch(&self) -> Launch {
        let variable =
            |(name, value): (&OsString, &OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        Launch {
            argv: self.argv.iter().map(|word| word.as_bytes().to_owned()).collect(),
            env: self.env.iter().map(variable).collect(),
            terminal: matches!(self.stdio, Stdio::Terminal(_)),
            prelude: self.prelude.is_some(),
        }
    }

    /// Why it was not started, given which step failed.
    pub(crate) fn refused(&self, step: Step, errno: i32) -> SpawnFault {
        SpawnFault::Refused {
            step,
            program: self.argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            directory: self.directory.path().to_owned(),
            errno: io::Error::from_raw_os_error(errno),
        }
    }
}

/// Our ends of what a process reads and writes.
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    pub(crate) stdin: Option<pipe::Sender>,
    pub(crate) stdout: Option<pipe::Receiver>,
    pub(crate) stderr: Option<pipe::Receiver>,
    pub(crate) terminal: Option<AsyncFd<Arc<OwnedFd>>>,
}

impl Pipes {
    /// Nothing more comes from there.
    pub(crate) fn close(&mut self, stream: Stream) {
        match stream {
            Stream::Stdout => self.stdout = None,
            Stream::Stderr => self.stderr = None,
            Stream::Terminal => self.terminal = None,
        }
    }

    fn open(stdio: Stdio) -> io::Result<(Self, Vec<OwnedFd>)> {
        if let Stdio::Terminal(size) = stdio {
            let (ours, theirs) = pty::open(size)?;
            let terminal = Some(sys::watched(Arc::new(ours))?);
            return Ok((Self { terminal, ..Self::default() }, vec![theirs]));
        }
        let (stdin, read) = if stdio == Stdio::Fed {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            (Some(pipe::Sender::from_owned_fd(write)?), read)
        } else {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            (None, rustix::fs::open("/dev/null", flags, Mode::empty())?)
        };
        let (out, out_end) = pipe_with(PipeFlags::CLOEXEC)?;
        let (err, err_end) = pipe_with(PipeFlags::CLOEXEC)?;
        let stdout = Some(pipe::Receiver::from_owned_fd(out)?);
        let stderr = Some(pipe::Receiver::from_owned_fd(err)?);
        Ok((Self { stdin, stdout, stderr, terminal: None }, vec![read, out_end, err_end]))
    }
}

/// A process that was started, and its keeper. Dropping it has the keeper kill it and all that came of it.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) talk: Talk,
    pub(crate) pipes: Pipes,
    spawner: Spawner,
}

impl Process {
    /// Gives the keeper back for the next run: it has said that nothing is left of this one.
    pub(crate) fn over(self) {
        let Ok(keeper) = self.talk.control.into_std() else { return };
        let mut shared = self.spawner.lock();
        if shared.idle.len() < MAX_IDLE {
            shared.idle.push(keeper);
        }
    }
}

/// The socket to a keeper.
#[derive(Debug)]
pub(crate) struct Talk {
    control: UnixStream,
    inbox: Vec<u8>,
}

impl Talk {
    /// What the keeper says next; `None` if it is gone. Safe to drop and call again.
    pub(crate) async fn report(&mut self) -> Option<Report> {
        // ends: with a report, or when the keeper is gone
        loop {
            if let Some(report) = self.parse()? {
                return Some(report);
            }
            self.control.readable().await.ok()?;
            let mut bytes = [0; 4096];
            match self.control.try_read(&mut bytes) {
                Ok(0) => return None,
                Ok(read) => self.inbox.extend(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// A whole report, if there is one; `None` on the outside if it is nonsense.
    fn parse(&mut self) -> Option<Option<Report>> {
        let Some(length) = self.inbox.first_chunk::<LENGTH>() else { return Some(None) };
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        if length > MAX_REPORT {
            return None;
        }
        if self.inbox.len() < LENGTH + length {
            return Some(None);
        }
        let report = Report::decode(&self.inbox[LENGTH..LENGTH + length])?;
        self.inbox.drain(..LENGTH + length);
        Some(Some(report))
    }

    /// Has every process of the run asked to end, and killed after `grace`.
    pub(crate) async fn end(&self, grace: Duration) -> io::Result<()> {
        send(&self.control, &Order::End { grace }.encode(), &[]).await
    }

    /// Sends a signal to the group of the process that was started.
    pub(crate) async fn signal(&self, signal: i32) -> io::Result<()> {
        send(&self.control, &Order::Signal(signal).encode(), &[]).await
    }
}
