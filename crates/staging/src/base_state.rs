//! The base of a change: the state of the user's tree when a path was first changed, to find what the user did since.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::entry_kind::{EntryKind, EntryStatus, status_of};
use crate::open_files::{link_target, names_in, open_parent, open_readable, read_limited, split};
use patch::RecordedPath;

/// Larger files are compared by their metadata alone.
const MAX_HASHED_BYTES: u64 = 64 << 20;
/// A text of this size is kept for a merge.
pub(crate) const MAX_MERGED_BYTES: u64 = 1 << 20;
/// The depth of a directory whose entries are compared.
const MAX_DEPTH: usize = 300;

/// The state of the user's tree at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BaseState {
    /// There was nothing.
    Absent,
    /// There was this entry.
    Present(BaseEntry),
    /// The entry changed while a command ran that changed it too: which came first is unknown.
    Unknown,
}

/// An entry of the user's tree as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BaseEntry {
    kind: EntryKind,
    pub(crate) mode: u32,
    dev: u64,
    ino: u64,
    size: u64,
    mtime: i128,
    ctime: i128,
    /// The hash of its content: of a file, of a link's target, or of everything in a directory that was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// When anything in it changed last.
    #[serde(default)]
    newest: i128,
    /// The text, for a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<BaseText>,
}

/// A text as its difference from the layer's file: both begin and end alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BaseText {
    /// The number of bytes at the beginning that both share.
    prefix: usize,
    /// The number of bytes at the end that both share.
    suffix: usize,
    /// The base's own bytes between them.
    middle: String,
}

/// The extent of a base: a directory with changed entries has a base of its own permissions only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BaseDepth {
    /// The entry itself.
    Entry,
    /// Everything in it.
    Tree,
    /// Everything in it, with the times at which anything of it changed. A copy is not the same.
    ExactTree,
}

impl BaseEntry {
    /// Reads the entry at `path` below `root`. Returns `None` if there is none.
    pub(crate) fn read(root: &OwnedFd, path: &Path, depth: BaseDepth) -> io::Result<Option<Self>> {
        let Some(parent) = open_parent(root, path)? else { return Ok(None) };
        let name = split(path).1;
        let Some(status) = status_of(parent.as_fd(), name)? else { return Ok(None) };
        let mut newest = status.ctime;
        let hash = match (status.kind, depth) {
            (EntryKind::File, _) if status.size <= MAX_HASHED_BYTES => {
                // A file that this user may not read cannot be changed through the layer either.
                hash_file(&parent, name).ok()
            }
            (EntryKind::Link, _) => {
                Some(hash_bytes(link_target(parent.as_fd(), name)?.as_os_str().as_encoded_bytes()))
            }
            (EntryKind::Directory, BaseDepth::Tree | BaseDepth::ExactTree) => {
                let tree = TreeHash::of(&parent, name, depth)?;
                newest = newest.max(tree.newest);
                Some(hex(tree.hasher.finalize().as_slice()))
            }
            (EntryKind::File | EntryKind::Directory, _)
            | (EntryKind::Fifo | EntryKind::Socket | EntryKind::Device, _) => None,
        };
        let EntryStatus { kind, mode, dev, ino, size, mtime, ctime, .. } = status;
        Ok(Some(Self { kind, mode, dev, ino, size, mtime, ctime, hash, newest, text: None }))
    }

    /// Returns true if the entry, or anything in it, changed after `moment`, in nanoseconds since 1970.
    pub(crate) fn changed_after(&self, moment: i128) -> bool {
        self.newest >= moment
    }

    /// Returns true if it is a directory.
    pub(crate) fn is_directory(&self) -> bool {
        self.kind == EntryKind::Directory
    }

    /// Returns true if `now` is this entry with the same content and permissions.
    pub(crate) fn is_same(&self, now: &Self) -> bool {
        let same_inode = (self.dev, self.ino, self.size, self.mtime, self.ctime)
            == (now.dev, now.ino, now.size, now.mtime, now.ctime);
        let same_kind = self.kind == now.kind;
        match (&self.hash, &now.hash) {
            (Some(one), Some(other)) => same_kind && one == other && self.mode == now.mode,
            (None, _) | (_, None) => same_kind && same_inode,
        }
    }

    /// Keeps `base`, the text of this entry, as its difference from `staged`.
    pub(crate) fn keep_text(&mut self, base: &[u8], staged: &[u8]) {
        let prefix = base.iter().zip(staged).take_while(|(one, other)| one == other).count();
        let most = base.len().min(staged.len()) - prefix;
        let ends = base.iter().rev().zip(staged.iter().rev()).take(most);
        let mut suffix = ends.take_while(|(one, other)| one == other).count();
        // The middle must be text, so both ends stop between characters.
        let Ok(text) = std::str::from_utf8(base) else { return };
        let prefix = (0..=prefix).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        while !text.is_char_boundary(base.len() - suffix) {
            suffix -= 1;
        }
        let middle = text[prefix..base.len() - suffix].to_owned();
        self.text = Some(BaseText { prefix, suffix, middle });
    }
}

impl BaseText {
    /// Returns the text, given the content of the layer's file.
    pub(crate) fn restore(&self, staged: &[u8]) -> Option<Vec<u8>> {
        let (head, tail) =
            (staged.get(..self.prefix)?, staged.get(staged.len().checked_sub(self.suffix)?..)?);
        Some([head, self.middle.as_bytes(), tail].concat())
    }
}

fn hash_bytes(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).as_slice())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash_file(parent: &OwnedFd, name: &Path) -> io::Result<String> {
    let mut file = File::from(open_readable(parent.as_fd(), name)?);
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    // ends: with the file
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(hasher.finalize().as_slice())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// The hash of kind, permissions, size and modification time of everything in a directory. Contents are not read: a
/// command may have removed a hundred thousand files. An undo restores all of these.
struct TreeHash {
    hasher: Sha256,
    /// When anything in it changed last.
    newest: i128,
    depth: BaseDepth,
}

impl TreeHash {
    fn of(parent: &OwnedFd, name: &Path, depth: BaseDepth) -> io::Result<Self> {
        let mut tree = Self { hasher: Sha256::new(), newest: i128::MIN, depth };
        tree.add(&open_readable(parent.as_fd(), name)?, 0)?;
        Ok(tree)
    }

    fn add(&mut self, directory: &OwnedFd, level: usize) -> io::Result<()> {
        if level > MAX_DEPTH {
            return Err(rustix::io::Errno::NAMETOOLONG.into());
        }
        for name in names_in(directory)? {
            let Some(status) = status_of(directory.as_fd(), Path::new(&name))? else { continue };
            let EntryStatus { kind, mode, size, mtime, ctime, .. } = status;
            self.newest = self.newest.max(ctime);
            self.hasher.update(name.as_encoded_bytes());
            if self.depth == BaseDepth::ExactTree {
                self.hasher.update(format!("\0{ctime}"));
            }
            // A directory's own size and times change with its entries, which follow.
            match kind {
                EntryKind::Directory => {
                    self.hasher.update(format!("\0d {mode:o}\0"));
                    self.add(&open_readable(directory.as_fd(), Path::new(&name))?, level + 1)?;
                    self.hasher.update("\0e\0");
                }
                EntryKind::File
                | EntryKind::Link
                | EntryKind::Fifo
                | EntryKind::Socket
                | EntryKind::Device => {
                    self.hasher.update(format!("\0{kind:?} {mode:o} {size} {mtime}\0"));
                }
            }
        }
        Ok(())
    }
}

/// The bases that one layer recorded, by root and path.
#[derive(Debug, Default)]
pub(crate) struct LayerBases(HashMap<(usize, PathBuf), BaseState>);

/// A line of the file in which a layer keeps its bases.
#[derive(Serialize, Deserialize)]
struct BaseLine {
    root: usize,
    path: RecordedPath,
    base: BaseState,
}

impl LayerBases {
    /// Reads the file; a missing one is empty.
    pub(crate) fn read(file: &Path) -> io::Result<Self> {
        let (parent, name) = split(file);
        let directory = crate::open_files::open_directory(parent)?;
        let bytes = match read_limited(directory.as_fd(), name, u64::MAX - 1) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(rustix::io::Errno::NOENT) => return Ok(Self::default()),
            Err(errno) => return Err(errno.into()),
        };
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        // The last line may be incomplete after a crash: its base is recorded again.
        let parsed = lines.filter_map(|line| serde_json::from_slice::<BaseLine>(line).ok());
        Ok(Self(parsed.map(|line| ((line.root, line.path.to_path_buf()), line.base)).collect()))
    }

    /// Returns the bases below `path`.
    pub(crate) fn below<'a>(
        &'a self,
        root: usize,
        path: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a BaseState)> {
        let is_below = move |at: usize, below: &Path| at == root && below != path && below.starts_with(path);
        let all = self.0.iter().filter(move |((at, below), _)| is_below(*at, below));
        all.map(|((_, below), base)| (below.as_path(), base))
    }

    pub(crate) fn get(&self, root: usize, path: &Path) -> Option<&BaseState> {
        self.0.get(&(root, path.to_owned()))
    }

    /// Adds bases, and appends them to the file.
    pub(crate) fn extend(
        &mut self,
        file: &mut File,
        added: Vec<(usize, PathBuf, BaseState)>,
    ) -> io::Result<()> {
        let mut lines = Vec::new();
        for (root, path, base) in added {
            let line = BaseLine { root, path: RecordedPath::from_path(&path), base };
            serde_json::to_writer(&mut lines, &line)?;
            lines.push(b'\n');
            self.0.insert((root, path), line.base);
        }
        file.write_all(&lines)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry() -> BaseEntry {
        BaseEntry {
            kind: EntryKind::File,
            mode: 0o644,
            dev: 1,
            ino: 2,
            size: 3,
            mtime: 4,
            ctime: 5,
            hash: None,
            newest: 5,
            text: None,
        }
    }

    proptest! {
        /// Law: a kept text is restored from the file that it was compared with.
        #[test]
        fn a_text_is_restored(base in "[aé\n]{0,12}", staged in "[aé\n]{0,12}") {
            let mut entry = entry();
            entry.keep_text(base.as_bytes(), staged.as_bytes());
            prop_assert_eq!(entry.text.unwrap().restore(staged.as_bytes()), Some(base.into_bytes()));
        }
    }

    #[test]
    fn content_decides_before_times_do() {
        let known = BaseEntry { hash: Some("a".into()), ..entry() };
        let touched = BaseEntry { mtime: 9, ctime: 9, ..known.clone() };
        let forged = BaseEntry { hash: Some("b".into()), ..known.clone() };
        let opened = BaseEntry { mode: 0o755, ..known.clone() };
        assert!(known.is_same(&touched));
        assert!(!known.is_same(&forged));
        assert!(!known.is_same(&opened));
        assert!(entry().is_same(&entry()));
        assert!(!entry().is_same(&BaseEntry { ctime: 6, ..entry() }));
    }
}
