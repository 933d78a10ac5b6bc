//! Checks the peer of a Unix socket: only the user's own programs may connect, never a process that a tool started.

use std::collections::BTreeSet;
use std::path::Path;

use tokio::net::UnixStream;

/// Ancestors to look at; deeper nesting does not occur in practice.
const MAX_ANCESTORS: usize = 256;
/// Further attempts to see all ancestors: the child of a parent that ends meanwhile gets another parent.
const ANCESTOR_RETRIES: usize = 3;
/// Names of the processes that supervise what tools start.
const SUPERVISOR_NAMES: [&str; 2] = ["toolgate-super", "toolgate-cell"];

/// The reason for rejecting a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PeerRejection {
    #[error("the kernel does not report its user")]
    Unknown,
    #[error("it runs as another user")]
    OtherUser,
    #[error(
        "its process cannot be seen from here, because it is in another PID namespace, as another container is; in a pod, \
         `shareProcessNamespace: true` shares one"
    )]
    Invisible,
    #[error(
        "it is in another user namespace, as a container or a sandbox is; only programs in the server's own namespace are accepted"
    )]
    OtherNamespace,
    #[error("a process above it cannot be seen, which may be a tool of Toolgate")]
    HiddenAncestor,
    #[error("a tool of Toolgate has started it; only the user's own programs are accepted")]
    Tool,
    /// The peer has left: there is nobody to tell.
    #[error("it has ended")]
    Gone,
}

/// Decides whether the connected process may use the socket. A command must not approve its own calls, nor start what
/// it may not.
pub(crate) fn admit_peer(stream: &UnixStream) -> Result<(), PeerRejection> {
    let peer = stream.peer_cred().map_err(|_| PeerRejection::Unknown)?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Err(PeerRejection::OtherUser);
    }
    // A process in a PID namespace that is invisible from here has no PID.
    let process = peer.pid().map(i32::unsigned_abs).filter(|&process| process > 0);
    let process = process.ok_or(PeerRejection::Invisible)?;
    let own = user_namespace("self").ok_or(PeerRejection::Unknown)?;
    let mut judged = judge_process(process, own);
    for _ in 0..ANCESTOR_RETRIES {
        if judged == Err(PeerRejection::HiddenAncestor) {
            judged = judge_process(process, own);
        }
    }
    // What was read about a process that ends meanwhile says nothing.
    judged.map_err(|why| if is_running(process) { why } else { PeerRejection::Gone })
}

/// Decides about a process by its user namespace and its ancestors.
fn judge_process(process: u32, own: (u64, u64)) -> Result<(), PeerRejection> {
    // A process whose namespace cannot be read may be in any.
    if user_namespace(&process.to_string()) != Some(own) {
        return Err(PeerRejection::OtherNamespace);
    }
    let ours = std::process::id();
    let above = ancestors(process).ok_or(PeerRejection::HiddenAncestor)?;
    if above.contains(&ours) {
        return Err(PeerRejection::Tool);
    }
    // A server that was started by a tool belongs to that tool: shared ancestors do not count.
    let common: BTreeSet<u32> = ancestors(ours).unwrap_or_default().into_iter().collect();
    for ancestor in above.into_iter().filter(|ancestor| !common.contains(ancestor)) {
        let name = process_name(ancestor).ok_or(PeerRejection::HiddenAncestor)?;
        if SUPERVISOR_NAMES.contains(&name.as_str()) {
            return Err(PeerRejection::Tool);
        }
    }
    Ok(())
}

/// Returns whether a process exists and has not ended.
fn is_running(process: u32) -> bool {
    let state = stat_fields(process).and_then(|fields| fields.chars().next());
    state.is_some_and(|state| !['Z', 'X'].contains(&state))
}

fn user_namespace(process: &str) -> Option<(u64, u64)> {
    let file = rustix::fs::stat(format!("/proc/{process}/ns/user")).ok()?;
    Some((file.st_dev, file.st_ino))
}

/// Returns a process, its parent, grandparent and so on; `None` if one is gone already.
fn ancestors(process: u32) -> Option<Vec<u32>> {
    let mut all = vec![process];
    for _ in 0..MAX_ANCESTORS {
        match parent_pid(*all.last()?)? {
            0 => return Some(all),
            above => all.push(above),
        }
    }
    None
}

/// Returns the parent of a process; `None` if it cannot be determined.
fn parent_pid(process: u32) -> Option<u32> {
    stat_fields(process)?.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the fields of `/proc/PID/stat` from the state on.
fn stat_fields(process: u32) -> Option<String> {
    // The program name is in parentheses and may contain any character.
    let stat = read_proc_file(process, "stat")?;
    stat.rsplit_once(')').map(|(_, fields)| fields.trim_start().to_owned())
}

fn process_name(process: u32) -> Option<String> {
    read_proc_file(process, "comm").map(|name| name.trim_end().to_owned())
}

fn read_proc_file(process: u32, what: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the kernel's own word, and no file of anybody's")]
    std::fs::read_to_string(format!("/proc/{process}/{what}")).ok()
}

/// Returns a warning if commands of some session may be able to write where the socket `path` lies.
pub(crate) fn socket_path_warning(path: &Path, cwd: &Path) -> Option<String> {
    let shared = ["/tmp", "/var/tmp", "/dev/shm"].map(Path::new);
    let holds = |directory: &&Path| path.starts_with(directory);
    // A server started in `/` does not claim the whole file system as its working directory.
    let cwd = Some(cwd).filter(|cwd| cwd.parent().is_some());
    let place = cwd.iter().chain(&shared).copied().find(holds)?;
    Some(format!(
        "the socket lies below `{}`, where commands may be able to write and so to put another one in its place; a directory of your own, \
        e.g. $XDG_RUNTIME_DIR, is safer",
        place.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn own_descendants_are_rejected() {
        let (own, _other) = UnixStream::pair().unwrap();
        assert_eq!(admit_peer(&own), Err(PeerRejection::Tool));
    }

    #[test]
    fn a_process_that_has_ended_is_not_running() {
        #[expect(clippy::disallowed_methods, reason = "a test starts a process")]
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = child.id();
        assert!(is_running(std::process::id()));
        // A zombie at the latest after `wait` has seen the end.
        rustix::process::waitid(
            rustix::process::WaitId::Pid(rustix::process::Pid::from_child(&child)),
            rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
        )
        .unwrap();
        assert!(!is_running(process));
        child.wait().unwrap();
        assert!(!is_running(process));
    }

    #[test]
    fn own_process_has_ancestors() {
        let all = ancestors(std::process::id()).unwrap();
        assert_eq!(all[0], std::process::id());
        assert!(all.len() > 1);
    }

    #[test]
    fn socket_in_a_shared_directory_is_reported() {
        for (path, bad) in
            [("/tmp/s", true), ("/w/a/s", true), ("/run/user/1/s", false), ("/var/tmp/x/s", true)]
        {
            assert_eq!(socket_path_warning(Path::new(path), Path::new("/w")).is_some(), bad, "{path}");
        }
    }
}
