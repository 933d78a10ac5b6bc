//! Parses compound commands: groups, branches, loops and functions.

use crate::shell::ScriptWord;
use crate::shell::bomb::never_ends;
use crate::shell::cursor::{ParseResult, ScriptParser, ParseStop};
use crate::shell::syntax::{VariableFact, CompoundCommand, ValueKind, SyntaxNode, ScriptTree, ParsedWord};

impl ScriptParser<'_> {
    /// Parses a compound command, if one begins here.
    pub(crate) fn compound(&mut self) -> ParseResult<Option<SyntaxNode>> {
        let start = self.at;
        if self.peek() == Some('(') {
            return self.parenthesis().map(Some);
        }
        let Some(word) = self.reserved() else { return Ok(None) };
        let group = match word {
            "{" => {
                self.bump();
                let part = self.filled(&["}"])?;
                self.expect("}")?;
                self.group(vec![part])
            }
            "if" => self.branches()?,
            "while" | "until" => {
                self.eat_all(word);
                let from = self.at;
                let condition = self.filled(&["do"])?;
                let endless = never_ends(word, &self.text[from..self.at]);
                let body = self.body()?;
                CompoundCommand { endless, ..self.group(vec![condition, body]) }
            }
            "for" => self.for_loop()?,
            "case" => self.cases()?,
            "[[" => {
                self.only_bash(start);
                self.eat_all(word);
                self.condition()?;
                self.group(Vec::new())
            }
            "function" => {
                self.only_bash(start);
                self.eat_all(word);
                self.blanks();
                let name = self.word()?.ok_or(ParseStop("a function without a name"))?;
                self.blanks();
                return self.function_body(&name).map(Some);
            }
            // Other reserved words are rejected as command names, or parsed elsewhere.
            _ => return Ok(None),
        };
        Ok(Some(SyntaxNode::Group(group)))
    }

    /// Builds a group from the parsed parts and the findings so far.
    fn group(&mut self, parts: Vec<ScriptTree>) -> CompoundCommand {
        CompoundCommand { found: std::mem::take(&mut self.found), parts, ..CompoundCommand::default() }
    }

    /// Parses a nonempty list of steps.
    fn filled(&mut self, stops: &[&str]) -> ParseResult<ScriptTree> {
        let script = self.list(stops)?;
        if script.0.is_empty() { Err(ParseStop("a command is missing")) } else { Ok(script) }
    }

    /// Parses `(…)` or `((…))`.
    fn parenthesis(&mut self) -> ParseResult<SyntaxNode> {
        let start = self.at;
        self.bump();
        if self.peek() == Some('(') {
            self.only_bash(start);
            self.bump();
            self.arithmetic(false)?;
            return Ok(SyntaxNode::Group(self.group(Vec::new())));
        }
        let part = self.filled(&[])?;
        if !self.eat(')') {
            return Err(ParseStop("a parenthesis that is not closed"));
        }
        Ok(SyntaxNode::Group(self.group(vec![part])))
    }

    fn branches(&mut self) -> ParseResult<CompoundCommand> {
        let mut parts = Vec::new();
        let mut word = "if";
        // ends: each round reads a branch
        loop {
            self.expect(word)?;
            if word != "else" {
                parts.push(self.filled(&["then"])?);
                self.expect("then")?;
            }
            parts.push(self.filled(&["elif", "else", "fi"])?);
            self.lines()?;
            word = match self.reserved() {
                Some("elif") if word != "else" => "elif",
                Some("else") if word != "else" => "else",
                _ => break,
            };
        }
        self.expect("fi")?;
        Ok(self.group(parts))
    }

    /// Parses `do … done`.
    fn body(&mut self) -> ParseResult<ScriptTree> {
        self.expect("do")?;
        let body = self.filled(&["done"])?;
        self.expect("done")?;
        Ok(body)
    }

    fn for_loop(&mut self) -> ParseResult<CompoundCommand> {
        let start = self.at;
        self.eat_all("for");
        self.blanks();
        let mut endless = false;
        if self.eat_all("((") {
            self.only_bash(start);
            let from = self.at;
            self.arithmetic(true)?;
            // The condition is the text between the first and the second semicolon.
            let condition = self.text[from..self.at].split(';').nth(1);
            endless = condition.is_some_and(|condition| matches!(condition.trim(), "" | "1"));
        } else {
            let name = self.identifier().ok_or(ParseStop("a loop without a variable"))?;
            if !self.at_break() {
                return Err(ParseStop("a loop without a variable"));
            }
            self.lines()?;
            if self.reserved() == Some("in") {
                self.eat_all("in");
                self.loop_words(&name)?;
            } else {
                let value = ScriptWord::Unknown("\"$@\"".to_owned());
                self.found.facts.push(VariableFact::Set(name, value, ValueKind::Any));
            }
        }
        self.blanks();
        if self.peek() == Some(';') && self.peek_second() != Some(';') {
            self.bump();
        }
        let body = self.body()?;
        Ok(CompoundCommand { endless, ..self.group(vec![body]) })
    }

    /// Parses the words that a loop variable is set to.
    fn loop_words(&mut self, name: &str) -> ParseResult<()> {
        self.blanks();
        // ends: each round reads a word
        while let Some(ParsedWord { word, kind, .. }) = self.word()? {
            self.found.facts.push(VariableFact::Set(name.to_owned(), word, kind));
            self.blanks();
        }
        if matches!(self.peek(), Some(';' | '\n')) {
            Ok(())
        } else {
            Err(ParseStop("a loop that is not understood"))
        }
    }

    fn cases(&mut self) -> ParseResult<CompoundCommand> {
        self.eat_all("case");
        self.blanks();
        self.word()?.ok_or(ParseStop("a case without a word"))?;
        self.expect("in")?;
        let mut parts = Vec::new();
        // ends: each round reads a case
        loop {
            self.lines()?;
            if self.reserved() == Some("esac") {
                break;
            }
            self.patterns()?;
            parts.push(self.list(&["esac"])?);
            self.lines()?;
            let at = self.at;
            if self.eat_all(";;&") || self.eat_all(";&") {
                self.only_bash(at);
            } else if !self.eat_all(";;") {
                break;
            }
        }
        self.expect("esac")?;
        Ok(self.group(parts))
    }

    /// Parses `(a | b)`, where the opening parenthesis is optional.
    fn patterns(&mut self) -> ParseResult<()> {
        self.eat('(');
        // ends: each round reads a pattern
        loop {
            self.blanks();
            self.word()?.ok_or(ParseStop("a case without a pattern"))?;
            self.blanks();
            if self.eat(')') {
                return Ok(());
            }
            if !self.eat('|') {
                return Err(ParseStop("a pattern that is not understood"));
            }
        }
    }

    /// Parses a function after its name.
    pub(crate) fn function_body(&mut self, name: &ParsedWord) -> ParseResult<SyntaxNode> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        let known = name.known().filter(|name| !name.is_empty() && name.chars().all(fits));
        let name = known.ok_or(ParseStop("a function whose name is not understood"))?.to_owned();
        if self.eat('(') {
            self.blanks();
            if !self.eat(')') {
                return Err(ParseStop("a function that is not understood"));
            }
        }
        self.lines()?;
        let is_body = self.peek() == Some('(') || self.reserved() == Some("{");
        if !is_body {
            return Err(ParseStop("a function that is not understood"));
        }
        let outer = std::mem::take(&mut self.found);
        let body = self.deeper(ScriptParser::command)?;
        self.found = outer;
        Ok(SyntaxNode::Function(name, Box::new(body)))
    }
}
