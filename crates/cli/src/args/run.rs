//! Command-line arguments of `toolgate run`, `demo`, `replay` and `script-server`.

use std::path::PathBuf;

use clap::Args;

use super::{PipeWire, WorkspaceArgs};

/// Let a model work here: it calls tools, you watch, approve and interrupt
///
/// Without a PROMPT it asks you for one, and for the next when it is done; `-` reads it from standard input. Your key is read from
/// OPENAI_API_KEY, or ANTHROPIC_API_KEY for --wire anthropic. What happens is written to a journal that --resume goes on from.
/// What you type while it works is added to what you asked; Ctrl-C stops the turn, a second one ends the program.
///
/// Exit status: 0 the model is done; 1 it could not go on; 2 something about the command line or the configuration is wrong; 3 it took as many
/// requests as --max-turns; 130 it was interrupted.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  toolgate run 'fix the failing test'
  toolgate run --model claude-sonnet-4-5 --wire anthropic 'what does src/lib.rs do?'
  toolgate run --base-url http://127.0.0.1:8080/v1 --wire chat --model local 'tidy up'
  toolgate run --json --approval never 'update the changelog' > events.jsonl
  toolgate run --resume last 'go on'

docs/run.md has the events of --json, and what can be typed.")]
pub(crate) struct RunArgs {
    /// What to do; `-` for standard input
    pub(crate) prompt: Option<String>,
    /// Write what happens as JSON, one event a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Let the model start other agents, each a session of its own with no more rights: `spawn_agent` and what belongs to it
    #[arg(long)]
    pub(crate) agents: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Show this picture with the prompt (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Go on with an earlier session: the start of its id, or `last`
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// Where the model is, and how far it may go.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModelArgs {
    /// Which API to speak; by default what the model's name suggests
    #[arg(long, value_enum)]
    pub(crate) wire: Option<PipeWire>,
    /// Where the API is, e.g. `http://127.0.0.1:8080/v1`; by default the provider's own
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Let this script play the model: a JSON turn a line (docs/run.md)
    #[arg(long, value_name = "FILE", conflicts_with = "base_url")]
    pub(crate) script: Option<PathBuf>,
    /// Stop after so many requests to the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// How much the model can read at a time; what is longer is shortened before (200000)
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1000..))]
    pub(crate) context: Option<u64>,
}

/// See all of it at work in ten seconds, without a key or a server
///
/// A small broken project is laid out in a temporary directory. A scripted model reads, searches, plans, patches and runs the tests in the
/// sandbox, is refused a secret, asks you before it deletes something, and ends green. Everything is real but the model.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate demo
  toolgate demo --keep
  toolgate demo --json | jq .type")]
pub(crate) struct DemoArgs {
    /// Leave the project and the journal there
    #[arg(long)]
    pub(crate) keep: bool,
    /// Write what happens as JSON, one event a line, as `toolgate run --json` does
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make the calls of a session once more, on a copy of its workspace, and say where they come to something else
///
/// The workspace is copied, and what the session changed is taken back there; if that cannot be done, the copy stays as the workspace is now. The calls run in
/// the sandbox of the session, one after another; questions are answered as they were. Times do not count. Calls of servers are left out.
///
/// Exit status: 0 all are the same; 1 one is not; 2 there is no such session.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate replay last
  toolgate replay 20261116-21 --cwd ~/project
  toolgate replay last --json | jq 'select(.outcome == \"different\")'")]
pub(crate) struct ReplayArgs {
    /// The session: the beginning of its name, `last`, or a file
    #[arg(value_name = "ID")]
    pub(crate) session: std::ffi::OsString,
    /// Copy this workspace instead of the session's own
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print JSON, a call a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Serve a script as if it were a model, for tests
///
/// A script has a JSON turn a line (docs/run.md). Requests to …/responses, …/chat/completions and …/messages are answered in their own
/// dialect, a turn each; when the script is used up the answer is `done`. It listens on 127.0.0.1 and nowhere else, and prints its address.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate script-server turns.jsonl
  toolgate script-server turns.jsonl --port 8080 --log requests.jsonl")]
pub(crate) struct ScriptServerArgs {
    /// The script, `-` for standard input
    pub(crate) file: PathBuf,
    /// The port; any that is free if left out
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Append every request to this file, one a line
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}
