//! The reader's place in a script, and how it steps over what every shell skips.

use crate::shell::syntax::{Dialect, Found};
use crate::shell::{MAX_DEPTH, Undecided};

/// Why reading ended early.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop(pub(crate) &'static str);

pub(crate) type Read<T> = Result<T, Stop>;

/// How much of a script a fault shows.
const SHOWN: usize = 60;

/// A here-document whose text is still to come.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) end: String,
    pub(crate) quoted: bool,
    pub(crate) tabs: bool,
}

/// Reads one script.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    pub(crate) depth: usize,
    pub(crate) dialect: Dialect,
    pub(crate) pending: Vec<Pending>,
    /// The texts of here-documents that were read, in the order of their redirections.
    pub(crate) bodies: Vec<crate::shell::heredoc::Body>,
    pub(crate) found: Found,
    pub(crate) doubts: Vec<Undecided>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str, dialect: Dialect, depth: usize) -> Self {
        Self {
            text,
            at: 0,
            depth,
            dialect,
            pending: Vec::new(),
            bodies: Vec::new(),
            found: Found::default(),
            doubts: Vec::new(),
        }
    }

    /// The next character as it is written.
    pub(crate) fn raw(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Steps over the next character as it is written.
    pub(crate) fn bump_raw(&mut self) -> Option<char> {
        let next = self.raw()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// The next character, after lines that are continued.
    pub(crate) fn peek(&mut self) -> Option<char> {
        // ends: each round steps on
        while self.text[self.at..].starts_with("\\\n") {
            self.at += 2;
        }
        self.raw()
    }

    pub(crate) fn bump(&mut self) -> Option<char> {
        self.peek()?;
        self.bump_raw()
    }

    /// The character after the next one.
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

    /// Steps over `wanted`, or stays.
    pub(crate) fn eat_all(&mut self, wanted: &str) -> bool {
        let at = self.at;
        let all = wanted.chars().all(|c| self.eat(c));
        if !all {
            self.at = at;
        }
        all
    }

    /// Steps over blanks and a comment, up to something that matters or the end of the line.
    pub(crate) fn blanks(&mut self) {
        // ends: each round steps on
        while let Some(' ' | '\t') = self.peek() {
            self.bump_raw();
        }
        if self.peek() == Some('#') {
            let rest = &self.text[self.at..];
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    /// Steps over blanks, comments and ends of lines, and reads the here-documents that begin there.
    pub(crate) fn lines(&mut self) -> Read<()> {
        self.blanks();
        // ends: each round steps on
        while self.peek() == Some('\n') {
            self.bump_raw();
            self.take_bodies()?;
            self.blanks();
        }
        Ok(())
    }

    /// Whether a word ends here.
    pub(crate) fn at_break(&mut self) -> bool {
        self.peek().is_none_or(is_break)
    }

    /// A name that a variable can have, or nothing.
    pub(crate) fn identifier(&mut self) -> Option<String> {
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

    /// Reads something one level deeper.
    pub(crate) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Stop("it is nested too deep"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Notes what is not decided, and reads on.
    pub(crate) fn doubt(&mut self, from: usize, why: &'static str) {
        let text = shown(self.text.get(from..).unwrap_or_default());
        self.doubts.push(Undecided { text, why, unread: false });
    }

    /// Notes something that only bash reads as it is meant here.
    pub(crate) fn only_bash(&mut self, from: usize) {
        if self.dialect != Dialect::Bash {
            self.doubt(from, "other shells read this differently");
        }
    }
}

/// The beginning of the first line.
pub(crate) fn shown(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(SHOWN).collect()
}

/// Whether a word ends before this character.
pub(crate) fn is_break(next: char) -> bool {
    matches!(next, ' ' | '\t' | '\n' | '|' | '&' | ';' | '(' | ')' | '<' | '>')
}
