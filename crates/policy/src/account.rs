//! Analyses a command line: lists every command that it may run, with its risk and the rules about it.

use std::collections::HashMap;
use std::path::Path;

use crate::fed::{self, SINKS};
use crate::known::{Known, alters, commands_inside, dangerous_variable, is_interpreter, known, known_partly};
use crate::rules::{Decision, Matched, On, Rule, Rules};
use crate::shell::{Analysis, Command, Redirect, Undecided, Word, analyse_argv};
use crate::started::Starts;
use crate::together;
use crate::{CommandLine, Machine, Matter, Program};

/// A script above this size in bytes, here-document texts excluded, counts as too long to review.
const LONG: usize = 16 << 10;

/// Programs that only start the command in their arguments: only that command needs judging.
const TRANSPARENT: &[&str] = &["gtimeout", "ionice", "nice", "stdbuf", "timeout", "xargs"];

/// The analysis of one command line.
#[derive(Debug, Clone)]
pub struct Account {
    /// Every command that the line may run.
    pub parts: Vec<Part>,
    /// Parts of the script that the analysis could not decide.
    pub undecided: Vec<Undecided>,
    /// Variables set for later commands, each with the reason why setting it is dangerous, if it is.
    pub sets: Vec<(String, Word, Option<&'static str>)>,
    /// Functions and aliases that the line defines.
    pub defines: Vec<String>,
    /// The script is too long for a person to review.
    pub long: bool,
}

/// One command that the line may run.
#[derive(Debug, Clone)]
pub struct Part {
    /// The command.
    pub command: Command,
    /// The risk of the command.
    pub known: Known,
    /// The command only starts another command of the list.
    pub wraps: bool,
    /// The rules about the command, strictest first.
    pub rules: Vec<Said>,
    /// The program that the name resolves to, once it was looked up.
    pub program: Option<Program>,
}

/// A rule that applies to a command.
#[derive(Debug, Clone)]
pub struct Said {
    /// The rule.
    pub rule: Rule,
    /// The rule certainly matches. An unknown word can make a match only possible.
    pub certain: bool,
    /// The command gives a path, and the rule names only the last component of that path.
    by_name: bool,
}

/// Returns true if every command of `line` is known to only read and print.
///
/// ```
/// use toolgate_policy::{CommandLine, reads_only};
///
/// let line = |script: &str| CommandLine {
///     argv: ["bash", "-lc", script].map(str::to_owned).to_vec(),
///     cwd: "/work".into(),
///     terminal: false,
/// };
/// assert!(reads_only(&line("ls && grep -r x src | head")));
/// assert!(!reads_only(&line("git status > out")) && !reads_only(&line("make")) && !reads_only(&line("$x")));
/// ```
pub fn reads_only(line: &CommandLine) -> bool {
    let account = Account::of(line, &Rules::default());
    let certain = account.undecided.is_empty() && account.sets.is_empty() && account.defines.is_empty();
    certain && !account.long && !account.parts.is_empty() && account.parts.iter().all(|part| !part.counts())
}

impl Account {
    /// Analyses `line` and finds the rules about each command.
    pub(crate) fn of(line: &CommandLine, rules: &Rules) -> Self {
        let analysis = analyse_argv(&line.argv);
        let dangers = together::dangers(&analysis);
        let Analysis { commands, undecided, defined, assigned, .. } = analysis;
        let wraps: Vec<bool> = (0..commands.len()).map(|at| is_wrapper(&commands, at)).collect();
        let length: usize = line.argv.iter().map(String::len).sum();
        let long = length - texts(&commands).min(length) > LONG;
        let starts = Starts::of(&commands, &wraps);
        let parts = commands.into_iter().zip(wraps).enumerate();
        let mut parts: Vec<Part> =
            parts.map(|(at, (command, wraps))| Part::of(command, wraps, starts.reads(at), rules)).collect();
        for (part, danger) in parts.iter_mut().zip(dangers) {
            if !matches!(part.known, Known::Dangerous(_)) {
                part.known = danger.unwrap_or(part.known);
            }
        }
        // After a `cd`, `..` may be the root directory, and a relative script name may mean another file.
        if parts.iter().any(Part::moves) {
            parts.iter_mut().filter(|part| part.name().is_some_and(is_interpreter)).for_each(Part::mistrust);
            let climbing = parts.iter_mut().filter(|part| part.known == Known::ReadOnly && part.climbs());
            climbing.for_each(|part| part.known = Known::Ordinary);
        }
        let sets = assigned.into_iter().map(|(name, value)| {
            let why = dangerous_variable(&name);
            (name, value, why)
        });
        Self { parts, undecided, sets: sets.collect(), defines: defined, long }
    }

    /// Resolves each command name to a program. An untrusted program is never read-only.
    pub(crate) fn bind(&mut self, machine: &dyn Machine, cwd: &Path) {
        let moves = self.parts.iter().any(Part::moves);
        // Caches lookups by name: a lookup is the expensive step.
        let mut found = HashMap::new();
        let mut look = |name: &str| {
            let program = found.entry(name.to_owned()).or_insert_with(|| machine.program(name, cwd, moves));
            Option::<Program>::clone(program)
        };
        for part in &mut self.parts {
            part.bind(&mut look, moves);
        }
    }

    /// Returns true if every program was looked up.
    pub(crate) fn is_bound(&self) -> bool {
        self.parts.iter().all(|part| part.command.built_in || part.program.is_some())
    }

    /// Lists the approval cases of the line, each with the command that raises it. `confined` selects the sandboxed
    /// cases.
    pub(crate) fn matters(&self, confined: bool) -> Vec<(Matter, Option<&Part>)> {
        let (reads, runs) = match confined {
            true => (Matter::Reads, Matter::Runs),
            false => (Matter::ReadsUnconfined, Matter::RunsUnconfined),
        };
        let mut matters = Vec::new();
        for part in &self.parts {
            let matter = match part.decision() {
                Some(Decision::Forbid) => Matter::Forbidden,
                Some(Decision::Ask) => Matter::MustAsk,
                Some(Decision::Allow) => Matter::Allowed,
                None => match part.known {
                    Known::Dangerous(_) => Matter::Dangerous,
                    Known::Risky(_) if !confined => Matter::Dangerous,
                    Known::ReadOnly => reads,
                    Known::Ordinary | Known::Risky(_) => runs,
                },
            };
            matters.push((matter, Some(part)));
            // A rule about a command does not cover its output files.
            if part.writes().next().is_some() {
                matters.push((runs, Some(part)));
            }
        }
        if self.long || self.undecided.iter().any(|doubt| doubt.unread) {
            matters.push((Matter::Dangerous, None));
        }
        if self.sets.iter().any(|(_, _, why)| why.is_some()) {
            matters.push((Matter::Dangerous, None));
        }
        if !(self.undecided.is_empty() && self.sets.is_empty() && self.defines.is_empty()) {
            matters.push((runs, None));
        }
        matters
    }

    /// Returns true if the user's rules let the whole line run without the sandbox.
    pub(crate) fn unsandboxed(&self) -> bool {
        let certain = self.undecided.is_empty() && self.sets.is_empty() && self.defines.is_empty();
        let leaves = |part: &Part| {
            // A rule about a command does not cover its output files.
            part.allowed_by().is_some_and(|said| said.rule.unsandboxed) && part.writes().next().is_none()
        };
        // Outside the sandbox a read-only program could read secrets, so only harmless shell built-ins may go along.
        let harmless = |part: &Part| {
            let says = matches!(part.name(), Some("echo" | "true" | "false" | ":" | "test" | "["));
            let starts = part.wraps && part.command.through.is_empty();
            (part.command.built_in && says || starts)
                && part.known == Known::ReadOnly
                && part.rules.is_empty()
        };
        let plain = self.parts.iter().all(|part| part.command.redirects.is_empty() && !part.command.fed);
        certain
            && plain
            && !self.long
            && self.parts.iter().any(leaves)
            && self.parts.iter().all(|part| leaves(part) || harmless(part))
    }
}

impl Part {
    fn of(command: Command, wraps: bool, starts: bool, all: &Rules) -> Self {
        let known = weigh(&command, wraps, starts);
        let matches = all.command(&command.words, command.more);
        let said = |certain: bool| {
            move |matched: Matched<'_>| Said { rule: matched.rule.clone(), certain, by_name: matched.by_name }
        };
        let mut rules: Vec<Said> = matches.certain.into_iter().map(said(true)).collect();
        rules.extend(matches.possible.into_iter().map(said(false)));
        rules.extend(without_options(&command, all));
        for rule in likely(&command, all) {
            if !rules.iter().any(|said| said.rule == *rule) {
                rules.push(Said { rule: rule.clone(), certain: false, by_name: false });
            }
        }
        rules.sort_by_key(|said| std::cmp::Reverse((said.rule.decision, said.certain)));
        Self { command, known, wraps, rules, program: None }
    }

    /// Returns the command name, if it is known.
    pub fn name(&self) -> Option<&str> {
        literal(&self.command.words[0])
    }

    /// Returns all words, if every one is known.
    pub fn argv(&self) -> Option<Vec<&str>> {
        let words: Option<Vec<&str>> = self.command.words.iter().map(literal).collect();
        words.filter(|_| !self.command.more)
    }

    /// Returns true if the command may change the working directory of other commands.
    fn moves(&self) -> bool {
        let elsewhere = |word: &Word| {
            literal(word).is_none_or(|word| {
                word.starts_with("-C") || word.starts_with("--chdir") || word.contains("execdir")
            })
        };
        matches!(self.name(), None | Some("cd" | "pushd" | "popd"))
            || (self.wraps || self.name() == Some("find")) && self.command.words.iter().any(elsewhere)
    }

    /// Downgrades allow-rules that name a file to uncertain matches.
    fn mistrust(&mut self) {
        let names = |rule: &Rule| matches!(&rule.on, On::Command { pattern, .. } if pattern.len() > 1);
        let allows = |said: &&mut Said| said.rule.decision == Decision::Allow && names(&said.rule);
        self.rules.iter_mut().filter(allows).for_each(|said| said.certain = false);
    }

    /// Returns true if the command may search a parent of its working directory.
    fn climbs(&self) -> bool {
        let above = |word: &Word| text(word).split('/').any(|part| part == "..");
        matches!(self.name().map(base), Some("diff" | "grep" | "rg")) && self.command.words.iter().any(above)
    }

    /// Returns true if the command may need approval under some policy.
    pub(crate) fn counts(&self) -> bool {
        self.known != Known::ReadOnly || self.writes().next().is_some()
    }

    /// Lists the files that receive the command's output.
    pub fn writes(&self) -> impl Iterator<Item = &Word> {
        let redirects = self.command.redirects.iter().filter_map(|redirect| match redirect {
            Redirect::Write(to) | Redirect::Append(to) | Redirect::ReadWrite(to) => Some(to),
            Redirect::Read(_) | Redirect::Text(_) => None,
        });
        redirects.filter(|to| !literal(to).is_some_and(|to| SINKS.contains(&to)))
    }

    /// Returns the decision of the rules, if there is one.
    pub fn decision(&self) -> Option<Decision> {
        let strictest = self.rules.iter().find_map(|said| match (said.rule.decision, said.certain) {
            (Decision::Forbid, true) => Some(Decision::Forbid),
            // The rule's author wants to know about a possible match.
            (Decision::Forbid, false) | (Decision::Ask, _) => Some(Decision::Ask),
            (Decision::Allow, _) => None,
        });
        strictest.or_else(|| self.allowed_by().map(|_| Decision::Allow))
    }

    /// Returns the allow-rule that covers the command. It covers only a command with known words, no variables, a
    /// trusted program, and no danger that the rule does not name.
    pub fn allowed_by(&self) -> Option<&Said> {
        if !self.rules.iter().any(|said| said.rule.decision == Decision::Allow) {
            return None;
        }
        let argv = self.argv()?;
        // A rule about words covers neither variables nor the source and destination of data.
        if !self.command.variables.is_empty() || fed::danger(&self.command).is_some() {
            return None;
        }
        let mut allowing =
            self.rules.iter().filter(|said| said.certain && said.rule.decision == Decision::Allow);
        allowing.find(|said| {
            let lies_right = match (&self.program, said.by_name) {
                _ if self.command.built_in => true,
                (Some(program), _) => program.trusted,
                (None, by_name) => !by_name,
            };
            let harmless = !matches!(self.known, Known::Dangerous(_)) || said.names_the_danger(&argv);
            lies_right && harmless && said.beyond(&argv).is_none()
        })
    }

    /// Returns the allow-rule that matches the first words, and the word that it does not cover: an option that changes
    /// the program that runs, or the output path.
    pub fn uncovered(&self) -> Option<(&Rule, &str)> {
        let argv = self.argv()?;
        self.rules.iter().find_map(|said| Some((&said.rule, said.beyond(&argv)?)))
    }

    fn bind(&mut self, look: &mut dyn FnMut(&str) -> Option<Program>, moves: bool) {
        if self.command.built_in {
            return;
        }
        // After a `cd` the target of a relative path is unknown.
        let relative = |name: &&str| name.contains('/') && !name.starts_with('/');
        let name = self.name().filter(|name| !(moves && relative(name)));
        self.program = name.and_then(look);
        let trusted = self.program.as_ref().is_some_and(|program| program.trusted);
        if self.known == Known::ReadOnly && !trusted {
            self.known = Known::Ordinary;
        }
        // A missing program cannot be the one that a rule means.
        self.program.get_or_insert_with(|| Program { path: "".into(), trusted: false });
    }
}

impl Said {
    /// Returns the word of `argv` that the rule does not cover although it matches the first words: an option that
    /// changes the program that runs, or the output path.
    fn beyond<'a>(&self, argv: &[&'a str]) -> Option<&'a str> {
        match &self.rule.on {
            On::Command { pattern, exact: false } if self.rule.decision == Decision::Allow => {
                alters(argv, pattern.len())
            }
            On::Command { .. } | On::Path { .. } | On::Tool { .. } | On::Host { .. } => None,
        }
    }

    /// Returns true if the rule's own pattern contains the words that make `argv` dangerous.
    fn names_the_danger(&self, argv: &[&str]) -> bool {
        let On::Command { pattern, .. } = &self.rule.on else { return false };
        let named = known(&argv[..pattern.len().min(argv.len())]);
        matches!(named, Known::Dangerous(_)) && named == known(argv)
    }
}

pub(crate) fn literal(word: &Word) -> Option<&str> {
    match word {
        Word::Literal(text) => Some(text),
        Word::Unknown(_) => None,
    }
}

/// Git options before the sub-command that take the next word as their value.
pub(crate) const GIT_VALUED: &[&str] = &[
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--exec-path",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];

/// Matches ask- and forbid-rules against the command without the options before its sub-command, and `git-x` as
/// `git x`. A rule against `git push` also means `git -C . push`. Only git's value-taking options are known.
fn without_options(command: &Command, rules: &Rules) -> Vec<Said> {
    let Some(name) = literal(&command.words[0]).map(base) else { return Vec::new() };
    let git = name == "git" || name.starts_with("git-");
    let mut rest = &command.words[1..];
    // ends: each round takes a word
    while let [option, after @ ..] = rest
        && text(option).starts_with('-')
    {
        let takes = if git { GIT_VALUED.contains(&text(option)) } else { !text(option).contains('=') };
        rest = if takes { after.get(1..).unwrap_or_default() } else { after };
    }
    let sub_command = name.strip_prefix("git-").map(str::to_owned);
    if rest.len() + 1 == command.words.len() && sub_command.is_none() {
        return Vec::new();
    }
    let program = if git { "git" } else { name };
    let words: Vec<Word> = std::iter::once(program.to_owned())
        .chain(sub_command)
        .map(Word::Literal)
        .chain(rest.iter().cloned())
        .collect();
    let found = rules.command(&words, command.more);
    let strict = |matched: &Matched<'_>| matched.rule.decision != Decision::Allow;
    let said = |certain: bool| {
        move |matched: Matched<'_>| Said { rule: matched.rule.clone(), certain, by_name: false }
    };
    let certain = found.certain.into_iter().filter(strict).map(said(git));
    certain.chain(found.possible.into_iter().filter(strict).map(said(false))).collect()
}

/// Finds rules that may be about the command, or about a command that it starts.
fn likely<'a>(command: &Command, rules: &'a Rules) -> Vec<&'a Rule> {
    if rules.is_empty() {
        return Vec::new();
    }
    let words: Vec<Option<&str>> = command.words.iter().map(literal).collect();
    let word = |word: Option<&str>| match word {
        Some(word) => Word::Literal(word.to_owned()),
        None => Word::Unknown(String::new()),
    };
    let started = commands_inside(&words);
    let started = started.into_iter().map(|argv| argv.into_iter().map(word).collect::<Vec<Word>>());
    let mut found = rules.likely(&command.words);
    found.extend(started.flat_map(|argv| rules.likely(&argv)));
    found
}

/// Returns the literal text of a word, or its source text if it is unknown.
pub(crate) fn text(word: &Word) -> &str {
    match word {
        Word::Literal(text) | Word::Unknown(text) => text,
    }
}

/// Returns the last component of a path.
pub(crate) fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Returns true if the command at `at` only starts the next one.
fn is_wrapper(commands: &[Command], at: usize) -> bool {
    let wrapper = &commands[at];
    let Some(name) = literal(&wrapper.words[0]).map(base) else { return false };
    let first = wrapper.words.get(1).map(text).unwrap_or_default();
    let plain = match name {
        "ash" | "bash" | "dash" | "ksh" | "sh" | "zsh" => matches!(first, "-c" | "-lc" | "-cl"),
        // The options of these programs change the variables, the directory or the `PATH` of the started command.
        "builtin" | "command" | "env" | "exec" => !first.starts_with('-'),
        _ => TRANSPARENT.contains(&name),
    };
    plain
        && commands.get(at + 1).is_some_and(|inner| {
            let by = inner.through.strip_prefix(wrapper.through.as_slice());
            matches!(by, Some([by]) if by.split(' ').next() == Some(name))
        })
}

/// Returns the total size of the here-document texts in bytes.
fn texts(commands: &[Command]) -> usize {
    let mut texts: Vec<&str> = Vec::new();
    for redirect in commands.iter().flat_map(|command| &command.redirects) {
        if let Redirect::Text(Word::Literal(text) | Word::Unknown(text)) = redirect
            && !texts.contains(&text.as_str())
        {
            texts.push(text);
        }
    }
    texts.into_iter().map(str::len).sum()
}

/// Returns the risk of a single command if it is dangerous even in the sandbox.
pub(crate) fn danger_of(command: &Command) -> Option<Known> {
    Some(weigh(command, false, false)).filter(|known| matches!(known, Known::Dangerous(_)))
}

/// Classifies a command by its words, its variables, and the source and destination of its data.
/// With `starts`, words added by `xargs` or `find` do not change the result.
fn weigh(command: &Command, wraps: bool, starts: bool) -> Known {
    let mut words: Vec<Option<&str>> = command.words.iter().map(literal).collect();
    words.extend(command.more.then_some(None));
    let known = known_partly(&words);
    let written: Vec<&str> = command.words.iter().map(|word| text(word).trim_matches('"')).collect();
    let dangers = [
        [Some(known), words.contains(&None).then(|| crate::known::known(&written))]
            .into_iter()
            .flatten()
            .find(|known| matches!(known, Known::Dangerous(_))),
        command.variables.iter().find_map(|(name, _)| dangerous_variable(name)).map(Known::Dangerous),
        fed::danger(command).map(Known::Dangerous),
    ];
    if let Some(danger) = dangers.into_iter().flatten().next() {
        return danger;
    }
    // The source text of an unknown word such as `~` is enough here.
    if words.contains(&None)
        && let risk @ Known::Risky(_) = crate::known::known(&written)
    {
        return risk;
    }
    let known = if wraps || starts { Known::ReadOnly } else { known };
    let writes = command.redirects.iter().any(|redirect| match redirect {
        Redirect::Write(to) | Redirect::Append(to) | Redirect::ReadWrite(to) => {
            !literal(to).is_some_and(|to| SINKS.contains(&to))
        }
        Redirect::Read(_) | Redirect::Text(_) => false,
    });
    let expands = words.contains(&None) && !starts;
    // Input must be a readable file or a known text.
    let astray = command.redirects.iter().any(|redirect| match redirect {
        Redirect::Read(from) => !literal(from).is_some_and(crate::known::may_be_read),
        Redirect::Text(text) => literal(text).is_none(),
        Redirect::Write(_) | Redirect::Append(_) | Redirect::ReadWrite(_) => false,
    });
    match known {
        Known::Risky(_) => known,
        _ if writes || expands || astray || !command.variables.is_empty() => Known::Ordinary,
        _ => known,
    }
}
