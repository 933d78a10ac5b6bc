//! Finds writes to persistent paths that are hidden by a preceding `cd` or by a variable that the line sets.

use crate::programs::program_name;
use crate::programs::{CommandRisk, WRITES_PERSISTENT_PATH, classify_command, is_persistent_path};
use crate::shell::{ScriptCommand, ScriptRedirect, ScriptWord, literal_text, word_text};

/// Maximum number of directories examined.
const MAX_DIRECTORIES: usize = 16;

/// Lists the directories that the commands of a line change to, each relative to the previous one.
pub(crate) fn directories_changed_to<'a>(commands: impl Iterator<Item = &'a ScriptCommand>) -> Vec<String> {
    let mut directories: Vec<String> = Vec::new();
    let goes = |command: &&ScriptCommand| {
        literal_text(&command.words[0]).is_some_and(|name| matches!(name, "cd" | "pushd"))
    };
    for command in commands.filter(goes).take(MAX_DIRECTORIES) {
        let mut operands = command.words[1..].iter().map(word_text).filter(|word| !word.starts_with('-'));
        let target = operands.next().unwrap_or("~").trim_matches('"');
        let from = directories.last().map_or(".", String::as_str);
        directories.push(join(from, target));
    }
    // Below the start directory only files of git are persistent.
    directories.retain(|directory| {
        directory.starts_with(['/', '~', '$', '`']) || directory.contains("..") || directory.contains(".git")
    });
    directories.sort_unstable();
    directories.dedup();
    directories
}

/// Returns the danger of the paths that `command` writes if it runs in one of `directories`.
pub(crate) fn find_danger(command: &ScriptCommand, directories: &[String]) -> Option<&'static str> {
    directories.iter().find_map(|directory| {
        let lasts = |redirect: &ScriptRedirect| match redirect {
            ScriptRedirect::Write(to) | ScriptRedirect::Append(to) | ScriptRedirect::ReadWrite(to) => {
                is_persistent_path(&join(directory, word_text(to)))
            }
            ScriptRedirect::Read(_) | ScriptRedirect::Text(_) => false,
        };
        let operand =
            |word: &str| if word.starts_with('-') { word.to_owned() } else { join(directory, word) };
        let words: Vec<String> = command.words[1..].iter().map(|word| operand(word_text(word))).collect();
        let argv: Vec<&str> = std::iter::once(program_name(word_text(&command.words[0])))
            .chain(words.iter().map(String::as_str))
            .collect();
        let writes = classify_command(&argv) == CommandRisk::Dangerous(WRITES_PERSISTENT_PATH);
        (writes || command.redirects.iter().any(lasts)).then_some(WRITES_PERSISTENT_PATH)
    })
}

/// Returns the danger of the output path of `command` after variables are replaced by the values that the line sets.
pub(crate) fn danger_by_variable(
    command: &ScriptCommand,
    assigned: &[(String, ScriptWord)],
) -> Option<&'static str> {
    let lasts = |redirect: &ScriptRedirect| match redirect {
        ScriptRedirect::Write(to) | ScriptRedirect::Append(to) | ScriptRedirect::ReadWrite(to) => {
            let set = |(name, value): &(String, ScriptWord)| {
                let named = word_text(to).replace(&format!("${{{name}}}"), word_text(value));
                is_persistent_path(&named.replace(&format!("${name}"), word_text(value)))
            };
            assigned.iter().any(set)
        }
        ScriptRedirect::Read(_) | ScriptRedirect::Text(_) => false,
    };
    command.redirects.iter().any(lasts).then_some(WRITES_PERSISTENT_PATH)
}

/// Joins `path` to `directory`.
fn join(directory: &str, path: &str) -> String {
    let path = path.trim_matches('"');
    if path.starts_with(['/', '~', '$', '`']) { path.to_owned() } else { format!("{directory}/{path}") }
}
