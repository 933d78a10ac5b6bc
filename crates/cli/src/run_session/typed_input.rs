//! Parses a line typed at the prompt: a slash command, the end, or a prompt for the model.

use super::slash_commands::COMMANDS;

/// A parsed input line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedInput<'a> {
    Nothing,
    Quit,
    /// A slash command and its argument, which may be empty.
    Command(&'static str, &'a str),
    /// A line that looks like a command and is none, with a hint. The model never gets it.
    Mistake(String),
    Prompt(&'a str),
}

impl<'a> TypedInput<'a> {
    /// Parses a line. A first word such as `/undo` makes it a command; a path such as `/etc/hosts` does not.
    pub(super) fn parse(line: &'a str) -> Self {
        let line = line.trim();
        if line.is_empty() {
            return Self::Nothing;
        }
        if ["exit", "quit"].iter().any(|word| line.eq_ignore_ascii_case(word)) {
            return Self::Quit;
        }
        let (first, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (Some(name), argument) = (first.strip_prefix('/'), argument.trim()) else {
            return Self::Prompt(line);
        };
        if !is_command_name(name) {
            return Self::Prompt(line);
        }
        let name = match name.to_lowercase() {
            name if name == "exit" => "quit".to_owned(),
            name => name,
        };
        match COMMANDS.iter().map(|(known, _)| *known).find(|known| *known == name) {
            None => Self::Mistake(unknown_command(&name)),
            Some(known) if !argument.is_empty() && !takes_argument(known) => {
                Self::Mistake(format!("/{known} takes no argument"))
            }
            Some("quit") => Self::Quit,
            Some(known) => Self::Command(known, argument),
        }
    }

    /// Returns the hint about a line that is typed during a turn, if the model must not get the line.
    pub(super) fn hint_during_turn(&self) -> Option<String> {
        let later = |name: &str| Some(format!("/{name} works between turns; Esc stops this one"));
        match self {
            Self::Nothing | Self::Prompt(_) => None,
            Self::Quit => later("quit"),
            Self::Command(name, _) => later(name),
            Self::Mistake(hint) => Some(hint.clone()),
        }
    }
}

fn takes_argument(command: &str) -> bool {
    matches!(command, "allow" | "apply" | "changes" | "discard" | "kill" | "model" | "redo" | "undo")
}

fn is_command_name(name: &str) -> bool {
    name.starts_with(char::is_alphabetic)
        && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'))
}

fn unknown_command(name: &str) -> String {
    let known = || COMMANDS.iter().map(|(known, _)| *known);
    let near = known()
        .find(|known| known.starts_with(name))
        .or_else(|| known().find(|known| is_typo_of(name, known)));
    match near {
        Some(near) => format!("there is no /{name}; did you mean /{near}?"),
        None => {
            format!(
                "there is no /{name}; /help shows what there is; a prompt may begin with the path `/{name}/`"
            )
        }
    }
}

/// Returns true if one letter of `name` is wrong, missing or too much, or two neighbours are swapped.
fn is_typo_of(name: &str, known: &str) -> bool {
    let (name, known): (Vec<char>, Vec<char>) = (name.chars().collect(), known.chars().collect());
    let same = name.iter().zip(&known).take_while(|(one, other)| one == other).count();
    match (&name[same..], &known[same..]) {
        ([a, b, rest @ ..], [c, d, others @ ..]) if (a, b) == (d, c) && rest == others => true,
        ([_, rest @ ..], [_, others @ ..]) if rest == others => true,
        ([_, rest @ ..], others) if rest == others => true,
        (rest, [_, others @ ..]) => rest == others,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_begins_with_a_slash_word_is_no_prompt() {
        let mistake = |text: &str| TypedInput::Mistake(text.to_owned());
        let rows = [
            (" \n", TypedInput::Nothing),
            ("/quit\n", TypedInput::Quit),
            ("/Exit", TypedInput::Quit),
            ("exit\n", TypedInput::Quit),
            ("Quit", TypedInput::Quit),
            ("/quit now", mistake("/quit takes no argument")),
            ("/tools\n", TypedInput::Command("tools", "")),
            ("/Help", TypedInput::Command("help", "")),
            ("/model gpt-5 \n", TypedInput::Command("model", "gpt-5")),
            ("/allow --host a.example\n", TypedInput::Command("allow", "--host a.example")),
            ("/undo 2", TypedInput::Command("undo", "2")),
            ("/diff is wrong\n", mistake("/diff takes no argument")),
            ("/alow --host x", mistake("there is no /alow; did you mean /allow?")),
            ("/udno", mistake("there is no /udno; did you mean /undo?")),
            ("/stat", mistake("there is no /stat; did you mean /status?")),
            (
                "/tmp is full",
                mistake(
                    "there is no /tmp; /help shows what there is; a prompt may begin with the path `/tmp/`",
                ),
            ),
            ("/etc/hosts is wrong\n", TypedInput::Prompt("/etc/hosts is wrong")),
            ("/etc/hosts\n", TypedInput::Prompt("/etc/hosts")),
            ("/", TypedInput::Prompt("/")),
            ("fix it\n", TypedInput::Prompt("fix it")),
            ("quit smoking", TypedInput::Prompt("quit smoking")),
        ];
        for (line, expected) in rows {
            assert_eq!(TypedInput::parse(line), expected, "{line:?}");
        }
    }

    #[test]
    fn typos_are_one_edit_away() {
        for (name, expected) in [
            ("clar", true),
            ("cleaar", true),
            ("claer", true),
            ("cleat", true),
            ("cloar", true),
            ("lcaer", false),
            ("c", false),
        ] {
            assert_eq!(is_typo_of(name, "clear"), expected, "{name}");
        }
    }
}
