//! What judging has to know about this machine: which program a name leads to, what is there, what the user may change.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use policy::{Confinement, HostFile, Machine, Program};
use rustix::fs::{Access, FileType, Stat, access, stat};

use crate::fs::real;
use crate::sandbox::FileStamp;
use crate::sandbox::configured::ConfiguredRoot;
use crate::sandbox::git::{self, GitObeyed, Repository};

/// Programs that stand for others, which a file of the directory chooses.
const SHIMS: &[&str] = &["asdf", "mise", "proto", "proto-shim", "rtx", "volta", "volta-shim"];
/// Who else could write a file: its group, and everybody.
const OTHERS: u32 = 0o022;

/// This machine, for commands that are found along a PATH and may change what is below some roots.
#[derive(Debug, Clone)]
pub struct ThisMachine {
    path: OsString,
    changeable: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// What git obeys in each directory that was asked about, if it is a working tree, and when that was looked at.
    obeyed: Arc<Mutex<HashMap<PathBuf, LookedAt>>>,
    /// The real places of the configuration of each root.
    configured: Arc<Mutex<HashMap<PathBuf, LookedInto>>>,
}

/// When a root was looked at, its own state then, and where its configuration leads.
type LookedInto = (Instant, Option<FileStamp>, Arc<ConfiguredRoot>);

/// When a directory was looked at, and what git obeys there if it is a working tree.
type LookedAt = (Instant, Option<Arc<GitObeyed>>);

/// So long what git obeys is not looked at again: a patch asks about each of its files several times.
const FRESH: Duration = Duration::from_millis(100);
/// How many directories are remembered.
const MAX_REMEMBERED: usize = 10_000;

impl ThisMachine {
    /// Looks along `path`; trusts nothing below `changeable`, which are real paths.
    pub fn new(path: impl Into<OsString>, changeable: Vec<PathBuf>) -> Self {
        Self { path: path.into(), changeable, home: None, obeyed: Arc::default(), configured: Arc::default() }
    }

    /// Reads git's configuration in this home too.
    #[must_use]
    pub fn at_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// What git obeys in the working tree at `root`, if it is one. It is read again when the user has changed it.
    fn obeyed(&self, root: &Path) -> Option<Arc<GitObeyed>> {
        let mut known = self.obeyed.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.get(root);
        if let Some((looked, obeyed)) = before
            && looked.elapsed() < FRESH
        {
            return obeyed.clone();
        }
        let current = before.and_then(|(_, obeyed)| obeyed.clone()).filter(|obeyed| obeyed.is_current());
        let obeyed = git_directory(root).map(|at| {
            let repository = Repository { at, root: root.to_owned() };
            current.unwrap_or_else(|| Arc::new(git::obeyed(&repository, self.home.as_deref())))
        });
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(root.to_owned(), (Instant::now(), obeyed.clone()));
        obeyed
    }

    /// Returns the real places of configuration for the roots that hold `path`, read again after a change.
    fn configured(&self, path: &Path) -> Vec<Arc<ConfiguredRoot>> {
        let mut known = self.configured.lock().unwrap_or_else(PoisonError::into_inner);
        let mut look = |root: &PathBuf| {
            let stamp = FileStamp::of(root);
            let before = known.get(root);
            if let Some((looked, _, configured)) = before
                && looked.elapsed() < FRESH
            {
                return Arc::clone(configured);
            }
            let current = before.filter(|(_, before, configured)| {
                *before == stamp && configured.is_current() && configured.has_current_texts()
            });
            let (writable, home) = (self.changeable.clone(), self.home.clone());
            let confinement = Confinement { writable, home, ..Confinement::default() };
            let configured = current
                .map(|(_, _, configured)| Arc::clone(configured))
                .unwrap_or_else(|| Arc::new(ConfiguredRoot::of(root, &confinement)));
            known.insert(root.clone(), (Instant::now(), stamp, Arc::clone(&configured)));
            configured
        };
        // A link may lead from one root into another.
        let is_within = self.changeable.iter().any(|root| path.starts_with(root));
        self.changeable.iter().filter(|_| is_within).map(&mut look).collect()
    }

    fn changes(&self, path: &Path) -> bool {
        let shared = ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|shared| path.starts_with(shared));
        shared || self.changeable.iter().any(|root| path.starts_with(root))
    }

    /// Whether only root or the user could have put it there: the file itself and the directory it lies in.
    fn is_trusted(&self, path: &Path, cwd: &Path) -> bool {
        let own = |meta: &Stat| {
            let user = rustix::process::geteuid().as_raw();
            (meta.st_uid == 0 || meta.st_uid == user) && meta.st_mode & OTHERS == 0
        };
        let file = stat(path).is_ok_and(|meta| own(&meta));
        let directory = path.parent().is_some_and(|above| stat(above).is_ok_and(|meta| own(&meta)));
        file && directory && !self.changes(path) && !path.starts_with(cwd)
    }

    fn found(&self, path: &Path, cwd: &Path, moves: bool) -> Option<Program> {
        let meta = stat(path).ok()?;
        let runs = FileType::from_raw_mode(meta.st_mode) == FileType::RegularFile
            && access(path, Access::EXEC_OK).is_ok();
        let real = runs.then(|| real(path).ok()).flatten()?;
        // Both what the name leads to and the way to it: a link in the workspace can be turned.
        let here =
            real_directory(path).is_some_and(|directory| !self.changes(&directory) && directory != cwd);
        let trusted = here && self.is_trusted(&real, cwd) && stands_for_another(&real, cwd, moves).is_none();
        Some(Program { path: real, trusted })
    }
}

/// What a program is that was found not to be trusted in `cwd`, in words that follow its path.
pub fn not_trusted(program: &Path, cwd: &Path) -> &'static str {
    if program.starts_with(cwd) {
        return "lies in the working directory";
    }
    // Whoever asks knows that it is not trusted, so a script that moves may be why.
    stands_for_another(program, cwd, true).unwrap_or("is not the system's or your own")
}

/// What this program is if a file of the directory that it is started in says what it runs: rustup stands for `cargo` and
/// others, and a `rust-toolchain.toml` may name any program; and what a user's own script does, nobody knows.
fn stands_for_another(program: &Path, cwd: &Path, moves: bool) -> Option<&'static str> {
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
    (!system && is_script(program)).then_some("is a script, and nobody knows what it does")
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
    real(path.parent()?).ok()
}

impl Machine for ThisMachine {
    fn program(&self, name: &str, cwd: &Path, moves: bool) -> Option<Program> {
        if name.contains('/') {
            return self.found(&cwd.join(name), cwd, moves);
        }
        let relative = std::env::split_paths(OsStr::new(&self.path)).any(|place| !place.is_absolute());
        let places = std::env::split_paths(OsStr::new(&self.path));
        // An empty place is the directory one is in, and so is a relative one below it.
        let found =
            places.map(|place| cwd.join(place).join(name)).find_map(|path| self.found(&path, cwd, moves));
        // Elsewhere such a place is another one.
        found.map(|program| Program { trusted: program.trusted && !(moves && relative), ..program })
    }

    fn standing(&self, path: &Path) -> PathBuf {
        path.ancestors().find_map(|above| real(above).ok()).unwrap_or_else(|| path.to_owned())
    }

    fn may_write(&self, path: &Path) -> bool {
        access(self.standing(path), Access::WRITE_OK).is_ok()
    }

    fn host_file(&self, path: &Path) -> Option<HostFile> {
        // A file of either name can make its directory a repository, whose configuration git then obeys.
        let makes_git = path.file_name().is_some_and(|name| name == "HEAD" || name == "commondir");
        if makes_git || is_configuration_of_bare(path) {
            return Some(HostFile::configuration("use git here"));
        }
        let configured = self.configured(path);
        if let Some(file) = configured.iter().find_map(|root| root.configuration_at(path)) {
            return Some(file);
        }
        // A submodule has a configuration of its own, and lies in a tree that has another.
        let obeyed = path.ancestors().skip(1).filter_map(|root| self.obeyed(root));
        let by_git = obeyed.into_iter().find_map(|obeyed| obeyed.host_file(path));
        by_git.or_else(|| configured.iter().find_map(|root| root.code_at(path)))
    }
}

/// Whether `path` says what git does in a git directory that it lies in, of whatever name.
fn is_configuration_of_bare(path: &Path) -> bool {
    let decides = |below: &Path| {
        let first = below.iter().next().unwrap_or_default();
        ["config", "config.worktree", "hooks"].iter().any(|name| first == *name)
    };
    path.ancestors().skip(1).any(|at| path.strip_prefix(at).is_ok_and(decides) && git::is_git(at))
}

/// The git directory of the working tree at `root`: `.git` itself, or where a file of that name leads, and of a linked working
/// tree the one that all share.
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

    /// A program that anybody may run, in a directory of its own.
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
        let root = real(place.path()).unwrap();
        let file = |path: &str, text: &str| {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        };
        for name in ["HEAD", "objects/x", "refs/x", "config"] {
            file(&format!("remote.git/{name}"), "");
            file(&format!("top/.git/{name}"), "");
        }
        // A linked working tree has a configuration of its own.
        file("top/.git/worktrees/wt/commondir", "../..\n");
        file("top/.git/worktrees/wt/config.worktree", "[core]\nhooksPath = hk\n");
        file("wt/.git", &format!("gitdir: {}\n", root.join("top/.git/worktrees/wt").display()));
        let machine = ThisMachine::new("", vec![root.clone()]).at_home(Some(root.join("no-home")));
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
    fn which_programs_are_trusted() {
        // Not below /tmp, where nothing is.
        let home = real(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap().join("../../target/tmp/machine");
        std::fs::create_dir_all(&home).unwrap();
        let home = real(&home).unwrap();
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
        // Whoever builds in /tmp has no program there that is trusted.
        let ours = Some(!machine.changes(&own));
        let trusted = |name: &str| machine.program(name, &work, false).map(|program| program.trusted);
        for (name, expected) in [
            ("cat", Some(true)),
            ("/bin/cat", Some(true)),
            ("tool", ours),
            // Found in the workspace first.
            ("ls", Some(false)),
            ("./here", Some(false)),
            // Anybody could have written it; a link that leads where commands write.
            ("open", Some(false)),
            ("link", Some(false)),
            // What it does is its author's secret.
            ("script", Some(false)),
            ("cargo", ours),
            ("no-such-program", None),
            ("./no-such-program", None),
            ("/", None),
        ] {
            assert_eq!(trusted(name), expected, "{name}");
        }
        // Nobody knows what the directory says that the script goes to.
        assert_eq!(machine.program("cargo", &work, true).map(|program| program.trusted), Some(false));
        // The workspace says which cargo runs.
        std::fs::write(work.join("rust-toolchain.toml"), "").unwrap();
        assert_eq!(trusted("cargo"), Some(false));
        for (program, why) in [
            (
                own.join("rustup"),
                "is rustup, which runs whatever a `rust-toolchain` file of the directory names",
            ),
            (script, "is a script, and nobody knows what it does"),
            (work.join("here"), "lies in the working directory"),
            (open, "is not the system's or your own"),
        ] {
            assert_eq!(not_trusted(&program, &work), why);
        }
        assert_eq!(machine.program("tool", &work, false).unwrap().path, tool);
        assert_eq!(machine.standing(&work.join("a/b/c")), work);
        assert!(machine.may_write(&work.join("a/b")));
    }
}
