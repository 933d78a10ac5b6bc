//! Parameter and result types of the process methods: a client runs processes in a session's sandbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `rows` and `cols`")]
pub struct ProcessTerminalSize {
    /// The number of rows.
    #[schemars(range(min = 1, max = 1000))]
    pub rows: u16,
    /// The number of columns.
    #[schemars(range(min = 1, max = 1000))]
    pub cols: u16,
}

/// Starts a process, with the same policy and sandbox as a command of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessStartParams {
    /// The session id.
    pub session_id: String,
    /// A script for the user's shell, e.g. `cargo test | tail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A program and its arguments instead of a script, e.g. `["cargo", "test"]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// The working directory; by default the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Attaches a terminal of this size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<ProcessTerminalSize>,
    /// Keeps standard input open for `process/write`, without a terminal.
    #[serde(default)]
    pub stdin: bool,
}

/// The result of starting a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessStartResult {
    /// The process id within the session.
    pub process_id: u32,
}

/// Identifies a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessRef {
    /// The session id.
    pub session_id: String,
    /// The process id.
    pub process_id: u32,
}

/// Reads the output of a process. No output is lost: a process that writes faster than the client reads is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessReadParams {
    /// The session id.
    pub session_id: String,
    /// The process id.
    pub process_id: u32,
    /// The offset in the whole output: 0 at first, then `next` of the last read. Output before it is discarded.
    #[serde(default)]
    pub from: u64,
    /// Milliseconds to wait for output (default 0, at most 30000).
    #[serde(default)]
    pub wait_ms: u64,
    /// Maximum bytes to read (default 65536, at most 1048576).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
}

/// The output of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessReadResult {
    /// Output chunks in the order in which they were read.
    pub pieces: Vec<ProcessOutputChunk>,
    /// The offset of the next read.
    pub next: u64,
    /// The state of the process.
    pub state: ProcessState,
    /// The exit status as in a shell: 128 plus the signal number for a process that a signal killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// A chunk of output: text if all of it is UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessOutputChunk {
    /// `stdout`, `stderr` or `terminal`.
    pub stream: String,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in base64, if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// The state of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// The process, or a descendant of it, is running.
    Running,
    /// The process has exited, and all output was read.
    Exited,
    /// The process was killed together with its supervisor.
    Lost,
}

/// Writes to the standard input of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessWriteParams {
    /// The session id.
    pub session_id: String,
    /// The process id.
    pub process_id: u32,
    /// The text to write.
    #[serde(default)]
    pub text: String,
    /// Closes standard input afterwards.
    #[serde(default)]
    pub close: bool,
}

/// Resizes the terminal of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessResizeParams {
    /// The session id.
    pub session_id: String,
    /// The process id.
    pub process_id: u32,
    /// The new size.
    pub size: ProcessTerminalSize,
}

/// Sends a signal to a process group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessSignalParams {
    /// The session id.
    pub session_id: String,
    /// The process id.
    pub process_id: u32,
    /// `INT`, `TERM`, `HUP`, `QUIT`, `USR1`, `USR2`, `STOP` or `CONT`.
    pub signal: String,
}
