//! Multi-threaded walk: unordered and fast.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::Arc;

use super::super::ignore_rules::SpecialNames;
use super::super::{WalkEntry, sys};
use super::directory_entries::{EntryNames, EntryVisits};
use super::work_queue::{EntryChunk, WalkQueue, WalkTask};
use super::{ENTRIES_PER_STOP_CHECK, PendingDirectory, SharedWalk, WalkControl};

/// The number of entries of a directory held at once, which bounds the memory for a huge directory.
const CHUNK_ENTRIES: usize = 1024;
/// More threads than this only contend for the queue.
const MAX_THREADS: usize = 64;

/// Visits everything below `top` with up to `threads` threads, including the caller's.
pub(super) fn run<V: FnMut(&WalkEntry<'_>) -> WalkControl>(
    walk: &SharedWalk<'_>,
    top: PendingDirectory,
    threads: usize,
    visitor: &(impl Fn() -> V + Sync),
) {
    let queue = WalkQueue::new(walk, top);
    std::thread::scope(|scope| {
        for _ in 1..threads.min(MAX_THREADS) {
            let helper = std::thread::Builder::new().name("walk".to_owned());
            // If the system refuses a thread, the existing threads do the remaining work.
            if helper.spawn_scoped(scope, || WalkWorker::new(walk, &queue, visitor()).run()).is_err() {
                break;
            }
        }
        WalkWorker::new(walk, &queue, visitor()).run();
    });
}

struct WalkWorker<'q, 'w, 'a, V> {
    walk: &'w SharedWalk<'a>,
    queue: &'q WalkQueue<'w, 'a>,
    visits: EntryVisits<'w, 'a, V>,
}

impl<'q, 'w, 'a, V: FnMut(&WalkEntry<'_>) -> WalkControl> WalkWorker<'q, 'w, 'a, V> {
    fn new(walk: &'w SharedWalk<'a>, queue: &'q WalkQueue<'w, 'a>, visitor: V) -> Self {
        Self { walk, queue, visits: EntryVisits::new(walk, visitor) }
    }

    fn run(mut self) {
        let mut buffer = sys::DirBuffer::new();
        while let Some((task, _turn)) = self.queue.next_task() {
            if self.walk.should_stop() {
                return;
            }
            match task {
                WalkTask::List(dir) => self.list(&dir, &mut buffer),
                WalkTask::Help(chunk) => self.visit(&chunk),
            }
        }
    }

    fn list(&mut self, dir: &PendingDirectory, buffer: &mut sys::DirBuffer) {
        let walk = self.walk;
        let Some(fd) = walk.open_directory(&dir.path) else { return };
        let fd = Arc::new(fd);
        let dir_with_rules = OnceCell::new();
        let chunk = |names, special| {
            let dir = dir_with_rules.get_or_init(|| {
                let mut dir = dir.clone();
                walk.add_rules(&mut dir, fd.as_fd(), special);
                Arc::new(dir)
            });
            EntryChunk::new(Arc::clone(dir), Arc::clone(&fd), names)
        };
        let mut names = EntryNames::default();
        let listed = sys::list(fd.as_fd(), buffer, |name, kind| {
            names.push(name, kind);
            if names.len() < CHUNK_ENTRIES {
                return ControlFlow::Continue(());
            }
            // The rest of a large directory is not listed yet, so its ignore files have to be tried.
            self.visit_shared(chunk(std::mem::take(&mut names), SpecialNames::UNKNOWN));
            if walk.should_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if listed.is_err() {
            walk.count_unreadable();
        }
        let special = names.special;
        self.visit_shared(chunk(names, special));
    }

    /// Visits all entries of `chunk`, with the help of idle threads.
    fn visit_shared(&mut self, chunk: EntryChunk) {
        if chunk.names.len() < 2 {
            return self.visit(&chunk);
        }
        let chunk = Arc::new(chunk);
        self.queue.share_chunk(&chunk);
        self.visit(&chunk);
        self.queue.remove_chunk(&chunk);
    }

    fn visit(&mut self, chunk: &EntryChunk) {
        let here = self.visits.enter(&chunk.dir, &chunk.fd);
        // ends: each entry is claimed once
        while let Some(index) = chunk.claim() {
            if self.walk.is_halted()
                || (index.is_multiple_of(ENTRIES_PER_STOP_CHECK) && self.walk.should_stop())
            {
                return;
            }
            if let Some(dir) = self.visits.visit(&here, &chunk.names, index) {
                self.queue.push_directory(dir);
            }
        }
    }
}
