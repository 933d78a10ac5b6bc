//! Command-line arguments of `toolgate patch` and `toolgate diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Change files as a patch says: all of it, or nothing
///
/// Understands what models write: `*** Begin Patch`, git diffs, search and replace as JSON, whole files as JSON; and what git,
/// diff, svn and hg do. Where
/// lines of the patch and of the file differ in blanks, indentation or quotes, it still lands if there is only one place
/// for it; if there are two, or none, nothing is changed and the answer says what stands there.
///
/// Exit status: 0 applied, or applied already; 1 not applied, and nothing changed; 2 the command line is wrong, or the input is
/// empty.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate patch fix.diff
  git diff HEAD~1 | toolgate patch -C ../other --dry-run
  diff -ruN old new | toolgate patch -C old
  toolgate patch <<'EOF'
  *** Begin Patch
  *** Update File: README.md
  -# Old title
  +# New title
  *** End Patch
  EOF

A link to toolgate that is called apply_patch does the same.")]
pub(crate) struct PatchArgs {
    /// The patch: a file, `-` for standard input (default), or its text
    #[arg(value_name = "FILE")]
    pub(crate) patch: Option<std::ffi::OsString>,
    /// Show what would change, as a git diff, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// What the patch is written in
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) format: PatchFormat,
    /// Work in this directory; nothing outside of it is touched
    #[arg(short = 'C', long = "cwd", visible_alias = "directory", value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Replace files that have several names (hard links) under this name alone
    #[arg(long)]
    pub(crate) break_links: bool,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what the last turn changed, by patches and by commands
///
/// A turn is one `toolgate call` of a tool that may change files, one `toolgate patch`, or what a `toolgate pipe --events`
/// session did until all its calls were answered. What ignore files hide is not looked at.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate diff
  toolgate diff | git apply --reverse
  toolgate diff --json -C ~/project")]
pub(crate) struct DiffArgs {
    /// The directory that was worked in
    #[arg(short = 'C', long = "cwd", value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatchFormat {
    /// Whatever it looks like
    Auto,
    /// `*** Begin Patch`
    Envelope,
    /// A git or unified diff
    Unified,
    /// `{"file_path", "original_content", "updated_content"}`
    Replace,
    /// `{"files": [{"path", "content"}]}`
    Files,
}
