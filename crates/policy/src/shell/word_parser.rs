//! Parses words: resolves quotes and escapes like bash, and marks expansions as unknown.

use crate::shell::ScriptWord;
use crate::shell::parser_cursor::{ParseResult, ParseStop, ScriptParser, is_word_end};
use crate::shell::syntax_tree::{
    NestedScript, ParsedWord, ShellDialect, StepConnector, SyntaxNode, ValueKind, WordSpread, kind_of,
};

/// A word under construction.
#[derive(Debug)]
pub(crate) struct WordBuilder {
    /// The literal text before the first unknown part.
    literal: String,
    is_known: bool,
    spread: WordSpread,
    variables: Option<Vec<String>>,
    /// The number of unknown parts, and the number of numeric ones among them.
    unknown_parts: usize,
    numeric_parts: usize,
    /// Something was read, possibly only a pair of quotes.
    pub(crate) started: bool,
    /// Something follows the first unknown part.
    has_tail: bool,
    /// The position of the first unquoted open brace.
    brace_position: Option<usize>,
    /// The word contains a `$` that begins no expansion.
    pub(crate) bare_dollar: bool,
}

/// The kind of an unknown part.
#[derive(Debug)]
pub(crate) enum UnknownPart {
    /// The value of this variable.
    Variable(String),
    Number,
    /// File names, or a home directory.
    Path,
    Other,
}

impl Default for WordBuilder {
    fn default() -> Self {
        Self {
            literal: String::new(),
            is_known: true,
            spread: WordSpread::One,
            variables: Some(Vec::new()),
            unknown_parts: 0,
            numeric_parts: 0,
            started: false,
            has_tail: false,
            brace_position: None,
            bare_dollar: false,
        }
    }
}

impl WordBuilder {
    pub(crate) fn push(&mut self, next: char) {
        self.started = true;
        if self.is_known {
            self.literal.push(next);
        } else {
            self.has_tail = true;
        }
    }

    /// Adds an unknown part that may become `spread` words.
    pub(crate) fn add_unknown(&mut self, part: UnknownPart, spread: WordSpread) {
        self.started = true;
        self.has_tail |= !self.is_known;
        self.is_known = false;
        self.unknown_parts += 1;
        match part {
            UnknownPart::Variable(name) => {
                if let Some(names) = &mut self.variables {
                    names.push(name);
                }
            }
            UnknownPart::Number => self.numeric_parts += 1,
            UnknownPart::Path | UnknownPart::Other => self.variables = None,
        }
        self.spread = match (self.spread, spread) {
            (WordSpread::Any, _) | (_, WordSpread::Any) => WordSpread::Any,
            (WordSpread::Names, _) | (_, WordSpread::Names) => WordSpread::Names,
            (WordSpread::One, WordSpread::One) => WordSpread::One,
        };
    }

    /// Returns the text, if all of it is known.
    pub(crate) fn known_text(&self) -> Option<&str> {
        self.is_known.then_some(self.literal.as_str())
    }

    /// Finishes the word with the source text `raw`.
    pub(crate) fn finish(mut self, raw: &str) -> ParsedWord {
        let listed = raw.contains(',') || raw.contains("..");
        let mut kind = ValueKind::Any;
        if let Some(at) = self.brace_position.filter(|_| listed) {
            self.literal.truncate(at);
            self.add_unknown(UnknownPart::Other, WordSpread::Names);
            if is_number_range(raw) {
                kind = ValueKind::Number;
            }
        } else if self.is_known {
            return ParsedWord::literal(&self.literal);
        } else if self.numeric_parts == 1
            && self.unknown_parts == 1
            && !self.has_tail
            && self.literal.is_empty()
        {
            kind = ValueKind::Number;
        }
        ParsedWord {
            word: ScriptWord::Unknown(raw.to_owned()),
            prefix: self.literal,
            spread: self.spread,
            kind,
            variables: self.variables,
            is_assignment: false,
        }
    }
}

/// Returns true for `{1..9}`.
fn is_number_range(raw: &str) -> bool {
    let inside = raw.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inside.and_then(|inside| inside.split_once("..")).is_some_and(|(from, to)| {
        !from.is_empty()
            && !to.is_empty()
            && kind_of(from) == ValueKind::Number
            && kind_of(to) == ValueKind::Number
    })
}

impl ScriptParser<'_> {
    /// Parses a word, if one begins here.
    pub(crate) fn parse_word(&mut self) -> ParseResult<Option<ParsedWord>> {
        self.peek();
        let start = self.at;
        let mut builder = WordBuilder::default();
        // ends: each round steps on
        while let Some(next) = self.peek() {
            match next {
                '<' | '>' if self.peek_second() == Some('(') => {
                    self.parse_process_substitution(&mut builder)?;
                }
                _ if is_word_end(next) => break,
                _ => self.parse_piece(next, &mut builder)?,
            }
        }
        let raw = &self.text[start..self.at];
        if !self.pending_heredocs.is_empty() && raw.contains('\n') {
            return Err(ParseStop("a here-document begins in the middle of a word"));
        }
        if !builder.started {
            return Ok(None);
        }
        if builder.brace_position.is_some() && builder.bare_dollar {
            self.add_doubt(start, "braces may make an expansion of this");
        }
        Ok(Some(builder.finish(raw)))
    }

    /// Parses one part of a word that begins with `next`.
    fn parse_piece(&mut self, next: char, builder: &mut WordBuilder) -> ParseResult<()> {
        match next {
            '\'' => {
                self.bump();
                self.parse_single_quoted(builder)
            }
            '"' => {
                self.bump();
                self.parse_double_quoted(builder)
            }
            '$' => self.parse_dollar(builder, false),
            '`' => self.parse_backtick(builder, false),
            '\\' => {
                self.bump();
                let escaped = self.bump_raw().ok_or(ParseStop("it ends with a backslash"))?;
                builder.push(escaped);
                Ok(())
            }
            _ => {
                self.parse_unquoted(next, builder);
                Ok(())
            }
        }
    }

    /// Parses an unquoted character.
    fn parse_unquoted(&mut self, next: char, builder: &mut WordBuilder) {
        let at = self.at;
        self.bump();
        let after_start =
            !builder.started || builder.known_text().is_some_and(|value| value.ends_with(['=', ':']));
        match next {
            '*' | '?' => builder.add_unknown(UnknownPart::Path, WordSpread::Names),
            // A single bracket is the command of that name.
            '[' if builder.started || !self.at_word_end() => {
                builder.add_unknown(UnknownPart::Path, WordSpread::Names);
            }
            '~' if after_start || builder.known_text().is_none() => {
                builder.add_unknown(UnknownPart::Path, WordSpread::One);
            }
            '=' if !builder.started && self.dialect == ShellDialect::Foreign => {
                self.add_doubt(at, "zsh replaces this by the path of a program");
                builder.push(next);
            }
            '{' => {
                builder.brace_position = builder.brace_position.or(Some(builder.literal.len()));
                builder.push(next);
            }
            _ => {
                if next.is_control() || (!next.is_ascii() && !next.is_alphanumeric()) {
                    self.add_doubt(at, "an unusual character without quotes");
                }
                builder.push(next);
            }
        }
    }

    /// Parses text in single quotes, after the opening quote.
    pub(crate) fn parse_single_quoted(&mut self, builder: &mut WordBuilder) -> ParseResult<()> {
        builder.started = true;
        // ends: each round steps on
        loop {
            match self.bump_raw() {
                None => return Err(ParseStop("a quote that does not end")),
                Some('\'') => return Ok(()),
                Some(next) => builder.push(next),
            }
        }
    }

    /// Parses text in double quotes, after the opening quote.
    pub(crate) fn parse_double_quoted(&mut self, builder: &mut WordBuilder) -> ParseResult<()> {
        builder.started = true;
        // ends: each round steps on
        loop {
            match self.peek() {
                None => return Err(ParseStop("a quote that does not end")),
                Some('"') => {
                    self.bump();
                    return Ok(());
                }
                Some('$') => self.parse_dollar(builder, true)?,
                Some('`') => self.parse_backtick(builder, true)?,
                Some('\\') => {
                    self.bump();
                    match self.bump_raw() {
                        Some(next @ ('$' | '`' | '"' | '\\')) => builder.push(next),
                        Some(next) => {
                            builder.push('\\');
                            builder.push(next);
                        }
                        None => return Err(ParseStop("a quote that does not end")),
                    }
                }
                Some(next) => {
                    self.bump();
                    builder.push(next);
                }
            }
        }
    }

    /// Parses `<(…)` or `>(…)`.
    fn parse_process_substitution(&mut self, builder: &mut WordBuilder) -> ParseResult<()> {
        let start = self.at;
        let has_piped_input = self.bump() == Some('>');
        self.bump();
        self.doubt_unless_bash(start);
        let script = self.parse_substitution()?;
        self.findings.nested_scripts.push(NestedScript { script, has_piped_input });
        builder.add_unknown(UnknownPart::Path, WordSpread::One);
        Ok(())
    }

    /// Parses the script of `$(…)` after the opening parenthesis, including the closing one.
    pub(crate) fn parse_substitution(&mut self) -> ParseResult<crate::shell::syntax_tree::ScriptTree> {
        let outer = (std::mem::take(&mut self.findings), std::mem::take(&mut self.pending_heredocs));
        let bodies = std::mem::take(&mut self.heredoc_bodies);
        let start = self.at;
        let script = self.one_level_deeper(|parser| {
            let mut script = parser.parse_list(&[])?;
            let bodies = std::mem::take(&mut parser.heredoc_bodies);
            let alone = match script.0.as_slice() {
                [only] => matches!(only.node, SyntaxNode::Simple(_)),
                [only, aside] => {
                    matches!(only.node, SyntaxNode::Simple(_))
                        && aside.connector == StepConnector::HeredocSubstitutions
                }
                _ => false,
            };
            // Bash 5.2 regenerates the script before it runs it, and may drop separators.
            if !bodies.is_empty() && !alone {
                parser.add_doubt(start, "a here-document among other commands in a substitution");
            }
            crate::shell::grammar::fill_heredocs(&mut script, &mut bodies.into_iter());
            if !parser.pending_heredocs.is_empty() {
                return Err(ParseStop("a here-document that begins after its substitution"));
            }
            if parser.eat(')') { Ok(script) } else { Err(ParseStop("a substitution that does not end")) }
        })?;
        (self.findings, self.pending_heredocs) = outer;
        self.heredoc_bodies = bodies;
        Ok(script)
    }

    /// Parses a substitution in backticks.
    pub(crate) fn parse_backtick(&mut self, builder: &mut WordBuilder, quoted: bool) -> ParseResult<()> {
        self.bump();
        let mut script = String::new();
        // ends: each round steps on
        loop {
            match self.bump_raw() {
                None => return Err(ParseStop("backticks that do not end")),
                Some('`') => break,
                Some('"') if quoted => return Err(ParseStop("quotes in backticks in quotes")),
                Some('\\') => match self.bump_raw() {
                    Some(next @ ('$' | '`' | '\\')) => script.push(next),
                    Some('\n') | None => return Err(ParseStop("a continued line in backticks")),
                    Some(next) => script.extend(['\\', next]),
                },
                Some(next) => script.push(next),
            }
        }
        let script = self.parse_sub_script(&script)?;
        self.findings.nested_scripts.push(NestedScript { script, has_piped_input: false });
        builder.add_unknown(UnknownPart::Other, if quoted { WordSpread::One } else { WordSpread::Any });
        Ok(())
    }

    /// Parses `text` as a separate script.
    fn parse_sub_script(&mut self, text: &str) -> ParseResult<crate::shell::syntax_tree::ScriptTree> {
        self.one_level_deeper(|outer| {
            let mut parser = ScriptParser::new(text, outer.dialect, outer.depth);
            let script = parser.parse_script()?;
            outer.doubts.append(&mut parser.doubts);
            Ok(script)
        })
    }
}
