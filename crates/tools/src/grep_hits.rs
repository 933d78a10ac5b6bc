//! What a search found: bounded while it is collected, in an order that does not depend on threads.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use serde_json::json;
use tool::ToolOutput;

use crate::numbers::{counted, grouped};

/// Bytes of one line that are shown, around its match.
const LINE_BYTES: usize = 400;

/// What the answer lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Matches,
    Files,
    Counts,
}

/// In which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Path,
    Newest,
}

/// Where a file stands in the order.
pub(crate) type Rank = (Reverse<Option<SystemTime>>, PathBuf);

impl Order {
    pub(crate) fn rank(self, path: PathBuf, modified: Option<SystemTime>) -> Rank {
        match self {
            Self::Path => (Reverse(None), path),
            Self::Newest => (Reverse(modified), path),
        }
    }
}

/// What was found in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileHits {
    /// Matching lines and their neighbours, ready to be printed.
    lines: Vec<String>,
    /// How many of `lines` are matches.
    kept: usize,
    /// Matching lines in all.
    matches: u64,
    binary: bool,
}

impl FileHits {
    pub(crate) fn any(&self) -> bool {
        self.matches > 0
    }
}

/// What was found so far: the first `most` results in rank order, and how many there are in all.
pub(crate) struct Hits {
    mode: Mode,
    most: usize,
    files: BTreeMap<Rank, FileHits>,
    /// Results in `files`.
    held: usize,
    total_matches: u64,
    total_files: u64,
}

impl Hits {
    pub(crate) fn new(mode: Mode, most: usize) -> Self {
        Self { mode, most, files: BTreeMap::new(), held: 0, total_matches: 0, total_files: 0 }
    }

    pub(crate) fn add(&mut self, rank: Rank, hits: FileHits) {
        self.total_matches += hits.matches;
        self.total_files += 1;
        self.held += self.weight(&hits);
        self.files.insert(rank, hits);
        // ends: every round removes a file
        while let Some(last) = self.files.last_entry() {
            let weight = match self.mode {
                Mode::Matches => last.get().kept.max(1),
                Mode::Files | Mode::Counts => 1,
            };
            if self.held - weight < self.most {
                break;
            }
            last.remove();
            self.held -= weight;
        }
    }

    fn weight(&self, hits: &FileHits) -> usize {
        match self.mode {
            Mode::Matches => hits.kept.max(1),
            Mode::Files | Mode::Counts => 1,
        }
    }

    /// Prints it within `room` bytes.
    pub(crate) fn answer(self, room: usize, unreadable: u64, partial: Option<Duration>) -> ToolOutput {
        let mut page = Page { text: String::new(), room, results: 0, files: 0, full: false };
        for ((_, path), hits) in &self.files {
            page.file(&path.to_string_lossy(), hits, self.mode, self.most);
            if page.full {
                break;
            }
        }
        let structured = json!({ "matches": self.total_matches, "files": self.total_files, "complete": partial.is_none() });
        let remarks = self.remarks(&page, unreadable, partial);
        let mut text = page.text;
        if !remarks.is_empty() {
            let _infallible = write!(text, "[{}]", remarks.join("; "));
        }
        let text = text.trim_end_matches('\n');
        ToolOutput::text(text).with_structured(structured)
    }

    fn remarks(&self, page: &Page, unreadable: u64, partial: Option<Duration>) -> Vec<String> {
        let mut remarks = Vec::new();
        let (matches, files) = (counted(self.total_matches, "match"), counted(self.total_files, "file"));
        let in_all = match self.mode {
            Mode::Matches | Mode::Counts => format!("{matches} in {files}"),
            Mode::Files => format!("{files} with matches"),
        };
        let results = match self.mode {
            Mode::Matches => self.total_matches,
            Mode::Files | Mode::Counts => self.total_files,
        };
        if self.total_files == 0 {
            remarks.push("no matches".to_owned());
        } else if (page.results as u64) < results {
            let shown = grouped(page.results as u64);
            let why = if page.results < self.most { " (as many as fit)" } else { "" };
            remarks
                .push(format!("{in_all}, the first {shown} shown{why}; narrow the search to see the others"));
        } else {
            remarks.push(in_all);
        }
        if let Some(after) = partial {
            remarks.push(format!(
                "stopped after {} seconds: there may be more; search a smaller tree",
                after.as_secs()
            ));
        }
        if unreadable > 0 {
            remarks.push(format!("{} could not be read", counted(unreadable, "entry")));
        }
        remarks
    }
}

/// The text of an answer while it is made.
struct Page {
    text: String,
    room: usize,
    results: usize,
    files: usize,
    full: bool,
}

impl Page {
    fn file(&mut self, path: &str, hits: &FileHits, mode: Mode, most: usize) {
        match mode {
            Mode::Files => self.row(&format!("{path}\n"), 1),
            Mode::Counts => self.row(&format!("{path}: {}\n", grouped(hits.matches)), 1),
            Mode::Matches if hits.binary => {
                self.row(
                    &format!("{path}: binary file, {}\n", counted(hits.matches, "match")),
                    hits.kept.max(1),
                );
            }
            Mode::Matches => {
                self.row(&format!("{path}\n"), 0);
                for line in &hits.lines {
                    let weight = usize::from(is_match(line));
                    if self.results + weight > most {
                        self.full = true;
                    }
                    self.row(&format!("{line}\n"), weight);
                }
            }
        }
        self.files += 1;
    }

    fn row(&mut self, row: &str, weight: usize) {
        self.full |= !self.text.is_empty() && self.text.len() + row.len() > self.room;
        if !self.full {
            self.text.push_str(row);
            self.results += weight;
        }
    }
}

/// A printed match is `  12: text`, a printed neighbour `  12- text`.
fn is_match(line: &str) -> bool {
    line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(':')
}

/// Takes what the searcher finds in one file.
pub(crate) struct Collector<'a> {
    matcher: &'a RegexMatcher,
    mode: Mode,
    most: usize,
    hits: &'a mut FileHits,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(matcher: &'a RegexMatcher, mode: Mode, most: usize, hits: &'a mut FileHits) -> Self {
        Self { matcher, mode, most, hits }
    }

    fn keep(&mut self, number: Option<u64>, mark: char, text: &[u8], from: usize) {
        let number = number.unwrap_or_default();
        self.hits.lines.push(format!("{number:>5}{mark} {}", printed(text, from)));
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.hits.matches += 1;
        match self.mode {
            Mode::Files => return Ok(false),
            Mode::Counts => return Ok(true),
            Mode::Matches => {}
        }
        if self.hits.kept < self.most {
            let line = found.bytes();
            let from = self.matcher.find(line).ok().flatten().map_or(0, |at| at.start());
            self.keep(found.line_number(), ':', line, from);
            self.hits.kept += 1;
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.hits.kept < self.most {
            self.keep(line.line_number(), '-', line.bytes(), 0);
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if self.hits.kept < self.most {
            self.hits.lines.push("   --".to_owned());
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.hits.binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line without its ending, cut to what surrounds the byte `from`.
fn printed(line: &[u8], from: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= LINE_BYTES {
        return String::from_utf8_lossy(line).replace('\0', "␀");
    }
    let start = if from < LINE_BYTES / 2 { 0 } else { from - LINE_BYTES / 4 };
    let end = (start + LINE_BYTES).min(line.len());
    let middle = String::from_utf8_lossy(&line[start..end]).replace('\0', "␀");
    let middle = middle.trim_matches('\u{fffd}');
    let before = if start > 0 { "… " } else { "" };
    let after = if end < line.len() {
        format!(" … [{} more]", counted((line.len() - end) as u64, "byte"))
    } else {
        String::new()
    };
    format!("{before}{middle}{after}")
}
