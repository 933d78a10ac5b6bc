//! Parses `*** Begin Patch` to `*** End Patch`, the format that models are trained on.

use std::mem;

use super::marker::{self, EnvelopeMarker};
use super::source_lines::SourceLines;
use super::wrapper::PatchSource;
use super::{PatchSyntaxError, clip, heading, hunk_body, path_check};
use crate::edit::{EditAction, FileEdit, Hunk, ParsedPatch, UpdateTarget};

/// Parses an envelope. A missing last line is an error: half a patch must not be applied.
pub(super) fn parse(source: &PatchSource<'_>) -> Result<ParsedPatch, PatchSyntaxError> {
    let lines = SourceLines::new(source);
    let pad = padding(&lines);
    let begin = lines.get(0).unwrap_or_default();
    if marker::parse_marker(begin.trim()) != Some(EnvelopeMarker::Begin) {
        let what = format!("the patch begins with `{}`", clip(begin.trim()));
        let hint = "put `*** Begin Patch` on the first line and say nothing before it";
        return Err(PatchSyntaxError::new(source.first_line_number, what, hint));
    }
    let cut_off =
        || PatchSyntaxError::cut_off(lines.number(lines.last()), "send all of it, up to `*** End Patch`");
    if !(1..lines.len()).any(|at| lines.get(at).is_some_and(marker::is_end_marker)) {
        return Err(cut_off());
    }
    let last = (0..lines.len()).rfind(|at| !lines.is_blank(*at));
    let mut reader = EnvelopeReader::default();
    let end = (1..lines.len()).try_fold(None, |end, at| match end {
        Some(end) => Ok(Some(end)),
        None => {
            let line = lines.get(at).unwrap_or_default();
            // The last line ends the envelope, with any indentation.
            let closes = Some(at) == last && marker::is_end_marker(line);
            let line = if closes { line.trim() } else { line.strip_prefix(pad).unwrap_or_default() };
            let ended = reader.read_line(line, lines.number(at))?;
            Ok::<_, PatchSyntaxError>(ended.then_some(at))
        }
    })?;
    let end = end.ok_or_else(cut_off)?;
    if let Some(at) = (end + 1..lines.len()).find(|at| !lines.is_blank(*at)) {
        let what = format!("`{}` follows `*** End Patch`", clip(lines.get(at).unwrap_or_default().trim()));
        let hint = "write one patch, and nothing after it";
        return Err(PatchSyntaxError::new(lines.number(at), what, hint));
    }
    if reader.edits.is_empty() {
        let hint = "write `*** Add File: path`, `*** Update File: path` or `*** Delete File: path`";
        return Err(PatchSyntaxError::new(source.first_line_number, "the patch names no file", hint));
    }
    Ok(ParsedPatch { edits: reader.edits })
}

/// Returns the indentation of the first line, if every line has it: then the whole patch is indented.
fn padding<'a>(lines: &SourceLines<'a>) -> &'a str {
    let first = lines.get(0).unwrap_or_default();
    let pad = &first[..first.len() - first.trim_start().len()];
    let padded = |at| lines.is_blank(at) || lines.get(at).is_some_and(|line| line.starts_with(pad));
    if (0..lines.len()).all(padded) { pad } else { "" }
}

/// The parser state.
#[derive(Default)]
struct EnvelopeReader {
    edits: Vec<FileEdit>,
    section: EnvelopeSection,
}

/// The section of the file that was named last.
#[derive(Default)]
enum EnvelopeSection {
    /// No file is named yet.
    #[default]
    None,
    Add(AddSection),
    Delete,
    Update(UpdateSection),
}

impl EnvelopeReader {
    /// Parses a line. Returns `true` if it was the last.
    fn read_line(&mut self, text: &str, number: usize) -> Result<bool, PatchSyntaxError> {
        // In an update, a line that begins with a space is a context line, whatever it contains.
        let marked = match &self.section {
            EnvelopeSection::Update(update) if !update.ended => text,
            EnvelopeSection::None
            | EnvelopeSection::Add(_)
            | EnvelopeSection::Delete
            | EnvelopeSection::Update(_) => text.trim(),
        };
        if marked.starts_with("***") {
            return self.read_marker(marked, number);
        }
        let blank = text.trim().is_empty();
        match &mut self.section {
            EnvelopeSection::Add(add) => add.read_line(text, number)?,
            EnvelopeSection::Update(update) => update.read_line(text, number)?,
            EnvelopeSection::None | EnvelopeSection::Delete if blank => {}
            EnvelopeSection::None => {
                let what = format!("`{}` stands before any file's name", clip(text));
                let hint = "name the file first, with `*** Add File: path` or `*** Update File: path`";
                return Err(PatchSyntaxError::new(number, what, hint));
            }
            EnvelopeSection::Delete => {
                let what = format!("`{}` follows a file that is to be deleted", clip(text));
                return Err(PatchSyntaxError::new(number, what, "`*** Delete File: path` stands alone"));
            }
        }
        Ok(false)
    }

    fn read_marker(&mut self, text: &str, number: usize) -> Result<bool, PatchSyntaxError> {
        let Some(marker) = marker::parse_marker(text) else {
            let what = format!("`{}` means nothing", clip(text));
            return Err(PatchSyntaxError::new(number, what, marker::MARKERS_HINT));
        };
        match marker {
            EnvelopeMarker::Begin => {
                let what = "a second `*** Begin Patch`";
                return Err(PatchSyntaxError::new(
                    number,
                    what,
                    "write one patch for all files, with one `*** Begin Patch`",
                ));
            }
            EnvelopeMarker::End => {
                self.close()?;
                return Ok(true);
            }
            EnvelopeMarker::EndOfFile => self.mark_end_of_file(number)?,
            EnvelopeMarker::Move(to) => self.set_move_target(to, number)?,
            EnvelopeMarker::Add(file) => {
                let path = self.next_path(file, number)?;
                self.section =
                    EnvelopeSection::Add(AddSection { path, line: number, ..AddSection::default() });
            }
            EnvelopeMarker::Delete(file) => {
                let path = self.next_path(file, number)?;
                let action = EditAction::Delete { hunks: Vec::new() };
                self.edits.push(FileEdit { path, line: number, action, blob_ids: None });
                self.section = EnvelopeSection::Delete;
            }
            EnvelopeMarker::Update(file) => {
                let path = self.next_path(file, number)?;
                self.section =
                    EnvelopeSection::Update(UpdateSection { path, line: number, ..UpdateSection::default() });
            }
        }
        Ok(false)
    }

    /// Closes the current section and returns the next file's path.
    fn next_path(&mut self, file: &str, number: usize) -> Result<String, PatchSyntaxError> {
        self.close()?;
        path_check::check_unquoted_path(file, number)
    }

    fn close(&mut self) -> Result<(), PatchSyntaxError> {
        match mem::take(&mut self.section) {
            EnvelopeSection::None | EnvelopeSection::Delete => {}
            EnvelopeSection::Add(add) => self.edits.push(add.into_edit()),
            EnvelopeSection::Update(update) => self.edits.push(update.into_edit()?),
        }
        Ok(())
    }

    fn mark_end_of_file(&mut self, number: usize) -> Result<(), PatchSyntaxError> {
        let ended = match &mut self.section {
            EnvelopeSection::None | EnvelopeSection::Delete => false,
            EnvelopeSection::Add(add) => !mem::replace(&mut add.ended, true),
            EnvelopeSection::Update(update) => update.end_hunk_at_eof(),
        };
        if ended {
            return Ok(());
        }
        let what = "`*** End of File` follows no lines of a file";
        Err(PatchSyntaxError::new(
            number,
            what,
            "write it after the last lines of an update that ends where the file ends",
        ))
    }

    fn set_move_target(&mut self, to: &str, number: usize) -> Result<(), PatchSyntaxError> {
        if let EnvelopeSection::Update(update) = &mut self.section
            && update.target.is_none()
            && update.is_untouched()
        {
            update.target = Some(path_check::check_unquoted_path(to, number)?);
            update.pending_blanks = 0;
            return Ok(());
        }
        let hint = "write it once, directly after the `*** Update File: path` that it belongs to";
        Err(PatchSyntaxError::new(number, "`*** Move to:` stands in the wrong place", hint))
    }
}

/// The section of a file that is written whole.
#[derive(Default)]
struct AddSection {
    path: String,
    line: usize,
    content: String,
    /// The line number of a blank line without `+`. It is valid only before the next file.
    blank_line: Option<usize>,
    ended: bool,
}

impl AddSection {
    fn read_line(&mut self, text: &str, number: usize) -> Result<(), PatchSyntaxError> {
        if text.trim().is_empty() {
            self.blank_line.get_or_insert(number);
            return Ok(());
        }
        let bare = is_no_newline_mark(text) && self.content.ends_with('\n');
        let wrong = if let Some(blank) = self.blank_line {
            Some((blank, "a blank line of a new file lacks its `+`".to_owned()))
        } else if self.ended {
            Some((number, format!("`{}` follows the end of the file", clip(text))))
        } else if !text.starts_with('+') && !bare {
            Some((number, format!("`{}` lacks its `+`", clip(text))))
        } else {
            None
        };
        if let Some((line, what)) = wrong {
            return Err(PatchSyntaxError::new(
                line,
                what,
                "begin every line of a new file with `+`, also the blank ones",
            ));
        }
        if bare {
            self.content.pop();
            self.ended = true;
        } else {
            self.content.push_str(&text[1..]);
            self.content.push('\n');
        }
        Ok(())
    }

    fn into_edit(self) -> FileEdit {
        let action = EditAction::Write { content: self.content, executable: None };
        FileEdit { path: self.path, line: self.line, action, blob_ids: None }
    }
}

/// The section of a file that is updated.
#[derive(Default)]
struct UpdateSection {
    path: String,
    line: usize,
    target: Option<String>,
    hunks: Vec<Hunk>,
    /// The hunk that lines are added to.
    open_hunk: Option<Hunk>,
    /// The number of pending empty lines. They are context if the hunk continues, and separators otherwise.
    pending_blanks: usize,
    /// True directly after `*** End of File`.
    ended: bool,
}

impl UpdateSection {
    fn read_line(&mut self, text: &str, number: usize) -> Result<(), PatchSyntaxError> {
        if text.is_empty() || (self.ended && text.trim().is_empty()) {
            self.pending_blanks += 1;
            return Ok(());
        }
        if text.starts_with("@@") {
            return self.begin_hunk(text, number);
        }
        if self.ended {
            let what = format!("`{}` follows `*** End of File`", clip(text));
            return Err(PatchSyntaxError::new(
                number,
                what,
                "begin another place with `@@`, or another file",
            ));
        }
        let blanks = mem::take(&mut self.pending_blanks);
        // Empty lines between the file's name and the first hunk are not context.
        let blanks = if self.open_hunk.is_some() { blanks } else { 0 };
        let hunk = self.open_hunk.get_or_insert_with(|| Hunk { line: number, ..Hunk::default() });
        for _ in 0..blanks {
            hunk_body::push_line(hunk, "", number)?;
        }
        if text.starts_with([' ', '+', '-']) || is_no_newline_mark(text) {
            hunk_body::push_line(hunk, text, number)?;
        } else {
            hunk_body::push_unsigned_line(hunk, text);
        }
        Ok(())
    }

    /// Begins a hunk, or adds another header to a hunk without lines.
    fn begin_hunk(&mut self, text: &str, number: usize) -> Result<(), PatchSyntaxError> {
        let Some(heading) = heading::parse_heading(text) else {
            let what = format!("`{}` is not an `@@` line", clip(text));
            let hint = "write `@@` alone or `@@ ` and a line that stands before; a line that stays begins with a space";
            return Err(PatchSyntaxError::new(number, what, hint));
        };
        (self.pending_blanks, self.ended) = (0, false);
        if let Some(hunk) = &mut self.open_hunk
            && hunk.lines.is_empty()
        {
            hunk.headers.extend(heading.headers());
            hunk.old_start = heading.old_start().or(hunk.old_start);
            return Ok(());
        }
        self.hunks.extend(self.open_hunk.take());
        let (headers, old_start) = (heading.headers(), heading.old_start());
        self.open_hunk = Some(Hunk { line: number, headers, old_start, ..Hunk::default() });
        Ok(())
    }

    /// Marks the open hunk as the end of the file. Returns `false` if there is none.
    fn end_hunk_at_eof(&mut self) -> bool {
        self.pending_blanks = 0;
        match &mut self.open_hunk {
            Some(hunk) if !hunk.lines.is_empty() => {
                hunk.at_end = true;
                self.ended = true;
                self.hunks.extend(self.open_hunk.take());
                true
            }
            Some(_) | None => false,
        }
    }

    fn is_untouched(&self) -> bool {
        self.hunks.is_empty() && self.open_hunk.is_none()
    }

    fn into_edit(mut self) -> Result<FileEdit, PatchSyntaxError> {
        if let Some(hunk) = self.open_hunk.take() {
            if hunk.lines.is_empty() {
                let hint = "write the lines that change after it, or leave it out";
                return Err(PatchSyntaxError::new(hunk.line, "no lines follow the `@@`", hint));
            }
            self.hunks.push(hunk);
        }
        for hunk in &self.hunks {
            hunk_body::check_unsigned(hunk)?;
        }
        if self.hunks.is_empty() && self.target.is_none() {
            let what = format!("`*** Update File: {}` changes nothing", clip(&self.path));
            let hint = "write the lines that change after it, or `*** Move to: path`";
            return Err(PatchSyntaxError::new(self.line, what, hint));
        }
        let target = self.target.map_or(UpdateTarget::Same, UpdateTarget::Moved);
        let action = EditAction::Update { hunks: self.hunks, target, executable: None };
        Ok(FileEdit { path: self.path, line: self.line, action, blob_ids: None })
    }
}

fn is_no_newline_mark(text: &str) -> bool {
    text.starts_with("\\ No newline")
}
