//! Command lines: a program with its arguments, or a script for a shell.

use std::fmt;

use crate::programs::ShellFamily;
use crate::shell::ScriptWord;

/// The command that a call runs. It is parsed once, where it enters, and becomes an argument vector again only when the
/// process is started or the command is displayed.
///
/// ```
/// use toolgate_policy::CommandLine;
///
/// let line = |words: &[&str]| CommandLine::from(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
/// assert_eq!(line(&["bash", "-lc", "make && make test"]).script(), Some("make && make test"));
/// assert_eq!(line(&["make", "test"]).script(), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CommandLine {
    /// A program and its arguments.
    Program {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// A script for a shell.
    Script {
        /// The name or path of the shell, as it was given.
        shell: String,
        /// The shell reads the user's profile first.
        login: bool,
        /// The script.
        text: String,
    },
}

impl From<Vec<String>> for CommandLine {
    /// Parses an argument vector: `SHELL -c TEXT` and `SHELL -lc TEXT` are scripts.
    fn from(argv: Vec<String>) -> Self {
        let login = match &argv[..] {
            [shell, flag, _] if ShellFamily::of(shell).is_some_and(ShellFamily::has_known_options) => {
                [false, true].into_iter().find(|login| script_flag(*login) == flag)
            }
            _ => None,
        };
        match (login, <[String; 3]>::try_from(argv)) {
            (Some(login), Ok([shell, _, text])) => Self::in_shell(shell, login, text),
            (_, Ok(argv)) => Self::Program { argv: argv.into() },
            (_, Err(argv)) => Self::Program { argv },
        }
    }
}

impl CommandLine {
    /// Creates the line that runs `text` in `shell`.
    pub fn in_shell(shell: String, login: bool, text: String) -> Self {
        // The shell takes such a word for an option, and looks for the script behind it.
        if text.starts_with(['-', '+']) {
            return Self::Program { argv: vec![shell, script_flag(login).to_owned(), text] };
        }
        Self::Script { shell, login, text }
    }

    /// Returns the argument vector that starts the command.
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Program { argv } => argv.clone(),
            Self::Script { shell, login, text } => {
                vec![shell.clone(), script_flag(*login).to_owned(), text.clone()]
            }
        }
    }

    /// Returns the script, if a shell runs one.
    pub fn script(&self) -> Option<&str> {
        match self {
            Self::Program { .. } => None,
            Self::Script { text, .. } => Some(text),
        }
    }
}

/// Returns the option that makes a shell run its next argument as a script.
pub(crate) fn script_flag(login: bool) -> &'static str {
    if login { "-lc" } else { "-c" }
}

impl fmt::Display for CommandLine {
    /// Formats the script, or the words quoted for a shell.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { argv } => {
                let words = argv.iter().map(|word| ScriptWord::Literal(word.clone()).to_string());
                f.write_str(&words.collect::<Vec<_>>().join(" "))
            }
            Self::Script { text, .. } => f.write_str(text),
        }
    }
}
