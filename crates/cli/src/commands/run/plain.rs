//! What happens, for people: the model's words on standard output, and a line for each call on standard error.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent::{Ended, Seen, Watch};
use anstyle::{AnsiColor, Style};
use toolgate::{CallId, Event, Notice, Observer, PlanStep, StepStatus, ToolCall, ToolOutput};

use super::Show;
use super::title::title;
use crate::screen::{self, FAINT, one_line, visible};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const MARK: Style = AnsiColor::Cyan.on_default();
/// Lines that are shown of what went wrong, and of what changed.
const LINES: usize = 6;
const DIFF: usize = 60;
/// Work that takes longer is told of.
const LONG: Duration = Duration::from_secs(1);

/// Prints for people.
pub(super) struct Plain {
    state: Mutex<State>,
    terminal: bool,
}

#[derive(Default)]
struct State {
    /// Standard output stands in the middle of a line.
    open: bool,
    /// A line that is written over says what is being done.
    told: bool,
    /// What runs, and since when; the model, if it is nothing else.
    runs: HashMap<String, (String, Instant)>,
    waits: Option<Instant>,
}

impl Plain {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), terminal: std::io::stderr().is_terminal() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what has been going on for a while, over what was said before.
    pub(super) fn tick(&self) {
        let mut state = self.state();
        if !self.terminal || state.open {
            return;
        }
        let oldest = state.runs.values().min_by_key(|(_, since)| *since).cloned();
        let waits = state.waits.map(|since| ("the model".to_owned(), since));
        let Some((what, since)) = oldest.or(waits).filter(|(_, since)| since.elapsed() >= LONG) else {
            return;
        };
        let (seconds, more) = (since.elapsed().as_secs(), state.runs.len().saturating_sub(1));
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let what: String = what.chars().take(60).collect();
        state.told = true;
        let _nobody_reads = write!(
            anstream::stderr(),
            "\r{FAINT}· {what}{more}: {seconds} s, Ctrl-C stops it{FAINT:#}\x1b[K"
        );
    }

    /// Prints a line to standard error, on a line of its own.
    fn line(&self, state: &mut State, line: &str) {
        self.clear(state);
        screen::to_stderr(line);
    }

    fn clear(&self, state: &mut State) {
        if std::mem::take(&mut state.told) {
            let _nobody_reads = write!(std::io::stderr(), "\r\x1b[K");
        }
        if std::mem::take(&mut state.open) {
            let _nobody_reads = writeln!(std::io::stdout());
        }
    }

    fn text(&self, text: &str) {
        let mut state = self.state();
        if std::mem::take(&mut state.told) {
            let _nobody_reads = write!(std::io::stderr(), "\r\x1b[K");
        }
        let shown = if std::io::stdout().is_terminal() { visible(text) } else { text.into() };
        let mut out = std::io::stdout().lock();
        let _nobody_reads = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
        state.open = !text.is_empty() && !text.ends_with('\n');
    }

    fn answered(&self, call: &ToolCall, output: &ToolOutput) {
        let mut state = self.state();
        state.runs.remove(call.id.as_str());
        let took =
            output.facts.duration.map(|took| format!(" {FAINT}{}{FAINT:#}", short(took))).unwrap_or_default();
        let (style, sign) = if output.success { (GOOD, '✓') } else { (BAD, '✗') };
        let held =
            output.facts.enforcement.as_ref().map(|held| format!(" {FAINT}{}{FAINT:#}", held.as_str()));
        let title = title(call);
        self.line(&mut state, &format!("{style}{sign}{style:#} {title}{took}{}", held.unwrap_or_default()));
        if !output.success {
            let text = output.joined_text();
            let said = text.split_once("\nOutput:\n").map_or(text.as_str(), |(_, said)| said);
            let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
            for line in &lines[lines.len().saturating_sub(LINES)..] {
                self.line(&mut state, &format!("  {FAINT}│ {}{FAINT:#}", cut(line)));
            }
        }
    }

    fn plan(&self, steps: &[PlanStep]) {
        let mut state = self.state();
        for step in steps {
            let (style, sign) = match step.status {
                StepStatus::Completed => (GOOD, '☑'),
                StepStatus::InProgress => (MARK, '▸'),
                StepStatus::Pending => (FAINT, '☐'),
            };
            self.line(&mut state, &format!("  {style}{sign} {}{style:#}", cut(&step.description)));
        }
    }

    fn diff(&self, diff: &str) {
        let mut state = self.state();
        let lines: Vec<&str> = diff.lines().collect();
        for line in lines.iter().take(DIFF) {
            let style = match line.as_bytes().first() {
                Some(b'+') => GOOD,
                Some(b'-') => BAD,
                Some(b'@') => MARK,
                _ => FAINT,
            };
            self.line(&mut state, &format!("  {style}{}{style:#}", cut(line)));
        }
        if lines.len() > DIFF {
            let more = lines.len() - DIFF;
            self.line(
                &mut state,
                &format!("  {FAINT}… {more} more lines; `toolgate diff` has them all{FAINT:#}"),
            );
        }
    }
}

/// A line that fits on one.
fn cut(line: &str) -> String {
    let line: String = line.chars().take(160).collect();
    one_line(&line)
}

/// A time in few letters.
fn short(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

impl Show for Plain {
    fn began(&self, session: &str, _: &str, model: &str, resumed: bool) {
        let again = if resumed { "goes on" } else { "begins" };
        self.line(
            &mut self.state(),
            &format!("{FAINT}session {session} {again}, model {}{FAINT:#}", one_line(model)),
        );
    }

    fn ended(&self, ended: &Result<Ended, String>) {
        let mut state = self.state();
        (state.waits, state.runs) = (None, HashMap::new());
        self.clear(&mut state);
        let said = match ended {
            Ok(Ended::Done) => return,
            Ok(Ended::CutShort { why }) => format!("the provider cut the model short: {}", one_line(why)),
            Ok(Ended::Interrupted) => "interrupted".to_owned(),
            Ok(Ended::OutOfRounds) => {
                "stopped: that was the last request it may make (--max-turns)".to_owned()
            }
            // It is told as a fault.
            Err(_) => return,
        };
        self.line(&mut state, &format!("{FAINT}{said}{FAINT:#}"));
    }

    fn tick(&self) {
        Self::tick(self);
    }

    fn gives_way(&self) {
        let mut state = self.state();
        // Whoever is asked is not waited for by us.
        state.runs.clear();
        self.clear(&mut state);
    }
}

impl Watch for Plain {
    fn saw(&self, seen: Seen<'_>) {
        match seen {
            Seen::Asked { .. } => self.state().waits = Some(Instant::now()),
            Seen::Text(text) => self.text(text),
            Seen::Thought(_) => {}
            Seen::Called(call) => {
                let mut state = self.state();
                state.waits = None;
                state.runs.insert(call.id.as_str().to_owned(), (title(call), Instant::now()));
            }
            Seen::Hosted { kind, .. } => {
                self.line(&mut self.state(), &format!("{FAINT}· {}{FAINT:#}", one_line(kind)));
            }
            Seen::Answered(call, output) => self.answered(call, output),
            Seen::Responded { .. } => self.state().waits = None,
            Seen::Retried { why, pause } => {
                let text = format!("{FAINT}· {}; again in {}{FAINT:#}", one_line(why), short(pause));
                self.line(&mut self.state(), &text);
            }
            Seen::Compacted { bytes } => {
                let text = format!("{FAINT}· the conversation was shortened by {} kB{FAINT:#}", bytes / 1000);
                self.line(&mut self.state(), &text);
            }
            Seen::Changed(diff) => self.diff(diff),
            Seen::Notice(text) => {
                self.line(&mut self.state(), &format!("{FAINT}· {}{FAINT:#}", cut(text)));
            }
        }
    }
}

impl Observer for Plain {
    fn saw(&self, _: &CallId, event: &Event) {
        match event {
            Event::Notice(Notice::PlanUpdated { steps, .. }) => self.plan(steps),
            Event::Notice(Notice::Warning { text }) => {
                self.line(&mut self.state(), &format!("{FAINT}· {}{FAINT:#}", cut(text)));
            }
            // The question is about to be on the screen.
            Event::Asked { .. } => {
                let mut state = self.state();
                self.clear(&mut state);
            }
            _ => {}
        }
    }

    fn streams(&self) -> bool {
        false
    }
}
