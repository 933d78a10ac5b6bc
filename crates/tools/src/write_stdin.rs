//! `write_stdin`: writes to a session's input, or only polls it; returns new output or the terminal screen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exec::process::PtySize;
use exec::session::{InputFault, ProcessSession, SessionStage};
use policy::{Effect, Intent, Permit, ProgramInput};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, ToolError, ToolHandler, ToolJob, ToolOutput, WorkingDir};

use crate::commands::{
    CommandReport, CommandRunner, ESCALATION_ARGS, EscalationRequest, OutputStreamer, ReportLabels,
    SandboxPermissions, WaitOptions, WaitResult, wait_for_command,
};
use crate::terminal_screen::render_screen;

/// The default and longest wait in milliseconds after input; the default is also the shortest.
const DEFAULT_YIELD_MS: u64 = 250;
const MAX_YIELD_MS: u64 = 30_000;
/// The shortest and longest wait in milliseconds without input.
const MIN_POLL_MS: u64 = 5_000;
const MAX_POLL_MS: u64 = 300_000;
/// Ctrl-C; a process without a terminal gets it as a signal.
const CTRL_C: &str = "\u{3}";
const SIGINT: i32 = 2;

/// The `write_stdin` tool.
pub(crate) struct WriteStdin(pub(crate) Arc<CommandRunner>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// From exec_command.
    session_id: u32,
    /// Text to type, e.g. `print(1)\n`; `\u0003` is Ctrl-C.
    chars: Option<String>,
    /// Then close stdin.
    close: Option<bool>,
    /// Wait 250 to 30000 (default 250); without chars 5000 to 300000.
    yield_time_ms: Option<u64>,
    /// Output limit (default 10000).
    max_output_tokens: Option<u64>,
    /// Return the terminal screen.
    screen: Option<bool>,
    #[schemars(range(min = 1, max = 1000))]
    rows: Option<u16>,
    #[schemars(range(min = 1, max = 1000))]
    cols: Option<u16>,
    /// `require_escalated` asks for more than the sandbox allows.
    sandbox_permissions: Option<SandboxPermissions>,
    /// Tell the user why.
    justification: Option<String>,
}

impl ToolHandler for WriteStdin {
    type Args = Args;
    const NAME: &'static str = "write_stdin";
    const ABOUT: &'static str = "Types into a session of exec_command and returns its new output; with nothing to type, waits for some.";
    const HIDDEN_ARGS: &'static [&'static str] = ESCALATION_ARGS;
    const JOB: ToolJob = ToolJob::Session;
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[("input", "chars")];

    fn intent(&self, args: &Args, _: &WorkingDir) -> Result<Intent, ToolError> {
        let escalation = EscalationRequest {
            permissions: args.sandbox_permissions,
            justification: args.justification.as_deref(),
            ..EscalationRequest::default()
        };
        // Polling has no effect; input is executed by a program.
        let chars = args.chars.clone().unwrap_or_default();
        let types = !chars.is_empty() || args.close == Some(true);
        let session = self.0.sessions.find(args.session_id).filter(|_| types);
        let effect = session.map(|session| {
            let confined = session.confinement().is_some();
            Effect::SendInput(ProgramInput {
                command_line: session.origin().command.clone(),
                text: chars,
                confined,
            })
        });
        Ok(escalation.apply_to(Intent::from_effects(effect.into_iter().collect())))
    }

    async fn run(&self, args: &Args, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let began = Instant::now();
        let session = find_session(&self.0, args.session_id)?;
        resize(&session, args)?;
        let chars = args.chars.as_deref().unwrap_or_default();
        let poll = chars.is_empty() && args.close != Some(true) && args.rows.is_none() && args.cols.is_none();
        send_input(&session, chars, args)?;
        let asked = args.yield_time_ms.unwrap_or(DEFAULT_YIELD_MS);
        let wait = match (poll, args.screen) {
            (true, Some(true)) => 0,
            (true, _) => asked.clamp(MIN_POLL_MS, MAX_POLL_MS),
            (false, _) => asked.clamp(DEFAULT_YIELD_MS, MAX_YIELD_MS),
        };
        let deadline = Instant::now() + Duration::from_millis(wait);
        let wait = WaitOptions { deadline, stop_at_prompt: true, stop_at_exit: false };
        // A screen request consumes no output, so it streams nothing.
        let mut streamer = if args.screen == Some(true) {
            OutputStreamer::disabled()
        } else {
            OutputStreamer::for_session(&session, cx)
        };
        let outcome = match wait_for_command(&session, None, &mut streamer, wait, cx).await {
            // Ending the wait does not end the session.
            WaitResult::Halted(_) => WaitResult::StillRunning,
            other => other,
        };
        if args.screen == Some(true)
            && let Some((bytes, size)) = session.recent_terminal_output()
        {
            let drawn = cx.run_blocking(move |stop| Ok(render_screen(&bytes, size, stop))).await?;
            let report = CommandReport::without_output(&session, began, cx).with_text(drawn);
            return Ok(report.to_output(report.ending(outcome), ReportLabels::Session));
        }
        let report = CommandReport::new(&session, streamer, began, args.max_output_tokens, cx).await;
        if report.is_over() {
            self.0.sessions.forget(session.id());
        }
        Ok(report.to_output(report.ending(outcome), ReportLabels::Session))
    }
}

/// Finds the session with this id.
pub(crate) fn find_session(commands: &CommandRunner, id: u32) -> Result<Arc<ProcessSession>, ToolError> {
    commands.sessions.find(id).ok_or_else(|| {
        let open: Vec<String> = commands.sessions.all().iter().map(|one| one.id().to_string()).collect();
        let open = match open.is_empty() {
            true => "there is none: start one with exec_command".to_owned(),
            false => format!("there are {}", open.join(", ")),
        };
        ToolError::bad_argument(
            "session_id",
            format!(
                "no session has the ID {id} (an ended one is forgotten once its end was reported); {open}"
            ),
        )
    })
}

fn resize(session: &ProcessSession, args: &Args) -> Result<(), ToolError> {
    if args.rows.is_none() && args.cols.is_none() && args.screen != Some(true) {
        return Ok(());
    }
    let Some((_, PtySize { rows, cols })) = session.recent_terminal_output() else {
        let why = "the session has no terminal; start it with tty = true";
        let argument = match args {
            Args { screen: Some(true), .. } => "screen",
            Args { rows: Some(_), .. } => "rows",
            _ => "cols",
        };
        return Err(ToolError::bad_argument(argument, why));
    };
    let size = PtySize { rows: args.rows.unwrap_or(rows), cols: args.cols.unwrap_or(cols) };
    if args.rows.is_some() || args.cols.is_some() {
        let resized = session.resize(size);
        resized.map_err(|error| ToolError::io(format!("the terminal could not be resized: {error}")))?;
    }
    Ok(())
}

fn send_input(session: &ProcessSession, chars: &str, args: &Args) -> Result<(), ToolError> {
    if session.stage() != SessionStage::Running {
        // The model must learn that the session has ended; its input comes too late.
        return Ok(());
    }
    let no_terminal = !session.origin().terminal;
    if chars == CTRL_C && no_terminal {
        session.signal(SIGINT);
    } else if !chars.is_empty() {
        session.write_input(chars.as_bytes()).map_err(|fault| {
            let hint = match fault {
                InputFault::Closed => "start it with tty = true or stdin = true to type into it",
                InputFault::Full { .. } => "wait until it reads, or end it with kill_session",
            };
            ToolError::bad_argument(
                "chars",
                format!("session {} cannot take it: {fault}; {hint}", session.id()),
            )
        })?;
    }
    if args.close == Some(true) {
        session.close_input();
    }
    Ok(())
}
