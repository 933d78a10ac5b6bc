//! Measures unlinked files that a run holds open: no directory lists a removed file or a memfd, but both take space.

use std::collections::BTreeSet;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};

use super::descendants;

/// The maximum number of descriptors that are checked at once.
const MAX_DESCRIPTORS: usize = 100_000;
/// The private directories of a session, as a command sees them.
const PRIVATE_DIRS: &[&[u8]] = &[b"/tmp/", b"/var/tmp/"];

/// Bytes in unlinked files.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnlinkedFiles {
    /// In the private directories of the session.
    pub(super) disk: u64,
    /// In memory.
    pub(super) memory: u64,
}

impl UnlinkedFiles {
    /// Measures the unlinked files that the processes `pids` hold open. A file that several of them hold counts once.
    pub(super) fn measure(pids: &BTreeSet<i32>) -> Self {
        let (mut total, mut seen, mut left) = (Self::default(), BTreeSet::new(), MAX_DESCRIPTORS);
        for pid in pids {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let Ok(directory) = openat(rustix::fs::CWD, format!("/proc/{pid}/fd"), flags, Mode::empty())
            else {
                continue;
            };
            let Ok(entries) = Dir::read_from(&directory) else { continue };
            for entry in entries.filter_map(Result::ok) {
                if left == 0 {
                    return total;
                }
                left -= 1;
                total.add_descriptor(&directory, entry.file_name(), &mut seen);
            }
        }
        total
    }

    fn add_descriptor(
        &mut self,
        directory: impl AsFd,
        name: &std::ffi::CStr,
        seen: &mut BTreeSet<(u64, u64)>,
    ) {
        let Ok(path) = readlinkat(&directory, name, Vec::new()) else { return };
        let path = path.as_bytes();
        let is_private = PRIVATE_DIRS.iter().any(|private| path.starts_with(private));
        if !path.ends_with(b" (deleted)") || !(is_private || path.starts_with(b"/memfd:")) {
            return;
        }
        let Ok(stat) = statat(&directory, name, AtFlags::empty()) else { return };
        let is_nameless =
            stat.st_nlink == 0 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if is_nameless && seen.insert((stat.st_dev, stat.st_ino)) {
            let bytes = u64::try_from(stat.st_blocks).unwrap_or_default().saturating_mul(512);
            let total = if is_private { &mut self.disk } else { &mut self.memory };
            *total = total.saturating_add(bytes);
        }
    }
}

/// Returns the largest shared memory mapped by one of `pids`, which need not be backed by a file.
pub(super) fn max_shared_memory(pids: &BTreeSet<i32>) -> u64 {
    let of = |pid: &i32| {
        super::resource_guard::parse_kilobytes(
            &descendants::read_proc_file(&format!("/proc/{pid}/status"))?,
            "RssShmem:",
        )
    };
    pids.iter().filter_map(of).max().unwrap_or_default().saturating_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn removed_files_and_memory_files_are_counted_once() {
        let own = BTreeSet::from([rustix::process::getpid().as_raw_nonzero().get()]);
        let before = UnlinkedFiles::measure(&own);
        let mut file = tempfile::tempfile_in("/tmp").unwrap();
        file.write_all(&vec![1; 3 << 20]).unwrap();
        let _again = file.try_clone().unwrap();
        let memory = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        std::fs::File::from(memory.try_clone().unwrap()).write_all(&vec![1; 5 << 20]).unwrap();
        file.sync_all().unwrap();
        let now = UnlinkedFiles::measure(&own);
        let (disk, memory) = ((now.disk - before.disk) >> 20, (now.memory - before.memory) >> 20);
        assert_eq!((disk, memory), (3, 5));
    }
}
