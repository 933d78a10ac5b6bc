//! Walks the syntax tree of a script and collects its commands.

use std::collections::HashSet;
use std::ops::Range;

use crate::shell::fork_bomb::CommandRelations;
use crate::shell::script_parser::{ScriptParser, excerpt};
use crate::shell::syntax_tree::{
    CompoundCommand, ParsedWord, RedirectTarget, ScriptTree, ShellDialect, SimpleCommand, StepConnector,
    SyntaxNode, VariableFact, WordFindings, WordSpread,
};
use crate::shell::{
    MAX_COMMANDS, MAX_DEPTH, MAX_SCRIPT, ScriptAnalysis, ScriptCommand, ScriptRedirect, ScriptWord,
    UndecidedPart, builtins, wrappers,
};

/// Reasons for parts that were skipped because they exceed a limit.
const LIMITS: &[&str] =
    &["it is too long", "it is nested too deep", "there are too many commands", "it sets too many variables"];

/// The context of a command.
#[derive(Debug, Clone)]
pub(crate) struct CommandContext {
    pub(crate) dialect: ShellDialect,
    pub(crate) depth: usize,
    pub(crate) fed: bool,
    /// The command runs in the background, or in parallel in a pipeline.
    pub(crate) aside: bool,
    pub(crate) piped: bool,
    pub(crate) through: Vec<String>,
    pub(crate) redirects: Vec<ScriptRedirect>,
    pub(crate) variables: Vec<(String, ScriptWord)>,
}

/// The starter of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartedBy {
    /// A shell, which has built-ins.
    Shell,
    Program,
}

/// A command to be listed and examined.
#[derive(Debug, Clone)]
pub(crate) struct CommandCall {
    pub(crate) words: Vec<ParsedWord>,
    pub(crate) more: bool,
    pub(crate) by: StartedBy,
}

/// The state of the walk.
#[derive(Debug, Default)]
pub(crate) struct CommandCollector {
    pub(crate) out: ScriptAnalysis,
    pub(crate) facts: Vec<VariableFact>,
    /// A login shell runs the user's profile files.
    pub(crate) login: bool,
    /// Variables that may be arrays, and variables declared with an unknown value.
    pub(super) arrays: HashSet<String>,
    pub(super) declared: Vec<String>,
    /// Aliases and their texts.
    pub(crate) aliases: Vec<(String, String)>,
    /// The nesting depth of function definitions.
    pub(crate) inside: usize,
    /// The commands that belong to each function.
    pub(crate) functions: Vec<(String, Range<usize>)>,
    pub(crate) course: CommandRelations,
}

pub(crate) fn collect_script(text: &str) -> ScriptAnalysis {
    let mut walk = CommandCollector::default();
    walk.collect_text(text, &CommandContext::top());
    walk.finish()
}

pub(crate) fn collect_argv(argv: &[String]) -> ScriptAnalysis {
    let mut walk = CommandCollector::default();
    if argv.is_empty() || argv.iter().any(|word| word.contains('\0')) {
        walk.add_doubt("", "it is no command");
    } else if argv.iter().map(String::len).sum::<usize>() > MAX_SCRIPT {
        walk.add_doubt(&argv[0], "it is too long");
    } else {
        let words = argv.iter().map(|word| ParsedWord::literal(word)).collect();
        walk.collect_call(
            &CommandCall { words, more: false, by: StartedBy::Program },
            &CommandContext::top(),
        );
    }
    walk.finish()
}

impl CommandContext {
    fn top() -> Self {
        Self {
            dialect: ShellDialect::Bash,
            depth: 0,
            fed: false,
            aside: false,
            piped: false,
            through: Vec::new(),
            redirects: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Returns the context of a command that the wrapper `name` starts here.
    pub(crate) fn inside_wrapper(&self, name: &str) -> Self {
        let mut place = self.clone();
        place.through.push(name.to_owned());
        place.depth += 1;
        place
    }

    /// Returns this context with these redirections.
    fn with(&self, targets: &[RedirectTarget]) -> Self {
        let mut place = self.clone();
        place.redirects = targets.iter().filter_map(|target| target.redirect.clone()).collect();
        place.redirects.extend_from_slice(&self.redirects);
        if let Some(last) = targets.iter().rev().find(|target| target.input) {
            place.fed = last.fed;
        }
        place
    }
}

impl CommandCollector {
    /// Records an undecided part.
    pub(crate) fn add_doubt(&mut self, text: &str, why: &'static str) {
        self.note(text, why, LIMITS.contains(&why));
    }

    fn note(&mut self, text: &str, why: &'static str, unread: bool) {
        let doubt = UndecidedPart { text: excerpt(text), why, unread };
        if self.out.undecided.len() < MAX_COMMANDS && !self.out.undecided.contains(&doubt) {
            self.out.undecided.push(doubt);
        }
    }

    /// Parses `text` as a script and collects its commands.
    pub(crate) fn collect_text(&mut self, text: &str, place: &CommandContext) {
        if text.len() > MAX_SCRIPT {
            return self.add_doubt(text, "it is too long");
        }
        // Bash uses the latter two internally.
        if text.contains(['\0', '\u{1}', '\u{7f}']) {
            return self.add_doubt(text, "it holds a character that no script needs");
        }
        let mut reader = ScriptParser::new(text, place.dialect, place.depth);
        match reader.parse_script() {
            Ok(script) => {
                for doubt in std::mem::take(&mut reader.doubts) {
                    self.add_doubt(&doubt.text, doubt.why);
                }
                self.script(&script, place);
            }
            Err(stop) => {
                let at = reader.at.min(text.len());
                let rest = text[at..].trim();
                self.note(if rest.is_empty() { text } else { rest }, stop.0, true);
            }
        }
    }

    fn script(&mut self, script: &ScriptTree, place: &CommandContext) {
        for chain in
            script.0.split_inclusive(|step| !matches!(step.join, StepConnector::And | StepConnector::Or))
        {
            let aside = chain
                .last()
                .is_some_and(|last| matches!(last.join, StepConnector::Background | StepConnector::Aside));
            // The first command always runs, unless the whole chain runs in another process.
            let (first, others) = chain.split_at(usize::from(!aside && !chain.is_empty()));
            let background = chain.last().is_some_and(|last| last.join == StepConnector::Background);
            let beside = background.then(|| CommandContext { aside: true, ..place.clone() });
            let place = beside.as_ref().unwrap_or(place);
            first.iter().for_each(|step| self.node(&step.node, place));
            self.conditionally(|walk| others.iter().for_each(|step| walk.node(&step.node, place)));
        }
    }

    /// Runs `what` for a part whose assignments may not take effect: a subshell, or conditional code.
    pub(crate) fn conditionally<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        self.facts.push(VariableFact::Perhaps);
        let done = what(self);
        self.facts.push(VariableFact::End);
        done
    }

    fn node(&mut self, node: &SyntaxNode, place: &CommandContext) {
        match node {
            SyntaxNode::Simple(simple) => self.simple(simple, place),
            SyntaxNode::Pipe(nodes) => {
                let mut place = place.clone();
                place.piped |= nodes.len() > 1;
                for node in nodes {
                    match nodes.len() {
                        1 => self.node(node, &place),
                        _ => self.conditionally(|walk| walk.node(node, &place)),
                    }
                    place.fed = true;
                    place.redirects.retain(|redirect| {
                        !matches!(redirect, ScriptRedirect::Read(_) | ScriptRedirect::Text(_))
                    });
                }
            }
            SyntaxNode::Group(group) => self.group(group, place),
            SyntaxNode::Function(name, body) => {
                self.out.defined.push(name.clone());
                let first = self.out.commands.len();
                self.inside += 1;
                self.node(body, &CommandContext { aside: false, piped: false, ..place.clone() });
                self.inside -= 1;
                if first < self.out.commands.len() {
                    self.functions.push((name.clone(), first..self.out.commands.len()));
                }
            }
        }
    }

    fn group(&mut self, group: &CompoundCommand, place: &CommandContext) {
        let inside = place.with(&group.targets);
        let first = self.out.commands.len();
        // `((…))` and `[[ … ]]` have no other parts.
        if group.parts.is_empty() {
            self.found(&group.found, place);
        } else {
            self.parts(group, place, &inside);
        }
        if self.out.commands.len() == first && !group.targets.is_empty() {
            self.bare(&inside);
        }
    }

    fn parts(&mut self, group: &CompoundCommand, place: &CommandContext, inside: &CommandContext) {
        let first = self.out.commands.len();
        self.conditionally(|walk| {
            walk.found(&group.found, place);
            for part in &group.parts {
                walk.conditionally(|walk| walk.script(part, inside));
            }
        });
        if group.endless {
            self.course.mark_endless(first..self.out.commands.len());
        }
    }

    /// Lists a redirection without a command.
    fn bare(&mut self, place: &CommandContext) {
        if place.dialect == ShellDialect::Foreign {
            self.add_doubt("", "zsh runs a command for a redirection alone");
        }
        if place.redirects.is_empty() {
            return;
        }
        self.push_command(
            &CommandCall { words: vec![ParsedWord::literal(":")], more: false, by: StartedBy::Shell },
            place,
        );
    }

    /// Handles the variable actions and nested scripts of words.
    fn found(&mut self, found: &WordFindings, place: &CommandContext) {
        self.expanded(found);
        self.inner(found, place);
    }

    /// Records the variable actions of words.
    fn expanded(&mut self, found: &WordFindings) {
        for fact in &found.facts {
            match fact {
                VariableFact::Set(name, word, kind) => self.assign(name, word, *kind),
                VariableFact::Use(..) | VariableFact::Perhaps | VariableFact::End | VariableFact::Fails => {
                    self.facts.push(fact.clone());
                }
            }
        }
    }

    /// Collects the commands of scripts inside words.
    fn inner(&mut self, found: &WordFindings, place: &CommandContext) {
        for inner in &found.inner {
            let mut place = place.clone();
            place.fed |= inner.fed;
            self.conditionally(|walk| walk.script(&inner.script, &place));
        }
    }

    fn simple(&mut self, simple: &SimpleCommand, place: &CommandContext) {
        let mut own = place.with(&simple.targets);
        if simple.words.is_empty() {
            self.found(&simple.found, place);
            for (name, word, kind) in &simple.sets {
                self.assign(name, word, *kind);
            }
            if !simple.targets.is_empty() {
                self.bare(&own);
            }
            return;
        }
        // Words are expanded before the assignments of the command take effect.
        self.expanded(&simple.found);
        let name = simple.words[0].known_text();
        if name == Some("exec") && simple.words.len() == 1 && simple.targets.iter().any(|target| target.input)
        {
            self.add_doubt("exec", "it changes what all that follows reads");
        }
        self.facts.push(VariableFact::Perhaps);
        for (variable, word, kind) in &simple.sets {
            // For `read`, `IFS` only affects how the line is split.
            if variable != "IFS" || name != Some("read") {
                self.set_variable(variable, word, *kind);
            }
            own.variables.push((variable.clone(), word.clone()));
        }
        // Without its own assignments, a command's variable changes persist.
        if simple.sets.is_empty() {
            self.facts.push(VariableFact::End);
        }
        self.collect_call(
            &CommandCall { words: simple.words.clone(), more: false, by: StartedBy::Shell },
            &own,
        );
        if !simple.sets.is_empty() {
            self.facts.push(VariableFact::End);
        }
        self.inner(&simple.found, place);
    }

    /// Lists a command and collects the commands that it starts.
    pub(crate) fn collect_call(&mut self, call: &CommandCall, place: &CommandContext) {
        let Some(first) = call.words.first() else { return self.add_doubt("", "a command is missing") };
        if place.depth > MAX_DEPTH {
            return self.add_doubt(first.text(), "it is nested too deep");
        }
        self.push_command(call, place);
        match first.known_text() {
            None => {
                self.add_doubt(first.text(), "the name of a command is not known");
                self.list_likely_commands(call, place);
            }
            Some(name) if call.by == StartedBy::Shell && builtins::is_builtin(name) => {
                builtins::collect_builtin(self, name, call, place);
            }
            Some(name) => self.conditionally(|walk| wrappers::collect_wrapped(walk, name, call, place)),
        }
    }

    /// Lists a command.
    pub(crate) fn push_command(&mut self, call: &CommandCall, place: &CommandContext) {
        if self.out.commands.len() >= MAX_COMMANDS {
            return self.add_doubt(call.words[0].text(), "there are too many commands");
        }
        self.course.record(self.out.commands.len(), call, place);
        self.out.commands.push(ScriptCommand {
            words: call.words.iter().map(|term| term.word.clone()).collect(),
            more: call.more,
            variables: place.variables.clone(),
            redirects: place.redirects.clone(),
            through: place.through.clone(),
            fed: place.fed,
            built_in: call.by == StartedBy::Shell
                && call.words[0].known_text().is_some_and(builtins::is_builtin),
        });
    }

    fn finish(mut self) -> ScriptAnalysis {
        self.check_facts();
        if self.login
            && self.facts.iter().any(|fact| matches!(fact, VariableFact::Set(name, ..) if name == "HOME"))
        {
            self.add_doubt("HOME", "a login shell runs files from there");
        }
        self.find_growth();
        self.feed_functions();
        self.list_forwarded_commands();
        self.expand_aliases();
        self.out
    }

    /// Marks the commands of a function as fed if a call of the function is.
    fn feed_functions(&mut self) {
        // ends: each round but the last feeds another function
        for _ in 0..self.functions.len() {
            let mut changed = false;
            for (name, range) in &self.functions {
                let is_call = |command: &ScriptCommand| matches!(&command.words[0], ScriptWord::Literal(word) if word == name);
                let fed = self.out.commands.iter().any(|command| command.fed && is_call(command));
                for command in
                    self.out.commands[range.clone()].iter_mut().filter(|command| fed && !command.fed)
                {
                    command.fed = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
    }
}

/// Returns true if a word may become several unknown words.
pub(crate) fn is_loose(term: &ParsedWord) -> bool {
    term.known_text().is_none() && term.spread == WordSpread::Any
}
