//! Looks up files through confined file access and translates its errors for the model.

use std::path::Path;

use exec::fs::{ConfinedFs, FileHandle, FsError};
use policy::{Permit, ReadScope};
use tool::ToolError;

/// Looks up `path` with the permit of the call.
pub(crate) fn look(permit: &Permit, path: &Path) -> Result<(ConfinedFs, FileHandle), ToolError> {
    let door = ConfinedFs::new(permit);
    let found = door.lookup(path).map_err(|fault| match fault {
        FsError::NotFound { .. } => match not_the_hosts(permit.read_scope(), path) {
            Some(why) => ToolError::io(format!("{fault}; {why}")),
            None => told(fault),
        },
        other => told(other),
    })?;
    Ok((door, found))
}

/// Explains why a file that the host has at `path` is invisible, if `path` lies in a private directory of the session.
pub(crate) fn not_the_hosts(reach: &ReadScope, path: &Path) -> Option<String> {
    let place = reach.replaced_place(path)?.display();
    Some(format!(
        "`{place}` is private to this session, so what the host has in its own `{place}` is not there; only the user can \
         show a directory of it, with `files.read_roots` in their own configuration or `--read-root`"
    ))
}

/// Converts a file access error into a tool error.
pub(crate) fn told(fault: FsError) -> ToolError {
    match fault {
        FsError::Denied(denial) => ToolError::Blocked(denial),
        other => ToolError::io(other.to_string()),
    }
}

/// Creates the error for a failed read of `path`, after it was opened.
pub(crate) fn reading(path: &Path, fault: &std::io::Error) -> ToolError {
    ToolError::io(format!("reading `{}` stopped: {fault}", path.display()))
}
