//! Formats lines with their numbers, within a byte budget, with remarks about the file.

use std::path::Path;

use encoding_rs::{Encoding, UTF_8};
use serde_json::json;
use tool::ToolOutput;

use crate::encoding::{self, ContentKind};
use crate::line_window::{FileEnding, LineCut, LineWindow, WindowLine};
use crate::text_format::{format_count, group_digits};

/// The UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Decoded lines, ready to be printed.
pub(crate) struct NumberedLines {
    pub(crate) first: u64,
    pub(crate) lines: Vec<String>,
    pub(crate) total: Option<u64>,
    encoding: &'static Encoding,
    /// Further remarks about the file.
    remarks: Vec<&'static str>,
    pub(crate) coverage: RangeCoverage,
}

/// The coverage of the requested range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeCoverage {
    Complete,
    MoreFollows,
    /// A block that continues above or below.
    BlockCut,
}

impl NumberedLines {
    /// Decodes the lines of `window` and collects remarks about the file.
    pub(crate) fn new(window: &LineWindow, encoding: &'static Encoding, content_kind: ContentKind) -> Self {
        let decoder = if matches!(content_kind, ContentKind::Utf16(_)) { UTF_8 } else { encoding };
        let last = window.first - 1 + window.lines.len() as u64;
        let mut remarks = Vec::new();
        if window.lines.first().is_some_and(|line| window.first == 1 && line.bytes.starts_with(BOM)) {
            remarks.push("begins with a byte order mark");
        }
        let returns = window.lines.iter().filter(|line| line.bytes.last() == Some(&b'\r')).count();
        if returns > 0 {
            remarks.push(if returns == window.lines.len() {
                "lines end in CRLF"
            } else {
                "some lines end in CRLF"
            });
        }
        if window.ending == FileEnding::NoNewline && Some(last) == window.total {
            remarks.push("no newline at the end");
        }
        let coverage =
            if Some(last) == window.total { RangeCoverage::Complete } else { RangeCoverage::MoreFollows };
        let mut lines: Vec<String> = window.lines.iter().map(|line| format_line(line, decoder)).collect();
        if let Some(first) = lines.first_mut().filter(|first| first.starts_with('\u{feff}')) {
            first.remove(0);
        }
        Self { first: window.first, lines, total: window.total, encoding, remarks, coverage }
    }

    /// Formats the lines and remarks within `room` bytes.
    pub(crate) fn into_output(mut self, path: &Path, room: usize) -> ToolOutput {
        let width = (self.first + self.lines.len() as u64).to_string().len();
        let mut text = String::new();
        let mut shown = 0;
        for (number, line) in (self.first..).zip(&self.lines) {
            if shown > 0 && text.len() + line.len() + width + 3 > room {
                self.coverage = RangeCoverage::MoreFollows;
                break;
            }
            text.push_str(&format!("{number:>width$}| {line}\n"));
            shown += 1;
        }
        let last = self.first + shown - 1;
        self.push_remarks(&mut text, last);
        let text = text.trim_end_matches('\n');
        ToolOutput::text(text).with_structured(json!({
            "path": path.to_string_lossy(),
            "start_line": self.first,
            "end_line": last,
            "total_lines": self.total,
            "encoding": self.encoding.name(),
        }))
    }

    fn push_remarks(&self, text: &mut String, last: u64) {
        let mut remarks = Vec::new();
        if self.lines.is_empty() {
            remarks.push("the file is empty".to_owned());
        }
        let of = self.total.map_or_else(String::new, |total| format!(" of {}", group_digits(total)));
        let lines = format!("lines {}-{last}{of}", self.first);
        match self.coverage {
            RangeCoverage::MoreFollows => {
                remarks.push(format!("{lines}; continue with start_line={}", last + 1));
            }
            RangeCoverage::BlockCut => {
                remarks.push(format!("{lines}; the block is longer: raise max_lines, or read on by line"));
            }
            RangeCoverage::Complete if self.first > 1 || self.total.is_some_and(|total| last < total) => {
                remarks.push(lines);
            }
            RangeCoverage::Complete => {}
        }
        if self.encoding != UTF_8 {
            remarks.push(format!("decoded from {}", self.encoding.name()));
        }
        remarks.extend(self.remarks.iter().map(|&remark| remark.to_owned()));
        if !remarks.is_empty() {
            text.push_str(&format!("[{}]\n", remarks.join("; ")));
        }
    }
}

fn format_line(line: &WindowLine, encoding: &'static Encoding) -> String {
    let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(&line.bytes);
    if line.cut() == LineCut::No {
        return encoding::decode_line(bytes, encoding);
    }
    // If the cut is inside a character, its first bytes would decode to an error that is not in the file.
    let mut text = encoding::decode_line(bytes, encoding);
    while text.ends_with('\u{fffd}') {
        text.pop();
    }
    let held = line.bytes.len() as u64;
    format!("{text} … [{} more]", format_count(line.length - held, "byte"))
}
