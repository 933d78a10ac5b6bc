//! A command line → what it would run, part by part, and how much of a look each part deserves.

use std::collections::HashMap;
use std::path::Path;

use crate::fed::{self, SINKS};
use crate::known::{Known, alters, commands_inside, dangerous_variable, is_interpreter, known, known_partly};
use crate::rules::{Decision, Matched, On, Rule, Rules};
use crate::shell::{Analysis, Command, Redirect, Undecided, Word, analyse_argv};
use crate::started::Starts;
use crate::together;
use crate::{CommandLine, Machine, Matter, Program};

/// A script longer than this, not counting the texts of its here-documents, is shown to somebody.
const LONG: usize = 16 << 10;

/// Programs that only start what their words say, so that what they start is all there is to judge.
const TRANSPARENT: &[&str] = &["gtimeout", "ionice", "nice", "stdbuf", "timeout", "xargs"];

/// What a command line would do.
#[derive(Debug, Clone)]
pub struct Account {
    /// Each command that it may run.
    pub parts: Vec<Part>,
    /// What cannot be decided.
    pub undecided: Vec<Undecided>,
    /// Variables that it sets for what follows, and why that deserves a look if it does.
    pub sets: Vec<(String, Word, Option<&'static str>)>,
    /// Functions and aliases that it defines.
    pub defines: Vec<String>,
    /// It is longer than anybody reads.
    pub long: bool,
}

/// One command that may be run.
#[derive(Debug, Clone)]
pub struct Part {
    /// The command.
    pub command: Command,
    /// What is known about it by its words.
    pub known: Known,
    /// It only starts another part.
    pub wraps: bool,
    /// The rules about it, the strictest first.
    pub rules: Vec<Said>,
    /// Where its program is, if that was looked up.
    pub program: Option<Program>,
}

/// What a rule says about a part.
#[derive(Debug, Clone)]
pub struct Said {
    /// The rule.
    pub rule: Rule,
    /// Whether it is certain that the rule is about this command: not all of its words are known.
    pub certain: bool,
    /// Whether the command names a path, and the rule only the name at its end.
    by_name: bool,
}

/// Whether all that `line` runs is known to read and print and to do nothing else.
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
    /// Takes `line` apart.
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
        // From a directory that the line itself chose, one step up may be all there is, and a script another one.
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

    /// Looks up which programs the names lead to: whatever is not the system's or the user's own may do anything.
    pub(crate) fn bind(&mut self, machine: &dyn Machine, cwd: &Path) {
        let moves = self.parts.iter().any(Part::moves);
        // The same name leads to the same program: looking is what takes time here.
        let mut found = HashMap::new();
        let mut look = |name: &str| {
            let program = found.entry(name.to_owned()).or_insert_with(|| machine.program(name, cwd, moves));
            Option::<Program>::clone(program)
        };
        for part in &mut self.parts {
            part.bind(&mut look, moves);
        }
    }

    /// Whether all programs were looked up.
    pub(crate) fn is_bound(&self) -> bool {
        self.parts.iter().all(|part| part.command.built_in || part.program.is_some())
    }

    /// What it comes to, for whoever confines it or not: each matter, with the part that it is about.
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
            // A rule about a command says nothing about where its output goes.
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

    /// Whether the user's rules let all of it run without the sandbox.
    pub(crate) fn unsandboxed(&self) -> bool {
        let certain = self.undecided.is_empty() && self.sets.is_empty() && self.defines.is_empty();
        let leaves = |part: &Part| {
            // A rule about a command says nothing about where its output goes.
            part.allowed_by().is_some_and(|said| said.rule.unsandboxed) && part.writes().next().is_none()
        };
        // What only reads may read secrets out there, so that no more than words of the shell go along.
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

    /// Its name, if that is known.
    pub fn name(&self) -> Option<&str> {
        literal(&self.command.words[0])
    }

    /// Its words, if all of them are known.
    pub fn argv(&self) -> Option<Vec<&str>> {
        let words: Option<Vec<&str>> = self.command.words.iter().map(literal).collect();
        words.filter(|_| !self.command.more)
    }

    /// Whether others may run in another directory because of it.
    fn moves(&self) -> bool {
        let elsewhere = |word: &Word| {
            literal(word).is_none_or(|word| {
                word.starts_with("-C") || word.starts_with("--chdir") || word.contains("execdir")
            })
        };
        matches!(self.name(), None | Some("cd" | "pushd" | "popd"))
            || (self.wraps || self.name() == Some("find")) && self.command.words.iter().any(elsewhere)
    }

    /// Makes rules that allow it by the name of a file no longer certain.
    fn mistrust(&mut self) {
        let names = |rule: &Rule| matches!(&rule.on, On::Command { pattern, .. } if pattern.len() > 1);
        let allows = |said: &&mut Said| said.rule.decision == Decision::Allow && names(&said.rule);
        self.rules.iter_mut().filter(allows).for_each(|said| said.certain = false);
    }

    /// Whether it may search a directory above the one that it runs in.
    fn climbs(&self) -> bool {
        let above = |word: &Word| text(word).split('/').any(|part| part == "..");
        matches!(self.name().map(base), Some("diff" | "grep" | "rg")) && self.command.words.iter().any(above)
    }

    /// Whether anybody could be asked about it.
    pub(crate) fn counts(&self) -> bool {
        self.known != Known::ReadOnly || self.writes().next().is_some()
    }

    /// The files that its output goes to.
    pub fn writes(&self) -> impl Iterator<Item = &Word> {
        let redirects = self.command.redirects.iter().filter_map(|redirect| match redirect {
            Redirect::Write(to) | Redirect::Append(to) | Redirect::ReadWrite(to) => Some(to),
            Redirect::Read(_) | Redirect::Text(_) => None,
        });
        redirects.filter(|to| !literal(to).is_some_and(|to| SINKS.contains(&to)))
    }

    /// What the rules decide, if they decide anything.
    pub fn decision(&self) -> Option<Decision> {
        let strictest = self.rules.iter().find_map(|said| match (said.rule.decision, said.certain) {
            (Decision::Forbid, true) => Some(Decision::Forbid),
            // Whoever wrote it would want to know.
            (Decision::Forbid, false) | (Decision::Ask, _) => Some(Decision::Ask),
            (Decision::Allow, _) => None,
        });
        strictest.or_else(|| self.allowed_by().map(|_| Decision::Allow))
    }

    /// The rule that allows it, if it is as the rule means it: every word known, no variable set for it, a program that
    /// lies where it should, and no danger that the rule itself does not name.
    pub fn allowed_by(&self) -> Option<&Said> {
        if !self.rules.iter().any(|said| said.rule.decision == Decision::Allow) {
            return None;
        }
        let argv = self.argv()?;
        // A rule about words says nothing about variables, nor about where its data comes from and goes to.
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

    /// The rule that allows the command by its first words, and the word that it does not cover: an option that changes what
    /// runs, or where it writes.
    pub fn uncovered(&self) -> Option<(&Rule, &str)> {
        let argv = self.argv()?;
        self.rules.iter().find_map(|said| Some((&said.rule, said.beyond(&argv)?)))
    }

    fn bind(&mut self, look: &mut dyn FnMut(&str) -> Option<Program>, moves: bool) {
        if self.command.built_in {
            return;
        }
        // After a `cd` nobody knows what a path leads to.
        let relative = |name: &&str| name.contains('/') && !name.starts_with('/');
        let name = self.name().filter(|name| !(moves && relative(name)));
        self.program = name.and_then(look);
        let trusted = self.program.as_ref().is_some_and(|program| program.trusted);
        if self.known == Known::ReadOnly && !trusted {
            self.known = Known::Ordinary;
        }
        // A program that is not there cannot be the one that a rule means.
        self.program.get_or_insert_with(|| Program { path: "".into(), trusted: false });
    }
}

impl Said {
    /// The word of `argv` that the rule does not cover, though it allows the command by its first words: it changes what the
    /// command runs, or where it writes.
    fn beyond<'a>(&self, argv: &[&'a str]) -> Option<&'a str> {
        match &self.rule.on {
            On::Command { pattern, exact: false } if self.rule.decision == Decision::Allow => {
                alters(argv, pattern.len())
            }
            On::Command { .. } | On::Path { .. } | On::Tool { .. } | On::Host { .. } => None,
        }
    }

    /// Whether what is dangerous about `argv` stands in the rule's own words.
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

/// Options of git before its sub-command that take the next word.
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

/// What rules that do not allow say about the command without the options before its sub-command, and about `git-x` as
/// `git x`: whoever forbids `git push` means `git -C . push` too. Of others than git nobody knows which options take a
/// word.
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

/// The rules that may be about the command, or about one that it starts as far as is known.
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

/// A word as far as it is known, and the rest as it is written.
pub(crate) fn text(word: &Word) -> &str {
    match word {
        Word::Literal(text) | Word::Unknown(text) => text,
    }
}

/// The last part of a path.
pub(crate) fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether the command at `at` does nothing but start the one behind it.
fn is_wrapper(commands: &[Command], at: usize) -> bool {
    let wrapper = &commands[at];
    let Some(name) = literal(&wrapper.words[0]).map(base) else { return false };
    let first = wrapper.words.get(1).map(text).unwrap_or_default();
    let plain = match name {
        "ash" | "bash" | "dash" | "ksh" | "sh" | "zsh" => matches!(first, "-c" | "-lc" | "-cl"),
        // Their options change the variables, the directory or the PATH of what they start.
        "builtin" | "command" | "env" | "exec" => !first.starts_with('-'),
        _ => TRANSPARENT.contains(&name),
    };
    plain
        && commands.get(at + 1).is_some_and(|inner| {
            let by = inner.through.strip_prefix(wrapper.through.as_slice());
            matches!(by, Some([by]) if by.split(' ').next() == Some(name))
        })
}

/// How many bytes the texts of here-documents take.
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

/// Why a command deserves a look by itself, if it does so even confined.
pub(crate) fn danger_of(command: &Command) -> Option<Known> {
    Some(weigh(command, false, false)).filter(|known| matches!(known, Known::Dangerous(_)))
}

/// What is known about a command by its words, its variables and where its data comes from and goes to.
/// With `starts`, whatever words it is given by `xargs` or `find` change nothing.
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
    // A word such as `~` is not known, and says enough.
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
    // What is read in must be a file that may be read, and a text that is known.
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
