//! Generates random scripts from the shell grammar.

use crate::heredoc::heredoc_command;
use crate::random::ScriptRng;
use crate::random_words::{disguise_name, quote_randomly, random_redirect, random_word};
use crate::seeds::SEEDS;

/// The style of generated words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordStyle {
    Ordinary,
    /// Words that look like something else.
    Hostile,
}

/// Generates a list of commands.
pub(crate) fn command_list(dice: &mut ScriptRng, depth: usize, mood: WordStyle) -> String {
    let mut out = step(dice, depth, mood);
    for _ in 0..dice.number_below(3) {
        let join = if out.ends_with('\n') {
            ""
        } else {
            dice.pick(&[
                "; ", "\n", " && ", " || ", " & ", "\n\n# note; evil\n", " # note\n", ";", "&&", "||\n", "&",
            ])
        };
        out = format!("{out}{join}{}", step(dice, depth, mood));
    }
    out
}

fn step(dice: &mut ScriptRng, depth: usize, mood: WordStyle) -> String {
    let first = command(dice, depth, mood);
    if dice.chance(20) && !first.ends_with('\n') {
        let pipe = dice.pick(&[" | ", " | ", "|", " |\n", " |& "]);
        return format!("{first}{pipe}{}", command(dice, depth, mood));
    }
    match dice.number_below(25) {
        0 => format!("! {first}"),
        1 => format!("time {first}"),
        2 => format!("time -p {first}"),
        _ => first,
    }
}

fn command(dice: &mut ScriptRng, depth: usize, mood: WordStyle) -> String {
    if depth == 0 || dice.chance(45) {
        return simple_command(dice, depth, mood);
    }
    match dice.number_below(4) {
        0 => wrapper_command(dice, depth, mood),
        1 => heredoc_command(dice, depth - 1, mood),
        _ => compound(dice, depth, mood),
    }
}

fn compound(dice: &mut ScriptRng, depth: usize, mood: WordStyle) -> String {
    // A function is named after its depth, so that none calls itself.
    let inner = |dice: &mut ScriptRng| command_list(dice, depth - 1, mood);
    let any = |dice: &mut ScriptRng| random_word(dice, depth - 1, mood);
    match dice.number_below(20) {
        0 => format!("if {}; then {}\nfi{}", condition(dice, depth), inner(dice), random_redirect(dice)),
        1 => format!("if {}\nthen\n{}\nelse\n{}\nfi", condition(dice, depth), inner(dice), inner(dice)),
        2 => format!(
            "if {}; then {}\nelif {}; then {}\nfi",
            condition(dice, depth),
            inner(dice),
            condition(dice, depth),
            inner(dice)
        ),
        3 => {
            format!("for i in {} {}; do {}\ndone{}", any(dice), any(dice), inner(dice), random_redirect(dice))
        }
        4 => format!("i=0; while [ $i -lt 2 ]; do {}\ni=$((i+1)); done", inner(dice)),
        5 => format!("case {} in\n a|b) {}\n;;\n *) {}\n;; esac", any(dice), inner(dice), inner(dice)),
        6 => format!(
            "case {} in ({}) {}\n;& {} | x) {}\n;;& *) esac",
            any(dice),
            any(dice),
            inner(dice),
            any(dice),
            inner(dice)
        ),
        7 => format!("({}\n){}", inner(dice), random_redirect(dice)),
        8 => format!("{{ {}\n}}{}", inner(dice), random_redirect(dice)),
        9 => format!("f{depth}() {{ {}\n}}; f{depth} {}", inner(dice), any(dice)),
        10 => format!("f{depth} () ( {}\n){}; f{depth}", inner(dice), random_redirect(dice)),
        11 => {
            format!("function f{depth} {{ {}\n}}; f{depth} | {}", inner(dice), simple_command(dice, 0, mood))
        }
        12 => format!("while IFS= read -r line; do {}\ndone < file.txt", inner(dice)),
        13 => format!("x={}; {}", any(dice), simple_command(dice, depth - 1, mood)),
        14 => format!("for ((i=0; i<2; i++)); do {}\ndone", inner(dice)),
        15 => format!("a=({} {}); {} \"${{a[@]}}\"", any(dice), any(dice), simple_command(dice, 0, mood)),
        16 => format!("x={} y=$({}\n) {}", any(dice), inner(dice), simple_command(dice, 0, mood)),
        17 => format!("n={}; ((n++)); [[ $n -gt 1 ]] && {}", dice.number_below(9), inner(dice)),
        18 => format!(
            "{} {} {{ {}\n}}",
            dice.pick(&["time", "!", "time -p", "! time"]),
            dice.pick(&["", "!"]),
            inner(dice)
        ),
        _ if mood == WordStyle::Hostile => dice.pick(SEEDS).to_owned(),
        _ => format!("until {}; do {}\nbreak; done", condition(dice, depth), inner(dice)),
    }
}

fn condition(dice: &mut ScriptRng, depth: usize) -> String {
    match dice.number_below(12) {
        0 => "[ -f file.txt ]".to_owned(),
        1 => format!("[ \"$x\" = {} ]", dice.pick(&["a", "\"$y\"", "''"])),
        2 => "[[ -n $x && $y == a* ]]".to_owned(),
        3 => "[[ $x =~ ^[0-9]+$ ]]".to_owned(),
        4 => "! alpha".to_owned(),
        5 => "test -d sub".to_owned(),
        6 => format!(
            "[[ {} == {} ]]",
            random_word(dice, 0, WordStyle::Hostile),
            random_word(dice, 0, WordStyle::Ordinary)
        ),
        7 => {
            format!(
                "[[ -z {} || ! ( -f {} ) ]]",
                random_word(dice, 0, WordStyle::Ordinary),
                random_word(dice, 0, WordStyle::Hostile)
            )
        }
        8 => "((1 + 1 > 1))".to_owned(),
        9 => format!("[ {} ]", random_word(dice, 0, WordStyle::Hostile)),
        _ => simple_command(dice, depth.saturating_sub(1), WordStyle::Ordinary),
    }
}

/// Generates a simple command with words and redirections.
pub(crate) fn simple_command(dice: &mut ScriptRng, depth: usize, mood: WordStyle) -> String {
    let mut out = String::new();
    if dice.chance(8) {
        let (name, value) =
            (dice.pick(&["FOO", "x", "BAR"]), dice.pick(&["1", "C", "\"$y\"", "'a b'", "$(alpha)", ""]));
        out = format!("{name}={value} ");
    }
    if dice.chance(4) {
        out += dice.pick(&[">out ", "2>&1 ", "<file.txt "]);
    }
    let names = [
        "alpha", "beta", "gamma", "delta", "echo", "printf '%s\\n'", "cat", "true", "head -n 2",
        "cd sub && alpha", "test -n", ":",
    ];
    let hidden = mood == WordStyle::Hostile && dice.chance(20);
    out += &if hidden { disguise_name(dice, "alpha") } else { dice.pick(&names).to_owned() };
    for _ in 0..dice.number_below(4) {
        out = format!(
            "{out}{}{}",
            dice.pick(&[" ", " ", " ", "  ", "\t", " \\\n"]),
            random_word(dice, depth.saturating_sub(1), mood)
        );
    }
    out + &random_redirect(dice)
}

/// Generates a command that starts another one.
pub(crate) fn wrapper_command(dice: &mut ScriptRng, depth: usize, mood: WordStyle) -> String {
    let inner = simple_command(dice, 0, WordStyle::Ordinary);
    let text = command_list(dice, depth.saturating_sub(1), mood);
    let script = quote_randomly(dice, &text);
    if dice.chance(45) {
        return command_around_script(dice, &script, &inner);
    }
    let plain = dice.pick(&[
        "alpha", "beta x", "gamma 'a b'", "env delta", "sh -c 'alpha; beta'", "nice alpha",
        "bash -c 'alpha \"$1\"' _ x", "xargs alpha", "printf x", "timeout 1 alpha",
        "env A=1 sh -c 'alpha $A'", "find . -exec alpha {} +", "alpha \"$x\"", "nohup env -i alpha y",
    ]);
    let option = dice.pick(&["", "", "-- ", "-x ", "-v ", "- "]);
    match dice.number_below(26) {
        0 => format!("env FOO=1 {plain}"),
        1 => format!("env -i -u X {plain}"),
        2 => format!("timeout {option}1 {plain}"),
        3 => format!("nice -n 3 {plain}"),
        4 => format!("nohup {option}{plain}"),
        5 => format!("stdbuf -oL {plain}"),
        6 => format!("command {option}{plain}"),
        7 => format!("echo a b c | xargs {plain}"),
        8 => format!("echo a b c | xargs -n 1 {plain}"),
        9 => format!("echo 'a b' | xargs -I{{}} {plain} {{}}x y"),
        10 => format!("find . -name 'f*' -exec {plain} {{}} \\;"),
        11 => format!("find . -type f -exec {plain} {{}} +"),
        12 => format!("(exec {option}{plain})"),
        13 => format!("time {inner}"),
        14 => format!("flock file.txt {plain}"),
        15 => format!("env -S 'alpha {}'", dice.pick(&["x", "-l y", "A=1"])),
        16 => format!("command -v {plain}"),
        17 => format!("setsid -w {plain}"),
        18 => format!(
            "find . -name {} {} -execdir {plain} \\;",
            random_word(dice, 0, WordStyle::Ordinary),
            dice.pick(&["-o", "", "!", "-type f"])
        ),
        19 => format!(
            "echo {} | xargs {} {plain}",
            random_word(dice, 0, WordStyle::Ordinary),
            dice.pick(&["-0", "-t", "-r", "-n1 -P2", "-d ,", "-L 1", "-i", "-E x"])
        ),
        20 => format!(
            "env {} {plain}",
            dice.pick(&["-", "--", "-u A", "A=1 B=2", "-C sub", "A='b c'", "-i PATH=\"$PATH\"", "-v"])
        ),
        21 => format!(
            "git {} status",
            dice.pick(&["-c user.name=x", "-C sub", "--no-pager", "-c color.ui=false", "-p"])
        ),
        22 => format!(
            "{} {plain}",
            dice.pick(&[
                "ionice -c3", "taskset 1", "chrt -o 0", "setpriv --no-new-privs", "builtin", "exec -a n",
                "time", "\\time"
            ])
        ),
        23 => format!("find {} -exec {plain} \\;", random_word(dice, 0, mood)),
        24 => format!("{plain} {}", random_word(dice, 0, mood)),
        _ => format!("timeout -k 1 -s TERM 1 {plain} {}", random_word(dice, 0, mood)),
    }
}

/// Generates a command that runs `script`, which is one word.
pub(crate) fn command_around_script(dice: &mut ScriptRng, script: &str, inner: &str) -> String {
    match dice.number_below(18) {
        0 => format!("bash -c {script}"),
        1 => format!("sh -c {script}"),
        2 => format!("bash -ec {script} name arg"),
        3 => format!("eval {script}"),
        4 => format!("(trap {script} EXIT; {inner})"),
        5 => format!("dash -c {script}"),
        6 => format!("busybox sh -c {script}"),
        7 => format!("bash -euo pipefail -c {script}"),
        8 => format!("echo a | xargs -n1 sh -c {script} _"),
        9 => format!("find . -name file.txt -exec bash -c {script} _ {{}} \\;"),
        10 => format!("env A=1 bash -c {script}"),
        11 => format!("flock file.txt -c {script}"),
        12 => format!("timeout 1 sh -c {script}"),
        13 => format!("eval -- {script} ';' {inner}"),
        14 => format!("script -qc {script} /dev/null"),
        15 => format!("trap -- {script} 0"),
        16 => format!("sh -ec {script} | cat"),
        _ => format!("command eval {script}"),
    }
}
