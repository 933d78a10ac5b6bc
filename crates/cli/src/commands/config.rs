//! `toolgate config`: shows the settings in force with the source of each, and the files that were looked for.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use runtime::rules::{RuleFault, RuleLayer, RuleSet};
use serde_json::{Value, json};

use crate::args::ConfigArgs;
use config::OperationFault;
use config::{CandidateState, ConfigRow, RowValue, SettingSource, UserDirs};
use report::format_amount;
use session::compose::working_directory;
use terminal::{FAINT, NAME};

pub(crate) fn run(args: &ConfigArgs) -> Result<ExitCode, OperationFault> {
    let (cwd, dirs) = (working_directory(&args.place)?, UserDirs::from_env()?);
    let config = config::load(&cwd, &dirs, &args.place)?;
    let rules = config::rule_files(&cwd, &dirs);
    let rows = config.rows();
    if args.json {
        let settings: Vec<Value> = rows.iter().flat_map(ConfigRow::to_json).collect();
        terminal::print_text(&format!(
            "{:#}",
            json!({
                "settings": settings, "files": config.candidates,
                "rules": rules.iter().map(|(layer, file)| rules_json(*layer, file)).collect::<Vec<_>>(),
            })
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text: String = rows.iter().map(format_row).collect();
    for file in &config.candidates {
        let found = match file.found {
            CandidateState::Read => "read",
            CandidateState::NotThere => "not there",
            CandidateState::NotYours => "left alone: it belongs to another user",
        };
        let path = file.path.to_string_lossy();
        let _infallible = writeln!(text, "{FAINT}# {}: {found}{FAINT:#}", terminal::escape_invisible(&path));
    }
    for (layer, file) in &rules {
        let (path, state) = (file.to_string_lossy(), describe_rules(*layer, file));
        let line = format!("{path}: {state}");
        let _infallible = writeln!(text, "{FAINT}# {}{FAINT:#}", terminal::escape_invisible(&line));
    }
    terminal::print_styled(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a rules file; `None` if there is none.
fn read_rules(layer: RuleLayer, file: &Path) -> Result<Option<RuleSet>, RuleFault> {
    let text = exec::rules::read(file, layer)?;
    text.map(|text| RuleSet::parse(&text, file, layer)).transpose()
}

/// Describes a rules file: its number of rules, or why there are none.
fn describe_rules(layer: RuleLayer, file: &Path) -> String {
    match read_rules(layer, file) {
        Ok(None) => "not there".to_owned(),
        Ok(Some(rules)) => format!("read, {}", format_amount::pluralize(rules.len() as u64, "rule")),
        Err(_) => "wrong, so nothing runs; `toolgate policy check` says why".to_owned(),
    }
}

fn rules_json(layer: RuleLayer, file: &Path) -> Value {
    let (path, layer_name) = (file.to_string_lossy(), layer.as_str());
    match read_rules(layer, file) {
        Ok(rules) => {
            let count = rules.map(|rules| rules.len());
            json!({ "path": path, "layer": layer_name, "found": count.is_some(), "rules": count })
        }
        Err(fault) => {
            json!({ "path": path, "layer": layer_name, "found": true, "fault": fault.to_string() })
        }
    }
}

/// Formats the row as TOML, valid in a configuration file.
fn format_row(ConfigRow { key, value }: &ConfigRow) -> String {
    let safe = |value: &Value| terminal::escape_invisible(&config::to_toml(value)).into_owned();
    let key = terminal::escape_invisible(key);
    let from = |source: &SettingSource| {
        format!("{FAINT}# {}{FAINT:#}", terminal::escape_invisible(&source.to_string()))
    };
    match value {
        RowValue::Unset => format!("{FAINT}# {key} is not set{FAINT:#}\n"),
        RowValue::One(value, source) => format!("{NAME}{key}{NAME:#} = {}  {}\n", safe(value), from(source)),
        RowValue::List(values) => {
            let rows = values.iter().map(|(value, source)| format!("  {},  {}\n", safe(value), from(source)));
            format!("{NAME}{key}{NAME:#} = [\n{}]\n", rows.collect::<String>())
        }
    }
}
