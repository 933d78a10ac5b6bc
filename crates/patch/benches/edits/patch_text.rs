//! Formats a draft as a patch text, as a model writes it in each of the formats.

use std::fmt::Write;

use crate::case_draft::{
    CaseDraft, DraftFormat, DraftHunk, HunkNumbers, LinePresence, LineSign, PatchWrapper, indent, is_telling,
};

/// Formats the patch.
pub(crate) fn format_patch(draft: &CaseDraft) -> String {
    let patch = match draft.manner.format {
        DraftFormat::Envelope => envelope(draft),
        DraftFormat::Unified => unified(draft),
        DraftFormat::Replace => replacement(draft),
    };
    let patch = match draft.manner.wrap {
        PatchWrapper::None => patch,
        PatchWrapper::Fence(language) => format!("```{language}\n{patch}```\n"),
        PatchWrapper::Heredoc(opening) => format!("{opening}\n{patch}EOF\n"),
        PatchWrapper::Json => serde_json::json!({ "input": patch }).to_string(),
    };
    if draft.manner.windows && draft.manner.format != DraftFormat::Replace {
        patch.replace('\n', "\r\n")
    } else {
        patch
    }
}

/// Returns the lines of the file that enclose a hunk, judged by indentation, innermost first.
pub(crate) fn enclosing_lines(draft: &CaseDraft, part: &DraftHunk) -> Vec<String> {
    let rows = draft.rows();
    let first = part.old_lines().find_map(|said| draft.row(said.cell?));
    let depth = part
        .old_lines()
        .filter(|said| !said.text.trim().is_empty())
        .map(|said| indent(&said.text).len())
        .min();
    let (Some(first), Some(mut depth)) = (first, depth) else { return Vec::new() };
    let mut headers = Vec::new();
    for cell in rows[..first].iter().rev() {
        if depth > 0 && indent(&cell.text).len() < depth && is_telling(&cell.text) {
            depth = indent(&cell.text).len();
            headers.push(cell.text.clone());
        }
    }
    headers
}

fn envelope(draft: &CaseDraft) -> String {
    let mut out = format!("*** Begin Patch\n*** Update File: {}\n", draft.path);
    for part in &draft.parts {
        match part.headers.as_slice() {
            [] => out.push_str("@@\n"),
            headers => headers.iter().for_each(|header| {
                let _ = writeln!(out, "@@ {header}");
            }),
        }
        for said in &part.lines {
            said_line(&mut out, draft, said.sign, &said.text);
        }
    }
    out.push_str("*** End Patch\n");
    out
}

fn said_line(out: &mut String, draft: &CaseDraft, sign: LineSign, text: &str) {
    let mark = match sign {
        LineSign::Keep if text.is_empty() && draft.manner.tight => "",
        LineSign::Keep => " ",
        LineSign::Drop => "-",
        LineSign::Add => "+",
    };
    let _ = writeln!(out, "{mark}{text}");
}

fn unified(draft: &CaseDraft) -> String {
    let path = &draft.path;
    let mut out = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
    let mut grown = 0_isize;
    for part in &draft.parts {
        let count = |sign: LineSign| part.lines.iter().filter(|said| said.sign != sign).count();
        let (old, new) = (count(LineSign::Add), count(LineSign::Drop));
        let first = hunk_start(draft, part);
        let heading = part.headers.first().map(|header| format!(" {}", header.trim())).unwrap_or_default();
        let (at, extra) = match part.numbers {
            HunkNumbers::Right => (first.cast_signed(), 0),
            HunkNumbers::Off(by) => ((first.cast_signed() + by).max(1), 0),
            HunkNumbers::Miscounted(extra) => (first.cast_signed(), extra),
            HunkNumbers::Missing => (0, 0),
        };
        let _ = match part.numbers {
            HunkNumbers::Missing => writeln!(out, "@@ ... @@{heading}"),
            _ => writeln!(
                out,
                "@@ -{at},{} +{},{} @@{heading}",
                old + extra,
                (at + grown).max(0),
                new + 2 * extra
            ),
        };
        grown += new.cast_signed() - old.cast_signed();
        for said in &part.lines {
            said_line(&mut out, draft, said.sign, &said.text);
            if draft.bare
                && draft.says_bare()
                && said.cell.is_some_and(|cell| is_last(draft, cell, said.sign))
            {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    }
    out
}

/// Returns the first line of a hunk in the file, counted from 1. For inserted lines it is the line before them.
pub(crate) fn hunk_start(draft: &CaseDraft, part: &DraftHunk) -> usize {
    if let Some(row) = part.old_lines().find_map(|said| draft.row(said.cell?)) {
        return row + 1;
    }
    let first = part.lines.iter().find_map(|said| said.cell);
    let before = draft.cells.iter().take_while(|cell| Some(cell.id) != first);
    before.filter(|cell| cell.there != LinePresence::After).count()
}

fn is_last(draft: &CaseDraft, id: usize, sign: LineSign) -> bool {
    let last = |cells: Vec<&crate::case_draft::DraftLine>| cells.last().is_some_and(|cell| cell.id == id);
    match sign {
        LineSign::Keep | LineSign::Drop => last(draft.rows()),
        LineSign::Add => last(draft.expected_lines(false)),
    }
}

fn replacement(draft: &CaseDraft) -> String {
    let side = |without: LineSign| {
        let lines = draft.parts.iter().flat_map(|part| &part.lines).filter(|said| said.sign != without);
        let mut text = lines.map(|said| said.text.as_str()).collect::<Vec<_>>().join("\n");
        if draft.manner.ended && !text.is_empty() {
            text.push('\n');
        }
        if draft.manner.windows { text.replace('\n', "\r\n") } else { text }
    };
    let (old, new) = (side(LineSign::Add), side(LineSign::Drop));
    let document =
        serde_json::json!({ "file_path": draft.path, "original_content": old, "updated_content": new });
    document.to_string()
}
