//! A keeper's layers over git directories: put on before they are needed, and left on as long as nobody wrote to them.
//!
//! An overlay keeps what it has once seen of the directory beneath, so every run gets a new one. Making one takes a while and
//! taking one off takes long, so the next is made when nobody waits, and put over the one before it. Only one that was
//! written to is taken off: what is in it is about to be landed.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::mounts;
use super::plan::to_path;
use super::scratch;

/// A keeper with so many over one another makes way for a new one.
const WORN: usize = 200;

/// What lies over git directories.
#[derive(Debug)]
pub(crate) struct Layers {
    /// Whether there are mounts of its own to put them on.
    own_mounts: bool,
    /// Where, and the directory that holds what is written.
    on: RefCell<Vec<(PathBuf, String)>>,
    /// What lies beneath all of them.
    beneath: RefCell<Vec<(PathBuf, OwnedFd)>>,
    put: Cell<usize>,
}

impl Layers {
    pub(crate) fn new(own_mounts: bool) -> Self {
        Self { own_mounts, on: RefCell::default(), beneath: RefCell::default(), put: Cell::new(0) }
    }

    /// Puts on what is not on yet; says whether all are.
    pub(crate) fn put(&self, wanted: &[(Vec<u8>, Vec<u8>)]) -> bool {
        if !self.own_mounts {
            return true;
        }
        let mut all = true;
        for (at, name) in wanted {
            let (at, name) = (to_path(at.clone()), String::from_utf8_lossy(name).into_owned());
            all &= self.on.borrow().contains(&(at.clone(), name.clone())) || self.put_one(at, name);
        }
        all
    }

    fn put_one(&self, at: PathBuf, name: String) -> bool {
        let made = scratch::layer(&Path::new(mounts::LAYERS).join(&name));
        if made.and_then(|()| self.put_over(&at, &name)).is_err() {
            return false;
        }
        self.put.set(self.put.get() + 1);
        let mut on = self.on.borrow_mut();
        on.retain(|(place, _)| *place != at);
        on.push((at, name));
        true
    }

    fn put_over(&self, at: &Path, name: &str) -> rustix::io::Result<()> {
        let mut beneath = self.beneath.borrow_mut();
        if !beneath.iter().any(|(place, _)| place == at) {
            beneath.push((at.to_owned(), mounts::named(at)?));
        }
        match beneath.iter().find(|(place, _)| place == at) {
            Some((_, lower)) => mounts::put_layer(at, lower, name),
            None => Err(rustix::io::Errno::NOENT),
        }
    }

    /// Whether anything was written to one.
    pub(crate) fn touched(&self) -> bool {
        self.on.borrow().iter().any(|(_, name)| !scratch::is_empty(&upper(name)))
    }

    /// Takes all of them off; says whether that was done.
    pub(crate) fn take_off(&self) -> bool {
        self.on.borrow_mut().drain(..).all(|(at, _)| mounts::take_layer(&at).is_ok())
    }

    /// Puts on what the next run gets, if this one wrote nothing.
    pub(crate) fn prepare(&self) {
        let on: Vec<_> = self.on.borrow().clone();
        for (at, name) in on {
            self.put_one(at, next(&name));
        }
    }

    /// Whether there are too many.
    pub(crate) fn is_worn(&self) -> bool {
        self.put.get() >= WORN
    }
}

fn upper(name: &str) -> PathBuf {
    Path::new(mounts::LAYERS).join(name).join("upper")
}

/// The name of the layer after this one. The host counts in the same way.
pub(crate) fn next(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((base, number)) => format!("{base}.{}", number.parse::<u64>().unwrap_or(0).wrapping_add(1)),
        None => format!("{name}.1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_keeper_count_alike() {
        assert_eq!(next("3"), "3.1");
        assert_eq!(next("3.1"), "3.2");
        assert_eq!(next("3.99"), "3.100");
    }
}
