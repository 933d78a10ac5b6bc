//! Formats a plan as a summary with one line per file.

use std::collections::HashSet;
use std::fmt;

use crate::matching::MatchPass;
use crate::plan::{FileChange, PatchPlan};

impl FileChange {
    /// Returns true if the whole old content is replaced: by a full write, a move or a copy.
    pub fn replaces_whole_file(&self) -> bool {
        let whole = self.from.is_some() || self.landed_hunks.is_empty();
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => whole && before.bytes != after.bytes,
            _ => false,
        }
    }
}

impl PatchPlan {
    /// Returns the changes to list. A move counts as one change, not two.
    pub fn listed_changes(&self) -> impl Iterator<Item = &FileChange> {
        let moved = self.changes.iter().filter(|change| change.moved);
        let moved: HashSet<&str> = moved.filter_map(|change| change.from.as_deref()).collect();
        self.changes.iter().filter(move |change| change.after.is_some() || !moved.contains(&*change.path))
    }
}

/// Escapes control characters so that a path stays on one line.
fn escape_control_chars(path: &str) -> String {
    let char = |char: char| match char.is_control() {
        true => char.escape_default().to_string(),
        false => char.to_string(),
    };
    path.chars().map(char).collect()
}

impl fmt::Display for PatchPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        for change in self.listed_changes() {
            let FileChange { path, from, landed_hunks, .. } = change;
            lines.push(match from.as_ref().filter(|_| change.moved) {
                Some(from) => format!("R {} -> {}", escape_control_chars(from), escape_control_chars(path)),
                None => format!("{} {}", change.status_letter(), escape_control_chars(path)),
            });
            if change.replaces_whole_file() {
                lines.push("  all of it was replaced".to_owned());
            }
            for (line, pass) in landed_hunks {
                if *pass == MatchPass::AlreadyApplied {
                    lines.push(format!("  what it makes at line {line} stood there already"));
                }
                if let Some(overlooked) = pass.ignored_difference() {
                    lines.push(format!("  at line {line}, overlooking {overlooked}"));
                }
            }
        }
        lines.extend(
            self.already_applied
                .iter()
                .map(|path| format!("  {} is as the patch wants it already", escape_control_chars(path))),
        );
        f.write_str(&lines.join("\n"))
    }
}
