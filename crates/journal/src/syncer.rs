//! Syncs a journal file to the disk in a background thread.

use std::fs::File;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use private_files::PrivateDir;
use rustix::io::Errno;

/// Syncs a file after writes. One sync runs at a time, and covers all writes before it.
pub(crate) struct FileSyncer {
    shared: Arc<SyncerState>,
    /// Started with the first write.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// State that the writer and the sync thread share.
struct SyncerState {
    file: Arc<File>,
    directory: PrivateDir,
    progress: Mutex<SyncProgress>,
    /// Signals a write or the end.
    wake: Condvar,
}

/// The progress of writes and syncs.
#[derive(Default)]
struct SyncProgress {
    /// The number of writes, and the number of synced writes.
    written: u64,
    synced: u64,
    directory_synced: bool,
    is_closing: bool,
    /// The first sync error. Later syncs may succeed although data was lost.
    fault: Option<Errno>,
}

impl FileSyncer {
    pub(crate) fn new(file: Arc<File>, directory: PrivateDir) -> Self {
        let shared = SyncerState { file, directory, progress: Mutex::default(), wake: Condvar::new() };
        Self { shared: Arc::new(shared), thread: Mutex::default() }
    }

    /// Records a write and wakes the thread.
    pub(crate) fn note_write(&self) {
        self.shared.progress.lock().written += 1;
        self.shared.wake.notify_one();
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let builder = std::thread::Builder::new().name("journal".to_owned());
            // Without a thread, the next flush or the drop syncs.
            *thread = builder.spawn(move || shared.run()).ok();
        }
    }

    /// Waits until all writes are synced.
    pub(crate) fn flush(&self) -> Result<(), Errno> {
        self.shared.sync();
        self.shared.progress.lock().fault.map_or(Ok(()), Err)
    }

    /// Ends the thread and syncs the remaining writes.
    pub(crate) fn close(&self) {
        self.shared.progress.lock().is_closing = true;
        self.shared.wake.notify_one();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            // The thread returns nothing.
            let _ended = thread.join();
        }
        self.shared.sync();
    }
}

impl SyncerState {
    fn run(&self) {
        // ends: when the journal is dropped
        loop {
            let mut progress = self.progress.lock();
            // ends: at the next write, or when the journal is dropped
            while progress.written == progress.synced && !progress.is_closing {
                self.wake.wait(&mut progress);
            }
            if progress.is_closing {
                return;
            }
            drop(progress);
            self.sync();
        }
    }

    /// Syncs all writes so far.
    fn sync(&self) {
        let (target, directory_synced) = {
            let progress = self.progress.lock();
            if progress.written == progress.synced {
                return;
            }
            (progress.written, progress.directory_synced)
        };
        // A file whose directory entry is lost is lost as well.
        let named = if directory_synced { Ok(()) } else { self.directory.sync() };
        let synced = named.and_then(|()| rustix::fs::fdatasync(&*self.file));
        let mut progress = self.progress.lock();
        progress.synced = progress.synced.max(target);
        progress.directory_synced |= synced.is_ok();
        progress.fault = progress.fault.or(synced.err());
    }
}
