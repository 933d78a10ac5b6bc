//! Arguments of the commands about staged changes: try, changes, apply, discard, undo, redo, checkpoints.

use std::path::PathBuf;

use clap::Args;
use config::flags::WorkspaceArgs;

/// The session whose staged changes are meant.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StageArgs {
    /// Session with the changes: its id or the beginning of it (default: the newest here)
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Look for the newest session of this directory instead of the current one
    #[arg(short = 'C', long = "cwd", value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a command whose changes are kept aside, then choose what happens to them
///
/// The command sees its own changes; your files stay as they are. When it ends, its changes are
/// listed, and you apply them, pick some, discard them, or keep them for later. The command is
/// confined as `toolgate sandbox` confines it.
///
/// Exit status: that of the command; 125 it cannot be confined, or its changes cannot be staged or
/// applied; 126 it cannot be executed; 127 it does not exist.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate try -- make install DESTDIR=out
  toolgate try --network on -- npm install
  toolgate try --apply-if-ok -- cargo fix --allow-dirty
  toolgate try --keep -- ./script.sh    # then: toolgate changes --diff")]
pub(crate) struct TryArgs {
    /// Leave the changes pending, without a question
    #[arg(long, conflicts_with_all = ["yes", "apply_if_ok"])]
    pub(crate) keep: bool,
    /// Apply the changes, without a question
    #[arg(long)]
    pub(crate) yes: bool,
    /// Apply the changes if the command exits with 0, else leave them pending
    #[arg(long)]
    pub(crate) apply_if_ok: bool,
    /// Print the changes as JSON at the end
    #[arg(long)]
    pub(crate) json: bool,
    /// Pass an environment variable of yours to the command, or set one: NAME or NAME=VALUE
    /// (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
    /// Program and arguments, e.g. `npm install`
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) argv: Vec<String>,
}

/// List the staged changes of a session, or show them as a diff
///
/// Removals come first, then changed permissions and contents, then new files. Directories with
/// generated files, such as target and node_modules, are one line with counts.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate changes
  toolgate changes --diff
  toolgate changes --json | jq '.changes[].path'")]
pub(crate) struct ChangesArgs {
    /// Show only changes at these paths and below
    pub(crate) paths: Vec<PathBuf>,
    /// Show the changes as a diff
    #[arg(long)]
    pub(crate) diff: bool,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}

/// Apply staged changes to your files: all of them, or none
///
/// A file that you changed too is merged if both changes fit together; otherwise nothing is applied
/// and the file is named. Files that your editor, git or an agent obeys are applied only if you name
/// them. `toolgate undo` takes an apply back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate apply
  toolgate apply src README.md
  toolgate apply --pick")]
pub(crate) struct ApplyArgs {
    /// Apply only changes at these paths and below
    pub(crate) paths: Vec<PathBuf>,
    /// Choose the changes one by one
    #[arg(long, conflicts_with = "json")]
    pub(crate) pick: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}

/// Give up staged changes
///
/// `toolgate undo` brings them back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate discard build.log
  toolgate discard --yes")]
pub(crate) struct DiscardArgs {
    /// Discard only changes at these paths and below
    pub(crate) paths: Vec<PathBuf>,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}

/// Take back the last steps of a session with staged changes
///
/// A step is a call that changed something, an apply or a discard. Taking back an apply restores
/// your files, except those that you changed since, which are named.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate undo
  toolgate undo 3
  toolgate undo call_7")]
pub(crate) struct UndoArgs {
    /// Number of steps, or the id of the call that is the first to go
    #[arg(default_value = "1", value_name = "N | CALL")]
    pub(crate) steps: String,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}

/// Repeat steps that were taken back
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate redo
  toolgate redo 2")]
pub(crate) struct RedoArgs {
    /// Number of steps
    #[arg(default_value_t = 1, value_name = "N")]
    pub(crate) steps: usize,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}

/// List the steps of a session with staged changes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate checkpoints
  toolgate checkpoints --json")]
pub(crate) struct CheckpointsArgs {
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}
