//! Runs `git apply` and `patch` on the same unified diffs, for comparison.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::case_draft::CaseDraft;
use crate::cases::{CaseVerdict, EditCase};
use crate::damage::NONE;
use crate::report::{CaseCounts, table_head};

/// Prints the results of toolgate and the peers for `sample`.
pub(crate) fn compare_with_peers(sample: &[EditCase]) {
    println!("\n{} unified diffs, given to each:\n\n{}", sample.len(), table_head("program"));
    row("toolgate", sample, &|case| Some(case.judge().0));
    row("`git apply`", sample, &|case| run(case, &["git", "apply", "-"]));
    row("`patch`", sample, &|case| run(case, &["patch", "-p1", "-N", "-s", "-r", "-"]));
}

/// Prints the results of one program, for the undamaged cases and for all.
fn row(name: &str, sample: &[EditCase], judge: &dyn Fn(&EditCase) -> Option<CaseVerdict>) {
    let (mut undamaged, mut all) = (CaseCounts::default(), CaseCounts::default());
    for case in sample {
        let Some(verdict) = judge(case) else { continue };
        all.add(case, &verdict);
        if case.kind.name == NONE {
            undamaged.add(case, &verdict);
        }
    }
    println!("{}\n{}", undamaged.row(&format!("{name}, undamaged")), all.row(&format!("{name}, all")));
}

/// Runs a program on a case; `None` if it cannot be run.
fn run(case: &EditCase, program: &[&str]) -> Option<CaseVerdict> {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).ok()?;
    let draft: &CaseDraft = &case.draft;
    let at = scratch.path().join(&draft.path);
    let file = draft.file();
    fs::create_dir_all(at.parent().unwrap_or(Path::new("."))).ok()?;
    fs::write(&at, &file).ok()?;
    let mut command = Command::new(program[0]);
    command
        .args(&program[1..])
        .current_dir(scratch.path())
        .env("GIT_CEILING_DIRECTORIES", env!("CARGO_TARGET_TMPDIR"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    // The program may stop reading early.
    let _ = child.stdin.take()?.write_all(case.patch.as_bytes());
    if !child.wait().ok()?.success() {
        return Some(case.verdict_if_refused(String::new()));
    }
    Some(case.verdict_if_changed(&file, &fs::read(&at).unwrap_or_default()))
}
