//! Parses the head of a file's part in a diff: names, modes, renames and blob ids.

use super::diff_names;
use super::hunk_reader::ParsedHunk;
use crate::parse::source_lines::SourceLines;
use crate::parse::{PatchSyntaxError, clip};

/// Texts after the name of a file that does not exist.
const MISSING_FILE_MARKS: [&str; 4] = ["1970-01-01", "1969-12-31", "(nonexistent)", "(revision 0)"];

/// The lines before the hunks of a file.
#[derive(Debug)]
pub(super) struct DiffFileHead {
    /// The line where the head begins.
    pub(super) line: usize,
    /// The two names of `diff --git`, if they can be separated.
    pub(super) git_names: Option<(String, String)>,
    /// The names after `---` and `+++`.
    pub(super) sides: Option<(DiffSide, DiffSide)>,
    /// The two names of `rename` or `copy`, which have no prefix.
    pub(super) moved_names: (Option<String>, Option<String>),
    pub(super) kind: DiffFileKind,
    pub(super) executable: Option<bool>,
    /// Git's blob ids of the content before and after.
    pub(super) blob_ids: Option<(String, String)>,
}

/// The kind of change to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffFileKind {
    Change,
    New,
    Deleted,
    Moved,
    Copied,
}

/// The text after `---` or `+++`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffSide {
    /// The name; `None` for `/dev/null`.
    pub(super) name: Option<String>,
    /// True if the text marks a missing file: diff gives it the epoch as its time, and svn has words for it.
    is_missing: bool,
    /// True if a date follows the name, as diff writes it when it compares two files.
    pub(super) has_date: bool,
}

impl DiffFileHead {
    /// Returns true if the diff creates the file. diff names a new file on both sides; the old one has no time and no
    /// lines.
    pub(super) fn creates_file(&self, found: &[ParsedHunk]) -> bool {
        let is_missing = self.sides.as_ref().is_some_and(|(old, _)| old.is_missing);
        is_missing && !found.is_empty() && found.iter().all(|found| found.hunk.old_lines().next().is_none())
    }

    /// Returns true if the diff deletes the file. diff names a deleted file on both sides; the new one has no time and
    /// no lines.
    pub(super) fn deletes_file(&self, found: &[ParsedHunk]) -> bool {
        let is_missing = self.sides.as_ref().is_some_and(|(_, new)| new.is_missing);
        is_missing && !found.is_empty() && found.iter().all(|found| found.hunk.new_lines().next().is_none())
    }
}

/// Returns true if this line begins a file's part in git's format.
pub(super) fn is_git_diff_line(line: &str) -> bool {
    ["diff --git ", "diff --cc ", "diff --combined "].iter().any(|start| line.starts_with(start))
}

/// Returns true if `---` and `+++` stand here with a hunk after them. A removed and an added line can look the same.
pub(super) fn is_name_pair(lines: &SourceLines<'_>, at: usize) -> bool {
    let starts = |at: usize, start: &str| lines.get(at).is_some_and(|line| line.starts_with(start));
    starts(at, "--- ") && starts(at + 1, "+++ ") && starts(at + 2, "@@")
}

/// Returns true if a pair names one file with two prefixes, as git does, so that it can be nothing else.
pub(super) fn is_certain_name_pair(lines: &SourceLines<'_>, at: usize) -> bool {
    let side = |at: usize, start: &str| {
        let text = lines.get(at).and_then(|line| line.strip_prefix(start))?;
        parse_side(text, lines.number(at)).ok()?.name
    };
    if !is_name_pair(lines, at) {
        return false;
    }
    match (side(at, "--- "), side(at + 1, "+++ ")) {
        (Some(old), Some(new)) => old != new && diff_names::common_file(&old, &new).is_some(),
        (Some(_), None) | (None, Some(_)) => true,
        (None, None) => false,
    }
}

/// Parses the lines before the hunks. Returns the head and the line after it.
pub(super) fn read_head(
    lines: &SourceLines<'_>,
    start: usize,
) -> Result<(DiffFileHead, usize), PatchSyntaxError> {
    let line = lines.number(start);
    let (git_names, sides, moved_names, kind) = (None, None, (None, None), DiffFileKind::Change);
    let mut head =
        DiffFileHead { line, git_names, sides, moved_names, kind, executable: None, blob_ids: None };
    let mut at = start;
    let first = lines.get(start).unwrap_or_default();
    if is_git_diff_line(first) {
        let Some(names) = first.strip_prefix("diff --git ") else {
            let hint = "compare with one file: write a diff with `@@` and two names";
            return Err(PatchSyntaxError::new(line, "a diff against several files cannot be applied", hint));
        };
        head.git_names = diff_names::split_git_names(names, line)?;
        at += 1;
        // ends: each round takes a line
        while let Some(text) = lines.get(at)
            && head.read_extended_header(text, lines.number(at))?
        {
            at += 1;
        }
    }
    let Some(old) = lines.get(at).and_then(|text| text.strip_prefix("--- ")) else {
        return Ok((head, at));
    };
    let Some(new) = lines.get(at + 1).and_then(|text| text.strip_prefix("+++ ")) else {
        let hint = "write `+++ b/path` after `--- a/path`";
        return Err(PatchSyntaxError::new(lines.number(at), "`---` stands without its `+++`", hint));
    };
    head.sides = Some((parse_side(old, lines.number(at))?, parse_side(new, lines.number(at + 1))?));
    Ok((head, at + 2))
}

impl DiffFileHead {
    /// Parses one of git's extended header lines. Returns `false` if it is none.
    fn read_extended_header(&mut self, text: &str, number: usize) -> Result<bool, PatchSyntaxError> {
        let after = |start: &str| text.strip_prefix(start).map(str::trim);
        if let Some(mode) = after("old mode ").or_else(|| after("deleted file mode ")) {
            parse_executable_bit(mode, number)?;
            if text.starts_with("deleted") {
                self.kind = DiffFileKind::Deleted;
            }
        } else if let Some(mode) = after("new mode ") {
            self.executable = Some(parse_executable_bit(mode, number)?);
        } else if let Some(mode) = after("new file mode ") {
            self.executable = Some(parse_executable_bit(mode, number)?);
            self.kind = DiffFileKind::New;
        } else if let Some(name) = after("rename from ").or_else(|| after("copy from ")) {
            self.moved_names.0 = Some(diff_names::unquote_name(name, number)?);
        } else if let Some(name) = after("rename to ").or_else(|| after("copy to ")) {
            self.moved_names.1 = Some(diff_names::unquote_name(name, number)?);
            self.kind = if text.starts_with("rename") { DiffFileKind::Moved } else { DiffFileKind::Copied };
        } else if let Some(index) = after("index ") {
            let (blobs, mode) =
                index.split_once(' ').map_or((index, None), |(blobs, mode)| (blobs, Some(mode)));
            if let Some(mode) = mode {
                parse_executable_bit(mode.trim(), number)?;
            }
            self.blob_ids = blobs.split_once("..").map(|(old, new)| (old.to_owned(), new.to_owned()));
        } else {
            return Ok(after("similarity index ").or_else(|| after("dissimilarity index ")).is_some());
        }
        Ok(true)
    }
}

/// Returns the executable bit of a mode. Symlinks and submodules are errors.
fn parse_executable_bit(mode: &str, number: usize) -> Result<bool, PatchSyntaxError> {
    let bits = u32::from_str_radix(mode, 8).unwrap_or_default();
    let (what, hint) = match bits >> 12 {
        0o10 => return Ok(bits & 0o111 != 0),
        0o12 => ("a symbolic link cannot be patched", "make the link with a command"),
        0o16 => ("a submodule cannot be patched", "move it to another commit with git"),
        _ => {
            let what = format!("`{}` is not a file mode", clip(mode));
            return Err(PatchSyntaxError::new(number, what, "write 100644, or 100755 for a program"));
        }
    };
    Err(PatchSyntaxError::new(number, what, hint))
}

/// Parses the name after `---` or `+++`, and the time after a tab.
fn parse_side(text: &str, number: usize) -> Result<DiffSide, PatchSyntaxError> {
    let (name, time) = match text.starts_with('"') {
        true => (text, ""),
        false => text.split_once('\t').unwrap_or((text, "")),
    };
    let is_missing = MISSING_FILE_MARKS.iter().any(|start| time.starts_with(start));
    let has_date =
        time.split_once('-').is_some_and(|(year, _)| year.len() == 4 && year.parse::<u16>().is_ok());
    let name = name.trim_end();
    let name = if name == "/dev/null" { None } else { Some(diff_names::unquote_name(name, number)?) };
    Ok(DiffSide { name, is_missing, has_date })
}
