//! What the reader makes of a script: steps, and what each of their words may do.

use crate::shell::{Redirect, Word};

/// Which shell will read a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Bash,
    /// `sh`, which may be dash or bash: only what both read alike is accepted.
    Plain,
    /// zsh, ksh, or a shell that is not known: only what all of them read alike is accepted.
    Foreign,
}

/// How much is known of the value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A whole number.
    Number,
    /// One word without any character that means something to a shell, and no option.
    Plain,
    Any,
}

/// How many words a word may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    One,
    /// Any number of words, which all begin with its known beginning: file names, or what braces stand for.
    Names,
    Any,
}

/// A word, and what is known of those that it may become.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub(crate) word: Word,
    /// What comes before the first part that is not known.
    pub(crate) prefix: String,
    pub(crate) spread: Spread,
    pub(crate) kind: Kind,
    /// If all that is not known in it is the value of these variables: their names.
    pub(crate) names: Option<Vec<String>>,
    /// It is `NAME=value` as the shell understands it, in a command that declares.
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

    /// The word, if it is known.
    pub(crate) fn known(&self) -> Option<&str> {
        match &self.word {
            Word::Literal(text) => Some(text),
            Word::Unknown(_) => None,
        }
    }

    /// The word as it would be shown.
    pub(crate) fn text(&self) -> &str {
        match &self.word {
            Word::Literal(text) | Word::Unknown(text) => text,
        }
    }

    /// Whether it becomes exactly one word.
    pub(crate) fn spread_is_one(&self) -> bool {
        self.spread == Spread::One
    }

    /// Whether each word that it may become surely is no option and no operator.
    pub(crate) fn is_operand(&self) -> bool {
        let begins_well =
            self.prefix.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_'));
        begins_well && self.spread != Spread::Any
    }
}

/// How much is known of `text` as the value of a variable.
pub(crate) fn kind_of(text: &str) -> Kind {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // Nothing counts as zero.
    let octal = digits.len() > 1 && digits.starts_with('0');
    if text.is_empty() || !digits.is_empty() && !octal && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Kind::Number;
    }
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '+' | ':' | '@' | '%');
    if text.starts_with('-') || !text.chars().all(plain) { Kind::Any } else { Kind::Plain }
}

/// What a step does with variables, in the order it is done.
#[derive(Debug, Clone)]
pub(crate) enum Fact {
    Set(String, Word, Kind),
    /// The value is used as something that it must be, or it could run a command.
    Use(String, Kind),
    /// What is set from here on is not surely set after the end of it.
    Perhaps,
    End,
    /// It may be an error, after which the rest of the line is not run.
    Fails,
}

/// A script in a word: what `$(…)`, backticks, `<(…)` and `>(…)` hold.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) script: Script,
    /// It is given the output of the command around it.
    pub(crate) fed: bool,
}

/// What reading words brought to light.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) inner: Vec<Inner>,
    pub(crate) facts: Vec<Fact>,
}

/// A redirection, and what it says about standard input.
#[derive(Debug)]
pub(crate) struct Target {
    /// Nothing for one that only copies a descriptor.
    pub(crate) redirect: Option<Redirect>,
    /// It is about standard input.
    pub(crate) input: bool,
    /// It takes the output of a process substitution, or what another descriptor stands for.
    pub(crate) fed: bool,
    /// The text of a here-document that nothing is replaced in.
    pub(crate) verbatim: Option<String>,
}

/// What joins a step to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
    Then,
    Background,
    /// It is no step of its own: it holds what the texts of here-documents hold.
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
    /// Each is fed by the one before.
    Pipe(Vec<Node>),
    /// Whatever holds other steps and words: all of them may be run.
    Group(Group),
    Function(String, Box<Node>),
}

#[derive(Debug, Default)]
pub(crate) struct Simple {
    /// Names and values before the command; for what follows if there is none.
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
    /// It is a loop whose condition never changes.
    pub(crate) endless: bool,
}
