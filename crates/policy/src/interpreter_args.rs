//! Finds the program that an interpreter runs, by its arguments: a text, a file, or its standard input.

use crate::programs::ShellFamily;
use crate::shell::{ScriptWord, word_text};

/// Options of other interpreters whose value, the next word, is not a program.
const VALUE_OPTIONS: &[&str] = &["-C", "-I", "-O", "-W", "-X", "-r", "--import", "--require"];
/// Options of other interpreters that take a program text; one-letter options may be combined with others.
const PROGRAM_TEXT_OPTIONS: &[&str] =
    &["-c", "-e", "-E", "--eval", "--print", "-Command", "--command", "eval"];
/// Option letters whose value is the rest of the word.
const ATTACHED_VALUE_LETTERS: &[char] = &['C', 'F', 'I', 'M', 'W', 'X', 'i', 'm', 'r', 'x'];

/// The source of the program that an interpreter runs.
pub(crate) enum ScriptSource<'a> {
    /// Standard input.
    Input,
    /// This text.
    Text(&'a ScriptWord),
    /// This file.
    File(&'a ScriptWord),
}

impl<'a> ScriptSource<'a> {
    /// Finds the program source of the interpreter `name` with these arguments.
    pub(crate) fn from_args(name: &str, words: &'a [ScriptWord]) -> Self {
        match ShellFamily::of(name) {
            Some(ShellFamily::Foreign) => other_source(name, words),
            Some(_) => shell_source(words),
            None if name.ends_with("awk") => awk_source(words),
            None => other_source(name, words),
        }
    }
}

fn shell_source(rest: &[ScriptWord]) -> ScriptSource<'_> {
    let mut words = rest.iter();
    let mut texts = false;
    // ends: each round takes a word
    while let Some(word) = words.next() {
        let written = word_text(word);
        let Some(letters) = written.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) else {
            if written == "-" {
                continue;
            }
            return if texts { ScriptSource::Text(word) } else { ScriptSource::File(word) };
        };
        if let Some(long) = letters.strip_prefix('-') {
            if long.starts_with("command=") {
                return ScriptSource::Text(word);
            }
            texts |= long == "command";
            if matches!(long, "rcfile" | "init-file") {
                words.next();
            }
            continue;
        }
        texts |= written.starts_with('-') && letters.contains('c');
        if letters.contains('s') && !texts {
            return ScriptSource::Input;
        }
        if letters.ends_with(['o', 'O']) {
            words.next();
        }
    }
    ScriptSource::Input
}

/// The program of `awk` is its first operand, unless an option names a file.
fn awk_source(rest: &[ScriptWord]) -> ScriptSource<'_> {
    let mut words = rest.iter();
    // ends: each round takes a word
    while let Some(word) = words.next() {
        match word_text(word) {
            "-f" | "--file" => {
                let file = words.next().filter(|file| word_text(file) != "-");
                return file.map_or(ScriptSource::Input, ScriptSource::File);
            }
            "-e" | "--source" => return words.next().map_or(ScriptSource::Input, ScriptSource::Text),
            "-F" | "-v" | "-i" | "-l" => drop(words.next()),
            "--" => return words.next().map_or(ScriptSource::Input, ScriptSource::Text),
            written if written.starts_with('-') && written.len() > 1 => {}
            _ => return ScriptSource::Text(word),
        }
    }
    ScriptSource::Input
}

fn other_source<'a>(name: &str, rest: &'a [ScriptWord]) -> ScriptSource<'a> {
    let prints = name.starts_with("node") || name.starts_with("bun");
    let mut words = rest.iter();
    // ends: each round takes a word
    while let Some(word) = words.next() {
        let written = word_text(word);
        let next_is_text = match written {
            // For some interpreters `-E` is a flag, for others it takes a text.
            "-E" => words.as_slice().first().is_some_and(|next| !word_text(next).starts_with('-')),
            "-p" => prints,
            "-r" => name.starts_with("php"),
            _ => PROGRAM_TEXT_OPTIONS.contains(&written) || ends_in_text_option(name, written),
        };
        if next_is_text {
            return words.next().map_or(ScriptSource::Input, ScriptSource::Text);
        }
        let attached = |option: &str| written.strip_prefix(option).is_some_and(|text| text.starts_with('='));
        match written {
            "-" => return ScriptSource::Input,
            "-m" => return words.next().map_or(ScriptSource::Input, ScriptSource::File),
            _ if VALUE_OPTIONS.contains(&written) => drop(words.next()),
            _ if ["-c", "-e"].iter().any(|option| written.starts_with(option)) => {
                return ScriptSource::Text(word);
            }
            _ if ["--eval", "--print", "--command"].iter().any(|option| attached(option)) => {
                return ScriptSource::Text(word);
            }
            _ if written.starts_with('-') => {}
            _ => return ScriptSource::File(word),
        }
    }
    ScriptSource::Input
}

/// Returns true if the last of combined option letters takes a text: `-Bc`, `-lne`.
fn ends_in_text_option(name: &str, written: &str) -> bool {
    let letters = written.strip_prefix('-').and_then(|rest| rest.strip_suffix(['c', 'e', 'E']));
    let of_python = |letter: char| name.starts_with("py") && "Iix".contains(letter);
    let flags = |letter: char| {
        letter.is_ascii_alphanumeric() && (!ATTACHED_VALUE_LETTERS.contains(&letter) || of_python(letter))
    };
    letters.is_some_and(|letters| !letters.is_empty() && letters.chars().all(flags))
}
