//! Fixture of the git tests: a repository, an overlay over its git directory, and commands that run in the overlay.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::sandbox::git::object_format::ObjectFormat;
use crate::sandbox::git::{GitLayer, LandedChanges, Repository};

const CONFIG: &str = "[user]\n\tname = n\n\temail = a@b\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n\
    [safe]\n\tdirectory = *\n[gc]\n\tauto = 0\n[advice]\n\tdetachedHead = false\n[maintenance]\n\tauto = false\n";

/// Prints git's view of a repository, which is the same inside and on the host once everything has landed.
const VIEW: &str = "export GIT_OPTIONAL_LOCKS=0; git status --porcelain -b; git for-each-ref; git log --oneline --decorate=full --all; git stash list; \
    git symbolic-ref -q HEAD || git rev-parse HEAD; git reflog; git worktree list; git ls-files -s";

/// A repository with one commit, in a directory of its own.
pub(super) struct GitOverlayLab {
    _temp: tempfile::TempDir,
    pub(super) base: PathBuf,
    pub(super) tree: PathBuf,
    pub(super) upper: PathBuf,
}

impl GitOverlayLab {
    pub(super) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let (tree, upper) = (base.join("tree"), base.join("upper"));
        for dir in [&tree, &upper, &base.join("work"), &base.join("home")] {
            std::fs::create_dir(dir).unwrap();
        }
        std::fs::write(base.join("home/.gitconfig"), CONFIG).unwrap();
        Self { _temp: temp, base, tree, upper }
    }

    pub(super) fn with_commit() -> Self {
        let lab = Self::new();
        lab.run_on_host("git init -q . && echo 1 > f && git add f && git commit -qm one");
        lab
    }

    pub(super) fn git(&self) -> PathBuf {
        self.tree.join(".git")
    }

    pub(super) fn layer(&self) -> GitLayer {
        GitLayer::new(Repository { at: self.git(), root: self.tree.clone() }, self.upper.clone())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.tree).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.base.join("home")).env("GIT_EDITOR", "true").env("LC_ALL", "C");
        command
    }

    /// Runs a script on the host and returns its output.
    pub(super) fn run_on_host(&self, script: &str) -> String {
        let output = self.command("sh").args(["-ec", script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{script}\n{said}\n{}", String::from_utf8_lossy(&output.stderr));
        said
    }

    fn overlay(&self, script: &str) -> Command {
        let (base, git) = (self.base.display(), self.git());
        let git = git.display();
        let mount = format!(
            "mount -t overlay overlay -o lowerdir={git},upperdir={base}/upper,workdir={base}/work,userxattr {git}\n"
        );
        let mut command = self.command("unshare");
        command.args(["-Urm", "sh", "-ec", &format!("{mount}cd {base}/tree\n{script}")]);
        command
    }

    /// Runs a script in the overlay and returns its output.
    pub(super) fn run_inside(&self, script: &str) -> String {
        let output = self.overlay(script).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{script}\n{said}\n{}", String::from_utf8_lossy(&output.stderr));
        said
    }

    /// Starts a script that prints `here` and waits for a line of input at each `pause`.
    pub(super) fn begin_paused(&self, script: &str) -> PausedScript {
        let script = format!("pause() {{ echo here; read -r _; }}\n{script}\npause");
        let mut command = self.overlay(&script);
        // A process group of its own, so that all of it can be stopped.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = PausedScript(command.spawn().unwrap());
        running.wait();
        running
    }

    /// Runs `script` to its end and lands its changes. Asserts that host and sandbox then have the same view.
    pub(super) fn run_and_land(&self, script: &str) -> LandedChanges {
        let layer = self.layer();
        let inside = self.run_inside(&format!("({script}\n) >&2\n{VIEW}"));
        let landed = layer.finish();
        assert_eq!(
            self.run_on_host(VIEW),
            inside,
            "{script}\n{landed:?}\n{}",
            self.leftover_files().join("\n")
        );
        assert_eq!(self.run_inside(VIEW), inside, "the next run: {script}");
        self.assert_repository_sound();
        landed
    }

    /// Asserts that the host's repository is consistent.
    pub(super) fn assert_repository_sound(&self) {
        let said =
            self.run_on_host("git fsck --no-dangling 2>&1; find .git -name '*.lock' -o -name 'tmp_obj*'");
        assert_eq!(said, "", "fsck");
    }

    /// Returns the files left in the upper directory.
    pub(super) fn leftover_files(&self) -> Vec<String> {
        let found = self.run_on_host("cd ../upper; find . ! -type d -o -empty | sed 's,^\\./,,' | sort");
        found.lines().filter(|line| *line != ".").map(str::to_owned).collect()
    }

    /// Writes a file directly into the upper directory.
    pub(super) fn plant(&self, path: &str, content: impl AsRef<[u8]>) {
        plant(&self.upper.join(path), content.as_ref());
    }

    /// Returns all files below the host's git directory with their content.
    pub(super) fn host_git_state(&self) -> String {
        self.run_on_host("find .git -type f -exec sha256sum {} + | sort; find .git ! -type f | sort")
    }

    pub(super) fn id(&self) -> String {
        self.run_on_host("git rev-parse HEAD").trim().to_owned()
    }
}

pub(super) fn plant(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// A script in the overlay that waits at a `pause`.
pub(super) struct PausedScript(Child);

impl PausedScript {
    fn wait(&mut self) {
        use std::io::Read;
        let out = self.0.stdout.as_mut().unwrap();
        let mut said = Vec::new();
        while !said.ends_with(b"here\n") {
            let mut byte = [0];
            assert_eq!(out.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
            said.push(byte[0]);
        }
    }

    pub(super) fn process_group(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Continues to the next `pause`.
    pub(super) fn continue_to_pause(&mut self) {
        self.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        self.wait();
    }

    /// Continues to the end.
    pub(super) fn continue_to_end(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// Stops a process group while `work` runs.
pub(super) fn while_stopped<T>(group: Pid, work: impl FnOnce() -> T) -> T {
    // It may have exited.
    let _ = kill_process_group(group, Signal::STOP);
    let done = work();
    let _ = kill_process_group(group, Signal::CONT);
    done
}

/// Returns the path and the file content of a loose blob.
pub(super) fn loose_blob(content: &[u8]) -> (String, Vec<u8>) {
    let whole = [format!("blob {}\0", content.len()).as_bytes(), content].concat();
    let id: String = ObjectFormat::Sha1.hash_bytes(&whole).iter().map(|byte| format!("{byte:02x}")).collect();
    (format!("objects/{}/{}", &id[..2], &id[2..]), deflated(&whole))
}

pub(super) fn deflated(content: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(content, 1)
}
