//! Builds the answer about a command, with the labels that models know.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use exec::capture::{CapturedStream, StreamPortion};
use exec::process::{KilledProcess, ResourceUsage};
use exec::session::{ProcessExit, ProcessSession, SessionStage, TakenOutput};
use policy::Denial;
use serde_json::{Value, json};
use tool::{
    BYTES_PER_TOKEN, Cx, ErrorHints, HaltReason, OutputFacts, ProcessUsage, ToolErrorKind, ToolOutput,
};

use super::output_streamer::OutputStreamer;
use super::private_tmp::files_left_in_private_tmp;
use super::sandbox_refusals::SandboxRefusals;
use super::{WaitResult, signal_name};
use crate::terminal_text::{self, RenderedOutput, render_piped};
use crate::text_format::format_count;

/// Bytes of an answer that are reserved for the text around the output.
const RESERVED_BYTES: usize = 1024;
/// The exit code of a command that timed out.
const TIMED_OUT_EXIT_CODE: i32 = 124;
/// The default token limit of the output.
const DEFAULT_OUTPUT_TOKENS: usize = 10_000;

/// The way a command ended, or its running state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandEnding {
    /// The command ended by itself, with all child processes.
    Exited,
    /// The command ended by itself; remaining child processes were terminated.
    ChildrenEnded,
    /// The command ended by itself; child processes are still running.
    ChildrenRemain,
    /// The command is still running.
    Running,
    /// The command is still running and seems to wait for input.
    AwaitingInput,
    /// The command was terminated: its time limit passed.
    TimedOut(Duration),
    /// The command was terminated: the call had to end.
    Halted(HaltReason),
    /// The command was terminated at the model's request.
    Killed,
}

/// The label set of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportLabels {
    /// The labels of `shell`: exit code, time, output.
    OneShot,
    /// The labels of `exec_command`: also the session id and the token count.
    Session,
}

/// The state of a command at the time of its report.
pub(crate) struct CommandReport {
    session: Arc<ProcessSession>,
    stage: SessionStage,
    rendered: RenderedOutput,
    stdout: String,
    stderr: String,
    refusals: SandboxRefusals,
    hints: ErrorHints,
    /// Changes in git directories that could not be applied.
    landing_notes: Vec<String>,
    /// Files left in the session's private `/tmp`, next to the workspace.
    private_tmp_notes: Vec<String>,
    /// From its start to its end, or until now.
    wall_time: Duration,
    /// The time that this call waited for it.
    waited: Duration,
}

impl CommandReport {
    /// Takes the output since the last report and renders it within `tokens` and the budget of `cx`. The call has
    /// waited since `since`.
    pub(crate) async fn new(
        session: &Arc<ProcessSession>,
        streamer: OutputStreamer,
        since: Instant,
        tokens: Option<u64>,
        cx: &Cx,
    ) -> Self {
        let terminal = session.origin().terminal;
        let tokens =
            tokens.map_or(DEFAULT_OUTPUT_TOKENS, |tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
        let bytes = tokens
            .saturating_mul(BYTES_PER_TOKEN)
            .min(cx.output_budget().saturating_sub(RESERVED_BYTES.min(cx.output_budget() / 2)));
        let TakenOutput { stage, mut output, unstreamed } = session.take_output();
        streamer.send_rest(unstreamed, !matches!(stage, SessionStage::Running), cx).await;
        let (stdout, stderr) = (format_stream(&output.stdout, bytes), format_stream(&output.stderr, bytes));
        let rendered = terminal_text::render_within(&mut output, terminal, bytes);
        let (wall_time, waited) = (session.wall_time(), since.elapsed().min(session.wall_time()));
        let code = stage.exit().map(ProcessExit::code);
        let refusals = SandboxRefusals::for_session(session, code, &rendered.text);
        let landing_notes = session.land();
        let is_over = matches!(stage, SessionStage::Over { .. });
        let private_tmp_notes =
            if is_over { files_left_in_private_tmp(session, cx.cwd()) } else { Vec::new() };
        Self {
            session: Arc::clone(session),
            stage,
            rendered,
            stdout,
            stderr,
            refusals,
            hints: cx.hints().clone(),
            landing_notes,
            private_tmp_notes,
            wall_time,
            waited,
        }
    }

    /// Creates a report that takes no output: it stays for the next report.
    pub(crate) fn without_output(session: &Arc<ProcessSession>, since: Instant, cx: &Cx) -> Self {
        let rendered =
            RenderedOutput { text: String::new(), omitted: None, output_file: None, tokens: 0, lines: 0 };
        let (wall_time, waited) = (session.wall_time(), since.elapsed().min(session.wall_time()));
        let (stdout, stderr) = (String::new(), String::new());
        let refusals = SandboxRefusals {
            reported: session.denials(),
            guessed: None,
            unreachable_hosts: session.unreachable_hosts(),
            hidden_file: None,
            git_failures: Vec::new(),
        };
        let (session, stage, landing_notes) = (Arc::clone(session), session.stage(), Vec::new());
        Self {
            session,
            stage,
            rendered,
            stdout,
            stderr,
            refusals,
            hints: cx.hints().clone(),
            landing_notes,
            private_tmp_notes: Vec::new(),
            wall_time,
            waited,
        }
    }

    /// Returns true if all processes have ended.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.stage, SessionStage::Over { .. } | SessionStage::Lost)
    }

    /// Returns the ending at the time the output was taken, if no call ended the command.
    pub(crate) fn ending(&self, outcome: WaitResult) -> CommandEnding {
        match (&self.stage, outcome) {
            (_, WaitResult::Halted(halt)) => CommandEnding::Halted(halt),
            (SessionStage::Over { .. } | SessionStage::Lost, _) => {
                self.session.timed_out().map_or(CommandEnding::Exited, CommandEnding::TimedOut)
            }
            (SessionStage::LeaderExited { .. }, _) => CommandEnding::ChildrenRemain,
            (SessionStage::Running, WaitResult::AwaitingInput) => CommandEnding::AwaitingInput,
            (SessionStage::Running, _) => CommandEnding::Running,
        }
    }

    /// Shows `text` instead of the output.
    pub(crate) fn with_text(mut self, text: String) -> Self {
        self.rendered = RenderedOutput { text, omitted: None, output_file: None, tokens: 0, lines: 0 };
        self
    }

    /// Returns the exit code of its process.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.exit().map(ProcessExit::code)
    }

    fn exit(&self) -> Option<ProcessExit> {
        self.stage.exit()
    }

    /// Builds the answer.
    pub(crate) fn to_output(&self, ending: CommandEnding, labels: ReportLabels) -> ToolOutput {
        tracing::debug!(?ending, "reports the command");
        let mut text = String::new();
        for line in self.header_lines(ending, labels) {
            let _written = writeln!(text, "{line}");
        }
        text.push_str("Output:\n");
        text.push_str(&self.rendered.text);
        let code = self.reported_exit_code(ending);
        let mut output = ToolOutput::text(text);
        output.success = match ending {
            CommandEnding::Running | CommandEnding::AwaitingInput | CommandEnding::Killed => true,
            CommandEnding::Exited | CommandEnding::ChildrenEnded | CommandEnding::ChildrenRemain => {
                code == Some(0)
            }
            CommandEnding::TimedOut(_) | CommandEnding::Halted(_) => false,
        };
        output.facts = OutputFacts {
            error: matches!(ending, CommandEnding::TimedOut(_)).then_some(ToolErrorKind::TimedOut),
            exit_code: code,
            omitted: self.rendered.omitted,
            output_file: self.rendered.output_file.clone(),
            usage: Some(self.usage()),
            enforcement: Some(self.session.enforcement()),
            denials: self.refusals.reported.clone(),
            suspected_denial: self.refusals.guessed.clone(),
            unreachable_hosts: self.refusals.unreachable_hosts.clone(),
            ..OutputFacts::default()
        };
        output.with_structured(self.structured_output(ending))
    }

    fn reported_exit_code(&self, ending: CommandEnding) -> Option<i32> {
        match ending {
            CommandEnding::TimedOut(_) | CommandEnding::Halted(HaltReason::TimedOut { .. }) => {
                Some(TIMED_OUT_EXIT_CODE)
            }
            CommandEnding::Running | CommandEnding::AwaitingInput => None,
            _ => self.exit_code(),
        }
    }

    fn header_lines(&self, ending: CommandEnding, labels: ReportLabels) -> Vec<String> {
        let mut lines = Vec::new();
        match ending {
            CommandEnding::TimedOut(limit) => {
                lines.push(format!("command timed out after {} milliseconds", limit.as_millis()));
            }
            CommandEnding::Halted(HaltReason::TimedOut { after }) => lines.push(format!(
                "command timed out after {} milliseconds, the limit for one call",
                after.as_millis()
            )),
            CommandEnding::Halted(HaltReason::Cancelled { cause }) => {
                lines.push(cause.describe_abort(&format!("{:.1} seconds", self.waited.as_secs_f64())));
            }
            _ => {}
        }
        let code = self.reported_exit_code(ending);
        let signal = match self.exit() {
            Some(ProcessExit::Signal(signal)) if code == self.exit_code() => {
                format!(" ({})", signal_name(signal))
            }
            _ => String::new(),
        };
        let wall = self.waited.as_secs_f64();
        match labels {
            ReportLabels::OneShot => {
                lines.push(match code {
                    Some(code) => format!("Exit code: {code}{signal}"),
                    None => "Exit code: none, it was killed from outside".to_owned(),
                });
                lines.push(format!("Wall time: {wall:.1} seconds"));
            }
            ReportLabels::Session => {
                lines.push(format!("Wall time: {wall:.4} seconds"));
                lines.push(match code {
                    Some(code) => format!("Process exited with code {code}{signal}"),
                    None if self.stage == SessionStage::Lost => "Process was killed from outside".to_owned(),
                    None => format!("Process running with session ID {}", self.session.id()),
                });
            }
        }
        lines.extend(self.notes(ending));
        match labels {
            ReportLabels::OneShot if self.rendered.omitted.is_some() => {
                lines.push(format!("Total output lines: {}", self.rendered.lines));
            }
            ReportLabels::OneShot => {}
            ReportLabels::Session => lines.push(format!("Original token count: {}", self.rendered.tokens)),
        }
        lines
    }

    /// Returns further notes for the model.
    fn notes(&self, ending: CommandEnding) -> Vec<String> {
        let id = self.session.id();
        let mut notes = Vec::new();
        if let (SessionStage::LeaderExited { left, .. }, CommandEnding::ChildrenRemain) =
            (&self.stage, ending)
        {
            let left = format_count(u64::from(*left), "process");
            notes.push(format!(
                "Still running in the background: {left}, as session ID {id} (kill_session ends it)"
            ));
        }
        if ending == CommandEnding::AwaitingInput {
            notes.push("It seems to wait for input: write_stdin answers it".to_owned());
        }
        let (ended, more) = self.ended_processes();
        if !ended.is_empty() {
            let names: Vec<String> = ended.iter().map(|one| format!("{} ({})", one.name, one.pid)).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let why = match ending {
                CommandEnding::ChildrenEnded => {
                    "Left running, so ended (exec_command keeps what runs in the background)"
                }
                _ => "Ended",
            };
            notes.push(format!("{why}: {}{more}", names.join(", ")));
        }
        let stuck = self.session.stuck_processes();
        if !stuck.is_empty() && !matches!(self.stage, SessionStage::Over { .. }) {
            let names: Vec<String> = stuck.iter().map(|one| format!("{} ({})", one.name, one.pid)).collect();
            notes.push(format!("Could not be killed: {}", names.join(", ")));
        }
        let unread = self.session.unread_input();
        if unread > 0 {
            notes.push(format!("It has not read {} of its input yet", format_count(unread as u64, "byte")));
        }
        notes.extend(self.refusals.note_lines(&self.hints));
        notes.extend(self.landing_notes.iter().cloned());
        notes.extend(self.private_tmp_notes.iter().cloned());
        notes
    }

    fn ended_processes(&self) -> (&[KilledProcess], u32) {
        match &self.stage {
            SessionStage::Over { ended, more, .. } => (ended, *more),
            _ => (&[], 0),
        }
    }

    fn usage(&self) -> ProcessUsage {
        let used =
            if let SessionStage::Over { used, .. } = self.stage { used } else { ResourceUsage::default() };
        let written = |stream| self.session.bytes_written(stream);
        ProcessUsage {
            wall: self.wall_time,
            user: used.user,
            system: used.system,
            peak_memory: used.peak_memory,
            stdout: written(CapturedStream::Stdout) + written(CapturedStream::Terminal),
            stderr: written(CapturedStream::Stderr),
        }
    }

    fn structured_output(&self, ending: CommandEnding) -> Value {
        let signal = match self.exit() {
            Some(ProcessExit::Signal(signal)) => Some(signal_name(signal)),
            _ => None,
        };
        let runs_on = matches!(
            ending,
            CommandEnding::Running | CommandEnding::AwaitingInput | CommandEnding::ChildrenRemain
        );
        let (ended, _) = self.ended_processes();
        let ended: Vec<Value> = ended.iter().map(|one| json!({ "pid": one.pid, "name": one.name })).collect();
        let mut value = json!({
            "exit_code": self.reported_exit_code(ending),
            "signal": signal,
            "session_id": runs_on.then(|| self.session.id()),
            "wall_time_seconds": self.waited.as_secs_f64(),
            "original_token_count": self.rendered.tokens,
            "output": self.rendered.text,
            "ended": ended,
            "sandbox": self.sandbox_json(),
        });
        if !self.session.origin().terminal {
            value["stdout"] = json!(self.stdout);
            value["stderr"] = json!(self.stderr);
        }
        value
    }
}

impl CommandReport {
    /// Returns the sandbox state and refusals, for programs.
    fn sandbox_json(&self) -> Value {
        let enforcement = self.session.enforcement();
        let words = |denials: &[Denial]| denials.iter().map(ToString::to_string).collect::<Vec<_>>();
        json!({
            "enforcement": enforcement.as_str(),
            "gaps": enforcement.gap_sentences(),
            "refused": words(&self.refusals.reported),
            "perhaps_refused": words(self.refusals.guessed.as_slice()),
        })
    }
}

/// Formats a single stream for programs: its head and tail, as far as they are kept.
fn format_stream(portion: &StreamPortion, budget: usize) -> String {
    let whole = if portion.omitted == 0 {
        render_piped(&[&*portion.head, &*portion.tail].concat())
    } else {
        let (head, tail) = terminal_text::trim_to_chars(&portion.head, &portion.tail);
        format!("{}\n[… {} bytes cut here …]\n{}", render_piped(head), portion.omitted, render_piped(tail))
    };
    tool::truncate_middle(&whole, budget / BYTES_PER_TOKEN, "the rest is in the whole output").0
}
