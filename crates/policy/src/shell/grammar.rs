//! Parses lists, pipelines and simple commands.

use crate::shell::parser_cursor::{ParseResult, ParseStop, ScriptParser, is_word_end};
use crate::shell::syntax_tree::{
    CompoundCommand, ParsedWord, RedirectTarget, ScriptStep, ScriptTree, ShellDialect, SimpleCommand,
    StepConnector, SyntaxNode, ValueKind, VariableFact,
};
use crate::shell::{ScriptRedirect, ScriptWord};

/// Words that are reserved where a command may begin.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "time", "until", "while", "{", "}",
];
/// Commands whose arguments the shell reads as assignments.
pub(crate) const DECLARATION_COMMANDS: &[&str] = &["declare", "export", "local", "readonly", "typeset"];
/// Words that are reserved in zsh or ksh.
const FOREIGN_RESERVED_WORDS: &[&str] =
    &["always", "end", "foreach", "namespace", "nocorrect", "noglob", "repeat", "-", "@", "%"];

impl ScriptParser<'_> {
    /// Parses the whole text as a script.
    pub(crate) fn parse_script(&mut self) -> ParseResult<ScriptTree> {
        let mut script = self.parse_list(&[])?;
        if !self.pending_heredocs.is_empty() {
            return Err(ParseStop("a here-document that does not end"));
        }
        fill_heredocs(&mut script, &mut std::mem::take(&mut self.heredoc_bodies).into_iter());
        if self.peek().is_some() {
            return Err(ParseStop("something that is not understood"));
        }
        Ok(script)
    }

    /// Parses steps up to a closing parenthesis, the end of a case, the end of the text, or one of these words.
    pub(crate) fn parse_list(&mut self, stops: &[&str]) -> ParseResult<ScriptTree> {
        let outer = std::mem::take(&mut self.findings);
        let mut steps = self.parse_steps(stops)?;
        // The substitutions in here-documents.
        let findings = std::mem::replace(&mut self.findings, outer);
        if !findings.nested_scripts.is_empty() || !findings.facts.is_empty() {
            steps.push(ScriptStep {
                node: SyntaxNode::Group(CompoundCommand { findings, ..CompoundCommand::default() }),
                connector: StepConnector::HeredocSubstitutions,
            });
        }
        Ok(ScriptTree(steps))
    }

    fn parse_steps(&mut self, stops: &[&str]) -> ParseResult<Vec<ScriptStep>> {
        let mut steps = Vec::new();
        // ends: each round reads a step, or is the last
        loop {
            self.skip_lines()?;
            let ends = match self.peek() {
                None | Some(')') => true,
                Some(';') if self.peek_second() == Some(';') || self.peek_second() == Some('&') => true,
                Some(_) => self.reserved_word().is_some_and(|word| stops.contains(&word)),
            };
            if ends {
                return Ok(steps);
            }
            self.parse_and_or(&mut steps)?;
            self.skip_blanks();
            match self.peek() {
                None | Some(')' | '\n') => {}
                Some(';') if matches!(self.peek_second(), Some(';' | '&')) => {}
                Some(';') => {
                    self.bump();
                }
                Some('&') => {
                    self.bump();
                    if let Some(last) = steps.last_mut() {
                        last.connector = StepConnector::Background;
                    }
                }
                Some(_) => return Err(ParseStop("something that is not understood")),
            }
        }
    }

    fn parse_and_or(&mut self, steps: &mut Vec<ScriptStep>) -> ParseResult<()> {
        // ends: each round reads a pipeline
        loop {
            let node = self.parse_pipeline()?;
            self.skip_blanks();
            let connector = if self.eat_all("&&") {
                StepConnector::And
            } else if self.eat_all("||") {
                StepConnector::Or
            } else {
                StepConnector::Then
            };
            steps.push(ScriptStep { node, connector });
            if connector == StepConnector::Then {
                return Ok(());
            }
            self.skip_lines()?;
        }
    }

    fn parse_pipeline(&mut self) -> ParseResult<SyntaxNode> {
        let mut prefixed = false;
        // ends: each round steps over a word
        loop {
            self.skip_blanks();
            match self.reserved_word() {
                Some("!") => {
                    self.bump();
                }
                Some("time") if self.dialect == ShellDialect::Bash => {
                    self.eat_all("time");
                    self.skip_blanks();
                    self.skip_time_options();
                }
                _ => break,
            }
            prefixed = true;
        }
        let mut nodes = vec![self.parse_command()?];
        // ends: each round reads a command
        loop {
            self.skip_blanks();
            if self.peek() != Some('|') || self.peek_second() == Some('|') {
                break;
            }
            self.bump();
            if self.eat('&') {
                self.doubt_unless_bash(self.at);
            }
            self.skip_lines()?;
            nodes.push(self.parse_command()?);
        }
        if nodes.len() > 1 || prefixed {
            return Ok(SyntaxNode::Pipe(nodes));
        }
        nodes.pop().ok_or(ParseStop("a command is missing"))
    }

    /// Skips the options of `time`.
    fn skip_time_options(&mut self) {
        for option in ["-p", "--"] {
            let at = self.at;
            if self.eat_all(option) && self.at_word_end() {
                self.skip_blanks();
            } else {
                self.at = at;
            }
        }
    }

    /// Returns the reserved word at this position, if there is one.
    pub(crate) fn reserved_word(&mut self) -> Option<&'static str> {
        let at = self.at;
        let mut word = String::new();
        // ends: each round steps on
        while let Some(next) = self.peek().filter(|next| !is_word_end(*next) && word.len() < 10) {
            word.push(next);
            self.bump_raw();
        }
        // A process substitution is part of the word.
        let goes_on = matches!(self.peek(), Some('<' | '>')) && self.peek_second() == Some('(');
        self.at = at;
        if goes_on {
            return None;
        }
        RESERVED.iter().find(|reserved| **reserved == word).copied()
    }

    /// Consumes this reserved word, after newlines.
    pub(crate) fn expect_word(&mut self, word: &str) -> ParseResult<()> {
        self.skip_lines()?;
        if self.reserved_word() == Some(word) && self.eat_all(word) {
            return Ok(());
        }
        Err(ParseStop("a word of the grammar is missing"))
    }

    pub(crate) fn parse_command(&mut self) -> ParseResult<SyntaxNode> {
        self.skip_blanks();
        let outer = std::mem::take(&mut self.findings);
        let group = self.one_level_deeper(ScriptParser::parse_compound)?;
        let node = match group {
            Some(SyntaxNode::Group(mut group)) => {
                self.skip_blanks();
                // ends: each round reads a redirection
                while self.parse_redirect(&mut group.targets)? {
                    self.skip_blanks();
                }
                if !self.at_word_end() {
                    return Err(ParseStop("something that is not understood"));
                }
                let findings = std::mem::take(&mut self.findings);
                group.findings.nested_scripts.extend(findings.nested_scripts);
                group.findings.facts.extend(findings.facts);
                SyntaxNode::Group(group)
            }
            Some(node) => node,
            None => self.parse_simple()?,
        };
        self.findings = outer;
        Ok(node)
    }

    fn parse_simple(&mut self) -> ParseResult<SyntaxNode> {
        let mut simple = SimpleCommand::default();
        let mut declares = false;
        // ends: each round reads something
        loop {
            self.skip_blanks();
            if self.parse_redirect(&mut simple.targets)? {
                continue;
            }
            if simple.words.is_empty() {
                if let Some(set) = self.parse_assignment()? {
                    simple.assignments.push(set);
                    continue;
                }
                self.check_name(&simple)?;
            }
            let start = self.at;
            let term = if declares { self.parse_declaration_arg()? } else { self.parse_word()? };
            let Some(term) = term else { break };
            if simple.words.is_empty() {
                // A quoted name is an ordinary command, and its arguments are split.
                declares = DECLARATION_COMMANDS.contains(&&self.text[start..self.at]);
            }
            simple.words.push(term);
            let first = simple.words.len() == 1 && simple.assignments.is_empty() && simple.targets.is_empty();
            if first {
                self.skip_blanks();
                if self.peek() == Some('(') {
                    return self.parse_function_body(&simple.words[0]);
                }
            }
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && simple.targets.is_empty() {
            return Err(ParseStop("a command is missing"));
        }
        simple.findings = std::mem::take(&mut self.findings);
        Ok(SyntaxNode::Simple(simple))
    }

    /// Rejects a name that some shell reads as a reserved word.
    fn check_name(&mut self, simple: &SimpleCommand) -> ParseResult<()> {
        let at = self.at;
        match self.reserved_word() {
            Some("time") if self.dialect != ShellDialect::Bash => {
                self.eat_all("time");
                self.skip_blanks();
                let is_program = self.starts_program();
                self.at = at;
                if is_program { Ok(()) } else { Err(ParseStop("other shells read this differently")) }
            }
            Some("in") if simple.assignments.is_empty() && simple.targets.is_empty() => Ok(()),
            Some(_) => Err(ParseStop("a word of the grammar where none is expected")),
            None => {
                let rest = &self.text[at..];
                let end = rest.find(|c: char| c.is_whitespace() || is_word_end(c)).unwrap_or(rest.len());
                let word = &rest[..end];
                let is_job = word.starts_with('%');
                if self.dialect == ShellDialect::Foreign && (FOREIGN_RESERVED_WORDS.contains(&word) || is_job)
                {
                    return Err(ParseStop("other shells read this differently"));
                }
                Ok(())
            }
        }
    }

    /// Returns true if the program `time` and a shell's reserved word `time` run the following command alike.
    fn starts_program(&mut self) -> bool {
        let is_word = self.reserved_word().is_some() || matches!(self.peek(), Some('(' | '<' | '>'));
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| c.is_whitespace() || is_word_end(c)).unwrap_or(rest.len());
        let is_plain =
            rest[..end].chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
        !is_word && is_plain && !crate::shell::builtins::is_builtin(&rest[..end])
    }

    /// Parses `NAME=value`, if it begins here.
    fn parse_assignment(&mut self) -> ParseResult<Option<(String, ScriptWord, ValueKind)>> {
        self.peek();
        let start = self.at;
        let Some(name) = self.read_identifier() else { return Ok(None) };
        let element = self.peek() == Some('[');
        if self.eat('[') {
            if !self.parse_index() || !matches!(self.peek(), Some('=' | '+')) {
                self.at = start;
                return self.reject_subscript();
            }
            self.doubt_unless_bash(start);
        }
        if self.eat_all("+=") {
            self.doubt_unless_bash(start);
        } else if !self.eat('=') {
            self.at = start;
            return Ok(None);
        }
        if self.peek() == Some('(') {
            self.doubt_unless_bash(start);
            self.parse_array()?;
            // The word continues: a `#` begins no comment here.
            if !self.at_word_end() {
                return Err(ParseStop("something that is not understood"));
            }
            let raw = &self.text[start + name.len()..self.at];
            return Ok(Some((
                name,
                ScriptWord::Unknown(raw.trim_start_matches(['+', '=']).to_owned()),
                ValueKind::Any,
            )));
        }
        let appends = self.text[start..self.at].ends_with("+=");
        let term = self.parse_word()?.unwrap_or_else(|| ParsedWord::literal(""));
        let kind = if appends { ValueKind::Any } else { term.kind };
        let word = match (element, appends) {
            (true, _) => ScriptWord::Unknown(format!("({})", &self.text[start + name.len()..self.at])),
            (false, true) => ScriptWord::Unknown(term.text().to_owned()),
            (false, false) => term.word,
        };
        Ok(Some((name, word, kind)))
    }

    /// Parses `1]`, `i]` or `$i]`, and returns true on success. The variable must be a number: it is evaluated unless
    /// the array is associative.
    fn parse_index(&mut self) -> bool {
        // ends: each round steps on
        while self.peek().is_some_and(|next| next.is_ascii_digit()) {
            self.bump();
        }
        if self.eat(']') {
            return true;
        }
        self.eat('$');
        let name = self.read_identifier();
        self.findings.facts.extend(name.map(|name| VariableFact::Use(name, ValueKind::Number)));
        self.eat(']')
    }

    /// Rejects a word that bash reads as an array element.
    fn reject_subscript(&mut self) -> ParseResult<Option<(String, ScriptWord, ValueKind)>> {
        let rest = &self.text[self.at..];
        let end = rest.find([' ', '\t', '\n']).unwrap_or(rest.len());
        if rest[..end].contains('=') || rest[..end].contains(['$', '`', '"', '\'', '(']) {
            return Err(ParseStop("a subscript that may run a command"));
        }
        Ok(None)
    }

    /// Parses the elements of an array.
    fn parse_array(&mut self) -> ParseResult<()> {
        self.bump();
        // ends: each round reads a word
        loop {
            self.skip_lines()?;
            if self.eat(')') {
                return Ok(());
            }
            let start = self.at;
            let element = self.eat('[');
            if element && !(self.parse_index() && self.eat('=')) {
                self.at = start;
                return Err(ParseStop("a subscript that may run a command"));
            }
            if self.parse_word()?.is_none() && !element {
                return Err(ParseStop("an array that does not end"));
            }
        }
    }

    /// Parses an argument of a declaration command: possibly an assignment.
    fn parse_declaration_arg(&mut self) -> ParseResult<Option<ParsedWord>> {
        let start = self.at;
        let Some((name, value, kind)) = self.parse_assignment()? else { return self.parse_word() };
        let raw = self.text[start..self.at].to_owned();
        let known = match &value {
            ScriptWord::Literal(text) => Some(format!("{name}={text}")),
            ScriptWord::Unknown(_) => None,
        };
        if known.is_none() {
            // Other shells may split the value.
            self.doubt_unless_bash(start);
        }
        self.findings.facts.push(VariableFact::Set(name, value, kind));
        let mut term = match known {
            Some(text) => ParsedWord::literal(&text),
            None => ParsedWord::unknown(&raw, crate::shell::syntax_tree::WordSpread::One),
        };
        term.is_assignment = true;
        Ok(Some(term))
    }
}

/// Inserts the here-document texts into their redirections.
pub(crate) fn fill_heredocs(
    script: &mut ScriptTree,
    bodies: &mut impl Iterator<Item = crate::shell::heredoc::HeredocBody>,
) {
    for step in &mut script.0 {
        fill_node(&mut step.node, bodies);
    }
}

fn fill_node(node: &mut SyntaxNode, bodies: &mut impl Iterator<Item = crate::shell::heredoc::HeredocBody>) {
    match node {
        SyntaxNode::Simple(simple) => fill_targets(&mut simple.targets, bodies),
        SyntaxNode::Pipe(nodes) => nodes.iter_mut().for_each(|node| fill_node(node, bodies)),
        SyntaxNode::Group(CompoundCommand { parts, targets, .. }) => {
            parts.iter_mut().for_each(|part| fill_heredocs(part, bodies));
            fill_targets(targets, bodies);
        }
        SyntaxNode::Function(_, body) => fill_node(body, bodies),
    }
}

fn fill_targets(
    targets: &mut [RedirectTarget],
    bodies: &mut impl Iterator<Item = crate::shell::heredoc::HeredocBody>,
) {
    for target in targets {
        if let Some(ScriptRedirect::Text(word)) = &mut target.redirect
            && *word == ScriptWord::Unknown(String::new())
            && let Some(body) = bodies.next()
        {
            *word = body.word;
            target.verbatim = body.verbatim;
        }
    }
}
