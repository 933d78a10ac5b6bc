//! Single-threaded walk: sorted by name, depth first.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};

use super::super::{Entry, sys};
use super::listing::{Names, Visits};
use super::{Dir, Flow, STOP_EVERY, Walk};

/// Sorting needs all names at once, so a larger directory is cut off and counted as unreadable.
const MAX_NAMES: usize = 1_000_000;
/// The maximum number of open directories on the path down. Deeper walks reopen the outer ones on the way back.
const MAX_OPEN: usize = 32;

/// A directory on the path down, and the position among its entries.
struct Frame {
    dir: Dir,
    /// `None` while closed in favour of a deeper directory.
    fd: Option<OwnedFd>,
    names: Names,
    next: usize,
}

/// Visits everything below `top`.
pub(super) fn run(walk: &Walk<'_>, top: Dir, visitor: &mut impl FnMut(&Entry<'_>) -> Flow) {
    let mut visits = Visits::new(walk, visitor);
    let mut buffer = sys::DirBuffer::new();
    let mut frames: Vec<Frame> = frame(walk, top, &mut buffer).into_iter().collect();
    // ends: each round visits one entry or leaves a directory; MAX_DEPTH bounds the frames
    while let Some(at) = frames.last_mut() {
        if walk.is_halted() || (at.next.is_multiple_of(STOP_EVERY) && walk.should_stop()) {
            return;
        }
        let reopened = || walk.open(&at.dir.path);
        let fd = if at.next < at.names.len() { at.fd.take().or_else(reopened) } else { None };
        let Some(fd) = fd else {
            frames.pop();
            continue;
        };
        let here = visits.enter(&at.dir, &fd);
        let below = visits.visit(&here, &at.names, at.next);
        at.next += 1;
        at.fd = Some(fd);
        let Some(inner) = below.and_then(|dir| frame(walk, dir, &mut buffer)) else { continue };
        frames.push(inner);
        if let Some(far) = frames.len().checked_sub(MAX_OPEN + 1) {
            frames[far].fd = None;
        }
    }
}

fn frame(walk: &Walk<'_>, mut dir: Dir, buffer: &mut sys::DirBuffer) -> Option<Frame> {
    let fd = walk.open(&dir.path)?;
    let mut names = Names::default();
    let listed = sys::list(fd.as_fd(), buffer, |name, kind| {
        if names.len() == MAX_NAMES {
            walk.count_unreadable();
            return ControlFlow::Break(());
        }
        names.push(name, kind);
        if names.len().is_multiple_of(STOP_EVERY) && walk.should_stop() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    if listed.is_err() {
        walk.count_unreadable();
    }
    names.sort();
    walk.add_rules(&mut dir, fd.as_fd(), names.special);
    Some(Frame { dir, fd: Some(fd), names, next: 0 })
}
