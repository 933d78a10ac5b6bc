//! Shows a run to people on a terminal.
//!
//! The model's text goes to standard output, rendered as Markdown if that is a terminal. Lines about calls go to
//! standard error. On a terminal, status lines follow below.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use agent::{SessionEvent, SessionObserver, TurnEnd};
use anstream::{AutoStream, ColorChoice};
use parking_lot::Mutex;
use runtime::{CallEvent, CallId, CallObserver, PlanStep, StepStatus, ToolCall, ToolNotice, ToolOutput};

use super::call_lines::{GOOD, MARK, answer_lines, command_output, format_duration};
use super::diff_lines::turn_diff_lines;
use super::recap_lines::recap_lines;
use super::refusal_lines::{LiveRefusals, RemedyForm};
use super::running_call::RunningCallStatus;
use super::status_lines::{BusyStatus, StatusLines, StatusView, TypedText};
use super::turn_totals::TurnTotals;
use super::{PrintedOutput, SessionStart, SessionView};
use prompt::PromptEditor;
use session::approval::ScreenSize;
use session::call_title::title;
use terminal::{FAINT, MarkdownStream, NAME, escape_invisible, to_one_line, wrap_words};

/// Minimum time between redraws of unfinished text.
const MIN_REDRAW_INTERVAL: Duration = Duration::from_millis(30);
/// Begins a note beside the work.
const NOTE_MARK: &str = "· ";
/// Work is shown in the status lines after this time.
const SHOW_BUSY_AFTER: Duration = Duration::from_secs(1);

/// The view for people.
pub(super) struct TerminalView {
    state: Mutex<TerminalViewState>,
    /// Standard error is a terminal that can move the cursor; with `both`, standard output is a terminal too.
    terminal: bool,
    stdout_is_terminal: bool,
    remedy_form: RemedyForm,
}

/// The mutable state of the view.
#[derive(Default)]
struct TerminalViewState {
    status_lines: StatusLines,
    /// No question owns the screen.
    owns_screen: bool,
    /// The model's text. On a terminal, its unfinished block is part of the status lines.
    text: MarkdownStream,
    /// Text without a terminal has an unfinished line.
    has_open_line: bool,
    /// The running calls, oldest first, and the start of the wait for the model.
    running_calls: Vec<RunningCallStatus>,
    model_wait_start: Option<Instant>,
    /// The typed input, its cursor and candidates, and true if the user was asked for it.
    typed: (String, usize, Vec<String>),
    is_prompting: bool,
    last_drawn: Option<Instant>,
    totals: TurnTotals,
    /// The length of the model's context, in tokens.
    context: u64,
    /// The last command that printed something.
    last_output: Option<PrintedOutput>,
}

impl TerminalView {
    pub(super) fn new(remedy_form: RemedyForm) -> Self {
        let moves = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let terminal = std::io::stderr().is_terminal() && moves;
        Self {
            state: Mutex::default(),
            terminal,
            stdout_is_terminal: terminal && std::io::stdout().is_terminal(),
            remedy_form,
        }
    }

    /// Redraws the status lines.
    fn draw(&self, state: &mut TerminalViewState) {
        if !self.terminal || !state.owns_screen {
            return;
        }
        let mut busy: Vec<BusyStatus<'_>> =
            state.running_calls.iter().map(|run| run.to_busy_status(self.remedy_form)).collect();
        if let Some(since) = state.model_wait_start.filter(|_| busy.is_empty()) {
            busy.push(BusyStatus {
                label: "the model",
                elapsed: since.elapsed(),
                tail: "",
                refusals: LiveRefusals::default(),
            });
        }
        busy.retain(|busy| busy.elapsed >= SHOW_BUSY_AFTER);
        let (text, cursor, candidates) = &state.typed;
        let typed = (state.is_prompting || !text.is_empty()).then_some(TypedText {
            text,
            cursor: *cursor,
            candidates,
        });
        let partial_text = if self.stdout_is_terminal { state.text.pending() } else { String::new() };
        let mut frame = StatusView { partial_text: &partial_text, busy, typed }.render(screen_size());
        if AutoStream::choice(&std::io::stderr()) == ColorChoice::Never {
            frame = frame.without_styles();
        }
        state.last_drawn = Some(Instant::now());
        if let Some(text) = state.status_lines.redraw_sequence(frame, screen_size()) {
            write_to_screen(&text);
        }
    }

    /// Prints a line to standard error, on a line of its own.
    fn print_line(&self, state: &mut TerminalViewState, line: &str) {
        self.clear(state);
        terminal::print_stderr(line);
        self.draw(state);
    }

    /// Prints Toolgate's own faint text, on a terminal wrapped at words.
    fn print_note(&self, state: &mut TerminalViewState, text: &str) {
        let text = match (self.terminal, text.strip_prefix(NOTE_MARK)) {
            (false, _) => text.to_owned(),
            (true, None) => terminal::wrap_lines(text, screen_size().width),
            (true, Some(text)) => {
                let wrapped = terminal::wrap_lines(text, screen_size().width.saturating_sub(2));
                format!("{NOTE_MARK}{}", wrapped.replace('\n', "\n  "))
            }
        };
        let rows: Vec<String> = text.lines().map(|row| format!("{FAINT}{row}{FAINT:#}")).collect();
        self.print_line(state, &rows.join("\n"));
    }

    /// Erases the status lines, and ends the unfinished text.
    fn clear(&self, state: &mut TerminalViewState) {
        write_to_screen(&state.status_lines.erase_sequence(screen_size()));
        if self.stdout_is_terminal {
            let rest = state.text.flush(text_width());
            write_rendered(&rest);
        } else if std::mem::take(&mut state.has_open_line) {
            write_as_is("\n");
        }
    }

    /// The model has ended its message: the next text is a new document.
    fn end_message(&self, state: &mut TerminalViewState) {
        self.clear(state);
        let _nothing_left = state.text.finish(text_width());
        self.draw(state);
    }

    fn append_text(&self, text: &str) {
        let mut state = self.state.lock();
        if !self.stdout_is_terminal {
            state.has_open_line = !text.ends_with('\n');
            return write_as_is(text);
        }
        let finished = state.text.push(text, text_width());
        if !finished.is_empty() {
            write_to_screen(&state.status_lines.erase_sequence(screen_size()));
            write_rendered(&finished);
        }
        if !finished.is_empty() || state.last_drawn.is_none_or(|drawn| drawn.elapsed() >= MIN_REDRAW_INTERVAL)
        {
            self.draw(&mut state);
        }
    }

    fn print_answer(&self, call: &ToolCall, output: &ToolOutput) {
        let mut state = self.state.lock();
        state.running_calls.retain(|run| run.id != call.id.as_str());
        if let Some(written) = command_output(output).filter(|written| !written.trim().is_empty()) {
            let (text, file) = (written.to_owned(), output.facts.output_file.clone());
            state.last_output = Some(PrintedOutput { title: title(call), text, file });
        }
        let width = self.terminal.then(|| screen_size().width);
        let lines = answer_lines(call, output, width, self.remedy_form);
        self.print_line(&mut state, &lines.join("\n"));
    }

    fn print_plan(&self, steps: &[PlanStep]) {
        let mut state = self.state.lock();
        for step in steps {
            let (style, sign) = match step.status {
                StepStatus::Completed => (GOOD, '☑'),
                StepStatus::InProgress => (MARK, '▸'),
                StepStatus::Pending => (FAINT, '☐'),
            };
            let description = to_one_line(&step.description);
            for (number, row) in
                wrap_words(&description, screen_size().width.saturating_sub(5)).iter().enumerate()
            {
                let sign = if number == 0 { sign } else { ' ' };
                self.print_line(&mut state, &format!("  {style}{sign} {row}{style:#}"));
            }
        }
    }

    fn print_diff(&self, diff: &str) {
        let width = self.terminal.then(|| screen_size().width);
        let lines = turn_diff_lines(diff, width, self.remedy_form);
        self.print_line(&mut self.state.lock(), &lines.join("\n"));
    }
}

impl TerminalViewState {
    /// The user is asked about a call, or has answered.
    fn set_asking_about(&mut self, call: &CallId, is_asking: bool) {
        self.totals.set_asking(is_asking);
        if let Some(run) = self.find_running(call) {
            run.timer.set_asking(is_asking);
        }
    }

    fn find_running(&mut self, call: &CallId) -> Option<&mut RunningCallStatus> {
        self.running_calls.iter_mut().find(|run| run.id == call.as_str())
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

/// Returns the width for the model's text.
fn text_width() -> usize {
    screen_size().width.saturating_sub(1)
}

/// Writes the model's text to a program that reads standard output.
fn write_as_is(text: &str) {
    let mut out = std::io::stdout().lock();
    terminal::note_output_error(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Writes rendered text to a terminal, without styles if colours are off.
fn write_rendered(text: &str) {
    let mut out = anstream::stdout().lock();
    terminal::note_output_error(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Truncates a line to 160 characters, at a word if there is one.
fn truncate_line(line: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(160) else { return to_one_line(line) };
    let kept = line[..end].rsplit_once(' ').map_or(&line[..end], |(words, _)| words);
    format!("{} …", to_one_line(kept))
}

impl SessionView for TerminalView {
    fn on_session_start(&self, start: &SessionStart<'_>) {
        let mut state = self.state.lock();
        state.context = start.context;
        let again = if start.resumed { "goes on" } else { "begins" };
        let lines = [
            format!("session {} {again}", start.id),
            format!("model {} · {}", to_one_line(start.model), start.rights),
        ];
        self.print_note(&mut state, &lines.join("\n"));
        if let Some(directory) = start.other_directory.map(to_one_line) {
            let text =
                format!("it worked in {directory} before; here it gets the rights of your configuration");
            self.print_note(&mut state, &text);
        }
        if let Some(last_turn) = start.last_turn.filter(|_| self.terminal) {
            for text in recap_lines(last_turn, text_width()) {
                self.print_line(&mut state, &text);
            }
        }
    }

    fn on_session_end(&self, id: &str) {
        if self.terminal {
            let line = format!("{FAINT}to go on: toolgate run --resume {id}{FAINT:#}");
            self.print_line(&mut self.state.lock(), &line);
        }
    }

    fn on_turn_end(&self, ended: &Result<TurnEnd, String>) {
        let mut state = self.state.lock();
        (state.model_wait_start, state.running_calls) = (None, Vec::new());
        self.clear(&mut state);
        let context = state.context;
        if let Some(totals) = state.totals.finish(context).filter(|_| self.terminal) {
            self.print_note(&mut state, &format!("· {totals}"));
        }
        let message = match ended {
            Ok(TurnEnd::Done) => return,
            Ok(TurnEnd::CutShort { why }) => {
                format!("the provider cut the model short: {}", to_one_line(why))
            }
            Ok(TurnEnd::Interrupted) => "interrupted".to_owned(),
            Ok(TurnEnd::OutOfRounds) => {
                "stopped: that was the last request it may make (--max-turns)".to_owned()
            }
            Ok(TurnEnd::OutOfBudget { why }) => format!("stopped: {why}"),
            // The caller reports it as a fault.
            Err(_) => return,
        };
        self.print_note(&mut state, &message);
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

    fn show_hint(&self, hint: &str) {
        self.print_line(&mut self.state.lock(), &terminal::format_hint(hint));
    }

    fn show_prompt(&self) {
        let mut state = self.state.lock();
        (state.owns_screen, state.is_prompting) = (true, true);
        self.draw(&mut state);
    }

    fn show_input(&self, editor: &PromptEditor) {
        let mut state = self.state.lock();
        state.typed = (editor.text().to_owned(), editor.cursor(), editor.candidates().to_vec());
        state.owns_screen = true;
        self.draw(&mut state);
    }

    fn last_output(&self) -> Option<PrintedOutput> {
        self.state.lock().last_output.clone()
    }

    fn on_stop(&self) {
        self.clear(&mut self.state.lock());
    }

    fn on_continue(&self) {
        let mut state = self.state.lock();
        // The shell has written over the status lines.
        state.status_lines = StatusLines::default();
        self.draw(&mut state);
    }

    fn has_typed_input(&self) -> bool {
        let state = self.state.lock();
        let (text, _, candidates) = &state.typed;
        state.is_prompting && !(text.is_empty() && candidates.is_empty())
    }

    fn on_interrupt(&self) {
        let mut state = self.state.lock();
        if state.is_prompting {
            self.print_note(&mut state, "Ctrl-C again ends the program; so does Ctrl-D");
        }
    }

    fn set_waiting_for_user(&self, is_waiting: bool) {
        self.state.lock().totals.set_asking(is_waiting);
    }

    fn commit_input(&self, line: &str) {
        let mut state = self.state.lock();
        state.typed = Default::default();
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
            SessionEvent::RequestSent { .. } => {
                let mut state = self.state.lock();
                state.totals.on_request();
                state.model_wait_start = Some(Instant::now());
            }
            SessionEvent::Text(text) => self.append_text(text),
            SessionEvent::Thought(_) => {}
            SessionEvent::Called(call) => {
                let mut state = self.state.lock();
                state.model_wait_start = None;
                state.totals.on_call();
                state.running_calls.push(RunningCallStatus::start(call));
            }
            SessionEvent::ProviderToolRan { kind, .. } => {
                self.print_note(&mut self.state.lock(), &format!("· {}", to_one_line(kind)));
            }
            SessionEvent::Answered(call, output) => self.print_answer(call, output),
            SessionEvent::Responded { usage, .. } => {
                let mut state = self.state.lock();
                state.model_wait_start = None;
                state.totals.on_response(usage);
                self.end_message(&mut state);
            }
            SessionEvent::Retried { why, pause } => {
                let text = format!("· {}; again in {}", to_one_line(why), format_duration(pause));
                self.print_note(&mut self.state.lock(), &text);
            }
            SessionEvent::Compacted { bytes } => {
                let text = format!("· the conversation was shortened by {} kB", bytes / 1000);
                self.print_note(&mut self.state.lock(), &text);
            }
            SessionEvent::FilesChanged(diff) => self.print_diff(diff),
            SessionEvent::Notice(text) => {
                self.print_note(&mut self.state.lock(), &format!("· {}", truncate_line(text)));
            }
        }
    }
}

impl CallObserver for TerminalView {
    fn on_event(&self, call: &CallId, event: &CallEvent) {
        match event {
            CallEvent::Notice(ToolNotice::Output { text, .. }) => {
                if let Some(run) = self.state.lock().find_running(call) {
                    run.append_output(text);
                }
            }
            CallEvent::Notice(ToolNotice::AccessRefused { denial }) => {
                let mut state = self.state.lock();
                if let Some(run) = state.find_running(call) {
                    run.add_denial(denial);
                }
            }
            CallEvent::Notice(ToolNotice::PlanUpdated { steps, .. }) => self.print_plan(steps),
            CallEvent::Notice(ToolNotice::Warning { text }) => {
                self.print_note(&mut self.state.lock(), &format!("· {}", truncate_line(text)));
            }
            // The line of an answer is truncated, and the user has to see this text in full.
            CallEvent::Notice(ToolNotice::WeakerSandbox { text, refused: true }) => {
                session::confinement_warnings::warn_once(text);
            }
            // The question is about to be drawn on the screen.
            CallEvent::Asked { .. } => {
                let mut state = self.state.lock();
                state.set_asking_about(call, true);
                state.owns_screen = false;
                self.clear(&mut state);
            }
            CallEvent::Decided { .. } => self.state.lock().set_asking_about(call, false),
            _ => {}
        }
    }

    fn wants_output(&self) -> bool {
        self.terminal
    }
}
