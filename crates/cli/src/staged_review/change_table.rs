//! The list of staged changes for a person: one line a change, removals first, mass folded.

use std::path::Path;
use std::sync::LazyLock;

use anstyle::{AnsiColor, Style};
use runtime::DenyRead;
use staging::{Change, ChangeList, EntryKind, FoldedDirectory, Stage, StagedChangeKind};

use config::OperationFault;
use terminal::FAINT;

const RED: Style = AnsiColor::Red.on_default();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// Prints the pending changes of `stage` to standard output.
pub(crate) fn print_changes(stage: &Stage, list: &ChangeList) -> Result<(), OperationFault> {
    if list.is_empty() {
        terminal::print_hint("no changes are pending");
    }
    Ok(terminal::print_styled(&format_changes(stage, list))?)
}

/// Prints the pending changes of `stage` to standard error, before a question.
pub(crate) fn show_changes(stage: &Stage, list: &ChangeList) {
    terminal::print_stderr(format_changes(stage, list).trim_end());
}

fn format_changes(stage: &Stage, list: &ChangeList) -> String {
    let directory = stage.working_directory();
    let mut text = String::new();
    for change in &list.changes {
        text.push_str(&change_line(change, &directory));
    }
    for folded in &list.folded {
        text.push_str(&folded_line(folded, &directory));
    }
    for (path, files) in &list.git {
        let name = shown(path, &directory);
        text.push_str(&format!("  {YELLOW}git{YELLOW:#}       {name}  {FAINT}{files} files; commits and branches are applied by git's own rules{FAINT:#}\n"));
    }
    for conflict in &list.conflicts {
        let name = shown(&conflict.path, &directory);
        text.push_str(&format!("  {RED}conflict{RED:#}  {name}  {FAINT}{}{FAINT:#}\n", conflict.why));
    }
    text
}

/// Prints the commands that go on from here.
pub(crate) fn print_next(list: &ChangeList) {
    if !list.is_empty() {
        terminal::print_hint("toolgate apply, toolgate discard, or toolgate changes --diff");
    }
}

fn change_line(change: &Change, directory: &Path) -> String {
    let (word, style) = match change.kind {
        StagedChangeKind::Removed => ("removed", RED),
        StagedChangeKind::Replaced => ("replaced", RED),
        StagedChangeKind::Modified => ("modified", YELLOW),
        StagedChangeKind::Permissions => ("mode", YELLOW),
        StagedChangeKind::Added => ("added", GREEN),
    };
    let name = shown(&change.path, directory);
    let slash = if change.entry == EntryKind::Directory { "/" } else { "" };
    let facts = facts(change).join(", ");
    let facts = if facts.is_empty() { facts } else { format!("  {FAINT}{facts}{FAINT:#}") };
    let loud = warnings(change).map(|text| format!("  {RED}{text}{RED:#}")).unwrap_or_default();
    format!("  {style}{word:8}{style:#}  {name}{slash}{facts}{loud}\n")
}

fn facts(change: &Change) -> Vec<String> {
    let mut facts = Vec::new();
    match change.entry {
        EntryKind::File => {}
        EntryKind::Directory => {}
        EntryKind::Link => facts.push("link".to_owned()),
        EntryKind::Fifo => facts.push("FIFO".to_owned()),
        EntryKind::Socket => facts.push("socket, not applied".to_owned()),
        EntryKind::Device => facts.push("device, not applied".to_owned()),
    }
    if change.is_binary {
        facts.push("binary".to_owned());
    }
    match (change.old_size, change.new_size) {
        (Some(old), Some(new)) if change.is_binary && old != new => {
            facts.push(format!("{} → {}", bytes(old), bytes(new)));
        }
        (_, Some(size)) | (Some(size), None) if size > 0 => facts.push(bytes(size)),
        _ => {}
    }
    facts
}

fn warnings(change: &Change) -> Option<String> {
    let mut warnings = Vec::new();
    if change.becomes_executable {
        warnings.push("executable".to_owned());
    }
    if looks_secret(&change.path) && change.kind != StagedChangeKind::Removed {
        warnings.push("looks like a secret".to_owned());
    }
    if let Some(when) = &change.takes_effect {
        warnings.push(format!("takes effect when you {when}"));
    }
    (!warnings.is_empty()).then(|| warnings.join(", "))
}

/// Returns true if a file of this name usually holds a secret.
pub(super) fn looks_secret(path: &Path) -> bool {
    static SECRETS: LazyLock<Option<DenyRead>> = LazyLock::new(|| {
        DenyRead::new(runtime::DEFAULT_DENY_READ.iter().copied(), std::env::home_dir().as_deref()).ok()
    });
    SECRETS.as_ref().is_some_and(|secrets| secrets.denying_pattern(path).is_some())
}

fn folded_line(folded: &FoldedDirectory, directory: &Path) -> String {
    let FoldedDirectory { path, added, modified, removed, bytes: size } = folded;
    let counts = [(added, "added"), (modified, "modified"), (removed, "removed")];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| **count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let name = shown(path, directory);
    format!("  {GREEN}many{GREEN:#}      {name}/  {FAINT}{}, {}{FAINT:#}\n", counts.join(", "), bytes(*size))
}

/// Returns the path relative to the directory of the session, in one line.
pub(super) fn shown(path: &Path, directory: &Path) -> String {
    let below = path.strip_prefix(directory).unwrap_or(path);
    terminal::to_one_line(&below.display().to_string())
}

fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if count < 1000 {
        return format!("{count} B");
    }
    let (mut value, mut unit) = (count / 100, 0);
    while value >= 10_000 && unit + 1 < UNITS.len() {
        value /= 1000;
        unit += 1;
    }
    format!("{}.{} {}", value / 10, value % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_short() {
        for (count, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (999_999, "999.9 kB"),
            (2_100_000, "2.1 MB"),
            (2_147_483_648, "2.1 GB"),
        ] {
            assert_eq!(bytes(count), text, "{count}");
        }
    }
}
