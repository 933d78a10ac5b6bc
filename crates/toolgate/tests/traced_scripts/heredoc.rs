//! Generates random here-documents.

use crate::grammar::{WordStyle, command_list, simple_command};
use crate::random::ScriptRng;
use crate::random_words::{escape_for_backticks, random_word};

/// Spellings of a delimiter, each with the line that ends the document.
const ENDS: &[(&str, &str)] = &[
    ("E", "E"),
    ("'E'", "E"),
    ("\"E\"", "E"),
    ("\\E", "E"),
    ("E\\F", "EF"),
    ("'E F'", "E F"),
    ("E'F'", "EF"),
    ("X", "X"),
    ("EOF", "EOF"),
    ("'EOF'", "EOF"),
    ("E-1", "E-1"),
    ("'E;F'", "E;F"),
    ("E.F", "E.F"),
    ("!", "!"),
];
const LINES: &[&str] = &[
    "text", "$(alpha)", "`alpha`", "`alpha \"x\"`", "\\$(evil)", "\\\\$(alpha)", "\\`evil\\`",
    "$x ${x:-$(alpha)}", "$((1+1))", "it's", "say \"x\"", "\"$(alpha \"y\")\"", "'$(alpha)'", "${x:-'}",
    "\\\\", "text \\\\", "E ", " E", "\tE", "EF", "#", "# $(alpha)", "$(alpha\nbeta\n)",
    "$(cat <<I\n$(alpha)\nI\n)", "<<E", "<<'E'", "$", "`echo \\`alpha\\``", "${x:-a\\}$(alpha)}", "",
    "$(echo \")\")", "$'x'", "$\"x\"", "\\x", "! { [[ (", ")", "`echo ')'`", "$(case x in x) alpha;; esac)",
    "alpha; evil", "$(alpha # )\n)", "${x:-\"$(alpha)\"}", "~", "*", "{a,b}", "${#x}", "\\\"",
    "$(alpha '\nE\n')",
];

/// Generates a command with one or two here-documents.
pub(crate) fn heredoc_command(dice: &mut ScriptRng, depth: usize, mood: WordStyle) -> String {
    let (command, other) =
        (simple_command(dice, 0, WordStyle::Ordinary), simple_command(dice, 0, WordStyle::Ordinary));
    let (first, body) = document(dice, depth, mood);
    if dice.chance(35) {
        let (second, more) = document(dice, depth, mood);
        let head = match dice.number_below(8) {
            0 => format!("cat {first} {second}"),
            1 => format!("cat {first} | {command} {second}"),
            2 => format!("cat {first} && {command} {second}"),
            3 => format!("cat {first}; {command} {second}; {other}"),
            4 => format!("{{ cat {first}; cat {second}; }}"),
            5 => format!("(cat {first}) | (cat {second})"),
            6 => format!("cat {first} {second} > out"),
            _ => format!("if cat {first}; then cat {second}; fi"),
        };
        return format!("{head}\n{body}{more}");
    }
    match dice.number_below(16) {
        0 => format!("cat {first} | {command}\n{body}"),
        1 => format!("cat {first}; {command}\n{body}"),
        2 => format!("cat {first} && {command} || {other}\n{body}"),
        3 => format!("cat {first} &&\n{body}{command}"),
        4 => format!("cat {first} |\n{body}{command}"),
        5 => format!("{{ cat {first}\n{body}{command}\n}}"),
        6 => format!("(cat {first}\n{body})"),
        7 => format!("x=$(cat {first}\n{body})"),
        8 => format!("while read -r l; do {command}; done {first}\n{body}"),
        9 => format!("h() {{ cat {first}\n{body}}}; h"),
        10 => format!("cat {first} # it's a note\n{body}{command}"),
        11 => format!("{first} cat\n{body}"),
        12 => format!("cat {first}& {command}\n{body}"),
        13 => format!("if {command}; then cat {first}\n{body}fi"),
        14 => format!("case x in x) cat {first}\n{body};; esac"),
        _ => format!("cat {first} {}\n{body}", random_word(dice, 0, WordStyle::Ordinary).replace('\n', " ")),
    }
}

/// Generates the redirection of a here-document, and its text up to the delimiter.
fn document(dice: &mut ScriptRng, depth: usize, mood: WordStyle) -> (String, String) {
    let (written, end) = ENDS[dice.number_below(ENDS.len())];
    let tabs = dice.chance(20);
    let mut body = String::new();
    for _ in 0..dice.number_below(4) {
        let line = match dice.number_below(10) {
            0 if depth > 0 => format!("$({}\n)", command_list(dice, depth - 1, mood)),
            1 if depth > 0 => format!("`{}`", escape_for_backticks(&command_list(dice, depth - 1, mood))),
            2 => random_word(dice, depth.saturating_sub(1), mood),
            _ => dice.pick(LINES).to_owned(),
        };
        if tabs && dice.chance(50) {
            body.push('\t');
        }
        body += &line;
        body.push('\n');
    }
    let lead = if tabs { "\t" } else { "" };
    let begin =
        format!("<<{}{}{written}", if tabs { "-" } else { "" }, if dice.chance(15) { " " } else { "" });
    (begin, format!("{body}{lead}{end}\n"))
}
