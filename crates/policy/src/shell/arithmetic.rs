//! Parses shell arithmetic: numbers, operators and variables.
//!
//! Variables must be numbers, since any other value could run a command.

use crate::shell::ScriptWord;
use crate::shell::parser_cursor::{ParseResult, ParseStop, ScriptParser};
use crate::shell::syntax_tree::{ValueKind, VariableFact};

impl ScriptParser<'_> {
    /// Parses up to the closing `))`. In the head of a loop `;` separates three expressions.
    pub(crate) fn parse_arithmetic(&mut self, in_head: bool) -> ParseResult<()> {
        let mut open = 0_usize;
        let start = self.at;
        // ends: each round steps on
        loop {
            match self.peek().ok_or(ParseStop("arithmetic that does not end"))? {
                '(' => {
                    self.bump();
                    open += 1;
                }
                ')' if open > 0 => {
                    self.bump();
                    open -= 1;
                }
                ')' => {
                    self.bump();
                    if !self.eat(')') {
                        return Err(ParseStop("arithmetic that is not understood"));
                    }
                    if !self.text[start..self.at - 2].split(';').all(never_fails) {
                        self.findings.facts.push(VariableFact::MayFail);
                    }
                    return Ok(());
                }
                ';' if in_head && open == 0 => {
                    self.bump();
                }
                _ => self.arithmetic_part()?,
            }
        }
    }

    /// Parses a number, a variable, an operator or whitespace.
    fn arithmetic_part(&mut self) -> ParseResult<()> {
        const OPERATORS: &[char] =
            &[' ', '\t', '+', '-', '*', '/', '%', '<', '>', '=', '!', '&', '|', '^', '~', '?', ':', ','];
        let next = self.peek().ok_or(ParseStop("arithmetic that does not end"))?;
        if next == '$' {
            self.bump();
            return self.arithmetic_dollar();
        }
        if next.is_ascii_digit() {
            // ends: each round steps on
            while self.peek().is_some_and(|next| next.is_ascii_alphanumeric() || next == '#') {
                self.bump();
            }
            return Ok(());
        }
        let start = self.at;
        if let Some(name) = self.read_identifier() {
            return self.arithmetic_name(start, name);
        }
        if OPERATORS.contains(&next) || (next == '\n' && self.pending_heredocs.is_empty()) {
            self.bump();
            return Ok(());
        }
        Err(ParseStop("arithmetic that is not understood"))
    }

    /// Records the use or assignment of a variable.
    fn arithmetic_name(&mut self, start: usize, name: String) -> ParseResult<()> {
        // ends: each round steps on
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.bump();
        }
        if matches!(self.peek(), Some('[' | '$')) {
            return Err(ParseStop("a subscript that may run a command"));
        }
        let rest = &self.text[self.at..];
        let only_set = rest.starts_with('=') && !rest.starts_with("==");
        let before = self.text[..start].trim_end();
        let changes = ["++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];
        let is_set = only_set
            || changes.iter().any(|operator| rest.starts_with(operator))
            || before.ends_with("++")
            || before.ends_with("--");
        // The assignment may not be evaluated.
        let expression = before.rsplit("((").next().unwrap_or(before);
        let perhaps = !expression.trim().is_empty();
        if !only_set || perhaps {
            self.findings.facts.push(VariableFact::Use(name.clone(), ValueKind::Number));
        }
        if is_set {
            let value = ScriptWord::Unknown(format!("(({name}))"));
            self.findings.facts.push(VariableFact::Set(name, value, ValueKind::Number));
        }
        Ok(())
    }

    fn arithmetic_dollar(&mut self) -> ParseResult<()> {
        let braced = self.eat('{');
        let length = braced && self.peek() == Some('#') && self.peek_second() != Some('}') && self.eat('#');
        match self.read_identifier() {
            Some(name) if !length => self.findings.facts.push(VariableFact::Use(name, ValueKind::Number)),
            Some(_) => {}
            None if matches!(self.peek(), Some('#' | '?' | '$' | '!')) => {
                self.bump();
            }
            None => return Err(ParseStop("arithmetic on what is not known")),
        }
        if braced && !self.eat('}') {
            return Err(ParseStop("arithmetic that is not understood"));
        }
        Ok(())
    }
}

/// Returns true if the expression certainly has a value: it is well-formed, and no division is by zero.
fn never_fails(text: &str) -> bool {
    let mut rest = text.trim();
    // `wanted`: an operand comes next. `settable`: the last operand can be assigned to.
    let (mut wanted, mut settable) = (true, false);
    let empty = rest.is_empty();
    // ends: each round steps on
    while let Some(next) = rest.chars().next() {
        let begins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
        let length = if begins(next) {
            let end = rest.find(|c: char| !begins(c) && !matches!(c, '{' | '}' | '#')).unwrap_or(rest.len());
            let word = &rest[..end];
            let is_number = next.is_ascii_digit();
            let plain =
                word == "0" || !word.starts_with('0') && word.bytes().all(|byte| byte.is_ascii_digit());
            if !wanted || is_number && !plain {
                return false;
            }
            (wanted, settable) = (false, !is_number && !word.starts_with('$'));
            end
        } else {
            let two = ["++", "--", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*="];
            let operator =
                two.into_iter().find(|two| rest.starts_with(two)).unwrap_or(&rest[..next.len_utf8()]);
            match operator {
                " " | "\t" | "\n" => {}
                "++" | "--" if !wanted && settable => settable = false,
                "+" | "-" | "!" | "(" if wanted => {}
                ")" if !wanted => settable = false,
                "=" | "+=" | "-=" | "*=" if settable && !wanted => wanted = true,
                "/" | "%" if !wanted && starts_with_nonzero(&rest[1..]) => (wanted, settable) = (true, false),
                "+" | "-" | "*" | "<" | ">" | "==" | "!=" | "<=" | ">=" | "&&" | "||" | "," if !wanted => {
                    // Only the very first operand can be assigned to: after an operator follows a part of a value.
                    (wanted, settable) = (true, false);
                    if operator != ","
                        && rest[operator.len()..].contains('=')
                        && !matches!(operator, "==" | "!=" | "<=" | ">=")
                    {
                        return false;
                    }
                }
                _ => return false,
            }
            operator.len()
        };
        rest = &rest[length..];
    }
    empty || !wanted
}

/// Returns true if a nonzero number follows.
fn starts_with_nonzero(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| matches!(c, '1'..='9'))
}
