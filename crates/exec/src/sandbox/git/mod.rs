//! Git directories that commands change: discovery, protection, and landing of the changes on the host.
//!
//! A command sees each git directory through an overlay: its writes go to an upper directory of Toolgate's. This
//! module finds the git directories (`discover`) and the files that git obeys (`git_settings`, `git_inputs`). It lands
//! the changes that an allow-list admits (`git_layer`). The upper directory is hostile throughout, even while it is read.
//! `git` itself is never run here.
//!
//! `config_value_use` classifies the configuration values that are run. `command_paths` finds the files in the text of
//! a command, with `shell_words` (its words and variables), `word_roles` (program, script, option) and `wildcard`.
//!
//! `allowlist` judges names, `content_checks` and `config_rewrite` judge contents, `landing_plan` reads the upper
//! directory, `landing` and `host_git_dir` write to the host. `index` and `index_landing` handle staged files;
//! `object_store` and `land_objects` handle content-addressed files. `unfinished_operation` holds back a stopped rebase.
//! `ref_conflicts` handles references that the host has moved. `upper_dir` and `sys` wrap the system calls.

use std::path::PathBuf;

mod allowlist;
mod command_paths;
mod config_rewrite;
mod config_value_use;
mod content_checks;
mod delta;
mod discover;
mod git_inputs;
mod git_layer;
mod git_settings;
mod host_git_dir;
mod index;
mod index_landing;
mod index_paths;
mod inflate;
mod land_objects;
mod landing;
mod landing_plan;
mod loose_object;
mod object_format;
mod object_store;
mod pack_check;
mod pack_index;
mod path_text;
mod planted_files;
mod ref_conflicts;
mod remove;
mod shell_words;
pub(crate) mod sys;
mod temp_file;
mod tip_links;
mod unfinished_operation;
mod upper_dir;
mod wildcard;
mod word_roles;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and look at what others would")]
mod tests;

#[cfg(test)]
use discover::DiscoveredRepositories;
pub(crate) use discover::{common_directory, find_repositories, is_git, outer_repositories};
pub(crate) use git_inputs::{GitInputs, find_git_inputs};
pub(crate) use git_layer::{GitLayer, LandedChanges};
pub use git_layer::{is_same_git_index, land_git_layer};
pub(crate) use planted_files::{PlantedFileWatch, recover};

/// A git directory that commands may use, and its working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The git directory, a real path.
    pub(crate) at: PathBuf,
    /// The working tree, a real path.
    pub(crate) root: PathBuf,
}
