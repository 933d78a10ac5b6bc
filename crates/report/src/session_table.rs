//! Formats the list of sessions as a table that fits the terminal, with aligned columns.

use std::path::Path;

use journal::SessionSummary;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::format_amount;
use crate::session_list::{SessionStatus, describe_session};
use terminal::{FAINT, NAME};

/// The widest column of directories.
const MAX_DIRECTORY_WIDTH: usize = 40;
/// The narrowest screen that has room for all columns.
const MIN_FULL_WIDTH: usize = 110;
/// The narrowest column of directories, and of prompts.
const MIN_TEXT_WIDTH: usize = 9;
/// The space between two columns.
const GAP: usize = 2;

/// One row of the table: the cells of fixed width, and the texts that may be truncated.
struct TableRow {
    id: String,
    began: String,
    prompts: String,
    calls: String,
    state: String,
    directory: String,
    about: String,
}

/// Formats one line per session, none longer than the screen's `width`. A narrow screen has no columns for the start,
/// which the names of sessions say too, and for the counts.
pub fn format_table(sessions: &[SessionSummary], home: Option<&Path>, width: Option<usize>) -> String {
    let mut rows = vec![TableRow::head()];
    rows.extend(sessions.iter().map(|session| TableRow::from_session(session, home)));
    let is_narrow = width.is_some_and(|width| width < MIN_FULL_WIDTH);
    let fixed: Vec<String> = format_fixed_cells(&rows, is_narrow);
    let used = fixed.first().map_or(0, |cells| cells.width());
    // The last column stays empty: some terminals wrap a full line.
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(used + 1));
    let directories = directory_width(&rows, room);
    let mut text = String::new();
    for (position, (row, cells)) in rows.iter().zip(fixed).enumerate() {
        let texts = format_texts(row, directories, room);
        let rest = format!("{}{texts}", &cells[row.id.len()..]);
        text += &match position {
            0 => format!("{FAINT}{}{}{FAINT:#}\n", row.id, rest.trim_end()),
            _ => format!("{NAME}{}{NAME:#}{}\n", row.id, rest.trim_end()),
        };
    }
    text
}

impl TableRow {
    fn head() -> Self {
        let [id, began, prompts, calls, state, directory, about] =
            ["SESSION", "BEGAN (UTC)", "PROMPTS", "CALLS", "STATE", "DIRECTORY", "FIRST PROMPT OR CALL"]
                .map(str::to_owned);
        Self { id, began, prompts, calls, state, directory, about }
    }

    fn from_session(session: &SessionSummary, home: Option<&Path>) -> Self {
        let agent = session.agent.as_ref().map(|agent| format!("[{agent}] ")).unwrap_or_default();
        Self {
            id: session.id.as_str().to_owned(),
            began: format_amount::format_minute(&session.started),
            prompts: format_amount::format_count(session.prompts),
            calls: format_amount::format_count(session.calls),
            state: SessionStatus::from_listed(session).as_str().replace('_', " "),
            directory: terminal::to_one_line(&abbreviate_home(&session.cwd, home)),
            about: terminal::to_one_line(&format!("{agent}{}", describe_session(session))),
        }
    }
}

/// Formats the cells of fixed width, each as wide as the widest one of its column.
fn format_fixed_cells(rows: &[TableRow], is_narrow: bool) -> Vec<String> {
    let width = |cell: fn(&TableRow) -> &str| rows.iter().map(|row| cell(row).width()).max().unwrap_or(0);
    let (ids, begans, states) = (width(|row| &row.id), width(|row| &row.began), width(|row| &row.state));
    let (prompts, calls) = (width(|row| &row.prompts), width(|row| &row.calls));
    rows.iter()
        .map(|row| {
            let TableRow { id, began, prompts: prompt_count, calls: call_count, state, .. } = row;
            match is_narrow {
                true => format!("{id:<ids$}  {state:<states$}  "),
                false => format!(
                    "{id:<ids$}  {began:<begans$}  {prompt_count:>prompts$}  {call_count:>calls$}  {state:<states$}  "
                ),
            }
        })
        .collect()
}

/// Returns the width of the column of directories, which leaves half of `room` for the prompts.
fn directory_width(rows: &[TableRow], room: usize) -> usize {
    let widest = rows.iter().map(|row| row.directory.width()).max().unwrap_or(0);
    widest.min(MAX_DIRECTORY_WIDTH).min((room.saturating_sub(GAP) / 2).max(MIN_TEXT_WIDTH))
}

/// Formats the directory and the prompt of a row, as far as there is room.
fn format_texts(row: &TableRow, directories: usize, room: usize) -> String {
    if room < directories {
        return String::new();
    }
    let directory = truncate_start(&row.directory, directories);
    let padding = " ".repeat(directories.saturating_sub(directory.width()) + GAP);
    match room.saturating_sub(directories + GAP) {
        room if room < MIN_TEXT_WIDTH => directory,
        room => format!("{directory}{padding}{}", truncate_end(&row.about, room)),
    }
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

/// Returns the end of a directory path, which says more than its beginning: whole names if there is room for one.
fn truncate_start(directory: &str, width: usize) -> String {
    if directory.width() <= width {
        return directory.to_owned();
    }
    let fits = |(at, _): &(usize, char)| directory[*at..].width() < width;
    let cuts = || directory.char_indices().skip(1).filter(fits);
    let cut = cuts().find(|&(_, letter)| letter == '/').or_else(|| cuts().next());
    cut.map_or_else(String::new, |(at, _)| format!("…{}", &directory[at..]))
}

/// Returns the beginning of a text: whole words, unless the last one is longer than half of it.
fn truncate_end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used < width
    };
    let start: String = text.chars().take_while(fits).collect();
    let is_at_word_end = text[start.len()..].starts_with(' ');
    let word_end = start.rfind(' ').filter(|&at| !is_at_word_end && at > start.len() / 2);
    format!("{}…", start[..word_end.unwrap_or(start.len())].trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::session_list::as_json;

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
        20261116-213602-4f9a1c  2026-11-16 21:36        1  1,204  interrupted  /srv       x
        20261116-213601-000000  -                       1  1,204  cut off      -
        20261116-213600-000000  2026-11-16 21:36        1  1,204  cut off      ~/project  codex-mcp-client: exec_command cargo test
        20261116-213559-000000  2026-11-16 21:36        1  1,204  cut off      ~/project  claude-code
        ");
        assert_eq!(truncate_start(&"é".repeat(41), 40), format!("…{}", "é".repeat(39)));
        assert_eq!(truncate_start("/srv/build/agents/42/checkout", 20), "…/agents/42/checkout");
        insta::assert_snapshot!(plain(Some(80)), @r"
        SESSION                 STATE        DIRECTORY  FIRST PROMPT OR CALL
        20261117-080000-abcdef  open         ~/project  fix the tests
        20261117-080000-000001  ended        ~/project  \u{1b}[2J\u{202e}evil
        20261116-213602-4f9a1c  interrupted  /srv       x
        20261116-213601-000000  cut off      -
        20261116-213600-000000  cut off      ~/project  codex-mcp-client: exec_command…
        20261116-213559-000000  cut off      ~/project  claude-code
        ");
        assert_eq!(as_json(&sessions[4])["first_call"], "exec_command cargo test");
        insta::assert_snapshot!(as_json(&sessions[2]), @r#"{"agent":null,"calls":1204,"client":null,"cwd":"/srv","first_call":null,"first_prompt":"x","id":"20261116-213602-4f9a1c","last":"2026-11-16T21:36:09.000Z","path":"/s/20261116-213602-4f9a1c.jsonl","prompts":1,"started":"2026-11-16T21:36:02.123Z","state":"interrupted","why":"ctrl-c"}"#);
    }

    #[test]
    fn wide_letters_and_narrow_screens_keep_the_columns() {
        let prompt = "日本語のテストを直して ください and then run the whole test suite again";
        let sessions = [
            SessionSummary {
                is_open: true,
                cwd: "/home/me/プロジェクト/一/二/三".to_owned(),
                ..listed("20261117-080000-abcdef", prompt)
            },
            SessionSummary {
                cwd: "/srv/build/agents/42/checkout/with/a/long/path".to_owned(),
                ..listed("20261116-213602-4f9a1c", "fix the failing test in the parser of dates")
            },
        ];
        for width in 1..200 {
            let table = format_table(&sessions, Some(Path::new("/home/me")), Some(width));
            let table = anstream::adapter::strip_str(&table).to_string();
            for line in table.lines() {
                // The name and the state are always shown.
                assert!(line.width() < width.max(36), "{width}: {line}");
            }
        }
        let table = format_table(&sessions, Some(Path::new("/home/me")), Some(80));
        insta::assert_snapshot!(anstream::adapter::strip_str(&table).to_string(), @"
        SESSION                 STATE    DIRECTORY               FIRST PROMPT OR CALL
        20261117-080000-abcdef  open     …/一/二/三              日本語のテストを直し…
        20261116-213602-4f9a1c  cut off  …/with/a/long/path      fix the failing test…
        ");
    }
}
