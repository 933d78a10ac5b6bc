//! The lines about an answered call: its state, duration and sandbox, its last output, and refusals with their remedy.

use std::time::Duration;

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};
use runtime::{Enforcement, ToolCall, ToolErrorKind, ToolOutput, Value};
use unicode_width::UnicodeWidthStr;

use super::diff_lines::call_diff_lines;
use super::refusal_lines::{RemedyForm, WARN, refusal_lines};
use super::status_lines::truncate_to_width;
use session::call_title::title;
use terminal::{FAINT, to_one_line, wrap_words};

pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const MARK: Style = AnsiColor::Cyan.on_default();
/// Lines shown of a command's output, and of an error.
const MAX_OUTPUT_LINES: usize = 5;
const MAX_ERROR_LINES: usize = 8;
/// Columns of the bar before quoted text.
const BAR_WIDTH: usize = 4;

/// The state of an answered call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    Done,
    Failed,
    /// The call did not run.
    Refused,
    /// The user stopped it.
    Stopped,
    /// Its processes run on, under this session number.
    RunsOn(i64),
}

impl CallState {
    fn of(output: &ToolOutput) -> Self {
        let session =
            output.structured.as_ref().and_then(|value| value.get("session_id")).and_then(Value::as_i64);
        match (output.facts.error, session) {
            (Some(ToolErrorKind::Forbidden | ToolErrorKind::Denied), _) => Self::Refused,
            (Some(ToolErrorKind::Cancelled | ToolErrorKind::Stopped), _) => Self::Stopped,
            (_, Some(session)) if output.success => Self::RunsOn(session),
            _ if output.success => Self::Done,
            _ => Self::Failed,
        }
    }

    fn mark(self) -> (Style, char) {
        match self {
            Self::Done => (GOOD, '✓'),
            Self::Failed => (BAD, '✗'),
            Self::Refused => (WARN, '⊘'),
            Self::Stopped => (WARN, '■'),
            Self::RunsOn(_) => (MARK, '▶'),
        }
    }
}

/// Returns the text that a command wrote, as the model got it.
pub(super) fn command_output(output: &ToolOutput) -> Option<&str> {
    output.facts.enforcement.as_ref()?;
    output.structured.as_ref()?.get("output")?.as_str()
}

/// Renders the lines about `output` for a screen of `width` columns; `None` does not wrap or shorten.
pub(super) fn answer_lines(
    call: &ToolCall,
    output: &ToolOutput,
    width: Option<usize>,
    form: RemedyForm,
) -> Vec<String> {
    let state = CallState::of(output);
    let facts: String =
        call_facts(state, output).iter().map(|fact| format!(" {FAINT}·{FAINT:#} {fact}")).collect();
    let title = title(call);
    let title = match width {
        Some(width) => {
            truncate_to_width(&title, width.saturating_sub(strip_str(&facts).to_string().width() + 3))
        }
        None => title,
    };
    let (style, mark) = state.mark();
    let mut lines = vec![format!("{style}{mark}{style:#} {title}{facts}")];
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(BAR_WIDTH + 1));
    lines.extend(quoted_text(state, output, room, form == RemedyForm::AllowCommand));
    if let Some(diff) = &output.facts.diff {
        lines.extend(call_diff_lines(diff, room).into_iter().map(|row| format!("  {FAINT}│{FAINT:#} {row}")));
    }
    lines.extend(refusal_lines(output, room, form));
    lines
}

/// Returns the facts after the title: the duration, the exit code, the sandbox.
fn call_facts(state: CallState, output: &ToolOutput) -> Vec<String> {
    let faint = |text: String| format!("{FAINT}{text}{FAINT:#}");
    let mut facts = Vec::new();
    if let CallState::RunsOn(session) = state {
        facts.push(format!("{MARK}runs on as {session}{MARK:#}"));
    }
    if let Some(code) = output.facts.exit_code.filter(|code| *code != 0) {
        facts.push(format!("{BAD}exit {code}{BAD:#}"));
    }
    if state == CallState::Stopped {
        let by = match output.facts.error {
            Some(ToolErrorKind::Stopped) => " by you",
            _ => "",
        };
        facts.push(format!("{WARN}stopped{by}{WARN:#}"));
    }
    if state == CallState::Refused {
        let why = match output.facts.error {
            Some(ToolErrorKind::Denied) => "you said no",
            _ => "not run",
        };
        facts.push(format!("{WARN}{why}{WARN:#}"));
    }
    facts.extend(output.facts.duration.map(|time| faint(format_duration(time))));
    facts.extend(output.facts.enforcement.as_ref().map(|enforcement| match enforcement {
        Enforcement::Full => faint("sandboxed".to_owned()),
        Enforcement::Partial(_) => format!("{WARN}partly sandboxed{WARN:#}"),
        Enforcement::None { .. } => format!("{WARN}not sandboxed{WARN:#}"),
    }));
    facts
}

/// Returns the end of a command's output, or the message of a failed call, behind a bar.
fn quoted_text(state: CallState, output: &ToolOutput, room: usize, takes_commands: bool) -> Vec<String> {
    let text = output.joined_text();
    let (shown, most) = match command_output(output) {
        Some(written) => (written, MAX_OUTPUT_LINES),
        None if matches!(state, CallState::Failed | CallState::Refused) => (text.as_str(), MAX_ERROR_LINES),
        None => return Vec::new(),
    };
    let plain = strip_str(shown).to_string();
    let written: Vec<&str> = plain.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut quoted = Vec::new();
    let hidden = written.len().saturating_sub(most);
    if hidden > 0 && command_output(output).is_some() {
        // The line that marks the cut stands for those that were cut out.
        let above = match output.facts.omitted {
            Some(omitted) => hidden - 1 + omitted.lines,
            None => hidden,
        };
        let remedy = if takes_commands { "; /output shows all" } else { "" };
        quoted.push(format!("  {FAINT}│ … {above} more above{remedy}{FAINT:#}"));
    }
    let is_command = command_output(output).is_some();
    // The end of an output says most, the beginning of a message.
    let part = if is_command { &written[hidden..] } else { &written[..written.len() - hidden] };
    for line in part {
        let line = to_one_line(&line.replace('\t', "    "));
        let rows = if is_command { vec![truncate_to_width(&line, room)] } else { wrap_words(&line, room) };
        quoted.extend(rows.into_iter().map(|row| format!("  {FAINT}│ {row}{FAINT:#}")));
    }
    quoted
}

/// Formats a short duration.
pub(super) fn format_duration(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds @ 1..60 => match seconds {
            1..10 => format!("{:.1} s", time.as_secs_f64()),
            _ => format!("{seconds} s"),
        },
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use runtime::{ConnectStep, Denial, EnforcementGap, NetworkPolicy, UnreachableHost, json};

    use super::*;

    fn command(text: &str, code: i32) -> ToolOutput {
        let mut output = ToolOutput::text(format!("Exit code: {code}\nOutput:\n{text}"));
        output.success = code == 0;
        output.facts.exit_code = Some(code);
        output.facts.duration = Some(Duration::from_millis(39));
        output.facts.enforcement = Some(Enforcement::Full);
        output.with_structured(json!({ "output": text, "session_id": null }))
    }

    fn shown(tool: &str, arguments: &Value, output: &ToolOutput) -> String {
        let call = ToolCall::function("1", tool, arguments.to_string());
        let lines = answer_lines(&call, output, Some(60), RemedyForm::AllowCommand);
        let text = strip_str(&lines.join("\n")).to_string();
        assert!(text.lines().all(|line| line.width() <= 60), "{text}");
        text
    }

    #[test]
    fn a_command_is_shown_with_the_end_of_its_output() {
        let seq = json!({ "cmd": "seq 1 8; echo result is 42" });
        let output = command("1\n2\n3\n4\n5\n6\n\n7\n\x1b[31m8\x1b[0m\nresult is 42\n", 0);
        assert_snapshot!(shown("exec_command", &seq, &output), @r"
        ✓ exec_command seq 1 8; echo result is… · 39 ms · sandboxed
          │ … 4 more above; /output shows all
          │ 5
          │ 6
          │ 7
          │ 8
          │ result is 42
        ");
        let mut failed = command("error: no such test\n", 101);
        failed.facts.enforcement = Some(Enforcement::Partial(vec![EnforcementGap::PrivateTmp]));
        assert_snapshot!(shown("exec_command", &json!({ "cmd": "cargo test" }), &failed), @r"
        ✗ exec_command cargo… · exit 101 · 39 ms · partly sandboxed
          │ error: no such test
        ");
        let mut server =
            command("Serving\n", 0).with_structured(json!({ "output": "Serving\n", "session_id": 1000 }));
        server.facts.exit_code = None;
        assert_snapshot!(shown("exec_command", &json!({ "cmd": "python3 -m http.server 8123 --bind 127.0.0.1 --directory x" }), &server), @r"
        ▶ exec_command pytho… · runs on as 1000 · 39 ms · sandboxed
          │ Serving
        ");
    }

    #[test]
    fn a_refusal_of_the_sandbox_names_the_flag_that_allows_it() {
        let mut output = command("", 0);
        output.facts.denials =
            vec![Denial::MayNotConnect { target: "example.com".into(), network: NetworkPolicy::Loopback }];
        output.facts.suspected_denial =
            Some(Denial::MayNotWrite { path: "/dev/null".into(), roots: vec!["/w".into()] });
        assert_snapshot!(shown("exec_command", &json!({ "cmd": "curl -sS https://example.com | head" }), &output), @r"
        ✓ exec_command curl -sS https://exampl… · 39 ms · sandboxed
          ⊘ the sandbox refused: connecting to `example.com` is not
            allowed: only programs that run in the same sandbox can
            be reached (the network is loopback)
            to allow it: /allow --host example.com
          ⊘ the sandbox probably refused: `/dev/null` may not be
            changed: it lies outside the writable roots (`/w`)
            to allow it: /allow --writable /dev/null
        ");
        let mut output = command("", 1);
        output.facts.denials =
            vec![Denial::MayNotWrite { path: "nowhere/x".into(), roots: vec!["/w".into()] }];
        assert_snapshot!(shown("exec_command", &json!({ "cmd": "touch nowhere/x" }), &output), @r"
        ✗ exec_command touch nowhere/x · exit 1 · 39 ms · sandboxed
          ⊘ the sandbox refused: `nowhere/x` may not be changed: it
            lies outside the writable roots (`/w`)
            you may not write there yourself
        ");
        let mut output = command("curl: (35) Recv failure: Connection reset by peer\n", 35);
        let (target, reason) = ("exmaple.test:443".to_owned(), "Name or service not known".to_owned());
        output.facts.unreachable_hosts = vec![UnreachableHost { target, step: ConnectStep::Resolve, reason }];
        assert_snapshot!(shown("exec_command", &json!({ "cmd": "curl -sS https://exmaple.test" }), &output), @r"
        ✗ exec_command curl -sS http… · exit 35 · 39 ms · sandboxed
          │ curl: (35) Recv failure: Connection reset by peer
          ⊘ `exmaple.test` is allowed, but its name cannot be
            resolved: Name or service not known
        ");
    }

    #[test]
    fn a_call_that_did_not_run_says_why() {
        let mut output = ToolOutput::failure(
            "denied by the user: not this one, since the directory is still needed for the release",
        );
        output.facts.error = Some(ToolErrorKind::Denied);
        assert_snapshot!(shown("exec_command", &json!({ "cmd": "rm -rf src" }), &output), @r"
        ⊘ exec_command rm -rf src · you said no
          │ denied by the user: not this one, since the directory
          │ is still needed for the release
        ");
        let mut output = ToolOutput::failure("the user stopped the session; do not go on");
        output.facts.error = Some(ToolErrorKind::Stopped);
        assert_snapshot!(shown("exec_command", &json!({ "cmd": "rm -rf src" }), &output), @"■ exec_command rm -rf src · stopped by you");
        let denial = Denial::Outside { path: "/usr/lib/os-release".into(), roots: vec!["/w".into()] };
        let mut output = ToolOutput::failure(denial.to_string());
        (output.facts.error, output.facts.denials) = (Some(ToolErrorKind::Forbidden), vec![denial]);
        assert_snapshot!(shown("read_file", &json!({ "path": "/usr/lib/os-release" }), &output), @r"
        ⊘ read_file /usr/lib/os-release · not run
          │ `/usr/lib/os-release` is outside the readable roots
          │ (`/w`)
          ⊘ to allow it: /allow --read-root /usr/lib
        ");
        let mut output = ToolOutput::failure("there is no file `x`");
        output.facts.error = Some(ToolErrorKind::Io);
        assert_snapshot!(shown("read_file", &json!({ "path": "x" }), &output), @r"
        ✗ read_file x
          │ there is no file `x`
        ");
    }
}
