//! Parses unified diffs, as git, diff and models write them.

mod diff_names;
mod file_head;
mod hunk_reader;
mod truncation;

use super::source_lines::SourceLines;
use super::wrapper::PatchSource;
use super::{PatchSyntaxError, clip, path_check};
use crate::edit::{EditAction, FileEdit, HunkLine, ParsedPatch, UpdateTarget};
use file_head::{DiffFileHead, DiffFileKind};
use hunk_reader::ParsedHunk;

/// The shortest abbreviation of a hash that git writes.
const MIN_HASH_LENGTH: usize = 7;

/// Parses a diff of one or more files. Skips text before the first file, such as a mail's head.
pub(super) fn parse(source: &PatchSource<'_>) -> Result<ParsedPatch, PatchSyntaxError> {
    let lines = SourceLines::new(source);
    let (mut edits, mut counts) = (Vec::new(), truncation::DiffLineCounts::default());
    let mut at = skip_preamble(&lines, 0)?;
    // ends: each round takes the lines of a file
    while at < lines.len() {
        let (head, after) = file_head::read_head(&lines, at)?;
        refuse_binary(lines.get(after).unwrap_or_default(), lines.number(after))?;
        let (found, after) = hunk_reader::read_hunks(&lines, after, source.complete)?;
        found.iter().for_each(|found| counts.add_hunk(found));
        edits.push(build_edit(&lines, &head, found)?);
        at = skip_between_files(&lines, after)?;
    }
    if edits.is_empty() {
        let hint = "name the file with `--- a/path` and `+++ b/path`";
        return Err(PatchSyntaxError::new(source.first_line_number, "the diff names no file", hint));
    }
    counts.reject_truncated(&lines, source)?;
    Ok(ParsedPatch { edits })
}

/// Returns true if a file's part begins at this line.
pub(super) fn begins_file(lines: &SourceLines<'_>, at: usize) -> bool {
    let line = lines.get(at).unwrap_or_default();
    file_head::is_git_diff_line(line) || file_head::is_name_pair(lines, at)
}

/// Returns the first line at or after `at` that begins a file's part, or the end of the text.
fn skip_preamble(lines: &SourceLines<'_>, at: usize) -> Result<usize, PatchSyntaxError> {
    let (mut at, mut in_words) = (at, false);
    // ends: each round takes a line
    while at < lines.len() && !begins_file(lines, at) {
        if let Some(after) = skip_svn_properties(lines, at) {
            at = after;
            continue;
        }
        let line = lines.get(at).unwrap_or_default();
        in_words |= begins_commit(line);
        // The message of a commit is not part of the diff, whatever it contains.
        if in_words {
            at += 1;
            continue;
        }
        if line.starts_with("@@") {
            let hint = "write `--- a/path` and `+++ b/path` before it";
            return Err(PatchSyntaxError::new(
                lines.number(at),
                "a hunk stands before any file's name",
                hint,
            ));
        }
        if line.starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ ")) {
            let hint = "write `@@` and the lines that change directly after `+++`";
            return Err(PatchSyntaxError::new(lines.number(at), "a file is named and no hunk follows", hint));
        }
        refuse_binary(line, lines.number(at))?;
        at += 1;
    }
    Ok(at)
}

/// Returns the line after svn's property changes, if they begin here.
fn skip_svn_properties(lines: &SourceLines<'_>, at: usize) -> Option<usize> {
    let starts = |at: usize, start: &str| lines.get(at).is_some_and(|line| line.starts_with(start));
    // svn names a file even if only its properties change.
    let is_named = starts(at, "--- ") && starts(at + 1, "+++ ");
    let first = if is_named { (at + 2..lines.len()).find(|at| !lines.is_blank(*at))? } else { at };
    if !starts(first, "Property changes on: ") {
        return None;
    }
    let is_next = |at: &usize| begins_file(lines, *at) || starts(*at, "Index: ");
    Some((first..lines.len()).find(is_next).unwrap_or(lines.len()))
}

/// Skips the lines that may stand after a file's part.
fn skip_between_files(lines: &SourceLines<'_>, at: usize) -> Result<usize, PatchSyntaxError> {
    let mut at = at;
    // ends: each round takes a line
    while at < lines.len() && !begins_file(lines, at) {
        let line = lines.get(at).unwrap_or_default();
        if begins_commit(line) {
            return skip_preamble(lines, at);
        }
        refuse_binary(line, lines.number(at))?;
        if let Some(after) = skip_svn_properties(lines, at) {
            at = after;
            continue;
        }
        if hunk_reader::is_mail_signature(lines, at) {
            at += 2;
            continue;
        }
        if !is_separator_line(line) && !lines.is_blank(at) {
            let what = format!("`{}` is not part of a diff", clip(line));
            let hint =
                "begin the lines of a hunk with ` `, `+` or `-`, a hunk with `@@`, a file with `--- a/path`";
            return Err(PatchSyntaxError::new(lines.number(at), what, hint));
        }
        at += 1;
    }
    Ok(at)
}

/// Returns true if a line may stand between files and carries no information.
fn is_separator_line(line: &str) -> bool {
    ["diff -", "Index: ", "Only in ", "====="].iter().any(|start| line.starts_with(start))
}

/// Returns true if a line stands between files and not in a hunk.
fn is_between_files(line: &str) -> bool {
    is_separator_line(line) || begins_commit(line) || refuse_binary(line, 0).is_err()
}

/// Returns true if the message of another commit begins here. A line that only looks similar could belong to a hunk.
fn begins_commit(line: &str) -> bool {
    if line == "# HG changeset patch" {
        return true;
    }
    let Some(rest) = line.strip_prefix("From ").or_else(|| line.strip_prefix("commit ")) else {
        return false;
    };
    let hash = rest.split_whitespace().next().unwrap_or_default();
    hash.len() >= MIN_HASH_LENGTH && hash.bytes().all(|sign| sign.is_ascii_hexdigit())
}

/// Rejects a binary diff, which does not contain the change.
fn refuse_binary(line: &str, number: usize) -> Result<(), PatchSyntaxError> {
    let differ =
        (line.starts_with("Binary files ") || line.starts_with("Files ")) && line.ends_with(" differ");
    if differ || line.starts_with("GIT binary patch") {
        let hint = "write the file another way, for example with a command";
        return Err(PatchSyntaxError::new(number, "a binary file cannot be patched", hint));
    }
    Ok(())
}

/// Creates the edit from the part of one file.
fn build_edit(
    lines: &SourceLines<'_>,
    head: &DiffFileHead,
    found: Vec<ParsedHunk>,
) -> Result<FileEdit, PatchSyntaxError> {
    let names = diff_names::resolve_names(head)?;
    let created = head.kind == DiffFileKind::New || names.old.is_none() || head.creates_file(&found);
    let gone = head.kind == DiffFileKind::Deleted || names.new.is_none() || head.deletes_file(&found);
    let (old, new) = (names.old.clone(), names.new.clone());
    let wrong = |what: &str, hint: &str| Err(PatchSyntaxError::new(head.line, what, hint));
    let (path, action) = match (created, gone) {
        (true, true) => {
            return wrong("the file is neither there before nor after", "name it in `---` or in `+++`");
        }
        (true, false) => (new.or(old), create_action(lines, head, &found)?),
        (false, true) => (old.or(new), delete_action(found)?),
        (false, false) => {
            let target = match (head.kind, names.new) {
                (DiffFileKind::Moved, Some(to)) => {
                    UpdateTarget::Renamed(path_check::check_path(&to, head.line)?)
                }
                (DiffFileKind::Copied, Some(to)) => {
                    UpdateTarget::Copied(path_check::check_path(&to, head.line)?)
                }
                (
                    DiffFileKind::Change
                    | DiffFileKind::New
                    | DiffFileKind::Deleted
                    | DiffFileKind::Moved
                    | DiffFileKind::Copied,
                    _,
                ) => UpdateTarget::Same,
            };
            if found.is_empty() && target == UpdateTarget::Same && head.executable.is_none() {
                return wrong(
                    "nothing changes in this file",
                    "write a hunk that begins with `@@`, or leave it out",
                );
            }
            let hunks = found.into_iter().map(|found| found.hunk).collect();
            (old.or(new), EditAction::Update { hunks, target, executable: head.executable })
        }
    };
    let path = path_check::check_path(&path.unwrap_or_default(), head.line)?;
    Ok(FileEdit { path, line: head.line, action, blob_ids: head.blob_ids.clone() })
}

fn create_action(
    lines: &SourceLines<'_>,
    head: &DiffFileHead,
    found: &[ParsedHunk],
) -> Result<EditAction, PatchSyntaxError> {
    if let Some(second) = found.get(1) {
        let hint = "write all of its lines in one hunk";
        return Err(PatchSyntaxError::new(second.hunk.line, "a new file has a second hunk", hint));
    }
    let mut content = String::new();
    if let Some(only) = found.first() {
        // Empty lines at the end are separators, whatever the counts say.
        let blank = |line: &&HunkLine| matches!(line, HunkLine::Keep(text) if text.is_empty());
        let apart = only.hunk.lines.iter().rev().take_while(blank).count();
        if only.hunk.old_lines().count() > apart {
            let what = "a new file has lines that stay or go";
            return Err(PatchSyntaxError::new(
                only.hunk.line,
                what,
                "begin every line of a new file with `+`",
            ));
        }
        content = only.added_text(lines);
    }
    Ok(EditAction::Create { content, executable: head.executable })
}

fn delete_action(found: Vec<ParsedHunk>) -> Result<EditAction, PatchSyntaxError> {
    let keeps = |found: &&ParsedHunk| found.hunk.lines.iter().any(|line| !matches!(line, HunkLine::Drop(_)));
    if let Some(found) = found.iter().find(keeps) {
        let what = "a file that is deleted has lines that stay or come";
        return Err(PatchSyntaxError::new(
            found.hunk.line,
            what,
            "begin every line of a deleted file with `-`",
        ));
    }
    Ok(EditAction::Delete { hunks: found.into_iter().map(|found| found.hunk).collect() })
}
