//! Single-threaded walk: sorted by name, depth first.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};

use super::super::{WalkEntry, sys};
use super::directory_entries::{EntryNames, EntryVisits};
use super::{ENTRIES_PER_STOP_CHECK, PendingDirectory, SharedWalk, WalkControl};

/// Sorting needs all names at once, so a larger directory is cut off and counted as unreadable.
const MAX_NAMES: usize = 1_000_000;
/// The maximum number of open directories on the path down. Deeper walks reopen the outer ones on the way back.
const MAX_OPEN_DIRECTORIES: usize = 32;

/// A directory on the path down, and the position among its entries.
struct DirectoryFrame {
    dir: PendingDirectory,
    /// `None` while closed in favour of a deeper directory.
    fd: Option<OwnedFd>,
    names: EntryNames,
    next: usize,
}

/// Visits everything below `top`.
pub(super) fn run(
    walk: &SharedWalk<'_>,
    top: PendingDirectory,
    visitor: &mut impl FnMut(&WalkEntry<'_>) -> WalkControl,
) {
    let mut visits = EntryVisits::new(walk, visitor);
    let mut buffer = sys::DirBuffer::new();
    let mut frames: Vec<DirectoryFrame> = open_frame(walk, top, &mut buffer).into_iter().collect();
    // ends: each round visits one entry or leaves a directory; MAX_DEPTH bounds the frames
    while let Some(at) = frames.last_mut() {
        if walk.is_halted() || (at.next.is_multiple_of(ENTRIES_PER_STOP_CHECK) && walk.should_stop()) {
            return;
        }
        let reopened = || walk.open_directory(&at.dir.path);
        let fd = if at.next < at.names.len() { at.fd.take().or_else(reopened) } else { None };
        let Some(fd) = fd else {
            frames.pop();
            continue;
        };
        let here = visits.enter(&at.dir, &fd);
        let below = visits.visit(&here, &at.names, at.next);
        at.next += 1;
        at.fd = Some(fd);
        let Some(inner) = below.and_then(|dir| open_frame(walk, dir, &mut buffer)) else { continue };
        frames.push(inner);
        if let Some(far) = frames.len().checked_sub(MAX_OPEN_DIRECTORIES + 1) {
            frames[far].fd = None;
        }
    }
}

fn open_frame(
    walk: &SharedWalk<'_>,
    mut dir: PendingDirectory,
    buffer: &mut sys::DirBuffer,
) -> Option<DirectoryFrame> {
    let fd = walk.open_directory(&dir.path)?;
    let mut names = EntryNames::default();
    let listed = sys::list(fd.as_fd(), buffer, |name, kind| {
        if names.len() == MAX_NAMES {
            walk.count_unreadable();
            return ControlFlow::Break(());
        }
        names.push(name, kind);
        if names.len().is_multiple_of(ENTRIES_PER_STOP_CHECK) && walk.should_stop() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    if listed.is_err() {
        walk.count_unreadable();
    }
    names.sort();
    walk.add_rules(&mut dir, fd.as_fd(), names.special);
    Some(DirectoryFrame { dir, fd: Some(fd), names, next: 0 })
}
