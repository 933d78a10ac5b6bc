//! Limits for all processes of a cell together: a control group (cgroup v2), where this user may create one.
//!
//! The user may where the system has delegated a part of the hierarchy, as systemd does for logged-in users. The
//! group is created beside the one that this process is in, or below it. If that fails, the other limits still hold.

use std::path::{Path, PathBuf};

use policy::ResourceLimits;
use rustix::fs::{CWD, Dir, Mode, OFlags, mkdir, open, rmdir};
use rustix::io::{Errno, Result};

use super::cell_plan::path_from_bytes;

/// The number of processes that a cell needs for itself.
const RESERVED_PROCESSES: u64 = 32;
/// The prefix of group names, before the pid of their creator.
const GROUP_NAME_PREFIX: &str = "toolgate-";
/// More than the kernel writes about the groups and mounts of one process.
const MAX_PROC_FILE_BYTES: usize = 1 << 20;

/// The control group of one cell.
#[derive(Debug)]
pub(crate) struct CellCgroup {
    path: PathBuf,
    /// True if it limits the number of processes.
    pub(crate) limits_processes: bool,
    /// True if it limits memory.
    pub(crate) limits_memory: bool,
}

impl CellCgroup {
    /// Creates a group with `limits`, if there are any and the system allows it.
    pub(crate) fn create(limits: &ResourceLimits) -> Option<Self> {
        let wanted = CgroupLimits {
            processes: limits.processes,
            memory: limits.memory,
            memory_cap: max_group_memory(),
        };
        if wanted.controllers().is_empty() {
            return None;
        }
        let (groups, mounts) = (read("/proc/self/cgroup".as_ref())?, read("/proc/self/mountinfo".as_ref())?);
        candidate_directories(&groups, &mounts).into_iter().find_map(|place| create_group_in(&place, wanted))
    }

    /// Moves this process into the group. Its descendants inherit it.
    pub(crate) fn enter(&self) -> Result<()> {
        write(&self.path.join("cgroup.procs"), "0")
    }

    /// Kills the remaining processes and removes the group. Returns true if it is gone.
    pub(crate) fn remove(&self) -> bool {
        let _old_kernel = write(&self.path.join("cgroup.kill"), "1");
        matches!(rmdir(&self.path), Ok(()) | Err(Errno::NOENT))
    }
}

/// The limits that a control group of a session can hold on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CgroupSupport {
    /// The number of processes can be limited.
    pub processes: bool,
    /// Memory can be limited.
    pub memory: bool,
}

impl CgroupSupport {
    /// Finds out by creating a group and removing it again.
    pub fn probe() -> Self {
        let limits = ResourceLimits { processes: Some(u64::from(u16::MAX)), ..ResourceLimits::default() };
        let Some(group) = CellCgroup::create(&limits) else {
            return Self { processes: false, memory: false };
        };
        // It has no process, so nothing keeps it.
        let _is_removed = group.remove();
        Self { processes: group.limits_processes, memory: group.limits_memory }
    }
}

/// The limits of a group.
#[derive(Debug, Clone, Copy)]
struct CgroupLimits {
    processes: Option<u64>,
    memory: Option<u64>,
    /// The upper bound of memory, independent of the configured limit.
    memory_cap: Option<u64>,
}

impl CgroupLimits {
    fn controllers(self) -> Vec<&'static str> {
        let (pids, memory) =
            (self.processes.map(|_| "pids"), self.memory.or(self.memory_cap).map(|_| "memory"));
        pids.into_iter().chain(memory).collect()
    }
}

/// Returns the directories where a group can be created, the best first: beside the own group, then below it. Only
/// the top of the hierarchy can hold both processes and groups with limits.
fn candidate_directories(groups: &[u8], mounts: &[u8]) -> Vec<PathBuf> {
    let Some(own) = lines(groups).find_map(|line| line.strip_prefix(b"0::/")) else { return Vec::new() };
    let Some((root, at)) = lines(mounts).find_map(parse_cgroup2_mount) else { return Vec::new() };
    // The mount may show only a part of the hierarchy.
    let own = Path::new("/").join(path_from_bytes(own.to_vec()));
    let Ok(below) = own.strip_prefix(&root) else { return Vec::new() };
    if below.components().any(|part| part.as_os_str() == "..") {
        return Vec::new();
    }
    let beside = below.parent().map(|above| at.join(above));
    let own = if below.as_os_str().is_empty() { at } else { at.join(below) };
    beside.into_iter().chain([own]).collect()
}

/// Returns root and mount point, if this line of `mountinfo` is a cgroup2 mount.
fn parse_cgroup2_mount(line: &[u8]) -> Option<(PathBuf, PathBuf)> {
    let mut fields = line.split(|&byte| byte == b' ');
    let (root, at) = (fields.nth(3)?, fields.next()?);
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    (kind == b"cgroup2").then(|| (path_from_bytes(root.to_vec()), path_from_bytes(at.to_vec())))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n')
}

fn create_group_in(parent: &Path, limits: CgroupLimits) -> Option<CellCgroup> {
    let controllers = limits.controllers();
    let has = |all: &[u8], name: &str| {
        all.split(|byte| byte.is_ascii_whitespace()).any(|one| one == name.as_bytes())
    };
    let enabled = parent.join("cgroup.subtree_control");
    for name in &controllers {
        if !has(&read(&enabled)?, name) {
            // Sibling groups are then counted too, but not limited. Only a group without processes allows it.
            let _not_here = write(&enabled, &format!("+{name}"));
        }
    }
    let on = read(&enabled)?;
    if !controllers.iter().any(|name| has(&on, name)) {
        return None;
    }
    remove_abandoned_groups(parent);
    let path = parent.join(format!(
        "{GROUP_NAME_PREFIX}{}-{}",
        rustix::process::getpid().as_raw_nonzero(),
        unused_number(parent)?
    ));
    mkdir(&path, Mode::RWXU).ok()?;
    let set = |file: &str, value: u64| write(&path.join(file), &value.to_string()).is_ok();
    let limits_processes =
        limits.processes.is_some_and(|most| set("pids.max", most.saturating_add(RESERVED_PROCESSES)));
    if limits.memory.is_some() {
        // Swapped-out memory counts too.
        set("memory.swap.max", 0);
    }
    let memory = limits.memory.into_iter().chain(limits.memory_cap).min();
    let limits_memory = memory.is_some_and(|most| set("memory.max", most));
    let group = CellCgroup { path, limits_processes, limits_memory };
    // Whether processes can be moved there is known only when one is moved.
    if limits_processes || limits_memory {
        return Some(group);
    }
    group.remove();
    None
}

/// Returns a number that no group of this process has.
fn unused_number(parent: &Path) -> Option<u64> {
    let name =
        |number: u64| format!("{GROUP_NAME_PREFIX}{}-{number}", rustix::process::getpid().as_raw_nonzero());
    (0..1_000).find(|&number| {
        rustix::fs::access(parent.join(name(number)), rustix::fs::Access::EXISTS) == Err(Errno::NOENT)
    })
}

/// Removes the groups of killed programs. A group that holds processes cannot be removed.
fn remove_abandoned_groups(parent: &Path) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(Ok(entries)) = open(parent, flags, Mode::empty()).map(Dir::read_from) else { return };
    for entry in entries.filter_map(std::result::Result::ok) {
        let name = entry.file_name().to_bytes();
        let maker = name
            .strip_prefix(GROUP_NAME_PREFIX.as_bytes())
            .and_then(|rest| rest.split(|&byte| byte == b'-').next());
        let Some(maker) = maker.filter(|maker| !maker.is_empty() && maker.iter().all(u8::is_ascii_digit))
        else {
            continue;
        };
        let alive = rustix::fs::access(
            Path::new("/proc").join(path_from_bytes(maker.to_vec())),
            rustix::fs::Access::EXISTS,
        );
        if alive == Err(Errno::NOENT) {
            let _in_use = rmdir(parent.join(path_from_bytes(name.to_vec())));
        }
    }
}

/// Returns four fifths of the machine's memory: a build does not need the rest, and other programs do.
fn max_group_memory() -> Option<u64> {
    let text = read("/proc/meminfo".as_ref())?;
    let all = lines(&text).find_map(|line| line.strip_prefix(b"MemTotal:"))?;
    let kilobytes: u64 = String::from_utf8_lossy(all).split_whitespace().next()?.parse().ok()?;
    Some((kilobytes << 10) / 5 * 4)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let file = rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = Vec::new();
    let mut part = [0; 4096];
    // ends: with the file, which has an end
    while text.len() < MAX_PROC_FILE_BYTES {
        match rustix::io::read(&file, &mut part).ok()? {
            0 => return Some(text),
            read => text.extend(&part[..read]),
        }
    }
    None
}

fn write(path: &Path, text: &str) -> Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_made_beside_our_own_or_below_it() {
        let mounts = "22 1 0:20 / /sys rw - sysfs sysfs rw\n\
                      30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        let part = "30 22 0:26 /kubepods/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let old = "30 22 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
        for (groups, mounts, expected) in [
            (
                "0::/user.slice/user-1.slice/user@1.service/app.slice/a.scope\n",
                mounts,
                &[
                    "/sys/fs/cgroup/user.slice/user-1.slice/user@1.service/app.slice",
                    "/sys/fs/cgroup/user.slice/user-1.slice/user@1.service/app.slice/a.scope",
                ][..],
            ),
            ("9:pids:/x\n0::/\n", mounts, &["/sys/fs/cgroup"]),
            ("0::/kubepods/x\n", part, &["/sys/fs/cgroup"]),
            ("0::/kubepods/x/y\n", part, &["/sys/fs/cgroup/", "/sys/fs/cgroup/y"]),
            // Outside the mounted part.
            ("0::/elsewhere\n", part, &[]),
            ("0::/../elsewhere\n", mounts, &[]),
            ("9:pids:/x\n", mounts, &[]),
            ("0::/\n", old, &[]),
            ("", "", &[]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(candidate_directories(groups.as_bytes(), mounts.as_bytes()), expected, "{groups}");
        }
    }
}
