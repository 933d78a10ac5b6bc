//! Exit statuses of the program, and the report of an error that ends it.

use std::process::ExitCode;

use config::{FaultKind, OperationFault};
use server::ServerExit;

/// The exit status for a wrong command line, configuration or call.
pub(crate) const USAGE: u8 = 2;
/// The exit status when a command could not be confined, and so was not run.
pub(crate) const UNCONFINED: u8 = 125;
/// The exit status after Ctrl-C, as shells give it.
pub(crate) const INTERRUPTED: u8 = 130;
/// The exit status after SIGTERM, as shells give it.
pub(crate) const TERMINATED: u8 = 143;
/// The exit status after SIGHUP, as shells give it.
pub(crate) const HUNG_UP: u8 = 129;
/// The exit status when an operation fails for reasons outside the command line.
pub(crate) const FAILED: u8 = 1;

/// Prints the error and its hint, and returns the exit status.
pub(crate) fn report_fault(fault: &OperationFault) -> ExitCode {
    let status = match fault.kind() {
        FaultKind::Usage => USAGE,
        FaultKind::Unconfined => UNCONFINED,
        // A service manager starts the server again when the other one is gone.
        FaultKind::Busy | FaultKind::Failed => FAILED,
        FaultKind::ReaderGone => return ExitCode::SUCCESS,
    };
    terminal::print_error(fault.message());
    if let Some(hint) = fault.hint() {
        terminal::print_hint(hint);
    }
    ExitCode::from(status)
}

/// Returns the exit status of work that ended with `code`, or that of an error if output was lost.
pub(crate) fn of_output(code: ExitCode) -> ExitCode {
    let Some(error) = terminal::output_fault() else { return code };
    terminal::print_error(&format!("the output could not be written: {error}"));
    ExitCode::from(FAILED)
}

/// Returns the exit status for the end of a server.
pub(crate) fn of_server(end: ServerExit) -> ExitCode {
    match end {
        ServerExit::InputEnded => ExitCode::SUCCESS,
        ServerExit::Interrupted => ExitCode::from(INTERRUPTED),
        ServerExit::Terminated => ExitCode::from(TERMINATED),
        ServerExit::HungUp => ExitCode::from(HUNG_UP),
    }
}
