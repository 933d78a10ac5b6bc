//! Describes an approval question for terminals and programs: choices, reasons, command classes and confinement.

use runtime::rules::{PolicyRule, RuleDecision};
use runtime::{
    ApprovalQuestion, ClassifiedCommand, CommandRisk, Confinement, Effect, Grant, NetworkPolicy,
    SandboxPolicy,
};
use serde::{Deserialize, Serialize};

/// The lifetime of a session in which the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptScope {
    /// The session ends with this call.
    Call,
    /// A session of this program.
    Session,
    /// A session of a server that another program uses.
    Server,
}

/// An answer that the user can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalChoice {
    /// Approval of this call only.
    Once,
    /// Approval of identical calls until the session ends.
    Session,
    /// Approval with a rule that is saved for later sessions.
    Always,
    /// Refusal without a note.
    No,
    /// Refusal with a note to the model.
    Note,
    /// Refusal that stops all running work.
    Stop,
}

impl ApprovalChoice {
    /// Returns the terminal key and its label; `None` if the choice has no key in this scope.
    pub(crate) fn terminal_key(self, scope: PromptScope) -> Option<(char, &'static str)> {
        match self {
            Self::Once => Some(('y', "yes, once")),
            Self::Session => match scope {
                PromptScope::Call => None,
                PromptScope::Session => Some(('s', "yes, and exactly this again in this session")),
                PromptScope::Server => Some(('s', "yes, and exactly this again until the server ends")),
            },
            Self::Always => Some(('a', "yes, always: first shows the rule that would be saved")),
            Self::No => Some(('n', "no")),
            Self::Note => Some(('e', "no, with a note to the model")),
            Self::Stop => Some(('q', "stop everything")),
        }
    }

    /// Returns the decision as programs spell it. A note accompanies any refusal.
    pub fn decision_name(self) -> &'static str {
        match self {
            Self::Once => "approved",
            Self::Session => "approved_for_session",
            Self::Always => "approved_with_rule",
            Self::No | Self::Note => "denied",
            Self::Stop => "abort",
        }
    }
}

/// Returns the answers that are valid for `question`.
pub fn approval_choices(question: &ApprovalQuestion) -> Vec<ApprovalChoice> {
    let hooked = question.reasons.iter().any(|why| matches!(why, runtime::ApprovalReason::Hook { .. }));
    let makes_sense = |choice: &ApprovalChoice| match choice {
        // A hook asks every time, so an answer for the session has no effect.
        ApprovalChoice::Session => !hooked,
        ApprovalChoice::Always => question.proposal.is_some(),
        ApprovalChoice::Once | ApprovalChoice::No | ApprovalChoice::Note | ApprovalChoice::Stop => true,
    };
    let all = [
        ApprovalChoice::Once,
        ApprovalChoice::Session,
        ApprovalChoice::Always,
        ApprovalChoice::No,
        ApprovalChoice::Note,
        ApprovalChoice::Stop,
    ];
    all.into_iter().filter(makes_sense).collect()
}

/// Returns each command that is more than a shell around others, with its class and the reason for it.
pub fn command_classes(question: &ApprovalQuestion) -> Vec<(String, &'static str, Option<String>)> {
    let whole = ShownCommand::from_question(question);
    let parts =
        question.analysis.iter().flat_map(|account| &account.commands).filter(|part| !part.is_wrapper);
    let described = parts.map(|part| {
        let (class, why) = describe_class(part);
        (format_command(part, &whole), class, why)
    });
    described.collect()
}

/// Returns the reasons for asking, without texts that are shown elsewhere in the question.
pub(super) fn question_reasons(question: &ApprovalQuestion) -> Vec<String> {
    let whole = ShownCommand::from_question(question);
    let parts: Vec<(String, String)> = question
        .analysis
        .iter()
        .flat_map(|account| &account.commands)
        .map(|part| (part.command.command_text(), format_command(part, &whole)))
        .filter(|(whole, short)| whole != short)
        .collect();
    let shorter =
        |cause: String| parts.iter().fold(cause, |cause, (whole, short)| cause.replace(whole, short));
    question.reasons.iter().map(|cause| shorter(cause.to_string())).collect()
}

/// Returns the class of a part, and the reason for it.
fn describe_class(part: &ClassifiedCommand) -> (&'static str, Option<String>) {
    let by_rule = |says: &str| {
        let said = part.rules.first().map(|said| rule_location(&said.rule));
        said.map(|place| format!("the rule at {place} {says} it"))
    };
    match (part.decision(), part.risk) {
        (Some(RuleDecision::Forbid), _) => ("forbidden", by_rule("forbids")),
        (Some(RuleDecision::Ask), _) => ("asked", by_rule("asks about")),
        (Some(RuleDecision::Allow), _) => {
            let rule = part.allowed_by().map(|said| rule_location(&said.rule));
            ("allowed", rule.map(|place| format!("by the rule at {place}")))
        }
        (None, CommandRisk::ReadOnly) => ("reads", None),
        (None, CommandRisk::Ordinary) => ("ordinary", explain_uncovered_word(part)),
        (None, CommandRisk::Risky(why)) => ("dangerous if not confined", Some(why.to_owned())),
        (None, CommandRisk::Dangerous(why)) => ("dangerous", Some(why.to_owned())),
    }
}

/// Explains why a rule that allows the command by its first words does not apply.
fn explain_uncovered_word(part: &ClassifiedCommand) -> Option<String> {
    let (rule, word) = part.uncovered_word()?;
    Some(format!("the rule at {} does not cover `{word}`", rule_location(rule)))
}

fn rule_location(rule: &PolicyRule) -> String {
    format!("{}:{}", rule.file.display(), rule.line)
}

/// The whole command as shown beside the parts, without quoting characters.
struct ShownCommand(String);

impl ShownCommand {
    fn from_question(question: &ApprovalQuestion) -> Self {
        let lines = question.intent.effects.iter().filter_map(|effect| match effect {
            Effect::Exec(exec) => Some(exec.line().argv().join(" ")),
            Effect::Read(_)
            | Effect::Write(_)
            | Effect::Network(_)
            | Effect::SendInput(_)
            | Effect::Foreign(_)
            | Effect::Remember(_) => None,
        });
        Self(lines.map(|line| Self::strip_quoting(&line)).collect())
    }

    fn shows(&self, text: &str) -> bool {
        self.0.contains(&Self::strip_quoting(text))
    }

    fn strip_quoting(text: &str) -> String {
        text.replace(['\\', '"', '\''], "")
    }
}

/// Formats a part on one line. Scripts within it and here-documents are shown in full elsewhere, so they are
/// shortened.
fn format_command(part: &ClassifiedCommand, whole: &ShownCommand) -> String {
    use runtime::shell::{ScriptRedirect, ScriptWord};
    /// Longest script or here-document text that is shown in full.
    const MAX_SCRIPT_BYTES: usize = 40;
    /// Longest other word that is shown in full: a path is seldom longer, and a script seldom shorter.
    const MAX_WORD_BYTES: usize = 120;
    let mut command = part.command.clone();
    let max_bytes = if part.is_wrapper { MAX_SCRIPT_BYTES } else { MAX_WORD_BYTES };
    for word in &mut command.words {
        let (ScriptWord::Literal(text) | ScriptWord::Unknown(text)) = &*word;
        if (text.len() > max_bytes || text.contains('\n')) && (part.is_wrapper || whole.shows(text)) {
            let short =
                if part.is_wrapper { "the script, as shown".to_owned() } else { placeholder_for(text) };
            *word = ScriptWord::Unknown(short);
        }
    }
    for redirect in &mut command.redirects {
        if let ScriptRedirect::Text(ScriptWord::Literal(text) | ScriptWord::Unknown(text)) = redirect
            && (text.len() > MAX_SCRIPT_BYTES || text.contains('\n'))
        {
            *redirect = ScriptRedirect::Text(ScriptWord::Unknown(placeholder_for(text)));
        }
    }
    command.command_text()
}

/// Returns a placeholder for a text that is shown with the whole command.
fn placeholder_for(text: &str) -> String {
    match text.lines().count() {
        lines @ 2.. => format!("{lines} lines of text, as shown"),
        0 | 1 => format!("{} letters, as shown", text.trim_end().chars().count()),
    }
}

/// Describes the confinement of the call, apart from what an approval grants.
pub fn confinement_summary(question: &ApprovalQuestion) -> String {
    // A server's call runs under the server's own confinement.
    if let [Effect::Foreign(foreign)] = question.intent.effects.as_slice() {
        return format!("as the server `{0}` is: `toolgate mcp get {0}` says how", foreign.server);
    }
    if let [Effect::Remember(_)] = question.intent.effects.as_slice() {
        return "nothing runs: one file of Toolgate's own state is written".to_owned();
    }
    match &question.confinement {
        Some(confinement) => describe_confinement(question, confinement),
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

fn describe_confinement(question: &ApprovalQuestion, confinement: &Confinement) -> String {
    let granted = |grant: Grant| question.grants.contains(&grant);
    let roots = confinement.writable.iter().filter(|root| !granted(Grant::Write((*root).clone())));
    let roots: Vec<String> = roots.map(|root| format!("`{}`", root.display())).collect();
    let writes = match &roots[..] {
        [] => "writes nothing but its own /tmp".to_owned(),
        roots => format!("writes below {} and its own /tmp", roots.join(", ")),
    };
    let hosts = confinement.hosts.allow.iter().filter(|host| !granted(Grant::Connect((*host).clone())));
    let hosts: Vec<String> = hosts.map(|host| format!("`{host}`")).collect();
    // The configuration's own words, which other sentences use too.
    let network = confinement.network.as_str();
    let talks = match (confinement.network, &hosts[..]) {
        (NetworkPolicy::On, _) | (NetworkPolicy::Off | NetworkPolicy::Loopback, []) => network.to_owned(),
        (NetworkPolicy::Off | NetworkPolicy::Loopback, hosts) => {
            format!("{network}, and {}", hosts.join(", "))
        }
    };
    format!("{}: {writes}; network: {talks}", question.sandbox().as_str())
}
