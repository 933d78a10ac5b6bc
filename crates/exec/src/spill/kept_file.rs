//! Finds and removes one kept file by its path; every path that is not exactly one is refused.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, statat};

use super::{open_directory, remove_unless_locked};

/// The digits of a workspace's directory name.
const WORKSPACE_DIGITS: usize = 16;
/// The digits of the time in a file name.
const TIME_DIGITS: usize = 15;

/// Returns the size of the kept file at `path` below `base`; `None` if there is no such file.
pub fn kept_file_size(base: &Path, path: &Path) -> Option<u64> {
    let (directory, name) = open_kept(base, path)?;
    let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    is_file.then(|| u64::try_from(stat.st_size).unwrap_or(0))
}

/// Removes the kept file at `path` below `base`, unless a process writes it. Returns true if it was removed.
pub fn remove_kept_file(base: &Path, path: &Path) -> bool {
    if kept_file_size(base, path).is_none() {
        return false;
    }
    let Some((directory, name)) = open_kept(base, path) else { return false };
    name.to_str().is_some_and(|name| remove_unless_locked(&directory, name))
}

/// Returns the size of all kept files below `base`.
pub fn kept_bytes(base: &Path) -> u64 {
    super::kept_files(base).map_or(0, |files| files.iter().map(|file| file.bytes).sum())
}

/// Opens the workspace directory of a kept file. The path must be spelled as [`Spill`](super::Spill) spells it.
fn open_kept<'a>(base: &Path, path: &'a Path) -> Option<(OwnedFd, &'a OsStr)> {
    let mut parts = path.strip_prefix(base).ok()?.components();
    let (Some(Component::Normal(workspace)), Some(Component::Normal(name)), None) =
        (parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let is_workspace =
        workspace.len() == WORKSPACE_DIGITS && workspace.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
    if !is_workspace || !is_kept_name(name.to_str()?) {
        return None;
    }
    let base = open_directory(CWD, base).ok()?;
    Some((open_directory(&base, workspace).ok()?, name))
}

/// Returns true for names such as `000001794922222-call_1-0.txt`.
fn is_kept_name(name: &str) -> bool {
    let (time, rest) = name.split_at_checked(TIME_DIGITS).unwrap_or_default();
    let is_time = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
    is_time && rest.starts_with('-') && rest.ends_with(".txt")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::super::Spill;
    use super::*;

    #[test]
    fn only_kept_files_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().join("outputs");
        let spill = Spill::new(base.clone(), Path::new("/work"));
        let kept = spill.keep("call_1", b"some output").unwrap();
        assert_eq!(kept_file_size(&base, &kept), Some(11));
        let workspace = spill.directory();
        let other = workspace.join("notes.txt");
        std::fs::write(&other, "mine").unwrap();
        let outside = temp.path().join("000001794922222-x-0.txt");
        std::fs::write(&outside, "mine").unwrap();
        let link = workspace.join("000001794922222-link-0.txt");
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        let through = base.join("../000001794922222-x-0.txt");
        let climbing = workspace.join("../../000001794922222-x-0.txt");
        for wrong in [&other, &outside, &link, &through, &climbing, &workspace, &base] {
            assert!(!remove_kept_file(&base, wrong), "{}", wrong.display());
        }
        assert!(other.exists() && outside.exists() && link.is_symlink());
        assert!(remove_kept_file(&base, &kept) && !kept.exists());
        assert!(!remove_kept_file(&base, &kept));
    }
}
