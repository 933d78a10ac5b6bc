//! Snapshots of a file tree, and comparisons of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use crate::paths::join;

/// Times before this were set by an operation.
const EXPLICIT: i64 = 1_100_000_000;

/// The state of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryState {
    pub(crate) kind: char,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) links: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) changed: (i64, i64),
    pub(crate) modified: (i64, i64),
    /// The content, or the target of a symlink.
    pub(crate) body: Vec<u8>,
    pub(crate) attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A tree: path → entry.
pub(crate) type TreeSnapshot = BTreeMap<String, EntryState>;

/// Takes a snapshot of everything below `base`.
pub(crate) fn take_snapshot(base: &Path) -> TreeSnapshot {
    let mut snapshot = TreeSnapshot::new();
    let mut todo = vec![String::new()];
    while let Some(path) = todo.pop() {
        let at = base.join(&path);
        let Ok(stat) = fs::symlink_metadata(&at) else { continue };
        let seen = entry_state(base, &at, &stat);
        if seen.kind == 'd' {
            let entries = fs::read_dir(&at).into_iter().flatten().filter_map(Result::ok);
            todo.extend(entries.map(|entry| join(&path, entry.file_name().to_str().unwrap())));
        }
        snapshot.insert(path, seen);
    }
    snapshot
}

fn entry_state(base: &Path, at: &Path, stat: &fs::Metadata) -> EntryState {
    let kind = match stat.file_type() {
        kind if kind.is_dir() => 'd',
        kind if kind.is_symlink() => 'l',
        kind if kind.is_fifo() => 'p',
        kind if kind.is_socket() => 's',
        _ => 'f',
    };
    let body = match kind {
        // An unreadable file is compared by size and times.
        'f' => fs::read(at).unwrap_or_default(),
        'l' => {
            let to = fs::read_link(at).unwrap();
            // Makes absolute targets independent of the tree's location.
            let below = to.strip_prefix(base).map(|below| Path::new("/TREE").join(below));
            below.unwrap_or(to).into_os_string().into_encoded_bytes()
        }
        _ => Vec::new(),
    };
    EntryState {
        kind,
        mode: stat.mode() & 0o7777,
        owner: (stat.uid(), stat.gid()),
        links: stat.nlink(),
        inode: stat.ino(),
        size: if kind == 'f' { stat.size() } else { 0 },
        changed: (stat.ctime(), stat.ctime_nsec()),
        modified: (stat.mtime(), stat.mtime_nsec()),
        body,
        attributes: if matches!(kind, 'f' | 'd') { attributes(at) } else { Vec::new() },
    }
}

fn attributes(at: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut names = vec![0; 1024];
    let Ok(length) = rustix::fs::llistxattr(at, &mut names) else { return Vec::new() };
    let names = names[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    // The sandbox's mark on its own placeholders.
    let names = names.filter(|name| *name != b"user.toolgate.placeholder");
    let value = |name: &[u8]| {
        let mut value = vec![0; 256];
        let length = rustix::fs::lgetxattr(at, name, &mut value).unwrap_or(0);
        value[..length].to_vec()
    };
    names.map(|name| (name.to_vec(), value(name))).collect()
}

impl EntryState {
    /// Describes the entry for people.
    pub(crate) fn describe(&self) -> String {
        let Self { kind, mode, owner, links, inode, changed, modified, body, attributes, .. } = self;
        let body = String::from_utf8_lossy(body);
        let times = format!("m{}.{} c{}.{}", modified.0, modified.1, changed.0, changed.1);
        format!("{kind}{mode:04o} {owner:?} {links} links, inode {inode}, {times}, {body:?} {attributes:?}")
    }

    /// Whether only the number of names of this file changed, and the time of that.
    pub(crate) fn differs_in_links_only(&self, other: &Self) -> bool {
        let unlinked = Self { links: other.links, changed: other.changed, ..self.clone() };
        self.links != other.links && unlinked == *other
    }

    /// Whether two trees have the same here, made at different times.
    fn is_like(&self, other: &Self) -> bool {
        let plain = |seen: &Self| {
            (
                seen.kind,
                seen.mode,
                seen.owner,
                seen.links,
                seen.size,
                seen.body.clone(),
                seen.attributes.clone(),
            )
        };
        let explicit = |seen: &Self| (seen.modified.0 < EXPLICIT).then_some(seen.modified);
        plain(self) == plain(other) && explicit(self) == explicit(other)
    }
}

/// Describes the differences between `one` and `other`.
pub(crate) fn describe_differences(
    one: &TreeSnapshot,
    other: &TreeSnapshot,
    same: impl Fn(&str, &EntryState, &EntryState) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for (path, seen) in one {
        match other.get(path) {
            None => found.push(format!("{path:?} is gone")),
            Some(now) if !same(path, seen, now) => {
                found.push(format!("{path:?} was {} and is {}", seen.describe(), now.describe()));
            }
            Some(_) => {}
        }
    }
    let new = other.iter().filter(|(path, _)| !one.contains_key(*path));
    found.extend(new.map(|(path, seen)| format!("{path:?} is new: {}", seen.describe())));
    found
}

/// Describes every change of a tree.
pub(crate) fn changes(before: &TreeSnapshot, after: &TreeSnapshot) -> Vec<String> {
    describe_differences(before, after, |_, one, other| one == other)
}

/// Describes the differences between two trees after the same operations.
pub(crate) fn differences(one: &TreeSnapshot, other: &TreeSnapshot) -> Vec<String> {
    describe_differences(one, other, |_, one, other| one.is_like(other))
}
