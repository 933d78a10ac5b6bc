//! The tables of a configuration file, one module each.
//!
//! A module has everything about its keys: the spelling in a file, the values in force with their defaults, the check,
//! the part that a project may set, and the rows that `toolgate config` prints. A project's part has no field for a
//! key that could widen what tools may do, so no code can apply it.

mod commands;
mod confinement;
mod files;
mod journal;
mod limits;
mod tools;

pub use commands::{CommandSettings, EnvInheritance};
pub use confinement::{ConfinementSettings, ConfinementTier, NetworkMode};
pub use files::FileSettings;
pub use journal::JournalSettings;
pub use limits::LimitSettings;
pub use tools::{HostedSearchMode, ToolSettings};

pub(super) use commands::{CommandsTable, ProjectCommands};
pub(super) use confinement::{ConfinementTable, ProjectConfinement};
pub(super) use files::{FilesTable, ProjectFiles};
pub(super) use journal::JournalTable;
pub(super) use limits::LimitsTable;
pub(super) use tools::{ProjectTools, ToolsTable};

/// Patterns, or variables, that a list may have.
const MAX_PATTERNS: usize = 500;

fn to_usize(number: &u64) -> usize {
    usize::try_from(*number).unwrap_or(usize::MAX)
}
