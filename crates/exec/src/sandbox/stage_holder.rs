//! Stage holder: the process that mounts the layers of staged changes, and hands out copies of the mounts.
//!
//! It lives in namespaces of its own and runs no foreign code. The mounts end with it, the layers stay on disk.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::mount::{MoveMountFlags, move_mount};

use super::cell_plan::path_from_bytes;
use super::mounts::{self, MountFault};
use super::sys::Namespaces;
use super::{cell, overlay_mount, sys};
use crate::process::codec::{MessageDecoder, MessageEncoder};
use crate::process::{confined, fd_passing};

/// The maximum size of a request: a path for each layer of each root.
const MAX_REQUEST_BYTES: usize = 1 << 22;

/// A request to the holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HolderRequest {
    /// Mount these layers, in place of those before.
    Mount(Vec<StageMount>),
    /// Send a mount of each root that is attached nowhere.
    Clone,
    /// Forget what the mounts have cached of the directories beneath.
    Refresh,
}

/// The layers of one root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageMount {
    /// The directory that the layers cover.
    pub root: PathBuf,
    /// The layers over it, the topmost first.
    pub layers: Vec<PathBuf>,
    /// The layer that receives the writes.
    pub upper: PathBuf,
    /// The overlay's private directory.
    pub work: PathBuf,
}

impl HolderRequest {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MessageEncoder::new();
        match self {
            Self::Mount(mounts) => {
                out.byte(1);
                out.number(mounts.len() as u64);
                for StageMount { root, layers, upper, work } in mounts {
                    [root, upper, work].into_iter().for_each(|path| write_path(&mut out, path));
                    out.number(layers.len() as u64);
                    layers.iter().for_each(|layer| write_path(&mut out, layer));
                }
            }
            Self::Clone => out.byte(2),
            Self::Refresh => out.byte(3),
        }
        out.finish()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = MessageDecoder(bytes);
        match input.byte()? {
            1 => {
                let count = input.number()?;
                let mount = |input: &mut MessageDecoder<'_>| {
                    let mut path = || Some(path_from_bytes(input.bytes()?.to_vec()));
                    let (root, upper, work) = (path()?, path()?, path()?);
                    let layers = input.list()?.into_iter().map(path_from_bytes).collect();
                    Some(StageMount { root, layers, upper, work })
                };
                Some(Self::Mount((0..count).map(|_| mount(&mut input)).collect::<Option<_>>()?))
            }
            2 => Some(Self::Clone),
            3 => Some(Self::Refresh),
            _ => None,
        }
    }
}

fn write_path(out: &mut MessageEncoder, path: &Path) {
    out.bytes(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()));
}

/// Becomes the holder. Serves the host at the other end of `control` until it is gone.
pub(crate) fn serve(control: &OwnedFd) -> ! {
    let _old_kernel = rustix::thread::set_name(c"toolgate-stage");
    if let Err(fault) = enter() {
        let _host_is_gone = fd_passing::send_all(control, &encode_fault(&fault), &[], None);
        confined::exit(0)
    }
    let mut mounted = Vec::new();
    // ends: when the host is gone
    while let Some((bytes, _)) = fd_passing::receive_message(control, MAX_REQUEST_BYTES) {
        let answer = match HolderRequest::decode(&bytes) {
            Some(request) => answer(request, &mut mounted),
            None => Err(("reading a request".to_owned(), Errno::INVAL)),
        };
        let sent = match answer {
            Ok(fds) => {
                let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
                let mut out = MessageEncoder::new();
                out.byte(0);
                out.number(fds.len() as u64);
                send_in_parts(control, &out.finish(), &fds)
            }
            Err((doing, errno)) => {
                fd_passing::send_all(control, &encode_fault(&MountFault::Machine(doing, errno)), &[], None)
            }
        };
        if sent.is_err() {
            break;
        }
    }
    confined::exit(0)
}

/// Sends `bytes`, then the descriptors, few with each further byte.
fn send_in_parts(
    control: &OwnedFd,
    bytes: &[u8],
    fds: &[std::os::fd::BorrowedFd<'_>],
) -> std::io::Result<()> {
    fd_passing::send_all(control, bytes, &[], None)?;
    fds.chunks(fd_passing::MAX_FDS).try_for_each(|some| fd_passing::send_all(control, &[0], some, None))
}

fn enter() -> std::result::Result<(), MountFault> {
    cell::enter_user_namespace(Namespaces::MOUNT)?;
    let fault = |doing: &str| {
        let doing = doing.to_owned();
        move |errno| MountFault::Machine(doing, errno)
    };
    let root =
        rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(fault("opening `/`"))?;
    sys::private_mounts(&root).map_err(fault("making mounts private"))
}

type Doing<T> = std::result::Result<T, (String, Errno)>;

fn answer(request: HolderRequest, mounted: &mut Vec<PathBuf>) -> Doing<Vec<OwnedFd>> {
    let at = |doing: &str, root: &Path| {
        let doing = format!("{doing} `{}`", root.display());
        move |errno| (doing, errno)
    };
    match request {
        HolderRequest::Mount(wanted) => {
            while let Some(root) = mounted.last() {
                mounts::unmount_layer(root).map_err(at("unmounting the layers over", root))?;
                mounted.pop();
            }
            let mut opened = Vec::new();
            for mount in &wanted {
                mount_stage(mount).map_err(at("mounting the layers over", &mount.root))?;
                mounted.push(mount.root.clone());
                opened.push(open_root(&mount.root).map_err(at("opening", &mount.root))?);
            }
            Ok(opened)
        }
        HolderRequest::Clone => {
            let clone = |root: &PathBuf| mounts::clone_mount(root).map_err(at("copying the mount of", root));
            mounted.iter().map(clone).collect()
        }
        HolderRequest::Refresh => {
            for root in &*mounted {
                mounts::refresh_layer(root).map_err(at("refreshing the layers over", root))?;
            }
            Ok(Vec::new())
        }
    }
}

fn open_root(root: &Path) -> Result<OwnedFd> {
    rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn mount_stage(mount: &StageMount) -> Result<()> {
    overlay_mount::clear_volatile_mark(&mount.work);
    let tree = overlay_mount::create_stacked_overlay(mount)?;
    move_mount(&tree, "", CWD, &mount.root, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn encode_fault(fault: &MountFault) -> Vec<u8> {
    let (MountFault::Machine(doing, errno) | MountFault::Path(doing, errno)) = fault;
    let mut out = MessageEncoder::new();
    out.byte(1);
    out.bytes(doing.as_bytes());
    out.signed(errno.raw_os_error());
    out.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::process::codec::LENGTH_PREFIX_BYTES;

    #[test]
    fn a_request_arrives_as_it_was_sent() {
        let mount = StageMount {
            root: "/w".into(),
            layers: vec!["/s/2".into(), "/s/1".into()],
            upper: "/s/3".into(),
            work: "/s/work".into(),
        };
        for request in [HolderRequest::Mount(vec![mount]), HolderRequest::Clone, HolderRequest::Refresh] {
            assert_eq!(HolderRequest::decode(&request.encode()[LENGTH_PREFIX_BYTES..]), Some(request));
        }
    }

    proptest! {
        /// Law: no input makes a holder panic.
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _what_is_it = HolderRequest::decode(&bytes);
        }
    }
}
