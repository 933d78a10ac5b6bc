//! Verifies the shell analysis: random scripts run under a tracer, and every executed program must be foreseen.
//!
//! Scripts about which the analysis leaves something undecided are exempt.
//!
//! `TOOLGATE_FUZZ_ROUNDS=…` sets the number of scripts (undecided scripts are not run, because the analysis claims
//! nothing about them), and `TOOLGATE_FUZZ_SEED=…` selects them.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests make what scripts need, tell how far they are, and may unwrap"
)]

mod builtins;
mod foresight;
mod grammar;
mod heredoc;
mod random;
mod random_words;
mod script_mutation;
#[path = "../../../policy/tests/shell/seed_scripts.rs"]
mod seeds;
mod strace_log;
mod traced_runner;

use std::collections::BTreeMap;
use std::path::Path;

use random::ScriptRng;
use testkit::trials;
use traced_runner::{ScriptCase, TracedRunner, TracedShell};

trials![
    everything_that_is_executed_was_foreseen,
    the_corpus_and_the_seeds_hold_no_surprise,
    the_tracer_sees_what_runs,
    what_was_not_foreseen_is_noticed,
];

/// Takes a few seconds.
const ROUNDS: u64 = 400;
const SEED: u64 = 1;
/// Number of scripts in one confined process.
const BATCH: usize = 100;
/// Number of concurrent confined processes.
const LABS: usize = 2;
/// Maximum attempts to generate a decided script of one kind.
const TRIES: usize = 100;

/// Counters for one kind of script.
#[derive(Default)]
struct ScriptTally {
    made: u64,
    decided: u64,
    executed: u64,
    /// Reasons why scripts are undecided.
    reasons: BTreeMap<&'static str, u64>,
}

fn everything_that_is_executed_was_foreseen() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let rounds = number("TOOLGATE_FUZZ_ROUNDS").unwrap_or(ROUNDS);
    let mut dice = ScriptRng(number("TOOLGATE_FUZZ_SEED").unwrap_or(SEED).wrapping_mul(0x1_0000_0001));
    let labs: Vec<TracedRunner> = (0..LABS).map(|_| TracedRunner::new()).collect();
    let (mut ran, mut surprises) = (0, Vec::new());
    let mut tallies: BTreeMap<script_mutation::ScriptKind, ScriptTally> = BTreeMap::new();
    // ends: each round runs some scripts
    while ran < rounds {
        let size = usize::try_from(rounds - ran).unwrap().min(BATCH * LABS);
        let made: Vec<(script_mutation::ScriptKind, ScriptCase)> =
            (0..size).map(|_| decided(&mut dice, &mut tallies)).collect();
        let cases: Vec<ScriptCase> = made.iter().map(|(_, case)| case.clone()).collect();
        for ((kind, case), events) in made.iter().zip(run(&labs, &cases)) {
            tallies.entry(*kind).or_default().executed += events.len() as u64;
            if let Some(event) = foresight::first_unforeseen(case, &events) {
                surprises.push(report(&labs[0], case, &event));
                eprintln!("{}", surprises[surprises.len() - 1]);
            }
        }
        ran += size as u64;
        if ran.is_multiple_of(1_000) {
            eprintln!("{ran} scripts, {} surprises", surprises.len());
        }
    }
    for (kind, ScriptTally { made, decided, executed, reasons }) in &tallies {
        let mut reasons: Vec<_> = reasons.iter().map(|(why, count)| (count, why)).collect();
        reasons.sort_unstable_by(|a, b| b.cmp(a));
        reasons.truncate(5);
        eprintln!("{kind:?}: {decided} of {made} decided, {executed} executions; not decided: {reasons:?}");
    }
    assert!(surprises.is_empty(), "{} of {ran}:\n{}", surprises.len(), surprises.join("\n"));
}

/// Runs a share of `cases` in each of `labs`, concurrently.
fn run(labs: &[TracedRunner], cases: &[ScriptCase]) -> Vec<Vec<strace_log::ExecEvent>> {
    std::thread::scope(|scope| {
        let shares = labs.iter().zip(cases.chunks(BATCH));
        let running: Vec<_> = shares.map(|(lab, cases)| scope.spawn(|| lab.run(cases))).collect();
        running.into_iter().flat_map(|share| share.join().unwrap()).collect()
    })
}

/// Generates a script that the analysis decides completely.
fn decided(
    dice: &mut ScriptRng,
    tallies: &mut BTreeMap<script_mutation::ScriptKind, ScriptTally>,
) -> (script_mutation::ScriptKind, ScriptCase) {
    let (kind, shell, value) = (
        script_mutation::random_kind(dice),
        script_mutation::random_shell(dice),
        script_mutation::random_value(dice),
    );
    let tally = tallies.entry(kind).or_default();
    for _ in 0..TRIES {
        let case = ScriptCase { shell, script: script_mutation::random_script(dice, kind), value };
        // A NUL cannot be passed as an argument.
        if case.script.contains('\0') {
            continue;
        }
        tally.made += 1;
        match foresight::analyse_case(&case).undecided.first() {
            None => {
                tally.decided += 1;
                return (kind, case);
            }
            Some(undecided) => *tally.reasons.entry(undecided.why).or_default() += 1,
        }
    }
    decided(dice, tallies)
}

fn report(lab: &TracedRunner, case: &ScriptCase, event: &strace_log::ExecEvent) -> String {
    let small = foresight::minimise(lab, case);
    let events = lab.run(std::slice::from_ref(&small)).remove(0);
    let Some(event) = foresight::first_unforeseen(&small, &events) else {
        return format!("SURPRISE, but not again: {event:?} of {case:?}");
    };
    let foreseen = foresight::analyse_case(&small);
    format!("SURPRISE {small:?}\n  executed {event:?}\n  foreseen {foreseen}")
}

fn the_corpus_and_the_seeds_hold_no_surprise() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/tests/shell/corpus");
    let paths = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let scripts = paths.filter(|path| path.extension().is_some_and(|extension| extension == "sh"));
    let scripts = scripts.map(|path| std::fs::read_to_string(path).unwrap());
    let scripts: Vec<String> = scripts.chain(seeds::SEEDS.iter().map(|seed| (*seed).to_owned())).collect();
    let lab = TracedRunner::new();
    for (shell, value) in
        [(TracedShell::Bash, ""), (TracedShell::Bash, "a[$(evil)]"), (TracedShell::Dash, "")]
    {
        let cases = scripts.iter().map(|script| ScriptCase { shell, script: script.clone(), value });
        let cases: Vec<ScriptCase> =
            cases.filter(|case| foresight::analyse_case(case).undecided.is_empty()).collect();
        assert!(cases.len() > 50, "{shell:?}: {}", cases.len());
        for (cases, seen) in cases.chunks(BATCH).map(|cases| (cases, lab.run(cases))) {
            for (case, events) in cases.iter().zip(seen) {
                assert_eq!(
                    foresight::first_unforeseen(case, &events),
                    None,
                    "{case:?}\n{}",
                    foresight::analyse_case(case)
                );
            }
        }
    }
}

fn the_tracer_sees_what_runs() {
    let lab = TracedRunner::new();
    for shell in TracedShell::ALL {
        let case = |script: &str| ScriptCase { shell, script: script.to_owned(), value: "" };
        let cases =
            ["alpha one; bash -c \"beta 'two three'\" | cat; find . -exec gamma ';'", "delta &", "exit 3"];
        let seen = lab.run(&cases.map(case));
        let names = |at: usize| -> Vec<&str> {
            seen[at].iter().map(|event| event.path.rsplit('/').next().unwrap()).collect()
        };
        for name in ["alpha", "bash", "beta", "gamma"] {
            assert!(names(0).contains(&name), "{name} not in {:?}", names(0));
        }
        assert_eq!((names(1), names(2)), (vec!["delta"], vec![]));
    }
}

fn what_was_not_foreseen_is_noticed() {
    let lab = TracedRunner::new();
    let case = |script: &str| ScriptCase { shell: TracedShell::Bash, script: script.to_owned(), value: "" };
    let seen = lab.run(&[case("alpha one; sh -c 'beta \"$1\"' _ x")]).remove(0);
    assert_eq!(foresight::first_unforeseen(&case("alpha one; sh -c 'beta \"$1\"' _ x"), &seen), None);
    for wrong in ["alpha one", "alpha; sh -c 'beta \"$1\"' _ x", "alpha one; sh -c 'beta' _ x"] {
        assert!(foresight::first_unforeseen(&case(wrong), &seen).is_some(), "{wrong}");
    }
}
