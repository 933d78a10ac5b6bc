//! Command-line arguments of all subcommands (clap). The doc comments are the help texts.

mod acp;
mod log;
mod mcp;
mod mcp_servers;
mod patch;
mod run;
mod serve;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use toolgate::HostPattern;
use toolgate::wire::Dialect;

pub(crate) use self::acp::AcpArgs;
pub(crate) use self::log::{LogArgs, LogCommand, LogVerifyArgs, StatsArgs};
pub(crate) use self::mcp::{ApproveArgs, McpArgs};
pub(crate) use self::mcp_servers::{
    McpAddArgs, McpGetArgs, McpListArgs, McpLoginArgs, McpLogoutArgs, McpRemoveArgs, McpServerCommand,
    McpTestArgs,
};
pub(crate) use self::patch::{DiffArgs, PatchArgs, PatchFormat};
pub(crate) use self::run::{DemoArgs, ModelArgs, ReplayArgs, RunArgs, ScriptServerArgs};
pub(crate) use self::serve::ServeArgs;
use crate::config::{ApprovalMode, ConfinementTier, NetworkMode, SandboxMode};

/// Answers the tool calls of a coding model: fast, safely, exactly once
#[derive(Debug, Parser)]
#[command(name = "toolgate", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "\
Examples:
  toolgate demo
  toolgate run 'fix the failing test'
  toolgate call grep_files --json '{\"pattern\": \"fn main\", \"file_pattern\": \"*.rs\"}'
  toolgate tools --wire anthropic
  toolgate pipe < calls.jsonl
  toolgate sandbox -- cargo test
  toolgate patch fix.diff
  toolgate mcp
  toolgate serve

Environment:
  TOOLGATE_HOME  where your configuration is, instead of ~/.config/toolgate
  TOOLGATE_LOG   what is logged to stderr, e.g. `debug`
  NO_COLOR       no colours, not even on a terminal")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Demo(DemoArgs),
    Run(Box<RunArgs>),
    Call(CallArgs),
    Tools(ToolsArgs),
    Pipe(PipeArgs),
    Sandbox(SandboxArgs),
    Patch(PatchArgs),
    Diff(DiffArgs),
    Mcp(Box<McpArgs>),
    Serve(ServeArgs),
    Acp(Box<AcpArgs>),
    Approve(ApproveArgs),
    Log(LogArgs),
    Replay(ReplayArgs),
    Stats(StatsArgs),
    Policy(PolicyArgs),
    Doctor(DoctorArgs),
    Config(ConfigArgs),
    ScriptServer(ScriptServerArgs),
    Completions(CompletionsArgs),
}

/// Make one tool call and print its answer
///
/// Exit status: 0 the tool did what was asked, 1 it did not, 2 the call itself is wrong (an unknown tool, arguments
/// that do not fit, a bad configuration), 130 it was stopped, with Ctrl-C or at a question, 143 by SIGTERM.
///
/// What has to be asked is asked at the terminal, with keys; where there is none, it is refused.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate call list_dir --json '{\"path\": \"src\", \"recursive\": true}'
  toolgate call read_file --input arguments.json --output json
  echo '{\"pattern\": \"TODO\"}' | toolgate call grep_files --input - --cwd ~/project

`toolgate tools` lists the tools; `toolgate tools NAME` shows what arguments one takes.")]
pub(crate) struct CallArgs {
    /// The tool, e.g. `read_file`
    pub(crate) name: String,
    /// Its arguments as a JSON object; none if left out
    #[arg(long, value_name = "ARGS", conflicts_with = "input")]
    pub(crate) json: Option<String>,
    /// Read the arguments from a file, `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// `text` for people, `json` for programs
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: OutputFormat,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Text,
    Json,
}

/// Show the tools that a model gets
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate tools
  toolgate tools grep_files
  toolgate tools --wire chat --json > tools.json")]
pub(crate) struct ToolsArgs {
    /// Show what arguments this tool takes
    pub(crate) name: Option<String>,
    /// Show them as this API wants them
    #[arg(long, value_enum)]
    pub(crate) wire: Option<ToolsWire>,
    /// Print JSON on one line, for OpenAI Responses unless --wire says otherwise
    #[arg(long)]
    pub(crate) json: bool,
    /// List those too that a model can call without being told of them
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolsWire {
    /// OpenAI Responses
    Responses,
    /// OpenAI Chat Completions
    Chat,
    /// Anthropic Messages
    Anthropic,
    /// Model Context Protocol
    Mcp,
}

/// Answer a model's items: JSON lines in, JSON lines out, one session
///
/// Reads items, stream events or whole responses of the API given with --wire, one JSON value a line, and writes the
/// items that answer the calls in them, in the order of the calls. A call starts as soon as it is whole: an item at once, a
/// streamed Responses call with its `response.output_item.done`, an Anthropic one with its `content_block_stop`, a Chat one
/// with the `finish_reason`, and whatever is left at the end of the input. docs/pipe.md has examples.
///
/// Exit status: 0 when the input has ended and every call is answered, whatever the answers say; 130 after Ctrl-C.
///
/// Lines of ours: `{"type": "toolgate.cancel", "call_id": "…"}` stops one call, without a call_id all of them; with --ask,
/// `{"type": "toolgate.decision", "call_id": "…", "decision": "approved"}` answers a question. What
/// cannot be answered (no JSON, no call id, a call id in use) is reported as `{"type": "toolgate.fault", …}`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo '{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"list_dir\",\"input\":{\"path\":\".\"}}' |
    toolgate pipe --wire anthropic
  toolgate pipe --wire anthropic --cwd ~/project < stream.jsonl > answers.jsonl
  toolgate pipe --stats < calls.jsonl > /dev/null")]
pub(crate) struct PipeArgs {
    /// Which API's items to read and write
    #[arg(long, value_enum, default_value = "responses")]
    pub(crate) wire: PipeWire,
    /// Also write what happens to each call, as `{"type": "toolgate.event", …}`
    #[arg(long)]
    pub(crate) events: bool,
    /// Write what has to be asked as `{"type": "toolgate.question", …}`, and read the answers; without this it is refused
    #[arg(long)]
    pub(crate) ask: bool,
    /// At the end, print to stderr what was called how often and how fast
    #[arg(long)]
    pub(crate) stats: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PipeWire {
    /// OpenAI Responses
    Responses,
    /// OpenAI Chat Completions
    Chat,
    /// Anthropic Messages
    Anthropic,
}

impl PipeWire {
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Self::Responses => Dialect::Responses,
            Self::Chat => Dialect::Chat,
            Self::Anthropic => Dialect::Anthropic,
        }
    }
}

/// Run one command confined: it writes here and nowhere else, and talks to nobody
///
/// Input, output, errors and the terminal pass through. The command sees the whole file system read-only but for the working
/// directory, a /tmp of its own and what --writable adds; secrets are hidden; git works, but its hooks and configuration
/// stay as they are. docs/sandbox.md says more, also how this replaces bwrap and srt.
///
/// Exit status: the command's own, 128 and the signal's number if one ended it; 125 if it could not be confined, 126 if it
/// could not be run, 127 if it is not there.
#[derive(Debug, Args)]
#[command(
    name = "sandbox",
    after_help = "\
Examples:
  toolgate sandbox -- cargo test
  toolgate sandbox --network on -- npm install
  toolgate sandbox --host registry.npmjs.org -- npm install
  toolgate sandbox --mode read-only -- ./untrusted-script
  toolgate sandbox --writable ../out --deny-read '*.key' --explain -- make"
)]
pub(crate) struct SandboxArgs {
    /// Say first, on stderr, how it is confined, and afterwards what was refused
    #[arg(long)]
    pub(crate) explain: bool,
    /// Give the command this variable of yours, or set it: NAME or NAME=VALUE; repeatable
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) argv: Vec<String>,
}

/// Explain decisions, check and test rules, and make them of other programs' rules
///
/// Rules say which commands, paths, tools and hosts are allowed, asked about or forbidden. Yours are in
/// ~/.config/toolgate/rules.toml, a project's, which may only tighten, in .toolgate/rules.toml; docs/rules.md says what can stand there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate policy explain -- rm -rf src
  toolgate policy check
  toolgate policy test --json
  toolgate policy import codex ~/.codex/rules/default.rules")]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    Explain(Box<PolicyExplainArgs>),
    Check(PolicyCheckArgs),
    Test(PolicyTestArgs),
    Import(PolicyImportArgs),
}

/// Say what would be decided about a command or a call, and why, without running anything
///
/// Every command that a script may run is listed, with what is known about it and which rules are about it. What cannot be
/// known is marked ‹so›. docs/approval.md says what the words mean.
///
/// Exit status: 0 it would be run; 3 you would be asked first; 1 it would be refused; 2 the question makes no sense.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate policy explain -- rm -rf src
  toolgate policy explain --script 'cd src && make 2>&1 | tee log'
  toolgate policy explain --approval untrusted --json -- git push
  toolgate policy explain --tool read_file --json '{\"path\": \"/etc/passwd\"}'")]
#[command(group(clap::ArgGroup::new("what").required(true).args(["argv", "script", "tool"])))]
pub(crate) struct PolicyExplainArgs {
    /// A script for your shell, as one word
    #[arg(long, value_name = "TEXT")]
    pub(crate) script: Option<String>,
    /// A tool to be called; --json gives its arguments
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Print JSON; with --tool, the arguments of the call
    #[arg(long, value_name = "ARGS", num_args = 0..=1, default_missing_value = "")]
    pub(crate) json: Option<String>,
    /// How to print
    #[arg(long, value_enum)]
    pub(crate) output: Option<OutputFormat>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
    /// A program and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub(crate) argv: Vec<String>,
}

/// Say whether the rules are right, and what those that allow really open
///
/// Without a FILE: all that are in force. A FILE in a directory `.toolgate` is checked as a project's, another one as yours.
///
/// Exit status: 0 they are right, though perhaps with warnings; 1 something in them is wrong; 2 a FILE cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate policy check
  toolgate policy check rules.toml
  toolgate policy check --json --cwd ~/project")]
pub(crate) struct PolicyCheckArgs {
    /// Check these instead of the rules in force
    pub(crate) file: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The rules in force in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Try the `match` and `not_match` examples of the rules, each against its own rule
///
/// Without a FILE: those of all rules in force. Other than `check`, this tells of every example that fails.
///
/// Exit status: 0 all hold; 1 one does not, or something else in a file is wrong; 2 a FILE cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate policy test
  toolgate policy test .toolgate/rules.toml
  toolgate policy test --json | jq '.files[].examples[] | select(.holds | not)'")]
pub(crate) struct PolicyTestArgs {
    /// Test these instead of the rules in force
    pub(crate) file: Vec<PathBuf>,
    /// Print JSON, with the examples that hold too
    #[arg(long)]
    pub(crate) json: bool,
    /// The rules in force in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Make rules of another program's
///
/// What cannot be carried over is told on stderr and in comments, and never guessed. Nothing that is allowed leaves the sandbox.
/// Read what comes out, and put it into your rules.
///
/// Exit status: 0 it was read, even if not all was carried over; 2 FILE cannot be read or understood at all.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate policy import codex ~/.codex/rules/default.rules
  toolgate policy import claude ~/.claude/settings.json --out ~/.config/toolgate/rules.toml
  toolgate policy import claude - < .claude/settings.json | less")]
pub(crate) struct PolicyImportArgs {
    /// Whose rules they are
    #[arg(value_enum)]
    pub(crate) from: ForeignRuleFormat,
    /// The file, `-` for standard input
    pub(crate) file: PathBuf,
    /// Write to this file, which must not be there yet, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForeignRuleFormat {
    /// Codex: a `.rules` file
    Codex,
    /// Claude Code: the permissions in a `settings.json`
    Claude,
}

/// Say what this machine can enforce, what is missing, and the command that mends it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate doctor
  toolgate doctor --json

Exit status: 0 if everything can be enforced, 1 if not.")]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the configuration in force and where each value comes from
///
/// Your own file is ~/.config/toolgate/config.toml; a project's is toolgate.toml in the working directory or above it.
#[derive(Debug, Args)]
#[command(after_help = config_help())]
pub(crate) struct ConfigArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

fn config_help() -> String {
    let example = crate::config::EXAMPLE;
    format!(
        "Examples:\n  toolgate config\n  toolgate config --json --cwd ~/project\n\nWhat can be set:\n\n{example}"
    )
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate completions bash > ~/.local/share/bash-completion/completions/toolgate
  toolgate completions zsh > ~/.zfunc/_toolgate
  toolgate completions fish > ~/.config/fish/completions/toolgate.fish")]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: clap_complete::Shell,
}

/// Where to work, and for which model.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WorkspaceArgs {
    /// Work in this directory instead of the current one; tools may read what is below it
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Let tools read below this directory too (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) read_root: Vec<PathBuf>,
    /// What tools may do beside reading
    #[arg(long, visible_alias = "mode", value_enum, value_name = "MODE")]
    pub(crate) sandbox: Option<SandboxMode>,
    /// When to ask you
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) approval: Option<ApprovalMode>,
    #[command(flatten)]
    pub(crate) confine: ConfinementArgs,
    /// The model that calls, e.g. `claude-opus-4`: it gets the tools it can use
    #[arg(long)]
    pub(crate) model: Option<String>,
}

/// What commands are confined to.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Confinement")]
pub(crate) struct ConfinementArgs {
    /// Let commands write below this directory too (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) writable: Vec<PathBuf>,
    /// Do not let them write this, though it lies below a writable directory (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) read_only: Vec<PathBuf>,
    /// Let nobody read this path or what fits this glob (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny_read: Vec<String>,
    /// Whom commands may talk to
    #[arg(long, value_enum, value_name = "WHOM")]
    pub(crate) network: Option<NetworkMode>,
    /// Let commands reach this host, whatever the network is: `example.org`, `*.example.org:443` (repeatable)
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<HostPattern>,
    /// Let commands connect to this unix socket: a path, or `@` and an abstract name (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) unix_socket: Vec<String>,
    /// The strongest layer to use
    #[arg(long, value_enum, value_name = "LAYER", hide_short_help = true)]
    pub(crate) tier: Option<ConfinementTier>,
    /// The weakest layer that will do, `namespaces` unless you say otherwise: with less, secrets can be read
    #[arg(long, value_enum, value_name = "LAYER", hide_short_help = true)]
    pub(crate) require: Option<ConfinementTier>,
}
