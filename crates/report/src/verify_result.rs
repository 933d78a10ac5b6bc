//! Formats the result of verifying a journal, as text and as JSON.

use journal::{JournalFault, VerifiedJournal};
use serde_json::{Value, json};

use crate::format_amount;
use crate::resolve_session::ResolvedSession;

/// Returns the result for one session as a line of text.
pub fn format_result(session: &ResolvedSession, verified: &Result<VerifiedJournal, JournalFault>) -> String {
    let name = terminal::to_one_line(&session.name);
    let Ok(VerifiedJournal { records, last_hash: head, torn }) = verified else {
        let why = verified.as_ref().err().map(JournalFault::without_path).unwrap_or_default();
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

/// Returns the result for one session as JSON.
pub fn as_json(session: &ResolvedSession, verified: &Result<VerifiedJournal, JournalFault>) -> Value {
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
            json!({ "session": session, "path": path, "holds": false, "line": line, "why": fault.without_path() })
        }
    }
}
