//! `fs_read`: reads bytes of a file.

use std::io::{Read, Seek, SeekFrom};

use exec::fs::FileKind;
use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool::{Cx, Lane, ToolError, ToolHandler, ToolOutput, WorkingDir};

use super::{data_output, encode_bytes};
use crate::file_access::{look_up, read_error};

/// The default and the largest number of bytes.
const DEFAULT_LENGTH: u64 = 1 << 20;
const MAX_LENGTH: u64 = 8 << 20;

/// The `fs_read` tool.
pub(super) struct FsReadTool;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    path: String,
    #[serde(default)]
    offset: u64,
    length: Option<u64>,
}

impl ToolHandler for FsReadTool {
    type Args = Args;
    const NAME: &'static str = "fs_read";
    const ABOUT: &'static str = "Reads the bytes of a file.";
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::read(working_dir.resolve_path("path", &args.path)?))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let path = cx.working_dir().resolve_path("path", &args.path)?;
        let (args, permit) = (args.clone(), permit.clone());
        cx.run_blocking(move |_| {
            let (_, found) = look_up(&permit, &path)?;
            if found.kind() != FileKind::File {
                return Err(ToolError::bad_argument("path", format!("`{}` is not a file", path.display())));
            }
            let mut file = found.open().map_err(crate::file_access::fs_error)?;
            let length = args.length.unwrap_or(DEFAULT_LENGTH).min(MAX_LENGTH);
            let mut bytes = Vec::new();
            // An offset beyond the end reads nothing, however far it is.
            let offset = args.offset.min(found.size());
            file.seek(SeekFrom::Start(offset))
                .and_then(|_| file.take(length).read_to_end(&mut bytes))
                .map_err(|fault| read_error(&path, &fault))?;
            let end = offset + bytes.len() as u64;
            let (size, read) = (found.size(), bytes.len());
            let mut data = encode_bytes(bytes);
            data["size"] = json!(size);
            data["next"] = json!((end < size).then_some(end));
            Ok(data_output(format!("{read} bytes of `{}`", args.path), data))
        })
        .await
    }
}
