//! A git worktree for an agent: the repository as it was last committed, and what became of it as a diff.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use exec::errand::Ran;
use toolgate::{Gate, Own, Processes};

/// How long git may take.
const TIME: Duration = Duration::from_secs(60);
/// Nothing that the repository says is run.
const INERT: [&str; 6] =
    ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"];
/// Where the index is that a diff is made with.
const INDEX: &str = "/tmp/toolgate-agent-index";

/// A worktree.
pub(super) struct Worktree {
    processes: Arc<Processes>,
    /// The repository that it is of.
    of: PathBuf,
    /// Where it is.
    at: PathBuf,
    /// The commit that it began as.
    base: String,
    /// Where in it the agent works.
    cwd: PathBuf,
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
        let place = at.to_string_lossy().into_owned();
        run(&processes, &of, &["worktree", "add", "--quiet", "--detach", &place, &base]).await?;
        let made = Self { cwd: at.join(below), processes, of, at, base };
        // What was checked out may lead elsewhere.
        let straight = |path: &Path| exec::fs::real(&path.join(".")).is_ok_and(|real| real == path);
        if !straight(&made.at) || !straight(&made.cwd) {
            made.remove().await;
            return Err("the directory to work in is not there in the last commit, or is a link".to_owned());
        }
        Ok(made)
    }

    /// Where the agent works.
    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// What became of it, as git writes it. What is in there decides what git does, so it is run as the agent's own commands are, under `gate`.
    pub(super) async fn changed(&self, gate: &Gate) -> Result<String, String> {
        // An index of its own, in a directory that only the sandbox has: that of the worktree stays as the agent left it.
        let env = [("GIT_INDEX_FILE", INDEX)];
        let git = |args: &'static [&'static str]| async move {
            let base = Some(self.base.as_str()).filter(|_| args.first() != Some(&"add"));
            let argv: Vec<&str> =
                ["git"].into_iter().chain(INERT).chain(args.iter().copied()).chain(base).collect();
            let own = Own { argv: &argv, env: &env, directory: &self.at, at_most: TIME };
            said(&own.confined(&self.processes, gate).await?)
        };
        git(&["read-tree"]).await?;
        git(&["add", "--all", "--intent-to-add"]).await?;
        let diff = git(&["diff", "--no-ext-diff", "--no-textconv", "--no-color"]).await?;
        Ok(if diff.is_empty() { diff } else { diff + "\n" })
    }

    /// Takes it away, with all that is in it.
    pub(super) async fn remove(&self) {
        let place = self.at.to_string_lossy().into_owned();
        if let Err(why) =
            run(&self.processes, &self.of, &["worktree", "remove", "--force", "--force", &place]).await
        {
            tracing::warn!(%why, "a worktree could not be removed");
        }
    }
}

/// What git writes, without the newline at its end.
async fn run(processes: &Processes, directory: &Path, args: &[&str]) -> Result<String, String> {
    let argv: Vec<&str> = ["git"].into_iter().chain(INERT).chain(args.iter().copied()).collect();
    let own = Own { argv: &argv, env: &[], directory, at_most: TIME };
    said(&own.unconfined(processes).await?)
}

fn said(ran: &Ran) -> Result<String, String> {
    match ran.exit.code() {
        0 => Ok(String::from_utf8_lossy(&ran.stdout).trim_end_matches('\n').to_owned()),
        _ => {
            let said =
                String::from_utf8_lossy(&ran.stderr).trim().lines().next().unwrap_or("nothing").to_owned();
            Err(format!("git says: {said}"))
        }
    }
}
