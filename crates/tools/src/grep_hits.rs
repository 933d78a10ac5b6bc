//! What a search found: bounded while it is collected, in an order that does not depend on threads.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use exec::fs::Walked;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use serde_json::{Value, json};
use tool::ToolOutput;

use crate::grep_files::Search;
use crate::words::{counted, grouped, shown};

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
    lines: Vec<Line>,
    /// How many of `lines` are matches.
    kept: usize,
    /// Matching lines in all.
    matches: u64,
    binary: bool,
}

/// A printed line.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Match(u64, String),
    Neighbour(String),
}

impl FileHits {
    /// Whether there is something to report. What was found before a file turned out to be binary is not.
    pub(crate) fn any(&self) -> bool {
        self.matches > 0 && !self.binary
    }

    /// How many results it is.
    fn weight(&self, mode: Mode) -> usize {
        match mode {
            Mode::Matches => self.kept,
            Mode::Files | Mode::Counts => 1,
        }
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
        self.held += hits.weight(self.mode);
        self.files.insert(rank, hits);
        // ends: every round removes a file
        while let Some(last) = self.files.last_entry() {
            let weight = last.get().weight(self.mode);
            if self.held - weight < self.most {
                break;
            }
            last.remove();
            self.held -= weight;
        }
    }

    /// Prints it within `room` bytes; `limit` is when a search is given up.
    pub(crate) fn answer(self, room: usize, walked: &Walked, limit: Duration) -> ToolOutput {
        let mut page = Page { text: String::new(), room, results: 0, full: false };
        for ((_, path), hits) in &self.files {
            page.file(&shown(path), hits, self.mode, self.most);
            if page.full {
                break;
            }
        }
        let matches = (self.mode != Mode::Files).then_some(self.total_matches);
        let complete = !walked.stopped;
        let hits: Vec<Value> = self.hits().take(page.results).collect();
        let structured =
            json!({ "matches": matches, "files": self.total_files, "complete": complete, "hits": hits });
        let remarks = self.remarks(&page, walked, limit);
        let mut text = page.text;
        let _infallible = write!(text, "[{}]", remarks.join("; "));
        ToolOutput::text(text).with_structured(structured)
    }

    /// Every line that was found and kept, as data.
    fn hits(&self) -> impl Iterator<Item = Value> {
        self.files.iter().flat_map(|((_, path), hits)| {
            let path = shown(path);
            hits.lines.iter().filter_map(move |line| match line {
                Line::Match(number, text) => Some(json!({ "path": path, "line": number, "text": text })),
                Line::Neighbour(_) => None,
            })
        })
    }

    fn remarks(&self, page: &Page, walked: &Walked, limit: Duration) -> Vec<String> {
        let mut remarks = Vec::new();
        let (matches, files) = (counted(self.total_matches, "match"), counted(self.total_files, "file"));
        let (in_all, results) = match self.mode {
            Mode::Matches => (format!("{matches} in {files}"), self.total_matches),
            Mode::Counts => (format!("{matches} in {files}"), self.total_files),
            Mode::Files => (format!("{files} with matches"), self.total_files),
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
        if walked.stopped {
            let seconds = limit.as_secs();
            remarks
                .push(format!("stopped after {seconds} seconds: there may be more; search a smaller tree"));
        }
        if walked.unreadable > 0 {
            remarks.push(format!("{} could not be read", counted(walked.unreadable, "entry")));
        }
        if walked.denied > 0 {
            remarks.push(format!("{} hidden by deny-read", counted(walked.denied, "entry")));
        }
        remarks
    }
}

/// The text of an answer while it is made.
struct Page {
    text: String,
    room: usize,
    results: usize,
    full: bool,
}

impl Page {
    fn file(&mut self, path: &str, hits: &FileHits, mode: Mode, most: usize) {
        match mode {
            Mode::Files => self.row(&format!("{path}\n"), 1),
            Mode::Counts => self.row(&format!("{path}: {}\n", grouped(hits.matches)), 1),
            Mode::Matches => {
                let mut heading = format!("{path}\n");
                for line in &hits.lines {
                    let (line, weight) = match line {
                        Line::Match(number, text) => (&numbered(*number, ':', text), 1),
                        Line::Neighbour(line) => (line, 0),
                    };
                    self.full |= self.results + weight > most;
                    // With its first line, so that no heading stands alone.
                    self.row(&format!("{heading}{line}\n"), weight);
                    heading.clear();
                }
            }
        }
    }

    fn row(&mut self, row: &str, weight: usize) {
        self.full |= !self.text.is_empty() && self.text.len() + row.len() > self.room;
        if !self.full {
            self.text.push_str(row);
            self.results += weight;
        }
    }
}

/// Takes what the searcher finds in one file.
pub(crate) struct Collector<'a> {
    matcher: &'a RegexMatcher,
    mode: Mode,
    most: usize,
    /// Lines around a match that belong to it.
    context: u64,
    /// The number of the last match that was kept.
    last: u64,
    hits: &'a mut FileHits,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(search: &'a Search, hits: &'a mut FileHits) -> Self {
        let Search { matcher, mode, most, context, .. } = search;
        Self { matcher, mode: *mode, most: *most, context: *context as u64, last: 0, hits }
    }

    fn is_full(&self) -> bool {
        self.hits.matches >= self.most as u64
    }

    /// Whether a line belongs to the last match that was kept.
    fn belongs(&self, number: Option<u64>) -> bool {
        number.is_some_and(|number| number <= self.last + self.context)
    }

    fn line(number: Option<u64>, mark: char, text: &[u8], from: usize) -> String {
        numbered(number.unwrap_or_default(), mark, &printed(text, from))
    }
}

fn numbered(number: u64, mark: char, text: &str) -> String {
    format!("{number:>5}{mark} {text}")
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let (full, number, line) = (self.is_full(), found.line_number(), found.bytes());
        self.hits.matches += 1;
        match self.mode {
            Mode::Files => return Ok(false),
            Mode::Counts => return Ok(true),
            Mode::Matches => {}
        }
        let from = || self.matcher.find(line).ok().flatten().map_or(0, |at| at.start());
        if !full {
            self.hits.lines.push(Line::Match(number.unwrap_or_default(), printed(line, from())));
            self.hits.kept += 1;
            self.last = number.unwrap_or_default();
        } else if self.context > 0 && self.belongs(number) {
            self.hits.lines.push(Line::Neighbour(Self::line(number, '-', line, from())));
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        if !self.is_full() || self.belongs(line.line_number()) {
            self.hits.lines.push(Line::Neighbour(Self::line(line.line_number(), '-', line.bytes(), 0)));
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if !self.is_full() {
            self.hits.lines.push(Line::Neighbour("   --".to_owned()));
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
