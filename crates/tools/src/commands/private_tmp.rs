//! Reports files that a command wrote next to a workspace in `/tmp`, where only the session sees them.

use std::path::Path;
use std::time::Duration;

use exec::fs::changed_within;
use exec::session::ProcessSession;

use super::sandbox_refusals::lacks_private_tmp;
use crate::private_files::PrivateFiles;

/// The number of files that are named per directory.
const MAX_LISTED_FILES: usize = 4;
/// Added to the command's running time, because file timestamps are coarse.
const TIMESTAMP_SLACK: Duration = Duration::from_millis(50);

/// Returns notes on the files that the command of `session` left in private directories above `workspace`.
pub(crate) fn files_left_in_private_tmp(session: &ProcessSession, workspace: &Path) -> Vec<String> {
    let Some(read_scope) = session.read_scope().filter(|_| !lacks_private_tmp(&session.enforcement())) else {
        return Vec::new();
    };
    let private_dirs =
        workspace.ancestors().skip(1).take_while(|above| read_scope.replaced_place(above).is_some());
    let left: Vec<String> = private_dirs
        .flat_map(|above| {
            changed_within(
                &read_scope.real_path(above),
                session.wall_time() + TIMESTAMP_SLACK,
                MAX_LISTED_FILES,
            )
        })
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    PrivateFiles::among(left.iter().map(String::as_str), &read_scope).note_lines()
}
