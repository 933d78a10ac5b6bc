//! `toolgate log`: lists, shows, verifies and exports recorded sessions.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use journal::{JournalEnding, JournalFault, JournalReader, SessionTimeline, TextBudget, VerifiedJournal};

use crate::args::{LogArgs, LogCommand, LogVerifyArgs};
use crate::exit_status::USAGE;
use config::flags::WorkspaceArgs;
use config::{OperationFault, UserDirs};
use report::resolve_session::{self, ResolvedSession};
use report::{page, session_list, session_table, session_text, verify_result};
use runtime::PlainHttp;
use session::compose::working_directory;

pub(crate) fn run(args: &LogArgs) -> Result<ExitCode, OperationFault> {
    match &args.command {
        Some(LogCommand::Verify(args)) => return verify_sessions(args),
        Some(LogCommand::Prune(args)) => return super::log_prune::run(args),
        None => {}
    }
    let directory = resolve_session::sessions_directory()?;
    let Some(word) = &args.session else { return list_sessions(&directory, args) };
    let session = resolve_session::resolve(&directory, word)?;
    if let Some(url) = &args.otlp {
        return export_session(&session, url, plain_http(args)?);
    }
    if args.json {
        return print_journal_lines(&session);
    }
    let timeline = SessionTimeline::read(&session.path, TextBudget::for_display())
        .map_err(|fault| OperationFault::usage(fault.to_string()))?;
    match args.html.as_deref() {
        None => terminal::print_styled(&session_text::render(
            &session.name,
            &timeline,
            terminal::terminal_width(),
        ))?,
        Some(file) if file.as_os_str() == OsStr::new("-") => {
            let mut out = io::stdout().lock();
            out.write_all(page::render(&session.name, &timeline).as_bytes())?;
            out.flush()?;
        }
        Some(file) => {
            save_page(file, &page::render(&session.name, &timeline))?;
            let saved = terminal::to_one_line(&file.display().to_string());
            terminal::print_stderr(&format!("written: {saved}"));
        }
    }
    Ok(match timeline.ending {
        JournalEnding::Broken(fault) => report_changed(&session, &fault.without_path()),
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
            return Ok(report_changed(session, &fault.without_path()));
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

/// Lists the sessions.
fn list_sessions(directory: &Path, args: &LogArgs) -> Result<ExitCode, OperationFault> {
    let sessions = journal::list_sessions(directory, args.number.into())
        .map_err(|fault| OperationFault::failed(fault.to_string()))?;
    if args.json {
        for session in &sessions {
            terminal::print_text(&session_list::as_json(session).to_string())?;
        }
    } else if sessions.is_empty() {
        terminal::print_hint(&format!("there are no sessions in `{}` yet", directory.display()));
    } else {
        let home = UserDirs::from_env()?.home;
        terminal::print_styled(&session_table::format_table(
            &sessions,
            home.as_deref(),
            terminal::terminal_width(),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Verifies that journals are unchanged since they were written.
fn verify_sessions(args: &LogVerifyArgs) -> Result<ExitCode, OperationFault> {
    let directory = resolve_session::sessions_directory()?;
    let sessions = if args.sessions.is_empty() {
        resolve_session::all_sessions(&directory)?
    } else {
        args.sessions
            .iter()
            .map(|word| resolve_session::resolve(&directory, word))
            .collect::<Result<_, _>>()?
    };
    if args.hash.is_some() && sessions.len() != 1 {
        return Err(OperationFault::usage("--hash is of one session"));
    }
    let mut worst = 0;
    // Prints each line as soon as it is known: there may be many sessions.
    for session in &sessions {
        let verified = match &args.hash {
            Some(kept) => journal::verify_journal_has(&session.path, kept),
            None => journal::verify_journal(&session.path),
        };
        worst = worst.max(exit_status(&verified));
        let line = if args.json {
            verify_result::as_json(session, &verified).to_string()
        } else {
            verify_result::format_result(session, &verified)
        };
        terminal::print_text(&line)?;
    }
    if sessions.is_empty() {
        terminal::print_hint(&format!("there are no sessions in `{}` yet", directory.display()));
    }
    Ok(ExitCode::from(worst))
}

/// Returns the exit status for one session: 0 verified, 1 not verified, 2 not found.
fn exit_status(verified: &Result<VerifiedJournal, JournalFault>) -> u8 {
    match verified {
        Ok(_) => 0,
        Err(JournalFault::Unusable { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => USAGE,
        Err(_) => 1,
    }
}

/// Returns the hosts that may be asked over plain HTTP: as the flag or the configuration says.
fn plain_http(args: &LogArgs) -> Result<PlainHttp, OperationFault> {
    let place = WorkspaceArgs::default();
    let is_configured = || {
        let config = config::load(&working_directory(&place)?, &UserDirs::from_env()?, &place)?;
        Ok::<bool, OperationFault>(config.insecure_http.value)
    };
    let is_allowed = args.insecure_http || is_configured()?;
    Ok(if is_allowed { PlainHttp::PrivateNetwork } else { PlainHttp::Loopback })
}

/// Sends the session to an OpenTelemetry collector, and prints the number of spans.
fn export_session(
    session: &ResolvedSession,
    url: &str,
    plain: PlainHttp,
) -> Result<ExitCode, OperationFault> {
    let sent = super::block_on_current_thread(report::otlp::export_session(session, url, plain))?;
    terminal::print_text(&format!("sent {} spans of {} to {}", sent.spans, sent.session, sent.host))?;
    Ok(sent.incomplete_reason.map_or(ExitCode::SUCCESS, |why| {
        terminal::print_error(&format!("`{}` was sent only in part: {why}", session.name));
        ExitCode::FAILURE
    }))
}
