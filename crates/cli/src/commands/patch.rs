//! `toolgate patch`: applies a patch to files from the shell.

use std::fmt;
use std::io::{self, IsTerminal, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use exec::this_machine::ThisMachine;
use runtime::patch::{
    self, CommitMilestone, DiskTree, MatchPass, PatchPlan, PatchTextFormat, RecoveredCommit, RecoveryOutcome,
};
use runtime::{MachineLookup, host_file_by_name};
use serde_json::json;

use crate::args::{self, PatchFormat};
use config::OperationFault;
use config::UserDirs;
use session::turn_diff_store;

/// Maximum size of a patch in bytes.
const MAX_PATCH_BYTES: u64 = 64 << 20;

pub(crate) fn run(args: &args::PatchArgs) -> Result<ExitCode, OperationFault> {
    let text = read_patch_text(args)?;
    let directory = args.cwd.clone().unwrap_or_else(|| ".".into());
    let parsed = match text_format(args.format) {
        None => patch::parse(&text),
        Some(format) => patch::parse_as(format, &text),
    };
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(fault) => return refuse(args, &fault.to_string()),
    };
    let disk = DiskTree::open_at(&directory)
        .map_err(|fault| {
            OperationFault::usage(format!("`{}` cannot be opened: {fault}", directory.display()))
        })?
        .with_hard_links_broken(args.break_links)
        .with_hard_link_hint("`--break-links` changes it under this name alone");
    let root = disk.root().to_owned();
    let within = root.clone();
    let disk = disk.with_access_check(Arc::new(move |real, _| check_path(&within, real)));
    let records = records_dir()?;
    if !args.dry_run {
        recover_interrupted_edits(&records)?;
    }
    let patch_progress = PatchProgress::default();
    let mut progress = terminal::ProgressLine::new("patch");
    let tick = || progress.show(&patch_progress.to_string());
    let done = terminal::with_ticks(terminal::ProgressLine::TICK_INTERVAL, tick, || {
        let plan = PatchPlan::build(&parsed, &disk).map_err(|failure| failure.to_string())?;
        let steps = plan.commit_steps();
        patch_progress.total.store(steps.len(), Relaxed);
        let done = match args.dry_run {
            true => disk.check_steps(&steps),
            false => disk.commit_with(&steps, &records, &mut |milestone| patch_progress.count(milestone)),
        };
        done.map(|()| plan).map_err(|refusal| refusal.what)
    });
    drop(progress);
    let plan = match done {
        Ok(plan) => plan,
        Err(why) => {
            let refused = refuse(args, &why);
            if let Some(hint) = repository_top_hint(&root, &parsed).filter(|_| !args.json) {
                terminal::print_hint(&hint);
            }
            return refused;
        }
    };
    if !args.dry_run {
        turn_diff_store::save_diff(state_dir()?.as_path(), &root, &plan.diff());
    }
    print_result(args, &plan)?;
    if !args.json {
        warn_of_host_files(&root, &plan);
    }
    Ok(ExitCode::SUCCESS)
}

/// Warns about changed files that take effect on this machine by themselves: the patch may come from a
/// stranger.
fn warn_of_host_files(root: &Path, plan: &PatchPlan) {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let machine = ThisMachine::new("", vec![root.to_owned()]).with_home(home);
    for change in plan.listed_changes() {
        let file = host_file_by_name(Path::new(&change.path));
        if let Some(file) = file.or_else(|| machine.host_file(&root.join(&change.path))) {
            terminal::print_hint(&file.describe_change(&change.path));
        }
    }
}

/// Returns a hint if a missing path of the patch exists below the top of the repository, which git's paths
/// are relative to.
fn repository_top_hint(root: &Path, patch: &patch::ParsedPatch) -> Option<String> {
    let top = root.ancestors().skip(1).find(|above| above.join(".git").exists())?;
    let is_there = |path: &&str| !root.join(path).exists() && top.join(path).exists();
    let path = patch.paths().find(is_there)?;
    Some(format!("`{path}` is below `{top}`, where git names files from; use -C {top}", top = top.display()))
}

/// Recovers interrupted edits (rollback or completion) and reports them.
fn recover_interrupted_edits(records: &Path) -> Result<(), OperationFault> {
    let unusable = |error: io::Error| {
        OperationFault::usage(format!("nothing can be changed without a record of it: {error}"))
            .with_hint(config::STATE_HINT)
    };
    private_files::create_private_dir(records).map_err(|error| {
        unusable(io::Error::new(error.kind(), format!("`{}` cannot be used: {error}", records.display())))
    })?;
    for RecoveredCommit { files, outcome, record } in patch::recover(records).map_err(unusable)? {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let what = match outcome {
            RecoveryOutcome::RolledBack => {
                format!("an interrupted edit was rolled back: {}", names.join(", "))
            }
            RecoveryOutcome::RolledForward => {
                format!("an interrupted edit was completed: {}", names.join(", "))
            }
            RecoveryOutcome::RecordKept(why) => {
                format!("the record `{}` of an edit was left as it is: {why}", record.display())
            }
        };
        terminal::print_hint(&what);
    }
    Ok(())
}

/// The progress of a patch, shown to a waiting user.
#[derive(Default)]
struct PatchProgress {
    /// The number of files; zero while the matching of the patch runs.
    total: AtomicUsize,
    written: AtomicUsize,
    placed: AtomicUsize,
}

impl PatchProgress {
    fn count(&self, milestone: CommitMilestone<'_>) {
        let counter = match milestone {
            CommitMilestone::Written(_) => &self.written,
            CommitMilestone::Placed(_) => &self.placed,
        };
        counter.fetch_add(1, Relaxed);
    }
}

impl fmt::Display for PatchProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, written, placed] =
            [&self.total, &self.written, &self.placed].map(|count| count.load(Relaxed));
        match (all, placed) {
            (0, _) => f.write_str("looking where its lines are"),
            (all, 0) => write!(f, "{written} of {all} files written"),
            (all, placed) => write!(f, "{placed} of {all} files in place"),
        }
    }
}

/// Refuses paths outside the directory, and paths in `.git`.
fn check_path(root: &Path, real: &Path) -> Result<(), String> {
    let Ok(below) = real.strip_prefix(root) else {
        return Err(format!("`{}` is outside `{}`; use -C to work there", real.display(), root.display()));
    };
    match below.components().any(|part| part.as_os_str() == ".git") {
        true => Err(format!("`{}` is git's own; no patch changes that", below.display())),
        false => Ok(()),
    }
}

fn text_format(format: PatchFormat) -> Option<PatchTextFormat> {
    match format {
        PatchFormat::Auto => None,
        PatchFormat::Envelope => Some(PatchTextFormat::Envelope),
        PatchFormat::Unified => Some(PatchTextFormat::Unified),
        PatchFormat::Replace => Some(PatchTextFormat::Replace),
        PatchFormat::Files => Some(PatchTextFormat::Files),
    }
}

/// Reads the patch from the argument, a file or standard input.
fn read_patch_text(args: &args::PatchArgs) -> Result<String, OperationFault> {
    let mut bytes = Vec::new();
    match &args.patch {
        Some(text) if text.as_bytes().contains(&b'\n') => bytes = text.as_bytes().to_vec(),
        Some(path) if path != "-" => {
            let path = Path::new(path);
            #[expect(clippy::disallowed_methods, reason = "the user names the file on the command line")]
            let opened = std::fs::File::open(path)
                .and_then(|file| file.take(MAX_PATCH_BYTES + 1).read_to_end(&mut bytes));
            opened.map_err(|fault| {
                OperationFault::usage(format!("`{}` cannot be read: {fault}", path.display()))
            })?;
        }
        _ => {
            if std::io::stdin().is_terminal() {
                terminal::print_hint("reading the patch from the terminal; end it with Ctrl-D");
            }
            std::io::stdin().take(MAX_PATCH_BYTES + 1).read_to_end(&mut bytes)?;
        }
    }
    if bytes.trim_ascii().is_empty() {
        return Err(OperationFault::usage("there is no patch: the input is empty")
            .with_hint("give a file, or a patch on standard input"));
    }
    if bytes.len() as u64 > MAX_PATCH_BYTES {
        return Err(OperationFault::usage(format!("the patch is longer than {} MiB", MAX_PATCH_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| {
        OperationFault::usage("the patch is not UTF-8 text")
            .with_hint("`git apply` takes other encodings as they are; or convert patch and files to UTF-8")
    })
}

/// Returns the directory of the write-ahead records of edits.
fn records_dir() -> Result<PathBuf, OperationFault> {
    Ok(state_dir()?.join("edits"))
}

fn state_dir() -> Result<PathBuf, OperationFault> {
    let state = UserDirs::from_env()?.state;
    state.ok_or_else(|| {
        OperationFault::usage("there is no home to keep records in; set HOME or TOOLGATE_HOME")
    })
}

fn refuse(args: &args::PatchArgs, why: &str) -> Result<ExitCode, OperationFault> {
    if args.json {
        terminal::print_text(&json!({"applied": false, "error": why}).to_string())?;
    } else {
        terminal::print_error(&format!("nothing was changed: {why}"));
    }
    Ok(ExitCode::FAILURE)
}

fn print_result(args: &args::PatchArgs, plan: &PatchPlan) -> Result<(), OperationFault> {
    if args.json {
        let file = |change: &patch::FileChange| {
            let places: Vec<_> = change
                .landed_hunks
                .iter()
                .map(|(line, pass)| json!({"line": line, "overlooked": pass.ignored_difference(), "already": *pass == MatchPass::AlreadyApplied}))
                .collect();
            json!({"kind": change.status_letter().to_string(), "path": change.path, "from": change.from, "replaced": change.replaces_whole_file(), "places": places})
        };
        let files: Vec<_> = plan.listed_changes().map(file).collect();
        let diff = args.dry_run.then(|| plan.diff());
        let all = json!({"applied": !args.dry_run, "changes": files, "already": plan.already_applied, "diff": diff});
        return Ok(terminal::print_text(&all.to_string())?);
    }
    if args.dry_run {
        let diff = plan.diff();
        if !diff.is_empty() {
            terminal::print_diff(&diff)?;
        }
        for path in &plan.already_applied {
            terminal::print_hint(&format!("{path} is as the patch wants it already"));
        }
        return Ok(());
    }
    Ok(terminal::print_text(&plan.to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_progress_names_the_phase_and_the_file_counts() {
        let tally = PatchProgress::default();
        assert_eq!(tally.to_string(), "looking where its lines are");
        let step = patch::CommitStep { path: "a.txt".to_owned(), found_version: None, new_file: None };
        tally.total.store(3, Relaxed);
        tally.count(CommitMilestone::Written(&step));
        assert_eq!(tally.to_string(), "1 of 3 files written");
        tally.count(CommitMilestone::Placed(&step));
        assert_eq!(tally.to_string(), "1 of 3 files in place");
    }
}
