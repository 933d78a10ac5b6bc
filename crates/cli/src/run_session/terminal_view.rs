//! Shows a run to people on a terminal.
//!
//! The model's text goes to standard output, one line per call to standard error. On a terminal, status lines
//! follow below.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use agent::{SessionEvent, SessionObserver, TurnEnd};
use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use parking_lot::Mutex;
use runtime::{CallEvent, CallId, CallObserver, PlanStep, StepStatus, ToolCall, ToolNotice, ToolOutput};
use unicode_width::UnicodeWidthStr;

use super::SessionView;
use super::status_lines::{BusyStatus, StatusLines, StatusView, truncate_to_width};
use session::approval::ScreenSize;
use session::call_title::title;
use terminal::{FAINT, NAME, escape_invisible, to_one_line};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const MARK: Style = AnsiColor::Cyan.on_default();
/// Maximum lines shown of an error, and of a diff.
const MAX_ERROR_LINES: usize = 6;
const MAX_DIFF_LINES: usize = 60;
/// Bytes of a running call's output that are kept.
const MAX_TAIL_BYTES: usize = 2048;
/// Minimum time between redraws of unfinished text.
const MIN_REDRAW_INTERVAL: Duration = Duration::from_millis(30);
/// Work is shown in the status lines after this time.
const SHOW_BUSY_AFTER: Duration = Duration::from_secs(1);

/// The view for people.
pub(super) struct TerminalView {
    state: Mutex<TerminalViewState>,
    /// Standard error is a terminal that can move the cursor; with `both`, standard output is a terminal too.
    terminal: bool,
    stdout_is_terminal: bool,
}

/// The mutable state of the view.
#[derive(Default)]
struct TerminalViewState {
    status_lines: StatusLines,
    /// No question owns the screen.
    owns_screen: bool,
    /// The unfinished line of text. On a terminal it is part of the status lines until it is complete.
    partial_line: String,
    /// The running calls, oldest first, and the start of the wait for the model.
    running_calls: Vec<RunningCallStatus>,
    model_wait_start: Option<Instant>,
    /// The typed input, and true if the user was asked for it.
    typed: String,
    is_prompting: bool,
    last_drawn: Option<Instant>,
}

/// A running call in the status lines.
struct RunningCallStatus {
    id: String,
    title: String,
    since: Instant,
    /// The tail of its output.
    tail: String,
}

impl TerminalView {
    pub(super) fn new() -> Self {
        let moves = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let terminal = std::io::stderr().is_terminal() && moves;
        Self {
            state: Mutex::default(),
            terminal,
            stdout_is_terminal: terminal && std::io::stdout().is_terminal(),
        }
    }

    /// Redraws the status lines.
    fn draw(&self, state: &mut TerminalViewState) {
        if !self.terminal || !state.owns_screen {
            return;
        }
        let mut busy: Vec<BusyStatus<'_>> =
            state.running_calls.iter().map(RunningCallStatus::to_busy_status).collect();
        if let Some(since) = state.model_wait_start.filter(|_| busy.is_empty()) {
            busy.push(BusyStatus { label: "the model", elapsed: since.elapsed(), tail: "" });
        }
        busy.retain(|busy| busy.elapsed >= SHOW_BUSY_AFTER);
        let typed = (state.is_prompting || !state.typed.is_empty()).then_some(state.typed.as_str());
        let partial_line = if self.stdout_is_terminal { state.partial_line.as_str() } else { "" };
        let mut lines = StatusView { partial_line, busy, typed }.lines(screen_size());
        if AutoStream::choice(&std::io::stderr()) == ColorChoice::Never {
            lines = lines.iter().map(|line| strip_str(line).to_string()).collect();
        }
        state.last_drawn = Some(Instant::now());
        if let Some(text) = state.status_lines.redraw_sequence(lines, screen_size()) {
            write_to_screen(&text);
        }
    }

    /// Prints a line to standard error, on a line of its own.
    fn print_line(&self, state: &mut TerminalViewState, line: &str) {
        self.clear(state);
        terminal::print_stderr(line);
        self.draw(state);
    }

    /// Erases the status lines, and ends the unfinished line of text.
    fn clear(&self, state: &mut TerminalViewState) {
        write_to_screen(&state.status_lines.erase_sequence(screen_size()));
        if !state.partial_line.is_empty() {
            let partial_line = std::mem::take(&mut state.partial_line);
            let shown =
                if self.stdout_is_terminal { escape_invisible(&partial_line) + "\n" } else { "\n".into() };
            let _nobody_reads = std::io::stdout().lock().write_all(shown.as_bytes());
        }
    }

    fn append_text(&self, text: &str) {
        let mut state = self.state.lock();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut now = if whole > 0 { std::mem::take(&mut state.partial_line) } else { String::new() };
        state.partial_line.push_str(&text[whole..]);
        if !self.stdout_is_terminal {
            // The text before it is already printed.
            text.clone_into(&mut now);
        } else {
            now.push_str(&text[..whole]);
        }
        if !now.is_empty() {
            write_to_screen(&state.status_lines.erase_sequence(screen_size()));
            let shown = if self.stdout_is_terminal { escape_invisible(&now) } else { now.as_str().into() };
            let mut out = std::io::stdout().lock();
            let _nobody_reads = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
        }
        if self.stdout_is_terminal
            && (whole > 0 || state.last_drawn.is_none_or(|drawn| drawn.elapsed() >= MIN_REDRAW_INTERVAL))
        {
            self.draw(&mut state);
        }
    }

    fn print_answer(&self, call: &ToolCall, output: &ToolOutput) {
        let mut state = self.state.lock();
        state.running_calls.retain(|run| run.id != call.id.as_str());
        let took = output
            .facts
            .duration
            .map(|took| format!(" {FAINT}{}{FAINT:#}", format_duration(took)))
            .unwrap_or_default();
        let (style, sign) = if output.success { (GOOD, '✓') } else { (BAD, '✗') };
        let held =
            output.facts.enforcement.as_ref().map(|held| format!(" {FAINT}{}{FAINT:#}", held.as_str()));
        let facts = format!("{took}{}", held.unwrap_or_default());
        let room = screen_size().width.saturating_sub(strip_str(&facts).to_string().width() + 3);
        let title = if self.terminal { truncate_to_width(&title(call), room) } else { title(call) };
        self.print_line(&mut state, &format!("{style}{sign}{style:#} {title}{facts}"));
        if !output.success {
            let text = output.joined_text();
            let said = text.split_once("\nOutput:\n").map_or(text.as_str(), |(_, said)| said);
            let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
            for line in &lines[lines.len().saturating_sub(MAX_ERROR_LINES)..] {
                self.print_line(&mut state, &format!("  {FAINT}│ {}{FAINT:#}", truncate_line(line)));
            }
        }
    }

    fn print_plan(&self, steps: &[PlanStep]) {
        let mut state = self.state.lock();
        for step in steps {
            let (style, sign) = match step.status {
                StepStatus::Completed => (GOOD, '☑'),
                StepStatus::InProgress => (MARK, '▸'),
                StepStatus::Pending => (FAINT, '☐'),
            };
            self.print_line(
                &mut state,
                &format!("  {style}{sign} {}{style:#}", truncate_line(&step.description)),
            );
        }
    }

    fn print_diff(&self, diff: &str) {
        let mut state = self.state.lock();
        let lines: Vec<&str> = diff.lines().collect();
        for line in lines.iter().take(MAX_DIFF_LINES) {
            let style = match line.as_bytes().first() {
                Some(b'+') => GOOD,
                Some(b'-') => BAD,
                Some(b'@') => MARK,
                _ => FAINT,
            };
            self.print_line(&mut state, &format!("  {style}{}{style:#}", truncate_line(line)));
        }
        if lines.len() > MAX_DIFF_LINES {
            let more = lines.len() - MAX_DIFF_LINES;
            self.print_line(
                &mut state,
                &format!("  {FAINT}… {more} more lines; `toolgate diff` has them all{FAINT:#}"),
            );
        }
    }
}

impl RunningCallStatus {
    fn to_busy_status(&self) -> BusyStatus<'_> {
        BusyStatus { label: &self.title, elapsed: self.since.elapsed(), tail: &self.tail }
    }

    /// Appends output, and keeps only the tail that may be shown.
    fn append_output(&mut self, text: &str) {
        self.tail.push_str(text);
        if self.tail.len() > 2 * MAX_TAIL_BYTES {
            let from = self.tail.ceil_char_boundary(self.tail.len() - MAX_TAIL_BYTES);
            self.tail.drain(..from);
        }
    }
}

fn screen_size() -> ScreenSize {
    let known = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    let known = known.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    let (width, height) = known.map_or((80, 24), |size| (size.ws_col, size.ws_row));
    ScreenSize { width: width.into(), height: height.into() }
}

/// Writes escape sequences for the cursor, even if colours are off.
fn write_to_screen(text: &str) {
    if !text.is_empty() {
        let mut out = std::io::stderr().lock();
        let _nobody_reads = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// Truncates a line to 160 characters.
fn truncate_line(line: &str) -> String {
    let line: String = line.chars().take(160).collect();
    to_one_line(&line)
}

/// Formats a short duration.
fn format_duration(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

impl SessionView for TerminalView {
    fn on_session_start(&self, session: &str, _: &str, model: &str, resumed: bool) {
        let again = if resumed { "goes on" } else { "begins" };
        self.print_line(
            &mut self.state.lock(),
            &format!("{FAINT}session {session} {again}, model {}{FAINT:#}", to_one_line(model)),
        );
    }

    fn on_turn_end(&self, ended: &Result<TurnEnd, String>) {
        let mut state = self.state.lock();
        (state.model_wait_start, state.running_calls) = (None, Vec::new());
        self.clear(&mut state);
        let message = match ended {
            Ok(TurnEnd::Done) => return,
            Ok(TurnEnd::CutShort { why }) => {
                format!("the provider cut the model short: {}", to_one_line(why))
            }
            Ok(TurnEnd::Interrupted) => "interrupted".to_owned(),
            Ok(TurnEnd::OutOfRounds) => {
                "stopped: that was the last request it may make (--max-turns)".to_owned()
            }
            // The caller reports it as a fault.
            Err(_) => return,
        };
        self.print_line(&mut state, &format!("{FAINT}{message}{FAINT:#}"));
    }

    fn tick(&self) {
        let mut state = self.state.lock();
        state.owns_screen = true;
        self.draw(&mut state);
    }

    fn release_screen(&self) {
        let mut state = self.state.lock();
        // While the user is asked, the running calls are not shown as busy.
        state.running_calls.clear();
        (state.owns_screen, state.is_prompting) = (false, false);
        self.clear(&mut state);
    }

    fn show_prompt(&self) {
        let mut state = self.state.lock();
        (state.owns_screen, state.is_prompting) = (true, true);
        self.draw(&mut state);
    }

    fn show_input(&self, line: &str) {
        let mut state = self.state.lock();
        line.clone_into(&mut state.typed);
        state.owns_screen = true;
        self.draw(&mut state);
    }

    fn commit_input(&self, line: &str) {
        let mut state = self.state.lock();
        state.typed.clear();
        state.is_prompting = false;
        if !line.trim().is_empty() {
            self.print_line(
                &mut state,
                &format!("{NAME}›{NAME:#} {}", escape_invisible(line).replace('\n', "\n  ")),
            );
        }
    }
}

impl SessionObserver for TerminalView {
    fn on_session_event(&self, seen: SessionEvent<'_>) {
        match seen {
            SessionEvent::RequestSent { .. } => self.state.lock().model_wait_start = Some(Instant::now()),
            SessionEvent::Text(text) => self.append_text(text),
            SessionEvent::Thought(_) => {}
            SessionEvent::Called(call) => {
                let mut state = self.state.lock();
                state.model_wait_start = None;
                let (id, since) = (call.id.as_str().to_owned(), Instant::now());
                state.running_calls.push(RunningCallStatus {
                    id,
                    title: title(call),
                    since,
                    tail: String::new(),
                });
            }
            SessionEvent::ProviderToolRan { kind, .. } => {
                self.print_line(&mut self.state.lock(), &format!("{FAINT}· {}{FAINT:#}", to_one_line(kind)));
            }
            SessionEvent::Answered(call, output) => self.print_answer(call, output),
            SessionEvent::Responded { .. } => self.state.lock().model_wait_start = None,
            SessionEvent::Retried { why, pause } => {
                let text =
                    format!("{FAINT}· {}; again in {}{FAINT:#}", to_one_line(why), format_duration(pause));
                self.print_line(&mut self.state.lock(), &text);
            }
            SessionEvent::Compacted { bytes } => {
                let text = format!("{FAINT}· the conversation was shortened by {} kB{FAINT:#}", bytes / 1000);
                self.print_line(&mut self.state.lock(), &text);
            }
            SessionEvent::FilesChanged(diff) => self.print_diff(diff),
            SessionEvent::Notice(text) => {
                self.print_line(
                    &mut self.state.lock(),
                    &format!("{FAINT}· {}{FAINT:#}", truncate_line(text)),
                );
            }
        }
    }
}

impl CallObserver for TerminalView {
    fn on_event(&self, call: &CallId, event: &CallEvent) {
        match event {
            CallEvent::Notice(ToolNotice::Output { text, .. }) => {
                if let Some(run) =
                    self.state.lock().running_calls.iter_mut().find(|run| run.id == call.as_str())
                {
                    run.append_output(text);
                }
            }
            CallEvent::Notice(ToolNotice::PlanUpdated { steps, .. }) => self.print_plan(steps),
            CallEvent::Notice(ToolNotice::Warning { text }) => {
                self.print_line(
                    &mut self.state.lock(),
                    &format!("{FAINT}· {}{FAINT:#}", truncate_line(text)),
                );
            }
            // The line of an answer is truncated, and the user has to see this text in full.
            CallEvent::Notice(ToolNotice::WeakerSandbox { text, refused: true }) => {
                session::confinement_warnings::warn_once(text);
            }
            // The question is about to be drawn on the screen.
            CallEvent::Asked { .. } => {
                let mut state = self.state.lock();
                state.owns_screen = false;
                self.clear(&mut state);
            }
            _ => {}
        }
    }

    fn wants_output(&self) -> bool {
        self.terminal
    }
}
