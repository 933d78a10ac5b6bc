//! The syntax tree of a script: steps, and the possible values of their words.

use crate::shell::{Redirect, Word};

/// The shell that reads a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Bash,
    /// `sh`, which may be dash or bash: only syntax that both read alike is accepted.
    Plain,
    /// zsh, ksh, or an unknown shell: only syntax that all of them read alike is accepted.
    Foreign,
}

/// The known properties of a variable's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// An integer.
    Number,
    /// One word without shell metacharacters, and not an option.
    Plain,
    Any,
}

/// The number of words that a word may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    One,
    /// Any number of words that share the known prefix: file names, or the expansion of braces.
    Names,
    Any,
}

/// A parsed word with the known properties of its expansion.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub(crate) word: Word,
    /// The literal text before the first unknown part.
    pub(crate) prefix: String,
    pub(crate) spread: Spread,
    pub(crate) kind: Kind,
    /// The variables in the word, if every unknown part is a variable's value.
    pub(crate) names: Option<Vec<String>>,
    /// The word is an assignment `NAME=value` in a declaration command.
    pub(crate) assigns: bool,
}

impl Term {
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            word: Word::Literal(text.to_owned()),
            prefix: text.to_owned(),
            spread: Spread::One,
            kind: kind_of(text),
            names: Some(Vec::new()),
            assigns: false,
        }
    }

    pub(crate) fn unknown(text: &str, spread: Spread) -> Self {
        let word = Word::Unknown(text.to_owned());
        Self { word, prefix: String::new(), spread, kind: Kind::Any, names: None, assigns: false }
    }

    /// Returns the word, if it is known.
    pub(crate) fn known(&self) -> Option<&str> {
        match &self.word {
            Word::Literal(text) => Some(text),
            Word::Unknown(_) => None,
        }
    }

    /// Returns the literal text of the word, or its source text.
    pub(crate) fn text(&self) -> &str {
        match &self.word {
            Word::Literal(text) | Word::Unknown(text) => text,
        }
    }

    /// Returns true if the word becomes exactly one word.
    pub(crate) fn spread_is_one(&self) -> bool {
        self.spread == Spread::One
    }

    /// Returns true if every possible expansion is certainly not an option or an operator.
    pub(crate) fn is_operand(&self) -> bool {
        let begins_well =
            self.prefix.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_'));
        begins_well && self.spread != Spread::Any
    }
}

/// Returns the known properties of `text` as a variable's value.
pub(crate) fn kind_of(text: &str) -> Kind {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // An empty value counts as zero.
    let octal = digits.len() > 1 && digits.starts_with('0');
    if text.is_empty() || !digits.is_empty() && !octal && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Kind::Number;
    }
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '+' | ':' | '@' | '%');
    if text.starts_with('-') || !text.chars().all(plain) { Kind::Any } else { Kind::Plain }
}

/// An action on variables, in execution order.
#[derive(Debug, Clone)]
pub(crate) enum Fact {
    Set(String, Word, Kind),
    /// The value is used and must have this kind; otherwise it could run a command.
    Use(String, Kind),
    /// Assignments between this and the matching `End` may not take effect.
    Perhaps,
    End,
    /// An error is possible, after which the rest of the line does not run.
    Fails,
}

/// A script inside a word: `$(…)`, backticks, `<(…)` or `>(…)`.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) script: Script,
    /// The script reads the output of the enclosing command.
    pub(crate) fed: bool,
}

/// The scripts and variable actions found while parsing words.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) inner: Vec<Inner>,
    pub(crate) facts: Vec<Fact>,
}

/// A redirection and its effect on standard input.
#[derive(Debug)]
pub(crate) struct Target {
    /// `None` for a redirection that only duplicates a file descriptor.
    pub(crate) redirect: Option<Redirect>,
    /// The redirection concerns standard input.
    pub(crate) input: bool,
    /// The input is a process substitution, or a duplicated file descriptor.
    pub(crate) fed: bool,
    /// The text of a here-document without expansions.
    pub(crate) verbatim: Option<String>,
}

/// The connector between a step and the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
    Then,
    Background,
    /// A pseudo-step that holds the substitutions in here-documents.
    Aside,
}

#[derive(Debug, Default)]
pub(crate) struct Script(pub(crate) Vec<Step>);

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) node: Node,
    pub(crate) join: Join,
}

#[derive(Debug)]
pub(crate) enum Node {
    Simple(Simple),
    /// Each command reads the output of the previous one.
    Pipe(Vec<Node>),
    /// A compound command: any of its steps and words may run.
    Group(Group),
    Function(String, Box<Node>),
}

#[derive(Debug, Default)]
pub(crate) struct Simple {
    /// Assignments before the command; without a command they apply to later commands.
    pub(crate) sets: Vec<(String, Word, Kind)>,
    pub(crate) words: Vec<Term>,
    pub(crate) targets: Vec<Target>,
    pub(crate) found: Found,
}

#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) found: Found,
    pub(crate) parts: Vec<Script>,
    pub(crate) targets: Vec<Target>,
    /// A loop with a constant condition.
    pub(crate) endless: bool,
}
