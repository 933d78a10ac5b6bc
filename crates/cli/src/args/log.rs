//! Command-line arguments of `toolgate log` and `toolgate stats`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Show what happened in your sessions: which there were, one of them step by step, or as a page for a browser
///
/// Without an ID: the newest sessions, one a line. With one: what you and the model said, each call with who allowed it, how long it
/// took and what came of it, plans, diffs, tokens. ID is the beginning of a session's name, `last`, or a file with a `/` or
/// a dot in its name. Long texts are cut here and said to be; --json has everything. docs/log.md has examples.
///
/// Exit status: 0 it was shown; 1 it was shown up to a line that was changed after it was written; 2 there is no such session.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  toolgate log
  toolgate log last
  toolgate log 20261116-21 | less
  toolgate log last --html page.html
  toolgate log last --json | jq 'select(.kind == \"answered\") | .took_ms'
  toolgate log verify")]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LogCommand>,
    /// The session: the beginning of its name, `last`, or a file
    #[arg(value_name = "ID")]
    pub(crate) session: Option<OsString>,
    /// How many sessions to list
    #[arg(short, long, value_name = "N", default_value_t = 20, conflicts_with = "session")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) number: u16,
    /// Print JSON: the session's own lines as they are, or an object for each session
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page for a browser to this file, `-` for standard output
    #[arg(long, value_name = "FILE", requires = "session", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,
    /// Send its spans and counts to this OpenTelemetry collector, e.g. http://127.0.0.1:4318; nothing that was said or done is in them
    #[cfg(feature = "otlp")]
    #[arg(long, value_name = "URL", requires = "session", conflicts_with_all = ["json", "html"])]
    pub(crate) otlp: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    Verify(LogVerifyArgs),
}

/// Check that sessions are still as they were written
///
/// Each line of a session has a hash over itself and the line before. This computes them all again, and prints the last one, which
/// stands for the whole session: keep it elsewhere if it matters. A last line that was not written to its end is told, and is no
/// fault: the program or the machine died.
///
/// Exit status: 0 all hold; 1 one was changed or cannot be read; 2 there is no such session.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate log verify
  toolgate log verify last
  toolgate log verify --json ~/saved/20261116-213602-4f9a1c.jsonl")]
pub(crate) struct LogVerifyArgs {
    /// Check these instead of all: the beginning of a name, `last`, or a file
    #[arg(value_name = "ID|FILE")]
    pub(crate) sessions: Vec<OsString>,
    /// Print JSON, an object for each session
    #[arg(long)]
    pub(crate) json: bool,
}

/// Count what your sessions did: calls of each tool, how they ended, how long they and everybody took, tokens
///
/// p50, p95 and p99 are the times that so many of a hundred calls stayed within, without the time that people took to answer. What
/// several calls took at the same time counts once in what was waited for.
///
/// Exit status: 0 counted; 1 a session was changed or cannot be read, and counts only up to there; 2 there is no such session.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate stats
  toolgate stats last
  toolgate stats --since 7
  toolgate stats --json | jq '.tools[] | select(.calls > 100)'")]
pub(crate) struct StatsArgs {
    /// Count these instead of all: the beginning of a name, `last`, or a file
    #[arg(value_name = "ID")]
    pub(crate) sessions: Vec<OsString>,
    /// Only sessions that began in the last so many days
    #[arg(long, value_name = "DAYS", conflicts_with = "sessions")]
    pub(crate) since: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
