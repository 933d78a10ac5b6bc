//! Faults in rule files, with their position.

use std::path::{Path, PathBuf};

/// A fault in a rule file: the file, an optional position, and one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {why}", file.display(), format_position(*.place))]
pub struct RuleFault {
    /// The file.
    pub file: PathBuf,
    /// Line and column, from 1; `None` for a fault of the whole file.
    pub place: Option<(usize, usize)>,
    /// The problem, and a suggestion.
    pub why: String,
}

impl RuleFault {
    /// Creates a fault at a position in `file`.
    pub(super) fn at(file: &Path, place: (usize, usize), why: String) -> Self {
        Self { file: file.to_owned(), place: Some(place), why }
    }

    /// Creates a fault of the whole `file`.
    pub fn in_file(file: &Path, why: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place: None, why: why.into() }
    }
}

fn format_position(place: Option<(usize, usize)>) -> String {
    place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default()
}

/// The start positions of the lines of a text.
pub(super) struct LineStarts<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> LineStarts<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, line_starts: std::iter::once(0).chain(after).collect() }
    }

    /// Returns the line and column of the byte `at`, from 1; columns count characters.
    pub(super) fn line_and_column(&self, at: usize) -> (usize, usize) {
        let at = self.text.floor_char_boundary(at);
        let line = self.line_starts.partition_point(|begin| *begin <= at);
        let begin = self.line_starts[line - 1];
        (line, self.text[begin..at].chars().count() + 1)
    }
}
