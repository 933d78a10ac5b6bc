//! A git worktree for an agent: checked out from the last commit; its changes are returned as a diff.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent::WorktreeDiff;
use exec::run_to_end::OneShotOutput;
use runtime::{Gate, Intent, InternalCommand, SandboxPolicy, SharedProcesses, Spill, Verdict};

use crate::worktree_lock::WorktreeLock;

/// Time limit of a git command.
const GIT_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a diff or a file list at most.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;
/// Bytes of a diff that is returned to the model; a longer one is stored in a file.
const MAX_INLINE_DIFF_BYTES: usize = 16 << 10;
/// Unreadable files that are excluded from a diff at most.
const MAX_EXCLUDED_FILES: usize = 1000;
/// Git settings that override all others: no hooks, no fsmonitor, no implicit bare repositories, no influence of the
/// user's display preferences. They are set in the environment, so that the policy recognises the command as plain
/// git.
const GIT_SETTINGS: [(&str, &str); 6] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.safecrlf", "false"),
    ("safe.bareRepository", "explicit"),
    ("diff.orderFile", "/dev/null"),
];
/// Disables all fetching, of missing objects and of LFS files.
const OFFLINE_VARIABLES: [(&str, &str); 2] = [("GIT_NO_LAZY_FETCH", "1"), ("GIT_LFS_SKIP_SMUDGE", "1")];
/// Arguments for a diff that every patch reader accepts, independent of the user's configuration.
const DIFF_ARGS: [&str; 8] = [
    "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative", "--submodule=short",
    "--src-prefix=a/", "--dst-prefix=b/",
];
/// Path of the git index for a diff, in a directory that only the sandbox has.
const DIFF_INDEX_PATH: &str = "/tmp/toolgate-agent-index";
/// Marks of changes that only git can apply: binary files, symlinks, submodules, and names that end in a blank.
const GIT_ONLY_MARKS: [&str; 6] =
    ["\nGIT binary patch\n", " mode 120000\n", " mode 160000\n", " 120000\n", " 160000\n", " \t\n"];

/// A worktree of an agent.
pub struct Worktree {
    git: GitRunner,
    /// The lock on its directory, with the path of its repository.
    lock: WorktreeLock,
    /// The commit that it began as.
    base: String,
    /// The agent's working directory in it.
    cwd: PathBuf,
    /// Set while its agent runs.
    pub is_open: AtomicBool,
    /// Serializes diffs, because they share one index.
    diff_lock: tokio::sync::Mutex<()>,
}

impl Worktree {
    /// Creates a worktree at `at` of the repository that contains `cwd`. It has no files yet.
    pub async fn create(git: GitRunner, cwd: &Path, at: PathBuf) -> Result<Self, String> {
        let top = git
            .run(cwd, &["rev-parse", "--show-toplevel"])
            .await
            .map_err(|why| format!("there is no git repository to make a worktree of: {why}"))?;
        let repository = PathBuf::from(top);
        let below = cwd.strip_prefix(&repository).map(Path::to_owned).unwrap_or_default();
        // Uncommitted changes are left out: a commit of them would expose files that may not be read.
        let base = git.run(cwd, &["rev-parse", "HEAD"]).await;
        let base = base.map_err(|_| "the repository has no commit yet".to_owned())?;
        let lock = WorktreeLock::acquire(&repository, at)
            .map_err(|error| format!("a worktree cannot be made: {error}"))?;
        let path_text = lock.path().to_string_lossy().into_owned();
        let cwd = lock.path().join(below);
        let (is_open, diff_lock) = (AtomicBool::new(true), tokio::sync::Mutex::default());
        let worktree = Self { git, lock, base, cwd, is_open, diff_lock };
        let add = ["worktree", "add", "--quiet", "--no-checkout", "--detach", &path_text, &worktree.base];
        match worktree.git.run(worktree.lock.repository(), &add).await {
            Ok(_) => Ok(worktree),
            Err(why) => {
                worktree.remove().await;
                Err(why)
            }
        }
    }

    /// Returns the repository.
    pub fn repository(&self) -> &Path {
        self.lock.repository()
    }

    /// Returns the top directory of the worktree.
    pub fn root(&self) -> &Path {
        self.lock.path()
    }

    /// Returns the agent's working directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Checks out the files. The commit, perhaps made by a model, decides which of the user's filters run. So this
    /// runs under `gate`, which allows writes only below [`Self::root`].
    pub(crate) async fn check_out(&self, gate: &Gate) -> Result<(), String> {
        self.run_confined_git(gate, self.root(), &["reset", "--quiet", "--hard", &self.base], &[]).await?;
        // A checked-out symlink may lead elsewhere.
        let straight = |path: &Path| exec::fs::canonicalize(&path.join(".")).is_ok_and(|real| real == path);
        match straight(self.root()) && straight(&self.cwd) {
            true => Ok(()),
            false => Err("the directory to work in is not there in the last commit, or is a link".to_owned()),
        }
    }

    /// Returns the changes; a diff that is too long for a model goes to `kept`. The worktree's content influences
    /// git, so it runs confined under `gate` like the agent's own commands.
    pub async fn diff(&self, gate: &Gate, kept: &Spill) -> Result<WorktreeDiff, String> {
        if !self.lock.is_held() {
            return Err("its worktree was taken away to make room for others".to_owned());
        }
        if gate.sandbox() == SandboxPolicy::ReadOnly {
            return Ok(WorktreeDiff::Empty);
        }
        let _alone = self.diff_lock.lock().await;
        let index = match gate.sandbox().confines() {
            true => DIFF_INDEX_PATH.to_owned(),
            false => self.lock.index_path().to_string_lossy().into_owned(),
        };
        let env = [("GIT_INDEX_FILE", index.as_str())];
        let git = |args: Vec<String>| async move {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            self.run_confined_git(gate, &self.cwd, &args, &env).await
        };
        git(to_strings(&["read-tree", &self.base])).await?;
        let listed =
            git(to_strings(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])).await?;
        let pathspecs = [to_strings(&["--", "."]), self.exclude_unreadable(gate, &listed)].concat();
        let with_pathspecs = |args: &[&str]| [to_strings(args), pathspecs.clone()].concat();
        // A nested repository without a commit is an error, but everything else was added.
        let added = git(with_pathspecs(&["add", "--all", "--intent-to-add", "--ignore-errors"])).await;
        let diff =
            git(with_pathspecs(&[&DIFF_ARGS[..], &["--unified=3", "--binary", &self.base]].concat())).await;
        let diff = diff.map_err(|why| added.err().unwrap_or(why))?;
        if diff.is_empty() {
            return Ok(WorktreeDiff::Empty);
        }
        match String::from_utf8(diff) {
            Ok(text)
                if text.len() <= MAX_INLINE_DIFF_BYTES
                    && !GIT_ONLY_MARKS.iter().any(|mark| text.contains(mark)) =>
            {
                Ok(WorktreeDiff::Inline(text))
            }
            other => {
                let bytes = other.map_or_else(std::string::FromUtf8Error::into_bytes, String::into_bytes);
                let stat = [&DIFF_ARGS[..], &["--stat=100", "--stat-count=40", &self.base]].concat();
                let about = git(with_pathspecs(&stat)).await?;
                let path = kept.keep("agent", &bytes).map_err(|error| error.to_string())?;
                Ok(WorktreeDiff::File { path, about: String::from_utf8_lossy(&about).into_owned() })
            }
        }
    }

    /// Returns pathspecs that exclude those of the `listed` files that may not be read: git would fail on them.
    fn exclude_unreadable(&self, gate: &Gate, listed: &[u8]) -> Vec<String> {
        let may_not = |name: &&str| {
            let path = self.cwd.join(name);
            matches!(gate.decide("git", &Intent::read(&path)), Verdict::Forbid(_))
        };
        let listed = String::from_utf8_lossy(listed);
        let unread = listed.split('\0').filter(|name| !name.is_empty()).filter(may_not);
        unread.take(MAX_EXCLUDED_FILES).map(|name| format!(":(exclude,literal){name}")).collect()
    }

    /// Runs git confined by `gate`, and returns its output.
    async fn run_confined_git(
        &self,
        gate: &Gate,
        directory: &Path,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Result<Vec<u8>, String> {
        let argv: Vec<&str> = ["git"].into_iter().chain(args.iter().copied()).collect();
        let env = [&git_config_variables()[..], &to_owned_pairs(env)[..]].concat();
        let command = self.git.git_command(&argv, &env, directory);
        stdout_or_error(command.run_confined(&self.git.processes, gate).await?)
    }

    /// Removes the worktree and its files.
    pub async fn remove(&self) {
        self.is_open.store(false, Ordering::Relaxed);
        self.git.remove_worktree(&self.lock).await;
    }
}

fn to_strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn to_owned_pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns the variables that git reads [`GIT_SETTINGS`] from.
fn git_config_variables() -> Vec<(String, String)> {
    let count = [("GIT_CONFIG_COUNT".to_owned(), GIT_SETTINGS.len().to_string())];
    let pairs = GIT_SETTINGS.iter().enumerate().flat_map(|(at, (key, value))| {
        [
            (format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned()),
            (format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()),
        ]
    });
    to_owned_pairs(&OFFLINE_VARIABLES).into_iter().chain(count).chain(pairs).collect()
}

/// Runs git.
#[derive(Clone)]
pub struct GitRunner {
    pub processes: Arc<SharedProcesses>,
    /// Directories that models may write: git is not taken from there.
    pub untrusted_dirs: Vec<PathBuf>,
}

impl GitRunner {
    fn git_command<'a>(
        &'a self,
        argv: &'a [&'a str],
        env: &'a [(String, String)],
        directory: &'a Path,
    ) -> InternalCommand<'a> {
        InternalCommand {
            argv,
            env,
            directory,
            at_most: GIT_TIMEOUT,
            output: MAX_OUTPUT_BYTES,
            untrusted_dirs: &self.untrusted_dirs,
        }
    }

    /// Runs git unconfined, and returns its output without the final newline. No argument may depend on content that
    /// an agent wrote.
    async fn run(&self, directory: &Path, args: &[&str]) -> Result<String, String> {
        let argv: Vec<&str> = ["git"].into_iter().chain(args.iter().copied()).collect();
        let stdout = stdout_or_error(
            self.git_command(&argv, &git_config_variables(), directory)
                .run_unconfined(&self.processes)
                .await?,
        )?;
        Ok(String::from_utf8_lossy(&stdout).trim_end_matches('\n').to_owned())
    }

    /// Removes a locked worktree: with git, or directly if git fails.
    async fn remove_worktree(&self, lock: &WorktreeLock) {
        let path_text = lock.path().to_string_lossy().into_owned();
        let args = ["worktree", "remove", "--force", "--force", &path_text];
        if let Err(why) = self.run(lock.repository(), &args).await {
            tracing::debug!(%why, "git does not remove a worktree");
        }
        if let Err(error) = lock.release() {
            tracing::warn!(%error, "a worktree could not be removed");
        }
    }

    /// Removes the worktrees in `directory` that killed processes have left.
    pub(crate) async fn remove_abandoned(&self, directory: &Path) {
        for lock in WorktreeLock::take_abandoned(directory) {
            self.remove_worktree(&lock).await;
        }
    }
}

fn stdout_or_error(ran: OneShotOutput) -> Result<Vec<u8>, String> {
    match ran.exit.code() {
        0 => Ok(ran.stdout),
        _ => {
            let message =
                String::from_utf8_lossy(&ran.stderr).trim().lines().next().unwrap_or("nothing").to_owned();
            Err(format!("git says: {message}"))
        }
    }
}
