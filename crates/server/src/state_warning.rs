//! Checks if sessions can be recorded: a server warns at its start, since each call would be refused later.

use config::{UserDirs, state_hint};
use private_files::probe_write;
use session::hints::SCRATCH_HINT;

/// Prints a warning to stderr if the directory of sessions, or the one of temporary files, cannot be written.
pub(crate) fn warn_if_unwritable(dirs: &UserDirs) {
    let temporary = std::env::temp_dir();
    if let Err(error) = probe_write(&temporary) {
        let path = temporary.display();
        terminal::print_warning(&format!(
            "no command can run: `{path}` cannot hold temporary files: {error}"
        ));
        terminal::print_hint(SCRATCH_HINT);
    }
    let Some(sessions) = &dirs.sessions else { return };
    if let Err(error) = probe_write(sessions) {
        let path = sessions.display();
        terminal::print_warning(&format!(
            "sessions cannot be recorded in `{path}`, so calls are refused: {error}"
        ));
        terminal::print_hint(state_hint(&error));
    }
}

/// Returns the reason why no session can start: its directories cannot be written. The text names no path.
pub(crate) fn unready_reason(dirs: &UserDirs) -> Option<&'static str> {
    if dirs.sessions.as_deref().is_none_or(|sessions| probe_write(sessions).is_err()) {
        return Some("sessions cannot be recorded");
    }
    probe_write(&std::env::temp_dir()).is_err().then_some("there is no directory for temporary files")
}
