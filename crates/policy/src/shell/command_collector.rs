//! Walks the syntax tree of a script and collects its commands.

use std::collections::HashSet;
use std::ops::Range;

use crate::command_line::script_flag;
use crate::programs::ShellFamily;
use crate::programs::program_name;
use crate::shell::fork_bomb::CommandRelations;
use crate::shell::parser_cursor::{ScriptParser, excerpt};
use crate::shell::syntax_tree::{
    CompoundCommand, ParsedWord, RedirectTarget, ScriptTree, ShellDialect, SimpleCommand, StepConnector,
    SyntaxNode, VariableFact, WordFindings, WordSpread,
};
use crate::shell::{
    MAX_COMMANDS, MAX_DEPTH, MAX_SCRIPT_BYTES, ScriptAnalysis, ScriptCommand, ScriptRedirect, ScriptWord,
    UndecidedPart, builtins, patch_command, wrappers,
};

/// Reasons for parts that were skipped because they exceed a limit.
const LIMIT_REASONS: &[&str] =
    &["it is too long", "it is nested too deep", "there are too many commands", "it sets too many variables"];

/// The context of a command.
#[derive(Debug, Clone)]
pub(crate) struct CommandContext {
    pub(crate) dialect: ShellDialect,
    pub(crate) depth: usize,
    pub(crate) has_piped_input: bool,
    /// The command runs in the background, or in parallel in a pipeline.
    pub(crate) in_background: bool,
    pub(crate) in_pipeline: bool,
    pub(crate) wrappers: Vec<String>,
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
    pub(crate) more_args: bool,
    pub(crate) started_by: StartedBy,
}

/// The state of the walk.
#[derive(Debug, Default)]
pub(crate) struct CommandCollector {
    pub(crate) analysis: ScriptAnalysis,
    pub(crate) facts: Vec<VariableFact>,
    /// A login shell runs the user's profile files.
    pub(crate) login: bool,
    /// Variables that may be arrays, and variables declared with an unknown value.
    pub(super) arrays: HashSet<String>,
    pub(super) declared: Vec<String>,
    /// Aliases and their texts.
    pub(crate) aliases: Vec<(String, String)>,
    /// The nesting depth of function definitions.
    pub(crate) function_depth: usize,
    /// The commands that belong to each function.
    pub(crate) functions: Vec<(String, Range<usize>)>,
    pub(crate) relations: CommandRelations,
}

pub(crate) fn collect_script(text: &str) -> ScriptAnalysis {
    let mut collector = CommandCollector::default();
    collector.collect_text(text, &CommandContext::top_level());
    collector.finish()
}

pub(crate) fn collect_argv(argv: &[String]) -> ScriptAnalysis {
    collect_words(argv, CommandCollector::collect_call)
}

/// Collects `shell`, which `argv` starts, and the commands of its script `text`. Finds the patch that the script
/// applies.
pub(crate) fn collect_shell(argv: &[String], shell: &str, login: bool, text: &str) -> ScriptAnalysis {
    let name = program_name(shell);
    collect_words(argv, |collector, call, context| {
        collector.push_command(call, context);
        collector.login = login;
        let mut inside = context.inside_wrapper(&format!("{name} {}", script_flag(login)));
        inside.dialect = ShellFamily::of(name).map_or(ShellDialect::Foreign, ShellFamily::dialect);
        collector.conditionally(|collector| {
            let Some(script) = collector.parse_text(text, &inside) else { return };
            if collector.analysis.undecided.is_empty() {
                collector.analysis.patch = patch_command::find_in_script(&script);
            }
            collector.collect_tree(&script, &inside);
        });
    })
}

/// Collects the commands of `argv` with `collect`, unless it is not a command or too long.
fn collect_words(
    argv: &[String],
    collect: impl FnOnce(&mut CommandCollector, &CommandCall, &CommandContext),
) -> ScriptAnalysis {
    let mut collector = CommandCollector::default();
    if argv.is_empty() || argv.iter().any(|word| word.contains('\0')) {
        collector.add_doubt("", "it is not a command");
    } else if argv.iter().map(String::len).sum::<usize>() > MAX_SCRIPT_BYTES {
        collector.add_doubt(&argv[0], "it is too long");
    } else {
        let words = argv.iter().map(|word| ParsedWord::literal(word)).collect();
        let call = CommandCall { words, more_args: false, started_by: StartedBy::Program };
        collect(&mut collector, &call, &CommandContext::top_level());
    }
    collector.finish()
}

impl CommandContext {
    fn top_level() -> Self {
        Self {
            dialect: ShellDialect::Bash,
            depth: 0,
            has_piped_input: false,
            in_background: false,
            in_pipeline: false,
            wrappers: Vec::new(),
            redirects: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Returns the context of a command that the wrapper `name` starts here.
    pub(crate) fn inside_wrapper(&self, name: &str) -> Self {
        let mut context = self.clone();
        context.wrappers.push(name.to_owned());
        context.depth += 1;
        context
    }

    /// Returns this context with these redirections.
    fn with_redirects(&self, targets: &[RedirectTarget]) -> Self {
        let mut context = self.clone();
        context.redirects = targets.iter().filter_map(|target| target.redirect.clone()).collect();
        context.redirects.extend_from_slice(&self.redirects);
        if let Some(last) = targets.iter().rev().find(|target| target.is_stdin) {
            context.has_piped_input = last.has_piped_input;
        }
        context
    }
}

impl CommandCollector {
    /// Records an undecided part.
    pub(crate) fn add_doubt(&mut self, text: &str, why: &'static str) {
        self.record_doubt(text, why, LIMIT_REASONS.contains(&why));
    }

    fn record_doubt(&mut self, text: &str, why: &'static str, unread: bool) {
        let doubt = UndecidedPart { text: excerpt(text), why, unread };
        if self.analysis.undecided.len() < MAX_COMMANDS && !self.analysis.undecided.contains(&doubt) {
            self.analysis.undecided.push(doubt);
        }
    }

    /// Parses `text` as a script and collects its commands.
    pub(crate) fn collect_text(&mut self, text: &str, context: &CommandContext) {
        if let Some(script) = self.parse_text(text, context) {
            self.collect_tree(&script, context);
        }
    }

    /// Parses `text` as a script. Records what is undecided.
    fn parse_text(&mut self, text: &str, context: &CommandContext) -> Option<ScriptTree> {
        if text.len() > MAX_SCRIPT_BYTES {
            self.add_doubt(text, "it is too long");
            return None;
        }
        // Bash uses the latter two internally.
        if text.contains(['\0', '\u{1}', '\u{7f}']) {
            self.add_doubt(text, "it holds a character that no script needs");
            return None;
        }
        let mut parser = ScriptParser::new(text, context.dialect, context.depth);
        match parser.parse_script() {
            Ok(script) => {
                for doubt in std::mem::take(&mut parser.doubts) {
                    self.add_doubt(&doubt.text, doubt.why);
                }
                Some(script)
            }
            Err(stop) => {
                let at = parser.at.min(text.len());
                let rest = text[at..].trim();
                self.record_doubt(if rest.is_empty() { text } else { rest }, stop.0, true);
                None
            }
        }
    }

    fn collect_tree(&mut self, script: &ScriptTree, context: &CommandContext) {
        for chain in
            script.0.split_inclusive(|step| !matches!(step.connector, StepConnector::And | StepConnector::Or))
        {
            let aside = chain.last().is_some_and(|last| {
                matches!(last.connector, StepConnector::Background | StepConnector::HeredocSubstitutions)
            });
            // The first command always runs, unless the whole chain runs in another process.
            let (first, others) = chain.split_at(usize::from(!aside && !chain.is_empty()));
            let background = chain.last().is_some_and(|last| last.connector == StepConnector::Background);
            let beside = background.then(|| CommandContext { in_background: true, ..context.clone() });
            let context = beside.as_ref().unwrap_or(context);
            first.iter().for_each(|step| self.collect_node(&step.node, context));
            self.conditionally(|collector| {
                others.iter().for_each(|step| collector.collect_node(&step.node, context));
            });
        }
    }

    /// Runs `what` for a part whose assignments may not take effect: a subshell, or conditional code.
    pub(crate) fn conditionally<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        self.facts.push(VariableFact::BeginConditional);
        let done = what(self);
        self.facts.push(VariableFact::EndConditional);
        done
    }

    fn collect_node(&mut self, node: &SyntaxNode, context: &CommandContext) {
        match node {
            SyntaxNode::Simple(simple) => self.collect_simple(simple, context),
            SyntaxNode::Pipe(nodes) => {
                let mut context = context.clone();
                context.in_pipeline |= nodes.len() > 1;
                for node in nodes {
                    match nodes.len() {
                        1 => self.collect_node(node, &context),
                        _ => self.conditionally(|collector| collector.collect_node(node, &context)),
                    }
                    context.has_piped_input = true;
                    context.redirects.retain(|redirect| {
                        !matches!(redirect, ScriptRedirect::Read(_) | ScriptRedirect::Text(_))
                    });
                }
            }
            SyntaxNode::Group(group) => self.collect_compound(group, context),
            SyntaxNode::Function(name, body) => {
                self.analysis.defined.push(name.clone());
                let first = self.analysis.commands.len();
                self.function_depth += 1;
                self.collect_node(
                    body,
                    &CommandContext { in_background: false, in_pipeline: false, ..context.clone() },
                );
                self.function_depth -= 1;
                if first < self.analysis.commands.len() {
                    self.functions.push((name.clone(), first..self.analysis.commands.len()));
                }
            }
        }
    }

    fn collect_compound(&mut self, group: &CompoundCommand, context: &CommandContext) {
        let inside = context.with_redirects(&group.targets);
        let first = self.analysis.commands.len();
        // `((…))` and `[[ … ]]` have no other parts.
        if group.parts.is_empty() {
            self.collect_findings(&group.findings, context);
        } else {
            self.collect_parts(group, context, &inside);
        }
        if self.analysis.commands.len() == first && !group.targets.is_empty() {
            self.push_bare_redirect(&inside);
        }
    }

    fn collect_parts(&mut self, group: &CompoundCommand, context: &CommandContext, inside: &CommandContext) {
        let first = self.analysis.commands.len();
        self.conditionally(|collector| {
            collector.collect_findings(&group.findings, context);
            for part in &group.parts {
                collector.conditionally(|walk| walk.collect_tree(part, inside));
            }
        });
        if group.endless {
            self.relations.mark_endless(first..self.analysis.commands.len());
        }
    }

    /// Lists a redirection without a command.
    fn push_bare_redirect(&mut self, context: &CommandContext) {
        if context.dialect == ShellDialect::Foreign {
            self.add_doubt("", "zsh runs a command for a redirection alone");
        }
        if context.redirects.is_empty() {
            return;
        }
        self.push_command(
            &CommandCall {
                words: vec![ParsedWord::literal(":")],
                more_args: false,
                started_by: StartedBy::Shell,
            },
            context,
        );
    }

    /// Handles the variable actions and nested scripts of words.
    fn collect_findings(&mut self, found: &WordFindings, context: &CommandContext) {
        self.record_variables(found);
        self.collect_nested(found, context);
    }

    /// Records the variable actions of words.
    fn record_variables(&mut self, found: &WordFindings) {
        for fact in &found.facts {
            match fact {
                VariableFact::Set(name, word, kind) => self.assign(name, word, *kind),
                VariableFact::Use(..)
                | VariableFact::BeginConditional
                | VariableFact::EndConditional
                | VariableFact::MayFail => {
                    self.facts.push(fact.clone());
                }
            }
        }
    }

    /// Collects the commands of scripts inside words.
    fn collect_nested(&mut self, found: &WordFindings, context: &CommandContext) {
        for inner in &found.nested_scripts {
            let mut context = context.clone();
            context.has_piped_input |= inner.has_piped_input;
            self.conditionally(|collector| collector.collect_tree(&inner.script, &context));
        }
    }

    fn collect_simple(&mut self, simple: &SimpleCommand, context: &CommandContext) {
        let mut own = context.with_redirects(&simple.targets);
        if simple.words.is_empty() {
            self.collect_findings(&simple.findings, context);
            for (name, word, kind) in &simple.assignments {
                self.assign(name, word, *kind);
            }
            if !simple.targets.is_empty() {
                self.push_bare_redirect(&own);
            }
            return;
        }
        // Words are expanded before the assignments of the command take effect.
        self.record_variables(&simple.findings);
        let name = simple.words[0].known_text();
        if name == Some("exec")
            && simple.words.len() == 1
            && simple.targets.iter().any(|target| target.is_stdin)
        {
            self.add_doubt("exec", "it changes what all that follows reads");
        }
        self.facts.push(VariableFact::BeginConditional);
        for (variable, word, kind) in &simple.assignments {
            // For `read`, `IFS` only affects how the line is split.
            if variable != "IFS" || name != Some("read") {
                self.set_variable(variable, word, *kind);
            }
            own.variables.push((variable.clone(), word.clone()));
        }
        // Without its own assignments, a command's variable changes persist.
        if simple.assignments.is_empty() {
            self.facts.push(VariableFact::EndConditional);
        }
        self.collect_call(
            &CommandCall { words: simple.words.clone(), more_args: false, started_by: StartedBy::Shell },
            &own,
        );
        if !simple.assignments.is_empty() {
            self.facts.push(VariableFact::EndConditional);
        }
        self.collect_nested(&simple.findings, context);
    }

    /// Lists a command and collects the commands that it starts.
    pub(crate) fn collect_call(&mut self, call: &CommandCall, context: &CommandContext) {
        let Some(first) = call.words.first() else { return self.add_doubt("", "a command is missing") };
        if context.depth > MAX_DEPTH {
            return self.add_doubt(first.text(), "it is nested too deep");
        }
        self.push_command(call, context);
        match first.known_text() {
            None => {
                self.add_doubt(first.text(), "the name of a command is not known");
                self.list_likely_commands(call, context);
            }
            Some(name) if call.started_by == StartedBy::Shell && builtins::is_builtin(name) => {
                builtins::collect_builtin(self, name, call, context);
            }
            Some(name) => {
                self.conditionally(|collector| wrappers::collect_wrapped(collector, name, call, context));
            }
        }
    }

    /// Lists a command.
    pub(crate) fn push_command(&mut self, call: &CommandCall, context: &CommandContext) {
        if self.analysis.commands.len() >= MAX_COMMANDS {
            return self.add_doubt(call.words[0].text(), "there are too many commands");
        }
        self.relations.record(self.analysis.commands.len(), call, context);
        self.analysis.commands.push(ScriptCommand {
            words: call.words.iter().map(|term| term.word.clone()).collect(),
            more_args: call.more_args,
            variables: context.variables.clone(),
            redirects: context.redirects.clone(),
            wrappers: context.wrappers.clone(),
            has_piped_input: context.has_piped_input,
            built_in: call.started_by == StartedBy::Shell
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
        self.mark_piped_functions();
        self.list_forwarded_commands();
        self.expand_aliases();
        self.analysis
    }

    /// Marks the commands of a function as fed if a call of the function is.
    fn mark_piped_functions(&mut self) {
        // ends: each round but the last feeds another function
        for _ in 0..self.functions.len() {
            let mut changed = false;
            for (name, range) in &self.functions {
                let is_call = |command: &ScriptCommand| matches!(&command.words[0], ScriptWord::Literal(word) if word == name);
                let fed =
                    self.analysis.commands.iter().any(|command| command.has_piped_input && is_call(command));
                for command in self.analysis.commands[range.clone()]
                    .iter_mut()
                    .filter(|command| fed && !command.has_piped_input)
                {
                    command.has_piped_input = true;
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
