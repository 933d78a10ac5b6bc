//! Looks up files through confined file access and translates its errors for the model.

use std::path::Path;

use exec::fs::{ConfinedFs, FileHandle, FsError};
use policy::Permit;
use tool::ToolError;

/// Looks up `path` with the permit of the call.
pub(crate) fn look_up(permit: &Permit, path: &Path) -> Result<(ConfinedFs, FileHandle), ToolError> {
    let fs = ConfinedFs::new(permit);
    let found = fs.lookup(path).map_err(|fault| match fault {
        // The file may exist on the host, where the author of the call has seen it.
        FsError::NotFound { .. } => match permit.read_scope().private_directory(path) {
            Some(private) => {
                ToolError::Io { what: format!("{fault}; {private}"), source: Some(Box::new(private)) }
            }
            None => fs_error(fault),
        },
        other => fs_error(other),
    })?;
    Ok((fs, found))
}

/// Converts a file access error into a tool error.
pub(crate) fn fs_error(fault: FsError) -> ToolError {
    match fault {
        FsError::Denied(denial) => ToolError::Blocked(denial),
        other => ToolError::io(other.to_string()),
    }
}

/// Creates the error for a failed read of `path`, after it was opened.
pub(crate) fn read_error(path: &Path, fault: &std::io::Error) -> ToolError {
    ToolError::io(format!("reading `{}` stopped: {fault}", path.display()))
}
