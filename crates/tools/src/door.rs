//! What the file door says → what a model is told.

use std::path::Path;

use exec::fs::{Door, Found, FsError};
use policy::Permit;
use tool::ToolError;

/// Looks at `path` with the key that the call was given.
pub(crate) fn look(permit: &Permit, path: &Path) -> Result<(Door, Found), ToolError> {
    let door = Door::new(permit);
    let found = door.look(path).map_err(told)?;
    Ok((door, found))
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
