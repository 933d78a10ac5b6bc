//! Finds all descendants of this process through `/proc`, and signals them through pidfds.
//!
//! The caller is their subreaper: an orphan becomes its child, so no descendant escapes by a double fork, by `setsid`
//! or by `nohup`. The pid of a child is not reused until the caller has reaped it.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};

use super::messages::KilledProcess;

/// The maximum number of processes found at once; a fork bomb has as many as the system allows.
const MAX_PROCESSES: usize = 100_000;
/// The maximum number of passes over the tree.
const MAX_PASSES: usize = 64;

/// Returns all descendants of this process, except the subtrees of `except`.
pub(super) fn descendants_except(except: &BTreeSet<i32>) -> BTreeSet<i32> {
    let me = getpid().as_raw_nonzero().get();
    let mut found = BTreeSet::new();
    let mut todo = vec![me];
    // ends: every process is visited once, and their number is bounded
    while let Some(pid) = todo.pop() {
        for child in children(pid) {
            if found.len() < MAX_PROCESSES && !except.contains(&child) && found.insert(child) {
                todo.push(child);
            }
        }
    }
    found
}

/// Sends `signal` to each of `pids`, which [`descendants_except`] has found, unless the pid was reused.
pub(super) fn signal_all(pids: &BTreeSet<i32>, signal: Signal) {
    for &pid in pids {
        if let Some(pinned) = PinnedProcess::pin(pid, pids) {
            pinned.signal(signal);
        }
    }
}

/// Kills all descendants, by process group: no member can fork between the scan and the kill, so a fork bomb does not
/// outrun this. The group of a descendant was created by a descendant: each program begins with its own.
pub(super) fn kill_groups(except: &BTreeSet<i32>) -> BTreeSet<i32> {
    // Process 1 of a namespace has a group that it cannot see: then it equals none of these.
    let ours = parent_and_group(getpid().as_raw_nonzero().get()).map_or(0, |(_, group)| group);
    let mut killed = BTreeSet::new();
    // ends: when a pass finds no new process, or after `MAX_PASSES`
    for _ in 0..MAX_PASSES {
        let all = descendants_except(except);
        let new: Vec<i32> = all.difference(&killed).copied().collect();
        if new.is_empty() {
            break;
        }
        let mut groups = BTreeSet::from([ours]);
        for &pid in &new {
            let Some(pinned) = PinnedProcess::pin(pid, &all) else { continue };
            let group = pinned.group;
            if group > 1
                && groups.insert(group)
                && let Some(group) = Pid::from_raw(group)
            {
                let _gone_already = kill_process_group(group, Signal::KILL);
            }
            pinned.signal(Signal::KILL);
        }
        killed.extend(new);
    }
    killed
}

/// A descendant, pinned by a pidfd so that its pid cannot be reused.
struct PinnedProcess {
    pid: Pid,
    /// `None` where the kernel has no pidfds, or refuses them.
    handle: Option<OwnedFd>,
    group: i32,
}

impl PinnedProcess {
    /// Pins a process. The pid may have been reused since the scan. The pidfd refers to one process; if its parent is
    /// ours, it is a descendant in any case.
    fn pin(pid: i32, ours: &BTreeSet<i32>) -> Option<Self> {
        let number = Pid::from_raw(pid)?;
        let handle = match pidfd_open(number, PidfdFlags::empty()) {
            Ok(handle) => Some(handle),
            Err(Errno::SRCH) => return None,
            Err(_) => None,
        };
        let (parent, group) = parent_and_group(pid)?;
        let me = getpid().as_raw_nonzero().get();
        (parent == me || ours.contains(&parent)).then_some(Self { pid: number, handle, group })
    }

    fn signal(&self, signal: Signal) {
        let _gone_already = match &self.handle {
            Some(handle) => pidfd_send_signal(handle, signal),
            None => kill_process(self.pid, signal),
        };
    }
}

/// Returns the names of `pids`.
pub(super) fn process_names(pids: &BTreeSet<i32>, at_most: usize) -> Vec<KilledProcess> {
    let name = |pid: i32| {
        let comm = read_file_bytes(&format!("/proc/{pid}/comm"))?;
        Some(KilledProcess { pid, name: String::from_utf8_lossy(comm.trim_ascii_end()).into_owned() })
    };
    pids.iter().filter_map(|&pid| name(pid)).take(at_most).collect()
}

/// Returns the fourth and fifth field of `stat`. The second is a name in brackets, which may contain brackets and
/// blanks.
fn parent_and_group(pid: i32) -> Option<(i32, i32)> {
    let stat = read_file_bytes(&format!("/proc/{pid}/stat"))?;
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace().skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Returns the children of all threads of a process. On a kernel without the list, all processes are searched.
fn children(pid: i32) -> Vec<i32> {
    static HAS_CHILDREN_FILE: OnceLock<bool> = OnceLock::new();
    let me = getpid().as_raw_nonzero();
    if !*HAS_CHILDREN_FILE
        .get_or_init(|| read_file_bytes(&format!("/proc/{me}/task/{me}/children")).is_some())
    {
        return numeric_entries("/proc")
            .into_iter()
            .filter(|&other| parent_and_group(other).is_some_and(|(parent, _)| parent == pid))
            .collect();
    }
    let tasks = format!("/proc/{pid}/task");
    let mut found = Vec::new();
    for thread in numeric_entries(&tasks) {
        let list = read_file_bytes(&format!("{tasks}/{thread}/children")).unwrap_or_default();
        let list = String::from_utf8_lossy(&list).into_owned();
        found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    found
}

/// Returns the entries of a directory that are numbers.
fn numeric_entries(directory: &str) -> Vec<i32> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(Ok(open)) = openat(CWD, directory, flags, Mode::empty()).map(|fd| Dir::read_from(&fd)) else {
        return Vec::new();
    };
    let names = open.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// Reads a file of `/proc` as text.
pub(super) fn read_proc_file(path: &str) -> Option<String> {
    read_file_bytes(path).map(|text| String::from_utf8_lossy(&text).into_owned())
}

fn read_file_bytes(path: &str) -> Option<Vec<u8>> {
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    // ends: with the file, whose length the number of children bounds
    loop {
        match rustix::io::read(&file, &mut buffer) {
            Ok(0) => return Some(text),
            Ok(read) => text.extend(&buffer[..read]),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Returns true if this process has children that are not in `known`.
pub(super) fn has_other_children(known: &BTreeSet<i32>) -> bool {
    children(getpid().as_raw_nonzero().get()).iter().any(|child| !known.contains(child))
}
