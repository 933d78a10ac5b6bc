//! Parses patch texts, as models and programs write them, into a list of edits.

mod envelope;
mod fenced;
mod heading;
mod hunk_body;
mod json;
mod marker;
mod path_check;
mod source_lines;
mod unified;
mod wrapper;

use std::fmt;
use std::str::FromStr;

use crate::edit::ParsedPatch;
use crate::engine_part::EnginePart;
use source_lines::SourceLines;
use wrapper::PatchSource;

/// The maximum length of a patch text, in bytes.
pub(crate) const MAX_PATCH_BYTES: usize = 64 << 20;

/// The number of characters of a line that an error shows.
const MAX_SHOWN_CHARS: usize = 60;

/// Parses a patch and detects its format from its shape.
///
/// ```
/// let patch = toolgate_patch::parse("*** Begin Patch\n*** Delete File: old.txt\n*** End Patch\n")?;
/// assert_eq!(patch.edits[0].path, "old.txt");
/// # Ok::<(), toolgate_patch::PatchSyntaxError>(())
/// ```
pub fn parse(text: &str) -> Result<ParsedPatch, PatchSyntaxError> {
    let parsed = parse_any(None, text);
    let edits = parsed.as_ref().map_or(0, |patch| patch.edits.len());
    tracing::debug!(edits, "parsed a patch");
    parsed
}

/// Parses a patch in the given format and in no other.
pub fn parse_as(format: PatchTextFormat, text: &str) -> Result<ParsedPatch, PatchSyntaxError> {
    parse_any(Some(format), text)
}

/// A patch format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchTextFormat {
    /// `*** Begin Patch` to `*** End Patch`.
    Envelope,
    /// A unified diff, as git and diff write it.
    Unified,
    /// JSON: replaces one text in a file by another.
    Replace,
    /// JSON: whole files with their content.
    Files,
}

impl PatchTextFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Envelope, Self::Unified, Self::Replace, Self::Files];

    /// Returns the format's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Unified => "unified",
            Self::Replace => "replace",
            Self::Files => "files",
        }
    }
}

impl fmt::Display for PatchTextFormat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl FromStr for PatchTextFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| UnknownFormat(clip(name)))
    }
}

/// The error for a name that is not a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a format; use envelope, unified, replace or files")]
pub struct UnknownFormat(pub String);

/// A syntax error in a patch text. Nothing of the patch was applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}; {hint}", at_line(*line))]
pub struct PatchSyntaxError {
    /// The line of the patch text, counted from 1; 0 if a line number means nothing, as in JSON.
    pub line: usize,
    /// The error.
    pub what: String,
    /// The remedy.
    pub hint: String,
}

/// The line number of an error that has none.
const NO_LINE: usize = 0;

fn at_line(line: usize) -> String {
    if line == NO_LINE { String::new() } else { format!("line {line}: ") }
}

impl PatchSyntaxError {
    fn new(line: usize, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { line, what: what.into(), hint: hint.into() }
    }

    /// Creates the error for a text that ends before the patch does.
    fn cut_off(line: usize, hint: impl Into<String>) -> Self {
        Self::new(line, "the patch is cut off: nothing was done", hint)
    }
}

fn parse_any(format: Option<PatchTextFormat>, text: &str) -> Result<ParsedPatch, PatchSyntaxError> {
    if text.len() > MAX_PATCH_BYTES {
        let what = format!("the patch has {} bytes, and {MAX_PATCH_BYTES} can be read", text.len());
        return Err(PatchSyntaxError::new(1, what, "send it in several parts"));
    }
    let source = match wrapper::strip_wrappers(text) {
        Ok(source) if json::looks_like_json(source.text) => source,
        Ok(source) => fenced::extract_fenced(&source).unwrap_or(source),
        // Prose may follow a fence that has nothing before it.
        Err(fault) => fenced::extract_fenced(&PatchSource::from_text(text)).ok_or(fault)?,
    };
    if !json::looks_like_json(source.text) {
        return parse_plain_text(format, &source);
    }
    match json::parse(&source)? {
        json::JsonPatch::Edits(found, patch) => check_format(format, found).map(|()| patch),
        json::JsonPatch::Text(text) => {
            let source =
                PatchSource { complete: true, wrapper_closed: true, ..wrapper::strip_wrappers(&text)? };
            parse_plain_text(format, &fenced::extract_fenced(&source).unwrap_or(source))
        }
    }
}

/// Parses a text that is not JSON.
fn parse_plain_text(
    format: Option<PatchTextFormat>,
    source: &PatchSource<'_>,
) -> Result<ParsedPatch, PatchSyntaxError> {
    let found = match (detect_format(source), fenced::dedent(source.text)) {
        (Err(_), Some(text))
            if detect_format(&PatchSource { text: &text, ..*source }).is_ok()
                && EnginePart::IndentedPatch.is_on() =>
        {
            return parse_plain_text(format, &PatchSource { text: &text, ..*source });
        }
        (found, _) => found?,
    };
    match format.unwrap_or(found) {
        PatchTextFormat::Envelope => envelope::parse(source),
        PatchTextFormat::Unified => unified::parse(source),
        wanted @ (PatchTextFormat::Replace | PatchTextFormat::Files) => {
            check_format(Some(wanted), found).map(|()| ParsedPatch::default())
        }
    }
}

/// Detects the format of a text that is not JSON. The first line that only one format has decides.
fn detect_format(source: &PatchSource<'_>) -> Result<PatchTextFormat, PatchSyntaxError> {
    let lines = SourceLines::new(source);
    for at in 0..lines.len() {
        let line = lines.get(at).unwrap_or_default();
        if marker::is_marker(line) {
            return Ok(PatchTextFormat::Envelope);
        }
        if unified::begins_file(&lines, at) || line.starts_with("@@") {
            return Ok(PatchTextFormat::Unified);
        }
    }
    let hint = "begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines";
    if source.text.trim().is_empty() {
        return Err(PatchSyntaxError::new(source.first_line_number, "the patch is empty", hint));
    }
    if !source.text.trim().contains('\n') && source.text.trim().contains('\r') {
        let what = "the lines end with carriage returns alone";
        return Err(PatchSyntaxError::new(source.first_line_number, what, "end lines with a newline"));
    }
    Err(PatchSyntaxError::new(source.first_line_number, "this is not a patch in a known format", hint))
}

fn check_format(wanted: Option<PatchTextFormat>, found: PatchTextFormat) -> Result<(), PatchSyntaxError> {
    match wanted {
        Some(wanted) if wanted != found => {
            let what = format!("the patch is to be `{wanted}` and looks like `{found}`");
            Err(PatchSyntaxError::new(1, what, "write it as it is asked for, or ask for the other format"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the beginning of `text`, for an error.
fn clip(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
