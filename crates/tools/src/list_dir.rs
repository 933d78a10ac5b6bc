//! `list_dir`: lists a directory, sorted, with kinds, sizes and times.

use std::path::{Path, PathBuf};

use exec::fs::{
    ConfinedFs, FileHandle, FileKind, IgnoreFiles, WalkControl, WalkEntry, WalkOptions, WalkSummary,
};
use globset::{GlobBuilder, GlobMatcher};
use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Lane, StopFlag, ToolError, ToolHandler, ToolOutput, WorkingDir};

use crate::file_access::{fs_error, look_up};
use crate::text_format::{format_count, format_path, format_utc, group_digits};

/// The default and the largest number of entries.
const DEFAULT_LIMIT: u32 = 200;
const MAX_LIMIT: u32 = 2000;
/// Entries that are counted; beyond them the answer says "more than".
const MAX_COUNTED_ENTRIES: u64 = 200_000;
/// Bytes of an answer that are reserved for the text around the entries.
const RESERVED_BYTES: usize = 512;

/// The `list_dir` tool.
pub(crate) struct ListDir;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Directory, e.g. `src`.
    path: String,
    recursive: Option<bool>,
    /// Levels to descend.
    #[schemars(range(min = 1))]
    max_depth: Option<usize>,
    /// E.g. `*.rs`, `*/` (directories).
    pattern: Option<String>,
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// Entry limit (default 200).
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<u32>,
    include_ignored: Option<bool>,
}

impl ToolHandler for ListDir {
    type Args = Args;
    const NAME: &'static str = "list_dir";
    const ABOUT: &'static str =
        "Lists a directory: kind, size, time (UTC). Leaves out what .gitignore names.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] =
        &[("dir_path", "path"), ("depth", "max_depth")];
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::read(working_dir.resolve_path("path", &args.path)?))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let path = cx.working_dir().resolve_path("path", &args.path)?;
        let pattern = args.pattern.as_deref().map(|pattern| parse_glob("pattern", pattern)).transpose()?;
        let (args, permit) = (args.clone(), permit.clone());
        let room = cx.output_budget().saturating_sub(RESERVED_BYTES).max(RESERVED_BYTES);
        cx.run_blocking(move |stop| {
            let (fs, start) = look_up(&permit, &path)?;
            let offset = args.offset.unwrap_or(1);
            let limit = u64::from(args.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT));
            let mut page =
                ListingPage { offset, limit, room, seen: 0, text: String::new(), shown: 0, full: false };
            let walked = page.fill(&fs, &start, &args, pattern.as_ref(), stop)?;
            if offset > 1 && page.shown == 0 {
                let why = format!("there are only {}", format_count(page.seen, "entry"));
                return Err(ToolError::bad_argument("offset", why));
            }
            Ok(ToolOutput::text(page.into_text(&permit.read_scope().session_spelling(start.path()), &walked)))
        })
        .await
    }
}

/// A glob over paths below a directory.
#[derive(Debug, Clone)]
pub(crate) struct PathGlob {
    glob: GlobMatcher,
    /// The pattern ended in `/`: only directories match.
    directories_only: bool,
}

impl PathGlob {
    /// Returns true if the pattern matches an entry.
    pub(crate) fn matches(&self, path: &Path, kind: FileKind) -> bool {
        (!self.directories_only || kind == FileKind::Directory) && self.glob.is_match(path)
    }
}

/// Parses a glob. A pattern without an inner `/` matches names at any depth.
pub(crate) fn parse_glob(argument: &str, pattern: &str) -> Result<PathGlob, ToolError> {
    let why = match pattern {
        _ if pattern.trim_matches('/').is_empty() => Some("it is empty"),
        _ if pattern.starts_with('/') => Some("it is a glob below `path`, so it cannot begin with `/`"),
        _ => policy::glob_fault(pattern),
    };
    if let Some(why) = why {
        return Err(ToolError::bad_argument(argument, why));
    }
    let (pattern, directories_only) = match pattern.strip_suffix('/') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let anchored = if pattern.contains('/') {
        pattern.trim_start_matches("./").to_owned()
    } else {
        format!("**/{pattern}")
    };
    let glob = GlobBuilder::new(&anchored).literal_separator(true).build();
    let bad = |fault: globset::Error| {
        ToolError::bad_argument(argument, format!("it is not a glob: {}", fault.kind()))
    };
    Ok(PathGlob { glob: glob.map_err(bad)?.compile_matcher(), directories_only })
}

/// The requested part of the listing.
struct ListingPage {
    offset: u64,
    limit: u64,
    room: usize,
    seen: u64,
    text: String,
    shown: u64,
    full: bool,
}

impl ListingPage {
    fn fill(
        &mut self,
        fs: &ConfinedFs,
        start: &FileHandle,
        args: &Args,
        pattern: Option<&PathGlob>,
        stop: &StopFlag,
    ) -> Result<WalkSummary, ToolError> {
        let ignored = args.include_ignored.unwrap_or(false);
        let max_depth = match (args.recursive, args.max_depth) {
            (_, Some(depth)) => Some(depth),
            (Some(true), None) => None,
            (Some(false) | None, None) => Some(1),
        };
        let ignore = if ignored { IgnoreFiles::Everything } else { IgnoreFiles::Respect };
        let options = WalkOptions { ignore, max_depth, threads: 1 };
        let page = parking_lot::Mutex::new(self);
        let visitor = || |entry: &WalkEntry<'_>| page.lock().visit(entry, pattern);
        fs.walk(start, &options, &|| stop.is_requested(), visitor).map_err(fs_error)
    }

    fn visit(&mut self, entry: &WalkEntry<'_>, pattern: Option<&PathGlob>) -> WalkControl {
        if pattern.is_some_and(|pattern| !pattern.matches(entry.path(), entry.kind())) {
            return WalkControl::Continue;
        }
        self.seen += 1;
        if self.seen >= self.offset && self.shown < self.limit && !self.full {
            let row = format_row(entry);
            self.full = self.shown > 0 && self.text.len() + row.len() > self.room;
            if !self.full {
                self.text.push_str(&row);
                self.shown += 1;
            }
        }
        let enough = MAX_COUNTED_ENTRIES.max(self.offset.saturating_add(self.limit));
        if self.seen > enough { WalkControl::Stop } else { WalkControl::Continue }
    }

    fn into_text(self, path: &Path, walked: &WalkSummary) -> String {
        let mut text = format!("{}\n{}", format_path(path), self.text);
        let mut remarks = Vec::new();
        let last = self.offset - 1 + self.shown;
        if self.seen == 0 {
            remarks.push("no entries".to_owned());
        } else if self.seen > last || self.offset > 1 {
            let total = if walked.stopped {
                format!("more than {}", group_digits(self.seen - 1))
            } else {
                group_digits(self.seen)
            };
            let on =
                if self.seen > last { format!("; continue with offset={}", last + 1) } else { String::new() };
            remarks.push(format!("entries {}-{last} of {total}{on}", self.offset));
        }
        if walked.unreadable > 0 {
            remarks.push(format!("{} could not be read", format_count(walked.unreadable, "entry")));
        }
        if walked.denied > 0 {
            remarks.push(format!("{} hidden by deny-read", format_count(walked.denied, "entry")));
        }
        if !remarks.is_empty() {
            text.push_str(&format!("[{}]", remarks.join("; ")));
        }
        text.trim_end_matches('\n').to_owned()
    }
}

fn format_row(entry: &WalkEntry<'_>) -> String {
    let stat = entry.stat().ok();
    let time = stat.as_ref().and_then(|stat| stat.modified).map_or_else(|| " ".repeat(16), format_utc);
    let size = match (entry.kind(), &stat) {
        (FileKind::File, Some(stat)) => group_digits(stat.size),
        (_, _) => "-".to_owned(),
    };
    let name = format_path(entry.path());
    let name = match entry.kind() {
        FileKind::File => name,
        FileKind::Directory => format!("{name}/"),
        FileKind::Symlink => {
            let target: Option<PathBuf> = entry.link_target();
            format!("{name} -> {}", target.map_or_else(|| "?".to_owned(), |target| format_path(&target)))
        }
        kind @ (FileKind::Fifo
        | FileKind::Socket
        | FileKind::CharDevice
        | FileKind::BlockDevice
        | FileKind::Other) => {
            format!("{name} ({kind})")
        }
    };
    format!("{time}  {size:>11}  {name}\n")
}
