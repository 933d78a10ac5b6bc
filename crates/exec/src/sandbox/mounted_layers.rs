//! Overlays of a supervisor over git directories: mounted ahead of time, and kept while nothing is written to them.
//!
//! An overlay caches the directory beneath, which the host may change between two runs. Creating a new one for every
//! run takes a while, and unmounting takes long. So its cache is dropped between runs, while no call waits. Only an
//! overlay that was written to is unmounted: its content is about to land.

use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdir, openat, rmdir, statat, unlink};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

use super::cell::ProgramConfinement;
use super::cell_plan::{MountContent, path_from_bytes};
use super::mounts;
use super::scratch;
use crate::process::codec::{MessageDecoder, MessageEncoder};

/// The ignore file of a repository that is not part of its content.
const EXCLUDE_FILE: &str = "info/exclude";
/// A larger file is left unchanged.
const MAX_EXCLUDE_BYTES: usize = 1 << 20;

/// A layer that a run needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LayerRequest {
    /// The directory that it covers.
    pub(crate) at: PathBuf,
    /// The name of the directory that receives the writes.
    pub(crate) name: String,
    /// Lines for git's ignore file: Toolgate's placeholder directories, which no command can remove.
    pub(crate) ignore_lines: Vec<u8>,
}

impl LayerRequest {
    pub(crate) fn write(&self, out: &mut MessageEncoder) {
        out.bytes(self.at.as_os_str().as_bytes());
        out.bytes(self.name.as_bytes());
        out.bytes(&self.ignore_lines);
    }

    pub(crate) fn read(input: &mut MessageDecoder<'_>) -> Option<Self> {
        let (at, name) = (path_from_bytes(input.bytes()?.to_vec()), input.bytes()?.to_vec());
        Some(Self { at, name: String::from_utf8(name).ok()?, ignore_lines: input.bytes()?.to_vec() })
    }
}

/// A mounted layer.
#[derive(Debug)]
struct MountedLayer {
    request: LayerRequest,
    /// The state of the ignore file that Toolgate wrote into it, and of its source.
    ignore_stamps: Option<IgnoreFileStamps>,
    /// True if it caches nothing of the directory beneath.
    is_fresh: bool,
}

/// State of the ignore file in the layer, and beneath it: size and modification time.
type IgnoreFileStamps = (SizeAndMtime, Option<SizeAndMtime>);
type SizeAndMtime = (i64, i64);

/// The outcome of mounting the requested layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LayerMountOutcome {
    /// All were mounted before.
    AlreadyMounted,
    /// At least one was mounted now.
    MountedNow,
    /// At least one could not be mounted.
    Failed,
}

/// The overlays over git directories.
#[derive(Debug)]
pub(crate) struct MountedLayers {
    /// True if there is a private mount namespace.
    own_mounts: bool,
    mounted: RefCell<Vec<MountedLayer>>,
    /// The directories beneath the layers.
    lower_dirs: RefCell<Vec<(PathBuf, OwnedFd)>>,
    /// Paths that must be hidden again inside layers.
    hidden: Vec<PathBuf>,
}

impl MountedLayers {
    pub(crate) fn new(inside: Option<&ProgramConfinement>) -> Self {
        let plan = inside.filter(|inside| inside.own_mounts).map(|inside| &inside.broker_facts.plan);
        let hidden = plan
            .into_iter()
            .flat_map(|plan| &plan.mounts)
            .filter(|mount| mount.content == MountContent::Hidden);
        Self {
            own_mounts: plan.is_some(),
            mounted: RefCell::default(),
            lower_dirs: RefCell::default(),
            hidden: hidden.map(|mount| mount.at.clone()).collect(),
        }
    }

    /// Mounts the requested layers that are not mounted yet.
    pub(crate) fn mount_missing(&self, requests: &[LayerRequest]) -> LayerMountOutcome {
        // Each one, even if another fails.
        let put = requests.iter().filter(|_| self.own_mounts).map(|wanted| self.mount_if_missing(wanted));
        put.max().unwrap_or(LayerMountOutcome::AlreadyMounted)
    }

    fn mount_if_missing(&self, request: &LayerRequest) -> LayerMountOutcome {
        let before = self.mounted.borrow().iter().position(|on| on.request.at == request.at);
        if let Some(before) = before {
            let layer = self.mounted.borrow_mut().remove(before);
            if layer.request == *request && layer.is_fresh && self.is_ignore_file_current(&layer) {
                self.mounted.borrow_mut().push(layer);
                return LayerMountOutcome::AlreadyMounted;
            }
            if !layer.unmount() {
                return LayerMountOutcome::Failed;
            }
        }
        self.mount_new(request.clone()).map_or(LayerMountOutcome::Failed, |()| LayerMountOutcome::MountedNow)
    }

    /// Forgets the layers at `places`, which were unmounted with their mount points.
    pub(crate) fn forget_lost(&self, places: &[PathBuf]) {
        self.mounted.borrow_mut().retain(|on| !places.contains(&on.request.at));
        self.lower_dirs.borrow_mut().retain(|(at, _)| !places.contains(at));
    }

    /// Returns true if the ignore file would be written again with the same content.
    fn is_ignore_file_current(&self, layer: &MountedLayer) -> bool {
        let Some((_, beneath)) = layer.ignore_stamps else { return true };
        let lowers = self.lower_dirs.borrow();
        let lower = lowers.iter().find(|(place, _)| *place == layer.request.at);
        lower.is_some_and(|(_, lower)| size_and_mtime(lower, EXCLUDE_FILE).ok() == beneath)
    }

    fn mount_new(&self, request: LayerRequest) -> Result<()> {
        scratch::create_layer_directories(&Path::new(mounts::LAYERS_DIRECTORY).join(&request.name))?;
        let mut lower_dirs = self.lower_dirs.borrow_mut();
        if !lower_dirs.iter().any(|(place, _)| *place == request.at) {
            lower_dirs.push((request.at.clone(), mounts::open_lower(&request.at)?));
        }
        let (_, lower) = lower_dirs.iter().find(|(place, _)| *place == request.at).ok_or(Errno::NOENT)?;
        let ignore_stamps =
            if request.ignore_lines.is_empty() { None } else { write_ignore_file(lower, &request).ok() };
        mounts::mount_layer(&request.at, lower, &request.name)?;
        for path in self.hidden.iter().filter(|path| path.starts_with(&request.at)) {
            mounts::hide_all(path)?;
        }
        self.mounted.borrow_mut().push(MountedLayer { request, ignore_stamps, is_fresh: true });
        Ok(())
    }

    /// Returns true if any layer was written to.
    pub(crate) fn is_touched(&self) -> bool {
        self.mounted.borrow().iter().any(|on| !on.is_pristine())
    }

    /// Unmounts all layers. Returns true if that succeeded.
    pub(crate) fn unmount_all(&self) -> bool {
        let off: Vec<bool> = self.mounted.borrow_mut().drain(..).map(MountedLayer::unmount).collect();
        !off.contains(&false)
    }

    /// Prepares for the next run: drops the caches of the overlays.
    pub(crate) fn prepare_next_run(&self) {
        for layer in self.mounted.borrow_mut().iter_mut() {
            // The cache of an overlay with mounts inside is never dropped.
            let free = !self.hidden.iter().any(|hidden| hidden.starts_with(&layer.request.at));
            layer.is_fresh = free && mounts::refresh_layer(&layer.request.at).is_ok();
        }
    }
}

impl MountedLayer {
    /// Returns true if it contains only Toolgate's own file.
    fn is_pristine(&self) -> bool {
        let upper = upper_directory(&self.request.name);
        match self.ignore_stamps {
            None => scratch::is_empty(&upper),
            Some((ours, _)) => {
                scratch::holds_only(&upper, c"info")
                    && scratch::holds_only(&upper.join("info"), c"exclude")
                    && size_and_mtime(CWD, upper.join(EXCLUDE_FILE)).is_ok_and(|now| now == ours)
            }
        }
    }

    /// Unmounts the layer, and removes Toolgate's own file: the next layer gets its own.
    fn unmount(self) -> bool {
        let off = mounts::unmount_layer(&self.request.at).is_ok();
        let upper = upper_directory(&self.request.name);
        if off
            && self
                .ignore_stamps
                .is_some_and(|(ours, _)| size_and_mtime(CWD, upper.join(EXCLUDE_FILE)) == Ok(ours))
        {
            // Other files may lie beside it.
            let _stays = unlink(upper.join(EXCLUDE_FILE)).and_then(|()| rmdir(upper.join("info")));
        }
        off
    }
}

/// Adds lines to git's ignore file in the layer, unless the layer already has one from before.
fn write_ignore_file(lower: impl AsFd, request: &LayerRequest) -> Result<IgnoreFileStamps> {
    // Only a repository has an ignore file.
    statat(&lower, "HEAD", AtFlags::SYMLINK_NOFOLLOW)?;
    let upper = upper_directory(&request.name);
    let beneath = size_and_mtime(&lower, EXCLUDE_FILE).ok();
    let mut text = read_exclude_file(&lower)?;
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend(&request.ignore_lines);
    mkdir(upper.join("info"), Mode::from_raw_mode(0o755))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(CWD, upper.join(EXCLUDE_FILE), flags, Mode::from_raw_mode(0o644))?;
    rustix::io::write(&file, &text)?;
    Ok((size_and_mtime(CWD, upper.join(EXCLUDE_FILE))?, beneath))
}

fn read_exclude_file(lower: impl AsFd) -> Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(lower, EXCLUDE_FILE, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        other => other?,
    };
    let mut text = vec![0; MAX_EXCLUDE_BYTES];
    let read = rustix::io::read(&file, &mut text)?;
    text.truncate(read);
    if read == MAX_EXCLUDE_BYTES { Err(Errno::FBIG) } else { Ok(text) }
}

/// Returns size and modification time of a file.
fn size_and_mtime(directory: impl AsFd, path: impl Arg) -> Result<SizeAndMtime> {
    let stat = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((
        stat.st_size,
        stat.st_mtime.wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec.cast_signed()),
    ))
}

fn upper_directory(name: &str) -> PathBuf {
    Path::new(mounts::LAYERS_DIRECTORY).join(name).join("upper")
}
