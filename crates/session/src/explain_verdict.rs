//! Explains the verdict on a call as words and as JSON, without running it.

use runtime::{
    ClassifiedCommand, CommandAnalysis, CommandRisk, Gate, NetworkPolicy, ToolCall, Toolgate, Verdict,
};
use serde_json::{Value, json};

/// Returns the verdict on a call as JSON.
pub fn explain_call(toolgate: &Toolgate, name: &str, arguments: String) -> Result<Value, runtime::ToolError> {
    let (gate, working_dir) = (toolgate.router().gate(), toolgate.router().working_dir());
    let tool = toolgate.router().registry().find(name)?;
    let attempt = tool.plan(&ToolCall::function("explain", name, arguments), working_dir)?;
    let (verdict, analysis) = gate.explain(tool.spec().name(), attempt.intent());
    Ok(verdict_json(gate, tool.spec().name(), &verdict, analysis.as_ref()))
}

/// Returns the verdict as one word, and its reasons as sentences.
pub fn describe_verdict(verdict: &Verdict) -> (&'static str, Vec<String>) {
    match verdict {
        Verdict::Allow(permit) if permit.grants().is_empty() => ("allow", Vec::new()),
        Verdict::Allow(permit) => {
            let gives = permit.grants().iter().map(|grant| format!("a rule or an answer lets it {grant}"));
            ("allow", gives.collect())
        }
        Verdict::Ask(question) => ("ask", question.reasons.iter().map(ToString::to_string).collect()),
        Verdict::Forbid(denial) => ("forbid", vec![crate::hints::explain(denial)]),
    }
}

/// An access that the sandbox refuses to an allowed command, and the flags that give it.
pub struct SandboxLimit {
    /// `network` or `write`.
    pub access: &'static str,
    /// The limit in a clause.
    pub text: String,
    /// The flags, each with its effect.
    pub flags: &'static str,
}

/// Returns what the sandbox refuses to an allowed call that runs more than commands which only read.
pub fn sandbox_limits(verdict: &Verdict, analysis: Option<&CommandAnalysis>) -> Vec<SandboxLimit> {
    let only_reads = |part: &ClassifiedCommand| part.risk == CommandRisk::ReadOnly;
    let Verdict::Allow(permit) = verdict else { return Vec::new() };
    let (Some(confinement), Some(analysis)) = (permit.confinement(), analysis) else { return Vec::new() };
    if analysis.commands.iter().all(only_reads) {
        return Vec::new();
    }
    let mut limits = Vec::new();
    if confinement.network != NetworkPolicy::On {
        let hosts: Vec<String> = confinement.hosts.allow.iter().map(|host| format!("`{host}`")).collect();
        let text = match hosts.is_empty() {
            true => "the sandbox reaches no host".to_owned(),
            false => format!("the sandbox reaches no host but {}", hosts.join(", ")),
        };
        let flags = "`--host NAME` allows one, `--network on` all";
        limits.push(SandboxLimit { access: "network", text, flags });
    }
    if confinement.writable.is_empty() {
        limits.push(SandboxLimit {
            access: "write",
            text: "the sandbox changes no file here".to_owned(),
            flags: "`--sandbox workspace-write` allows the working directory",
        });
    }
    limits
}

/// Returns the risk class of a command, and its reason.
pub fn describe_class(part: &ClassifiedCommand) -> (&'static str, Option<&'static str>) {
    match part.risk {
        CommandRisk::ReadOnly if part.is_wrapper => ("starts another", None),
        CommandRisk::ReadOnly => ("only reads", None),
        CommandRisk::Ordinary => ("ordinary", None),
        CommandRisk::Risky(why) => ("dangerous if not confined", Some(why)),
        CommandRisk::Dangerous(why) => ("dangerous", Some(why)),
    }
}

/// Returns the verdict and its reasons as JSON.
pub fn verdict_json(gate: &Gate, tool: &str, verdict: &Verdict, analysis: Option<&CommandAnalysis>) -> Value {
    let (word, why) = describe_verdict(verdict);
    let grants: Vec<String> = match verdict {
        Verdict::Allow(permit) => permit.grants().iter().map(ToString::to_string).collect(),
        Verdict::Ask(question) => question.grants.iter().map(ToString::to_string).collect(),
        Verdict::Forbid(_) => Vec::new(),
    };
    let rule = match verdict {
        Verdict::Ask(question) => question.proposal.as_ref().map(|proposal| proposal.rule.to_string()),
        Verdict::Allow(_) | Verdict::Forbid(_) => None,
    };
    let parts = analysis.map(|account| account.commands.iter().map(part_json).collect::<Vec<_>>());
    let undecided = analysis.map(|analysis| {
        let doubt = |doubt: &runtime::shell::UndecidedPart| json!({ "text": doubt.text, "why": doubt.why });
        analysis.undecided.iter().map(doubt).collect::<Vec<_>>()
    });
    let sets = analysis.map(|analysis| {
        let set = |(name, value, why): &(String, runtime::shell::ScriptWord, Option<&str>)| json!({ "name": name, "value": value.to_string(), "dangerous": why });
        analysis.assignments.iter().map(set).collect::<Vec<_>>()
    });
    let limits = sandbox_limits(verdict, analysis).into_iter();
    let limits = limits
        .map(|limit| json!({ "access": limit.access, "text": limit.text, "flags": limit.flags }))
        .collect::<Vec<_>>();
    json!({
        "verdict": word,
        "why": why,
        "tool": tool,
        "approval": gate.approval().as_str(),
        "sandbox": gate.sandbox().as_str(),
        "grants": grants,
        "sandbox_limits": limits,
        "rule_to_save": rule,
        "commands": parts,
        "undecided": undecided,
        "sets": sets,
        "defines": analysis.map(|account| &account.definitions),
    })
}

fn part_json(part: &ClassifiedCommand) -> Value {
    let (class, why) = describe_class(part);
    let rules: Vec<Value> = part.rules.iter().map(|rule_match| {
        let (rule, certain) = (&rule_match.rule, rule_match.certain);
        json!({
            "decision": rule.decision.as_str(), "certain": certain, "file": rule.file.display().to_string(),
            "line": rule.line, "reason": rule.reason, "unsandboxed": rule.unsandboxed,
        })
    }).collect();
    let program = part.program.as_ref().filter(|program| !program.path.as_os_str().is_empty());
    json!({
        "command": part.command.command_text(),
        "through": part.command.wrappers,
        "fed": part.command.has_piped_input,
        "class": class.replace(' ', "_"),
        "why": why,
        "decision": part.decision().map(runtime::rules::RuleDecision::as_str),
        "rules": rules,
        "not_covered": part.uncovered_word().map(|(_, word)| word),
        "program": program.map(|program| program.path.display().to_string()),
        "trusted": part.program.as_ref().map(|program| program.trusted),
        "built_in": part.command.built_in,
    })
}
