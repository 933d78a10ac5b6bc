//! `toolgate policy check`: validates rule files, and warns about rules that allow more than they seem to.

use std::process::ExitCode;

use runtime::rules::{RuleFault, RuleSet};
use serde_json::{Value, json};

use super::{RuleFileText, format_count, read_rule_files};
use crate::args::PolicyCheckArgs;
use config::OperationFault;
use terminal::{FAINT, NAME};

pub(crate) fn run(args: &PolicyCheckArgs) -> Result<ExitCode, OperationFault> {
    let rule_texts = read_rule_files(&args.file, args.cwd.as_deref())?;
    let read: Vec<(&RuleFileText, Result<Option<RuleSet>, RuleFault>)> =
        rule_texts.iter().map(|rule_file| (rule_file, parse_rules(rule_file))).collect();
    let right = read.iter().all(|(_, rules)| rules.is_ok());
    if args.json {
        let files: Vec<Value> = read.iter().map(|(rule_file, rules)| as_json(rule_file, rules)).collect();
        terminal::print_text(&json!({ "right": right, "files": files }).to_string())?;
    } else {
        for (rule_file, rules) in &read {
            print_check(rule_file, rules)?;
        }
    }
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn parse_rules(rule_file: &RuleFileText) -> Result<Option<RuleSet>, RuleFault> {
    match &rule_file.text {
        Ok(Some(text)) => RuleSet::parse(text, &rule_file.file, rule_file.layer).map(Some),
        Ok(None) => Ok(None),
        Err(fault) => Err(fault.clone()),
    }
}

fn print_check(
    rule_file: &RuleFileText,
    rules: &Result<Option<RuleSet>, RuleFault>,
) -> Result<(), OperationFault> {
    let file = rule_file.file.to_string_lossy();
    let file = terminal::escape_invisible(&file);
    match rules {
        Ok(None) => terminal::print_styled(&format!("{FAINT}{file}: not there{FAINT:#}\n"))?,
        Ok(Some(rules)) => {
            let count = format_count(rules.len(), "rule");
            terminal::print_styled(&format!("{NAME}{file}{NAME:#}: {count}, {}\n", layer_label(rule_file)))?;
            for warning in rules.warnings() {
                let why = terminal::escape_invisible(&warning.why).into_owned();
                terminal::print_styled(&format!("  line {}: {why}\n", warning.rule.line))?;
            }
        }
        Err(fault) => terminal::print_error(&fault.to_string()),
    }
    Ok(())
}

fn layer_label(rule_file: &RuleFileText) -> &'static str {
    match rule_file.layer {
        runtime::rules::RuleLayer::System => "for everybody on this machine",
        runtime::rules::RuleLayer::User => "yours",
        runtime::rules::RuleLayer::Project => "the project's",
    }
}

fn as_json(rule_file: &RuleFileText, rules: &Result<Option<RuleSet>, RuleFault>) -> Value {
    let (file, layer) = (&rule_file.file, rule_file.layer.as_str());
    match rules {
        Ok(None) => json!({ "file": file, "layer": layer, "found": false }),
        Ok(Some(rules)) => {
            let warning = |warning: &runtime::rules::RuleWarning<'_>| json!({ "line": warning.rule.line, "why": warning.why });
            let warnings: Vec<Value> = rules.warnings().iter().map(warning).collect();
            json!({ "file": file, "layer": layer, "found": true, "rules": rules.len(), "warnings": warnings })
        }
        Err(fault) => json!({ "file": file, "layer": layer, "found": true, "fault": fault_json(fault) }),
    }
}

/// Formats a fault as JSON.
pub(super) fn fault_json(fault: &RuleFault) -> Value {
    let (line, column) = fault.place.unzip();
    json!({ "line": line, "column": column, "why": fault.why })
}
