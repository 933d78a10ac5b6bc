//! The syntax tree of a script: steps, and the possible values of their words.

use crate::shell::{ScriptRedirect, ScriptWord};

/// The shell that reads a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShellDialect {
    Bash,
    /// `sh`, which may be dash or bash: only syntax that both read alike is accepted.
    Posix,
    /// zsh, ksh, or an unknown shell: only syntax that all of them read alike is accepted.
    Foreign,
}

/// The known properties of a variable's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ValueKind {
    /// An integer.
    Number,
    /// One word without shell metacharacters, and not an option.
    Plain,
    Any,
}

/// The number of words that a word may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordSpread {
    One,
    /// Any number of words that share the known prefix: file names, or the expansion of braces.
    Names,
    Any,
}

/// A parsed word with the known properties of its expansion.
#[derive(Debug, Clone)]
pub(crate) struct ParsedWord {
    pub(crate) word: ScriptWord,
    /// The literal text before the first unknown part.
    pub(crate) prefix: String,
    pub(crate) spread: WordSpread,
    pub(crate) kind: ValueKind,
    /// The variables in the word, if every unknown part is a variable's value.
    pub(crate) variables: Option<Vec<String>>,
    /// The word is an assignment `NAME=value` in a declaration command.
    pub(crate) is_assignment: bool,
}

impl ParsedWord {
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            word: ScriptWord::Literal(text.to_owned()),
            prefix: text.to_owned(),
            spread: WordSpread::One,
            kind: kind_of(text),
            variables: Some(Vec::new()),
            is_assignment: false,
        }
    }

    pub(crate) fn unknown(text: &str, spread: WordSpread) -> Self {
        let word = ScriptWord::Unknown(text.to_owned());
        Self {
            word,
            prefix: String::new(),
            spread,
            kind: ValueKind::Any,
            variables: None,
            is_assignment: false,
        }
    }

    /// Returns the word, if it is known.
    pub(crate) fn known_text(&self) -> Option<&str> {
        match &self.word {
            ScriptWord::Literal(text) => Some(text),
            ScriptWord::Unknown(_) => None,
        }
    }

    /// Returns the literal text of the word, or its source text.
    pub(crate) fn text(&self) -> &str {
        match &self.word {
            ScriptWord::Literal(text) | ScriptWord::Unknown(text) => text,
        }
    }

    /// Returns true if the word becomes exactly one word.
    pub(crate) fn spread_is_one(&self) -> bool {
        self.spread == WordSpread::One
    }

    /// Returns true if every possible expansion is certainly not an option or an operator.
    pub(crate) fn is_operand(&self) -> bool {
        let begins_well =
            self.prefix.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_'));
        begins_well && self.spread != WordSpread::Any
    }
}

/// Returns the known properties of `text` as a variable's value.
pub(crate) fn kind_of(text: &str) -> ValueKind {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // An empty value counts as zero.
    let octal = digits.len() > 1 && digits.starts_with('0');
    if text.is_empty() || !digits.is_empty() && !octal && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return ValueKind::Number;
    }
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '+' | ':' | '@' | '%');
    if text.starts_with('-') || !text.chars().all(plain) { ValueKind::Any } else { ValueKind::Plain }
}

/// An action on variables, in execution order.
#[derive(Debug, Clone)]
pub(crate) enum VariableFact {
    Set(String, ScriptWord, ValueKind),
    /// The value is used and must have this kind; otherwise it could run a command.
    Use(String, ValueKind),
    /// Assignments between this and the matching `End` may not take effect.
    BeginConditional,
    EndConditional,
    /// An error is possible, after which the rest of the line does not run.
    MayFail,
}

/// A script inside a word: `$(…)`, backticks, `<(…)` or `>(…)`.
#[derive(Debug)]
pub(crate) struct NestedScript {
    pub(crate) script: ScriptTree,
    /// The script reads the output of the enclosing command.
    pub(crate) has_piped_input: bool,
}

/// The scripts and variable actions found while parsing words.
#[derive(Debug, Default)]
pub(crate) struct WordFindings {
    pub(crate) nested_scripts: Vec<NestedScript>,
    pub(crate) facts: Vec<VariableFact>,
}

/// A redirection and its effect on standard input.
#[derive(Debug)]
pub(crate) struct RedirectTarget {
    /// `None` for a redirection that only duplicates a file descriptor.
    pub(crate) redirect: Option<ScriptRedirect>,
    /// The redirection concerns standard input.
    pub(crate) is_stdin: bool,
    /// The input is a process substitution, or a duplicated file descriptor.
    pub(crate) has_piped_input: bool,
    /// The text of a here-document without expansions.
    pub(crate) verbatim: Option<String>,
}

/// The connector between a step and the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepConnector {
    And,
    Or,
    Then,
    Background,
    /// A pseudo-step that holds the substitutions in here-documents.
    HeredocSubstitutions,
}

#[derive(Debug, Default)]
pub(crate) struct ScriptTree(pub(crate) Vec<ScriptStep>);

#[derive(Debug)]
pub(crate) struct ScriptStep {
    pub(crate) node: SyntaxNode,
    pub(crate) connector: StepConnector,
}

#[derive(Debug)]
pub(crate) enum SyntaxNode {
    Simple(SimpleCommand),
    /// Each command reads the output of the previous one.
    Pipe(Vec<SyntaxNode>),
    /// A compound command: any of its steps and words may run.
    Group(CompoundCommand),
    Function(String, Box<SyntaxNode>),
}

#[derive(Debug, Default)]
pub(crate) struct SimpleCommand {
    /// Assignments before the command; without a command they apply to later commands.
    pub(crate) assignments: Vec<(String, ScriptWord, ValueKind)>,
    pub(crate) words: Vec<ParsedWord>,
    pub(crate) targets: Vec<RedirectTarget>,
    pub(crate) findings: WordFindings,
}

#[derive(Debug, Default)]
pub(crate) struct CompoundCommand {
    pub(crate) findings: WordFindings,
    pub(crate) parts: Vec<ScriptTree>,
    pub(crate) targets: Vec<RedirectTarget>,
    /// A loop with a constant condition.
    pub(crate) endless: bool,
}
