//! A running process: its pipes and the control socket to its supervisor.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::codec::find_message;
use super::fd_passing::send_all_async;
use super::messages::{MAX_REPORT_BYTES, SupervisorOrder, SupervisorReport};
use super::spawner::{Spawner, Stdio};
use super::{pty, sys};
use crate::capture::CapturedStream;
use crate::sandbox::git::GitLayer;
use crate::sandbox::host_watch::HostFileWatch;
use crate::sandbox::pool::SandboxCell;

/// The maximum number of idle supervisors.
const MAX_IDLE_SUPERVISORS: usize = 8;

/// The host's ends of the standard streams.
#[derive(Debug, Default)]
pub(crate) struct ProcessPipes {
    pub(crate) stdin: Option<pipe::Sender>,
    pub(crate) stdout: Option<pipe::Receiver>,
    pub(crate) stderr: Option<pipe::Receiver>,
    pub(crate) terminal: Option<AsyncFd<Arc<OwnedFd>>>,
}

impl ProcessPipes {
    /// Closes a stream that has ended.
    pub(crate) fn close(&mut self, stream: CapturedStream) {
        match stream {
            CapturedStream::Stdout => self.stdout = None,
            CapturedStream::Stderr => self.stderr = None,
            CapturedStream::Terminal => self.terminal = None,
        }
    }

    pub(super) fn open(stdio: &Stdio, cell: Option<&SandboxCell>) -> io::Result<(Self, Vec<OwnedFd>)> {
        if let Stdio::Terminal(size) = stdio {
            let (ours, theirs) = pty::open(*size, cell.and_then(|cell| cell.terminals.as_ref()))?;
            let terminal = Some(sys::into_async_fd(Arc::new(ours))?);
            return Ok((Self { terminal, ..Self::default() }, vec![theirs]));
        }
        if let Stdio::Descriptors(given) = stdio {
            let theirs: Vec<OwnedFd> = given.iter().map(OwnedFd::try_clone).collect::<io::Result<_>>()?;
            // A directory would be a way out of the cell: its contents can be opened through the descriptor.
            if cell.is_some() && theirs.iter().any(is_directory) {
                return Err(io::Error::other(
                    "a directory cannot be standard input or output of a confined command; give it a file",
                ));
            }
            return Ok((Self::default(), theirs));
        }
        let (stdin, read) = match stdio {
            Stdio::PipedInput => {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
                (Some(pipe::Sender::from_owned_fd(write)?), read)
            }
            Stdio::FileInput(file) => (None, file.try_clone()?),
            Stdio::NoInput | Stdio::Terminal(_) | Stdio::Descriptors(_) => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                (None, rustix::fs::open("/dev/null", flags, Mode::empty())?)
            }
        };
        let (out, out_end) = pipe_with(PipeFlags::CLOEXEC)?;
        let (err, err_end) = pipe_with(PipeFlags::CLOEXEC)?;
        let stdout = Some(pipe::Receiver::from_owned_fd(out)?);
        let stderr = Some(pipe::Receiver::from_owned_fd(err)?);
        Ok((Self { stdin, stdout, stderr, terminal: None }, vec![read, out_end, err_end]))
    }
}

fn is_directory(fd: &OwnedFd) -> bool {
    // A descriptor that cannot be checked counts as a directory.
    rustix::fs::fstat(fd).map_or(true, |stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

/// A running process and its supervisor. Dropping it makes the supervisor kill the process and all descendants.
#[derive(Debug)]
pub(crate) struct RunningProcess {
    pub(crate) control_socket: ControlSocket,
    pub(crate) pipes: ProcessPipes,
    pub(super) spawner: Spawner,
    /// The cell, if the process is confined.
    pub(crate) cell: Option<Arc<SandboxCell>>,
    /// The layers that hold its changes to git directories.
    pub(crate) layers: Vec<GitLayer>,
    /// The names of the layers.
    pub(super) layer_names: Vec<String>,
    /// The watch for files that take effect on the user's machine, if the process is confined.
    pub(crate) watch: Option<HostFileWatch>,
}

impl RunningProcess {
    /// Returns the supervisor for the next run: it has reported that no process of this run is left.
    pub(crate) fn release_supervisor(self) {
        let Ok(supervisor) = self.control_socket.stream.into_std() else { return };
        if let Some(cell) = &self.cell {
            return cell.return_idle(supervisor, self.layer_names);
        }
        let mut shared = self.spawner.shared.lock();
        if shared.idle.len() < MAX_IDLE_SUPERVISORS {
            shared.idle.push(supervisor);
        }
    }
}

/// The socket to a supervisor.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    pub(super) stream: UnixStream,
    pub(super) inbox: Vec<u8>,
}

impl ControlSocket {
    /// Returns the supervisor's next report, or `None` if it is gone or malformed. Cancel safe.
    pub(crate) async fn next_report(&mut self) -> Option<SupervisorReport> {
        // ends: with a report, or when the supervisor is gone
        loop {
            if let Some(message) = find_message(&self.inbox, MAX_REPORT_BYTES).ok()? {
                let end = message.end;
                let report = SupervisorReport::decode(&self.inbox[message])?;
                self.inbox.drain(..end);
                return Some(report);
            }
            self.stream.readable().await.ok()?;
            let mut bytes = [0; 4096];
            match self.stream.try_read(&mut bytes) {
                Ok(0) => return None,
                Ok(read) => self.inbox.extend(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// Ends every process of the run: SIGTERM, then SIGKILL after `grace`.
    pub(crate) async fn end(&self, grace: Duration) -> io::Result<()> {
        send_all_async(&self.stream, &SupervisorOrder::End { grace }.encode(), &[]).await
    }

    /// Sends a signal to the process group of the program.
    pub(crate) async fn signal(&self, signal: i32) -> io::Result<()> {
        send_all_async(&self.stream, &SupervisorOrder::Signal(signal).encode(), &[]).await
    }
}
