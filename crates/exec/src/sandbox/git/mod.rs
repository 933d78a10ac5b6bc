//! Git directories that commands change: where they are, and what of the changes reaches the host.
//!
//! A command sees each git directory through an overlay: what it writes goes to an upper directory of ours. This module
//! finds the git directories (`discover`) and the files that git obeys (`settings`, `obeyed`), and lands what an allow-list
//! admits (`layer`). The upper directory is hostile throughout, also while it is read. No `git` is ever run here.
//!
//! `value_use` says which values of the configuration are run. `words` finds the files in the text of a command, with
//! `shell_words` (its words and variables), `roles` (program, script, option) and `wildcard` (patterns of names).
//!
//! `allowed` judges names, `content` and `config` judge contents, `plan` reads the upper directory, `place` writes to the
//! host; `index`, `tracked` and `gitlink` are for what is staged, `objects` with `loose` and `pack` for what has the name of
//! its hash; `operation` and `steps` are for a rebase that stopped halfway, `forward` for references that the host has
//! moved; `upper` and `sys` are the system calls beneath.

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
use discover::Discovered;
pub(crate) use discover::{common_directory, is_git, outer_repositories, repositories};
pub(crate) use layer::{Landed, Layer};
pub(crate) use obeyed::{GitObeyed, obeyed};
pub(crate) use stray::{Strays, recover};

/// A git directory that commands may work in, and the working tree that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The git directory, a real path.
    pub(crate) at: PathBuf,
    /// The working tree, a real path.
    pub(crate) root: PathBuf,
}
