//! Finds unbounded growth: recursive functions, and endless loops that start processes or write files.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::shell::command_collector::{CommandCall, CommandCollector, CommandContext, StartedBy};
use crate::shell::{ScriptCommand, ScriptWord, UnboundedGrowth};

/// Commands that slow down or end a loop.
const WAITING_COMMANDS: &[&str] =
    &["sleep", "usleep", "wait", "read", "inotifywait", "break", "exit", "return", "exec", "fg"];

/// Relations between the commands of a script, by index.
#[derive(Debug, Default)]
pub(crate) struct CommandRelations {
    /// Commands that the shell itself looks up, so that the name may mean a function.
    shell_calls: HashSet<usize>,
    /// Commands that run in the background.
    background: HashSet<usize>,
    /// Commands of a pipeline with several commands.
    in_pipeline: HashSet<usize>,
    /// Bodies of loops with a constant condition.
    endless_bodies: Vec<Range<usize>>,
}

impl CommandRelations {
    /// Records how the next listed command is reached.
    pub(crate) fn record(&mut self, at: usize, call: &CommandCall, context: &CommandContext) {
        let bypasses = context.wrappers.last().is_some_and(|by| matches!(by.as_str(), "command" | "builtin"));
        if call.started_by == StartedBy::Shell && !bypasses {
            self.shell_calls.insert(at);
        }
        if context.in_background {
            self.background.insert(at);
        }
        if context.in_pipeline {
            self.in_pipeline.insert(at);
        }
    }

    /// Records the body of a loop with a constant condition.
    pub(crate) fn mark_endless(&mut self, body: Range<usize>) {
        if !body.is_empty() {
            self.endless_bodies.push(body);
        }
    }
}

impl CommandCollector {
    /// Finds the commands that make the script grow.
    pub(crate) fn find_growth(&mut self) {
        let mut grows = self.recursive_calls();
        for body in &self.relations.endless_bodies {
            let body = body.start..body.end.min(self.analysis.commands.len());
            let waits = |at: usize| {
                !self.relations.background.contains(&at)
                    && has_name_in(&self.analysis.commands[at], WAITING_COMMANDS)
            };
            if body.clone().any(waits) {
                continue;
            }
            grows.extend(
                body.clone()
                    .filter(|at| self.relations.background.contains(at))
                    .map(|at| (at, UnboundedGrowth::Processes)),
            );
            let writes = |at: &usize| self.analysis.commands[*at].writes_a_file();
            grows.extend(body.filter(writes).map(|at| (at, UnboundedGrowth::Output)));
        }
        self.analysis.growth = grows;
    }

    /// Returns the function calls that lead back to their own function.
    fn recursive_calls(&self) -> Vec<(usize, UnboundedGrowth)> {
        let mut callees: HashMap<&str, HashSet<&str>> = HashMap::new();
        for (name, body) in &self.functions {
            let called = self.possible_function_calls(body).filter_map(|at| self.literal_name(at));
            callees.entry(name).or_default().extend(called);
        }
        let mut grows = Vec::new();
        for (name, body) in &self.functions {
            let leads_back = callers_of(name, &callees);
            let is_back =
                |at: &usize| self.literal_name(*at).is_some_and(|callee| leads_back.contains(callee));
            let back: Vec<usize> = self.possible_function_calls(body).filter(is_back).collect();
            let aside = back.iter().any(|at| self.relations.background.contains(at));
            let forks = back.iter().filter(|at| self.relations.in_pipeline.contains(at)).count() > 1;
            let how = if aside || forks { UnboundedGrowth::Processes } else { UnboundedGrowth::Recursion };
            grows.extend(back.into_iter().map(|at| (at, how)));
        }
        grows
    }

    /// Returns the commands in `body` that the shell may take for a function.
    fn possible_function_calls(&self, body: &Range<usize>) -> impl Iterator<Item = usize> {
        let listed = body.start..body.end.min(self.analysis.commands.len());
        listed.filter(|at| self.relations.shell_calls.contains(at))
    }

    /// Returns the name of the command at `at`, if it is known.
    fn literal_name(&self, at: usize) -> Option<&str> {
        match &self.analysis.commands[at].words[0] {
            ScriptWord::Literal(name) => Some(name),
            ScriptWord::Unknown(_) => None,
        }
    }
}

/// Returns the functions that call `target` directly or indirectly, including `target` itself.
fn callers_of<'a>(target: &'a str, callees: &HashMap<&'a str, HashSet<&'a str>>) -> HashSet<&'a str> {
    let mut found = HashSet::from([target]);
    // ends: each round but the last finds another one
    loop {
        let calls = |called: &HashSet<&str>| called.iter().any(|name| found.contains(name));
        let more: Vec<&str> = callees
            .iter()
            .filter(|(name, called)| !found.contains(*name) && calls(called))
            .map(|(name, _)| *name)
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Returns true if the command is one of `names`.
fn has_name_in(command: &ScriptCommand, names: &[&str]) -> bool {
    matches!(&command.words[0], ScriptWord::Literal(name) if names.contains(&name.as_str()))
}

/// Returns true if the condition of a loop, given as source text, is constant.
pub(crate) fn is_constant_condition(word: &str, condition: &str) -> bool {
    let condition = condition.trim().trim_end_matches(';').trim();
    let plain: String = condition.split_whitespace().collect::<Vec<_>>().join(" ");
    let always = matches!(
        plain.as_str(),
        "true" | ":" | "/bin/true" | "/usr/bin/true" | "! false" | "((1))" | "(( 1 ))" | "(true)" | "(:)"
    ) || is_constant_test(&plain);
    let never =
        matches!(plain.as_str(), "false" | "/bin/false" | "/usr/bin/false" | "! true" | "! :" | "((0))");
    if word == "until" { never } else { always }
}

/// Returns true for `[ 1 ]`, `[[ 1 == 1 ]]` or `test 1`: a test of constants.
fn is_constant_test(plain: &str) -> bool {
    let inside = plain.strip_prefix("[[ ").and_then(|rest| rest.strip_suffix(" ]]"));
    let inside = inside.or_else(|| plain.strip_prefix("[ ").and_then(|rest| rest.strip_suffix(" ]")));
    let inside = inside.or_else(|| plain.strip_prefix("test "));
    inside.is_some_and(|inside| match inside.split(' ').collect::<Vec<_>>()[..] {
        [one] => !one.is_empty() && one.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        [left, "=" | "==" | "-eq", right] => left == right && !left.contains('$'),
        _ => false,
    })
}
