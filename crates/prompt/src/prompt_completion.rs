//! Completes the word before the cursor: slash commands, files below the working directory, and programs in backticks.
#![expect(clippy::disallowed_methods, reason = "lists directories for the person at the keyboard")]

use std::path::{Path, PathBuf};

use policy::is_invisible;

/// Candidates that are shown at most.
const MAX_CANDIDATES: usize = 20;
/// Directory entries that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The result of a completion.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The start of the replaced text, which ends at the cursor.
    pub(crate) start: usize,
    pub(crate) insert: String,
    /// The remaining candidates, if there are several.
    pub(crate) candidates: Vec<String>,
}

/// The slash commands: name and help of each.
pub type CommandNames = &'static [(&'static str, &'static str)];

/// Returns the words that an argument may begin with now.
type ArgumentWords = Box<dyn Fn() -> Vec<String> + Send>;

/// Completes words in one working directory.
pub struct PromptCompleter {
    commands: CommandNames,
    /// Commands, and the words that their arguments may begin with.
    arguments: Vec<(&'static str, ArgumentWords)>,
    cwd: PathBuf,
    /// The directory that `~` stands for.
    home: Option<PathBuf>,
}

impl PromptCompleter {
    /// A completer of `commands`, and of the files below `cwd`.
    pub fn new(commands: CommandNames, cwd: PathBuf) -> Self {
        Self { commands, arguments: Vec::new(), cwd, home: std::env::home_dir() }
    }

    /// Completes `words` too, after `command`.
    #[must_use]
    pub fn with_arguments(
        mut self,
        command: &'static str,
        words: impl Fn() -> Vec<String> + Send + 'static,
    ) -> Self {
        self.arguments.push((command, Box::new(words)));
        self
    }

    /// Completes the word before `cursor`.
    pub(crate) fn complete(&self, text: &str, cursor: usize) -> Completion {
        let before = &text[..cursor];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let is_quoted = before[line_start..].matches('"').count() % 2 == 1;
        let separators: &[char] = if is_quoted { &['"'] } else { &[' ', '\n', '\t', '"', '\'', '(', '@'] };
        let start = before.rfind(separators).map_or(0, |at| at + 1);
        let word = &before[start..];
        if start == 0
            && let Some(command) = word.strip_prefix('/')
            && !command.contains('/')
        {
            let names = self.commands.iter().map(|(name, _)| format!("/{name}"));
            return best_completion(start, word, names.filter(|name| name.starts_with(word)).collect());
        }
        let typed_command = before[..start].trim().strip_prefix('/');
        if let Some((_, words)) = self.arguments.iter().find(|(name, _)| Some(*name) == typed_command) {
            return best_completion(
                start,
                word,
                words().into_iter().filter(|one| one.starts_with(word)).collect(),
            );
        }
        if let Some(program) = word.strip_prefix('`') {
            return best_completion(start + 1, program, programs(program));
        }
        let (directory, prefix) =
            word.rsplit_once('/').map_or(("", word), |(directory, prefix)| (directory, prefix));
        let shown = &word[..word.len() - prefix.len()];
        let directory = match (shown, shown.strip_prefix("~/"), &self.home) {
            ("/", ..) => Path::new("/").to_owned(),
            (_, Some(below), Some(home)) => home.join(below),
            _ => self.cwd.join(directory),
        };
        let names = entries(&directory, prefix).into_iter().map(|name| format!("{shown}{name}")).collect();
        quote_blanks(best_completion(start, word, names), is_quoted)
    }
}

/// Puts a name with blanks in quotes, which stay open until the name is complete.
fn quote_blanks(mut done: Completion, is_quoted: bool) -> Completion {
    let name = done.insert.trim_end_matches(' ');
    let is_complete = done.candidates.is_empty() && name.len() < done.insert.len();
    let has_blank = if is_complete { name.contains(' ') } else { done.insert.contains(' ') };
    match (is_quoted, has_blank) {
        (true, _) if is_complete => done.insert = format!("{name}\" "),
        (false, true) if is_complete => done.insert = format!("\"{name}\" "),
        (false, true) => done.insert = format!("\"{}", done.insert),
        _ => {}
    }
    done
}

/// Completes `word` as far as all candidates agree.
fn best_completion(start: usize, word: &str, mut candidates: Vec<String>) -> Completion {
    candidates.sort();
    candidates.dedup();
    match candidates.as_slice() {
        [] => Completion { start, insert: word.to_owned(), candidates },
        [only] => {
            let end = if only.ends_with('/') { "" } else { " " };
            Completion { start, insert: format!("{only}{end}"), candidates: Vec::new() }
        }
        [first, rest @ ..] => {
            let common = rest.iter().fold(first.as_str(), |common, other| common_prefix(common, other));
            let insert = if common.len() > word.len() { common } else { word }.to_owned();
            candidates.truncate(MAX_CANDIDATES);
            Completion { start, insert, candidates }
        }
    }
}

fn common_prefix<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    &one[..same]
}

/// Returns the names in `directory` that begin with `prefix`; directories end with a slash. Hidden files need a dot.
fn entries(directory: &Path, prefix: &str) -> Vec<String> {
    let Ok(read) = std::fs::read_dir(directory) else { return Vec::new() };
    read.take(MAX_ENTRIES)
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let fits = name.starts_with(prefix) && (prefix.starts_with('.') || !name.starts_with('.'));
            let is_plain =
                !name.chars().any(|letter| is_invisible(letter) || matches!(letter, '"' | '\t' | '\n'));
            let slash = if entry.path().is_dir() { "/" } else { "" };
            (fits && is_plain).then(|| format!("{name}{slash}"))
        })
        .collect()
}

/// Returns the programs of `PATH` whose names begin with `prefix`.
fn programs(prefix: &str) -> Vec<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).flat_map(|directory| entries(&directory, prefix));
    found.filter(|name| !name.ends_with('/')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["src/main.rs", "src/markdown.rs", "README.md", ".hidden", "a b", "my one", "my two/x y"]
        {
            let file = directory.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let cwd = directory.path().to_owned();
        let commands = &[("sessions", ""), ("status", ""), ("undo", "")];
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let (flags, ids) = (words(&["--host", "--network", "--read-root"]), words(&["1000", "1001", "all"]));
        let completer =
            PromptCompleter { home: Some(cwd.join("src")), ..PromptCompleter::new(commands, cwd) }
                .with_arguments("allow", move || flags.clone())
                .with_arguments("kill", move || ids.clone());
        let rows = [
            ("/und", "/undo ", ""),
            ("/s", "/s", "/sessions /status"),
            ("/allow --", "/allow --", "--host --network --read-root"),
            ("/allow --h", "/allow --host ", ""),
            ("/kill ", "/kill ", "1000 1001 all"),
            ("/kill 10", "/kill 100", "1000 1001"),
            ("/kill a", "/kill all ", ""),
            ("/allow --read-root s", "/allow --read-root src/", ""),
            ("see --h", "see --h", ""),
            ("see REA", "see README.md ", ""),
            ("see src/m", "see src/ma", "src/main.rs src/markdown.rs"),
            ("s", "src/", ""),
            ("look at @src/mai", "look at @src/main.rs ", ""),
            (".h", ".hidden ", ""),
            ("a", "\"a b\" ", ""),
            ("see m", "see \"my ", "my one my two/"),
            ("see \"my o", "see \"my one\" ", ""),
            ("see \"my t", "see \"my two/", ""),
            ("see \"my two/", "see \"my two/x y\" ", ""),
            ("see ~/mai", "see ~/main.rs ", ""),
            ("nothing/like", "nothing/like", ""),
        ];
        for (typed, expected, candidates) in rows {
            let done = completer.complete(typed, typed.len());
            assert_eq!(format!("{}{}", &typed[..done.start], done.insert), expected);
            assert_eq!(done.candidates.join(" "), candidates, "{typed}");
        }
        assert!(completer.complete("run `bas", 8).insert.starts_with("bas"));
    }
}
