//! All processes below this one, wherever they hid: found through `/proc`, signalled through pidfds.
//!
//! The caller is their subreaper: whoever loses its parent becomes its child, so nothing below it gets away by
//! forking twice, by `setsid` or by `nohup`. Its own children keep their number until it has waited for them.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};

use super::message::Ended;

/// How many are looked at in one go; a fork bomb has as many as the system lets it have.
const MAX_LOOKED_AT: usize = 100_000;
/// How often the tree is looked at in one go.
const MAX_PASSES: usize = 64;

/// Every process below this one but those below `except`.
pub(super) fn below(except: &BTreeSet<i32>) -> BTreeSet<i32> {
    let me = getpid().as_raw_nonzero().get();
    let mut found = BTreeSet::new();
    let mut todo = vec![me];
    // ends: every process is looked at once, and there are only so many
    while let Some(pid) = todo.pop() {
        for child in children(pid) {
            if found.len() < MAX_LOOKED_AT && !except.contains(&child) && found.insert(child) {
                todo.push(child);
            }
        }
    }
    found
}

/// Sends `signal` to each of `pids`, which [`below`] has found, unless it is another process by now.
pub(super) fn signal(pids: &BTreeSet<i32>, signal: Signal) {
    for &pid in pids {
        if let Some(held) = Held::of(pid, pids) {
            held.signal(signal);
        }
    }
}

/// Kills all, whole process groups at a time: nobody in one can fork between being looked at and being hit, so a fork
/// bomb does not outrun this. A group of a process below us was made below us: each program begins with its own.
pub(super) fn kill(except: &BTreeSet<i32>) -> BTreeSet<i32> {
    // Process 1 of a namespace has one that it cannot see: then it is none of these.
    let ours = parent_and_group(getpid().as_raw_nonzero().get()).map_or(0, |(_, group)| group);
    let mut killed = BTreeSet::new();
    // ends: when a look finds no new one, or after so many
    for _ in 0..MAX_PASSES {
        let all = below(except);
        let new: Vec<i32> = all.difference(&killed).copied().collect();
        if new.is_empty() {
            break;
        }
        let mut groups = BTreeSet::from([ours]);
        for &pid in &new {
            let Some(held) = Held::of(pid, &all) else { continue };
            let group = held.group;
            if group > 1
                && groups.insert(group)
                && let Some(group) = Pid::from_raw(group)
            {
                let _gone_already = kill_process_group(group, Signal::KILL);
            }
            held.signal(Signal::KILL);
        }
        killed.extend(new);
    }
    killed
}

/// A process that is one of ours, held so that it stays the same one.
struct Held {
    pid: Pid,
    /// None where the kernel has no such handles, or does not give them out.
    handle: Option<OwnedFd>,
    group: i32,
}

impl Held {
    /// Its number may have been given away since it was looked at. The handle means one process; if the parent of that one
    /// is ours, it is ours whoever it is.
    fn of(pid: i32, ours: &BTreeSet<i32>) -> Option<Self> {
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

/// What `pids` are called.
pub(super) fn named(pids: &BTreeSet<i32>, at_most: usize) -> Vec<Ended> {
    let name = |pid: i32| {
        let comm = read(&format!("/proc/{pid}/comm"))?;
        Some(Ended { pid, name: String::from_utf8_lossy(comm.trim_ascii_end()).into_owned() })
    };
    pids.iter().filter_map(|&pid| name(pid)).take(at_most).collect()
}

/// The fourth and fifth field of `stat`; the second is a name in brackets, which may hold brackets and blanks.
fn parent_and_group(pid: i32) -> Option<(i32, i32)> {
    let stat = read(&format!("/proc/{pid}/stat"))?;
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace().skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// A process has the children of all of its threads. A kernel that does not list them has its processes asked one by one.
fn children(pid: i32) -> Vec<i32> {
    static LISTS: OnceLock<bool> = OnceLock::new();
    let me = getpid().as_raw_nonzero();
    if !*LISTS.get_or_init(|| read(&format!("/proc/{me}/task/{me}/children")).is_some()) {
        return numbers("/proc")
            .into_iter()
            .filter(|&other| parent_and_group(other).is_some_and(|(parent, _)| parent == pid))
            .collect();
    }
    let tasks = format!("/proc/{pid}/task");
    let mut found = Vec::new();
    for thread in numbers(&tasks) {
        let list = read(&format!("{tasks}/{thread}/children")).unwrap_or_default();
        let list = String::from_utf8_lossy(&list).into_owned();
        found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    found
}

/// The entries of a directory that are numbers.
fn numbers(directory: &str) -> Vec<i32> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(Ok(open)) = openat(CWD, directory, flags, Mode::empty()).map(|fd| Dir::read_from(&fd)) else {
        return Vec::new();
    };
    let names = open.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// A file of the kernel's.
pub(super) fn text(path: &str) -> Option<String> {
    read(path).map(|text| String::from_utf8_lossy(&text).into_owned())
}

fn read(path: &str) -> Option<Vec<u8>> {
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    // ends: with the file, which the kernel makes as long as there are children
    loop {
        match rustix::io::read(&file, &mut buffer) {
            Ok(0) => return Some(text),
            Ok(read) => text.extend(&buffer[..read]),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Whether this process has children that are not among `known`.
pub(super) fn children_beside(known: &BTreeSet<i32>) -> bool {
    children(getpid().as_raw_nonzero().get()).iter().any(|child| !known.contains(child))
}
