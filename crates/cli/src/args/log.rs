//! Command-line arguments of `toolgate log` and `toolgate stats`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::LogPruneArgs;

/// Show your sessions: a list, one session step by step, or a page for a browser
///
/// Without an ID, lists the newest sessions, one a line. With an ID, shows the prompts, the model's
/// messages, each call with its approval, duration and result, plans, diffs and tokens. ID is the
/// beginning of a session's name, `last`, or a file with a `/` or a dot in its name. Long texts are
/// truncated and marked; --json prints everything. docs/log.md has examples.
///
/// Exit status: 0 shown; 1 shown up to a line that was modified after it was written; 2 the session
/// does not exist.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  toolgate log
  toolgate log last
  toolgate log 20261116-21 | less
  toolgate log last --html page.html
  toolgate log last --json | jq 'select(.kind == \"answered\") | .took_ms'
  toolgate log verify
  toolgate log prune --older-than 30d")]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LogCommand>,
    /// Session: the beginning of its name, `last`, or a file
    #[arg(value_name = "ID", add = crate::completion_candidates::sessions())]
    pub(crate) session: Option<OsString>,
    /// Number of sessions to list
    #[arg(short, long, value_name = "N", default_value_t = 20, conflicts_with = "session")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) number: u16,
    /// Print JSON: the lines of the session as they are, or one object for each session
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page for a browser to this file; `-` is standard output
    #[arg(long, value_name = "FILE", requires = "session", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,
    /// Send spans and metrics of the session, without its content, to this OpenTelemetry collector,
    /// e.g. http://127.0.0.1:4318
    #[arg(long, value_name = "URL", requires = "session", conflicts_with_all = ["json", "html"])]
    pub(crate) otlp: Option<String>,
    /// Allow plain http to a collector at a private address (10.0.0.0/8, 192.168.0.0/16, fc00::/7
    /// and so on); `insecure_http` in your configuration does it too
    #[arg(long, requires = "otlp")]
    pub(crate) insecure_http: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    Verify(LogVerifyArgs),
    Prune(LogPruneArgs),
}

/// Check that sessions were not modified after they were written
///
/// Each line of a session has a hash over itself and the line before. This command recomputes all
/// hashes and prints the last one, which stands for the whole session. Changed lines are always found.
/// To find removed lines too, keep that hash elsewhere and give it with --hash. An incomplete last
/// line is reported, but is not an error: the program or the machine died.
///
/// Exit status: 0 all sessions are intact; 1 a session was modified or cannot be read; 2 the
/// session does not exist.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate log verify
  toolgate log verify last
  toolgate log verify last --hash 74fa08c1
  toolgate log verify --json ~/saved/20261116-213602-4f9a1c.jsonl")]
pub(crate) struct LogVerifyArgs {
    /// Check these sessions instead of all: the beginning of a name, `last`, or a file
    #[arg(value_name = "ID|FILE", add = crate::completion_candidates::sessions())]
    pub(crate) sessions: Vec<OsString>,
    /// Require a line with this hash, or its first digits, in the one session that you name
    #[arg(long, value_name = "HASH", value_parser = parse_kept_hash, requires = "sessions")]
    pub(crate) hash: Option<String>,
    /// Print JSON, one object for each session
    #[arg(long)]
    pub(crate) json: bool,
}

/// Summarise sessions: calls, results and times of each tool, waiting times, tokens
///
/// p50, p95 and p99 are percentiles of the call times, without the time that people took to answer.
/// In the waiting times, parallel calls count once.
///
/// Exit status: 0 counted; 1 a session was modified and counts only up to there, or cannot be read; 2
/// a session that you name does not exist or cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate stats
  toolgate stats last
  toolgate stats --since 7
  toolgate stats --json | jq '.tools[] | select(.calls > 100)'")]
pub(crate) struct StatsArgs {
    /// Count these sessions instead of all: the beginning of a name, `last`, or a file
    #[arg(value_name = "ID", add = crate::completion_candidates::sessions())]
    pub(crate) sessions: Vec<OsString>,
    /// Count only sessions that began in the last DAYS days
    #[arg(long, value_name = "DAYS", conflicts_with = "sessions")]
    pub(crate) since: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The fewest digits of a hash: fewer could be there by chance.
const MIN_HASH_DIGITS: usize = 8;

fn parse_kept_hash(text: &str) -> Result<String, String> {
    let is_hash =
        text.bytes().all(|byte| byte.is_ascii_hexdigit()) && (MIN_HASH_DIGITS..=64).contains(&text.len());
    is_hash
        .then(|| text.to_ascii_lowercase())
        .ok_or_else(|| "a hash has 8 to 64 hexadecimal digits".to_owned())
}
