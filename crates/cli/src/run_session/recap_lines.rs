//! The lines about the last turn of a resumed session.

use anstream::adapter::strip_str;
use session::{EarlierCall, EarlierCallState, LastTurn};
use terminal::{FAINT, MarkdownStream, escape_invisible, wrap_words};

use super::call_lines::format_duration;
use super::status_lines::truncate_to_width;

/// Maximum lines of the prompt and of the answer.
const MAX_TEXT_LINES: usize = 8;
/// Maximum number of calls.
const MAX_CALLS: usize = 8;

/// Renders the prompt, the calls and the answer of a turn, and its interruption, in `width` columns.
pub(super) fn recap_lines(turn: &LastTurn, width: usize) -> Vec<String> {
    let room = width.saturating_sub(2);
    let mut lines = end_of_text("› ", &turn.prompt, room);
    let said = end_of_text("  ", &plain_markdown(&turn.said, room), room);
    let calls = call_lines(&turn.calls, room);
    match &turn.interruption {
        // What the model said came before the call that was interrupted.
        Some(interruption) => {
            lines.extend(said.into_iter().chain(calls));
            lines.extend(end_of_text("  ", interruption, room));
        }
        None => lines.extend(calls.into_iter().chain(said)),
    }
    lines.into_iter().map(|line| format!("{FAINT}{line}{FAINT:#}")).collect()
}

/// Returns the last rows of a text; the first one stands behind `mark`.
fn end_of_text(mark: &str, text: &str, room: usize) -> Vec<String> {
    let rows: Vec<String> =
        text.trim().lines().flat_map(|line| wrap_words(&escape_invisible(line), room)).collect();
    let hidden = rows.len().saturating_sub(MAX_TEXT_LINES);
    let above = (hidden > 0).then(|| format!("… {hidden} more lines above"));
    let shown = above.into_iter().chain(rows[hidden..].iter().cloned()).enumerate();
    shown.map(|(number, row)| format!("{}{row}", if number == 0 { mark } else { "  " })).collect()
}

/// Returns a line for each of the last calls.
fn call_lines(calls: &[EarlierCall], room: usize) -> Vec<String> {
    let hidden = calls.len().saturating_sub(MAX_CALLS);
    let above = (hidden > 0).then(|| format!("  … {hidden} more calls above"));
    let line = |call: &EarlierCall| {
        let mark = match call.state {
            EarlierCallState::Done => '✓',
            EarlierCallState::Failed => '✗',
            EarlierCallState::Refused | EarlierCallState::NotRun => '⊘',
            EarlierCallState::Interrupted => '■',
        };
        let took = call.took.map(|took| format!(" · {}", format_duration(took))).unwrap_or_default();
        let title = truncate_to_width(&call.title, room.saturating_sub(took.chars().count() + 2));
        format!("  {mark} {title}{took}")
    };
    above.into_iter().chain(calls[hidden..].iter().map(line)).collect()
}

/// Renders Markdown without styles.
fn plain_markdown(text: &str, room: usize) -> String {
    let mut stream = MarkdownStream::default();
    let rendered = format!("{}{}", stream.push(text, room), stream.finish(room));
    strip_str(&rendered).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use insta::assert_snapshot;

    use super::*;

    fn call(title: &str, state: EarlierCallState) -> EarlierCall {
        let took = (state == EarlierCallState::Done).then_some(Duration::from_millis(40));
        EarlierCall { title: title.to_owned(), state, took }
    }

    fn shown(turn: &LastTurn) -> String {
        strip_str(&recap_lines(turn, 50).join("\n")).to_string()
    }

    #[test]
    fn a_turn_is_shown_with_its_calls_and_its_interruption() {
        let read = || call("read_file src/lib.rs", EarlierCallState::Done);
        let mut turn = LastTurn {
            prompt: "fix the failing test\nand say why".to_owned(),
            calls: (0..9)
                .map(|_| read())
                .chain([call("exec_command false", EarlierCallState::Failed)])
                .collect(),
            said: "It **works** now.".to_owned(),
            interruption: None,
        };
        assert_snapshot!(shown(&turn), @r"
        › fix the failing test
          and say why
          … 2 more calls above
          ✓ read_file src/lib.rs · 40 ms
          ✓ read_file src/lib.rs · 40 ms
          ✓ read_file src/lib.rs · 40 ms
          ✓ read_file src/lib.rs · 40 ms
          ✓ read_file src/lib.rs · 40 ms
          ✓ read_file src/lib.rs · 40 ms
          ✓ read_file src/lib.rs · 40 ms
          ✗ exec_command false
          It works now.
        ");
        turn.calls = vec![
            read(),
            call(
                "exec_command sleep 60; echo a long command that is longer than the screen",
                EarlierCallState::Interrupted,
            ),
        ];
        turn.interruption =
            Some("interrupted during `exec_command sleep 60`; it may have changed files".to_owned());
        assert_snapshot!(shown(&turn), @r"
        › fix the failing test
          and say why
          It works now.
          ✓ read_file src/lib.rs · 40 ms
          ■ exec_command sleep 60; echo a long command th…
          interrupted during `exec_command sleep 60`; it
          may have changed files
        ");
    }
}
