//! Parses redirections.

use crate::shell::parser_cursor::{ParseResult, ParseStop, PendingHeredoc, ScriptParser, is_word_end};
use crate::shell::syntax_tree::{ParsedWord, RedirectTarget, ValueKind, VariableFact};
use crate::shell::{ScriptRedirect, ScriptWord};

/// Maximum number of redirections of one command.
const MAX_REDIRECTS: usize = 64;
/// Maximum number of digits of a file descriptor.
const MAX_DESCRIPTOR_DIGITS: usize = 5;

/// The file descriptor before the operator.
enum DescriptorPrefix {
    None,
    Number(String),
    /// `{name}`: the shell chooses a number and sets the variable.
    Named(String),
}

impl ScriptParser<'_> {
    /// Parses a redirection into `targets`, if one begins here.
    pub(crate) fn parse_redirect(&mut self, targets: &mut Vec<RedirectTarget>) -> ParseResult<bool> {
        let start = self.at;
        if self.eat('{') && self.read_identifier().is_some() && self.peek() == Some('[') {
            // `{a[i]}> f` sets an array element.
            return Err(ParseStop("a subscript that may run a command"));
        }
        self.at = start;
        let descriptor = self.parse_descriptor();
        let both = matches!(descriptor, DescriptorPrefix::None) && self.eat_all("&>");
        let operator = if both { Some('>') } else { self.peek().filter(|next| matches!(next, '<' | '>')) };
        let is_process = !both && self.peek_second() == Some('(');
        let Some(operator) = operator.filter(|_| !is_process) else {
            self.at = start;
            return Ok(false);
        };
        if targets.len() >= MAX_REDIRECTS {
            return Err(ParseStop("too many redirections"));
        }
        if both {
            self.doubt_unless_bash(start);
        } else {
            self.bump();
        }
        if let DescriptorPrefix::Named(name) = &descriptor {
            self.doubt_unless_bash(start);
            let value = ScriptWord::Unknown(format!("{{{name}}}"));
            // If the file cannot be opened, the variable is unchanged.
            let set = VariableFact::Set(name.clone(), value, ValueKind::Number);
            self.findings.facts.extend([VariableFact::BeginConditional, set, VariableFact::EndConditional]);
        }
        if matches!(&descriptor, DescriptorPrefix::Number(digits) if digits.len() > 1) {
            self.doubt_unless_bash(start);
        }
        let target = if operator == '<' {
            self.parse_input(&descriptor)?
        } else {
            self.parse_output(&descriptor, both)?
        };
        targets.push(target);
        Ok(true)
    }

    /// Parses the file descriptor before the operator; consumes nothing if no redirection follows.
    fn parse_descriptor(&mut self) -> DescriptorPrefix {
        let start = self.at;
        let mut found = DescriptorPrefix::None;
        if self.eat('{') {
            if let Some(name) = self.read_identifier()
                && self.eat('}')
            {
                found = DescriptorPrefix::Named(name);
            }
        } else {
            let mut digits = String::new();
            // ends: each round steps on
            while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
                digits.push(digit);
                self.bump();
            }
            if !digits.is_empty() {
                found = DescriptorPrefix::Number(digits);
            }
        }
        if !matches!(found, DescriptorPrefix::None) && matches!(self.peek(), Some('<' | '>')) {
            return found;
        }
        self.at = start;
        DescriptorPrefix::None
    }

    fn parse_input(&mut self, descriptor: &DescriptorPrefix) -> ParseResult<RedirectTarget> {
        let is_stdin = match descriptor {
            DescriptorPrefix::None => true,
            DescriptorPrefix::Number(digits) => is_zero(digits)?,
            DescriptorPrefix::Named(_) => false,
        };
        if self.eat('<') {
            if self.eat('<') {
                self.doubt_unless_bash(self.at);
                let word = self.parse_target()?.word;
                return Ok(RedirectTarget {
                    redirect: Some(ScriptRedirect::Text(word)),
                    is_stdin,
                    has_piped_input: false,
                    verbatim: None,
                });
            }
            let strip_tabs = self.eat('-');
            let end = self.parse_delimiter(strip_tabs)?;
            self.pending_heredocs.push(end);
            // The text is inserted here once it is read.
            let redirect = Some(ScriptRedirect::Text(ScriptWord::Unknown(String::new())));
            return Ok(RedirectTarget { redirect, is_stdin, has_piped_input: false, verbatim: None });
        }
        if self.eat('&') {
            self.skip_blanks();
            // Another file descriptor may be anything.
            let has_piped_input = is_stdin && !matches!(self.peek(), Some('-' | '0'));
            self.parse_duplicate(true)?;
            return Ok(RedirectTarget { redirect: None, is_stdin, has_piped_input, verbatim: None });
        }
        let both_ways = self.eat('>');
        if !both_ways
            && self.dialect == crate::shell::syntax_tree::ShellDialect::Foreign
            && self.peek_raw().is_some_and(|c| c.is_ascii_digit())
        {
            return Err(ParseStop("zsh may read this as a pattern"));
        }
        let term = self.parse_target()?;
        let has_piped_input = term.text().starts_with("<(");
        let redirect =
            if both_ways { ScriptRedirect::ReadWrite(term.word) } else { ScriptRedirect::Read(term.word) };
        Ok(RedirectTarget { redirect: Some(redirect), is_stdin, has_piped_input, verbatim: None })
    }

    fn parse_output(&mut self, descriptor: &DescriptorPrefix, both: bool) -> ParseResult<RedirectTarget> {
        let is_stdin = matches!(descriptor, DescriptorPrefix::Number(digits) if is_zero(digits)?);
        let redirect = if self.eat('>') {
            Some(ScriptRedirect::Append(self.parse_target()?.word))
        } else if !both && self.eat('&') {
            let start = self.at;
            match self.parse_duplicate(false)? {
                Some(term) if matches!(descriptor, DescriptorPrefix::None) => {
                    self.doubt_unless_bash(start);
                    // Bash expands the word twice.
                    if term.known_text().is_none() || term.kind == ValueKind::Any {
                        self.add_doubt(start, "a name of a file that is expanded twice");
                    }
                    Some(ScriptRedirect::Write(term.word))
                }
                Some(_) => return Err(ParseStop("a descriptor that is not known")),
                None => None,
            }
        } else {
            if !both {
                self.eat('|');
            }
            Some(ScriptRedirect::Write(self.parse_target()?.word))
        };
        Ok(RedirectTarget { redirect, is_stdin, has_piped_input: false, verbatim: None })
    }

    /// Parses the operand of `<&` and `>&`. Returns the word if it is a file.
    fn parse_duplicate(&mut self, input: bool) -> ParseResult<Option<ParsedWord>> {
        self.skip_blanks();
        let closes = self.peek() == Some('-');
        // Bash takes the dash alone, and the rest as another word.
        if closes && self.peek_second().is_some_and(|next| !is_word_end(next)) {
            return Err(ParseStop("other shells read this differently"));
        }
        let term = self.parse_target()?;
        match term.known_text() {
            Some("-") => Ok(None),
            Some(text) => {
                let digits = text.strip_suffix('-').unwrap_or(text);
                let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                match (is_number, input) {
                    (true, _) => Ok(None),
                    (false, false) => Ok(Some(term)),
                    (false, true) => Err(ParseStop("a descriptor that is not known")),
                }
            }
            None if input => Ok(None),
            None => Ok(Some(term)),
        }
    }

    /// Parses the target word of a redirection.
    fn parse_target(&mut self) -> ParseResult<ParsedWord> {
        self.skip_blanks();
        self.parse_word()?.ok_or(ParseStop("a redirection without a target"))
    }

    /// Parses the delimiter of a here-document.
    fn parse_delimiter(&mut self, strip_tabs: bool) -> ParseResult<PendingHeredoc> {
        // A `#` would begin a comment here, so that there is no delimiter.
        self.skip_blanks();
        let start = self.at;
        let pending = std::mem::take(&mut self.pending_heredocs);
        let term = self.parse_target()?;
        self.pending_heredocs = pending;
        let raw = &self.text[start..self.at];
        let end = term.known_text().ok_or(ParseStop("a here-document whose end is not known"))?;
        if raw.contains(['$', '`', '\n', '{', '~', '*', '?', '[']) || end.is_empty() || end.contains('\n') {
            return Err(ParseStop("a here-document whose end is not known"));
        }
        let quoted = raw.contains(['\'', '"', '\\']);
        Ok(PendingHeredoc { delimiter: end.to_owned(), quoted, strip_tabs })
    }
}

fn is_zero(digits: &str) -> ParseResult<bool> {
    if digits.len() > MAX_DESCRIPTOR_DIGITS {
        return Err(ParseStop("a descriptor that is not known"));
    }
    Ok(digits.bytes().all(|digit| digit == b'0'))
}
