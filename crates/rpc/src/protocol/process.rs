//! Process methods: a client runs processes in a session's sandbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `rows` and `cols`")]
pub struct ProcessTerminalSize {
    /// Lines.
    #[schemars(range(min = 1, max = 1000))]
    pub rows: u16,
    /// Columns.
    #[schemars(range(min = 1, max = 1000))]
    pub cols: u16,
}

/// Starts a process, judged and confined as a command of the model's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessStartParams {
    /// The session.
    pub session_id: String,
    /// A script for the user's shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A program and its arguments, instead of a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Where; by default where the session works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Gives it a terminal of this size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<ProcessTerminalSize>,
    /// Without a terminal: keeps its input open for `process/write`.
    #[serde(default)]
    pub stdin: bool,
}

/// A process that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessStartResult {
    /// What it is called in the session.
    pub process_id: u32,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessRef {
    /// The session.
    pub session_id: String,
    /// The process.
    pub process_id: u32,
}

/// Reads what a process has written. Nothing is lost: a process that writes more than is read waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessReadParams {
    /// The session.
    pub session_id: String,
    /// The process.
    pub process_id: u32,
    /// From this byte on, of all that it has written; what is before it is given up. 0 at first, then `next` of the read before.
    #[serde(default)]
    pub from: u64,
    /// How long to wait for something to read (0, at most 30000).
    #[serde(default)]
    pub wait_ms: u64,
    /// How many bytes at the most (65536).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
}

/// What a process has written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessReadResult {
    /// In the order in which it was read.
    pub pieces: Vec<ProcessOutputChunk>,
    /// Where the next read goes on.
    pub next: u64,
    /// How far it is.
    pub state: ProcessState,
    /// How it ended, as a shell has it: 128 and the number of the signal, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// A piece of output: as text if all of it is UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessOutputChunk {
    /// `stdout`, `stderr` or `terminal`.
    pub stream: String,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes, in base64, if they are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// How far a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// It runs, or something that came of it.
    Running,
    /// It is over, and all that it wrote was read.
    Exited,
    /// It was killed together with what kept it.
    Lost,
}

/// Types into a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessWriteParams {
    /// The session.
    pub session_id: String,
    /// The process.
    pub process_id: u32,
    /// What to type.
    #[serde(default)]
    pub text: String,
    /// Closes its input after that.
    #[serde(default)]
    pub close: bool,
}

/// Changes the size of a process's terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessResizeParams {
    /// The session.
    pub session_id: String,
    /// The process.
    pub process_id: u32,
    /// How large it is now.
    pub size: ProcessTerminalSize,
}

/// Sends a signal to a process and its group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessSignalParams {
    /// The session.
    pub session_id: String,
    /// The process.
    pub process_id: u32,
    /// `INT`, `TERM`, `HUP`, `QUIT`, `USR1`, `USR2`, `STOP` or `CONT`.
    pub signal: String,
}
