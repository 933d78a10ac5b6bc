//! `toolgate policy test`: runs the examples in the rule files.

use std::process::ExitCode;

use runtime::rules::{ExampleResult, RuleFault, RuleSet};
use serde_json::{Value, json};

use super::check::fault_json;
use super::{RuleFileText, format_count, read_rule_files};
use crate::args::PolicyTestArgs;
use config::OperationFault;
use terminal::NAME;

pub(crate) fn run(args: &PolicyTestArgs) -> Result<ExitCode, OperationFault> {
    let rule_texts = read_rule_files(&args.file, args.cwd.as_deref())?;
    let results: Vec<(&RuleFileText, Result<Vec<ExampleResult>, RuleFault>)> =
        rule_texts.iter().filter_map(|rule_file| Some((rule_file, run_examples(rule_file)?))).collect();
    let holds = results
        .iter()
        .all(|(_, tried)| tried.as_ref().is_ok_and(|tried| tried.iter().all(|one| one.fault.is_none())));
    if args.json {
        let files: Vec<Value> = results.iter().map(|(page, tried)| as_json(page, tried)).collect();
        terminal::print_text(&json!({ "hold": holds, "files": files }).to_string())?;
    } else {
        for (rule_file, result) in &results {
            print_examples(rule_file, result)?;
        }
        if results.is_empty() {
            terminal::print_hint(
                "there are no rules; `toolgate policy check` says where they are looked for",
            );
        }
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the examples of a file. Returns `None` if the file does not exist.
fn run_examples(rule_file: &RuleFileText) -> Option<Result<Vec<ExampleResult>, RuleFault>> {
    match &rule_file.text {
        Ok(text) => Some(RuleSet::run_examples(text.as_ref()?, &rule_file.file, rule_file.layer)),
        Err(fault) => Some(Err(fault.clone())),
    }
}

fn print_examples(
    rule_file: &RuleFileText,
    result: &Result<Vec<ExampleResult>, RuleFault>,
) -> Result<(), OperationFault> {
    let examples = match result {
        Ok(examples) => examples,
        Err(fault) => {
            terminal::print_error(&fault.to_string());
            return Ok(());
        }
    };
    let file = rule_file.file.to_string_lossy();
    let file = terminal::escape_invisible(&file);
    let failed = examples.iter().filter(|one| one.fault.is_some()).count();
    let how = match failed {
        0 => "all hold".to_owned(),
        _ => format!("{failed} of them wrong"),
    };
    terminal::print_styled(&format!(
        "{NAME}{file}{NAME:#}: {}, {how}\n",
        format_count(examples.len(), "example")
    ))?;
    for one in examples {
        if let Some(why) = &one.fault {
            let (line, column) = (one.line, one.column);
            terminal::print_styled(&format!("  {line}:{column}: {}\n", terminal::escape_invisible(why)))?;
        }
    }
    Ok(())
}

fn as_json(rule_file: &RuleFileText, result: &Result<Vec<ExampleResult>, RuleFault>) -> Value {
    let (file, layer) = (&rule_file.file, rule_file.layer.as_str());
    let example = |one: &ExampleResult| {
        let holds = one.fault.is_none();
        json!({
            "rule": one.rule_line, "line": one.line, "column": one.column, "list": one.list, "example": one.text,
            "holds": holds, "why": one.fault,
        })
    };
    match result {
        Ok(tried) => {
            let examples: Vec<Value> = tried.iter().map(example).collect();
            json!({ "file": file, "layer": layer, "examples": examples })
        }
        Err(fault) => json!({ "file": file, "layer": layer, "fault": fault_json(fault) }),
    }
}
