//! A question in words, for people and for programs alike.

use serde::{Deserialize, Serialize};
use toolgate::rules::{Decision, Rule};
use toolgate::{CommandLine, Confinement, Effect, Grant, Known, Network, Part, Question, SandboxPolicy};

/// What a session is where somebody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// It ends with the one call.
    Call,
    /// It goes on, with other calls.
    Server,
}

/// One answer that can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Choice {
    Once,
    Session,
    Always,
    No,
    Note,
    Stop,
}

impl Choice {
    /// The key on a terminal and what it means, if it means anything there.
    pub(super) fn key(self, scope: Scope) -> Option<(char, &'static str)> {
        match self {
            Self::Once => Some(('y', "yes, once")),
            Self::Session if scope == Scope::Call => None,
            Self::Session => Some(('s', "yes, and exactly this again until the server ends")),
            Self::Always => Some(('a', "yes, always: first shows the rule that would be saved")),
            Self::No => Some(('n', "no")),
            Self::Note => Some(('e', "no, with a note to the model")),
            Self::Stop => Some(('q', "stop everything")),
        }
    }

    /// The decision, as programs spell it. A note goes with any no.
    pub(crate) fn decision(self) -> &'static str {
        match self {
            Self::Once => "approved",
            Self::Session => "approved_for_session",
            Self::Always => "approved_with_rule",
            Self::No | Self::Note => "denied",
            Self::Stop => "abort",
        }
    }
}

/// The answers that make sense for `question`.
pub(crate) fn choices(question: &Question) -> Vec<Choice> {
    let hooked = question.why.iter().any(|why| matches!(why, toolgate::Cause::Hook { .. }));
    let makes_sense = |choice: &Choice| match choice {
        // A hook asks every time.
        Choice::Session => !hooked,
        Choice::Always => question.proposal.is_some(),
        Choice::Once | Choice::No | Choice::Note | Choice::Stop => true,
    };
    let all = [Choice::Once, Choice::Session, Choice::Always, Choice::No, Choice::Note, Choice::Stop];
    all.into_iter().filter(makes_sense).collect()
}

/// The script that a shell is given, if `line` starts one.
pub(crate) fn script(line: &CommandLine) -> Option<&str> {
    const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];
    let [shell, flag, script] = &line.argv[..] else { return None };
    let name = shell.rsplit('/').next().unwrap_or(shell);
    (SHELLS.contains(&name) && matches!(flag.as_str(), "-c" | "-lc")).then_some(script)
}

/// Each part that is more than a shell around the others: the command, what it counts as, and why.
pub(crate) fn classes(question: &Question) -> Vec<(String, &'static str, Option<String>)> {
    let whole = Whole::of(question);
    let parts = question.account.iter().flat_map(|account| &account.parts).filter(|part| !part.wraps);
    let described = parts.map(|part| {
        let (class, why) = class(part);
        (line(part, &whole), class, why)
    });
    described.collect()
}

/// Why it is asked, without repeating what is shown anyway.
pub(super) fn why(question: &Question) -> Vec<String> {
    let whole = Whole::of(question);
    let parts: Vec<(String, String)> = question
        .account
        .iter()
        .flat_map(|account| &account.parts)
        .map(|part| (part.command.line(), line(part, &whole)))
        .filter(|(whole, short)| whole != short)
        .collect();
    let shorter =
        |cause: String| parts.iter().fold(cause, |cause, (whole, short)| cause.replace(whole, short));
    question.why.iter().map(|cause| shorter(cause.for_user())).collect()
}

/// What a part counts as, and why.
fn class(part: &Part) -> (&'static str, Option<String>) {
    let by_rule = |says: &str| {
        let said = part.rules.first().map(|said| place(&said.rule));
        said.map(|place| format!("the rule at {place} {says} it"))
    };
    match (part.decision(), part.known) {
        (Some(Decision::Forbid), _) => ("forbidden", by_rule("forbids")),
        (Some(Decision::Ask), _) => ("asked", by_rule("asks about")),
        (Some(Decision::Allow), _) => {
            let rule = part.allowed_by().map(|said| place(&said.rule));
            ("allowed", rule.map(|place| format!("by the rule at {place}")))
        }
        (None, Known::ReadOnly) => ("reads", None),
        (None, Known::Ordinary) => ("ordinary", uncovered(part)),
        (None, Known::Risky(why)) => ("dangerous if not confined", Some(why.to_owned())),
        (None, Known::Dangerous(why)) => ("dangerous", Some(why.to_owned())),
    }
}

/// Why a rule that allows the command by its first words does not count.
fn uncovered(part: &Part) -> Option<String> {
    let (rule, word) = part.uncovered()?;
    Some(format!("the rule at {} does not cover `{word}`", place(rule)))
}

fn place(rule: &Rule) -> String {
    format!("{}:{}", rule.file.display(), rule.line)
}

/// What is shown beside the parts: the whole command, without the letters that quote others.
struct Whole(String);

impl Whole {
    fn of(question: &Question) -> Self {
        let lines = question.intent.effects.iter().filter_map(|effect| match effect {
            Effect::Exec(line) => Some(line.argv.join(" ")),
            Effect::Read(_)
            | Effect::Write(_)
            | Effect::Network(_)
            | Effect::Type(_)
            | Effect::Foreign(_)
            | Effect::Remember(_) => None,
        });
        Self(lines.map(|line| Self::bare(&line)).collect())
    }

    fn shows(&self, text: &str) -> bool {
        self.0.contains(&Self::bare(text))
    }

    fn bare(text: &str) -> String {
        text.replace(['\\', '"', '\''], "")
    }
}

/// A part on one line. Scripts within it, and the texts of here-documents, are shown whole elsewhere.
fn line(part: &Part, whole: &Whole) -> String {
    use toolgate::shell::{Redirect, Word};
    /// The script of a shell, and the text of a here-document.
    const SHORT: usize = 40;
    /// Any other word: a path is seldom longer, and a script seldom shorter.
    const WORD: usize = 120;
    let mut command = part.command.clone();
    let most = if part.wraps { SHORT } else { WORD };
    for word in &mut command.words {
        let (Word::Literal(text) | Word::Unknown(text)) = &*word;
        if (text.len() > most || text.contains('\n')) && (part.wraps || whole.shows(text)) {
            let short = if part.wraps { "the script, as shown".to_owned() } else { short(text) };
            *word = Word::Unknown(short);
        }
    }
    for redirect in &mut command.redirects {
        if let Redirect::Text(Word::Literal(text) | Word::Unknown(text)) = redirect
            && (text.len() > SHORT || text.contains('\n'))
        {
            *redirect = Redirect::Text(Word::Unknown(short(text)));
        }
    }
    command.line()
}

/// Stands for a text that is shown with the whole command.
fn short(text: &str) -> String {
    match text.lines().count() {
        lines @ 2.. => format!("{lines} lines of text, as shown"),
        0 | 1 => format!("{} letters, as shown", text.trim_end().chars().count()),
    }
}

/// What would confine it, beside what a yes gives.
pub(crate) fn confinement(question: &Question) -> String {
    // What a server does, it does in a confinement of its own.
    if let [Effect::Foreign(foreign)] = question.intent.effects.as_slice() {
        return format!("as the server `{0}` is: `toolgate mcp get {0}` says how", foreign.server);
    }
    if let [Effect::Remember(_)] = question.intent.effects.as_slice() {
        return "nothing runs: one file of Toolgate's own state is written".to_owned();
    }
    match &question.confinement {
        Some(confinement) => confined(question, confinement),
        None if question.grants.contains(&Grant::Unconfined) => {
            "nothing: it would run without the sandbox, and may do whatever you may".to_owned()
        }
        None => match question.sandbox() {
            SandboxPolicy::External => "nothing of ours (external): something else is said to".to_owned(),
            SandboxPolicy::ReadOnly | SandboxPolicy::WorkspaceWrite | SandboxPolicy::FullAccess => {
                format!("nothing ({}): it may do whatever you may", question.sandbox().as_str())
            }
        },
    }
}

fn confined(question: &Question, confinement: &Confinement) -> String {
    let granted = |grant: Grant| question.grants.contains(&grant);
    let roots = confinement.writable.iter().filter(|root| !granted(Grant::Write((*root).clone())));
    let roots: Vec<String> = roots.map(|root| format!("`{}`", root.display())).collect();
    let writes = match &roots[..] {
        [] => "writes nothing but its own /tmp".to_owned(),
        roots => format!("writes below {} and its own /tmp", roots.join(", ")),
    };
    let hosts = confinement.hosts.allow.iter().filter(|host| !granted(Grant::Connect((*host).clone())));
    let hosts: Vec<String> = hosts.map(|host| format!("`{host}`")).collect();
    // The words of the configuration, which other sentences use too.
    let network = confinement.network.as_str();
    let talks = match (confinement.network, &hosts[..]) {
        (Network::On, _) | (Network::Off | Network::Loopback, []) => network.to_owned(),
        (Network::Off | Network::Loopback, hosts) => format!("{network}, and {}", hosts.join(", ")),
    };
    format!("{}: {writes}; network: {talks}", question.sandbox().as_str())
}
