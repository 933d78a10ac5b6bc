//! Work queue of a parallel walk: directories to list and entries to visit.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::listing::Names;
use super::{Dir, Walk};

/// Listed entries of one directory. Any thread may claim the next one.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) dir: Arc<Dir>,
    pub(super) fd: Arc<OwnedFd>,
    pub(super) names: Names,
    next: AtomicUsize,
}

impl Chunk {
    pub(super) fn new(dir: Arc<Dir>, fd: Arc<OwnedFd>, names: Names) -> Self {
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
pub(super) enum Task {
    /// List a directory and visit its entries.
    List(Dir),
    /// Help the thread that listed these entries to visit them.
    Help(Arc<Chunk>),
}

#[derive(Debug, Default)]
struct State {
    /// At most one for each thread, which finishes it before it lists another directory. Including the helpers, that
    /// bounds the open directories by two for each thread.
    chunks: Vec<Arc<Chunk>>,
    /// A stack, so that the walk is depth first and the queue stays short.
    dirs: Vec<Dir>,
    busy: usize,
    idle: usize,
}

/// The work of one walk, shared by its threads.
pub(super) struct Queue<'w, 'a> {
    walk: &'w Walk<'a>,
    state: Mutex<State>,
    wake: Condvar,
}

/// Guard of a task in progress. The walk is not over while a guard exists.
pub(super) struct Turn<'q, 'w, 'a> {
    queue: &'q Queue<'w, 'a>,
}

impl<'w, 'a> Queue<'w, 'a> {
    pub(super) fn new(walk: &'w Walk<'a>, top: Dir) -> Self {
        let state = State { dirs: vec![top], ..State::default() };
        Self { walk, state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Waits for a task. Returns `None` when the walk is over.
    pub(super) fn take(&self) -> Option<(Task, Turn<'_, 'w, 'a>)> {
        let mut state = self.lock();
        // ends: when no thread is busy no new task can come, and the last busy thread wakes all
        while !self.walk.is_halted() {
            // Directories first: two threads on two directories do not contend for the entries of one.
            let dir = state.dirs.pop().map(Task::List);
            let help = || state.chunks.iter().find(|chunk| chunk.has_more()).cloned().map(Task::Help);
            if let Some(task) = dir.or_else(help) {
                state.busy += 1;
                return Some((task, Turn { queue: self }));
            }
            if state.busy == 0 {
                return None;
            }
            state.idle += 1;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        None
    }

    /// Adds a directory to list.
    pub(super) fn add(&self, dir: Dir) {
        let mut state = self.lock();
        state.dirs.push(dir);
        if state.idle > 0 {
            self.wake.notify_one();
        }
    }

    /// Lets other threads help with `chunk`.
    pub(super) fn share(&self, chunk: &Arc<Chunk>) {
        let mut state = self.lock();
        state.chunks.push(Arc::clone(chunk));
        if state.idle > 0 {
            self.wake.notify_all();
        }
    }

    /// Removes `chunk`, whose entries are all claimed.
    pub(super) fn close(&self, chunk: &Arc<Chunk>) {
        self.lock().chunks.retain(|other| !Arc::ptr_eq(other, chunk));
    }

    /// Ignores poisoning: no code under the lock can panic halfway, so the state is consistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_, '_, '_> {
    fn drop(&mut self) {
        // A visitor that panics ends the walk for all threads; otherwise they would wait for it forever.
        if std::thread::panicking() {
            self.queue.walk.halt();
        }
        let mut state = self.queue.lock();
        state.busy -= 1;
        if state.busy == 0 || self.queue.walk.is_halted() {
            self.queue.wake.notify_all();
        }
    }
}
