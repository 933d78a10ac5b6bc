//! Benchmark of edits: counts how many damaged patches of real changes land right, are refused, or land wrong.
//!
//! `cargo bench -p toolgate-patch --bench edits -- [--quick] [--cases N] [--case NUMBER] [--seed S] [--show KIND
//! [--wrong]] [--again] [--no-peers] [--git DIR]…`. With `--features ablation`, also `--ablate`
//! or `--ablate-part NAME`….
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads, runs peers and prints"
)]

#[cfg(feature = "ablation")]
mod ablation;
mod case_draft;
mod case_printer;
mod cases;
mod damage;
mod git_commits;
mod hunk_headers;
mod package_registry;
mod patch_text;
mod peer_tools;
mod place_evidence;
mod report;
mod revisions;
mod seeded_random;

use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use cases::{CaseMaker, CaseVerdict, EditCase, ReapplyVerdict};
use report::EditBenchReport;

/// The number of cases of a full run, and of a quick one.
const FULL: usize = 12_000;
const QUICK: usize = 500;
/// The number of patches for the peers.
const PEERS: usize = 500;

/// The command-line options.
struct EditBenchOptions {
    cases: usize,
    /// Runs only this case.
    case: Option<usize>,
    seed: u64,
    show: Option<String>,
    /// Shows cases that are not recognised when they are applied again.
    again: bool,
    /// Shows only cases that landed wrong.
    only_wrong: bool,
    peers: bool,
    /// Judges each case again without each of these parts of the engine.
    #[cfg(feature = "ablation")]
    ablate: Vec<toolgate_patch::EnginePart>,
    /// Git repositories to take changes from, instead of packages.
    repositories: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let wish = match wish() {
        Ok(wish) => wish,
        Err(what) => {
            println!("{what}");
            return ExitCode::from(2);
        }
    };
    let (histories, missing) = revisions::load_revisions(&wish.repositories);
    let files: usize = histories.iter().map(Vec::len).sum();
    println!("{files} changed files of {} histories, seed {}", histories.len(), wish.seed);
    if !missing.is_empty() {
        println!("not to be had: {}", missing.join(", "));
    }
    let maker = CaseMaker { histories: &histories, seed: wish.seed };
    let mut report = EditBenchReport::default();
    let mut unified = Vec::new();
    #[cfg(feature = "ablation")]
    let mut ablation = ablation::AblationReport::from_parts(&wish.ablate);
    for number in wish.numbers() {
        let Some(case) = maker.case(number) else {
            report.left_out += 1;
            continue;
        };
        let began = Instant::now();
        let (verdict, again) = case.judge();
        report.times.push((began.elapsed(), number));
        #[cfg(feature = "ablation")]
        if !wish.ablate.is_empty() {
            ablation.count(number, &case, (&verdict, again.as_ref()));
        }
        if wish.shows(&case, &verdict) {
            case_printer::print_case(number, &case, &verdict);
        }
        if case.is_unified() {
            unified.push(number);
        }
        if wish.again && !matches!(again, None | Some(ReapplyVerdict::Done)) {
            case_printer::print_reapplied(number, &case, again.as_ref());
        }
        report.count(&case, &verdict);
        report.count_again(again.as_ref());
    }
    report.print();
    #[cfg(feature = "ablation")]
    if !wish.ablate.is_empty() {
        println!("\n{}", ablation.table());
    }
    if wish.peers && wish.show.is_none() && wish.case.is_none() {
        let step = unified.len().div_ceil(PEERS).max(1);
        let sample: Vec<EditCase> =
            unified.iter().step_by(step).filter_map(|number| maker.case(*number)).collect();
        peer_tools::compare_with_peers(&sample);
    }
    if report.wrong() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl EditBenchOptions {
    fn numbers(&self) -> Range<usize> {
        self.case.map_or(0..self.cases, |case| case..case + 1)
    }

    fn shows(&self, case: &EditCase, verdict: &CaseVerdict) -> bool {
        (self.case.is_some() || self.show.as_ref().is_some_and(|kind| case.kind.name.contains(kind.as_str())))
            && match verdict {
                CaseVerdict::Right => false,
                CaseVerdict::Refused(_) => case.is_recoverable() && !self.only_wrong,
                CaseVerdict::Wrong(_) => true,
            }
    }
}

fn wish() -> Result<EditBenchOptions, String> {
    let mut wish = EditBenchOptions {
        cases: FULL,
        case: None,
        seed: 1,
        show: None,
        again: false,
        only_wrong: false,
        peers: true,
        #[cfg(feature = "ablation")]
        ablate: Vec::new(),
        repositories: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--bench" => {}
            "--quick" => wish.cases = QUICK,
            "--again" => wish.again = true,
            "--wrong" => wish.only_wrong = true,
            #[cfg(feature = "ablation")]
            "--ablate" => wish.ablate = toolgate_patch::EnginePart::ALL.to_vec(),
            #[cfg(feature = "ablation")]
            "--ablate-part" => wish.ablate.extend(ablation::parts_named(&value()?)?),
            "--no-peers" => wish.peers = false,
            "--cases" => wish.cases = value()?.parse().map_err(|_| "--cases needs a number")?,
            "--case" => wish.case = Some(value()?.parse().map_err(|_| "--case needs a number")?),
            "--seed" => wish.seed = value()?.parse().map_err(|_| "--seed needs a number")?,
            "--show" => wish.show = Some(value()?),
            "--git" => wish.repositories.push(value()?.into()),
            other => return Err(format!("what is {other}?")),
        }
    }
    Ok(wish)
}
