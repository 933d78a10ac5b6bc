//! Parses the inside of `${…}`.

use crate::shell::ScriptWord;
use crate::shell::dollar_expansion::special_parameter;
use crate::shell::parser_cursor::{ParseResult, ParseStop, ScriptParser};
use crate::shell::syntax_tree::{ShellDialect, ValueKind, VariableFact};
use crate::shell::word_parser::{UnknownPart, WordBuilder};

/// Transformations that run nothing. `P` is excluded.
const HARMLESS_TRANSFORMS: &[char] = &['Q', 'U', 'u', 'L', 'E', 'A', 'a', 'K', 'k'];

impl ScriptParser<'_> {
    /// Parses up to the closing brace. Returns the kind of the value, and whether it may be several words even in
    /// quotes.
    pub(crate) fn parse_parameter(&mut self, quoted: bool) -> ParseResult<(UnknownPart, bool)> {
        let start = self.at;
        let length = self.peek() == Some('#') && self.peek_second() != Some('}');
        if length {
            self.bump();
        }
        let (name, mut part) = self.parse_parameter_name()?;
        let subscript = self.peek() == Some('[');
        let mut many = name == "@";
        if subscript {
            many |= self.parse_subscript()?;
            part = UnknownPart::Other;
            self.doubt_unless_bash(start);
        }
        if self.eat('}') {
            return Ok(if length { (UnknownPart::Number, false) } else { (part, many) });
        }
        if length || name.is_empty() {
            return Err(ParseStop("an expansion that is not understood"));
        }
        self.parse_operation(&name, quoted)?;
        Ok((UnknownPart::Other, many))
    }

    fn parse_parameter_name(&mut self) -> ParseResult<(String, UnknownPart)> {
        if let Some(name) = self.read_identifier() {
            return Ok((name.clone(), UnknownPart::Variable(name)));
        }
        let next = self.peek().filter(|next| *next != '!').ok_or(ParseStop("an indirect expansion"))?;
        let part = special_parameter(next).ok_or(ParseStop("an expansion that is not understood"))?;
        let mut name = String::new();
        if next.is_ascii_digit() {
            // ends: each round steps on
            while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
                name.push(digit);
                self.bump();
            }
        } else {
            name.push(next);
            self.bump();
        }
        Ok((name, part))
    }

    /// Parses `[@]`, `[*]`, `[1]`, `[i]` or `[$i]`. Returns true if it selects the whole array.
    fn parse_subscript(&mut self) -> ParseResult<bool> {
        self.bump();
        if self.eat_all("@]") || self.eat_all("*]") {
            return Ok(true);
        }
        // ends: each round steps on
        while self.peek().is_some_and(|next| next.is_ascii_digit()) {
            self.bump();
        }
        if self.eat(']') {
            return Ok(false);
        }
        self.eat('$');
        let name = self.read_identifier().ok_or(ParseStop("a subscript that may run a command"))?;
        self.findings.facts.push(VariableFact::Use(name, ValueKind::Number));
        if self.eat(']') { Ok(false) } else { Err(ParseStop("a subscript that may run a command")) }
    }

    /// Parses the operation on the value, and the closing brace.
    fn parse_operation(&mut self, name: &str, quoted: bool) -> ParseResult<()> {
        let start = self.at;
        let first = self.bump().ok_or(ParseStop("an expansion that does not end"))?;
        match first {
            ':' if !matches!(self.peek(), Some('-' | '=' | '?' | '+')) => {
                self.doubt_unless_bash(start);
                return self.parse_offset();
            }
            ':' => {
                if self.bump() == Some('=') {
                    self.record_assignment(name);
                }
            }
            '=' => self.record_assignment(name),
            '-' | '?' | '+' => {}
            '#' | '%' if self.dialect != ShellDialect::Foreign => {}
            '/' | '^' | ',' => self.doubt_unless_bash(start),
            '@' => {
                self.doubt_unless_bash(start);
                let harmless =
                    self.bump().is_some_and(|next| HARMLESS_TRANSFORMS.contains(&next)) && self.eat('}');
                return if harmless { Ok(()) } else { Err(ParseStop("an expansion that may run its value")) };
            }
            _ => return Err(ParseStop("an expansion that is not understood")),
        }
        self.parse_operand(quoted)
    }

    fn record_assignment(&mut self, name: &str) {
        let word = ScriptWord::Unknown(format!("${{{name}:=…}}"));
        self.findings.facts.push(VariableFact::Set(name.to_owned(), word, ValueKind::Any));
    }

    /// Parses a substring range such as `1:2`: numbers, and variables that must be numbers.
    fn parse_offset(&mut self) -> ParseResult<()> {
        let start = self.at;
        // ends: each round steps on
        loop {
            match self.peek() {
                Some('}') => {
                    // A negative length may be an error.
                    let plain = |c: char| c.is_ascii_digit() || c == ' ';
                    let mut parts = self.text[start..self.at].split(':').skip(1);
                    if !parts.all(|length| length.chars().all(plain)) {
                        self.findings.facts.push(VariableFact::MayFail);
                    }
                    self.bump();
                    return Ok(());
                }
                Some(' ' | ':' | '-' | '+' | '0'..='9') => {
                    self.bump();
                }
                _ => {
                    self.eat('$');
                    let name =
                        self.read_identifier().ok_or(ParseStop("arithmetic that is not understood"))?;
                    if matches!(self.peek(), Some('[' | '$' | '{')) {
                        return Err(ParseStop("arithmetic that is not understood"));
                    }
                    self.findings.facts.push(VariableFact::Use(name, ValueKind::Number));
                }
            }
        }
    }

    /// Parses a word up to the closing brace.
    fn parse_operand(&mut self, quoted: bool) -> ParseResult<()> {
        let mut builder = WordBuilder::default();
        // ends: each round steps on
        loop {
            match self.peek() {
                None | Some('\n') => return Err(ParseStop("an expansion that does not end")),
                Some('}') => {
                    self.bump();
                    return Ok(());
                }
                Some('"' | '\'') if quoted => return Err(ParseStop("quotes in an expansion in quotes")),
                Some('{' | '(' | '<' | '>') => return Err(ParseStop("an expansion that is not understood")),
                Some('"') => {
                    self.bump();
                    self.parse_double_quoted(&mut builder)?;
                }
                Some('\'') => {
                    self.bump();
                    self.parse_single_quoted(&mut builder)?;
                }
                Some('$') => self.parse_dollar(&mut builder, quoted)?,
                Some('`') => self.parse_backtick(&mut builder, quoted)?,
                Some('\\') => {
                    self.bump();
                    self.bump_raw();
                }
                Some(_) => {
                    self.bump();
                }
            }
        }
    }
}
