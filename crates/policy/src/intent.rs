//! What a call would touch, stated before it touches anything.

use std::path::{Path, PathBuf};

/// One thing that a call would do to the world outside the process.
///
/// Paths are absolute and free of `.` and `..` (see [`resolve`](crate::resolve)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Reads this file, or anything below this directory.
    Read(PathBuf),
    /// Creates, changes or removes this file, or anything below this directory.
    Write(PathBuf),
    /// Starts this program with these arguments.
    Exec(Vec<String>),
    /// Talks to this host, e.g. `example.org:443`.
    Network(String),
}

/// Everything that one call would touch. An empty intent touches nothing outside the process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intent {
    /// The effects, in the order in which the tool states them.
    pub effects: Vec<Effect>,
}

impl Intent {
    /// States that the call touches nothing outside the process.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// States that the call reads `path`, and what is below it if it is a directory.
    pub fn read(path: impl AsRef<Path>) -> Self {
        Self { effects: vec![Effect::Read(path.as_ref().to_owned())] }
    }
}
