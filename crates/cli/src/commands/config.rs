//! `toolgate config`: what is in force, and why.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::json;

use crate::args::Config;
use crate::compose::directory;
use crate::config::{self, Dirs};
use crate::fault::Fault;
use crate::screen::{self, FAINT, NAME};

pub(crate) fn run(args: &Config) -> Result<ExitCode, Fault> {
    let dirs = Dirs::from_env();
    let cwd = directory(&args.place)?;
    let config = config::load(&cwd, &dirs, &args.place)?;
    let rows = config.rows();
    if args.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| json!({ "key": row.key, "value": row.value, "source": row.source.to_string() }))
            .collect();
        screen::text(&format!("{:#}", json!({ "settings": rows, "files": config.files })))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for row in rows {
        let value = screen::visible(&row.value.to_string()).into_owned();
        let source = screen::visible(&row.source.to_string()).into_owned();
        let _infallible = writeln!(text, "{NAME}{}{NAME:#} = {value}  {FAINT}# {source}{FAINT:#}", row.key);
    }
    for file in &config.files {
        let found = if file.found { "read" } else { "not there" };
        let _infallible =
            writeln!(text, "{FAINT}# {}: {found}{FAINT:#}", screen::visible(&file.path.to_string_lossy()));
    }
    screen::styled(&text)?;
    Ok(ExitCode::SUCCESS)
}
