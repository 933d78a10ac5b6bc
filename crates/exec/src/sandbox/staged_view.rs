//! The view of staged changes on the host side: asks the stage holder to mount layers, and opens the merged directories.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use policy::WorkspaceView;
use rustix::io::Errno;

use super::stage_holder::{HolderRequest, StageMount};
use crate::process::codec::{LENGTH_PREFIX_BYTES, MessageDecoder, message_length};
use crate::process::{STAGE_HOLDER_ORDER, SpawnFault, Spawner, fd_passing};

/// The time limit for an answer of the holder. It is far more than needed; a machine may be busy.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum size of an answer.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The merged directories of staged changes.
#[derive(Debug)]
pub struct StagedView {
    roots: Vec<PathBuf>,
    holder: Mutex<UnixStream>,
    opened: Mutex<Vec<OwnedFd>>,
    generation: AtomicU64,
}

/// The reason why layers cannot be mounted.
#[derive(Debug, thiserror::Error)]
pub enum StageMountFault {
    /// The spawner cannot start the process that mounts them.
    #[error(transparent)]
    Spawn(#[from] SpawnFault),
    /// The process that mounts them ended.
    #[error("the process that mounts the layers is gone: {0}")]
    Gone(#[source] io::Error),
    /// The kernel refused a step.
    #[error("{doing}: {source}")]
    Refused {
        /// The step.
        doing: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl StagedView {
    /// Mounts layers over their roots, where only this session sees them. Outer roots come first.
    pub fn mount(spawner: &Spawner, mounts: Vec<StageMount>) -> Result<Self, StageMountFault> {
        let holder = spawner.request_cell(STAGE_HOLDER_ORDER, &[])?;
        holder.set_nonblocking(false).map_err(StageMountFault::Gone)?;
        holder.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(StageMountFault::Gone)?;
        let view = Self {
            roots: mounts.iter().map(|mount| mount.root.clone()).collect(),
            holder: Mutex::new(holder),
            opened: Mutex::default(),
            generation: AtomicU64::new(0),
        };
        view.remount(mounts)?;
        Ok(view)
    }

    /// Mounts other layers over the same roots. Commands that run keep the earlier ones.
    pub fn remount(&self, mounts: Vec<StageMount>) -> Result<(), StageMountFault> {
        let opened = self.request(&HolderRequest::Mount(mounts))?;
        *self.opened.lock() = opened;
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Drops what the mounts have cached of the user's directories, which the user may have changed.
    pub fn refresh(&self) -> Result<(), StageMountFault> {
        self.request(&HolderRequest::Refresh).map(drop)
    }

    fn request(&self, request: &HolderRequest) -> Result<Vec<OwnedFd>, StageMountFault> {
        let holder = self.holder.lock();
        let gone = StageMountFault::Gone;
        fd_passing::send_all(&*holder, &request.encode(), &[], Some(ANSWER_TIMEOUT)).map_err(gone)?;
        let mut fds = Vec::new();
        let answer = receive_answer(&holder, &mut fds).map_err(gone)?;
        let mut input = MessageDecoder(&answer);
        let malformed = || gone(io::ErrorKind::InvalidData.into());
        match input.byte().ok_or_else(malformed)? {
            0 => {
                let count = input.number().ok_or_else(malformed)?;
                // ends: each round receives descriptors, or fails
                while (fds.len() as u64) < count {
                    let before = fds.len();
                    fd_passing::receive(&*holder, &mut [0; 1], &mut fds).map_err(gone)?;
                    if fds.len() == before {
                        return Err(malformed());
                    }
                }
                Ok(fds)
            }
            _ => {
                let doing = input.bytes().ok_or_else(malformed)?;
                let errno = Errno::from_raw_os_error(input.signed().ok_or_else(malformed)?);
                let doing = String::from_utf8_lossy(doing).into_owned();
                Err(StageMountFault::Refused { doing, source: errno.into() })
            }
        }
    }
}

fn receive_answer(holder: &UnixStream, fds: &mut Vec<OwnedFd>) -> io::Result<Vec<u8>> {
    let mut length = [0; LENGTH_PREFIX_BYTES];
    receive_exact(holder, &mut length, fds)?;
    let length = message_length(length, MAX_ANSWER_BYTES).ok_or(io::ErrorKind::InvalidData)?;
    let mut bytes = vec![0; length];
    receive_exact(holder, &mut bytes, fds)?;
    Ok(bytes)
}

fn receive_exact(holder: &UnixStream, mut bytes: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<()> {
    // ends: every round fills some of it or is the last
    while !bytes.is_empty() {
        match fd_passing::receive(holder, bytes, fds)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            got => bytes = &mut bytes[got..],
        }
    }
    Ok(())
}

impl WorkspaceView for StagedView {
    fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    fn open_root(&self, root: &Path) -> io::Result<OwnedFd> {
        let at = self.roots.iter().position(|known| known == root).ok_or(io::ErrorKind::NotFound)?;
        let opened = self.opened.lock();
        opened.get(at).ok_or(io::ErrorKind::NotFound)?.try_clone()
    }

    fn detached_mounts(&self) -> io::Result<Vec<OwnedFd>> {
        self.request(&HolderRequest::Clone).map_err(io::Error::other)
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}
