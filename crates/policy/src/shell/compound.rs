//! Parses compound commands: groups, branches, loops and functions.

use crate::shell::ScriptWord;
use crate::shell::fork_bomb::is_constant_condition;
use crate::shell::parser_cursor::{ParseResult, ParseStop, ScriptParser};
use crate::shell::syntax_tree::{
    CompoundCommand, ParsedWord, ScriptTree, SyntaxNode, ValueKind, VariableFact,
};

impl ScriptParser<'_> {
    /// Parses a compound command, if one begins here.
    pub(crate) fn parse_compound(&mut self) -> ParseResult<Option<SyntaxNode>> {
        let start = self.at;
        if self.peek() == Some('(') {
            return self.parse_parenthesis().map(Some);
        }
        let Some(word) = self.reserved_word() else { return Ok(None) };
        let group = match word {
            "{" => {
                self.bump();
                let part = self.parse_nonempty_list(&["}"])?;
                self.expect_word("}")?;
                self.take_compound(vec![part])
            }
            "if" => self.parse_if()?,
            "while" | "until" => {
                self.eat_all(word);
                let from = self.at;
                let condition = self.parse_nonempty_list(&["do"])?;
                let endless = is_constant_condition(word, &self.text[from..self.at]);
                let body = self.parse_loop_body()?;
                CompoundCommand { endless, ..self.take_compound(vec![condition, body]) }
            }
            "for" => self.parse_for()?,
            "case" => self.parse_case()?,
            "[[" => {
                self.doubt_unless_bash(start);
                self.eat_all(word);
                self.parse_condition()?;
                self.take_compound(Vec::new())
            }
            "function" => {
                self.doubt_unless_bash(start);
                self.eat_all(word);
                self.skip_blanks();
                let name = self.parse_word()?.ok_or(ParseStop("a function without a name"))?;
                self.skip_blanks();
                return self.parse_function_body(&name).map(Some);
            }
            // Other reserved words are rejected as command names, or parsed elsewhere.
            _ => return Ok(None),
        };
        Ok(Some(SyntaxNode::Group(group)))
    }

    /// Builds a group from the parsed parts and the findings so far.
    fn take_compound(&mut self, parts: Vec<ScriptTree>) -> CompoundCommand {
        CompoundCommand { findings: std::mem::take(&mut self.findings), parts, ..CompoundCommand::default() }
    }

    /// Parses a nonempty list of steps.
    fn parse_nonempty_list(&mut self, stops: &[&str]) -> ParseResult<ScriptTree> {
        let script = self.parse_list(stops)?;
        if script.0.is_empty() { Err(ParseStop("a command is missing")) } else { Ok(script) }
    }

    /// Parses `(…)` or `((…))`.
    fn parse_parenthesis(&mut self) -> ParseResult<SyntaxNode> {
        let start = self.at;
        self.bump();
        if self.peek() == Some('(') {
            self.doubt_unless_bash(start);
            self.bump();
            self.parse_arithmetic(false)?;
            return Ok(SyntaxNode::Group(self.take_compound(Vec::new())));
        }
        let part = self.parse_nonempty_list(&[])?;
        if !self.eat(')') {
            return Err(ParseStop("a parenthesis that is not closed"));
        }
        Ok(SyntaxNode::Group(self.take_compound(vec![part])))
    }

    fn parse_if(&mut self) -> ParseResult<CompoundCommand> {
        let mut parts = Vec::new();
        let mut word = "if";
        // ends: each round reads a branch
        loop {
            self.expect_word(word)?;
            if word != "else" {
                parts.push(self.parse_nonempty_list(&["then"])?);
                self.expect_word("then")?;
            }
            parts.push(self.parse_nonempty_list(&["elif", "else", "fi"])?);
            self.skip_lines()?;
            word = match self.reserved_word() {
                Some("elif") if word != "else" => "elif",
                Some("else") if word != "else" => "else",
                _ => break,
            };
        }
        self.expect_word("fi")?;
        Ok(self.take_compound(parts))
    }

    /// Parses `do … done`.
    fn parse_loop_body(&mut self) -> ParseResult<ScriptTree> {
        self.expect_word("do")?;
        let body = self.parse_nonempty_list(&["done"])?;
        self.expect_word("done")?;
        Ok(body)
    }

    fn parse_for(&mut self) -> ParseResult<CompoundCommand> {
        let start = self.at;
        self.eat_all("for");
        self.skip_blanks();
        let mut endless = false;
        if self.eat_all("((") {
            self.doubt_unless_bash(start);
            let from = self.at;
            self.parse_arithmetic(true)?;
            // The condition is the text between the first and the second semicolon.
            let condition = self.text[from..self.at].split(';').nth(1);
            endless = condition.is_some_and(|condition| matches!(condition.trim(), "" | "1"));
        } else {
            let name = self.read_identifier().ok_or(ParseStop("a loop without a variable"))?;
            if !self.at_word_end() {
                return Err(ParseStop("a loop without a variable"));
            }
            self.skip_lines()?;
            if self.reserved_word() == Some("in") {
                self.eat_all("in");
                self.parse_loop_words(&name)?;
            } else {
                let value = ScriptWord::Unknown("\"$@\"".to_owned());
                self.findings.facts.push(VariableFact::Set(name, value, ValueKind::Any));
            }
        }
        self.skip_blanks();
        if self.peek() == Some(';') && self.peek_second() != Some(';') {
            self.bump();
        }
        let body = self.parse_loop_body()?;
        Ok(CompoundCommand { endless, ..self.take_compound(vec![body]) })
    }

    /// Parses the words that a loop variable is set to.
    fn parse_loop_words(&mut self, name: &str) -> ParseResult<()> {
        self.skip_blanks();
        // ends: each round reads a word
        while let Some(ParsedWord { word, kind, .. }) = self.parse_word()? {
            self.findings.facts.push(VariableFact::Set(name.to_owned(), word, kind));
            self.skip_blanks();
        }
        if matches!(self.peek(), Some(';' | '\n')) {
            Ok(())
        } else {
            Err(ParseStop("a loop that is not understood"))
        }
    }

    fn parse_case(&mut self) -> ParseResult<CompoundCommand> {
        self.eat_all("case");
        self.skip_blanks();
        self.parse_word()?.ok_or(ParseStop("a case without a word"))?;
        self.expect_word("in")?;
        let mut parts = Vec::new();
        // ends: each round reads a case
        loop {
            self.skip_lines()?;
            if self.reserved_word() == Some("esac") {
                break;
            }
            self.parse_case_patterns()?;
            parts.push(self.parse_list(&["esac"])?);
            self.skip_lines()?;
            let at = self.at;
            if self.eat_all(";;&") || self.eat_all(";&") {
                self.doubt_unless_bash(at);
            } else if !self.eat_all(";;") {
                break;
            }
        }
        self.expect_word("esac")?;
        Ok(self.take_compound(parts))
    }

    /// Parses `(a | b)`, where the opening parenthesis is optional.
    fn parse_case_patterns(&mut self) -> ParseResult<()> {
        self.eat('(');
        // ends: each round reads a pattern
        loop {
            self.skip_blanks();
            self.parse_word()?.ok_or(ParseStop("a case without a pattern"))?;
            self.skip_blanks();
            if self.eat(')') {
                return Ok(());
            }
            if !self.eat('|') {
                return Err(ParseStop("a pattern that is not understood"));
            }
        }
    }

    /// Parses a function after its name.
    pub(crate) fn parse_function_body(&mut self, name: &ParsedWord) -> ParseResult<SyntaxNode> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        let known = name.known_text().filter(|name| !name.is_empty() && name.chars().all(fits));
        let name = known.ok_or(ParseStop("a function whose name is not understood"))?.to_owned();
        if self.eat('(') {
            self.skip_blanks();
            if !self.eat(')') {
                return Err(ParseStop("a function that is not understood"));
            }
        }
        self.skip_lines()?;
        let is_body = self.peek() == Some('(') || self.reserved_word() == Some("{");
        if !is_body {
            return Err(ParseStop("a function that is not understood"));
        }
        let outer = std::mem::take(&mut self.findings);
        let body = self.one_level_deeper(ScriptParser::parse_command)?;
        self.findings = outer;
        Ok(SyntaxNode::Function(name, Box::new(body)))
    }
}
