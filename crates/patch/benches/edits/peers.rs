//! What `git apply` and `patch` make of the same unified diffs.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cases::{Case, Verdict};
use crate::draft::Draft;
use crate::report::{Count, head, peer_row};

/// Prints how we and the peers fare with `sample`.
pub(crate) fn compare(sample: &[Case]) {
    println!("\n{} unified diffs, given to each:\n\n{}", sample.len(), head("program"));
    let count = |judge: &dyn Fn(&Case) -> Option<Verdict>| {
        let mut count = Count::default();
        for case in sample {
            if let Some(verdict) = judge(case) {
                count.add(case, &verdict);
            }
        }
        count
    };
    println!("{}", peer_row("toolgate", &count(&|case| Some(case.judge()))));
    println!("{}", peer_row("`git apply`", &count(&|case| run(case, &["git", "apply", "-"]))));
    println!("{}", peer_row("`patch`", &count(&|case| run(case, &["patch", "-p1", "-N", "-s", "-r", "-"]))));
}

/// What a program makes of a case; nothing if it cannot be run.
fn run(case: &Case, program: &[&str]) -> Option<Verdict> {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).ok()?;
    let draft: &Draft = &case.draft;
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
    // It may stop reading early.
    let _ = child.stdin.take()?.write_all(case.patch.as_bytes());
    if !child.wait().ok()?.success() {
        return Some(case.refused(String::new()));
    }
    Some(case.became(&file, &fs::read(&at).unwrap_or_default()))
}
