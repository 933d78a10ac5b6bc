//! Git directories that commands change: discovery, protection, and landing of the changes on the host.
//!
//! A command sees each git directory through an overlay: its writes go to an upper directory of Toolgate's. This
//! module finds the git directories (`discover`) and the files that git obeys (`settings`, `obeyed`). It lands the
//! changes that an allow-list admits (`layer`). The upper directory is hostile throughout, even while it is read.
//! `git` itself is never run here.
//!
//! `value_use` classifies the configuration values that are run. `words` finds the files in the text of a command,
//! with `shell_words` (its words and variables), `roles` (program, script, option) and `wildcard` (name patterns).
//!
//! `allowed` judges names, `content` and `config` judge contents, `plan` reads the upper directory, `place` writes to
//! the host. `index`, `tracked` and `gitlink` handle staged files; `objects`, with `loose` and `pack`, handles
//! content-addressed files. `operation` and `steps` handle an operation in progress such as a rebase, `forward`
//! handles references that the host has moved. `upper` and `sys` wrap the system calls.

use std::path::PathBuf;

mod allowed;
mod clear;
mod config;
mod content;
mod delta;
mod discover;
mod draft;
mod forward;
mod gitlink;
mod hash;
mod index;
mod inflate;
mod landing;
mod layer;
mod loose;
mod obeyed;
mod object_store;
mod objects;
mod operation;
mod pack;
mod packindex;
mod paths;
mod place;
mod plan;
mod roles;
mod settings;
mod shell_words;
mod steps;
mod stray;
pub(crate) mod sys;
mod tip_links;
mod tracked;
mod upper;
mod value_use;
mod wildcard;
mod words;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and look at what others would")]
mod tests;

#[cfg(test)]
use discover::DiscoveredRepositories;
pub(crate) use discover::{common_directory, is_git, outer_repositories, find_repositories};
pub(crate) use layer::{LandedChanges, GitLayer};
pub(crate) use obeyed::{GitInputs, find_git_inputs};
pub(crate) use stray::{PlantedFileWatch, recover};

/// A git directory that commands may use, and its working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The git directory, a real path.
    pub(crate) at: PathBuf,
    /// The working tree, a real path.
    pub(crate) root: PathBuf,
}
