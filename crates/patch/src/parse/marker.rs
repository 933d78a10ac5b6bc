//! Parses the `***` lines of an envelope.

/// A parsed `***` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnvelopeMarker<'a> {
    /// `*** Begin Patch`
    Begin,
    /// `*** End Patch`
    End,
    /// `*** End of File`
    EndOfFile,
    /// `*** Add File: path`
    Add(&'a str),
    /// `*** Delete File: path`
    Delete(&'a str),
    /// `*** Update File: path`
    Update(&'a str),
    /// `*** Move to: path`
    Move(&'a str),
}

/// The list of valid markers, for errors.
pub(super) const MARKERS_HINT: &str = "the lines that begin with `***` are `*** Begin Patch`, `*** Add File: path`, \
     `*** Delete File: path`, `*** Update File: path`, `*** Move to: path`, `*** End of File` and `*** End Patch`";

/// Parses a line that begins with `***`, ignoring case and extra spaces.
pub(super) fn parse_marker(line: &str) -> Option<EnvelopeMarker<'_>> {
    let text = line.strip_prefix("***")?.trim();
    if let Some((words, path)) = text.split_once(':') {
        let path = path.trim();
        if equals_words(words, &["add", "file"]) {
            return Some(EnvelopeMarker::Add(path));
        } else if equals_words(words, &["delete", "file"]) {
            return Some(EnvelopeMarker::Delete(path));
        } else if equals_words(words, &["update", "file"]) {
            return Some(EnvelopeMarker::Update(path));
        } else if equals_words(words, &["move", "to"]) {
            return Some(EnvelopeMarker::Move(path));
        }
        return None;
    }
    if equals_words(text, &["begin", "patch"]) {
        Some(EnvelopeMarker::Begin)
    } else if equals_words(text, &["end", "patch"]) {
        Some(EnvelopeMarker::End)
    } else if equals_words(text, &["end", "of", "file"]) {
        Some(EnvelopeMarker::EndOfFile)
    } else {
        None
    }
}

/// Returns true if `line` is a marker, with or without spaces around it.
pub(super) fn is_marker(line: &str) -> bool {
    parse_marker(line.trim()).is_some()
}

/// Returns true if `line` ends an envelope, with or without spaces around it.
pub(super) fn is_end_marker(line: &str) -> bool {
    parse_marker(line.trim()) == Some(EnvelopeMarker::End)
}

fn equals_words(text: &str, words: &[&str]) -> bool {
    let mut found = text.split_whitespace();
    words.iter().all(|word| found.next().is_some_and(|found| found.eq_ignore_ascii_case(word)))
        && found.next().is_none()
}
