//! `toolgate policy explain`: shows the verdict on a call and its reasons, without running it.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use exec::this_machine::describe_untrusted;
use serde_json::{Value, json};
use toolgate::{
    ClassifiedCommand, CommandAnalysis, CommandRisk, Gate, Intent, ToolCall, Toolgate, Verdict, WorkingDir,
};

use crate::args::{OutputFormat, PolicyExplainArgs};
use crate::cli_fault::CliFault;
use crate::compose::compose;
use crate::hints;
use crate::terminal_output::{self, FAINT, NAME};

/// The exit status for a call that needs approval.
const EXIT_NEEDS_APPROVAL: u8 = 3;

pub(crate) fn run(args: &PolicyExplainArgs) -> Result<ExitCode, CliFault> {
    let composed = compose(&args.place)?;
    let cwd = crate::compose::working_directory(&args.place)?;
    let toolgate = composed.build()?;
    let cwd = exec::fs::canonicalize(&cwd).unwrap_or(cwd);
    let (tool, intent) = parse_call(args, &toolgate, &cwd)?;
    let gate = toolgate.router().gate();
    let (verdict, analysis) = gate.explain(&tool, &intent);
    let as_json = match (args.output, &args.tool) {
        (Some(output), _) => output == OutputFormat::Json,
        (None, Some(_)) => false,
        (None, None) => args.json.is_some(),
    };
    match as_json {
        true => {
            terminal_output::print_text(&format_json(gate, &tool, &verdict, analysis.as_ref()).to_string())?;
        }
        false => terminal_output::print_styled(&format_text(gate, &verdict, analysis.as_ref(), &cwd))?,
    }
    Ok(match verdict {
        Verdict::Allow(_) => ExitCode::SUCCESS,
        Verdict::Ask(_) => ExitCode::from(EXIT_NEEDS_APPROVAL),
        Verdict::Forbid(_) => ExitCode::FAILURE,
    })
}

/// Returns the verdict on a call as JSON.
pub(crate) fn explain_call(
    toolgate: &Toolgate,
    name: &str,
    arguments: String,
) -> Result<Value, toolgate::ToolError> {
    let (gate, working_dir) = (toolgate.router().gate(), toolgate.router().working_dir());
    let tool = toolgate.router().registry().find(name)?;
    let attempt = tool.plan(&ToolCall::function("explain", name, arguments), working_dir)?;
    let (verdict, analysis) = gate.explain(tool.spec().name(), attempt.intent());
    Ok(format_json(gate, tool.spec().name(), &verdict, analysis.as_ref()))
}

/// Returns the name of the tool, and the intent of the call.
fn parse_call(
    args: &PolicyExplainArgs,
    toolgate: &Toolgate,
    cwd: &Path,
) -> Result<(String, Intent), CliFault> {
    let (name, arguments) = match (&args.tool, &args.script) {
        (Some(tool), _) => (tool.as_str(), args.json.clone().unwrap_or_default()),
        (None, Some(script)) => ("shell_command", json!({ "command": script }).to_string()),
        (None, None) => ("shell", json!({ "command": args.argv }).to_string()),
    };
    let wrong = |error: toolgate::ToolError| CliFault::usage(error.to_string());
    let tool = toolgate.router().registry().find(name).map_err(wrong)?;
    let working_dir = WorkingDir { cwd: cwd.to_owned() };
    let attempt = tool.plan(&ToolCall::function("explain", name, arguments), &working_dir).map_err(wrong)?;
    Ok((tool.spec().name().to_owned(), attempt.intent().clone()))
}

/// Returns the verdict as one word, and its reasons as sentences.
fn describe_verdict(verdict: &Verdict) -> (&'static str, Vec<String>) {
    match verdict {
        Verdict::Allow(permit) if permit.grants().is_empty() => ("allow", Vec::new()),
        Verdict::Allow(permit) => {
            let gives = permit.grants().iter().map(|grant| format!("a rule or an answer lets it {grant}"));
            ("allow", gives.collect())
        }
        Verdict::Ask(question) => ("ask", question.reasons.iter().map(ToString::to_string).collect()),
        Verdict::Forbid(denial) => ("forbid", vec![hints::explain(denial)]),
    }
}

/// Returns the risk class of a command, and its reason.
fn describe_class(part: &ClassifiedCommand) -> (&'static str, Option<&'static str>) {
    match part.risk {
        CommandRisk::ReadOnly if part.is_wrapper => ("starts another", None),
        CommandRisk::ReadOnly => ("only reads", None),
        CommandRisk::Ordinary => ("ordinary", None),
        CommandRisk::Risky(why) => ("dangerous if not confined", Some(why)),
        CommandRisk::Dangerous(why) => ("dangerous", Some(why)),
    }
}

fn format_text(gate: &Gate, verdict: &Verdict, analysis: Option<&CommandAnalysis>, cwd: &Path) -> String {
    let (word, why) = describe_verdict(verdict);
    let mut out = format!("{NAME}{word}{NAME:#}");
    let (approval, sandbox) = (gate.approval(), gate.sandbox().as_str());
    let _ = writeln!(out, "{FAINT} under approval {approval}, sandbox {sandbox}{FAINT:#}");
    for why in &why {
        let _ = writeln!(out, "  because {}", terminal_output::escape_invisible(why));
    }
    let Some(analysis) = analysis else { return out };
    // The shell that runs a script is left out: it says nothing about the script.
    let shell = analysis.commands.first().is_some_and(|part| part.is_wrapper && analysis.commands.len() > 1);
    for part in analysis.commands.iter().skip(usize::from(shell)) {
        let (class, why) = describe_class(part);
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let mut command = part.command.clone();
        command.wrappers.drain(..usize::from(shell).min(command.wrappers.len()));
        let command = command.to_string();
        let _ =
            writeln!(out, "  {} {FAINT}[{class}{why}]{FAINT:#}", terminal_output::escape_invisible(&command));
        for rule_match in &part.rules {
            let may = if rule_match.certain { "" } else { "perhaps " };
            let (rule, decision) = (&rule_match.rule, rule_match.rule.decision.as_str());
            let reason = rule.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let place = format!("{}:{}", rule.file.display(), rule.line);
            let line = format!("{may}{decision} by {place}{reason}");
            let _ = writeln!(out, "      {}", terminal_output::escape_invisible(&line));
        }
        if let Some((_, word)) = part.uncovered_word() {
            let line = format!("the rule does not cover `{word}`: it changes what runs, or where it writes");
            let _ = writeln!(out, "      {}", terminal_output::escape_invisible(&line));
        }
        if let Some(program) = part.program.as_ref().filter(|program| !program.trusted) {
            let what = match program.path.as_os_str().is_empty() {
                true => "no program of that name is found".to_owned(),
                false => format!("{} {}", program.path.display(), describe_untrusted(&program.path, cwd)),
            };
            let _ = writeln!(out, "      {}", terminal_output::escape_invisible(&what));
        }
    }
    for (name, value, why) in &analysis.assignments {
        let why = why.map(|why| format!(" {FAINT}[dangerous: {why}]{FAINT:#}")).unwrap_or_default();
        let _ =
            writeln!(out, "  sets {}{why}", terminal_output::escape_invisible(&format!("{name}={value}")));
    }
    for name in &analysis.definitions {
        let _ = writeln!(out, "  defines {}", terminal_output::escape_invisible(name));
    }
    for doubt in &analysis.undecided {
        let _ =
            writeln!(out, "  not decided: {}: {}", doubt.why, terminal_output::escape_invisible(&doubt.text));
    }
    out
}

fn format_json(gate: &Gate, tool: &str, verdict: &Verdict, analysis: Option<&CommandAnalysis>) -> Value {
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
        let doubt = |doubt: &toolgate::shell::UndecidedPart| json!({ "text": doubt.text, "why": doubt.why });
        analysis.undecided.iter().map(doubt).collect::<Vec<_>>()
    });
    let sets = analysis.map(|analysis| {
        let set = |(name, value, why): &(String, toolgate::shell::ScriptWord, Option<&str>)| json!({ "name": name, "value": value.to_string(), "dangerous": why });
        analysis.assignments.iter().map(set).collect::<Vec<_>>()
    });
    json!({
        "verdict": word,
        "why": why,
        "tool": tool,
        "approval": gate.approval().as_str(),
        "sandbox": gate.sandbox().as_str(),
        "grants": grants,
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
        "decision": part.decision().map(toolgate::rules::RuleDecision::as_str),
        "rules": rules,
        "not_covered": part.uncovered_word().map(|(_, word)| word),
        "program": program.map(|program| program.path.display().to_string()),
        "trusted": part.program.as_ref().map(|program| program.trusted),
        "built_in": part.command.built_in,
    })
}
