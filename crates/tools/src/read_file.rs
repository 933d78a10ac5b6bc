//! `read_file`: returns numbered lines of a text file, shows an image, and describes other binary files.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use encoding_rs_io::DecodeReaderBytesBuilder;
use exec::fs::{FileHandle, FileKind};
use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Lane, StopFlag, ToolError, ToolHandler, ToolOutput, WorkingDir};

use crate::code_block::{self, BlockOptions, HeaderLines, SiblingLines};
use crate::edit_tracker::EditTracker;
use crate::encoding::{self, ContentKind};
use crate::file_access::{fs_error, look_up, read_error};
use crate::image_file::{self, ImageSettings};
use crate::line_window::{self, LineRequest, LineWindow};
use crate::numbered_lines::{NumberedLines, RangeCoverage};
use crate::text_format::format_count;

/// The default number of lines.
const DEFAULT_LINES: u32 = 2000;
/// Bytes of one line that are shown.
const MAX_LINE_BYTES: usize = 2000;
/// Bytes of an answer that are reserved for the text around the lines.
const RESERVED_BYTES: usize = 512;
/// Bytes of a binary file that are shown.
const SHOWN_BINARY_BYTES: usize = 32;

/// The `read_file` tool.
pub(crate) struct ReadFile {
    image_settings: ImageSettings,
    edit_tracker: Arc<EditTracker>,
}

impl ReadFile {
    pub(crate) fn new(image_settings: ImageSettings, edit_tracker: Arc<EditTracker>) -> Self {
        Self { image_settings, edit_tracker }
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File, e.g. `src/main.rs`.
    path: String,
    /// First line; `-20`: the last 20.
    start_line: Option<i64>,
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
    /// Line limit (default 2000).
    #[schemars(range(min = 1))]
    max_lines: Option<u32>,
    /// `indentation`: the block around `start_line`.
    mode: Option<ReadMode>,
    /// For `indentation` mode.
    indentation: Option<IndentationArgs>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ReadMode {
    Slice,
    Indentation,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IndentationArgs {
    /// A line of it (default start_line).
    #[schemars(range(min = 1))]
    anchor_line: Option<u64>,
    /// Outer levels (default all).
    max_levels: Option<usize>,
    include_siblings: Option<bool>,
    /// Comments above it (default true).
    include_header: Option<bool>,
    #[schemars(range(min = 1))]
    max_lines: Option<u32>,
}

impl ToolHandler for ReadFile {
    type Args = Args;
    const NAME: &'static str = "read_file";
    const ABOUT: &'static str = "Reads a file: its lines with numbers, from start_line to end_line, or the block of code around a line. Shows pictures.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] =
        &[("file_path", "path"), ("offset", "start_line"), ("limit", "max_lines")];
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::read(working_dir.resolve_path("path", &args.path)?))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let path = cx.working_dir().resolve_path("path", &args.path)?;
        let (args, permit, image_settings) = (args.clone(), permit.clone(), self.image_settings);
        let edit_tracker = Arc::clone(&self.edit_tracker);
        let room = cx.output_budget().saturating_sub(RESERVED_BYTES).max(RESERVED_BYTES);
        cx.run_blocking(move |stop| {
            let (_, handle) = look_up(&permit, &path)?;
            if handle.kind() == FileKind::Directory {
                let path = path.display();
                return Err(ToolError::io(format!(
                    "`{path}` is a directory; use list_dir to see what is in it"
                )));
            }
            let text = TextFileReader { path, handle, room, stop };
            let head = text.read_head()?;
            match encoding::detect_content(&head) {
                // For a model without image support, an image is a binary file like any other.
                ContentKind::Binary if image_settings.model_accepts_images && image_file::is_image(&head) => {
                    image_file::load_image(&text.path, &text.handle, image_settings)
                }
                ContentKind::Binary => Ok(ToolOutput::text(text.describe_binary(&head))),
                content_kind @ (ContentKind::Text | ContentKind::Utf16(_)) => {
                    let answer = text.to_output(&args, content_kind)?;
                    edit_tracker.record_read(&text.handle);
                    Ok(answer)
                }
            }
        })
        .await
    }
}

/// A text file being read.
struct TextFileReader<'a> {
    path: PathBuf,
    handle: FileHandle,
    room: usize,
    stop: &'a StopFlag,
}

impl TextFileReader<'_> {
    fn open(&self) -> Result<File, ToolError> {
        self.handle.open().map_err(fs_error)
    }

    fn read_head(&self) -> Result<Vec<u8>, ToolError> {
        let mut head = Vec::new();
        let read = self.open()?.take(encoding::HEAD_BYTES as u64).read_to_end(&mut head);
        read.map_err(|fault| read_error(&self.path, &fault))?;
        Ok(head)
    }

    fn describe_binary(&self, head: &[u8]) -> String {
        let kind = infer::get(head).map_or("of no known kind", |kind| kind.mime_type());
        let bytes: Vec<String> =
            head.iter().take(SHOWN_BINARY_BYTES).map(|byte| format!("{byte:02x}")).collect();
        format!(
            "`{}` is a binary file ({kind}, {}), so its text is not shown; it begins with {}",
            self.path.display(),
            format_count(self.handle.size(), "byte"),
            bytes.join(" ")
        )
    }

    fn to_output(&self, args: &Args, content_kind: ContentKind) -> Result<ToolOutput, ToolError> {
        let max = args.max_lines.unwrap_or(DEFAULT_LINES) as usize;
        let shown = match args.mode.unwrap_or(ReadMode::Slice) {
            ReadMode::Slice => self.read_slice(args, max, content_kind)?,
            ReadMode::Indentation => self.read_block(args, max, content_kind)?,
        };
        Ok(shown.into_output(&self.path, self.room))
    }

    fn read_slice(
        &self,
        args: &Args,
        max: usize,
        content_kind: ContentKind,
    ) -> Result<NumberedLines, ToolError> {
        let start = self.resolve_start(args.start_line.unwrap_or(1), content_kind)?;
        if args.end_line.is_some_and(|end| end < start) {
            return Err(ToolError::bad_argument("end_line", format!("it is before the start line, {start}")));
        }
        let wanted =
            args.end_line.map_or(usize::MAX, |end| usize::try_from(end - start + 1).unwrap_or(usize::MAX));
        let window = self.read_slice_window(start, wanted.min(max), content_kind)?;
        let mut shown = self.number_lines(&window, ("start_line", start), content_kind)?;
        if shown.lines.len() == wanted {
            shown.coverage = RangeCoverage::Complete;
        }
        Ok(shown)
    }

    fn read_block(
        &self,
        args: &Args,
        max: usize,
        content_kind: ContentKind,
    ) -> Result<NumberedLines, ToolError> {
        let indentation = args.indentation.clone().unwrap_or_default();
        let (argument, anchor) = match indentation.anchor_line {
            Some(anchor) => ("indentation.anchor_line", anchor),
            None => ("start_line", self.resolve_start(args.start_line.unwrap_or(1), content_kind)?),
        };
        let limit =
            indentation.max_lines.map_or(max, |most| most as usize).min(max).min(DEFAULT_LINES as usize);
        let before = (limit as u64).min(anchor - 1);
        // All lines around the anchor, as the block may be anywhere among them; their number and length are bounded.
        let (start, count) = (anchor - before, limit * 2 + 1);
        let window = self.read_window(
            LineRequest { start, count, line_bytes: MAX_LINE_BYTES, bytes: usize::MAX },
            content_kind,
        )?;
        let mut shown = self.number_lines(&window, (argument, anchor), content_kind)?;
        let at = usize::try_from(before).unwrap_or(usize::MAX);
        if at >= shown.lines.len() {
            return Err(self.past_end_error(argument, anchor, shown.total));
        }
        let options = BlockOptions {
            levels: indentation.max_levels.unwrap_or(0),
            siblings: if indentation.include_siblings.unwrap_or(false) {
                SiblingLines::Include
            } else {
                SiblingLines::LeaveOut
            },
            header: if indentation.include_header.unwrap_or(true) {
                HeaderLines::Include
            } else {
                HeaderLines::LeaveOut
            },
            limit,
        };
        let range = code_block::find_block(&shown.lines, at, options);
        shown.first += range.start as u64;
        shown.coverage = if range.len() < limit { RangeCoverage::Complete } else { RangeCoverage::BlockCut };
        shown.lines = shown.lines[range].to_vec();
        Ok(shown)
    }

    /// Converts the first line to a number from 1; a negative number counts from the end.
    fn resolve_start(&self, line: i64, content_kind: ContentKind) -> Result<u64, ToolError> {
        match u64::try_from(line) {
            Ok(0) => Err(ToolError::bad_argument("start_line", "lines are counted from 1")),
            Ok(line) => Ok(line),
            Err(_) => {
                let total = line_window::count_lines(&mut *self.reader(content_kind)?, self.stop);
                let total = total.map_err(|fault| read_error(&self.path, &fault))?;
                Ok((total + 1).saturating_sub(line.unsigned_abs()).max(1))
            }
        }
    }

    fn read_slice_window(
        &self,
        start: u64,
        count: usize,
        content_kind: ContentKind,
    ) -> Result<LineWindow, ToolError> {
        self.read_window(
            LineRequest { start, count, line_bytes: MAX_LINE_BYTES, bytes: self.room },
            content_kind,
        )
    }

    fn read_window(&self, request: LineRequest, content_kind: ContentKind) -> Result<LineWindow, ToolError> {
        line_window::read_window(&mut *self.reader(content_kind)?, request, self.stop)
            .map_err(|fault| read_error(&self.path, &fault))
    }

    fn reader(&self, content_kind: ContentKind) -> Result<Box<dyn Read>, ToolError> {
        let file = self.open()?;
        match content_kind {
            ContentKind::Utf16(_) => Ok(Box::new(DecodeReaderBytesBuilder::new().build(file))),
            ContentKind::Text | ContentKind::Binary => Ok(Box::new(file)),
        }
    }

    /// Decodes and numbers `window`. `requested` is the argument that named a line, and that line: an error names it if
    /// the line does not exist.
    fn number_lines(
        &self,
        window: &LineWindow,
        requested: (&str, u64),
        content_kind: ContentKind,
    ) -> Result<NumberedLines, ToolError> {
        let (argument, line) = requested;
        let empty = window.lines.is_empty() && window.total == Some(0) && line == 1;
        if window.lines.is_empty() && !empty {
            return Err(self.past_end_error(argument, line, window.total));
        }
        let encoding = match content_kind {
            ContentKind::Utf16(encoding) => encoding,
            ContentKind::Text | ContentKind::Binary => {
                encoding::guess_encoding(window.lines.iter().map(|line| (&line.bytes[..], line.cut())))
            }
        };
        Ok(NumberedLines::new(window, encoding, content_kind))
    }

    fn past_end_error(&self, argument: &str, line: u64, total: Option<u64>) -> ToolError {
        let total = total.unwrap_or_default();
        let path = self.path.display();
        ToolError::bad_argument(
            argument,
            format!("line {line} is past the end: `{path}` has {}", format_count(total, "line")),
        )
    }
}
