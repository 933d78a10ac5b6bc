//! Command-line arguments of `toolgate run`, `demo`, `replay` and `script-server`.

use std::path::PathBuf;

use agent::TurnLimits;
use clap::Args;
use runtime::PlainHttp;
use session::choose_model::ModelLocation;

use super::budget::parse_number_from;
use super::{BudgetArgs, PipeWire, WorkspaceArgs};

/// Let a model work here: it calls tools; you watch, approve and interrupt
///
/// On a terminal, the session stays open: after each turn it asks you for the next prompt, and
/// without a PROMPT for the first one. It ends after one turn with --once or --json, and if standard
/// input or output is no terminal. Your key is read from OPENAI_API_KEY, or from ANTHROPIC_API_KEY
/// for --wire anthropic. Lines that you type during a
/// turn are added to your prompt. Ctrl-C stops the turn; a second Ctrl-C ends the program. The
/// session is recorded in a journal, and --resume continues it.
///
/// Exit status: 0 the model is done; 1 it could not continue; 2 the command line or the
/// configuration is wrong; 3 a limit was reached (--max-turns, --max-time, --max-tokens,
/// --max-cost); 4 the model is done, but every call was refused; 129 after SIGHUP; 130 interrupted;
/// 143 after SIGTERM. After 3, 129, 130 and 143, --resume continues the session.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  toolgate run 'fix the failing test'
  toolgate run --model claude-sonnet-4-5 'what does src/lib.rs do?'
  toolgate run --base-url http://127.0.0.1:8080/v1 --wire chat --model m 'hi'
  toolgate run --json --approval never --max-time 10m 'update the changelog'
  toolgate run --once 'what is this project?'
  toolgate run --resume last 'go on'

docs/run.md describes the events of --json, and the keys and commands during a run.")]
pub(crate) struct RunArgs {
    /// Task for the model; `-` reads it from standard input
    pub(crate) prompt: Option<String>,
    /// Print events as JSON, one a line
    #[arg(long)]
    pub(crate) json: bool,
    /// End after the turn of PROMPT, on a terminal too
    #[arg(long, requires = "prompt")]
    pub(crate) once: bool,
    /// Let the model start other agents (`spawn_agent` and related tools); each is a session with
    /// no more rights
    #[arg(long)]
    pub(crate) agents: bool,
    /// Add this image to the prompt (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Continue an earlier session: the start of its id, or `last` for the newest of this
    /// directory
    #[arg(long, value_name = "ID", add = crate::completion_candidates::sessions())]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
}

/// Endpoint and limits of the model.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// API of the model (default: anthropic if its name begins with `claude`, otherwise responses)
    #[arg(long, value_enum)]
    pub(crate) wire: Option<PipeWire>,
    /// Base URL of the API, e.g. `http://127.0.0.1:8080/v1` (default: the provider's)
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Allow plain http to a model server at a private address (10.0.0.0/8, 192.168.0.0/16, fc00::/7
    /// and so on), e.g. `http://ollama:11434/v1`; the network can read everything
    #[arg(long)]
    pub(crate) insecure_http: bool,
    /// Replace the model with a script, one JSON turn a line (docs/run.md)
    #[arg(long, value_name = "FILE", conflicts_with = "base_url")]
    pub(crate) script: Option<PathBuf>,
    /// Stop a turn after N requests to the model (default: 500)
    #[arg(long, value_name = "N", help_heading = "Budget", value_parser = parse_turns, allow_hyphen_values = true)]
    pub(crate) max_turns: Option<u32>,
    /// Context length of the model (default: 200000); a longer conversation is shortened
    #[arg(long, value_name = "TOKENS", value_parser = parse_context, allow_hyphen_values = true)]
    pub(crate) context: Option<u64>,
}

/// Parses a number of requests.
fn parse_turns(text: &str) -> Result<u32, String> {
    u32::try_from(parse_number_from(text, 1)?).map_err(|_| format!("expected at most {}", u32::MAX))
}

/// Parses a context length.
fn parse_context(text: &str) -> Result<u64, String> {
    parse_number_from(text, 1000)
}

impl ModelArgs {
    /// Returns the location of the model.
    pub(crate) fn location(&self) -> ModelLocation {
        let wire = self.wire.map(|wire| wire.dialect());
        let plain_http = if self.insecure_http { PlainHttp::PrivateNetwork } else { PlainHttp::Loopback };
        ModelLocation { wire, base_url: self.base_url.clone(), script: self.script.clone(), plain_http }
    }

    /// Returns the limits of the model's work.
    pub(crate) fn limits(&self) -> TurnLimits {
        let built_in = TurnLimits::default();
        let rounds = self.max_turns.and_then(|rounds| usize::try_from(rounds).ok());
        let context = self.context.unwrap_or(built_in.context);
        TurnLimits { rounds: rounds.unwrap_or(built_in.rounds), context, ..built_in }
    }
}

/// Watch a scripted model fix a broken project, in ten seconds and without a key
///
/// Creates a small broken project in a temporary directory. A scripted model reads, searches,
/// plans, patches and runs the tests in the sandbox. It is refused a secret, asks you before it
/// deletes something, and ends with passing tests. Everything is real except the model: no key and
/// no server is needed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate demo
  toolgate demo --keep
  toolgate demo --json | jq .type")]
pub(crate) struct DemoArgs {
    /// Keep the project and the journal
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print events as JSON, one a line, like `toolgate run --json`
    #[arg(long)]
    pub(crate) json: bool,
}

/// Repeat the calls of a session on a copy of its workspace, and report differences
///
/// Copies the workspace, and reverts the changes of the session in the copy. If that fails, the
/// copy stays as the workspace is now. The calls run one after another, in the sandbox, and approval
/// questions get the recorded answers. Times are not compared. Calls that were refused, that ran
/// outside the sandbox, or that reached other machines or servers are left out: a replay changes
/// nothing but its copy.
///
/// Exit status: 0 all answers are the same; 1 an answer differs, or the workspace cannot be copied;
/// 2 the session does not exist.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate replay last
  toolgate replay 20261116-21 --cwd ~/project
  toolgate replay last --json | jq 'select(.outcome == \"different\")'")]
pub(crate) struct ReplayArgs {
    /// Session: the beginning of its name, `last`, or a file
    #[arg(value_name = "ID", add = crate::completion_candidates::sessions())]
    pub(crate) session: std::ffi::OsString,
    /// Copy this workspace instead of the session's own
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print JSON, one call a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Serve a scripted model over HTTP, for tests
///
/// A script has one JSON turn a line (docs/run.md). Requests to …/responses, …/chat/completions and
/// …/messages are answered in the dialect of that API, one turn each. After the last turn, the
/// answer is `done`. The server listens on 127.0.0.1 only, and prints its URL.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate script-server turns.jsonl
  toolgate script-server turns.jsonl --port 8080 --log requests.jsonl")]
pub(crate) struct ScriptServerArgs {
    /// Script to serve; `-` is standard input
    pub(crate) file: PathBuf,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Append every request to this file, one a line
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}
