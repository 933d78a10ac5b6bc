//! Generates and mutates scripts: inserts and removes characters and pieces, splices scripts, and nests them.

use crate::builtins::builtin_script;
use crate::grammar::{WordStyle, command_around_script, command_list, wrapper_command};
use crate::heredoc::heredoc_command;
use crate::random::ScriptRng;
use crate::random_words::{escape_for_backticks, quote_randomly};
use crate::seeds::{NASTY, SEEDS};
use crate::traced_runner::TracedShell;

/// The way a script is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ScriptKind {
    Ordinary,
    Hostile,
    Here,
    Wrapped,
    Mutated,
    Seed,
    Spliced,
    Nested,
    Soup,
    Own,
}

/// Weights in percent.
const KINDS: &[(ScriptKind, usize)] = &[
    (ScriptKind::Ordinary, 9),
    (ScriptKind::Hostile, 10),
    (ScriptKind::Here, 12),
    (ScriptKind::Wrapped, 10),
    (ScriptKind::Mutated, 13),
    (ScriptKind::Seed, 9),
    (ScriptKind::Spliced, 7),
    (ScriptKind::Nested, 10),
    (ScriptKind::Soup, 6),
    (ScriptKind::Own, 14),
];
/// Values of variables: each would run `evil` if it were not treated as plain text.
const VALUES: &[&str] = &[
    "a[$(evil)]", "($(evil))", "$(evil)", "`evil`", "-v a[$(evil)]", "-va[$(evil)]", "; evil",
    ". -exec evil ;", "-exec", "a=b evil", "evil", "\nevil\n", "-c evil", "x", "1", "{evil,a}",
];

/// Returns a random initial value of a script's variables.
pub(crate) fn random_value(dice: &mut ScriptRng) -> &'static str {
    if dice.chance(50) { "" } else { dice.pick(VALUES) }
}

/// Returns a random kind.
pub(crate) fn random_kind(dice: &mut ScriptRng) -> ScriptKind {
    let mut left = dice.number_below(100);
    for (kind, share) in KINDS {
        if left < *share {
            return *kind;
        }
        left -= share;
    }
    ScriptKind::Ordinary
}

/// Returns a random shell.
pub(crate) fn random_shell(dice: &mut ScriptRng) -> TracedShell {
    if dice.chance(70) {
        TracedShell::Bash
    } else {
        TracedShell::ALL[1 + dice.number_below(TracedShell::ALL.len() - 1)]
    }
}

/// Generates a script of this kind.
pub(crate) fn random_script(dice: &mut ScriptRng, kind: ScriptKind) -> String {
    match kind {
        ScriptKind::Ordinary => command_list(dice, 3, WordStyle::Ordinary),
        ScriptKind::Hostile => command_list(dice, 3, WordStyle::Hostile),
        ScriptKind::Here => heredoc_command(dice, 2, WordStyle::Hostile),
        ScriptKind::Wrapped => wrapper_command(dice, 2, WordStyle::Hostile),
        ScriptKind::Mutated => {
            let script = match dice.number_below(5) {
                4 => builtin_script(dice),
                0 => heredoc_command(dice, 1, WordStyle::Hostile),
                1 => wrapper_command(dice, 1, WordStyle::Ordinary),
                2 => command_list(dice, 1, WordStyle::Ordinary),
                _ => command_list(dice, 2, WordStyle::Hostile),
            };
            mutate(dice, &script)
        }
        ScriptKind::Seed => {
            let script = dice.pick(SEEDS);
            mutate(dice, script)
        }
        ScriptKind::Spliced => splice(dice),
        ScriptKind::Nested => nest(dice),
        ScriptKind::Soup => soup(dice),
        ScriptKind::Own => builtin_script(dice),
    }
}

/// Splices two seeds.
fn splice(dice: &mut ScriptRng) -> String {
    let (a, b) = (dice.pick(SEEDS), dice.pick(SEEDS));
    let cut = |dice: &mut ScriptRng, text: &str| {
        let at = dice.number_below(text.len() + 1);
        (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
    };
    let (i, j) = (cut(dice, a), cut(dice, b));
    match dice.number_below(4) {
        0 => format!("{}{}", &a[..i], &b[j..]),
        1 => format!("{}{b}{}", &a[..i], &a[i..]),
        2 => format!("{}{}{}", &a[..i], &b[..j], &a[i..]),
        _ => format!("{a}{}{b}", dice.pick(&["\n", "; ", " | ", " && ", " & "])),
    }
}

fn soup(dice: &mut ScriptRng) -> String {
    let mut out = String::new();
    for _ in 0..2 + dice.number_below(8) {
        let piece = if dice.chance(15) { dice.pick(SEEDS) } else { dice.pick(NASTY) };
        out.push_str(piece);
        if dice.chance(30) {
            out.push_str(dice.pick(&[" ", "alpha", " alpha ", "x"]));
        }
    }
    out
}

/// Nests a script several times.
fn nest(dice: &mut ScriptRng) -> String {
    let mut script = match dice.number_below(5) {
        0 => dice.pick(SEEDS).to_owned(),
        1 => heredoc_command(dice, 1, WordStyle::Hostile),
        2 => splice(dice),
        3 => builtin_script(dice),
        _ => command_list(dice, 1, WordStyle::Hostile),
    };
    for _ in 0..=dice.number_below(3) {
        script = nest_once(dice, &script);
    }
    if dice.chance(20) { mutate(dice, &script) } else { script }
}

fn nest_once(dice: &mut ScriptRng, script: &str) -> String {
    match dice.number_below(22) {
        0 => format!("echo $({script}\n)"),
        1 => format!("echo \"$({script}\n)\""),
        2 => format!("echo `{}`", escape_for_backticks(script)),
        3 => format!("cat <({script}\n)"),
        4 => format!("cat <<END\n$({script}\n)\nEND\n"),
        5 => format!("cat <<END\n`{}`\nEND\n", escape_for_backticks(script)),
        6 => format!("g{}() {{ {script}\n}}; g{}", script.len(), script.len()),
        7 => format!("( {script}\n)"),
        8 => format!("{{ {script}\n}} > out"),
        9 => format!("if true; then {script}\nfi"),
        10 => format!("case x in x) {script}\n;; esac"),
        11 => format!("while read -r l; do {script}\ndone < file.txt"),
        12 => format!("time {script}"),
        13 => format!("{script}\nalpha"),
        14 => format!("alpha; {script}"),
        15 => format!("x=${{y:-$({script}\n)}}"),
        16 => format!("echo \"a`{}`\"", escape_for_backticks(script)),
        17 => format!("x=1 y=$({script}\n) alpha"),
        18 => format!("a=($({script}\n) x)"),
        _ => {
            let script = quote_randomly(dice, script);
            command_around_script(dice, &script, "beta")
        }
    }
}

/// Applies some random changes to a script.
fn mutate(dice: &mut ScriptRng, script: &str) -> String {
    let mut letters: Vec<char> = script.chars().collect();
    for _ in 0..1 + dice.number_below(3) {
        change(dice, &mut letters);
    }
    letters.into_iter().collect()
}

fn change(dice: &mut ScriptRng, letters: &mut Vec<char>) {
    let at = dice.number_below(letters.len() + 1);
    match dice.number_below(9) {
        0 if at < letters.len() => {
            letters.remove(at);
        }
        1 if at + 1 < letters.len() => letters.swap(at, at + 1),
        2 if at < letters.len() => letters.insert(at, letters[at]),
        3 if at < letters.len() => {
            // Copies a piece to another place.
            let end = (at + 1 + dice.number_below(8)).min(letters.len());
            let piece = letters[at..end].to_vec();
            let place = dice.number_below(letters.len() + 1);
            letters.splice(place..place, piece);
        }
        4 => {
            // Replaces a quote, blank or operator.
            let from = dice.pick(&["'", "\"", " ", "\n", ";", "`", "$", "(", ")"]);
            let places: Vec<usize> = (0..letters.len()).filter(|at| from.contains(letters[*at])).collect();
            if !places.is_empty() {
                let place = places[dice.number_below(places.len())];
                let to =
                    dice.pick(&["'", "\"", " ", "\n", "\t", ";", "`", "\\", "$", "&", "|", "#", "\\\n", ""]);
                letters.splice(place..=place, to.chars());
            }
        }
        5 => {
            letters.splice(at..at, ['\\', '\n']);
        }
        _ => {
            letters.splice(at..at, dice.pick(NASTY).chars());
        }
    }
}
