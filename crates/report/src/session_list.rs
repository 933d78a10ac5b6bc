//! Formats the list of sessions, as a table and as JSON.

use std::path::Path;

use journal::SessionSummary;
use runtime::ToolCall;
use serde_json::{Value, json};
use session::call_title;

use crate::format_amount;
use terminal::{FAINT, NAME};

/// Characters of a directory that are shown.
const MAX_DIRECTORY_CHARS: usize = 40;

/// The state of a session.
#[derive(Debug, PartialEq, Eq)]
enum SessionStatus<'a> {
    Open,
    Ended(&'a str),
    Interrupted(&'a str),
    /// No process writes to the journal, and it has no end record.
    CutOff,
}

impl<'a> SessionStatus<'a> {
    fn from_listed(session: &'a SessionSummary) -> Self {
        match session {
            SessionSummary { is_open: true, .. } => Self::Open,
            SessionSummary { ended: Some(why), .. } => Self::Ended(why),
            SessionSummary { interrupted: Some(why), .. } => Self::Interrupted(why),
            SessionSummary { .. } => Self::CutOff,
        }
    }

    fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ended(_) => "ended",
            Self::Interrupted(_) => "interrupted",
            Self::CutOff => "cut_off",
        }
    }

    fn why(&self) -> Option<&str> {
        match self {
            Self::Ended(why) | Self::Interrupted(why) => Some(why),
            Self::Open | Self::CutOff => None,
        }
    }
}

/// Formats one line per session, none longer than the screen's `width`.
pub fn format_table(sessions: &[SessionSummary], home: Option<&Path>, width: Option<usize>) -> String {
    let head = format_row("SESSION", "BEGAN (UTC)", ["PROMPTS", "CALLS", "STATE"]);
    let mut text = format!("{FAINT}{head}DIRECTORY  FIRST PROMPT OR CALL{FAINT:#}\n");
    for session in sessions {
        let (prompts, calls) =
            (format_amount::format_count(session.prompts), format_amount::format_count(session.calls));
        let state = SessionStatus::from_listed(session).as_str().replace('_', " ");
        let id = session.id.as_str();
        let rest =
            format_row("", &format_amount::format_minute(&session.started), [&prompts, &calls, &state]);
        let agent = session.agent.as_ref().map(|agent| format!("[{agent}] ")).unwrap_or_default();
        let about = format!(
            "{}  {agent}{}",
            truncate_start(&abbreviate_home(&session.cwd, home)),
            describe_session(session)
        );
        let line = truncate_line(
            &format!("{}{}", rest.trim_start(), terminal::to_one_line(&about)),
            width,
            id.len() + 2,
        );
        text += &format!("{NAME}{id}{NAME:#}  {}\n", line.trim_end());
    }
    text
}

/// Describes a session by its first prompt. A session whose calls come from a client program has no prompts: it is
/// described by that program and the first call.
pub fn describe_session(session: &SessionSummary) -> String {
    let Some(client) = session.client.as_ref().filter(|_| session.first_prompt.is_empty()) else {
        return session.first_prompt.clone();
    };
    match first_call_title(session) {
        Some(title) => format!("{client}: {title}"),
        None => client.clone(),
    }
}

fn first_call_title(session: &SessionSummary) -> Option<String> {
    let call = session.first_client_call.as_ref()?;
    Some(call_title::title(&ToolCall::function(
        call.id.as_str(),
        call.tool.as_str(),
        call.arguments.as_str(),
    )))
}

fn format_row(id: &str, began: &str, [prompts, calls, state]: [&str; 3]) -> String {
    format!("{id:<22}  {began:<16}  {prompts:>7}  {calls:>5}  {state:<11}  ")
}

/// Truncates a line to the width that is left after `before` columns.
fn truncate_line(line: &str, width: Option<usize>, before: usize) -> String {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(before + 1));
    if line.chars().count() <= room {
        return line.to_owned();
    }
    line.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// Abbreviates the home directory to `~`.
fn abbreviate_home(cwd: &str, home: Option<&Path>) -> String {
    let below = home.and_then(|home| Path::new(cwd).strip_prefix(home).ok());
    match below.map(|below| below.to_string_lossy()) {
        Some(below) if below.is_empty() => "~".to_owned(),
        Some(below) => format!("~/{below}"),
        None if cwd.is_empty() => "-".to_owned(),
        None => cwd.to_owned(),
    }
}

/// Returns the end of a directory path, which says more than its beginning.
fn truncate_start(directory: &str) -> String {
    match directory.char_indices().rev().nth(MAX_DIRECTORY_CHARS - 1) {
        Some((at, _)) if at > 0 => format!("…{}", &directory[at..]),
        Some(_) | None => directory.to_owned(),
    }
}

/// Returns one session as JSON.
pub fn as_json(session: &SessionSummary) -> Value {
    let state = SessionStatus::from_listed(session);
    json!({
        "id": session.id.as_str(), "path": session.path.to_string_lossy(), "started": session.started,
        "last": session.last, "cwd": session.cwd, "prompts": session.prompts, "calls": session.calls,
        "first_prompt": session.first_prompt, "state": state.as_str(), "why": state.why(), "agent": session.agent, "client": session.client,
        "first_call": first_call_title(session),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: &str, prompt: &str) -> SessionSummary {
        SessionSummary {
            id: id.parse().unwrap(),
            path: format!("/s/{id}.jsonl").into(),
            started: "2026-11-16T21:36:02.123Z".to_owned(),
            last: "2026-11-16T21:36:09.000Z".to_owned(),
            cwd: "/home/me/project".to_owned(),
            prompts: 1,
            first_prompt: prompt.to_owned(),
            calls: 1204,
            ended: None,
            interrupted: None,
            agent: None,
            client: None,
            first_client_call: None,
            is_open: false,
        }
    }

    fn some(why: &str) -> Option<String> {
        Some(why.to_owned())
    }

    #[test]
    fn each_session_is_listed_on_one_line() {
        let sessions = [
            SessionSummary {
                is_open: true,
                ended: some("x"),
                ..listed("20261117-080000-abcdef", "fix the tests")
            },
            SessionSummary {
                ended: some("done"),
                ..listed("20261117-080000-000001", "\u{1b}[2J\u{202e}evil")
            },
            SessionSummary {
                interrupted: some("ctrl-c"),
                cwd: "/srv".to_owned(),
                ..listed("20261116-213602-4f9a1c", "x")
            },
            SessionSummary {
                started: String::new(),
                cwd: String::new(),
                ..listed("20261116-213601-000000", "")
            },
            SessionSummary {
                client: some("codex-mcp-client"),
                first_client_call: serde_json::from_value(json!({
                    "id": "mcp-1", "tool": "exec_command", "form": "function", "arguments": r#"{"cmd": "cargo test\nx"}"#,
                }))
                .unwrap(),
                ..listed("20261116-213600-000000", "")
            },
            SessionSummary { client: some("claude-code"), ..listed("20261116-213559-000000", "") },
        ];
        let plain = |width| {
            anstream::adapter::strip_str(&format_table(&sessions, Some(Path::new("/home/me")), width))
                .to_string()
        };
        insta::assert_snapshot!(plain(None), @r"
        SESSION                 BEGAN (UTC)       PROMPTS  CALLS  STATE        DIRECTORY  FIRST PROMPT OR CALL
        20261117-080000-abcdef  2026-11-16 21:36        1  1,204  open         ~/project  fix the tests
        20261117-080000-000001  2026-11-16 21:36        1  1,204  ended        ~/project  \u{1b}[2J\u{202e}evil
        20261116-213602-4f9a1c  2026-11-16 21:36        1  1,204  interrupted  /srv  x
        20261116-213601-000000  -                       1  1,204  cut off      -
        20261116-213600-000000  2026-11-16 21:36        1  1,204  cut off      ~/project  codex-mcp-client: exec_command cargo test
        20261116-213559-000000  2026-11-16 21:36        1  1,204  cut off      ~/project  claude-code
        ");
        assert_eq!(truncate_start(&"é".repeat(41)), format!("…{}", "é".repeat(40)));
        assert_eq!(truncate_start(&"é".repeat(40)), "é".repeat(40));
        assert!(plain(Some(80)).lines().skip(1).all(|line| line.chars().count() < 80));
        assert_eq!(as_json(&sessions[4])["first_call"], "exec_command cargo test");
        insta::assert_snapshot!(as_json(&sessions[2]), @r#"{"agent":null,"calls":1204,"client":null,"cwd":"/srv","first_call":null,"first_prompt":"x","id":"20261116-213602-4f9a1c","last":"2026-11-16T21:36:09.000Z","path":"/s/20261116-213602-4f9a1c.jsonl","prompts":1,"started":"2026-11-16T21:36:02.123Z","state":"interrupted","why":"ctrl-c"}"#);
    }
}
