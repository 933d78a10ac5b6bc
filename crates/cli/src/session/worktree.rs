//! A git worktree for an agent: the repository as it was last committed, and what became of it as a diff.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent::Diff;
use exec::errand::Ran;
use toolgate::{Gate, Intent, Own, Processes, Spill, Verdict};

use super::claim::Claim;

/// How long git may take.
const TIME: Duration = Duration::from_secs(60);
/// Bytes that a diff or a list of files may have.
const MOST: u64 = 64 << 20;
/// Bytes of a diff that a model is given to repeat; a longer one it finds in a file.
const SHORT: usize = 16 << 10;
/// Files of a diff that may not be read, at the most.
const UNREAD: usize = 1000;
/// Nothing that the repository says is run, and what the user likes to see changes nothing.
const INERT: [&str; 10] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.safecrlf=false",
    "-c",
    "advice.addEmbeddedRepo=false",
];
/// A diff that every reader of patches takes, whatever the user's configuration says.
const DIFF: [&str; 8] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];
/// Where the index is that a diff is made with.
const INDEX: &str = "/tmp/toolgate-agent-index";

/// A worktree.
pub(super) struct Worktree {
    processes: Arc<Processes>,
    /// The repository that it is of, where it is, and that it is ours.
    claim: Claim,
    /// The commit that it began as.
    base: String,
    /// Where in it the agent works.
    cwd: PathBuf,
    /// Whether its agent is there.
    pub(super) is_open: AtomicBool,
}

impl Worktree {
    /// Makes one of the repository that `cwd` is in, at `at`.
    pub(super) async fn make(processes: Arc<Processes>, cwd: &Path, at: PathBuf) -> Result<Self, String> {
        let git = |args: &'static [&'static str]| run(&processes, cwd, args);
        let top = git(&["rev-parse", "--show-toplevel"])
            .await
            .map_err(|why| format!("there is no git repository to make a worktree of: {why}"))?;
        let of = PathBuf::from(top);
        let below = cwd.strip_prefix(&of).map(Path::to_owned).unwrap_or_default();
        // Not what is not committed: a commit of that would be read by whoever may not read the files.
        let base =
            git(&["rev-parse", "HEAD"]).await.map_err(|_| "the repository has no commit yet".to_owned())?;
        let claim = Claim::stake(&of, at).map_err(|error| format!("a worktree cannot be made: {error}"))?;
        let place = claim.at().to_string_lossy().into_owned();
        let cwd = claim.at().join(below);
        let made = Self { processes, claim, base, cwd, is_open: AtomicBool::new(true) };
        let added = made.own(&["worktree", "add", "--quiet", "--detach", &place, &made.base]).await;
        // What was checked out may lead elsewhere.
        let straight = |path: &Path| exec::fs::real(&path.join(".")).is_ok_and(|real| real == path);
        let fault = match added {
            Ok(_) if straight(made.claim.at()) && straight(&made.cwd) => return Ok(made),
            Ok(_) => "the directory to work in is not there in the last commit, or is a link".to_owned(),
            Err(why) => why,
        };
        made.remove().await;
        Err(fault)
    }

    /// Where the agent works.
    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// What became of it; what is too much for a model goes to `kept`. What is in there decides what git does, so it is run as the agent's own
    /// commands are, under `gate`.
    pub(super) async fn changed(&self, gate: &Gate, kept: &Spill) -> Result<Diff, String> {
        if !self.claim.is_held() {
            return Err("its worktree was taken away to make room for others".to_owned());
        }
        self.confined(gate, &["read-tree", &self.base]).await?;
        let unread = self.unread(gate).await?;
        let but = |words: &[&'static str], last: &[&str]| -> Vec<String> {
            let words = words.iter().copied().chain(last.iter().copied()).map(str::to_owned);
            words.chain(["--".to_owned(), ".".to_owned()]).chain(unread.iter().cloned()).collect()
        };
        let git = |args: Vec<String>| async move {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            self.confined(gate, &args).await
        };
        git(but(&["add", "--all", "--intent-to-add"], &[])).await?;
        let diff = git(but(&DIFF, &["--unified=3", "--binary", "--full-index", &self.base])).await?;
        if diff.is_empty() {
            return Ok(Diff::Nothing);
        }
        match String::from_utf8(diff) {
            Ok(text) if text.len() <= SHORT && !text.contains("\nGIT binary patch\n") => {
                Ok(Diff::Short(text))
            }
            other => {
                let bytes = other.map_or_else(std::string::FromUtf8Error::into_bytes, String::into_bytes);
                let about = git(but(&DIFF, &["--stat=100", "--stat-count=40", &self.base])).await?;
                let path = kept.keep("agent", &bytes).map_err(|error| error.to_string())?;
                Ok(Diff::Kept { path, about: String::from_utf8_lossy(&about).into_owned() })
            }
        }
    }

    /// Pathspecs that leave out what may not be read: git would stop at it.
    async fn unread(&self, gate: &Gate) -> Result<Vec<String>, String> {
        let listed =
            self.confined(gate, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).await?;
        let may_not = |name: &&str| {
            let path = self.claim.at().join(name);
            matches!(gate.decide("git", &Intent::read(&path)), Verdict::Forbid(_))
        };
        let listed = String::from_utf8_lossy(&listed);
        let unread = listed.split('\0').filter(|name| !name.is_empty()).filter(may_not);
        Ok(unread.take(UNREAD).map(|name| format!(":(exclude,literal){name}")).collect())
    }

    /// What git writes, run as the agent's own commands are.
    async fn confined(&self, gate: &Gate, args: &[&str]) -> Result<Vec<u8>, String> {
        let argv: Vec<&str> = ["git"].into_iter().chain(INERT).chain(args.iter().copied()).collect();
        // An index of its own, in a directory that only the sandbox has: that of the worktree stays as the agent left it.
        let env = [("GIT_INDEX_FILE", INDEX)];
        let own = Own { argv: &argv, env: &env, directory: self.claim.at(), at_most: TIME, output: MOST };
        said(own.confined(&self.processes, gate).await?)
    }

    /// Takes it away, with all that is in it.
    pub(super) async fn remove(&self) {
        self.is_open.store(false, Ordering::Relaxed);
        clear(&self.processes, &self.claim).await;
    }

    async fn own(&self, args: &[&str]) -> Result<String, String> {
        run(&self.processes, self.claim.of(), args).await
    }
}

/// Takes away what was claimed: as git does it, or by hand where git cannot.
async fn clear(processes: &Processes, claim: &Claim) {
    let place = claim.at().to_string_lossy().into_owned();
    let args = ["worktree", "remove", "--force", "--force", &place];
    if let Err(why) = run(processes, claim.of(), &args).await {
        tracing::debug!(%why, "git does not remove a worktree");
    }
    if let Err(error) = claim.clear() {
        tracing::warn!(%error, "a worktree could not be removed");
    }
}

/// Takes away what programs that were killed have left in `directory`.
pub(super) async fn sweep(processes: &Processes, directory: &Path) {
    for claim in Claim::abandoned(directory) {
        clear(processes, &claim).await;
    }
}

/// What git writes, without the newline at its end. Not confined: nothing of it may depend on what an agent wrote.
async fn run(processes: &Processes, directory: &Path, args: &[&str]) -> Result<String, String> {
    let argv: Vec<&str> = ["git"].into_iter().chain(INERT).chain(args.iter().copied()).collect();
    let own = Own { argv: &argv, env: &[], directory, at_most: TIME, output: MOST };
    let said = said(own.unconfined(processes).await?)?;
    Ok(String::from_utf8_lossy(&said).trim_end_matches('\n').to_owned())
}

fn said(ran: Ran) -> Result<Vec<u8>, String> {
    match ran.exit.code() {
        0 => Ok(ran.stdout),
        _ => {
            let said =
                String::from_utf8_lossy(&ran.stderr).trim().lines().next().unwrap_or("nothing").to_owned();
            Err(format!("git says: {said}"))
        }
    }
}
