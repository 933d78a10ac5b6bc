//! Parses expansions that begin with `$`, except the inside of `${…}`.

use crate::shell::parser_cursor::{ParseResult, ParseStop, ScriptParser};
use crate::shell::syntax_tree::{NestedScript, ShellDialect, WordSpread};
use crate::shell::word_parser::{UnknownPart, WordBuilder};

impl ScriptParser<'_> {
    /// Parses the expansion at the next `$`.
    pub(crate) fn parse_dollar(&mut self, builder: &mut WordBuilder, quoted: bool) -> ParseResult<()> {
        let start = self.at;
        self.bump();
        let spread = if quoted { WordSpread::One } else { WordSpread::Any };
        match self.peek() {
            Some('(') if self.peek_second() == Some('(') => {
                self.bump();
                self.bump();
                self.one_level_deeper(|parser| parser.parse_arithmetic(false))?;
                builder.add_unknown(UnknownPart::Number, spread);
            }
            Some('(') => {
                self.bump();
                let script = self.parse_substitution()?;
                self.findings.nested_scripts.push(NestedScript { script, has_piped_input: false });
                builder.add_unknown(UnknownPart::Other, spread);
            }
            Some('{') => {
                self.bump();
                let (part, many) = self.one_level_deeper(|parser| parser.parse_parameter(quoted))?;
                builder.add_unknown(part, if many { WordSpread::Any } else { spread });
            }
            Some('[') => return Err(ParseStop("arithmetic in brackets")),
            Some('\'') if !quoted => {
                self.doubt_unless_bash(start);
                self.bump();
                self.parse_ansi_quoted(builder)?;
            }
            Some('"') if !quoted => {
                self.doubt_unless_bash(start);
                self.bump();
                // The text may be translated.
                builder.add_unknown(UnknownPart::Other, WordSpread::One);
                self.parse_double_quoted(builder)?;
            }
            Some(next) if next == '_' || next.is_ascii_alphabetic() => {
                let name = self.read_identifier().unwrap_or_default();
                if self.dialect == ShellDialect::Foreign && matches!(self.peek(), Some('[' | ':')) {
                    self.add_doubt(start, "zsh reads this differently");
                }
                builder.add_unknown(UnknownPart::Variable(name), spread);
            }
            Some(next) => match special_parameter(next) {
                Some(part) => {
                    self.bump();
                    builder.add_unknown(part, if next == '@' { WordSpread::Any } else { spread });
                }
                None => self.push_bare_dollar(builder),
            },
            None => self.push_bare_dollar(builder),
        }
        Ok(())
    }

    /// Adds a `$` that begins no expansion.
    fn push_bare_dollar(&mut self, builder: &mut WordBuilder) {
        builder.bare_dollar = true;
        builder.push('$');
    }

    /// Parses `$'…'` after the quote. An unsupported escape makes the word unknown.
    fn parse_ansi_quoted(&mut self, builder: &mut WordBuilder) -> ParseResult<()> {
        builder.started = true;
        // ends: each round steps on
        loop {
            match self.bump_raw() {
                None => return Err(ParseStop("a quote that does not end")),
                Some('\'') => return Ok(()),
                Some('\\') => match self.bump_raw() {
                    Some('n') => builder.push('\n'),
                    Some('t') => builder.push('\t'),
                    Some('r') => builder.push('\r'),
                    Some('e' | 'E') => builder.push('\u{1b}'),
                    Some(next @ ('\\' | '\'' | '"' | '?')) => builder.push(next),
                    Some('x') => self.parse_char_code(builder, 2, 16),
                    Some('u') => self.parse_char_code(builder, 4, 16),
                    Some('U') => self.parse_char_code(builder, 8, 16),
                    Some('0'..='7') => {
                        self.at -= 1;
                        self.parse_char_code(builder, 3, 8);
                    }
                    Some(_) => builder.add_unknown(UnknownPart::Other, WordSpread::One),
                    None => return Err(ParseStop("a quote that does not end")),
                },
                Some(next) => builder.push(next),
            }
        }
    }

    /// Parses a character code of `count` digits. Fewer digits, or a non-printable character, make the word unknown.
    fn parse_char_code(&mut self, builder: &mut WordBuilder, count: usize, radix: u32) {
        let digits = self.text.get(self.at..self.at + count).unwrap_or_default();
        let code = u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        let plain = code.filter(|c| *c == ' ' || c.is_ascii_graphic());
        match plain.filter(|_| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            Some(letter) => {
                self.at += count;
                builder.push(letter);
            }
            None => builder.add_unknown(UnknownPart::Other, WordSpread::One),
        }
    }
}

/// Classifies a one-character parameter.
pub(crate) fn special_parameter(name: char) -> Option<UnknownPart> {
    match name {
        '#' | '?' | '$' | '!' => Some(UnknownPart::Number),
        '@' | '*' | '-' | '0'..='9' => Some(UnknownPart::Other),
        _ => None,
    }
}
