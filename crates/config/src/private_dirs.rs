//! The paths of the user's private files: tokens, approval sockets and records.

use std::path::{Path, PathBuf};

use private_files::is_private_dir;
use rustix::fs::FileType;

use crate::UserDirs;

/// Reports whether this is a socket of this user. No other file is connected to or removed.
pub fn is_own_socket(path: &Path) -> bool {
    rustix::fs::lstat(path).is_ok_and(|stat| {
        let socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
        socket && stat.st_uid == rustix::process::geteuid().as_raw()
    })
}

/// Returns the directory of the servers' tokens.
pub fn token_dir(dirs: &UserDirs) -> Option<PathBuf> {
    Some(dirs.state.as_ref()?.join("mcp"))
}

/// Returns the directories of the user's records: journals, earlier prompts and the diffs of turns. Kept outputs are not
/// among them, because an answer names their files.
pub fn record_dirs(dirs: &UserDirs) -> Vec<PathBuf> {
    let in_state = ["changes", "prompts", "turns"].map(|name| Some(dirs.state.as_ref()?.join(name)));
    in_state.into_iter().chain([dirs.sessions.clone()]).flatten().collect()
}

/// Returns all directories in which running servers may listen for approvals.
///
/// Not every client passes `XDG_RUNTIME_DIR` on, so a server may listen in another of these than a client would
/// choose.
pub fn approval_socket_dirs(dirs: &UserDirs) -> Vec<PathBuf> {
    let socket_dirs = ApprovalSocketDirs::from_env(dirs);
    let all = [socket_dirs.named, Some(socket_dirs.usual), socket_dirs.kept].into_iter().flatten();
    let mut unique_dirs: Vec<PathBuf> = Vec::new();
    for dir in all {
        if !unique_dirs.contains(&dir) {
            unique_dirs.push(dir);
        }
    }
    unique_dirs
}

/// Returns the directory for a new approval socket: from the environment, else the usual one if it exists, else in
/// the state directory.
pub fn approval_socket_dir(dirs: &UserDirs) -> Option<PathBuf> {
    ApprovalSocketDirs::from_env(dirs).choose()
}

/// The candidate directories of approval sockets.
struct ApprovalSocketDirs {
    /// Below `XDG_RUNTIME_DIR`.
    named: Option<PathBuf>,
    /// Below the usual value of that variable.
    usual: PathBuf,
    /// In the state directory.
    kept: Option<PathBuf>,
}

impl ApprovalSocketDirs {
    fn from_env(dirs: &UserDirs) -> Self {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let user = rustix::process::geteuid().as_raw();
        Self::from_parts(runtime, Path::new(&format!("/run/user/{user}")), dirs.state.as_deref())
    }

    fn from_parts(runtime: Option<PathBuf>, usual: &Path, state: Option<&Path>) -> Self {
        Self {
            // `components()` removes `//` and `.`, so that one directory has one spelling.
            named: runtime
                .filter(|path| path.is_absolute())
                .map(|path| path.join("toolgate").components().collect()),
            usual: usual.join("toolgate"),
            kept: state.map(|state| state.join("run").components().collect()),
        }
    }

    fn choose(self) -> Option<PathBuf> {
        let Self { named, usual, kept } = self;
        let there = usual.parent().is_some_and(|runtime| is_private_dir(runtime).unwrap_or_default());
        named.or_else(|| there.then_some(usual)).or(kept)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use private_files::ensure_private_dir;

    use super::*;

    #[test]
    fn socket_directory_prefers_runtime_dir_then_state_dir() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        let chosen = |runtime: Option<PathBuf>, usual: &str, state: Option<&Path>| {
            let chosen = ApprovalSocketDirs::from_parts(runtime, &path(usual), state).choose();
            chosen.map(|chosen| chosen.strip_prefix(home.path()).unwrap().to_owned())
        };
        let state = path("state");
        ensure_private_dir(&path("own")).unwrap();
        ensure_private_dir(&path("open")).unwrap();
        std::fs::set_permissions(path("open"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(path("own"), path("link")).unwrap();
        for (runtime, usual, expected) in [
            (Some(path("said/./")), "own", "said/toolgate"),
            (Some("relative".into()), "own", "own/toolgate"),
            (None, "own", "own/toolgate"),
            (None, "open", "state/run"),
            (None, "link", "state/run"),
            (None, "none", "state/run"),
        ] {
            assert_eq!(chosen(runtime, usual, Some(&state)), Some(expected.into()), "{usual}");
        }
        assert_eq!(chosen(None, "none", None), None);
    }

    #[test]
    fn socket_directories_are_listed_once() {
        let dirs = UserDirs { home: None, config: None, state: Some("/state".into()), sessions: None };
        let counters = approval_socket_dirs(&dirs);
        let usual = format!("/run/user/{}/toolgate", rustix::process::geteuid().as_raw());
        assert!(counters.contains(&usual.into()) && counters.contains(&"/state/run".into()), "{counters:?}");
        let unique: std::collections::HashSet<_> = counters.iter().collect();
        assert_eq!(unique.len(), counters.len(), "{counters:?}");
    }
}
