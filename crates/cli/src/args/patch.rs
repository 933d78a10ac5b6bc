//! Command-line arguments of `toolgate patch` and `toolgate diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Apply a patch to files: the whole patch, or nothing
///
/// Accepts the formats that models write (`*** Begin Patch`, git diffs, search and replace as JSON,
/// whole files as JSON) and the diffs of git, diff, svn and hg. Blanks, indentation or quotes may
/// differ from the file if only one place matches. If two places match, or none, nothing changes,
/// and the answer shows the lines of the file.
///
/// Exit status: 0 applied, or applied already; 1 not applied, and nothing changed; 2 the command
/// line is wrong, the input is empty, or no record of the edit can be kept.
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

A link to toolgate with the name apply_patch does the same.")]
pub(crate) struct PatchArgs {
    /// The patch: a file, `-` for standard input (default), or its text
    #[arg(value_name = "FILE")]
    pub(crate) patch: Option<std::ffi::OsString>,
    /// Print the changes as a git diff, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Format of the patch
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) format: PatchFormat,
    /// Work in this directory; nothing outside it is touched
    #[arg(short = 'C', long = "cwd", visible_alias = "directory", value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Replace a file that has hard links under this name only
    #[arg(long)]
    pub(crate) break_links: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the changes of the last turn, by patches and by commands
///
/// A turn is one prompt of a session (such as `toolgate run`), one `toolgate call` of a tool that
/// may change files, one `toolgate patch`, or the calls of `toolgate pipe --events` until all of
/// them are answered. Ignored files are left out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate diff
  toolgate diff | git apply --reverse
  toolgate diff --json -C ~/project")]
pub(crate) struct DiffArgs {
    /// Show the last turn in this directory instead of the current one
    #[arg(short = 'C', long = "cwd", value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatchFormat {
    /// Recognise the format
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
