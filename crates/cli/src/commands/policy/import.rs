//! `toolgate policy import`: converts rules of Codex or Claude into our format.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use runtime::rules::{MAX_RULE_FILE_BYTES, RuleLayer, RuleSet, import};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::format_count;
use crate::args::{ForeignRuleFormat, PolicyImportArgs};
use config::OperationFault;

pub(crate) fn run(args: &PolicyImportArgs) -> Result<ExitCode, OperationFault> {
    let text = read_rules(&args.file)?;
    let convert = |format| match format {
        ForeignRuleFormat::Codex => import::import_codex(&text, &args.file),
        ForeignRuleFormat::Claude => import::import_claude(&text, &args.file),
    };
    let imported = convert(args.from).map_err(|fault| {
        let fault = OperationFault::usage(fault.to_string());
        let (other, name) = match args.from {
            ForeignRuleFormat::Codex => (ForeignRuleFormat::Claude, "claude"),
            ForeignRuleFormat::Claude => (ForeignRuleFormat::Codex, "codex"),
        };
        match convert(other) {
            Ok(imported) if imported.rules > 0 => {
                fault.with_hint(format!("try `toolgate policy import {name}`"))
            }
            Ok(_) | Err(_) => fault,
        }
    })?;
    let out = args.out.as_deref().unwrap_or(Path::new("rules.toml"));
    // Validates the result now, so that invalid rules are not discovered later.
    RuleSet::parse(&imported.text, out, RuleLayer::User)
        .map_err(|fault| OperationFault::usage(fault.to_string()))?;
    match &args.out {
        Some(file) => write_new_file(file, &imported.text)?,
        None => terminal::print_text(&imported.text)?,
    }
    for note in &imported.notes {
        terminal::print_hint(&format!("{}: {}", note.position, note.message));
    }
    let (rules, notes) = (format_count(imported.rules, "rule"), format_count(imported.notes.len(), "note"));
    terminal::print_hint(&format!("{rules}, {notes}; read them before they are in force"));
    Ok(ExitCode::SUCCESS)
}

fn read_rules(file: &Path) -> Result<String, OperationFault> {
    let mut text = String::new();
    let max_bytes = MAX_RULE_FILE_BYTES as u64 + 1;
    let read = if file == Path::new("-") {
        std::io::stdin().take(max_bytes).read_to_string(&mut text)
    } else {
        #[expect(clippy::disallowed_methods, reason = "the user named this file, not a model")]
        File::open(file).and_then(|file| file.take(max_bytes).read_to_string(&mut text))
    };
    match read {
        Ok(_) => Ok(text),
        Err(error) => Err(OperationFault::usage(format!("`{}` cannot be read: {error}", file.display()))),
    }
}

fn write_new_file(file: &Path, text: &str) -> Result<(), OperationFault> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let opened = openat(CWD, file, flags, Mode::RUSR | Mode::WUSR);
    let done =
        opened.map_err(std::io::Error::from).and_then(|opened| File::from(opened).write_all(text.as_bytes()));
    done.map_err(|error| {
        let there = error.raw_os_error() == Some(Errno::EXIST.raw_os_error());
        let why = if there { "it is there already".to_owned() } else { error.to_string() };
        OperationFault::usage(format!("`{}` cannot be written: {why}", file.display()))
            .with_hint("without --out the rules go to standard output")
    })
}
