//! `toolgate log verify`: verifies that journals are unchanged since they were written.

use std::process::ExitCode;

use journal::{JournalFault, VerifiedJournal};
use serde_json::{Value, json};

use crate::args::LogVerifyArgs;
use crate::exit_status::USAGE;
use crate::journals::format_amount;
use crate::journals::resolve_session::{self, ResolvedSession};
use crate::journals::timeline::describe_journal_fault;
use config::OperationFault;

pub(crate) fn run(args: &LogVerifyArgs) -> Result<ExitCode, OperationFault> {
    let directory = resolve_session::sessions_directory()?;
    let sessions = if args.sessions.is_empty() {
        resolve_session::all_sessions(&directory)?
    } else {
        args.sessions
            .iter()
            .map(|word| resolve_session::resolve(&directory, word))
            .collect::<Result<_, _>>()?
    };
    let mut worst = 0;
    // Prints each line as soon as it is known: there may be many sessions.
    for session in &sessions {
        let verified = journal::verify_journal(&session.path);
        worst = worst.max(exit_status(&verified));
        let line = if args.json {
            as_json(session, &verified).to_string()
        } else {
            format_result(session, &verified)
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

fn format_result(session: &ResolvedSession, verified: &Result<VerifiedJournal, JournalFault>) -> String {
    let name = terminal::to_one_line(&session.name);
    let Ok(VerifiedJournal { records, last_hash: head, torn }) = verified else {
        let why = verified.as_ref().err().map(describe_journal_fault).unwrap_or_default();
        return format!("{name}  wrong  {}", terminal::to_one_line(&why));
    };
    let torn = torn.map(|torn| {
        let (line, bytes) = (torn.line, format_amount::format_bytes(torn.bytes));
        format!("  (line {line} was not written to its end: {bytes}, which count for nothing)")
    });
    format!(
        "{name}  holds  {:>12}  {head}{}",
        format_amount::pluralize(*records, "line"),
        torn.unwrap_or_default()
    )
}

fn as_json(session: &ResolvedSession, verified: &Result<VerifiedJournal, JournalFault>) -> Value {
    let (session, path) = (&session.name, session.path.to_string_lossy());
    match verified {
        Ok(VerifiedJournal { records, last_hash: head, torn }) => {
            let torn = torn.map(|torn| json!({ "line": torn.line, "bytes": torn.bytes }));
            json!({ "session": session, "path": path, "holds": true, "lines": records, "head": head, "torn": torn })
        }
        Err(fault) => {
            let line = match fault {
                JournalFault::Broken { broken, .. } => Some(broken.line),
                _ => None,
            };
            json!({ "session": session, "path": path, "holds": false, "line": line, "why": describe_journal_fault(fault) })
        }
    }
}
