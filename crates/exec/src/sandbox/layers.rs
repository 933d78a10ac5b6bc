//! A keeper's layers over git directories: put on before they are needed, and left on as long as nobody wrote to them.
//!
//! An overlay keeps what it has once seen of the directory beneath, which the host may change between two runs. Making a new one
//! for every run takes a while, and taking one off takes long, so it is made to forget what it has seen, when nobody waits. Only
//! one that was written to is taken off: what is in it is about to be landed.

use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdir, openat, rmdir, statat, unlink};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

use super::cell::Inside;
use super::mounts;
use super::plan::{What, to_path};
use super::scratch;
use crate::process::bytes::{In, Out};

/// What git ignores in a repository, beside what the repository says.
const EXCLUDE: &str = "info/exclude";
/// A longer one is left as it is.
const MAX_EXCLUDE: usize = 1 << 20;

/// A layer that a run wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Over this directory.
    pub(crate) at: PathBuf,
    /// With what is written in a directory of this name.
    pub(crate) name: String,
    /// What git is to ignore in it: directories of ours, which nobody can remove.
    pub(crate) ignored: Vec<u8>,
}

impl Wanted {
    pub(crate) fn write(&self, out: &mut Out) {
        out.bytes(self.at.as_os_str().as_bytes());
        out.bytes(self.name.as_bytes());
        out.bytes(&self.ignored);
    }

    pub(crate) fn read(input: &mut In<'_>) -> Option<Self> {
        let (at, name) = (to_path(input.bytes()?.to_vec()), input.bytes()?.to_vec());
        Some(Self { at, name: String::from_utf8(name).ok()?, ignored: input.bytes()?.to_vec() })
    }
}

/// One that is on.
#[derive(Debug)]
struct On {
    wanted: Wanted,
    /// What we wrote into it ourselves, and what that was made from.
    ours: Option<Stamps>,
    /// It remembers nothing of the directory beneath.
    fresh: bool,
}

/// What git ignores, in the layer and beneath it: how long each is and when it was changed.
type Stamps = (Stamp, Option<Stamp>);
type Stamp = (i64, i64);

/// How the layers that were wanted came to be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Put {
    /// They were.
    Before,
    /// One was put on now.
    Now,
    /// One could not be.
    Failed,
}

/// What lies over git directories.
#[derive(Debug)]
pub(crate) struct Layers {
    /// Whether there are mounts of its own to put them on.
    own_mounts: bool,
    on: RefCell<Vec<On>>,
    /// What lies beneath all of them.
    beneath: RefCell<Vec<(PathBuf, OwnedFd)>>,
    /// What must be hidden in them again.
    hidden: Vec<PathBuf>,
}

impl Layers {
    pub(crate) fn new(inside: Option<&Inside>) -> Self {
        let plan = inside.filter(|inside| inside.own_mounts).map(|inside| &inside.bounds.plan);
        let hidden =
            plan.into_iter().flat_map(|plan| &plan.mounts).filter(|mount| mount.what == What::Hidden);
        Self {
            own_mounts: plan.is_some(),
            on: RefCell::default(),
            beneath: RefCell::default(),
            hidden: hidden.map(|mount| mount.at.clone()).collect(),
        }
    }

    /// Puts on what is not on yet.
    pub(crate) fn put(&self, wanted: &[Wanted]) -> Put {
        // Each, whatever became of the others.
        let put = wanted.iter().filter(|_| self.own_mounts).map(|wanted| self.put_new(wanted));
        put.max().unwrap_or(Put::Before)
    }

    fn put_new(&self, wanted: &Wanted) -> Put {
        let before = self.on.borrow().iter().position(|on| on.wanted.at == wanted.at);
        if let Some(before) = before {
            let on = self.on.borrow_mut().remove(before);
            if on.wanted == *wanted && on.fresh && self.is_made_from(&on) {
                self.on.borrow_mut().push(on);
                return Put::Before;
            }
            if !on.take_off() {
                return Put::Failed;
            }
        }
        self.put_one(wanted.clone()).map_or(Put::Failed, |()| Put::Now)
    }

    /// What was here is gone, with what lay on it.
    pub(crate) fn lost(&self, places: &[PathBuf]) {
        self.on.borrow_mut().retain(|on| !places.contains(&on.wanted.at));
        self.beneath.borrow_mut().retain(|(at, _)| !places.contains(at));
    }

    /// Whether what we wrote into it would be written again.
    fn is_made_from(&self, on: &On) -> bool {
        let Some((_, beneath)) = on.ours else { return true };
        let lowers = self.beneath.borrow();
        let lower = lowers.iter().find(|(place, _)| *place == on.wanted.at);
        lower.is_some_and(|(_, lower)| stamp(lower, EXCLUDE).ok() == beneath)
    }

    fn put_one(&self, wanted: Wanted) -> Result<()> {
        scratch::layer(&Path::new(mounts::LAYERS).join(&wanted.name))?;
        let mut beneath = self.beneath.borrow_mut();
        if !beneath.iter().any(|(place, _)| *place == wanted.at) {
            beneath.push((wanted.at.clone(), mounts::named(&wanted.at)?));
        }
        let (_, lower) = beneath.iter().find(|(place, _)| *place == wanted.at).ok_or(Errno::NOENT)?;
        let ours = if wanted.ignored.is_empty() { None } else { ignore(lower, &wanted).ok() };
        mounts::put_layer(&wanted.at, lower, &wanted.name)?;
        for path in self.hidden.iter().filter(|path| path.starts_with(&wanted.at)) {
            mounts::hide_all(path)?;
        }
        self.on.borrow_mut().push(On { wanted, ours, fresh: true });
        Ok(())
    }

    /// Whether anything was written to one.
    pub(crate) fn touched(&self) -> bool {
        self.on.borrow().iter().any(|on| !on.is_pristine())
    }

    /// Takes all of them off; says whether that was done.
    pub(crate) fn take_off(&self) -> bool {
        let off: Vec<bool> = self.on.borrow_mut().drain(..).map(On::take_off).collect();
        !off.contains(&false)
    }

    /// Makes ready for the next run: what the last one saw is forgotten.
    pub(crate) fn rest(&self) {
        for on in self.on.borrow_mut().iter_mut() {
            // What is mounted in it is never forgotten.
            let free = !self.hidden.iter().any(|hidden| hidden.starts_with(&on.wanted.at));
            on.fresh = free && mounts::refresh_layer(&on.wanted.at).is_ok();
        }
    }
}

impl On {
    /// Whether it holds nothing but what we wrote.
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

    /// Takes it off, and what we wrote out of it: the next one gets its own.
    fn take_off(self) -> bool {
        let off = mounts::take_layer(&self.wanted.at).is_ok();
        let upper = upper(&self.wanted.name);
        if off && self.ours.is_some_and(|(ours, _)| stamp(CWD, upper.join(EXCLUDE)) == Ok(ours)) {
            // More may lie beside it.
            let _stays = unlink(upper.join(EXCLUDE)).and_then(|()| rmdir(upper.join("info")));
        }
        off
    }
}

/// Has git ignore more than the repository says; unless the layer has its own word on that from before.
fn ignore(lower: impl AsFd, wanted: &Wanted) -> Result<Stamps> {
    // Only a repository has anything to ignore.
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

/// How long a file is, and when it was last changed.
fn stamp(directory: impl AsFd, path: impl Arg) -> Result<Stamp> {
    let stat = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((
        stat.st_size,
        stat.st_mtime.wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec.cast_signed()),
    ))
}

fn upper(name: &str) -> PathBuf {
    Path::new(mounts::LAYERS).join(name).join("upper")
}
