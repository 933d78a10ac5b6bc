//! Finds the session, and the prompt or the client, that made the changes of a stored diff.

use std::path::Path;

use journal::{JournalEntry, JournalFault, JournalReader};

use crate::format_amount;

/// Sessions that are listed, newest first.
const MAX_LISTED: usize = 200;
/// Sessions of the directory whose journals are read.
const MAX_READ: usize = 10;
/// Characters of a prompt that are shown.
const MAX_PROMPT_CHARS: usize = 60;

/// Returns one line about the newest session in `cwd` that recorded `diff`. `None` if no session did: the change was a
/// single call, or its record has no such text because a secret in it was redacted.
///
/// # Errors
/// If the directory of sessions cannot be read.
pub fn describe_origin(sessions: &Path, cwd: &Path, diff: &str) -> Result<Option<String>, JournalFault> {
    let listed = journal::list_sessions(sessions, MAX_LISTED)?;
    let here = listed.iter().filter(|session| Path::new(&session.cwd) == cwd).take(MAX_READ);
    for session in here {
        // A journal that cannot be read recorded nothing that can be shown.
        let Ok(records) = JournalReader::open(&session.path) else { continue };
        let entries = records.map_while(Result::ok).map(|record| (record.at, record.entry));
        if let Some(about) = find_origin(entries, diff) {
            return Ok(Some(format!("session {}, {about}", session.id)));
        }
    }
    Ok(None)
}

/// Returns the time and the author of the last entry with this diff: the client, or the prompt before it.
fn find_origin(entries: impl Iterator<Item = (String, JournalEntry)>, diff: &str) -> Option<String> {
    let (mut author, mut found) = (String::new(), None);
    for (at, entry) in entries {
        if let JournalEntry::Session(settings) = entry {
            author = settings.client.map(|client| format!("calls of {client}")).unwrap_or_default();
        } else if let JournalEntry::Prompt { text, .. } = entry {
            author = quote_prompt(&text);
        } else if matches!(&entry, JournalEntry::Diff { text } if text == diff) {
            found = Some(format!("{} UTC: {author}", format_amount::format_minute(&at)));
        }
    }
    found
}

fn quote_prompt(text: &str) -> String {
    let line = terminal::to_one_line(text.trim());
    match line.char_indices().nth(MAX_PROMPT_CHARS) {
        Some((end, _)) => format!("\"{}…\"", &line[..end]),
        None => format!("\"{line}\""),
    }
}

#[cfg(test)]
mod tests {
    use journal::SessionSettings;

    use super::*;

    #[test]
    fn a_diff_is_of_the_prompt_or_the_client_before_it() {
        let at = |minute: u8| format!("2026-11-16T21:{minute:02}:02.123Z");
        let session = |client: Option<&str>| {
            JournalEntry::Session(SessionSettings {
                client: client.map(str::to_owned),
                ..SessionSettings::default()
            })
        };
        let prompt = |text: &str| JournalEntry::Prompt { text: text.to_owned(), images: Vec::new() };
        let diff = |text: &str| JournalEntry::Diff { text: text.to_owned() };
        let rows = [
            (vec![session(Some("codex")), diff("+a")], Some("2026-11-16 21:01 UTC: calls of codex")),
            (
                vec![session(None), prompt("fix\nit \u{1b}[2J"), diff("+a"), prompt("more"), diff("+b")],
                Some(r#"2026-11-16 21:02 UTC: "fix\nit \u{1b}[2J""#),
            ),
            (vec![session(None), prompt(&"x".repeat(99)), diff("+b")], None),
        ];
        for (entries, expected) in rows {
            let entries = entries.into_iter().zip(0..).map(|(entry, minute)| (at(minute), entry));
            assert_eq!(find_origin(entries, "+a").as_deref(), expected);
        }
        assert_eq!(quote_prompt(&"é".repeat(99)), format!("\"{}…\"", "é".repeat(60)));
    }
}
