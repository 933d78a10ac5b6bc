//! All processes below this one, wherever they hid: found through `/proc`, signalled through pidfds.
//!
//! The caller is their subreaper: whoever loses its parent becomes its child, so nothing below it gets away by
//! forking twice, by `setsid` or by `nohup`. Its own children keep their number until it has waited for them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpgid, getpid, kill_process_group, pidfd_open, pidfd_send_signal,
};

use super::message::Ended;

/// How many are looked at in one go; a fork bomb has as many as the system lets it have.
const MAX_LOOKED_AT: usize = 100_000;
/// How often the tree is looked at before those in it are taken to stand still.
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
    let me = getpid().as_raw_nonzero().get();
    for &pid in pids {
        let Some(number) = Pid::from_raw(pid) else { continue };
        let Ok(handle) = pidfd_open(number, PidfdFlags::empty()) else { continue };
        // Its number may have been given away since it was looked at. The handle means one process; if the parent of that
        // one is ours, it is ours whoever it is.
        if parent(pid).is_some_and(|parent| parent == me || pids.contains(&parent)) {
            let _gone_already = pidfd_send_signal(&handle, signal);
        }
    }
}

/// Stops all, then kills all: what stands still cannot fork, so a fork bomb does not outrun this.
pub(super) fn kill(except: &BTreeSet<i32>) -> BTreeSet<i32> {
    let mut stopped = BTreeSet::new();
    for _ in 0..MAX_PASSES {
        let new: BTreeSet<i32> = below(except).difference(&stopped).copied().collect();
        if new.is_empty() {
            break;
        }
        signal_groups(&new, Signal::STOP);
        signal(&new, Signal::STOP);
        stopped.extend(new);
    }
    let all = below(except);
    signal_groups(&all, Signal::KILL);
    signal(&all, Signal::KILL);
    all
}

/// Sends `signal` to whole process groups at a time: nobody in one can fork between being looked at and being hit. A
/// group of a process below us was made below us, since each program begins with a session of its own.
fn signal_groups(pids: &BTreeSet<i32>, signal: Signal) {
    let group = |pid: &i32| getpgid(Pid::from_raw(*pid)).ok();
    let ours = getpgid(None).ok();
    let groups: BTreeSet<Option<i32>> = pids
        .iter()
        .map(group)
        .filter(|group| *group != ours)
        .map(|group| Some(group?.as_raw_nonzero().get()))
        .collect();
    for group in groups.into_iter().flatten().filter_map(Pid::from_raw) {
        let _gone_already = kill_process_group(group, signal);
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

/// The fourth field of `stat`; the second is a name in brackets, which may hold brackets and blanks.
fn parent(pid: i32) -> Option<i32> {
    let stat = read(&format!("/proc/{pid}/stat"))?;
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let fields = std::str::from_utf8(&stat[end + 1..]).ok()?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// A process has the children of all of its threads. A kernel that does not list them has its processes asked one by one.
fn children(pid: i32) -> Vec<i32> {
    static LISTS: OnceLock<bool> = OnceLock::new();
    let me = getpid().as_raw_nonzero();
    if !*LISTS.get_or_init(|| read(&format!("/proc/{me}/task/{me}/children")).is_some()) {
        return numbers("/proc").into_iter().filter(|&other| parent(other) == Some(pid)).collect();
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
