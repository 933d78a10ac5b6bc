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
    Exec(CommandLine),
    /// Types into a program that runs.
    Type(Typing),
    /// Talks to this host, e.g. `example.org:443`.
    Network(String),
    /// Has somebody else's code do something.
    Foreign(Foreign),
    /// Has later sessions read a text.
    Remember(Remembering),
}

/// A program and its arguments, and where it is started.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandLine {
    /// The program first.
    pub argv: Vec<String>,
    /// The directory it is started in.
    pub cwd: PathBuf,
    /// Whether it gets a terminal.
    pub terminal: bool,
}

/// Input for a program that was started before.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Typing {
    /// What the program was started as.
    pub into: String,
    /// What is typed.
    pub text: String,
    /// Whether the program is confined as the policy says: then it may do with its input what it likes.
    pub confined: bool,
}

/// A text that later sessions are told of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Remembering {
    /// What it is called.
    pub name: String,
    /// Which sessions read it, e.g. `this project`.
    pub scope: String,
    /// The text.
    pub text: String,
}

/// A tool of a server or of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Foreign {
    /// Whose it is.
    pub server: String,
    /// What they call it.
    pub tool: String,
    /// A hash of its name, its description and its schema: another definition is another tool.
    pub definition: String,
    /// What is known about it.
    pub trust: Trust,
}

/// What is known about somebody else's tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Nothing.
    Unknown,
    /// They say that it changes nothing.
    ReadOnly,
    /// The user has said that it need not be asked about.
    Trusted,
    /// It is not what it was when it was last used.
    Changed,
}

/// Whether a call asks for more than the confinement in force gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Escalation {
    /// It makes do with what there is.
    #[default]
    None,
    /// It asks to run without confinement.
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
    /// What it would change, as a diff for whoever is asked.
    pub diff: Option<String>,
    /// The first words of commands that the model would like a rule to allow. Nothing is allowed because of it.
    pub prefix_rule: Option<Vec<String>>,
}

impl Intent {
    /// States that the call touches nothing outside the process.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// States these effects.
    pub fn of(effects: Vec<Effect>) -> Self {
        Self { effects, ..Self::default() }
    }

    /// States that the call reads `path`, and what is below it if it is a directory.
    pub fn read(path: impl AsRef<Path>) -> Self {
        Self::of(vec![Effect::Read(path.as_ref().to_owned())])
    }

    /// States that the call starts `argv` in `workdir`.
    ///
    /// ```
    /// use toolgate_policy::{Effect, Intent};
    /// let intent = Intent::run(vec!["ls".to_owned()], "/w".as_ref());
    /// assert_eq!(intent.effects[0], Effect::Read("/w".into()));
    /// assert!(matches!(&intent.effects[1], Effect::Exec(line) if line.argv == ["ls"]));
    /// ```
    pub fn run(argv: Vec<String>, workdir: &Path) -> Self {
        let line = CommandLine { argv, cwd: workdir.to_owned(), terminal: false };
        Self::of(vec![Effect::Read(workdir.to_owned()), Effect::Exec(line)])
    }

    /// Says that what it starts gets a terminal.
    #[must_use]
    pub fn in_terminal(mut self, terminal: bool) -> Self {
        for effect in &mut self.effects {
            if let Effect::Exec(line) = effect {
                line.terminal = terminal;
            }
        }
        self
    }

    /// Says whether the call asks for more than the confinement gives, and why.
    #[must_use]
    pub fn escalated(mut self, escalation: Escalation, justification: Option<String>) -> Self {
        self.escalation = escalation;
        self.justification = justification;
        self
    }

    /// Says which rule the model would like to have.
    #[must_use]
    pub fn proposing(mut self, prefix_rule: Option<Vec<String>>) -> Self {
        self.prefix_rule = prefix_rule;
        self
    }
}
