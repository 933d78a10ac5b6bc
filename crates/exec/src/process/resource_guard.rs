//! Resource limits that the kernel does not enforce: a run's share of the machine's memory and disk.
//!
//! A run is checked twice a second, and ended when it endangers the machine: a memory or disk bomb does, a build does
//! not come near that. A control group is better where available, and then limits memory instead.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use policy::ResourceExcess;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstatvfs, openat, statat};

use super::descendants;
use super::unlinked_files::{UnlinkedFiles, max_shared_memory};
use crate::sandbox::SandboxRefusal;
use crate::sandbox::cell::ProgramConfinement;

/// The interval between checks of a run.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Growth below this is ignored.
const MIN_GROWTH_BYTES: u64 = 64 << 20;
/// The maximum number of entries counted in the private directory; a larger one counts as an excess.
const MAX_ENTRIES: usize = 500_000;
/// The maximum depth counted. A deeper tree is an evasion attempt and counts as an excess.
const MAX_DEPTH: usize = 200;
/// Memory is short when the available share is less than 1/SHORT.
const LOW_MEMORY_DIVISOR: u64 = 20;
/// The private directory is measured at this interval even if the disk is not fuller: space that a command frees
/// elsewhere masks its writes.
const MEASURE_INTERVAL: Duration = Duration::from_secs(1);
/// Measuring takes at most 1/MEASURING of the time.
const MEASURE_TIME_DIVISOR: u32 = 20;

/// The resource usage that one supervisor knows of its runs.
#[derive(Debug, Default)]
pub(super) struct ResourceGuard {
    next_check: Option<Instant>,
    /// Free bytes on the private directory's file system, at the last measurement or the start of a run.
    free_bytes: Option<u64>,
    /// Bytes in the private directory at the last measurement.
    used_bytes: u64,
    /// The time of the next measurement, independent of free space.
    next_measurement: Option<Instant>,
    /// The limit for the private directory, set once: half of the initially free space, unless the plan sets it.
    max_bytes: Option<u64>,
}

impl ResourceGuard {
    /// Starts watching a run.
    pub(super) fn begin_run(&mut self, inside: Option<&ProgramConfinement>) {
        self.next_check = inside.map(|_| Instant::now() + CHECK_INTERVAL);
        self.free_bytes = inside.and_then(|inside| available_bytes(inside.scratch.as_ref()?));
        if let (None, Some(inside)) = (self.max_bytes, inside) {
            self.max_bytes = inside.broker_facts.plan.limits.scratch.or_else(|| Some(self.free_bytes? / 2));
        }
    }

    /// Returns the time of the next check.
    pub(super) fn next_check(&self) -> Option<Instant> {
        self.next_check
    }

    /// Checks the run if the check is due. Returns the exceeded limit.
    pub(super) fn check(&mut self, inside: Option<&ProgramConfinement>) -> Option<SandboxRefusal> {
        let (inside, now) = (inside?, Instant::now());
        if self.next_check.is_none_or(|next| next > now) {
            return None;
        }
        self.next_check = Some(now + CHECK_INTERVAL);
        let pids = descendants::descendants_except(&BTreeSet::new());
        let nameless = UnlinkedFiles::measure(&pids);
        let excess = self
            .check_scratch(inside, nameless.disk)
            .or_else(|| check_shared_memory(inside, &pids, nameless.memory))
            .or_else(|| check_memory(inside, &pids, nameless.memory));
        if excess.is_some() {
            // One report is enough.
            self.next_check = None;
        }
        excess.map(SandboxRefusal::Excess)
    }

    /// Measures the private directory if it may exceed its limit. `nameless` counts the bytes of its removed files.
    fn check_scratch(&mut self, inside: &ProgramConfinement, nameless: u64) -> Option<ResourceExcess> {
        let directory = inside.scratch.as_ref()?;
        let (most, before, free) = (self.max_bytes?, self.free_bytes?, available_bytes(directory)?);
        let written = before.saturating_sub(free);
        let is_fuller = written >= MIN_GROWTH_BYTES.max(most.saturating_sub(self.used_bytes));
        let begun = Instant::now();
        let is_due = self.next_measurement.is_none_or(|next| next <= begun);
        if !is_fuller && !is_due {
            return (self.used_bytes.saturating_add(nameless) > most)
                .then_some(ResourceExcess::Scratch { most });
        }
        let mut measured = DirectoryUsage { bytes: 0, entries: 0, has_unreadable: false };
        measured.add_directory(directory.as_fd(), c".", 0);
        self.next_measurement =
            Some(Instant::now() + MEASURE_INTERVAL.max(begun.elapsed() * MEASURE_TIME_DIVISOR));
        self.used_bytes = measured.bytes;
        let mut is_excess = measured.bytes.saturating_add(nameless) > most;
        if is_fuller {
            self.free_bytes = Some(free);
            // Bytes that were written but not found lie where this process cannot look.
            is_excess |= measured.has_unreadable || free < written / 8;
        }
        is_excess.then_some(ResourceExcess::Scratch { most })
    }
}

/// Returns the free bytes for this user on the file system of `directory`.
fn available_bytes(directory: &OwnedFd) -> Option<u64> {
    let space = fstatvfs(directory).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

/// The contents of a directory tree.
struct DirectoryUsage {
    bytes: u64,
    entries: usize,
    /// Some entry could not be read.
    has_unreadable: bool,
}

impl DirectoryUsage {
    fn add_directory(&mut self, above: impl AsFd, name: &CStr, depth: usize) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(above, name, flags, Mode::empty());
        let Ok((entries, opened)) = opened.and_then(|opened| Ok((Dir::read_from(&opened)?, opened))) else {
            // The kernel denies everyone access to the `work` directory of an overlay.
            self.has_unreadable |= depth > 0 && name != c"work";
            return;
        };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES || depth > MAX_DEPTH {
                self.has_unreadable = true;
                return;
            }
            let Ok(stat) = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            self.bytes = self.bytes.saturating_add(u64::try_from(stat.st_blocks).unwrap_or_default() * 512);
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                self.add_directory(&opened, name, depth + 1);
            }
        }
    }
}

/// Returns an excess if the run holds more unnamed memory than its memory limit. Unnamed memory belongs to no
/// process, so per-process limits miss it. Applies only without a control group.
fn check_shared_memory(
    inside: &ProgramConfinement,
    pids: &BTreeSet<i32>,
    nameless: u64,
) -> Option<ResourceExcess> {
    let most = inside.broker_facts.plan.limits.memory.filter(|_| !inside.memory_is_limited)?;
    (nameless.max(max_shared_memory(pids)) > most).then_some(ResourceExcess::SharedMemory { most })
}

/// Returns an excess if the machine is short of memory and this run holds more than half of it. Applies only without
/// another limit.
fn check_memory(inside: &ProgramConfinement, pids: &BTreeSet<i32>, nameless: u64) -> Option<ResourceExcess> {
    if inside.memory_is_limited {
        return None;
    }
    let text = descendants::read_proc_file("/proc/meminfo")?;
    let of = |name: &str| parse_kilobytes(&text, name);
    let (all, left) = (of("MemTotal:")?, of("MemAvailable:")?);
    if left > all / LOW_MEMORY_DIVISOR {
        return None;
    }
    let own: u64 = pids
        .iter()
        .filter_map(|pid| {
            parse_kilobytes(&descendants::read_proc_file(&format!("/proc/{pid}/status"))?, "RssAnon:")
        })
        .sum();
    let shared = nameless.max(max_shared_memory(pids)) >> 10;
    (own.saturating_add(shared) > all / 2).then_some(ResourceExcess::Memory)
}

pub(super) fn parse_kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn directory_usage_is_measured_without_following_links() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("a/b")).unwrap();
        std::fs::write(place.path().join("a/b/f"), vec![1; 300_000]).unwrap();
        // Links are not followed.
        std::os::unix::fs::symlink("/usr", place.path().join("a/usr")).unwrap();
        let directory = OwnedFd::from(std::fs::File::open(place.path()).unwrap());
        let mut measured = DirectoryUsage { bytes: 0, entries: 0, has_unreadable: false };
        measured.add_directory(directory.as_fd(), c".", 0);
        assert!((300_000..400_000).contains(&measured.bytes), "{}", measured.bytes);
        assert_eq!((measured.entries, measured.has_unreadable), (4, false));
    }

    #[test]
    fn kilobytes_are_parsed_from_proc_files() {
        let text = "MemTotal:       24000 kB\nMemAvailable:    1200 kB\n";
        assert_eq!(parse_kilobytes(text, "MemAvailable:"), Some(1200));
        assert_eq!(parse_kilobytes(text, "Missing:"), None);
    }
}
