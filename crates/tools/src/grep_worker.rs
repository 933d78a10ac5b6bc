//! Searches single files: the per-thread worker of `grep_files`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use exec::fs::WalkEntry;
use grep_searcher::Searcher;
use parking_lot::Mutex;

use crate::grep_files::CompiledSearch;
use crate::grep_hits::{FileHits, FileRank, HitCollector, SearchHits};

/// A file shorter than this is read at once. Measured: with 1 MiB, the buffer leaves the CPU cache and copying into it
/// takes three times as long.
const MAX_SINGLE_READ_BYTES: usize = 64 << 10;

/// The worker of one search thread: its engine and its buffer.
pub(crate) struct FileSearcher<'a> {
    search: &'a CompiledSearch,
    searcher: Searcher,
    buffer: Vec<u8>,
    hits: &'a Mutex<SearchHits>,
    is_late: &'a dyn Fn() -> bool,
}

impl<'a> FileSearcher<'a> {
    pub(crate) fn new(
        search: &'a CompiledSearch,
        hits: &'a Mutex<SearchHits>,
        is_late: &'a dyn Fn() -> bool,
    ) -> Self {
        Self { search, searcher: search.build_searcher(), buffer: Vec::new(), hits, is_late }
    }

    /// Searches a file found by the directory walk.
    pub(crate) fn search_entry(&mut self, entry: &WalkEntry<'_>, display_path: &Path) -> io::Result<()> {
        let (file, stat) = entry.open()?;
        let order = self.search.order;
        self.search_file(file, stat.size, || order.rank_file(display_path.join(entry.path()), stat.modified))
    }

    /// Searches an open file and adds its results.
    pub(crate) fn search_file(
        &mut self,
        file: File,
        size: u64,
        rank: impl FnOnce() -> FileRank,
    ) -> io::Result<()> {
        let mut found = FileHits::default();
        let searched = self.search_in(file, size, &mut found);
        if found.is_reportable() {
            self.hits.lock().insert(rank(), found);
        }
        searched
    }

    /// Searches one file. Most files are small: a single read gets the whole file. Reading in pieces would take
    /// separate reads for the byte order mark, the text and the end.
    fn search_in(&mut self, mut file: File, size: u64, found: &mut FileHits) -> io::Result<()> {
        let matcher = &self.search.matcher;
        let sink = HitCollector::new(self.search, found);
        let Some(room) =
            usize::try_from(size).ok().filter(|&size| size < MAX_SINGLE_READ_BYTES).map(|size| size + 1)
        else {
            return self.searcher.search_reader(matcher, StoppableFile { file, is_late: self.is_late }, sink);
        };
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let read = file.read(&mut self.buffer[..room])?;
        if read + 1 == room {
            return self.searcher.search_slice(matcher, &self.buffer[..read], sink);
        }
        // The file is longer or shorter than its stated size: it is being written, or it is a file of /proc.
        let rest = StoppableFile { file, is_late: self.is_late };
        self.searcher.search_reader(matcher, self.buffer[..read].chain(rest), sink)
    }
}

/// A file whose reads fail once the search is late or stopped.
struct StoppableFile<'a> {
    file: File,
    is_late: &'a dyn Fn() -> bool,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_late)() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}
