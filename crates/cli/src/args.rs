//! Command-line arguments of all subcommands (clap). The doc comments are the help texts.

mod acp;
mod budget;
mod changes;
mod log;
mod mcp;
mod mcp_servers;
mod patch;
mod prune;
mod run;
mod serve;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use config::ConfinementTier;
use runtime::wire::Dialect;

pub(crate) use self::acp::AcpArgs;
pub(crate) use self::budget::BudgetArgs;
pub(crate) use self::changes::{
    ApplyArgs, ChangesArgs, CheckpointsArgs, DiscardArgs, RedoArgs, StageArgs, TryArgs, UndoArgs,
};
pub(crate) use self::log::{LogArgs, LogCommand, LogVerifyArgs, StatsArgs};
pub(crate) use self::mcp::{ApproveArgs, McpArgs};
pub(crate) use self::mcp_servers::{
    McpAddArgs, McpGetArgs, McpListArgs, McpLoginArgs, McpLogoutArgs, McpRemoveArgs, McpServerCommand,
    McpSetupArgs, McpTestArgs, SetupAgent,
};
pub(crate) use self::patch::{DiffArgs, PatchArgs, PatchFormat};
pub(crate) use self::prune::LogPruneArgs;
pub(crate) use self::run::{DemoArgs, ModelArgs, ReplayArgs, RunArgs, ScriptServerArgs};
pub(crate) use self::serve::ServeArgs;
pub(crate) use config::flags::WorkspaceArgs;

/// The text of `--version`; build.rs records the commit.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("TOOLGATE_COMMIT"),
    "\nbuild:  ",
    env!("TOOLGATE_PROFILE"),
    ", ",
    env!("TOOLGATE_TARGET"),
);

/// Answer the tool calls of a coding model: fast, safely, exactly once
#[derive(Debug, Parser)]
#[command(name = "toolgate", version, long_version = LONG_VERSION, max_term_width = 100)]
#[command(propagate_version = true)]
#[command(after_help = "\
Examples:
  toolgate demo
  toolgate run 'fix the failing test'
  toolgate call grep_files --json '{\"pattern\": \"fn main\"}'
  toolgate tools --wire anthropic
  toolgate pipe < calls.jsonl
  toolgate sandbox -- cargo test
  toolgate patch fix.diff
  toolgate mcp
  toolgate serve

Environment:
  TOOLGATE_HOME  directory of your configuration and sessions (default: ~/.config/toolgate and
                 ~/.local/state/toolgate)
  TOOLGATE_LOG   log filter for stderr, e.g. `debug` (default: warnings)
  NO_COLOR       switches colours off, even on a terminal")]
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
    Try(TryArgs),
    Changes(ChangesArgs),
    Apply(ApplyArgs),
    Discard(DiscardArgs),
    Undo(UndoArgs),
    Redo(RedoArgs),
    Checkpoints(CheckpointsArgs),
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
    #[command(hide = true)]
    Man(ManArgs),
}

/// Make one tool call and print its answer
///
/// Asks for approval at the terminal, with single keys. Without a terminal, a call that needs
/// approval is refused.
///
/// Exit status: 0 the tool succeeded; 1 it failed; 2 the call is wrong (unknown tool, invalid
/// arguments, invalid configuration); 130 stopped by Ctrl-C or at an approval question; 143 stopped
/// by SIGTERM.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate call list_dir --json '{\"path\": \"src\", \"recursive\": true}'
  toolgate call read_file --input arguments.json --output json
  echo '{\"pattern\": \"TODO\"}' | toolgate call grep_files --input - --cwd src

`toolgate tools` lists the tools; `toolgate tools NAME` describes the arguments of one.")]
pub(crate) struct CallArgs {
    /// Name of the tool, e.g. `read_file`
    #[arg(add = crate::completion_candidates::tools())]
    pub(crate) name: String,
    /// Arguments as a JSON object (default: none)
    #[arg(long, value_name = "ARGS", conflicts_with = "input")]
    pub(crate) json: Option<String>,
    /// Read the arguments from this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Output format: `text` for people, `json` for programs
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

/// List the tools that a model is offered, or describe one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate tools
  toolgate tools grep_files
  toolgate tools --wire chat --json > tools.json")]
pub(crate) struct ToolsArgs {
    /// Describe the arguments of this tool, e.g. `grep_files`
    #[arg(add = crate::completion_candidates::tools())]
    pub(crate) name: Option<String>,
    /// Print the tool definitions in the JSON format of this API
    #[arg(long, value_enum)]
    pub(crate) wire: Option<ToolsWire>,
    /// Print JSON on one line; the format is OpenAI Responses unless --wire names another API
    #[arg(long)]
    pub(crate) json: bool,
    /// Also list tools that a model can call without being offered them
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

/// Answer the tool calls of a model: JSON lines in, JSON lines out, one session
///
/// Reads items, stream events or whole responses of the API in --wire, one JSON value a line.
/// Writes the answers to the calls in them, in the order of the calls. docs/pipe.md has examples.
///
/// A call starts as soon as it is complete: an item at once, a streamed Responses call at
/// `response.output_item.done`, an Anthropic call at `content_block_stop`, a Chat call at
/// `finish_reason`. At the end of the input, a call starts if all of its parts have arrived.
///
/// Control lines: `{"type": "toolgate.cancel", "call_id": "…"}` stops one call; without a call_id,
/// it stops all of them. With --ask, `{"type": "toolgate.decision", "call_id": "…", "decision":
/// "approved"}` answers a question. A line that cannot be answered (invalid JSON, no call id, a
/// call id in use) is reported as `{"type": "toolgate.fault", …}`.
///
/// Exit status: 0 at the end of the input, when every call is answered, even if calls failed; 130
/// after Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo '{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"list_dir\",\"input\":{\"path\":\".\"}}' |
    toolgate pipe --wire anthropic
  toolgate pipe --wire anthropic --cwd ~/project < stream.jsonl > answers.jsonl
  toolgate pipe --stats < calls.jsonl > /dev/null")]
pub(crate) struct PipeArgs {
    /// API of the items that are read and written
    #[arg(long, value_enum, default_value = "responses")]
    pub(crate) wire: PipeWire,
    /// Also write the progress of each call, as `{"type": "toolgate.event", …}`
    #[arg(long)]
    pub(crate) events: bool,
    /// Write approval questions as `{"type": "toolgate.question", …}` and read the answers; without
    /// --ask, calls that need approval are refused
    #[arg(long)]
    pub(crate) ask: bool,
    /// At the end, print the number of calls and their times to stderr
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

/// Run one command in the sandbox: it writes only here and reaches no host
///
/// Standard input, output, error and the terminal pass through. By default, the command sees the
/// whole file system read-only, except for the working directory, a private /tmp and the --writable
/// directories. Secrets are hidden. Git works, but its hooks and configuration are read-only.
/// docs/sandbox.md has the details, and compares this with bwrap and srt.
///
/// Exit status: that of the command, 128 plus the signal number if a signal ended it; 125 the
/// command cannot be confined; 126 it cannot be executed; 127 it does not exist.
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
    /// Print the confinement to stderr first, and the refusals at the end
    #[arg(long)]
    pub(crate) explain: bool,
    /// Pass an environment variable of yours to the command, or set one: NAME or NAME=VALUE
    /// (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
    /// Program and arguments, e.g. `cargo test`
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) argv: Vec<String>,
}

/// Explain decisions, check and test rules, import rules of other programs
///
/// A rule allows commands, paths, tools or hosts, forbids them, or makes Toolgate ask. Your rules
/// are in ~/.config/toolgate/rules.toml, the machine's in /etc/toolgate/rules.toml, and a project's
/// in .toolgate/rules.toml. A project's rules may only tighten. docs/rules.md describes the file.
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

/// Show the decision on a command or a call, and the reason, without running anything
///
/// Lists every command that a script may run, with its class and the rules that match it. Words
/// that are unknown before the run are marked ‹so›. docs/approval.md explains the classes.
///
/// Exit status: 0 it would run; 1 it would be refused; 2 the command line is wrong; 3 Toolgate
/// would ask you first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate policy explain -- rm -rf src
  toolgate policy explain --script 'cd src && make 2>&1 | tee log'
  toolgate policy explain --approval untrusted --json -- git push
  toolgate policy explain --tool read_file --json '{\"path\": \"/etc/passwd\"}'")]
#[command(group(clap::ArgGroup::new("what").required(true).args(["argv", "script", "tool"])))]
pub(crate) struct PolicyExplainArgs {
    /// Explain this script for your shell, given as one word
    #[arg(long, value_name = "TEXT")]
    pub(crate) script: Option<String>,
    /// Explain a call of this tool; --json gives its arguments
    #[arg(long, value_name = "NAME", add = crate::completion_candidates::tools())]
    pub(crate) tool: Option<String>,
    /// Print JSON; with --tool, the arguments of the call
    #[arg(long, value_name = "ARGS", num_args = 0..=1, default_missing_value = "")]
    pub(crate) json: Option<String>,
    /// Output format (default: text; without --tool, --json selects json)
    #[arg(long, value_enum)]
    pub(crate) output: Option<OutputFormat>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
    /// Explain this program with its arguments
    #[arg(last = true, value_name = "CMD")]
    pub(crate) argv: Vec<String>,
}

/// Check the rules for errors, and warn about rules that allow more than they seem to
///
/// Without a FILE, checks all rules in force. A FILE in a directory `.toolgate` is checked as a
/// project's file, any other as yours.
///
/// Exit status: 0 no errors, possibly warnings; 1 at least one error; 2 a FILE cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate policy check
  toolgate policy check rules.toml
  toolgate policy check --json --cwd ~/project")]
pub(crate) struct PolicyCheckArgs {
    /// Check these files instead of the rules in force
    #[arg(add = crate::completion_candidates::rules())]
    pub(crate) file: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Check the rules in force in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Test the `match` and `not_match` examples of the rules, each against its own rule
///
/// Without a FILE, tests the examples of all rules in force. Unlike `check`, reports every example
/// that fails.
///
/// Exit status: 0 all examples hold; 1 an example fails, or a file has another error; 2 a FILE
/// cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate policy test
  toolgate policy test .toolgate/rules.toml
  toolgate policy test --json | jq '.files[].examples[] | select(.holds | not)'")]
pub(crate) struct PolicyTestArgs {
    /// Test these files instead of the rules in force
    #[arg(add = crate::completion_candidates::rules())]
    pub(crate) file: Vec<PathBuf>,
    /// Print JSON, including the examples that hold
    #[arg(long)]
    pub(crate) json: bool,
    /// Test the rules in force in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Convert the rules of another program
///
/// Entries that cannot be converted are reported on stderr and in comments, and never guessed. No
/// converted rule lets a command leave the sandbox. Read the output before you add it to your
/// rules.
///
/// Exit status: 0 FILE was read, even if some entries were not converted; 2 FILE cannot be read or
/// understood at all.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate policy import codex ~/.codex/rules/default.rules
  toolgate policy import claude ~/.claude/settings.json --out rules.toml
  toolgate policy import claude - < .claude/settings.json | less")]
pub(crate) struct PolicyImportArgs {
    /// Program that the rules are for
    #[arg(value_enum)]
    pub(crate) from: ForeignRuleFormat,
    /// File to convert; `-` is standard input
    pub(crate) file: PathBuf,
    /// Write to this file, which must not exist yet, instead of standard output
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

/// Say whether commands are fully sandboxed here, and the command that fixes it
///
/// Also checks configuration, model, key, state directory, temporary files, git and control groups.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate doctor
  toolgate doctor --verbose
  toolgate doctor --require landlock
  sudo toolgate doctor --fix

Exit status: 0 everything can be enforced, or what you require; 1 something cannot; 125 no command can
be confined.")]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show every layer of the sandbox, and what would be missing with it alone
    #[arg(long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// Be content with these layers of the sandbox (default: confinement.require, or all of them)
    #[arg(long, value_enum, value_name = "LAYER")]
    pub(crate) require: Option<ConfinementTier>,
    /// Install an AppArmor profile that lets this program create namespaces; Ubuntu 24.04 needs it,
    /// and only root can do it
    #[arg(long, conflicts_with_all = ["json", "verbose", "require"])]
    pub(crate) fix: bool,
}

/// Show the configuration in force, and the source of each value
///
/// Your own file is ~/.config/toolgate/config.toml. A project's file is toolgate.toml in the
/// working directory or above it.
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
    let example = config::EXAMPLE;
    format!(
        "Examples:\n  toolgate config\n  toolgate config --json --cwd ~/project\n\nWhat can be set:\n\n{example}"
    )
}

/// Print a completion script for a shell
///
/// The script asks `toolgate` at each Tab, so it completes your sessions, tools, servers and rule
/// files too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(toolgate completions bash)       # in ~/.bashrc
  source <(toolgate completions zsh)        # in ~/.zshrc
  toolgate completions fish | source        # in ~/.config/fish/config.fish")]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: clap_complete::Shell,
}

/// Write the manual pages of this program into a directory
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The directory, made if it is missing
    pub(crate) directory: PathBuf,
}
