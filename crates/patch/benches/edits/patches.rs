//! Formats a draft as a patch text, as a model writes it in each of the formats.

use std::fmt::Write;

use crate::draft::{Draft, Format, Numbers, Part, Sign, There, Wrap, indent, is_telling};

/// Formats the patch.
pub(crate) fn text(draft: &Draft) -> String {
    let patch = match draft.manner.format {
        Format::Envelope => envelope(draft),
        Format::Unified => unified(draft),
        Format::Replace => replacement(draft),
    };
    let patch = match draft.manner.wrap {
        Wrap::None => patch,
        Wrap::Fence(language) => format!("```{language}\n{patch}```\n"),
        Wrap::Heredoc(opening) => format!("{opening}\n{patch}EOF\n"),
        Wrap::Json => serde_json::json!({ "input": patch }).to_string(),
    };
    if draft.manner.windows && draft.manner.format != Format::Replace {
        patch.replace('\n', "\r\n")
    } else {
        patch
    }
}

/// Returns the lines of the file that enclose a hunk, judged by indentation, innermost first.
pub(crate) fn enclosing(draft: &Draft, part: &Part) -> Vec<String> {
    let rows = draft.rows();
    let first = part.old().find_map(|said| draft.row(said.cell?));
    let depth =
        part.old().filter(|said| !said.text.trim().is_empty()).map(|said| indent(&said.text).len()).min();
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

fn envelope(draft: &Draft) -> String {
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

fn said_line(out: &mut String, draft: &Draft, sign: Sign, text: &str) {
    let mark = match sign {
        Sign::Keep if text.is_empty() && draft.manner.tight => "",
        Sign::Keep => " ",
        Sign::Drop => "-",
        Sign::Add => "+",
    };
    let _ = writeln!(out, "{mark}{text}");
}

fn unified(draft: &Draft) -> String {
    let path = &draft.path;
    let mut out = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
    let mut grown = 0_isize;
    for part in &draft.parts {
        let count = |sign: Sign| part.lines.iter().filter(|said| said.sign != sign).count();
        let (old, new) = (count(Sign::Add), count(Sign::Drop));
        let first = start(draft, part);
        let heading = part.headers.first().map(|header| format!(" {}", header.trim())).unwrap_or_default();
        let (at, extra) = match part.numbers {
            Numbers::Right => (first.cast_signed(), 0),
            Numbers::Off(by) => ((first.cast_signed() + by).max(1), 0),
            Numbers::Miscounted(extra) => (first.cast_signed(), extra),
            Numbers::Missing => (0, 0),
        };
        let _ = match part.numbers {
            Numbers::Missing => writeln!(out, "@@ ... @@{heading}"),
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
pub(crate) fn start(draft: &Draft, part: &Part) -> usize {
    if let Some(row) = part.old().find_map(|said| draft.row(said.cell?)) {
        return row + 1;
    }
    let first = part.lines.iter().find_map(|said| said.cell);
    let before = draft.cells.iter().take_while(|cell| Some(cell.id) != first);
    before.filter(|cell| cell.there != There::After).count()
}

fn is_last(draft: &Draft, id: usize, sign: Sign) -> bool {
    let last = |cells: Vec<&crate::draft::Cell>| cells.last().is_some_and(|cell| cell.id == id);
    match sign {
        Sign::Keep | Sign::Drop => last(draft.rows()),
        Sign::Add => last(draft.wanted(false)),
    }
}

fn replacement(draft: &Draft) -> String {
    let side = |without: Sign| {
        let lines = draft.parts.iter().flat_map(|part| &part.lines).filter(|said| said.sign != without);
        let mut text = lines.map(|said| said.text.as_str()).collect::<Vec<_>>().join("\n");
        if draft.manner.ended && !text.is_empty() {
            text.push('\n');
        }
        if draft.manner.windows { text.replace('\n', "\r\n") } else { text }
    };
    let (old, new) = (side(Sign::Add), side(Sign::Drop));
    let document =
        serde_json::json!({ "file_path": draft.path, "original_content": old, "updated_content": new });
    document.to_string()
}
