//! Runs one command in the sandbox, with the terminal or the standard streams of this program.

use std::io::{IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use exec::process::{ConfinementReport, LaunchStep, PtySize, SpawnFault};
use exec::session::{OutputStreaming, ProcessSession, Pump, SessionStage};
use runtime::{CommandSandbox, Denial, Enforcement, SandboxFault};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use crate::exit_status::UNCONFINED;
use config::OperationFault;
use config::SettingSource;
use config::flags::WorkspaceArgs;
use session::compose::{ComposedTools, compose_with};
use session::confinement_warnings::warn_once;
use session::hints;

/// Exit statuses by shell convention: the program cannot be executed, or is not found.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// Environment variables that describe the terminal, passed into the sandbox.
const TERMINAL_VARIABLES: &[&str] = &["TERM", "COLORTERM", "NO_COLOR", "TERM_PROGRAM", "COLUMNS", "LINES"];
/// Time for processes that the command left running to end.
const LEFTOVER_GRACE_PERIOD: Duration = Duration::from_millis(200);

/// A command to run in the sandbox.
pub(crate) struct SandboxRun {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// True if its confinement and its refusals are printed.
    pub(crate) explain: bool,
}

/// Composes a sandbox in which a single command can work.
pub(crate) fn compose_for_command(
    place: &WorkspaceArgs,
    env: &[String],
) -> Result<ComposedTools, OperationFault> {
    compose_with(place, |config| {
        // A single command should be able to work here, so workspace-write is the default of this command.
        if config.sandbox.source == SettingSource::BuiltIn {
            config.sandbox.value = config::SandboxMode::WorkspaceWrite;
        }
        for named in TERMINAL_VARIABLES.iter().filter(|name| std::env::var_os(name).is_some()) {
            config.commands.add_variable(named);
        }
        for named in env {
            config.commands.add_variable(named);
        }
    })
}

/// Runs the command, with the terminal or the standard streams of this program.
pub(crate) fn run_in(sandbox: &CommandSandbox, run: SandboxRun) -> Result<ExitCode, OperationFault> {
    let SandboxRun { argv, explain } = run;
    crate::commands::block_on_current_thread(async {
        if explain {
            match sandbox.explain(&argv).await {
                Ok(explained) => print_report(&explained),
                Err(fault) => return Ok(report_fault(&fault)),
            }
        }
        match sandbox.enforcement(&argv).await {
            Ok(enforcement) => {
                enforcement.warning().iter().for_each(|weaker| warn_once(&hints::explain(weaker)));
            }
            Err(fault) => return Ok(report_fault(&fault)),
        }
        let all_terminals = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        let started = if all_terminals {
            let size = terminal_size();
            sandbox.run_in_terminal(argv, size.rows, size.cols).await
        } else {
            sandbox.run(argv, clone_stdio()?).await
        };
        let (session, pump) = match started {
            Ok(started) => started,
            Err(fault) => return Ok(report_fault(&fault)),
        };
        let code = if all_terminals {
            relay_terminal(&session, pump).await?
        } else {
            wait_forwarding_signals(&session, pump).await?
        };
        report_denials(&session, explain);
        for note in session.land() {
            terminal::print_hint(&note);
        }
        Ok(code)
    })
}

/// Prints the refusals of a command: those that its own messages do not explain, or all of them.
fn report_denials(session: &ProcessSession, explain: bool) {
    // The command itself says only that its connection was reset.
    session.unreachable_hosts().iter().for_each(|host| terminal::print_hint(&host.to_string()));
    for denial in session.denials() {
        match denial {
            // Without the message, the exit status 137 would be the only information.
            Denial::Ended { .. } => terminal::print_error(&hints::explain(&denial)),
            _ if explain => terminal::print_hint(&format!("refused: {}", hints::explain(&denial))),
            // The command itself says only that a name was not found.
            Denial::MayNotConnect { target, .. } => terminal::print_hint(&format!(
                "the sandbox refused a connection to `{target}`; `--host {target}` allows it"
            )),
            _ => {}
        }
    }
}

fn clone_stdio() -> Result<[OwnedFd; 3], OperationFault> {
    let (input, output, errors) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let own = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned();
    Ok([own(input.as_fd())?, own(output.as_fd())?, own(errors.as_fd())?])
}

/// Prints the fault, and returns its exit status.
fn report_fault(fault: &SandboxFault) -> ExitCode {
    terminal::print_error(&fault.to_string());
    hints::hint_lines(fault).iter().for_each(|hint| terminal::print_hint(hint));
    ExitCode::from(match fault {
        SandboxFault::Spawn(SpawnFault::Refused { step: LaunchStep::Exec, errno, .. }) => {
            match errno.kind() {
                std::io::ErrorKind::NotFound => NOT_FOUND,
                _ => NOT_EXECUTABLE,
            }
        }
        _ => UNCONFINED,
    })
}

/// Returns the exit status of an ended session.
fn exit_code(session: &ProcessSession) -> ExitCode {
    if let Some(fault) = session.take_fault() {
        return report_fault(&SandboxFault::Spawn(fault));
    }
    match session.stage() {
        SessionStage::Over { exit, .. } | SessionStage::LeaderExited { exit, .. } => {
            ExitCode::from(u8::try_from(exit.code() & 0xff).unwrap_or(u8::MAX))
        }
        SessionStage::Running | SessionStage::Lost => {
            terminal::print_error("the command was lost: its supervisor was killed");
            ExitCode::from(UNCONFINED)
        }
    }
}

/// Waits for the command, and forwards signals to it.
async fn wait_forwarding_signals(
    session: &Arc<ProcessSession>,
    mut pump: Pump,
) -> Result<ExitCode, OperationFault> {
    let mut changed = session.subscribe();
    let signals =
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
    let [mut interrupt, mut terminate, mut hangup, mut quit] =
        [signal(signals[0])?, signal(signals[1])?, signal(signals[2])?, signal(signals[3])?];
    // ends: when no process of it is left
    loop {
        tokio::select! {
            () = &mut pump => return Ok(exit_code(session)),
            _ = changed.changed() => {
                if matches!(session.stage(), SessionStage::LeaderExited { .. }) {
                    session.end(LEFTOVER_GRACE_PERIOD);
                }
            }
            _ = interrupt.recv() => session.signal(signals[0].as_raw_value()),
            _ = terminate.recv() => session.signal(signals[1].as_raw_value()),
            _ = hangup.recv() => session.signal(signals[2].as_raw_value()),
            _ = quit.recv() => session.signal(signals[3].as_raw_value()),
        }
    }
}

fn terminal_size() -> PtySize {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => PtySize { rows: size.ws_row, cols: size.ws_col },
        Ok(_) | Err(_) => PtySize::default(),
    }
}

/// Raw mode of the user's terminal, restored on drop.
struct RawTerminal(Termios);

impl RawTerminal {
    fn new() -> std::io::Result<Self> {
        let before = tcgetattr(std::io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self(before))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        let _gone = tcsetattr(std::io::stdin(), OptionalActions::Drain, &self.0);
    }
}

/// Relays keys to the command and its output to the terminal. The command has its own terminal and never
/// holds the user's.
async fn relay_terminal(session: &Arc<ProcessSession>, mut pump: Pump) -> Result<ExitCode, OperationFault> {
    let raw = RawTerminal::new()?;
    let (keys, mut typed) = tokio::sync::mpsc::channel::<Vec<u8>>(64);
    // The thread may still wait for a key at the end; the program does not join it.
    let _reader = std::thread::Builder::new().spawn(move || {
        let mut bytes = [0; 4096];
        // ends: with the terminal, or with the receiver
        while let Ok(read @ 1..) = std::io::stdin().read(&mut bytes) {
            if keys.blocking_send(bytes[..read].to_vec()).is_err() {
                break;
            }
        }
    })?;
    let mut resized = signal(SignalKind::window_change())?;
    let streaming = session.stream_output();
    let mut changed = session.subscribe();
    // ends: when no process of it is left
    loop {
        print_output(&streaming)?;
        tokio::select! {
            () = &mut pump => break,
            _ = changed.changed() => {
                if matches!(session.stage(), SessionStage::LeaderExited { .. }) {
                    session.end(LEFTOVER_GRACE_PERIOD);
                }
            }
            Some(bytes) = typed.recv() => { let _ended = session.write_input(&bytes); }
            _ = resized.recv() => { let _ended = session.resize(terminal_size()); }
        }
    }
    print_output(&streaming)?;
    drop(raw);
    Ok(exit_code(session))
}

fn print_output(streaming: &OutputStreaming) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    // ends: when all available output was shown
    while let Some((_, bytes)) = streaming.next() {
        out.write_all(&bytes)?;
    }
    out.flush()
}

fn print_report(explained: &ConfinementReport) {
    terminal::print_stderr(&format!("layers: {}", explained.tier.as_str()));
    match &explained.enforcement {
        Enforcement::Partial(gaps) => {
            terminal::print_stderr("enforced: partial, with these gaps:");
            gaps.iter().for_each(|gap| terminal::print_stderr(&format!("  - {}", gap.sentence())));
        }
        whole @ (Enforcement::Full | Enforcement::None { .. }) => {
            terminal::print_stderr(&format!("enforced: {whole}"));
        }
    }
    for (path, what) in &explained.mounts {
        terminal::print_stderr(&format!(
            "  {what:<24} {}",
            terminal::escape_invisible(&path.to_string_lossy())
        ));
    }
}
