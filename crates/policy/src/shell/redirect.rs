//! Parses redirections.

use crate::shell::cursor::{Pending, Read, Reader, Stop, is_break};
use crate::shell::syntax::{Fact, Kind, Target, Term};
use crate::shell::{Redirect, Word};

/// Maximum number of redirections of one command.
const MAX_TARGETS: usize = 64;
/// Maximum number of digits of a file descriptor.
const MAX_DIGITS: usize = 5;

/// The file descriptor before the operator.
enum Descriptor {
    None,
    Number(String),
    /// `{name}`: the shell chooses a number and sets the variable.
    Named(String),
}

impl Reader<'_> {
    /// Parses a redirection into `targets`, if one begins here.
    pub(crate) fn redirect(&mut self, targets: &mut Vec<Target>) -> Read<bool> {
        let start = self.at;
        if self.eat('{') && self.identifier().is_some() && self.peek() == Some('[') {
            // `{a[i]}> f` sets an array element.
            return Err(Stop("a subscript that may run a command"));
        }
        self.at = start;
        let descriptor = self.descriptor();
        let both = matches!(descriptor, Descriptor::None) && self.eat_all("&>");
        let operator = if both { Some('>') } else { self.peek().filter(|next| matches!(next, '<' | '>')) };
        let is_process = !both && self.peek_second() == Some('(');
        let Some(operator) = operator.filter(|_| !is_process) else {
            self.at = start;
            return Ok(false);
        };
        if targets.len() >= MAX_TARGETS {
            return Err(Stop("too many redirections"));
        }
        if both {
            self.only_bash(start);
        } else {
            self.bump();
        }
        if let Descriptor::Named(name) = &descriptor {
            self.only_bash(start);
            let value = Word::Unknown(format!("{{{name}}}"));
            // If the file cannot be opened, the variable is unchanged.
            let set = Fact::Set(name.clone(), value, Kind::Number);
            self.found.facts.extend([Fact::Perhaps, set, Fact::End]);
        }
        if matches!(&descriptor, Descriptor::Number(digits) if digits.len() > 1) {
            self.only_bash(start);
        }
        let target = if operator == '<' { self.input(&descriptor)? } else { self.output(&descriptor, both)? };
        targets.push(target);
        Ok(true)
    }

    /// Parses the file descriptor before the operator; consumes nothing if no redirection follows.
    fn descriptor(&mut self) -> Descriptor {
        let start = self.at;
        let mut found = Descriptor::None;
        if self.eat('{') {
            if let Some(name) = self.identifier()
                && self.eat('}')
            {
                found = Descriptor::Named(name);
            }
        } else {
            let mut digits = String::new();
            // ends: each round steps on
            while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
                digits.push(digit);
                self.bump();
            }
            if !digits.is_empty() {
                found = Descriptor::Number(digits);
            }
        }
        if !matches!(found, Descriptor::None) && matches!(self.peek(), Some('<' | '>')) {
            return found;
        }
        self.at = start;
        Descriptor::None
    }

    fn input(&mut self, descriptor: &Descriptor) -> Read<Target> {
        let input = match descriptor {
            Descriptor::None => true,
            Descriptor::Number(digits) => is_zero(digits)?,
            Descriptor::Named(_) => false,
        };
        if self.eat('<') {
            if self.eat('<') {
                self.only_bash(self.at);
                let word = self.target()?.word;
                return Ok(Target {
                    redirect: Some(Redirect::Text(word)),
                    input,
                    fed: false,
                    verbatim: None,
                });
            }
            let tabs = self.eat('-');
            let end = self.delimiter(tabs)?;
            self.pending.push(end);
            // The text is inserted here once it is read.
            let redirect = Some(Redirect::Text(Word::Unknown(String::new())));
            return Ok(Target { redirect, input, fed: false, verbatim: None });
        }
        if self.eat('&') {
            self.blanks();
            // Another file descriptor may be anything.
            let fed = input && !matches!(self.peek(), Some('-' | '0'));
            self.duplicate(true)?;
            return Ok(Target { redirect: None, input, fed, verbatim: None });
        }
        let both_ways = self.eat('>');
        if !both_ways
            && self.dialect == crate::shell::syntax::Dialect::Foreign
            && self.raw().is_some_and(|c| c.is_ascii_digit())
        {
            return Err(Stop("zsh may read this as a pattern"));
        }
        let term = self.target()?;
        let fed = term.text().starts_with("<(");
        let redirect = if both_ways { Redirect::ReadWrite(term.word) } else { Redirect::Read(term.word) };
        Ok(Target { redirect: Some(redirect), input, fed, verbatim: None })
    }

    fn output(&mut self, descriptor: &Descriptor, both: bool) -> Read<Target> {
        let input = matches!(descriptor, Descriptor::Number(digits) if is_zero(digits)?);
        let redirect = if self.eat('>') {
            Some(Redirect::Append(self.target()?.word))
        } else if !both && self.eat('&') {
            let start = self.at;
            match self.duplicate(false)? {
                Some(term) if matches!(descriptor, Descriptor::None) => {
                    self.only_bash(start);
                    // Bash expands the word twice.
                    if term.known().is_none() || term.kind == Kind::Any {
                        self.doubt(start, "a name of a file that is expanded twice");
                    }
                    Some(Redirect::Write(term.word))
                }
                Some(_) => return Err(Stop("a descriptor that is not known")),
                None => None,
            }
        } else {
            if !both {
                self.eat('|');
            }
            Some(Redirect::Write(self.target()?.word))
        };
        Ok(Target { redirect, input, fed: false, verbatim: None })
    }

    /// Parses the operand of `<&` and `>&`. Returns the word if it is a file.
    fn duplicate(&mut self, input: bool) -> Read<Option<Term>> {
        self.blanks();
        let closes = self.peek() == Some('-');
        // Bash takes the dash alone, and the rest as another word.
        if closes && self.peek_second().is_some_and(|next| !is_break(next)) {
            return Err(Stop("other shells read this differently"));
        }
        let term = self.target()?;
        match term.known() {
            Some("-") => Ok(None),
            Some(text) => {
                let digits = text.strip_suffix('-').unwrap_or(text);
                let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                match (is_number, input) {
                    (true, _) => Ok(None),
                    (false, false) => Ok(Some(term)),
                    (false, true) => Err(Stop("a descriptor that is not known")),
                }
            }
            None if input => Ok(None),
            None => Ok(Some(term)),
        }
    }

    /// Parses the target word of a redirection.
    fn target(&mut self) -> Read<Term> {
        self.blanks();
        self.word()?.ok_or(Stop("a redirection without a target"))
    }

    /// Parses the delimiter of a here-document.
    fn delimiter(&mut self, tabs: bool) -> Read<Pending> {
        // A `#` would begin a comment here, so that there is no delimiter.
        self.blanks();
        let start = self.at;
        let pending = std::mem::take(&mut self.pending);
        let term = self.target()?;
        self.pending = pending;
        let raw = &self.text[start..self.at];
        let end = term.known().ok_or(Stop("a here-document whose end is not known"))?;
        if raw.contains(['$', '`', '\n', '{', '~', '*', '?', '[']) || end.is_empty() || end.contains('\n') {
            return Err(Stop("a here-document whose end is not known"));
        }
        let quoted = raw.contains(['\'', '"', '\\']);
        Ok(Pending { end: end.to_owned(), quoted, tabs })
    }
}

fn is_zero(digits: &str) -> Read<bool> {
    if digits.len() > MAX_DIGITS {
        return Err(Stop("a descriptor that is not known"));
    }
    Ok(digits.bytes().all(|digit| digit == b'0'))
}
