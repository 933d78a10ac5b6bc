//! `toolgate config`: shows the settings in force and the source of each.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::args::ConfigArgs;
use config::OperationFault;
use config::{CandidateState, ConfigRow, RowValue, SettingSource, UserDirs};
use session::compose::working_directory;
use terminal::{FAINT, NAME};

pub(crate) fn run(args: &ConfigArgs) -> Result<ExitCode, OperationFault> {
    let config = config::load(&working_directory(&args.place)?, &UserDirs::from_env()?, &args.place)?;
    let rows = config.rows();
    if args.json {
        let settings: Vec<Value> = rows.iter().flat_map(ConfigRow::to_json).collect();
        terminal::print_text(&format!("{:#}", json!({ "settings": settings, "files": config.candidates })))?;
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
    terminal::print_styled(&text)?;
    Ok(ExitCode::SUCCESS)
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
