//! The script parser's state: position, lookahead, and skipping of whitespace and comments.

use crate::shell::syntax_tree::{ShellDialect, WordFindings};
use crate::shell::{MAX_DEPTH, UndecidedPart};

/// The reason why parsing stopped early.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParseStop(pub(crate) &'static str);

pub(crate) type ParseResult<T> = Result<T, ParseStop>;

/// Maximum length of an excerpt in a doubt.
const MAX_EXCERPT_CHARS: usize = 60;

/// A here-document whose text has not been read yet.
#[derive(Debug)]
pub(crate) struct PendingHeredoc {
    pub(crate) delimiter: String,
    pub(crate) quoted: bool,
    pub(crate) strip_tabs: bool,
}

/// Parses one script.
#[derive(Debug)]
pub(crate) struct ScriptParser<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    pub(crate) depth: usize,
    pub(crate) dialect: ShellDialect,
    pub(crate) pending_heredocs: Vec<PendingHeredoc>,
    /// The here-document texts read so far, in the order of their redirections.
    pub(crate) heredoc_bodies: Vec<crate::shell::heredoc::HeredocBody>,
    pub(crate) findings: WordFindings,
    pub(crate) doubts: Vec<UndecidedPart>,
}

impl<'a> ScriptParser<'a> {
    pub(crate) fn new(text: &'a str, dialect: ShellDialect, depth: usize) -> Self {
        Self {
            text,
            at: 0,
            depth,
            dialect,
            pending_heredocs: Vec::new(),
            heredoc_bodies: Vec::new(),
            findings: WordFindings::default(),
            doubts: Vec::new(),
        }
    }

    /// Returns the next source character.
    pub(crate) fn peek_raw(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Consumes the next source character.
    pub(crate) fn bump_raw(&mut self) -> Option<char> {
        let next = self.peek_raw()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Returns the next character, after line continuations.
    pub(crate) fn peek(&mut self) -> Option<char> {
        // ends: each round steps on
        while self.text[self.at..].starts_with("\\\n") {
            self.at += 2;
        }
        self.peek_raw()
    }

    pub(crate) fn bump(&mut self) -> Option<char> {
        self.peek()?;
        self.bump_raw()
    }

    /// Returns the character after the next one.
    pub(crate) fn peek_second(&mut self) -> Option<char> {
        let at = self.at;
        self.bump();
        let second = self.peek();
        self.at = at;
        second
    }

    pub(crate) fn eat(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.bump_raw();
        }
        is_next
    }

    /// Consumes `wanted`, or nothing.
    pub(crate) fn eat_all(&mut self, wanted: &str) -> bool {
        let at = self.at;
        let all = wanted.chars().all(|c| self.eat(c));
        if !all {
            self.at = at;
        }
        all
    }

    /// Skips spaces, tabs and a comment, up to the end of the line.
    pub(crate) fn skip_blanks(&mut self) {
        // ends: each round steps on
        while let Some(' ' | '\t') = self.peek() {
            self.bump_raw();
        }
        if self.peek() == Some('#') {
            let rest = &self.text[self.at..];
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    /// Skips whitespace, comments and newlines, and reads the here-documents that begin there.
    pub(crate) fn skip_lines(&mut self) -> ParseResult<()> {
        self.skip_blanks();
        // ends: each round steps on
        while self.peek() == Some('\n') {
            self.bump_raw();
            self.read_heredoc_bodies()?;
            self.skip_blanks();
        }
        Ok(())
    }

    /// Returns true if a word ends here.
    pub(crate) fn at_word_end(&mut self) -> bool {
        self.peek().is_none_or(is_word_end)
    }

    /// Consumes a variable name, if there is one.
    pub(crate) fn read_identifier(&mut self) -> Option<String> {
        let mut name = String::new();
        // ends: each round steps on
        while let Some(next) = self.peek() {
            let fits =
                next == '_' || next.is_ascii_alphabetic() || (next.is_ascii_digit() && !name.is_empty());
            if !fits {
                break;
            }
            name.push(next);
            self.bump_raw();
        }
        (!name.is_empty()).then_some(name)
    }

    /// Parses one nesting level deeper.
    pub(crate) fn one_level_deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<T> {
        if self.depth >= MAX_DEPTH {
            return Err(ParseStop("it is nested too deep"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Records an undecided part and continues.
    pub(crate) fn add_doubt(&mut self, from: usize, why: &'static str) {
        let text = excerpt(self.text.get(from..).unwrap_or_default());
        self.doubts.push(UndecidedPart { text, why, unread: false });
    }

    /// Records syntax that only bash reads in the assumed way.
    pub(crate) fn doubt_unless_bash(&mut self, from: usize) {
        if self.dialect != ShellDialect::Bash {
            self.add_doubt(from, "other shells read this differently");
        }
    }
}

/// Returns the beginning of the first line.
pub(crate) fn excerpt(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(MAX_EXCERPT_CHARS).collect()
}

/// Returns true if this character ends a word.
pub(crate) fn is_word_end(next: char) -> bool {
    matches!(next, ' ' | '\t' | '\n' | '|' | '&' | ';' | '(' | ')' | '<' | '>')
}
