//! `grep_files`: searches a directory tree with a regular expression, using ripgrep's engine in this process.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use exec::fs::{
    ConfinedFs, FileHandle, FileKind, IgnoreFiles, WalkControl, WalkEntry, WalkOptions, WalkSummary,
};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use parking_lot::Mutex;
use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Lane, StopFlag, ToolError, ToolHandler, ToolOutput, WorkingDir};

use crate::file_access::{fs_error, look_up};
use crate::grep_hits::{GrepOutputMode, HitOrder, SearchHits};
use crate::grep_worker::FileSearcher;
use crate::list_dir::{PathGlob, parse_glob};

/// The default and the largest number of results.
const DEFAULT_RESULTS: u32 = 100;
const MAX_RESULTS: u32 = 2000;
/// The search returns its partial results after this time.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(30);
/// The heap limit of the searcher per file: a longer line is not searched.
const MAX_HEAP_BYTES: usize = 64 << 20;
const MAX_THREADS: usize = 12;
/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 16 << 10;
/// The size limit of a compiled pattern, and of each thread's DFA cache.
const MAX_REGEX_BYTES: usize = 16 << 20;
const MAX_DFA_CACHE_BYTES: usize = 16 << 20;
/// Bytes of an answer that are reserved for the text around the matches.
const RESERVED_BYTES: usize = 512;

/// The `grep_files` tool.
pub(crate) struct GrepFiles;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Rust regex, e.g. `fn \w+\(`.
    pattern: String,
    /// File or directory (default `.`).
    path: Option<String>,
    /// E.g. `*.rs`, `src/**/*.rs`.
    file_pattern: Option<String>,
    /// Match case (default true).
    case_sensitive: Option<bool>,
    /// Result limit (default 100).
    #[schemars(range(min = 1, max = 2000))]
    max_results: Option<u32>,
    /// Results (default matches).
    output_mode: Option<GrepOutputArg>,
    /// Lines of context (default 0).
    #[schemars(range(max = 20))]
    context: Option<u8>,
    /// Order (default path).
    sort: Option<GrepSortArg>,
    include_ignored: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GrepOutputArg {
    Matches,
    Files,
    Counts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GrepSortArg {
    Path,
    Modified,
}

impl ToolHandler for GrepFiles {
    type Args = Args;
    const NAME: &'static str = "grep_files";
    const ABOUT: &'static str =
        "Searches files with a regular expression; not binary ones, nor what .gitignore names.";
    const ALIASES: &'static [&'static str] = &["search"];
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[
        ("query", "pattern"),
        ("include", "file_pattern"),
        ("glob", "file_pattern"),
        ("limit", "max_results"),
    ];
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::read(working_dir.resolve_path("path", args.path())?))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let path = cx.working_dir().resolve_path("path", args.path())?;
        let (args, permit) = (args.clone(), permit.clone());
        let room = cx.output_budget().saturating_sub(RESERVED_BYTES).max(RESERVED_BYTES);
        let cwd = cx.cwd().to_owned();
        cx.run_blocking(move |stop| {
            let search = CompiledSearch::new(&args)?;
            let (fs, start) = look_up(&permit, &path)?;
            let display_path = path_for_display(&path, &cwd);
            let (hits, walked) = search.search_all(&fs, &start, &display_path, stop)?;
            Ok(hits.into_output(room, &walked, SEARCH_TIMEOUT))
        })
        .await
    }
}

impl Args {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

/// Returns the path prefix for the answer: relative to the working directory where possible, so that it can be passed
/// to the next call.
fn path_for_display(path: &Path, cwd: &Path) -> PathBuf {
    path.strip_prefix(cwd).map_or_else(|_| path.to_owned(), Path::to_owned)
}

/// A validated search.
pub(crate) struct CompiledSearch {
    pub(crate) matcher: RegexMatcher,
    file_glob: Option<PathGlob>,
    ignore: IgnoreFiles,
    pub(crate) context: usize,
    pub(crate) mode: GrepOutputMode,
    pub(crate) order: HitOrder,
    pub(crate) max_results: usize,
}

impl CompiledSearch {
    fn new(args: &Args) -> Result<Self, ToolError> {
        if args.pattern.len() > MAX_PATTERN_BYTES {
            let why =
                format!("it is {} bytes long, and {MAX_PATTERN_BYTES} are the most", args.pattern.len());
            return Err(ToolError::bad_argument("pattern", why));
        }
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(!args.case_sensitive.unwrap_or(true))
            // `^` and `$` match at line ends, not only at file ends.
            .multi_line(true)
            .size_limit(MAX_REGEX_BYTES)
            .dfa_size_limit(MAX_DFA_CACHE_BYTES)
            // `$` also matches before the \r of a CRLF, as in every other tool a model knows.
            .crlf(true)
            .build(&args.pattern)
            .map_err(|fault| pattern_error(&args.pattern, &fault))?;
        Ok(Self {
            matcher,
            file_glob: args
                .file_pattern
                .as_deref()
                .map(|pattern| parse_glob("file_pattern", pattern))
                .transpose()?,
            ignore: match args.include_ignored.unwrap_or(false) {
                true => IgnoreFiles::Everything,
                false => IgnoreFiles::Respect,
            },
            context: usize::from(args.context.unwrap_or(0)),
            mode: match args.output_mode.unwrap_or(GrepOutputArg::Matches) {
                GrepOutputArg::Matches => GrepOutputMode::Matches,
                GrepOutputArg::Files => GrepOutputMode::Files,
                GrepOutputArg::Counts => GrepOutputMode::Counts,
            },
            order: match args.sort.unwrap_or(GrepSortArg::Path) {
                GrepSortArg::Path => HitOrder::Path,
                GrepSortArg::Modified => HitOrder::Newest,
            },
            max_results: args.max_results.unwrap_or(DEFAULT_RESULTS).min(MAX_RESULTS) as usize,
        })
    }

    fn search_all(
        &self,
        fs: &ConfinedFs,
        start: &FileHandle,
        display_path: &Path,
        stop: &StopFlag,
    ) -> Result<(SearchHits, WalkSummary), ToolError> {
        let hits = Mutex::new(SearchHits::new(self.mode, self.max_results));
        let began = Instant::now();
        let is_late = || stop.is_requested() || began.elapsed() > SEARCH_TIMEOUT;
        let mut walked = if start.kind() == FileKind::Directory {
            self.search_tree(fs, start, display_path, &is_late, &hits)?
        } else {
            let file = start.open().map_err(fs_error)?;
            let rank = || self.order.rank_file(display_path.to_owned(), start.modified());
            let read = FileSearcher::new(self, &hits, &is_late).search_file(file, start.size(), rank);
            WalkSummary { unreadable: u64::from(read.is_err()), denied: 0, stopped: false }
        };
        walked.stopped |= is_late();
        Ok((hits.into_inner(), walked))
    }

    fn search_tree(
        &self,
        fs: &ConfinedFs,
        start: &FileHandle,
        display_path: &Path,
        is_late: &(dyn Fn() -> bool + Sync),
        hits: &Mutex<SearchHits>,
    ) -> Result<WalkSummary, ToolError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(2, MAX_THREADS);
        let options = WalkOptions { ignore: self.ignore, max_depth: None, threads };
        let unreadable = AtomicU64::new(0);
        let visitor = || {
            let mut searching = FileSearcher::new(self, hits, is_late);
            let unreadable = &unreadable;
            move |entry: &WalkEntry<'_>| {
                let fits = |files: &PathGlob| files.matches(entry.path(), entry.kind());
                if entry.kind() == FileKind::File
                    && self.file_glob.as_ref().is_none_or(fits)
                    && searching.search_entry(entry, display_path).is_err()
                    && !is_late()
                {
                    unreadable.fetch_add(1, Relaxed);
                }
                WalkControl::Continue
            }
        };
        let mut walked = fs.walk(start, &options, is_late, visitor).map_err(fs_error)?;
        walked.unreadable += unreadable.into_inner();
        Ok(walked)
    }

    /// Creates a searcher with the options of this search.
    pub(crate) fn build_searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(self.mode == GrepOutputMode::Matches)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_HEAP_BYTES))
            .before_context(self.context)
            .after_context(self.context)
            .build()
    }
}

/// Explains the position and cause of a regular expression error.
fn pattern_error(pattern: &str, fault: &grep_regex::Error) -> ToolError {
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
    ToolError::bad_argument("pattern", why)
}
