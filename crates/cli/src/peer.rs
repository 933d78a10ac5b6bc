//! Who is at the other end of a socket: the user, and nothing that a tool has started, of whatever Toolgate.

use std::collections::BTreeSet;
use std::path::Path;

use tokio::net::UnixStream;

/// Generations that are looked back: nobody nests as deep.
const GENERATIONS: usize = 256;
/// What the processes are called that keep what tools start.
const KEEPERS: [&str; 2] = ["toolgate-keeper", "toolgate-cell"];

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unwelcome {
    #[error("the kernel does not say who it is")]
    Unknown,
    #[error("it runs as another user")]
    OtherUser,
    #[error(
        "it is in another user namespace, as a container or a sandbox is; only programs in the server's own are let in"
    )]
    OtherNamespace,
    #[error("a tool of a Toolgate has started it; only the user's own programs are let in")]
    Tool,
}

/// Whether whoever has connected may come in: a command may not answer for itself, nor start what it may not.
pub(crate) fn admit(stream: &UnixStream) -> Result<(), Unwelcome> {
    let peer = stream.peer_cred().map_err(|_| Unwelcome::Unknown)?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Err(Unwelcome::OtherUser);
    }
    // One that is in no namespace of processes that can be seen from here has no number.
    let process = peer.pid().map(i32::unsigned_abs).filter(|&process| process > 0);
    let process = process.ok_or(Unwelcome::OtherNamespace)?;
    let own = user_namespace("self").ok_or(Unwelcome::Unknown)?;
    // Whoever cannot be looked at may be in any.
    if user_namespace(&process.to_string()) != Some(own) {
        return Err(Unwelcome::OtherNamespace);
    }
    let ours = std::process::id();
    let above = ancestors(process).ok_or(Unwelcome::Unknown)?;
    // A server that a tool has started is that tool's own.
    let common: BTreeSet<u32> = ancestors(ours).unwrap_or_default().into_iter().collect();
    let is_keeper = |process: &u32| {
        !common.contains(process) && name(*process).is_none_or(|name| KEEPERS.contains(&name.as_str()))
    };
    if above.contains(&ours) || above.iter().any(is_keeper) {
        return Err(Unwelcome::Tool);
    }
    Ok(())
}

fn user_namespace(process: &str) -> Option<(u64, u64)> {
    let file = rustix::fs::stat(format!("/proc/{process}/ns/user")).ok()?;
    Some((file.st_dev, file.st_ino))
}

/// A process, its parent, the parent of that and so on; nothing if one is gone already.
fn ancestors(process: u32) -> Option<Vec<u32>> {
    let mut all = vec![process];
    for _ in 0..GENERATIONS {
        match parent(*all.last()?)? {
            0 => return Some(all),
            above => all.push(above),
        }
    }
    None
}

/// The parent of a process; `None` if nobody knows.
fn parent(process: u32) -> Option<u32> {
    // The name of the program stands in parentheses, and may hold anything.
    let stat = told(process, "stat")?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn name(process: u32) -> Option<String> {
    told(process, "comm").map(|name| name.trim_end().to_owned())
}

fn told(process: u32, what: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the kernel's own word, and no file of anybody's")]
    std::fs::read_to_string(format!("/proc/{process}/{what}")).ok()
}

/// Why a socket at `path` lies badly, if commands of some session may be able to write there.
pub(crate) fn misplaced(path: &Path, cwd: &Path) -> Option<String> {
    let shared = ["/tmp", "/var/tmp", "/dev/shm"].map(Path::new);
    let holds = |directory: &&Path| path.starts_with(directory);
    // Who starts a server at the top of all means no directory by it.
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
    async fn what_a_program_starts_itself_is_not_let_in() {
        let (own, _other) = UnixStream::pair().unwrap();
        assert_eq!(admit(&own), Err(Unwelcome::Tool));
    }

    #[test]
    fn everybody_has_ancestors() {
        let all = ancestors(std::process::id()).unwrap();
        assert_eq!(all[0], std::process::id());
        assert!(all.len() > 1);
    }

    #[test]
    fn where_a_socket_lies_badly() {
        for (path, bad) in
            [("/tmp/s", true), ("/w/a/s", true), ("/run/user/1/s", false), ("/var/tmp/x/s", true)]
        {
            assert_eq!(misplaced(Path::new(path), Path::new("/w")).is_some(), bad, "{path}");
        }
    }
}
