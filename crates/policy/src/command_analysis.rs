//! Analyses a command line: lists every command that it may run, with its risk and the rules about it.

use std::collections::HashMap;
use std::path::Path;

use crate::combined_dangers;
use crate::dataflow::{self, SINKS};
use crate::programs::program_name;
use crate::programs::{
    CommandRisk, Listing, ShellFamily, Starter, classify_command, dangerous_variable, first_altering_word,
    inner_commands, is_interpreter,
};
use crate::risk_in_context::classify_in_context;
use crate::rules::{MatchedRule, PolicyRule, RuleDecision, RuleSet, RuleSubject};
use crate::shell::{
    PatchCommand, ScriptAnalysis, ScriptCommand, ScriptRedirect, ScriptWord, UndecidedPart, analyse_line,
    literal_text, word_text,
};
use crate::xargs_pipeline::ReadOnlyStarts;
use crate::{ApprovalCase, CommandLine, MachineLookup, ResolvedProgram};

/// A script above this size in bytes, here-document texts excluded, counts as too long to review.
const MAX_REVIEWABLE_BYTES: usize = 16 << 10;

/// The analysis of one command line.
#[derive(Debug, Clone)]
pub struct CommandAnalysis {
    /// Every command that the line may run.
    pub commands: Vec<ClassifiedCommand>,
    /// Parts of the script that the analysis could not decide.
    pub undecided: Vec<UndecidedPart>,
    /// Variables set for later commands, each with the reason why setting it is dangerous, if it is.
    pub assignments: Vec<(String, ScriptWord, Option<&'static str>)>,
    /// Functions and aliases that the line defines.
    pub definitions: Vec<String>,
    /// The script is too long for a person to review.
    pub too_long: bool,
    /// The patch that the line applies, if that is its only effect.
    pub patch: Option<PatchCommand>,
}

/// One command that the line may run.
#[derive(Debug, Clone)]
pub struct ClassifiedCommand {
    /// The command.
    pub command: ScriptCommand,
    /// The risk of the command.
    pub risk: CommandRisk,
    /// The command only starts another command of the list.
    pub is_wrapper: bool,
    /// The rules about the command, strictest first.
    pub rules: Vec<AppliedRule>,
    /// The program that the name resolves to, once it was looked up.
    pub program: Option<ResolvedProgram>,
}

/// A rule that applies to a command.
#[derive(Debug, Clone)]
pub struct AppliedRule {
    /// The rule.
    pub rule: PolicyRule,
    /// The rule certainly matches. An unknown word can make a match only possible.
    pub certain: bool,
    /// The command gives a path, and the rule names only the last component of that path.
    matched_by_name: bool,
}

impl CommandAnalysis {
    /// Analyses `line`, without the rules about its commands.
    pub(crate) fn of(line: &CommandLine) -> Self {
        let analysis = analyse_line(line);
        let dangers = combined_dangers::find_dangers(&analysis);
        let ScriptAnalysis { commands, undecided, defined, assigned, patch, .. } = analysis;
        let wrapper_flags: Vec<bool> = (0..commands.len()).map(|at| is_wrapper(&commands, at)).collect();
        let length: usize = line.argv().iter().map(String::len).sum();
        let too_long = length - heredoc_bytes(&commands).min(length) > MAX_REVIEWABLE_BYTES;
        let starts = ReadOnlyStarts::new(&commands, &wrapper_flags);
        let parts = commands.into_iter().zip(wrapper_flags).enumerate();
        let mut parts: Vec<ClassifiedCommand> = parts
            .map(|(at, (command, is_wrapper))| {
                let risk = classify_in_context(&command, is_wrapper, starts.is_read_only(at));
                ClassifiedCommand { command, risk, is_wrapper, rules: Vec::new(), program: None }
            })
            .collect();
        for (part, danger) in parts.iter_mut().zip(dangers) {
            if !matches!(part.risk, CommandRisk::Dangerous(_)) {
                part.risk = danger.unwrap_or(part.risk);
            }
        }
        // After a `cd`, `..` may be the root directory.
        if parts.iter().any(ClassifiedCommand::may_change_directory) {
            let climbing = parts
                .iter_mut()
                .filter(|part| part.risk == CommandRisk::ReadOnly && part.may_search_parent());
            climbing.for_each(|part| part.risk = CommandRisk::Ordinary);
        }
        let sets = assigned.into_iter().map(|(name, value)| {
            let why = dangerous_variable(&name);
            (name, value, why)
        });
        let assignments = sets.collect();
        Self { commands: parts, undecided, assignments, definitions: defined, too_long, patch }
    }

    /// Returns the analysis with the rules about each command. Rules may be added while a call waits, so they are
    /// matched when the gate decides.
    pub(crate) fn with_rules(&self, rules: &RuleSet) -> Self {
        let mut analysis = self.clone();
        // After a `cd`, a relative script name may mean another file.
        let moves = analysis.commands.iter().any(ClassifiedCommand::may_change_directory);
        for part in &mut analysis.commands {
            part.rules = matching_rules(&part.command, rules);
            if moves && part.name().is_some_and(is_interpreter) {
                part.make_file_rules_uncertain();
            }
        }
        analysis
    }

    /// Returns true if every command of the line is known to only read and print.
    ///
    /// ```
    /// use toolgate_policy::ExecEffect;
    ///
    /// let reads = |script: &str| {
    ///     let argv = ["bash", "-lc", script].map(str::to_owned).to_vec();
    ///     ExecEffect::new(argv, "/work").analysis().is_read_only()
    /// };
    /// assert!(reads("ls && grep -r x src | head"));
    /// assert!(!reads("git status > out") && !reads("make") && !reads("$x"));
    /// ```
    pub fn is_read_only(&self) -> bool {
        let certain = self.undecided.is_empty() && self.assignments.is_empty() && self.definitions.is_empty();
        certain
            && !self.too_long
            && !self.commands.is_empty()
            && self.commands.iter().all(|part| !part.may_need_approval())
    }

    /// Resolves each command name to a program. An untrusted program is never read-only.
    pub(crate) fn resolve_programs(&mut self, machine: &dyn MachineLookup, cwd: &Path) {
        let moves = self.commands.iter().any(ClassifiedCommand::may_change_directory);
        // Caches lookups by name: a lookup is the expensive step.
        let mut found = HashMap::new();
        let mut lookup = |name: &str| {
            let program =
                found.entry(name.to_owned()).or_insert_with(|| machine.resolve_program(name, cwd, moves));
            Option::<ResolvedProgram>::clone(program)
        };
        for part in &mut self.commands {
            part.resolve_program(&mut lookup, moves);
        }
    }

    /// Returns true if every program was looked up.
    pub(crate) fn programs_resolved(&self) -> bool {
        self.commands.iter().all(|part| part.command.built_in || part.program.is_some())
    }

    /// Lists the approval cases of the line, each with the command that raises it. `confined` selects the sandboxed
    /// cases.
    pub(crate) fn approval_cases(&self, confined: bool) -> Vec<(ApprovalCase, Option<&ClassifiedCommand>)> {
        let (reads, runs) = match confined {
            true => (ApprovalCase::Reads, ApprovalCase::Runs),
            false => (ApprovalCase::ReadsUnconfined, ApprovalCase::RunsUnconfined),
        };
        let mut cases = Vec::new();
        for part in &self.commands {
            let case = match part.decision() {
                Some(RuleDecision::Forbid) => ApprovalCase::Forbidden,
                Some(RuleDecision::Ask) => ApprovalCase::MustAsk,
                Some(RuleDecision::Allow) => ApprovalCase::Allowed,
                None => match part.risk {
                    CommandRisk::Dangerous(_) => ApprovalCase::Dangerous,
                    CommandRisk::Risky(_) if !confined => ApprovalCase::Dangerous,
                    CommandRisk::ReadOnly => reads,
                    CommandRisk::Ordinary | CommandRisk::Risky(_) => runs,
                },
            };
            cases.push((case, Some(part)));
            // A rule about a command does not cover its output files.
            if part.written_files().next().is_some() {
                cases.push((runs, Some(part)));
            }
        }
        if self.too_long || self.undecided.iter().any(|doubt| doubt.unread) {
            cases.push((ApprovalCase::Dangerous, None));
        }
        if self.assignments.iter().any(|(_, _, why)| why.is_some()) {
            cases.push((ApprovalCase::Dangerous, None));
        }
        if !(self.undecided.is_empty() && self.assignments.is_empty() && self.definitions.is_empty()) {
            cases.push((runs, None));
        }
        cases
    }

    /// Returns true if the user's rules let the whole line run without the sandbox.
    pub(crate) fn may_leave_sandbox(&self) -> bool {
        let certain = self.undecided.is_empty() && self.assignments.is_empty() && self.definitions.is_empty();
        let leaves = |part: &ClassifiedCommand| {
            // A rule about a command does not cover its output files.
            part.allowed_by().is_some_and(|applied| applied.rule.unsandboxed)
                && part.written_files().next().is_none()
        };
        // Outside the sandbox a read-only program could read secrets, so only harmless shell built-ins may go along.
        let harmless = |part: &ClassifiedCommand| {
            let says = matches!(part.name(), Some("echo" | "true" | "false" | ":" | "test" | "["));
            let starts = part.is_wrapper && part.command.wrappers.is_empty();
            (part.command.built_in && says || starts)
                && part.risk == CommandRisk::ReadOnly
                && part.rules.is_empty()
        };
        let plain = self
            .commands
            .iter()
            .all(|part| part.command.redirects.is_empty() && !part.command.has_piped_input);
        certain
            && plain
            && !self.too_long
            && self.commands.iter().any(leaves)
            && self.commands.iter().all(|part| leaves(part) || harmless(part))
    }
}

impl ClassifiedCommand {
    /// Returns the command name, if it is known.
    pub fn name(&self) -> Option<&str> {
        literal_text(&self.command.words[0])
    }

    /// Returns all words, if every one is known.
    pub fn argv(&self) -> Option<Vec<&str>> {
        let words: Option<Vec<&str>> = self.command.words.iter().map(literal_text).collect();
        words.filter(|_| !self.command.more_args)
    }

    /// Returns true if the command may change the working directory of other commands.
    fn may_change_directory(&self) -> bool {
        let elsewhere = |word: &ScriptWord| {
            literal_text(word).is_none_or(|word| {
                word.starts_with("-C") || word.starts_with("--chdir") || word.contains("execdir")
            })
        };
        matches!(self.name(), None | Some("cd" | "pushd" | "popd"))
            || (self.is_wrapper || self.name() == Some("find")) && self.command.words.iter().any(elsewhere)
    }

    /// Downgrades allow-rules that name a file to uncertain matches.
    fn make_file_rules_uncertain(&mut self) {
        let names = |rule: &PolicyRule| matches!(&rule.subject, RuleSubject::Command { pattern, .. } if pattern.len() > 1);
        let allows =
            |applied: &&mut AppliedRule| applied.rule.decision == RuleDecision::Allow && names(&applied.rule);
        self.rules.iter_mut().filter(allows).for_each(|applied| applied.certain = false);
    }

    /// Returns true if the command may search a parent of its working directory.
    fn may_search_parent(&self) -> bool {
        let above = |word: &ScriptWord| word_text(word).split('/').any(|part| part == "..");
        matches!(self.name().map(program_name), Some("diff" | "grep" | "rg"))
            && self.command.words.iter().any(above)
    }

    /// Returns true if the command may need approval under some policy.
    pub(crate) fn may_need_approval(&self) -> bool {
        self.risk != CommandRisk::ReadOnly || self.written_files().next().is_some()
    }

    /// Lists the files that receive the command's output.
    pub fn written_files(&self) -> impl Iterator<Item = &ScriptWord> {
        let redirects = self.command.redirects.iter().filter_map(|redirect| match redirect {
            ScriptRedirect::Write(to) | ScriptRedirect::Append(to) | ScriptRedirect::ReadWrite(to) => {
                Some(to)
            }
            ScriptRedirect::Read(_) | ScriptRedirect::Text(_) => None,
        });
        redirects.filter(|to| !literal_text(to).is_some_and(|to| SINKS.contains(&to)))
    }

    /// Returns the decision of the rules, if there is one.
    pub fn decision(&self) -> Option<RuleDecision> {
        let strictest =
            self.rules.iter().find_map(|applied| match (applied.rule.decision, applied.certain) {
                (RuleDecision::Forbid, true) => Some(RuleDecision::Forbid),
                // The rule's author wants to know about a possible match.
                (RuleDecision::Forbid, false) | (RuleDecision::Ask, _) => Some(RuleDecision::Ask),
                (RuleDecision::Allow, _) => None,
            });
        strictest.or_else(|| self.allowed_by().map(|_| RuleDecision::Allow))
    }

    /// Returns the allow-rule that covers the command. It covers only a command with known words, no variables, a
    /// trusted program, and no danger that the rule does not name.
    pub fn allowed_by(&self) -> Option<&AppliedRule> {
        if !self.rules.iter().any(|applied| applied.rule.decision == RuleDecision::Allow) {
            return None;
        }
        let argv = self.argv()?;
        // A rule about words covers neither variables nor the source and destination of data.
        if !self.command.variables.is_empty() || dataflow::find_danger(&self.command).is_some() {
            return None;
        }
        let mut allowing = self
            .rules
            .iter()
            .filter(|applied| applied.certain && applied.rule.decision == RuleDecision::Allow);
        allowing.find(|applied| {
            let lies_right = match (&self.program, applied.matched_by_name) {
                _ if self.command.built_in => true,
                (Some(program), _) => program.trusted,
                (None, by_name) => !by_name,
            };
            let harmless = !matches!(self.risk, CommandRisk::Dangerous(_)) || applied.covers_danger(&argv);
            lies_right && harmless && applied.first_uncovered_word(&argv).is_none()
        })
    }

    /// Returns the allow-rule that matches the first words, and the word that it does not cover: an option that changes
    /// the program that runs, or the output path.
    pub fn uncovered_word(&self) -> Option<(&PolicyRule, &str)> {
        let argv = self.argv()?;
        self.rules.iter().find_map(|applied| Some((&applied.rule, applied.first_uncovered_word(&argv)?)))
    }

    fn resolve_program(&mut self, lookup: &mut dyn FnMut(&str) -> Option<ResolvedProgram>, moves: bool) {
        if self.command.built_in {
            return;
        }
        // After a `cd` the target of a relative path is unknown.
        let relative = |name: &&str| name.contains('/') && !name.starts_with('/');
        let name = self.name().filter(|name| !(moves && relative(name)));
        self.program = name.and_then(lookup);
        let trusted = self.program.as_ref().is_some_and(|program| program.trusted);
        if self.risk == CommandRisk::ReadOnly && !trusted {
            self.risk = CommandRisk::Ordinary;
        }
        // A missing program cannot be the one that a rule means.
        self.program.get_or_insert_with(|| ResolvedProgram { path: "".into(), trusted: false });
    }
}

impl AppliedRule {
    /// Returns the word of `argv` that the rule does not cover although it matches the first words: an option that
    /// changes the program that runs, or the output path.
    fn first_uncovered_word<'a>(&self, argv: &[&'a str]) -> Option<&'a str> {
        match &self.rule.subject {
            RuleSubject::Command { pattern, exact: false } if self.rule.decision == RuleDecision::Allow => {
                first_altering_word(argv, pattern.len())
            }
            RuleSubject::Command { .. }
            | RuleSubject::Path { .. }
            | RuleSubject::Tool { .. }
            | RuleSubject::Host { .. } => None,
        }
    }

    /// Returns true if the rule's own pattern contains the words that make `argv` dangerous.
    fn covers_danger(&self, argv: &[&str]) -> bool {
        let RuleSubject::Command { pattern, .. } = &self.rule.subject else { return false };
        let named = classify_command(&argv[..pattern.len().min(argv.len())]);
        matches!(named, CommandRisk::Dangerous(_)) && named == classify_command(argv)
    }
}

/// Git options before the sub-command that take the next word as their value.
pub(crate) const GIT_VALUED: &[&str] = &[
    "-C", "-c", "--attr-source", "--config-env", "--exec-path", "--git-dir", "--namespace", "--super-prefix",
    "--work-tree",
];

/// Matches ask- and forbid-rules against the command without the options before its sub-command, and `git-x` as
/// `git x`. A rule against `git push` also means `git -C . push`. Only git's value-taking options are known.
fn rules_without_options(command: &ScriptCommand, rules: &RuleSet) -> Vec<AppliedRule> {
    let Some(name) = literal_text(&command.words[0]).map(program_name) else { return Vec::new() };
    let git = name == "git" || name.starts_with("git-");
    let mut rest = &command.words[1..];
    // ends: each round takes a word
    while let [option, after @ ..] = rest
        && word_text(option).starts_with('-')
    {
        let takes =
            if git { GIT_VALUED.contains(&word_text(option)) } else { !word_text(option).contains('=') };
        rest = if takes { after.get(1..).unwrap_or_default() } else { after };
    }
    let sub_command = name.strip_prefix("git-").map(str::to_owned);
    if rest.len() + 1 == command.words.len() && sub_command.is_none() {
        return Vec::new();
    }
    let program = if git { "git" } else { name };
    let words: Vec<ScriptWord> = std::iter::once(program.to_owned())
        .chain(sub_command)
        .map(ScriptWord::Literal)
        .chain(rest.iter().cloned())
        .collect();
    let found = rules.rules_for_command(&words, command.more_args);
    let strict = |matched: &MatchedRule<'_>| matched.rule.decision != RuleDecision::Allow;
    let applied = |certain: bool| {
        move |matched: MatchedRule<'_>| AppliedRule {
            rule: matched.rule.clone(),
            certain,
            matched_by_name: false,
        }
    };
    let certain = found.certain.into_iter().filter(strict).map(applied(git));
    certain.chain(found.possible.into_iter().filter(strict).map(applied(false))).collect()
}

/// Returns the rules about the command, strictest first.
fn matching_rules(command: &ScriptCommand, all: &RuleSet) -> Vec<AppliedRule> {
    let matches = all.rules_for_command(&command.words, command.more_args);
    let applied = |certain: bool| {
        move |matched: MatchedRule<'_>| AppliedRule {
            rule: matched.rule.clone(),
            certain,
            matched_by_name: matched.matched_by_name,
        }
    };
    let mut rules: Vec<AppliedRule> = matches.certain.into_iter().map(applied(true)).collect();
    rules.extend(matches.possible.into_iter().map(applied(false)));
    rules.extend(rules_without_options(command, all));
    for rule in find_likely_rules(command, all) {
        if !rules.iter().any(|applied| applied.rule == *rule) {
            rules.push(AppliedRule { rule: rule.clone(), certain: false, matched_by_name: false });
        }
    }
    rules.sort_by_key(|applied| std::cmp::Reverse((applied.rule.decision, applied.certain)));
    rules
}

/// Finds rules that may be about the command, or about a command that it starts.
fn find_likely_rules<'a>(command: &ScriptCommand, rules: &'a RuleSet) -> Vec<&'a PolicyRule> {
    if rules.is_empty() {
        return Vec::new();
    }
    let words: Vec<Option<&str>> = command.words.iter().map(literal_text).collect();
    let word = |word: Option<&str>| match word {
        Some(word) => ScriptWord::Literal(word.to_owned()),
        None => ScriptWord::Unknown(String::new()),
    };
    let started = inner_commands(&words);
    let started = started.into_iter().map(|argv| argv.into_iter().map(word).collect::<Vec<ScriptWord>>());
    let mut found = rules.likely_rules(&command.words);
    found.extend(started.flat_map(|argv| rules.likely_rules(&argv)));
    found
}

/// Returns true if the command at `at` only starts the next one.
fn is_wrapper(commands: &[ScriptCommand], at: usize) -> bool {
    let wrapper = &commands[at];
    let Some(name) = literal_text(&wrapper.words[0]).map(program_name) else { return false };
    let first = wrapper.words.get(1).map(word_text).unwrap_or_default();
    let is_shell = ShellFamily::of(name).is_some_and(ShellFamily::has_known_options);
    let plain = match name {
        _ if is_shell => matches!(first, "-c" | "-lc" | "-cl"),
        // The options of these programs change the variables, the directory or the `PATH` of the started command.
        "builtin" | "command" | "env" | "exec" => !first.starts_with('-'),
        "xargs" => true,
        _ => Starter::of(name).is_some_and(|starter| starter.listing == Listing::Transparent),
    };
    plain
        && commands.get(at + 1).is_some_and(|inner| {
            let by = inner.wrappers.strip_prefix(wrapper.wrappers.as_slice());
            matches!(by, Some([by]) if by.split(' ').next() == Some(name))
        })
}

/// Returns the total size of the here-document texts in bytes.
fn heredoc_bytes(commands: &[ScriptCommand]) -> usize {
    let mut texts: Vec<&str> = Vec::new();
    for redirect in commands.iter().flat_map(|command| &command.redirects) {
        if let ScriptRedirect::Text(ScriptWord::Literal(text) | ScriptWord::Unknown(text)) = redirect
            && !texts.contains(&text.as_str())
        {
            texts.push(text);
        }
    }
    texts.into_iter().map(str::len).sum()
}
