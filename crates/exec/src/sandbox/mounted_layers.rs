//! Overlays of a supervisor over git directories: mounted ahead of time, and left mounted as long as nothing was
//! written to them.
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
const EXCLUDE: &str = "info/exclude";
/// A larger file is left unchanged.
const MAX_EXCLUDE: usize = 1 << 20;

/// A layer that a run needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LayerRequest {
    /// The directory that it covers.
    pub(crate) at: PathBuf,
    /// The name of the directory that receives the writes.
    pub(crate) name: String,
    /// Lines for git's ignore file: Toolgate's placeholder directories, which no command can remove.
    pub(crate) ignored: Vec<u8>,
}

impl LayerRequest {
    pub(crate) fn write(&self, out: &mut MessageEncoder) {
        out.bytes(self.at.as_os_str().as_bytes());
        out.bytes(self.name.as_bytes());
        out.bytes(&self.ignored);
    }

    pub(crate) fn read(input: &mut MessageDecoder<'_>) -> Option<Self> {
        let (at, name) = (path_from_bytes(input.bytes()?.to_vec()), input.bytes()?.to_vec());
        Some(Self { at, name: String::from_utf8(name).ok()?, ignored: input.bytes()?.to_vec() })
    }
}

/// A mounted layer.
#[derive(Debug)]
struct MountedLayer {
    wanted: LayerRequest,
    /// The state of the ignore file that Toolgate wrote into it, and of its source.
    ours: Option<IgnoreFileStamps>,
    /// True if it caches nothing of the directory beneath.
    fresh: bool,
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
    on: RefCell<Vec<MountedLayer>>,
    /// The directories beneath the layers.
    beneath: RefCell<Vec<(PathBuf, OwnedFd)>>,
    /// Paths that must be hidden again inside layers.
    hidden: Vec<PathBuf>,
}

impl MountedLayers {
    pub(crate) fn new(inside: Option<&ProgramConfinement>) -> Self {
        let plan = inside.filter(|inside| inside.own_mounts).map(|inside| &inside.bounds.plan);
        let hidden =
            plan.into_iter().flat_map(|plan| &plan.mounts).filter(|mount| mount.what == MountContent::Hidden);
        Self {
            own_mounts: plan.is_some(),
            on: RefCell::default(),
            beneath: RefCell::default(),
            hidden: hidden.map(|mount| mount.at.clone()).collect(),
        }
    }

    /// Mounts the requested layers that are not mounted yet.
    pub(crate) fn mount_missing(&self, wanted: &[LayerRequest]) -> LayerMountOutcome {
        // Each one, even if another fails.
        let put = wanted.iter().filter(|_| self.own_mounts).map(|wanted| self.put_new(wanted));
        put.max().unwrap_or(LayerMountOutcome::AlreadyMounted)
    }

    fn put_new(&self, wanted: &LayerRequest) -> LayerMountOutcome {
        let before = self.on.borrow().iter().position(|on| on.wanted.at == wanted.at);
        if let Some(before) = before {
            let on = self.on.borrow_mut().remove(before);
            if on.wanted == *wanted && on.fresh && self.is_made_from(&on) {
                self.on.borrow_mut().push(on);
                return LayerMountOutcome::AlreadyMounted;
            }
            if !on.take_off() {
                return LayerMountOutcome::Failed;
            }
        }
        self.put_one(wanted.clone()).map_or(LayerMountOutcome::Failed, |()| LayerMountOutcome::MountedNow)
    }

    /// Forgets the layers at `places`, which were unmounted with their mount points.
    pub(crate) fn forget_lost(&self, places: &[PathBuf]) {
        self.on.borrow_mut().retain(|on| !places.contains(&on.wanted.at));
        self.beneath.borrow_mut().retain(|(at, _)| !places.contains(at));
    }

    /// Returns true if the ignore file would be written again with the same content.
    fn is_made_from(&self, on: &MountedLayer) -> bool {
        let Some((_, beneath)) = on.ours else { return true };
        let lowers = self.beneath.borrow();
        let lower = lowers.iter().find(|(place, _)| *place == on.wanted.at);
        lower.is_some_and(|(_, lower)| stamp(lower, EXCLUDE).ok() == beneath)
    }

    fn put_one(&self, wanted: LayerRequest) -> Result<()> {
        scratch::create_layer_directories(&Path::new(mounts::LAYERS).join(&wanted.name))?;
        let mut beneath = self.beneath.borrow_mut();
        if !beneath.iter().any(|(place, _)| *place == wanted.at) {
            beneath.push((wanted.at.clone(), mounts::open_lower(&wanted.at)?));
        }
        let (_, lower) = beneath.iter().find(|(place, _)| *place == wanted.at).ok_or(Errno::NOENT)?;
        let ours = if wanted.ignored.is_empty() { None } else { ignore(lower, &wanted).ok() };
        mounts::mount_layer(&wanted.at, lower, &wanted.name)?;
        for path in self.hidden.iter().filter(|path| path.starts_with(&wanted.at)) {
            mounts::hide_all(path)?;
        }
        self.on.borrow_mut().push(MountedLayer { wanted, ours, fresh: true });
        Ok(())
    }

    /// Returns true if any layer was written to.
    pub(crate) fn is_touched(&self) -> bool {
        self.on.borrow().iter().any(|on| !on.is_pristine())
    }

    /// Unmounts all layers. Returns true if that succeeded.
    pub(crate) fn unmount_all(&self) -> bool {
        let off: Vec<bool> = self.on.borrow_mut().drain(..).map(MountedLayer::take_off).collect();
        !off.contains(&false)
    }

    /// Prepares for the next run: drops the caches of the overlays.
    pub(crate) fn prepare_next_run(&self) {
        for on in self.on.borrow_mut().iter_mut() {
            // The cache of an overlay with mounts inside is never dropped.
            let free = !self.hidden.iter().any(|hidden| hidden.starts_with(&on.wanted.at));
            on.fresh = free && mounts::refresh_layer(&on.wanted.at).is_ok();
        }
    }
}

impl MountedLayer {
    /// Returns true if it contains only Toolgate's own file.
    fn is_pristine(&self) -> bool {
        let upper = upper(&self.wanted.name);
        match self.ours {
            None => scratch::is_empty(&upper),
            Some((ours, _)) => {
                scratch::holds_only(&upper, c"info")
                    && scratch::holds_only(&upper.join("info"), c"exclude")
                    && stamp(CWD, upper.join(EXCLUDE)).is_ok_and(|now| now == ours)
            }
        }
    }

    /// Unmounts the layer, and removes Toolgate's own file: the next layer gets its own.
    fn take_off(self) -> bool {
        let off = mounts::unmount_layer(&self.wanted.at).is_ok();
        let upper = upper(&self.wanted.name);
        if off && self.ours.is_some_and(|(ours, _)| stamp(CWD, upper.join(EXCLUDE)) == Ok(ours)) {
            // Other files may lie beside it.
            let _stays = unlink(upper.join(EXCLUDE)).and_then(|()| rmdir(upper.join("info")));
        }
        off
    }
}

/// Adds lines to git's ignore file in the layer, unless the layer already has one from before.
fn ignore(lower: impl AsFd, wanted: &LayerRequest) -> Result<IgnoreFileStamps> {
    // Only a repository has an ignore file.
    statat(&lower, "HEAD", AtFlags::SYMLINK_NOFOLLOW)?;
    let upper = upper(&wanted.name);
    let beneath = stamp(&lower, EXCLUDE).ok();
    let mut text = read(&lower)?;
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend(&wanted.ignored);
    mkdir(upper.join("info"), Mode::from_raw_mode(0o755))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(CWD, upper.join(EXCLUDE), flags, Mode::from_raw_mode(0o644))?;
    rustix::io::write(&file, &text)?;
    Ok((stamp(CWD, upper.join(EXCLUDE))?, beneath))
}

fn read(lower: impl AsFd) -> Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(lower, EXCLUDE, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        other => other?,
    };
    let mut text = vec![0; MAX_EXCLUDE];
    let read = rustix::io::read(&file, &mut text)?;
    text.truncate(read);
    if read == MAX_EXCLUDE { Err(Errno::FBIG) } else { Ok(text) }
}

/// Returns size and modification time of a file.
fn stamp(directory: impl AsFd, path: impl Arg) -> Result<SizeAndMtime> {
    let stat = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((
        stat.st_size,
        stat.st_mtime.wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec.cast_signed()),
    ))
}

fn upper(name: &str) -> PathBuf {
    Path::new(mounts::LAYERS).join(name).join("upper")
}
