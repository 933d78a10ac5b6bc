//! `toolgate policy explain`: shows the verdict on a call and its reasons, without running it.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use exec::this_machine::describe_untrusted;
use runtime::{CommandAnalysis, Gate, Intent, ToolCall, Toolgate, Verdict, WorkingDir};
use serde_json::json;
use session::explain_verdict::{describe_class, describe_verdict, sandbox_limits, verdict_json};

use crate::args::{OutputFormat, PolicyExplainArgs};
use config::OperationFault;
use session::compose::compose;
use terminal::{FAINT, NAME};

/// The exit status for a call that needs approval.
const EXIT_NEEDS_APPROVAL: u8 = 3;

pub(crate) fn run(args: &PolicyExplainArgs) -> Result<ExitCode, OperationFault> {
    let composed = compose(&args.place)?;
    let cwd = session::compose::working_directory(&args.place)?;
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
            terminal::print_text(&verdict_json(gate, &tool, &verdict, analysis.as_ref()).to_string())?;
        }
        false => terminal::print_styled(&format_text(gate, &verdict, analysis.as_ref(), &cwd))?,
    }
    if let [word] = args.argv.as_slice()
        && word.contains(char::is_whitespace)
    {
        terminal::print_hint("that is one word, the name of a program; did you mean --script?");
    }
    Ok(match verdict {
        Verdict::Allow(_) => ExitCode::SUCCESS,
        Verdict::Ask(_) => ExitCode::from(EXIT_NEEDS_APPROVAL),
        Verdict::Forbid(_) => ExitCode::FAILURE,
    })
}

/// Returns the name of the tool, and the intent of the call.
fn parse_call(
    args: &PolicyExplainArgs,
    toolgate: &Toolgate,
    cwd: &Path,
) -> Result<(String, Intent), OperationFault> {
    let (name, arguments) = match (&args.tool, &args.script) {
        (Some(tool), _) => (tool.as_str(), args.json.clone().unwrap_or_default()),
        (None, Some(script)) => ("shell_command", json!({ "command": script }).to_string()),
        (None, None) => ("shell", json!({ "command": args.argv }).to_string()),
    };
    let wrong = |error: runtime::ToolError| OperationFault::usage(error.to_string());
    let tool = toolgate.router().registry().find(name).map_err(wrong)?;
    let working_dir = WorkingDir { cwd: cwd.to_owned() };
    let attempt = tool.plan(&ToolCall::function("explain", name, arguments), &working_dir).map_err(wrong)?;
    Ok((tool.spec().name().to_owned(), attempt.intent().clone()))
}

fn format_text(gate: &Gate, verdict: &Verdict, analysis: Option<&CommandAnalysis>, cwd: &Path) -> String {
    let (word, why) = describe_verdict(verdict);
    let mut out = format!("{NAME}{word}{NAME:#}");
    let (approval, sandbox) = (gate.approval(), gate.sandbox().as_str());
    let _ = writeln!(out, "{FAINT} under approval {approval}, sandbox {sandbox}{FAINT:#}");
    for why in &why {
        let _ = writeln!(out, "  because {}", terminal::escape_invisible(why));
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
        let _ = writeln!(out, "  {} {FAINT}[{class}{why}]{FAINT:#}", terminal::escape_invisible(&command));
        for rule_match in &part.rules {
            let may = if rule_match.certain { "" } else { "perhaps " };
            let (rule, decision) = (&rule_match.rule, rule_match.rule.decision.as_str());
            let reason = rule.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let place = format!("{}:{}", rule.file.display(), rule.line);
            let line = format!("{may}{decision} by {place}{reason}");
            let _ = writeln!(out, "      {}", terminal::escape_invisible(&line));
        }
        if let Some((_, word)) = part.uncovered_word() {
            let line = format!("the rule does not cover `{word}`: it changes what runs, or where it writes");
            let _ = writeln!(out, "      {}", terminal::escape_invisible(&line));
        }
        if let Some(program) = part.program.as_ref().filter(|program| !program.trusted) {
            let what = match program.path.as_os_str().is_empty() {
                true => "no program of that name is found".to_owned(),
                false => format!("{} {}", program.path.display(), describe_untrusted(&program.path, cwd)),
            };
            let _ = writeln!(out, "      {}", terminal::escape_invisible(&what));
        }
    }
    for (name, value, why) in &analysis.assignments {
        let why = why.map(|why| format!(" {FAINT}[dangerous: {why}]{FAINT:#}")).unwrap_or_default();
        let _ = writeln!(out, "  sets {}{why}", terminal::escape_invisible(&format!("{name}={value}")));
    }
    for name in &analysis.definitions {
        let _ = writeln!(out, "  defines {}", terminal::escape_invisible(name));
    }
    for limit in sandbox_limits(verdict, Some(analysis)) {
        let _ =
            writeln!(out, "  {}; {FAINT}{}{FAINT:#}", terminal::escape_invisible(&limit.text), limit.flags);
    }
    for doubt in &analysis.undecided {
        let _ = writeln!(out, "  not decided: {}: {}", doubt.why, terminal::escape_invisible(&doubt.text));
    }
    out
}
