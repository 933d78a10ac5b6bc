//! Parses patches as models write them, plans all file changes, and commits all of them or none.

mod blob;
mod diff;
mod disk;
mod edit;
mod exact;
mod fault;
mod file;
mod index;
mod matching;
mod parse;
mod plan;
mod reading;
mod replace;
mod report;
mod rewrite;
mod stray;
mod text;
mod tree;
mod undo;
mod update;
mod whole;

pub use diff::diff;
pub use disk::{Access, Disk, Judge, Milestone, Outcome, Recovered, recover};
pub use edit::{Action, Edit, Hunk, Line, Patch, Target};
pub use fault::{Failure, Fault};
pub use matching::Pass;
pub use parse::{Format, Syntax, parse, parse_as};
pub use plan::{Change, Content, Plan};
pub use reading::Reading;
pub use tree::{Held, Link, Memory, Put, Refusal, Spot, Stamp, Step, Tree};

/// The grammar of `*** Begin Patch` in Lark, for providers that constrain a model's output to a grammar.
pub const GRAMMAR: &str = include_str!("../grammar/envelope.lark");

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
