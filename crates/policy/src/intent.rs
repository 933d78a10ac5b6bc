//! Intents: the effects that a call states before it performs any of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{CommandAnalysis, CommandLine};

/// One effect of a call outside this process.
///
/// Paths are absolute and free of `.` and `..` (see [`resolve_path`](crate::resolve_path)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Reads this file, or anything below this directory.
    Read(PathBuf),
    /// Creates, changes or removes this file, or anything below this directory.
    Write(PathBuf),
    /// Runs this command.
    Exec(ExecEffect),
    /// Sends input to a running program.
    SendInput(ProgramInput),
    /// Connects to this host, e.g. `example.org:443`.
    Network(String),
    /// Calls a tool of another program.
    Foreign(ForeignToolCall),
    /// Stores a text that later sessions read.
    Remember(MemoryNote),
}

/// A command that a call runs, with its working directory and its analysis.
///
/// The command is analysed here, once per call. Lanes, gate, question and executor use this analysis.
#[derive(Debug, Clone)]
pub struct ExecEffect {
    line: CommandLine,
    cwd: PathBuf,
    analysis: Arc<CommandAnalysis>,
    /// The program gets a terminal.
    pub terminal: bool,
}

impl ExecEffect {
    /// Creates the effect of running `line` in `cwd` without a terminal.
    pub fn new(line: impl Into<CommandLine>, cwd: impl Into<PathBuf>) -> Self {
        let line = line.into();
        let analysis = Arc::new(CommandAnalysis::of(&line));
        Self { line, cwd: cwd.into(), analysis, terminal: false }
    }

    /// Returns the command.
    pub fn line(&self) -> &CommandLine {
        &self.line
    }

    /// Returns the working directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the analysis of the command, without the rules about it.
    pub fn analysis(&self) -> &CommandAnalysis {
        &self.analysis
    }
}

impl Eq for ExecEffect {}

impl PartialEq for ExecEffect {
    /// Compares everything but the analysis, which follows from the command.
    fn eq(&self, other: &Self) -> bool {
        (&self.line, &self.cwd, self.terminal) == (&other.line, &other.cwd, other.terminal)
    }
}

/// Input for a running program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProgramInput {
    /// The command line that started the program.
    pub command_line: String,
    /// The input text.
    pub text: String,
    /// The program runs confined under the policy, so its input needs no further check.
    pub confined: bool,
}

/// A text that later sessions read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MemoryNote {
    /// The name of the text.
    pub name: String,
    /// The sessions that read it, e.g. `this project`.
    pub scope: String,
    /// The text.
    pub text: String,
}

/// A call of a tool that a server or a client provides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ForeignToolCall {
    /// The name of the provider.
    pub server: String,
    /// The provider's name for the tool.
    pub tool: String,
    /// A hash of the tool's name, description and schema: a changed definition is another tool.
    pub definition: String,
    /// The trust in the tool.
    pub trust: ToolTrust,
}

/// The trust in a tool of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolTrust {
    /// No information.
    Unknown,
    /// The provider declares the tool read-only.
    ReadOnly,
    /// The user exempted the tool from questions.
    Trusted,
    /// The definition has changed since the tool was last used.
    Changed,
}

/// The request of a call for more than its confinement gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Escalation {
    /// The call accepts its confinement.
    #[default]
    None,
    /// The call requests to run without confinement.
    Required,
}

/// All effects of one call. An empty intent has no effect outside the process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intent {
    /// The effects, in the order in which the tool states them.
    pub effects: Vec<Effect>,
    /// The request to run without confinement.
    pub escalation: Escalation,
    /// The model's reason for that request.
    pub justification: Option<String>,
    /// The change as a diff, for a question.
    pub diff: Option<String>,
    /// The first words of commands that the model proposes to allow by a rule. The proposal itself allows nothing.
    pub prefix_rule: Option<Vec<String>>,
}

impl Intent {
    /// States that the call has no effect outside the process.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// States these effects.
    pub fn from_effects(effects: Vec<Effect>) -> Self {
        Self { effects, ..Self::default() }
    }

    /// States that the call reads `path`, and everything below it if it is a directory.
    pub fn read(path: impl AsRef<Path>) -> Self {
        Self::from_effects(vec![Effect::Read(path.as_ref().to_owned())])
    }

    /// States that the call creates, changes or removes `path`, or anything below it if it is a directory.
    pub fn write(path: impl AsRef<Path>) -> Self {
        Self::from_effects(vec![Effect::Write(path.as_ref().to_owned())])
    }

    /// States that the call connects to `host`, e.g. `mail.example:25`.
    pub fn connect(host: impl Into<String>) -> Self {
        Self::from_effects(vec![Effect::Network(host.into())])
    }

    /// States that the call runs `line` in `workdir`.
    ///
    /// ```
    /// use toolgate_policy::{Effect, Intent};
    /// let intent = Intent::run(vec!["ls".to_owned()], "/w".as_ref());
    /// assert_eq!(intent.effects[0], Effect::Read("/w".into()));
    /// assert!(matches!(&intent.effects[1], Effect::Exec(exec) if exec.line().argv() == ["ls"]));
    /// ```
    pub fn run(line: impl Into<CommandLine>, workdir: &Path) -> Self {
        let exec = ExecEffect::new(line, workdir);
        Self::from_effects(vec![Effect::Read(workdir.to_owned()), Effect::Exec(exec)])
    }

    /// Returns the first command that the call runs.
    pub fn command(&self) -> Option<&ExecEffect> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Exec(exec) => Some(exec),
            _ => None,
        })
    }

    /// Returns true if the call can run again from the beginning. Input cannot be sent twice, and a call without
    /// effects asks for something that has already happened, such as the end of a program.
    pub(crate) fn is_repeatable(&self) -> bool {
        let is_input = |effect: &Effect| matches!(effect, Effect::SendInput(_));
        !self.effects.is_empty() && !self.effects.iter().any(is_input)
    }

    /// Sets whether started programs get a terminal.
    #[must_use]
    pub fn with_terminal(mut self, terminal: bool) -> Self {
        for effect in &mut self.effects {
            if let Effect::Exec(exec) = effect {
                exec.terminal = terminal;
            }
        }
        self
    }

    /// Sets the request to run without confinement, and its reason.
    #[must_use]
    pub fn with_escalation(mut self, escalation: Escalation, justification: Option<String>) -> Self {
        self.escalation = escalation;
        self.justification = justification;
        self
    }

    /// Sets the rule that the model proposes.
    #[must_use]
    pub fn with_prefix_rule(mut self, prefix_rule: Option<Vec<String>>) -> Self {
        self.prefix_rule = prefix_rule;
        self
    }
}
