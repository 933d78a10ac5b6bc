//! `grep_files`: a regular expression over a tree, with ripgrep's own engine, in this process.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use exec::fs::{Door, Entry, Flow, Found, IgnoreFiles, Kind, WalkOptions, Walked};
use globset::GlobMatcher;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Lane, Place, Stop, ToolError, ToolHandler, ToolOutput};

use crate::door::{look, told};
use crate::grep_hits::{Collector, FileHits, Hits, Mode, Order, Rank};
use crate::list_dir::glob;

/// Results returned when the call does not say, and at the most.
const DEFAULT_RESULTS: u32 = 100;
const MAX_RESULTS: u32 = 2000;
/// The search gives back what it has after this.
const TIME: Duration = Duration::from_secs(30);
/// What one file may make the searcher allocate: a longer line is not searched.
const HEAP: usize = 64 << 20;
const MAX_THREADS: usize = 12;
/// Bytes of an answer that are kept free for the words around the matches.
const MARGIN: usize = 512;

/// The tool.
pub(crate) struct GrepFiles;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Regular expression (Rust syntax, one line at a time), e.g. `fn \w+\(` or `TODO|FIXME`.
    pattern: String,
    /// File or directory to search, the working directory if left out.
    path: Option<String>,
    /// Only files that fit this glob, e.g. `*.rs` (any directory) or `src/**/*.rs` (from `path`).
    file_pattern: Option<String>,
    /// Whether `a` and `A` differ; true if left out.
    case_sensitive: Option<bool>,
    /// The most results to return, 100 if left out.
    #[schemars(range(min = 1, max = 2000))]
    max_results: Option<u32>,
    /// `matches` (default): lines with their numbers; `files`: names only; `counts`: matching lines per file.
    output_mode: Option<OutputMode>,
    /// Lines to show before and after each match, 0 if left out.
    #[schemars(range(max = 20))]
    context: Option<u8>,
    /// `path` (default), or `modified` for the newest files first.
    sort: Option<Sort>,
    /// Whether to search what `.gitignore` leaves out too; false if left out.
    include_ignored: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    Matches,
    Files,
    Counts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    Path,
    Modified,
}

impl ToolHandler for GrepFiles {
    type Args = Args;
    const NAME: &'static str = "grep_files";
    const ABOUT: &'static str = "Searches file contents with a regular expression and returns matching lines, file names or counts. Skips binary files and what .gitignore leaves out.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] =
        &[("include", "file_pattern"), ("glob", "file_pattern"), ("limit", "max_results")];
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &Args, place: &Place) -> Result<Intent, ToolError> {
        Ok(Intent::read(place.path("path", args.path())?))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let path = cx.place().path("path", args.path())?;
        let search = Search::new(args)?;
        let permit = permit.clone();
        let room = cx.budget().saturating_sub(MARGIN).max(MARGIN);
        let cwd = cx.cwd().to_owned();
        cx.blocking(move |stop| {
            let (door, start) = look(&permit, &path)?;
            let shown = shown_as(&path, &cwd);
            let (hits, walked) = search.all(&door, &start, &shown, stop)?;
            let partial = walked.stopped.then_some(TIME);
            Ok(hits.answer(room, walked.unreadable, partial))
        })
        .await
    }
}

impl Args {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

/// How paths in the answer begin: relative to the working directory where that is shorter, so that they can be
/// given to the next call as they are.
fn shown_as(path: &Path, cwd: &Path) -> PathBuf {
    path.strip_prefix(cwd).map_or_else(|_| path.to_owned(), Path::to_owned)
}

/// A search that was understood.
struct Search {
    matcher: RegexMatcher,
    files: Option<GlobMatcher>,
    ignore: IgnoreFiles,
    context: usize,
    mode: Mode,
    order: Order,
    most: usize,
}

impl Search {
    fn new(args: &Args) -> Result<Self, ToolError> {
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(!args.case_sensitive.unwrap_or(true))
            // `$` also fits before the \r of a CRLF, as it does in every other tool a model knows.
            .crlf(true)
            .build(&args.pattern)
            .map_err(|fault| bad_pattern(&args.pattern, &fault))?;
        Ok(Self {
            matcher,
            files: args.file_pattern.as_deref().map(|pattern| glob("file_pattern", pattern)).transpose()?,
            ignore: match args.include_ignored.unwrap_or(false) {
                true => IgnoreFiles::Everything,
                false => IgnoreFiles::Respect,
            },
            context: usize::from(args.context.unwrap_or(0)),
            mode: match args.output_mode.unwrap_or(OutputMode::Matches) {
                OutputMode::Matches => Mode::Matches,
                OutputMode::Files => Mode::Files,
                OutputMode::Counts => Mode::Counts,
            },
            order: match args.sort.unwrap_or(Sort::Path) {
                Sort::Path => Order::Path,
                Sort::Modified => Order::Newest,
            },
            most: args.max_results.unwrap_or(DEFAULT_RESULTS).min(MAX_RESULTS) as usize,
        })
    }

    fn all(&self, door: &Door, start: &Found, shown: &Path, stop: &Stop) -> Result<(Hits, Walked), ToolError> {
        let hits = Mutex::new(Hits::new(self.mode, self.most));
        let began = Instant::now();
        let late = || stop.requested() || began.elapsed() > TIME;
        if start.kind() != Kind::Directory {
            let file = start.open().map_err(told)?;
            let rank = || self.order.rank(shown.to_owned(), start.modified());
            let read = self.searcher().and_then(|mut searcher| self.one(&mut searcher, file, rank, &late, &hits));
            let unreadable = u64::from(read.is_err());
            let walked = Walked { unreadable, denied: 0, stopped: late() };
            return Ok((hits.into_inner().unwrap_or_else(|held| held.into_inner()), walked));
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(2, MAX_THREADS);
        let options = WalkOptions { ignore: self.ignore, max_depth: None, threads };
        let unreadable = std::sync::atomic::AtomicU64::new(0);
        let visitor = || {
            let mut searcher = self.searcher().ok();
            let (hits, late, unreadable) = (&hits, &late, &unreadable);
            move |entry: &Entry<'_>| {
                let fits = |files: &GlobMatcher| files.is_match(entry.path());
                if entry.kind() == Kind::File && self.files.as_ref().is_none_or(fits) {
                    let read = searcher.as_mut().map(|searcher| self.entry(searcher, entry, shown, late, hits));
                    if !matches!(read, Some(Ok(()))) {
                        unreadable.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
                Flow::Continue
            }
        };
        let mut walked = door.walk(start, &options, &late, visitor).map_err(told)?;
        walked.unreadable += unreadable.into_inner();
        Ok((hits.into_inner().unwrap_or_else(|held| held.into_inner()), walked))
    }

    fn searcher(&self) -> io::Result<Searcher> {
        Ok(SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(self.mode == Mode::Matches)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP))
            .before_context(self.context)
            .after_context(self.context)
            .build())
    }

    fn entry(
        &self,
        searcher: &mut Searcher,
        entry: &Entry<'_>,
        shown: &Path,
        late: &dyn Fn() -> bool,
        hits: &Mutex<Hits>,
    ) -> io::Result<()> {
        let file = entry.open()?;
        let modified = match self.order {
            Order::Path => None,
            Order::Newest => entry.stat().ok().and_then(|stat| stat.modified),
        };
        let rank = || self.order.rank(shown.join(entry.path()), modified);
        self.one(searcher, file, rank, late, hits)
    }

    fn one(
        &self,
        searcher: &mut Searcher,
        file: File,
        rank: impl FnOnce() -> Rank,
        late: &dyn Fn() -> bool,
        hits: &Mutex<Hits>,
    ) -> io::Result<()> {
        let mut found = FileHits::default();
        let sink = Collector::new(&self.matcher, self.mode, self.most, &mut found);
        let searched = searcher.search_reader(&self.matcher, Stoppable { file, late }, sink);
        if found.any()
            && let Ok(mut hits) = hits.lock()
        {
            hits.add(rank(), found);
        }
        searched
    }
}

/// A file that stops being read when nobody waits for it.
struct Stoppable<'a> {
    file: File,
    late: &'a dyn Fn() -> bool,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.late)() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}

/// Says where in the pattern the fault is.
fn bad_pattern(pattern: &str, fault: &grep_regex::Error) -> ToolError {
    let parsed = regex_syntax::ast::parse::Parser::new().parse(pattern);
    let why = match parsed {
        Err(fault) => {
            let at = pattern[..fault.span().start.offset].chars().count();
            let here: String = pattern.chars().skip(at).take(20).collect();
            format!("the regular expression is wrong at character {} (`{here}`): {}", at + 1, fault.kind())
        }
        Ok(_) => match regex_syntax::parse(pattern) {
            Err(regex_syntax::Error::Translate(fault)) => {
                let at = pattern[..fault.span().start.offset].chars().count();
                format!("the regular expression is wrong at character {}: {}", at + 1, fault.kind())
            }
            _ => format!("the regular expression cannot be used: {fault}"),
        },
    };
    ToolError::argument("pattern", why)
}
