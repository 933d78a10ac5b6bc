//! Parser tests as tables: accepted ways to write a patch, tolerated mistakes, and rejected ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod envelope;
mod envelope_faults;
mod format_detection;
mod json;
mod properties;
mod truncated_diffs;
mod unified;
mod unified_faults;

use std::fmt::Write;

use toolgate_patch::{EditAction, FileEdit, Hunk, HunkLine, ParsedPatch, UpdateTarget};
use toolgate_patch::{PatchTextFormat, parse, parse_as};

/// Parses a text and returns the edits, or the error message.
fn tell(text: &str) -> String {
    match parse(text) {
        Ok(patch) => print(&patch),
        Err(wrong) => wrong.to_string(),
    }
}

/// Parses a text in one format and returns the edits, or the error message.
fn tell_as(format: PatchTextFormat, text: &str) -> String {
    match parse_as(format, text) {
        Ok(patch) => print(&patch),
        Err(wrong) => wrong.to_string(),
    }
}

/// Parses the lines of a file's update in an envelope.
fn update(lines: &str) -> String {
    tell(&format!("*** Begin Patch\n*** Update File: f\n{lines}*** End Patch\n"))
}

fn print(patch: &ParsedPatch) -> String {
    patch.edits.iter().map(edit).collect()
}

fn edit(edit: &FileEdit) -> String {
    let run = |executable: &Option<bool>| match executable {
        Some(true) => " +x",
        Some(false) => " -x",
        None => "",
    };
    let FileEdit { path, line, action, .. } = edit;
    match action {
        EditAction::Write { content, executable } => {
            format!("{line}: write {path}{} {content:?}\n", run(executable))
        }
        EditAction::Create { content, executable } => {
            format!("{line}: create {path}{} {content:?}\n", run(executable))
        }
        EditAction::Delete { hunks } => format!("{line}: delete {path}\n{}", all(hunks)),
        EditAction::Update { hunks, target, executable } => {
            let target = match target {
                UpdateTarget::Same => String::new(),
                UpdateTarget::Moved(to) | UpdateTarget::Renamed(to) => format!(" moved to {to}"),
                UpdateTarget::Copied(to) => format!(" copied to {to}"),
            };
            format!("{line}: update {path}{target}{}\n{}", run(executable), all(hunks))
        }
        EditAction::Replace { old, new, all } => {
            format!("{line}: replace {path} {old:?} by {new:?}{}\n", if *all { " everywhere" } else { "" })
        }
    }
}

fn all(hunks: &[Hunk]) -> String {
    let mut out = String::new();
    for hunk in hunks {
        write!(out, "  {}:", hunk.line).unwrap();
        hunk.headers.iter().for_each(|header| write!(out, " <{header}>").unwrap());
        hunk.old_start.iter().for_each(|at| write!(out, " at {at}").unwrap());
        let flags = [
            (hunk.at_end, " at end"),
            (hunk.old_without_newline, " old bare"),
            (hunk.new_without_newline, " new bare"),
        ];
        flags.iter().filter(|(on, _)| *on).for_each(|(_, name)| out.push_str(name));
        for (at, line) in hunk.lines.iter().enumerate() {
            let (sign, text) = match line {
                HunkLine::Keep(text) if hunk.unsigned_lines.contains(&at) => ('?', text),
                HunkLine::Keep(text) => (' ', text),
                HunkLine::Drop(text) => ('-', text),
                HunkLine::Add(text) => ('+', text),
            };
            write!(out, " [{sign}{text}]").unwrap();
        }
        out.push('\n');
    }
    out
}
