//! `toolgate log`: shows recorded sessions.

mod list;
mod page;
mod session_text;
mod text_layout;
mod verify;

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use journal::JournalReader;

use crate::args::{LogArgs, LogCommand};
use crate::journals::resolve_session::{self, ResolvedSession};
use crate::journals::timeline::{JournalEnding, SessionTimeline, describe_journal_fault};
use crate::journals::truncate::TextTruncator;
use config::OperationFault;

pub(crate) fn run(args: &LogArgs) -> Result<ExitCode, OperationFault> {
    if let Some(LogCommand::Verify(args)) = &args.command {
        return verify::run(args);
    }
    let directory = resolve_session::sessions_directory()?;
    let Some(word) = &args.session else { return list::run(&directory, args) };
    let session = resolve_session::resolve(&directory, word)?;
    #[cfg(feature = "otlp")]
    if let Some(url) = &args.otlp {
        return crate::otlp::export_session(&session, url);
    }
    if args.json {
        return print_journal_lines(&session);
    }
    let timeline = SessionTimeline::read(&session.path, TextTruncator::for_reading())
        .map_err(|fault| OperationFault::usage(fault.to_string()))?;
    match args.html.as_deref() {
        None => terminal::print_styled(&session_text::render(&session.name, &timeline))?,
        Some(file) if file.as_os_str() == OsStr::new("-") => {
            let mut out = io::stdout().lock();
            out.write_all(page::render(&session.name, &timeline).as_bytes())?;
            out.flush()?;
        }
        Some(file) => save_page(file, &page::render(&session.name, &timeline))?,
    }
    Ok(match timeline.ending {
        JournalEnding::Broken(why) => report_changed(&session, &why),
        JournalEnding::Whole | JournalEnding::Torn(_) | JournalEnding::TooLong => ExitCode::SUCCESS,
    })
}

/// Prints the lines of the session's journal.
fn print_journal_lines(session: &ResolvedSession) -> Result<ExitCode, OperationFault> {
    let mut records =
        JournalReader::open(&session.path).map_err(|fault| OperationFault::usage(fault.to_string()))?;
    let (mut out, is_terminal) = (io::BufWriter::new(io::stdout().lock()), io::stdout().is_terminal());
    // ends: with the file
    while let Some(record) = records.next() {
        if let Err(fault) = record {
            out.flush()?;
            return Ok(report_changed(session, &describe_journal_fault(&fault)));
        }
        if is_terminal {
            out.write_all(
                terminal::escape_invisible(&String::from_utf8_lossy(records.last_line())).as_bytes(),
            )?;
        } else {
            out.write_all(records.last_line())?;
        }
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn report_changed(session: &ResolvedSession, why: &str) -> ExitCode {
    terminal::print_error(&format!(
        "`{}` is shown only as far as it is as it was written: {why}",
        session.name
    ));
    ExitCode::FAILURE
}

/// Saves a page. A new file is readable only by the user, because sessions are private. Only an existing page
/// is overwritten.
fn save_page(file: &Path, page: &str) -> Result<(), OperationFault> {
    page::save_private(file, page).map_err(|error| {
        OperationFault::usage(format!("`{}` cannot be written: {error}", file.display()))
            .with_hint("`--html -` writes to standard output")
    })
}
