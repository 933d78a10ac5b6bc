//! Answers lookups of the policy on this machine: programs and their trust, write permission, and host files.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use policy::{Confinement, HostFile, MachineLookup, ResolvedProgram};
use rustix::fs::{Access, FileType, Stat, access, stat};

use crate::fs::canonicalize;
use crate::sandbox::FileStamp;
use crate::sandbox::git::{self, GitInputs, Repository};
use crate::sandbox::root_configuration::RootConfiguration;

/// Version-manager shims: a file of the working directory chooses the program that they run.
const SHIMS: &[&str] = &["asdf", "mise", "proto", "proto-shim", "rtx", "volta", "volta-shim"];
/// Write permission bits of group and others.
const GROUP_OR_OTHERS_WRITE: u32 = 0o022;

/// This machine, as seen by commands that search a PATH and may change files below some roots.
#[derive(Debug, Clone)]
pub struct ThisMachine {
    path: OsString,
    writable_roots: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// Cache, by directory: the files that git obeys there, if it is a working tree.
    git_inputs: Arc<Mutex<HashMap<PathBuf, CachedGitInputs>>>,
    /// Cache, by root: the real locations of its configuration.
    root_configurations: Arc<Mutex<HashMap<PathBuf, CachedRootConfig>>>,
}

/// Time of the last read, the root's stamp at that time, and the locations of its configuration.
type CachedRootConfig = (Instant, Option<FileStamp>, Arc<RootConfiguration>);

/// Time of the last read, and the files that git obeys if the directory is a working tree.
type CachedGitInputs = (Instant, Option<Arc<GitInputs>>);

/// The lifetime of a cache entry: a patch asks about each of its files several times.
const CACHE_LIFETIME: Duration = Duration::from_millis(100);
/// The maximum number of cached directories.
const MAX_CACHED_DIRECTORIES: usize = 10_000;

impl ThisMachine {
    /// Searches programs along `path`. Programs below the real paths `writable_roots` are not trusted.
    pub fn new(path: impl Into<OsString>, writable_roots: Vec<PathBuf>) -> Self {
        Self {
            path: path.into(),
            writable_roots,
            home: None,
            git_inputs: Arc::default(),
            root_configurations: Arc::default(),
        }
    }

    /// Also reads git's configuration in this home directory.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// Returns the files that git obeys in the working tree at `root`, if it is one. They are read again after a
    /// change.
    fn git_inputs(&self, root: &Path) -> Option<Arc<GitInputs>> {
        let mut known = self.git_inputs.lock();
        let before = known.get(root);
        if let Some((looked, obeyed)) = before
            && looked.elapsed() < CACHE_LIFETIME
        {
            return obeyed.clone();
        }
        let current = before.and_then(|(_, obeyed)| obeyed.clone()).filter(|obeyed| obeyed.is_current());
        let obeyed = git_directory(root).map(|at| {
            let repository = Repository { at, root: root.to_owned() };
            current.unwrap_or_else(|| Arc::new(git::find_git_inputs(&repository, self.home.as_deref())))
        });
        if known.len() >= MAX_CACHED_DIRECTORIES {
            known.clear();
        }
        known.insert(root.to_owned(), (Instant::now(), obeyed.clone()));
        obeyed
    }

    /// Returns the real locations of configuration for the roots that hold `path`, read again after a change.
    fn root_configurations(&self, path: &Path) -> Vec<Arc<RootConfiguration>> {
        let mut known = self.root_configurations.lock();
        let mut look = |root: &PathBuf| {
            let stamp = FileStamp::read(root);
            let before = known.get(root);
            if let Some((looked, _, configured)) = before
                && looked.elapsed() < CACHE_LIFETIME
            {
                return Arc::clone(configured);
            }
            let current = before.filter(|(_, before, configured)| {
                *before == stamp && configured.is_current() && configured.has_current_texts()
            });
            let (writable, home) = (self.writable_roots.clone(), self.home.clone());
            let confinement = Confinement { writable, home, ..Confinement::default() };
            let configured = current
                .map(|(_, _, configured)| Arc::clone(configured))
                .unwrap_or_else(|| Arc::new(RootConfiguration::scan(root, &confinement)));
            known.insert(root.clone(), (Instant::now(), stamp, Arc::clone(&configured)));
            configured
        };
        // A link may lead from one root into another.
        let is_within = self.writable_roots.iter().any(|root| path.starts_with(root));
        self.writable_roots.iter().filter(|_| is_within).map(&mut look).collect()
    }

    fn is_changeable(&self, path: &Path) -> bool {
        let shared = ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|shared| path.starts_with(shared));
        shared || self.writable_roots.iter().any(|root| path.starts_with(root))
    }

    /// Returns true if only root or the user can have written the file: checks the file and its directory.
    fn is_trusted(&self, path: &Path, cwd: &Path) -> bool {
        let own = |meta: &Stat| {
            let user = rustix::process::geteuid().as_raw();
            (meta.st_uid == 0 || meta.st_uid == user) && meta.st_mode & GROUP_OR_OTHERS_WRITE == 0
        };
        let file = stat(path).is_ok_and(|meta| own(&meta));
        let directory = path.parent().is_some_and(|above| stat(above).is_ok_and(|meta| own(&meta)));
        file && directory && !self.is_changeable(path) && !path.starts_with(cwd)
    }

    fn resolve_at(&self, path: &Path, cwd: &Path, moves: bool) -> Option<ResolvedProgram> {
        let meta = stat(path).ok()?;
        let runs = FileType::from_raw_mode(meta.st_mode) == FileType::RegularFile
            && access(path, Access::EXEC_OK).is_ok();
        let real = runs.then(|| canonicalize(path).ok()).flatten()?;
        // Both the target and the path to it are checked: a link in the workspace can be redirected.
        let here =
            real_directory(path).is_some_and(|directory| !self.is_changeable(&directory) && directory != cwd);
        let trusted = here && self.is_trusted(&real, cwd) && delegation_reason(&real, cwd, moves).is_none();
        Some(ResolvedProgram { path: real, trusted })
    }
}

/// Explains why a program is not trusted in `cwd`, in a clause that follows its path.
pub fn describe_untrusted(program: &Path, cwd: &Path) -> &'static str {
    if program.starts_with(cwd) {
        return "lies in the working directory";
    }
    // The caller knows that the program is not trusted, so a script that changes directory may be the reason.
    delegation_reason(program, cwd, true).unwrap_or("is not the system's or your own")
}

/// Returns a reason if a file of the working directory decides what the program runs. `rustup` stands for `cargo` and
/// others, and a `rust-toolchain.toml` may name any program. The actions of a user's own script are unknown.
fn delegation_reason(program: &Path, cwd: &Path, moves: bool) -> Option<&'static str> {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if SHIMS.contains(&name) {
        return Some("stands for a program that a file of the directory chooses");
    }
    // One file may have several names.
    let same = |a: &Stat, b: &Stat| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
    let linked = stat(program).ok().zip(stat(program.with_file_name("rustup")).ok());
    if name == "rustup" || linked.is_some_and(|(one, other)| same(&one, &other)) {
        let chosen = |directory: &Path| {
            ["rust-toolchain", "rust-toolchain.toml"].iter().any(|name| stat(directory.join(name)).is_ok())
        };
        let why = "is rustup, which runs whatever a `rust-toolchain` file of the directory names";
        return (moves || cwd.ancestors().any(chosen)).then_some(why);
    }
    let system = stat(program).is_ok_and(|meta| meta.st_uid == 0 && program.starts_with("/usr"));
    (!system && is_script(program)).then_some("is a script with unknown effects")
}

fn is_script(program: &Path) -> bool {
    let mut begin = [0; 2];
    #[expect(
        clippy::disallowed_methods,
        reason = "a program on the user's own PATH, of which two bytes are read"
    )]
    let read = std::fs::File::open(program).and_then(|mut file| file.read_exact(&mut begin));
    read.is_err() || begin == *b"#!"
}

fn real_directory(path: &Path) -> Option<PathBuf> {
    canonicalize(path.parent()?).ok()
}

impl MachineLookup for ThisMachine {
    fn resolve_program(&self, name: &str, cwd: &Path, moves: bool) -> Option<ResolvedProgram> {
        if name.contains('/') {
            return self.resolve_at(&cwd.join(name), cwd, moves);
        }
        let relative = std::env::split_paths(OsStr::new(&self.path)).any(|place| !place.is_absolute());
        let places = std::env::split_paths(OsStr::new(&self.path));
        // An empty PATH entry means the current directory, and a relative one lies below it.
        let found = places
            .map(|place| cwd.join(place).join(name))
            .find_map(|path| self.resolve_at(&path, cwd, moves));
        // After a change of directory, a relative entry means another directory.
        found.map(|program| ResolvedProgram { trusted: program.trusted && !(moves && relative), ..program })
    }

    fn nearest_existing(&self, path: &Path) -> PathBuf {
        path.ancestors().find_map(|above| canonicalize(above).ok()).unwrap_or_else(|| path.to_owned())
    }

    fn may_write(&self, path: &Path) -> bool {
        access(self.nearest_existing(path), Access::WRITE_OK).is_ok()
    }

    fn host_file(&self, path: &Path) -> Option<HostFile> {
        // A file of either name can turn its directory into a repository, whose configuration git then obeys.
        let makes_git = path.file_name().is_some_and(|name| name == "HEAD" || name == "commondir");
        if makes_git || is_configuration_of_bare(path) {
            return Some(HostFile::configuration("use git here"));
        }
        let configured = self.root_configurations(path);
        if let Some(file) = configured.iter().find_map(|root| root.configuration_at(path)) {
            return Some(file);
        }
        // A submodule has its own configuration, and lies in a tree that has another.
        let obeyed = path.ancestors().skip(1).filter_map(|root| self.git_inputs(root));
        let by_git = obeyed.into_iter().find_map(|obeyed| obeyed.host_file(path));
        by_git.or_else(|| configured.iter().find_map(|root| root.code_at(path)))
    }
}

/// Returns true if `path` is configuration of a git directory of any name that contains it.
fn is_configuration_of_bare(path: &Path) -> bool {
    let decides = |below: &Path| {
        let first = below.iter().next().unwrap_or_default();
        ["config", "config.worktree", "hooks"].iter().any(|name| first == *name)
    };
    path.ancestors().skip(1).any(|at| path.strip_prefix(at).is_ok_and(decides) && git::is_git(at))
}

/// Returns the git directory of the working tree at `root`: `.git` itself, or the target of a `.git` file. For a
/// linked working tree, it is the common directory.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    let meta = stat(&git).ok()?;
    if FileType::from_raw_mode(meta.st_mode) == FileType::Directory {
        return Some(git);
    }
    git::common_directory(root)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Creates a program that everyone may run, in a directory of its own.
    fn program(directory: &Path, name: &str) -> PathBuf {
        std::fs::create_dir_all(directory).unwrap();
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = directory.join(name);
        std::fs::copy("/bin/true", &path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn files_that_make_or_configure_a_repository_are_configuration() {
        let place = tempfile::tempdir().unwrap();
        let root = canonicalize(place.path()).unwrap();
        let file = |path: &str, text: &str| {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        };
        for name in ["HEAD", "objects/x", "refs/x", "config"] {
            file(&format!("remote.git/{name}"), "");
            file(&format!("top/.git/{name}"), "");
        }
        // A linked working tree has its own configuration.
        file("top/.git/worktrees/wt/commondir", "../..\n");
        file("top/.git/worktrees/wt/config.worktree", "[core]\nhooksPath = hk\n");
        file("wt/.git", &format!("gitdir: {}\n", root.join("top/.git/worktrees/wt").display()));
        let machine = ThisMachine::new("", vec![root.clone()]).with_home(Some(root.join("no-home")));
        for (path, expected) in [
            ("HEAD", true),
            ("commondir", true),
            ("remote.git/config", true),
            ("remote.git/hooks/post-receive", true),
            ("remote.git/description", false),
            ("src/config", false),
            ("wt/hk/pre-commit", true),
            ("top/hk/pre-commit", false),
        ] {
            assert_eq!(machine.host_file(&root.join(path)).is_some(), expected, "{path}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn programs_are_trusted_by_owner_and_location() {
        // Not below /tmp, where no program is trusted.
        let home =
            canonicalize(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap().join("../../target/tmp/machine");
        std::fs::create_dir_all(&home).unwrap();
        let home = canonicalize(&home).unwrap();
        let (own, work) = (home.join("bin"), home.join("work"));
        let tool = program(&own, "tool");
        program(&work.join("venv"), "ls");
        program(&work, "here");
        let _ = std::fs::remove_file(work.join("rust-toolchain.toml"));
        program(&own, "rustup");
        let _ = std::fs::remove_file(own.join("cargo"));
        symlink("rustup", own.join("cargo")).unwrap();
        let script = program(&own, "script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let open = program(&own, "open");
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
        let _ = std::fs::remove_file(own.join("link"));
        symlink(work.join("here"), own.join("link")).unwrap();
        let path = format!("{}:{}:/usr/bin:/bin", own.display(), work.join("venv").display());
        let machine = ThisMachine::new(path, vec![work.clone()]);
        // In a checkout below /tmp, no own program is trusted.
        let ours = Some(!machine.is_changeable(&own));
        let trusted = |name: &str| machine.resolve_program(name, &work, false).map(|program| program.trusted);
        for (name, expected) in [
            ("cat", Some(true)),
            ("/bin/cat", Some(true)),
            ("tool", ours),
            // The one in the workspace is found first.
            ("ls", Some(false)),
            ("./here", Some(false)),
            // A file that others can write; a link into a directory that commands can write.
            ("open", Some(false)),
            ("link", Some(false)),
            // A script, whose actions are unknown.
            ("script", Some(false)),
            ("cargo", ours),
            ("no-such-program", None),
            ("./no-such-program", None),
            ("/", None),
        ] {
            assert_eq!(trusted(name), expected, "{name}");
        }
        // The script's directory is unknown, so its toolchain file is too.
        assert_eq!(machine.resolve_program("cargo", &work, true).map(|program| program.trusted), Some(false));
        // The workspace chooses the cargo that runs.
        std::fs::write(work.join("rust-toolchain.toml"), "").unwrap();
        assert_eq!(trusted("cargo"), Some(false));
        for (program, why) in [
            (
                own.join("rustup"),
                "is rustup, which runs whatever a `rust-toolchain` file of the directory names",
            ),
            (script, "is a script with unknown effects"),
            (work.join("here"), "lies in the working directory"),
            (open, "is not the system's or your own"),
        ] {
            assert_eq!(describe_untrusted(&program, &work), why);
        }
        assert_eq!(machine.resolve_program("tool", &work, false).unwrap().path, tool);
        assert_eq!(machine.nearest_existing(&work.join("a/b/c")), work);
        assert!(machine.may_write(&work.join("a/b")));
    }
}
