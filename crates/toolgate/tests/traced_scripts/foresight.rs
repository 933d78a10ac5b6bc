//! Compares the executed programs of a script with the static analysis, and minimises scripts that contradict it.

use policy::shell::{ScriptAnalysis, ScriptCommand, ScriptWord, analyse_argv, analyse_script};

use crate::strace_log::ExecEvent;
use crate::traced_runner::{ScriptCase, TracedRunner, TracedShell};

/// Returns the analysis of `case`.
pub(crate) fn analyse_case(case: &ScriptCase) -> ScriptAnalysis {
    match case.shell {
        TracedShell::Bash => analyse_script(&case.script),
        TracedShell::Dash | TracedShell::Posix | TracedShell::Ash => {
            analyse_argv(&[case.shell.name().to_owned(), "-c".to_owned(), case.script.clone()])
        }
    }
}

/// Returns the first event that the analysis did not foresee, if it left nothing undecided.
pub(crate) fn first_unforeseen(case: &ScriptCase, events: &[ExecEvent]) -> Option<ExecEvent> {
    let analysis = analyse_case(case);
    if !analysis.undecided.is_empty() {
        return None;
    }
    let foreseen = |event: &ExecEvent| analysis.commands.iter().any(|command| matches(command, event));
    events.iter().find(|event| !foreseen(event)).cloned()
}

/// Minimises a script that causes a surprise.
pub(crate) fn minimise(lab: &TracedRunner, case: &ScriptCase) -> ScriptCase {
    let mut best = case.clone();
    let mut size = best.script.chars().count() / 2;
    // ends: each round shortens the script or the pieces
    while size > 0 {
        let letters: Vec<char> = best.script.chars().collect();
        let without = |at: usize| {
            let end = (at + size).min(letters.len());
            let script = letters[..at].iter().chain(&letters[end..]).collect();
            ScriptCase { script, ..best.clone() }
        };
        let shorter: Vec<ScriptCase> = (0..letters.len()).step_by(size.div_ceil(2)).map(without).collect();
        let shorter: Vec<ScriptCase> =
            shorter.into_iter().filter(|case| analyse_case(case).undecided.is_empty()).take(200).collect();
        let seen = lab.run(&shorter);
        let found = shorter.iter().zip(&seen).find(|(case, events)| first_unforeseen(case, events).is_some());
        match found {
            Some((case, _)) => best = case.clone(),
            None => size /= 2,
        }
        size = size.min(best.script.chars().count());
    }
    best
}

/// Returns whether `command` foresees `event`. It compares the name of the file, because argv[0] can be arbitrary.
fn matches(command: &ScriptCommand, event: &ExecEvent) -> bool {
    let ScriptWord::Literal(name) = &command.words[0] else { return false };
    let last = event.path.rsplit('/').next().unwrap_or_default();
    // `exec` makes a path absolute.
    let is_path = *name == event.path || event.path.ends_with(&format!("/{name}"));
    let named = if name.contains('/') { is_path } else { name == last };
    named && words_match(&command.words[1..], event.argv.get(1..).unwrap_or_default(), command.more_args)
}

fn words_match(words: &[ScriptWord], argv: &[String], more: bool) -> bool {
    match words.split_first() {
        None => more || argv.is_empty(),
        Some((ScriptWord::Literal(word), rest)) => {
            argv.first() == Some(word) && words_match(rest, &argv[1..], more)
        }
        Some((ScriptWord::Unknown(text), rest)) => {
            let counts = if is_one(text) { 1..=1.min(argv.len()) } else { 0..=argv.len() };
            counts.into_iter().any(|taken| words_match(rest, &argv[taken..], more))
        }
    }
}

/// Returns whether a word that is written like this always expands to exactly one word.
fn is_one(text: &str) -> bool {
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.is_some_and(|inside| !inside.contains(['"', '@', '*']))
}
