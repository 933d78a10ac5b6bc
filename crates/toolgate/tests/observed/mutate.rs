//! Generates and mutates scripts: inserts and removes characters and pieces, splices scripts, and nests them.

use crate::dice::ScriptRng;
use crate::grammar::{WordStyle, around_script, list, wrapper};
use crate::heredoc::here;
use crate::lab::TracedShell;
use crate::own::own;
use crate::seeds::{NASTY, SEEDS};
use crate::words::{in_backticks, quote};

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
    "a[$(evil)]",
    "($(evil))",
    "$(evil)",
    "`evil`",
    "-v a[$(evil)]",
    "-va[$(evil)]",
    "; evil",
    ". -exec evil ;",
    "-exec",
    "a=b evil",
    "evil",
    "\nevil\n",
    "-c evil",
    "x",
    "1",
    "{evil,a}",
];

/// Returns a random initial value of a script's variables.
pub(crate) fn value(dice: &mut ScriptRng) -> &'static str {
    if dice.chance(50) { "" } else { dice.pick(VALUES) }
}

/// Returns a random kind.
pub(crate) fn kind(dice: &mut ScriptRng) -> ScriptKind {
    let mut left = dice.below(100);
    for (kind, share) in KINDS {
        if left < *share {
            return *kind;
        }
        left -= share;
    }
    ScriptKind::Ordinary
}

/// Returns a random shell.
pub(crate) fn shell(dice: &mut ScriptRng) -> TracedShell {
    if dice.chance(70) { TracedShell::Bash } else { TracedShell::ALL[1 + dice.below(TracedShell::ALL.len() - 1)] }
}

/// Generates a script of this kind.
pub(crate) fn script(dice: &mut ScriptRng, kind: ScriptKind) -> String {
    match kind {
        ScriptKind::Ordinary => list(dice, 3, WordStyle::Ordinary),
        ScriptKind::Hostile => list(dice, 3, WordStyle::Hostile),
        ScriptKind::Here => here(dice, 2, WordStyle::Hostile),
        ScriptKind::Wrapped => wrapper(dice, 2, WordStyle::Hostile),
        ScriptKind::Mutated => {
            let script = match dice.below(5) {
                4 => own(dice),
                0 => here(dice, 1, WordStyle::Hostile),
                1 => wrapper(dice, 1, WordStyle::Ordinary),
                2 => list(dice, 1, WordStyle::Ordinary),
                _ => list(dice, 2, WordStyle::Hostile),
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
        ScriptKind::Own => own(dice),
    }
}

/// Splices two seeds.
fn splice(dice: &mut ScriptRng) -> String {
    let (a, b) = (dice.pick(SEEDS), dice.pick(SEEDS));
    let cut = |dice: &mut ScriptRng, text: &str| {
        let at = dice.below(text.len() + 1);
        (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
    };
    let (i, j) = (cut(dice, a), cut(dice, b));
    match dice.below(4) {
        0 => format!("{}{}", &a[..i], &b[j..]),
        1 => format!("{}{b}{}", &a[..i], &a[i..]),
        2 => format!("{}{}{}", &a[..i], &b[..j], &a[i..]),
        _ => format!("{a}{}{b}", dice.pick(&["\n", "; ", " | ", " && ", " & "])),
    }
}

fn soup(dice: &mut ScriptRng) -> String {
    let mut out = String::new();
    for _ in 0..2 + dice.below(8) {
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
    let mut script = match dice.below(5) {
        0 => dice.pick(SEEDS).to_owned(),
        1 => here(dice, 1, WordStyle::Hostile),
        2 => splice(dice),
        3 => own(dice),
        _ => list(dice, 1, WordStyle::Hostile),
    };
    for _ in 0..=dice.below(3) {
        script = put(dice, &script);
    }
    if dice.chance(20) { mutate(dice, &script) } else { script }
}

fn put(dice: &mut ScriptRng, script: &str) -> String {
    match dice.below(22) {
        0 => format!("echo $({script}\n)"),
        1 => format!("echo \"$({script}\n)\""),
        2 => format!("echo `{}`", in_backticks(script)),
        3 => format!("cat <({script}\n)"),
        4 => format!("cat <<END\n$({script}\n)\nEND\n"),
        5 => format!("cat <<END\n`{}`\nEND\n", in_backticks(script)),
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
        16 => format!("echo \"a`{}`\"", in_backticks(script)),
        17 => format!("x=1 y=$({script}\n) alpha"),
        18 => format!("a=($({script}\n) x)"),
        _ => {
            let script = quote(dice, script);
            around_script(dice, &script, "beta")
        }
    }
}

/// Applies some random changes to a script.
fn mutate(dice: &mut ScriptRng, script: &str) -> String {
    let mut letters: Vec<char> = script.chars().collect();
    for _ in 0..1 + dice.below(3) {
        change(dice, &mut letters);
    }
    letters.into_iter().collect()
}

fn change(dice: &mut ScriptRng, letters: &mut Vec<char>) {
    let at = dice.below(letters.len() + 1);
    match dice.below(9) {
        0 if at < letters.len() => {
            letters.remove(at);
        }
        1 if at + 1 < letters.len() => letters.swap(at, at + 1),
        2 if at < letters.len() => letters.insert(at, letters[at]),
        3 if at < letters.len() => {
            // Copies a piece to another place.
            let end = (at + 1 + dice.below(8)).min(letters.len());
            let piece = letters[at..end].to_vec();
            let place = dice.below(letters.len() + 1);
            letters.splice(place..place, piece);
        }
        4 => {
            // Replaces a quote, blank or operator.
            let from = dice.pick(&["'", "\"", " ", "\n", ";", "`", "$", "(", ")"]);
            let places: Vec<usize> = (0..letters.len()).filter(|at| from.contains(letters[*at])).collect();
            if !places.is_empty() {
                let place = places[dice.below(places.len())];
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
