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

/// Whether a call asks for more than the confinement in force gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Escalation {
    /// It makes do with what there is.
    #[default]
    None,
    /// It asks to run without confinement. No verdict is looser for it.
    Required,
}

/// Everything that one call would touch. An empty intent touches nothing outside the process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intent {
    /// The effects, in the order in which the tool states them.
    pub effects: Vec<Effect>,
    /// Whether the call asks for more than it would be given.
    pub escalation: Escalation,
    /// Why it does, in the model's words.
    pub justification: Option<String>,
}

impl Intent {
    /// States that the call touches nothing outside the process.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// States that the call reads `path`, and what is below it if it is a directory.
    pub fn read(path: impl AsRef<Path>) -> Self {
        Self { effects: vec![Effect::Read(path.as_ref().to_owned())], ..Self::default() }
    }

    /// States that the call starts `argv` in `workdir`.
    ///
    /// ```
    /// use toolgate_policy::{Effect, Intent};
    /// let intent = Intent::run(vec!["ls".to_owned()], "/w".as_ref());
    /// assert_eq!(intent.effects, [Effect::Read("/w".into()), Effect::Exec(vec!["ls".to_owned()])]);
    /// ```
    pub fn run(argv: Vec<String>, workdir: &Path) -> Self {
        Self { effects: vec![Effect::Read(workdir.to_owned()), Effect::Exec(argv)], ..Self::default() }
    }

    /// Says whether the call asks for more than the confinement gives, and why.
    #[must_use]
    pub fn escalated(mut self, escalation: Escalation, justification: Option<String>) -> Self {
        self.escalation = escalation;
        self.justification = justification;
        self
    }
}
