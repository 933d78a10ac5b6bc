//! Bounds that no part of the kernel keeps for us: how much of the machine's memory and disk a run takes.
//!
//! A run is looked at twice a second, and ended when it is a danger to the machine: a build does not come near that, a bomb
//! does. A control group is better where there is one, and then memory is left to it.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use policy::Excess;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstatvfs, openat, statat};

use super::nameless::{NamelessFiles, most_shared};
use super::tree;
use crate::sandbox::Refusal;
use crate::sandbox::cell::Inside;

/// How often a run is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Growth that is not worth looking for.
const STEP: u64 = 64 << 20;
/// Entries of the private directory that are looked at in one go; more are taken for too many.
const MAX_ENTRIES: usize = 500_000;
/// How deep is looked. What lies deeper was put there to be in the way, and counts as too much.
const MAX_DEPTH: usize = 200;
/// Memory is short when less than one part in so many can be had.
const SHORT: u64 = 20;
/// The private directory is measured so often even if the disk is not fuller: room that a command frees elsewhere hides what
/// it writes there.
const MEASURE: Duration = Duration::from_secs(1);
/// Measuring takes one part in so many of the time.
const MEASURING: u32 = 20;

/// What one keeper knows about what its runs take.
#[derive(Debug, Default)]
pub(super) struct ResourceGuard {
    next: Option<Instant>,
    /// Bytes that were free where the private directory is, when it was last measured or a run began.
    free: Option<u64>,
    /// Bytes in the private directory when it was last measured.
    taken: u64,
    /// When it is measured next, whatever is free.
    measure: Option<Instant>,
    /// What may be in there, and what is found out once: half of what was free.
    most: Option<u64>,
}

impl ResourceGuard {
    /// A run begins.
    pub(super) fn begin(&mut self, inside: Option<&Inside>) {
        self.next = inside.map(|_| Instant::now() + LOOK);
        self.free = inside.and_then(|inside| free(inside.scratch.as_ref()?));
        if let (None, Some(inside)) = (self.most, inside) {
            self.most = inside.bounds.plan.limits.scratch.or_else(|| Some(self.free? / 2));
        }
    }

    /// When it is looked at next.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Looks, if it is time to; what there is too much of.
    pub(super) fn look(&mut self, inside: Option<&Inside>) -> Option<Refusal> {
        let (inside, now) = (inside?, Instant::now());
        if self.next.is_none_or(|next| next > now) {
            return None;
        }
        self.next = Some(now + LOOK);
        let pids = tree::below(&BTreeSet::new());
        let nameless = NamelessFiles::of(&pids);
        let excess = self
            .scratch(inside, nameless.disk)
            .or_else(|| shared_memory(inside, &pids, nameless.memory))
            .or_else(|| memory(inside, &pids, nameless.memory));
        if excess.is_some() {
            // Once is enough.
            self.next = None;
        }
        excess.map(Refusal::Excess)
    }

    /// Measures the private directory if there may be too much in it. `nameless` bytes in there are in removed files.
    fn scratch(&mut self, inside: &Inside, nameless: u64) -> Option<Excess> {
        let directory = inside.scratch.as_ref()?;
        let (most, before, free) = (self.most?, self.free?, free(directory)?);
        let written = before.saturating_sub(free);
        let is_fuller = written >= STEP.max(most.saturating_sub(self.taken));
        let begun = Instant::now();
        let is_due = self.measure.is_none_or(|next| next <= begun);
        if !is_fuller && !is_due {
            return (self.taken.saturating_add(nameless) > most).then_some(Excess::Scratch { most });
        }
        let mut measured = Measured { bytes: 0, entries: 0, hidden: false };
        measured.directory(directory.as_fd(), c".", 0);
        self.measure = Some(Instant::now() + MEASURE.max(begun.elapsed() * MEASURING));
        self.taken = measured.bytes;
        let mut is_excess = measured.bytes.saturating_add(nameless) > most;
        if is_fuller {
            self.free = Some(free);
            // What was written and is not found is where nobody can look.
            is_excess |= measured.hidden || free < written / 8;
        }
        is_excess.then_some(Excess::Scratch { most })
    }
}

/// Bytes that this user can write where `directory` is.
fn free(directory: &OwnedFd) -> Option<u64> {
    let space = fstatvfs(directory).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

/// What a directory holds.
struct Measured {
    bytes: u64,
    entries: usize,
    /// Something could not be looked at.
    hidden: bool,
}

impl Measured {
    fn directory(&mut self, above: impl AsFd, name: &CStr, depth: usize) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(above, name, flags, Mode::empty());
        let Ok((entries, opened)) = opened.and_then(|opened| Ok((Dir::read_from(&opened)?, opened))) else {
            // The kernel keeps what is none of ours in the directory of an overlay from everybody.
            self.hidden |= depth > 0 && name != c"work";
            return;
        };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES || depth > MAX_DEPTH {
                self.hidden = true;
                return;
            }
            let Ok(stat) = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            self.bytes = self.bytes.saturating_add(u64::try_from(stat.st_blocks).unwrap_or_default() * 512);
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                self.directory(&opened, name, depth + 1);
            }
        }
    }
}

/// Whether the run holds more memory without a name than it may have memory at all: such memory is no process's own, so the
/// limit of a process does not hold it. Only where no control group limits that.
fn shared_memory(inside: &Inside, pids: &BTreeSet<i32>, nameless: u64) -> Option<Excess> {
    let most = inside.bounds.plan.limits.memory.filter(|_| !inside.memory_is_limited)?;
    (nameless.max(most_shared(pids)) > most).then_some(Excess::SharedMemory { most })
}

/// Whether the machine is short of memory and this run has more than half of it. Only where nothing else limits that.
fn memory(inside: &Inside, pids: &BTreeSet<i32>, nameless: u64) -> Option<Excess> {
    if inside.memory_is_limited {
        return None;
    }
    let text = tree::text("/proc/meminfo")?;
    let of = |name: &str| kilobytes(&text, name);
    let (all, left) = (of("MemTotal:")?, of("MemAvailable:")?);
    if left > all / SHORT {
        return None;
    }
    let own: u64 = pids
        .iter()
        .filter_map(|pid| kilobytes(&tree::text(&format!("/proc/{pid}/status"))?, "RssAnon:"))
        .sum();
    let shared = nameless.max(most_shared(pids)) >> 10;
    (own.saturating_add(shared) > all / 2).then_some(Excess::Memory)
}

pub(super) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn what_a_directory_holds() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("a/b")).unwrap();
        std::fs::write(place.path().join("a/b/f"), vec![1; 300_000]).unwrap();
        // Links are not followed.
        std::os::unix::fs::symlink("/usr", place.path().join("a/usr")).unwrap();
        let directory = OwnedFd::from(std::fs::File::open(place.path()).unwrap());
        let mut measured = Measured { bytes: 0, entries: 0, hidden: false };
        measured.directory(directory.as_fd(), c".", 0);
        assert!((300_000..400_000).contains(&measured.bytes), "{}", measured.bytes);
        assert_eq!((measured.entries, measured.hidden), (4, false));
    }

    #[test]
    fn a_line_of_the_kernels() {
        let text = "MemTotal:       24000 kB\nMemAvailable:    1200 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(1200));
        assert_eq!(kilobytes(text, "Missing:"), None);
    }
}
