//! What the threads of a walk still have to do, and how they share it.

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

    /// Hands out each entry once.
    pub(super) fn claim(&self) -> Option<usize> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.names.len()).then_some(index)
    }

    fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.names.len()
    }
}

/// One thing to do.
#[derive(Debug)]
pub(super) enum Task {
    /// List a directory and visit what is in it.
    List(Dir),
    /// Help whoever listed these entries to visit them.
    Help(Arc<Chunk>),
}

#[derive(Debug, Default)]
struct State {
    /// At most one for each thread, which finishes it before it lists another directory. With those who still
    /// help, that bounds the open directories by two for each thread.
    chunks: Vec<Arc<Chunk>>,
    /// The last in is the first out, so that the walk goes deep before wide and little waits.
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

/// A task that somebody works on. While one is out the walk is not over.
pub(super) struct Turn<'q, 'w, 'a> {
    queue: &'q Queue<'w, 'a>,
}

impl<'w, 'a> Queue<'w, 'a> {
    pub(super) fn new(walk: &'w Walk<'a>, top: Dir) -> Self {
        let state = State { dirs: vec![top], ..State::default() };
        Self { walk, state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Waits for something to do. `None`: the walk is over.
    pub(super) fn take(&self) -> Option<(Task, Turn<'_, 'w, 'a>)> {
        let mut state = self.lock();
        // ends: when nobody is busy nothing new can come, and the last who was busy wakes everyone
        while !self.walk.is_halted() {
            // Directories first: two threads on two directories do not fight over one's entries.
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

    /// Adds a directory to be listed.
    pub(super) fn add(&self, dir: Dir) {
        let mut state = self.lock();
        state.dirs.push(dir);
        if state.idle > 0 {
            self.wake.notify_one();
        }
    }

    /// Lets others help with `chunk` from now on.
    pub(super) fn share(&self, chunk: &Arc<Chunk>) {
        let mut state = self.lock();
        state.chunks.push(Arc::clone(chunk));
        if state.idle > 0 {
            self.wake.notify_all();
        }
    }

    /// Forgets `chunk`, whose entries are all claimed.
    pub(super) fn close(&self, chunk: &Arc<Chunk>) {
        self.lock().chunks.retain(|other| !Arc::ptr_eq(other, chunk));
    }

    /// No code under the lock can panic halfway, so a poisoned state is still right.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_, '_, '_> {
    fn drop(&mut self) {
        // A visitor that panics ends the walk for all; otherwise the others would wait for it forever.
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
