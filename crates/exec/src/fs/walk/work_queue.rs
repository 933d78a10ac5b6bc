//! Work queue of a parallel walk: directories to list and entries to visit.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};

use super::directory_entries::EntryNames;
use super::{PendingDirectory, SharedWalk};

/// Listed entries of one directory. Any thread may claim the next one.
#[derive(Debug)]
pub(super) struct EntryChunk {
    pub(super) dir: Arc<PendingDirectory>,
    pub(super) fd: Arc<OwnedFd>,
    pub(super) names: EntryNames,
    next: AtomicUsize,
}

impl EntryChunk {
    pub(super) fn new(dir: Arc<PendingDirectory>, fd: Arc<OwnedFd>, names: EntryNames) -> Self {
        Self { dir, fd, names, next: AtomicUsize::new(0) }
    }

    /// Claims the next entry. Each entry is claimed once.
    pub(super) fn claim(&self) -> Option<usize> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.names.len()).then_some(index)
    }

    fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.names.len()
    }
}

/// A unit of work.
#[derive(Debug)]
pub(super) enum WalkTask {
    /// List a directory and visit its entries.
    List(PendingDirectory),
    /// Help the thread that listed these entries to visit them.
    Help(Arc<EntryChunk>),
}

#[derive(Debug, Default)]
struct WalkQueueState {
    /// At most one for each thread, which finishes it before it lists another directory. Including the helpers, that
    /// bounds the open directories by two for each thread.
    chunks: Vec<Arc<EntryChunk>>,
    /// A stack, so that the walk is depth first and the queue stays short.
    dirs: Vec<PendingDirectory>,
    busy: usize,
    idle: usize,
}

/// The work of one walk, shared by its threads.
pub(super) struct WalkQueue<'w, 'a> {
    walk: &'w SharedWalk<'a>,
    state: Mutex<WalkQueueState>,
    wake: Condvar,
}

/// Guard of a task in progress. The walk is not over while a guard exists.
pub(super) struct WalkTaskGuard<'q, 'w, 'a> {
    queue: &'q WalkQueue<'w, 'a>,
}

impl<'w, 'a> WalkQueue<'w, 'a> {
    pub(super) fn new(walk: &'w SharedWalk<'a>, top: PendingDirectory) -> Self {
        let state = WalkQueueState { dirs: vec![top], ..WalkQueueState::default() };
        Self { walk, state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Waits for a task. Returns `None` when the walk is over.
    pub(super) fn next_task(&self) -> Option<(WalkTask, WalkTaskGuard<'_, 'w, 'a>)> {
        let mut state = self.state.lock();
        // ends: when no thread is busy no new task can come, and the last busy thread wakes all
        while !self.walk.is_halted() {
            // Directories first: two threads on two directories do not contend for the entries of one.
            let dir = state.dirs.pop().map(WalkTask::List);
            let help = || state.chunks.iter().find(|chunk| chunk.has_more()).cloned().map(WalkTask::Help);
            if let Some(task) = dir.or_else(help) {
                state.busy += 1;
                return Some((task, WalkTaskGuard { queue: self }));
            }
            if state.busy == 0 {
                return None;
            }
            state.idle += 1;
            self.wake.wait(&mut state);
            state.idle -= 1;
        }
        None
    }

    /// Adds a directory to list.
    pub(super) fn push_directory(&self, dir: PendingDirectory) {
        let mut state = self.state.lock();
        state.dirs.push(dir);
        if state.idle > 0 {
            self.wake.notify_one();
        }
    }

    /// Lets other threads help with `chunk`.
    pub(super) fn share_chunk(&self, chunk: &Arc<EntryChunk>) {
        let mut state = self.state.lock();
        state.chunks.push(Arc::clone(chunk));
        if state.idle > 0 {
            self.wake.notify_all();
        }
    }

    /// Removes `chunk`, whose entries are all claimed.
    pub(super) fn remove_chunk(&self, chunk: &Arc<EntryChunk>) {
        self.state.lock().chunks.retain(|other| !Arc::ptr_eq(other, chunk));
    }
}

impl Drop for WalkTaskGuard<'_, '_, '_> {
    fn drop(&mut self) {
        // A visitor that panics ends the walk for all threads; otherwise they would wait for it forever.
        if std::thread::panicking() {
            self.queue.walk.halt();
        }
        let mut state = self.queue.state.lock();
        state.busy -= 1;
        if state.busy == 0 || self.queue.walk.is_halted() {
            self.queue.wake.notify_all();
        }
    }
}
