//! `fs_list`: lists a directory as structured data.

use exec::fs::{FileKind, IgnoreFiles, WalkControl, WalkEntry, WalkOptions};
use parking_lot::Mutex;
use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool::{Cx, Lane, ToolError, ToolHandler, ToolOutput, WorkingDir};

use super::data_output;
use crate::file_access::{fs_error, look_up};

/// The default and the largest number of entries.
const DEFAULT_LIMIT: usize = 1000;
const MAX_LIMIT: usize = 10_000;

/// The `fs_list` tool.
pub(super) struct FsListTool;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    path: String,
    depth: Option<usize>,
    limit: Option<usize>,
}

impl Args {
    fn path(&self) -> &str {
        if self.path.is_empty() { "." } else { &self.path }
    }
}

impl ToolHandler for FsListTool {
    type Args = Args;
    const NAME: &'static str = "fs_list";
    const ABOUT: &'static str = "Lists a directory.";
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::read(working_dir.resolve_path("path", args.path())?))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let path = cx.working_dir().resolve_path("path", args.path())?;
        let (args, permit) = (args.clone(), permit.clone());
        cx.run_blocking(move |stop| {
            let (fs, start) = look_up(&permit, &path)?;
            let limit = args.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
            let max_depth = Some(args.depth.unwrap_or(1).max(1));
            let options = WalkOptions { ignore: IgnoreFiles::Everything, max_depth, threads: 1 };
            let entries = Mutex::new(Vec::new());
            let visitor = || {
                |entry: &WalkEntry<'_>| {
                    let mut entries = entries.lock();
                    if entries.len() >= limit {
                        return WalkControl::Stop;
                    }
                    entries.push(entry_json(entry));
                    WalkControl::Continue
                }
            };
            let walked = fs.walk(&start, &options, &|| stop.is_requested(), visitor).map_err(fs_error)?;
            let entries = entries.into_inner();
            let about = format!("{} entries of `{}`", entries.len(), args.path());
            Ok(data_output(about, json!({ "entries": entries, "complete": !walked.stopped })))
        })
        .await
    }
}

fn entry_json(entry: &WalkEntry<'_>) -> Value {
    let (kind, size) = match entry.kind() {
        FileKind::File => ("file", entry.stat().ok().map(|stat| stat.size)),
        FileKind::Directory => ("directory", None),
        FileKind::Symlink => ("link", None),
        FileKind::Fifo
        | FileKind::Socket
        | FileKind::CharDevice
        | FileKind::BlockDevice
        | FileKind::Other => ("other", None),
    };
    json!({ "path": entry.path().to_string_lossy(), "kind": kind, "size": size })
}
