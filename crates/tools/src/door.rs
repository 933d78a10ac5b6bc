//! What the file door says → what a model is told.

use std::path::Path;

use exec::fs::{Door, Found, FsError};
use policy::{Permit, Reach};
use tool::ToolError;

/// Looks at `path` with the key that the call was given.
pub(crate) fn look(permit: &Permit, path: &Path) -> Result<(Door, Found), ToolError> {
    let door = Door::new(permit);
    let found = door.look(path).map_err(|fault| match fault {
        FsError::NotFound { .. } => match not_the_hosts(permit.reach(), path) {
            Some(why) => ToolError::io(format!("{fault}; {why}")),
            None => told(fault),
        },
        other => told(other),
    })?;
    Ok((door, found))
}

/// Why a file that the host has at `path` is not seen, if `path` lies in a directory of the session's own.
pub(crate) fn not_the_hosts(reach: &Reach, path: &Path) -> Option<String> {
    let place = reach.own_place(path)?.display();
    Some(format!(
        "`{place}` is private to this session, so what the host has in its own `{place}` is not there; only the user can \
         show a directory of it, with `files.read_roots` in their own configuration or `--read-root`"
    ))
}

/// A fault of the door, as a fault of the call.
pub(crate) fn told(fault: FsError) -> ToolError {
    match fault {
        FsError::Denied(denial) => ToolError::Blocked(denial),
        other => ToolError::io(other.to_string()),
    }
}

/// A fault while reading `path`, which was opened already.
pub(crate) fn reading(path: &Path, fault: &std::io::Error) -> ToolError {
    ToolError::io(format!("reading `{}` stopped: {fault}", path.display()))
}
