//! Looks up files through confined file access and translates its errors for the model.

use std::path::Path;

use exec::fs::{ConfinedFs, FileHandle, FsError};
use policy::{Permit, ReadScope};
use tool::ToolError;

/// Looks up `path` with the permit of the call.
pub(crate) fn look_up(permit: &Permit, path: &Path) -> Result<(ConfinedFs, FileHandle), ToolError> {
    let fs = ConfinedFs::new(permit);
    let found = fs.lookup(path).map_err(|fault| match fault {
        FsError::NotFound { .. } => match private_tmp_hint(permit.read_scope(), path) {
            Some(why) => ToolError::io(format!("{fault}; {why}")),
            None => fs_error(fault),
        },
        other => fs_error(other),
    })?;
    Ok((fs, found))
}

/// Explains why a file that the host has at `path` is invisible, if `path` lies in a private directory of the session.
pub(crate) fn private_tmp_hint(read_scope: &ReadScope, path: &Path) -> Option<String> {
    let private_dir = read_scope.replaced_place(path)?.display();
    Some(format!(
        "`{private_dir}` is private to this session, so what the host has in its own `{private_dir}` is not there; only the user can \
         show a directory of it, with `files.read_roots` in their own configuration or `--read-root`"
    ))
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
