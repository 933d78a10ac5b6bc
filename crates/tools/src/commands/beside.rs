//! Files that a command wrote beside a workspace in `/tmp`: they look as if they were on the host, and are not.

use std::path::Path;
use std::time::Duration;

use exec::fs::changed_within;
use exec::session::Session;

use super::refusals::lacks_own_places;
use crate::own_files::OwnFiles;

/// How many files of a directory are named.
const SHOWN: usize = 4;
/// Added to the time that a command ran: clocks of files are coarse.
const SLACK: Duration = Duration::from_millis(50);

/// Says which files the command of `session` left in directories above `workspace` that are the session's own.
pub(crate) fn left_beside(session: &Session, workspace: &Path) -> Vec<String> {
    let Some(reach) = session.reach().filter(|_| !lacks_own_places(&session.enforcement())) else {
        return Vec::new();
    };
    let own = workspace.ancestors().skip(1).take_while(|above| reach.own_place(above).is_some());
    let left: Vec<String> = own
        .flat_map(|above| changed_within(&reach.real(above), session.wall() + SLACK, SHOWN))
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    OwnFiles::of(left.iter().map(String::as_str), &reach).told()
}
