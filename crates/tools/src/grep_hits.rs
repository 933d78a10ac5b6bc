//! Collects and formats the results of `grep_files`: bounded, in an order that does not depend on threads.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use exec::fs::WalkSummary;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use serde_json::{Value, json};
use tool::ToolOutput;

use crate::grep_files::CompiledSearch;
use crate::text_format::{format_count, format_path, group_digits};

/// Bytes of one line that are shown around its match.
const MAX_LINE_BYTES: usize = 400;

/// The contents of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrepOutputMode {
    Matches,
    Files,
    Counts,
}

/// The order of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HitOrder {
    Path,
    Newest,
}

/// The sort key of a file.
pub(crate) type FileRank = (Reverse<Option<SystemTime>>, PathBuf);

impl HitOrder {
    /// Returns the sort key of a file.
    pub(crate) fn rank_file(self, path: PathBuf, modified: Option<SystemTime>) -> FileRank {
        match self {
            Self::Path => (Reverse(None), path),
            Self::Newest => (Reverse(modified), path),
        }
    }
}

/// The results of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileHits {
    /// Matching lines and their neighbours, ready to be printed.
    lines: Vec<HitLine>,
    /// The number of matches in `lines`.
    kept_matches: usize,
    /// The number of matching lines in the file.
    matches: u64,
    binary: bool,
}

/// One printed line.
#[derive(Debug, PartialEq, Eq)]
enum HitLine {
    Match(u64, String),
    Context(String),
}

impl FileHits {
    /// Returns true if the file has results to report. Matches found before the file turned out to be binary do not
    /// count.
    pub(crate) fn is_reportable(&self) -> bool {
        self.matches > 0 && !self.binary
    }

    /// Returns the number of results that the file counts for.
    fn weight(&self, mode: GrepOutputMode) -> usize {
        match mode {
            GrepOutputMode::Matches => self.kept_matches,
            GrepOutputMode::Files | GrepOutputMode::Counts => 1,
        }
    }
}

/// The results so far: the first `max_results` in rank order, and the totals.
pub(crate) struct SearchHits {
    mode: GrepOutputMode,
    max_results: usize,
    files: BTreeMap<FileRank, FileHits>,
    /// Results in `files`.
    held_results: usize,
    total_matches: u64,
    total_files: u64,
}

impl SearchHits {
    pub(crate) fn new(mode: GrepOutputMode, max_results: usize) -> Self {
        Self { mode, max_results, files: BTreeMap::new(), held_results: 0, total_matches: 0, total_files: 0 }
    }

    /// Adds the results of one file, and removes those that no longer fit.
    pub(crate) fn insert(&mut self, rank: FileRank, hits: FileHits) {
        self.total_matches += hits.matches;
        self.total_files += 1;
        self.held_results += hits.weight(self.mode);
        self.files.insert(rank, hits);
        // ends: every round removes a file
        while let Some(last) = self.files.last_entry() {
            let weight = last.get().weight(self.mode);
            if self.held_results - weight < self.max_results {
                break;
            }
            last.remove();
            self.held_results -= weight;
        }
    }

    /// Formats the results within `room` bytes; `limit` is the search's time limit.
    pub(crate) fn into_output(self, room: usize, walked: &WalkSummary, limit: Duration) -> ToolOutput {
        let mut page = HitPage { text: String::new(), room, results: 0, full: false };
        for ((_, path), hits) in &self.files {
            page.push_file(&format_path(path), hits, self.mode, self.max_results);
            if page.full {
                break;
            }
        }
        let matches = (self.mode != GrepOutputMode::Files).then_some(self.total_matches);
        let complete = !walked.stopped;
        let hits: Vec<Value> = self.hits_json().take(page.results).collect();
        let structured =
            json!({ "matches": matches, "files": self.total_files, "complete": complete, "hits": hits });
        let remarks = self.remarks(&page, walked, limit);
        let mut text = page.text;
        let _infallible = write!(text, "[{}]", remarks.join("; "));
        ToolOutput::text(text).with_structured(structured)
    }

    /// Returns every kept match as structured data.
    fn hits_json(&self) -> impl Iterator<Item = Value> {
        self.files.iter().flat_map(|((_, path), hits)| {
            let path = format_path(path);
            hits.lines.iter().filter_map(move |line| match line {
                HitLine::Match(number, text) => Some(json!({ "path": path, "line": number, "text": text })),
                HitLine::Context(_) => None,
            })
        })
    }

    fn remarks(&self, page: &HitPage, walked: &WalkSummary, limit: Duration) -> Vec<String> {
        let mut remarks = Vec::new();
        let (matches, files) =
            (format_count(self.total_matches, "match"), format_count(self.total_files, "file"));
        let (in_all, results) = match self.mode {
            GrepOutputMode::Matches => (format!("{matches} in {files}"), self.total_matches),
            GrepOutputMode::Counts => (format!("{matches} in {files}"), self.total_files),
            GrepOutputMode::Files => (format!("{files} with matches"), self.total_files),
        };
        if self.total_files == 0 {
            remarks.push("no matches".to_owned());
        } else if (page.results as u64) < results {
            let shown = group_digits(page.results as u64);
            let why = if page.results < self.max_results { " (as many as fit)" } else { "" };
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
            remarks.push(format!("{} could not be read", format_count(walked.unreadable, "entry")));
        }
        if walked.denied > 0 {
            remarks.push(format!("{} hidden by deny-read", format_count(walked.denied, "entry")));
        }
        remarks
    }
}

/// The text of an answer under construction.
struct HitPage {
    text: String,
    room: usize,
    results: usize,
    full: bool,
}

impl HitPage {
    fn push_file(&mut self, path: &str, hits: &FileHits, mode: GrepOutputMode, max_results: usize) {
        match mode {
            GrepOutputMode::Files => self.push_row(&format!("{path}\n"), 1),
            GrepOutputMode::Counts => self.push_row(&format!("{path}: {}\n", group_digits(hits.matches)), 1),
            GrepOutputMode::Matches => {
                let mut heading = format!("{path}\n");
                for line in &hits.lines {
                    let (line, weight) = match line {
                        HitLine::Match(number, text) => (&format_numbered(*number, ':', text), 1),
                        HitLine::Context(line) => (line, 0),
                    };
                    self.full |= self.results + weight > max_results;
                    // The heading goes with its first line, so that no heading stands alone.
                    self.push_row(&format!("{heading}{line}\n"), weight);
                    heading.clear();
                }
            }
        }
    }

    fn push_row(&mut self, row: &str, weight: usize) {
        self.full |= !self.text.is_empty() && self.text.len() + row.len() > self.room;
        if !self.full {
            self.text.push_str(row);
            self.results += weight;
        }
    }
}

/// Receives the searcher's matches in one file.
pub(crate) struct HitCollector<'a> {
    matcher: &'a RegexMatcher,
    mode: GrepOutputMode,
    max_results: usize,
    /// Context lines around a match.
    context: u64,
    /// The line number of the last kept match.
    last: u64,
    hits: &'a mut FileHits,
}

impl<'a> HitCollector<'a> {
    pub(crate) fn new(search: &'a CompiledSearch, hits: &'a mut FileHits) -> Self {
        let CompiledSearch { matcher, mode, max_results, context, .. } = search;
        Self { matcher, mode: *mode, max_results: *max_results, context: *context as u64, last: 0, hits }
    }

    fn is_full(&self) -> bool {
        self.hits.matches >= self.max_results as u64
    }

    /// Returns true if a line is context of the last kept match.
    fn is_context(&self, number: Option<u64>) -> bool {
        number.is_some_and(|number| number <= self.last + self.context)
    }

    fn format_line(number: Option<u64>, mark: char, text: &[u8], from: usize) -> String {
        format_numbered(number.unwrap_or_default(), mark, &format_hit_text(text, from))
    }
}

fn format_numbered(number: u64, mark: char, text: &str) -> String {
    format!("{number:>5}{mark} {text}")
}

impl Sink for HitCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let (full, number, line) = (self.is_full(), found.line_number(), found.bytes());
        self.hits.matches += 1;
        match self.mode {
            GrepOutputMode::Files => return Ok(false),
            GrepOutputMode::Counts => return Ok(true),
            GrepOutputMode::Matches => {}
        }
        let from = || self.matcher.find(line).ok().flatten().map_or(0, |at| at.start());
        if !full {
            self.hits.lines.push(HitLine::Match(number.unwrap_or_default(), format_hit_text(line, from())));
            self.hits.kept_matches += 1;
            self.last = number.unwrap_or_default();
        } else if self.context > 0 && self.is_context(number) {
            self.hits.lines.push(HitLine::Context(Self::format_line(number, '-', line, from())));
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        if !self.is_full() || self.is_context(line.line_number()) {
            self.hits.lines.push(HitLine::Context(Self::format_line(
                line.line_number(),
                '-',
                line.bytes(),
                0,
            )));
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if !self.is_full() {
            self.hits.lines.push(HitLine::Context("   --".to_owned()));
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.hits.binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Returns a line without its ending, truncated to the part around byte `from`.
fn format_hit_text(line: &[u8], from: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= MAX_LINE_BYTES {
        return String::from_utf8_lossy(line).replace('\0', "␀");
    }
    let start = if from < MAX_LINE_BYTES / 2 { 0 } else { from - MAX_LINE_BYTES / 4 };
    let end = (start + MAX_LINE_BYTES).min(line.len());
    let middle = String::from_utf8_lossy(&line[start..end]).replace('\0', "␀");
    let middle = middle.trim_matches('\u{fffd}');
    let before = if start > 0 { "… " } else { "" };
    let after = if end < line.len() {
        format!(" … [{} more]", format_count((line.len() - end) as u64, "byte"))
    } else {
        String::new()
    };
    format!("{before}{middle}{after}")
}
