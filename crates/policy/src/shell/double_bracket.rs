//! Parses `[[ … ]]`.

use crate::shell::parser_cursor::{ParseResult, ParseStop, ScriptParser};
use crate::shell::syntax_tree::{ParsedWord, ValueKind, VariableFact};

/// Operators whose operands are evaluated as arithmetic.
const NUMERIC_OPERATORS: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl ScriptParser<'_> {
    /// Parses up to the closing `]]`.
    pub(crate) fn parse_condition(&mut self) -> ParseResult<()> {
        let mut words: Vec<ParsedWord> = Vec::new();
        // ends: each round steps on
        loop {
            self.skip_lines()?;
            // Compares the source text: the tilde makes `=~` an unknown word, as if it named a home directory.
            if words.last().is_some_and(|last| last.text() == "=~") {
                self.parse_regex()?;
                words.push(ParsedWord::literal(""));
                continue;
            }
            if self.eat_all("&&") || self.eat_all("||") || self.eat_group_parenthesis(&words) {
                check_group(self, &words)?;
                words.clear();
                continue;
            }
            if matches!(self.peek(), Some('<' | '>')) && self.peek_second() != Some('(') {
                let operator = self.bump().unwrap_or_default();
                words.push(ParsedWord::literal(&operator.to_string()));
                continue;
            }
            if self.reserved_word() == Some("]]") {
                self.eat_all("]]");
                return check_group(self, &words);
            }
            words.push(self.parse_word()?.ok_or(ParseStop("a condition that is not understood"))?);
        }
    }

    /// Consumes a grouping parenthesis. A parenthesis after a word belongs to a pattern.
    fn eat_group_parenthesis(&mut self, words: &[ParsedWord]) -> bool {
        let begins = words.iter().all(|word| word.text() == "!");
        if begins { self.eat('(') } else { self.eat(')') }
    }

    /// Parses a regular expression: characters without another meaning to the shell, and simple variables.
    fn parse_regex(&mut self) -> ParseResult<()> {
        let mut open = 0_usize;
        let start = self.at;
        // ends: each round steps on
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\n' => break,
                '(' => open += 1,
                ')' if open == 0 => break,
                ')' => open -= 1,
                '`' | '"' | '\'' | '<' | '>' | ';' | '&' | '#' => {
                    return Err(ParseStop("a pattern that is not understood"));
                }
                '$' if matches!(self.peek_second(), Some('(' | '{' | '[' | '\'' | '"')) => {
                    return Err(ParseStop("a pattern that is not understood"));
                }
                '\\' => {
                    self.bump();
                    if self
                        .peek_raw()
                        .is_none_or(|next| !next.is_ascii_punctuation() && !next.is_ascii_alphanumeric())
                    {
                        return Err(ParseStop("a pattern that is not understood"));
                    }
                }
                _ => {}
            }
            self.bump();
        }
        if open == 0 && self.at > start { Ok(()) } else { Err(ParseStop("a pattern that is not understood")) }
    }
}

/// Checks that evaluating these words runs nothing.
fn check_group(parser: &mut ScriptParser<'_>, words: &[ParsedWord]) -> ParseResult<()> {
    for (at, term) in words.iter().enumerate() {
        let Some(operator) = term.known_text() else { continue };
        if NUMERIC_OPERATORS.contains(&operator) {
            for side in [at.checked_sub(1), at.checked_add(1)] {
                let side = side
                    .and_then(|side| words.get(side))
                    .ok_or(ParseStop("a condition that is not understood"))?;
                require_number(parser, side)?;
            }
        }
        if matches!(operator, "-v" | "-R") && words.get(at + 1).is_some_and(|name| !is_name(name)) {
            return Err(ParseStop("a subscript that may run a command"));
        }
    }
    Ok(())
}

/// Returns true for a name without a subscript.
fn is_name(term: &ParsedWord) -> bool {
    term.known_text().is_some_and(|name| name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()))
}

/// Accepts a number, or a variable that must be one.
fn require_number(parser: &mut ScriptParser<'_>, term: &ParsedWord) -> ParseResult<()> {
    if term.kind == ValueKind::Number {
        return Ok(());
    }
    let bare = term.text().trim_matches(['"', '$', '{', '}']);
    match term.variables.as_deref() {
        Some([name]) if name == bare => {
            parser.findings.facts.push(VariableFact::Use(name.clone(), ValueKind::Number));
            Ok(())
        }
        _ => Err(ParseStop("arithmetic on what is not known")),
    }
}
