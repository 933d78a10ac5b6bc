//! Creates cells on the host side: plans one, requests it from the spawner, in the strongest available tier.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use policy::{
    Confinement, Enforcement, EnforcementGap, MissingTier, NetworkPolicy, ReadScope, Tier, WorkspaceView,
};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::planner;
use super::pool::{PlannedCell, SandboxCell};
use super::scratch::Scratch;
use super::setup_advice::{self, SetupFix};
use super::{landlock, sys};
use crate::process::codec::{MessageDecoder, MessageEncoder, find_message};
use crate::process::{SpawnFault, Spawner, fd_passing};

/// The time limit for creating a cell. It is far more than needed; a machine may be busy.
const CREATION_TIMEOUT: Duration = Duration::from_secs(20);
/// The additional time for each mount.
const TIMEOUT_PER_MOUNT: Duration = Duration::from_millis(5);
/// The maximum size of a cell's first message.
const MAX_FIRST_MESSAGE_BYTES: usize = 64 << 10;

/// Creates a cell in the strongest tier that this machine supports.
pub(super) async fn create_strongest(
    spawner: &Spawner,
    read_scope: &Arc<ReadScope>,
    confinement: &Arc<Confinement>,
    scratch: &Arc<Scratch>,
) -> Result<SandboxCell, SpawnFault> {
    let mut missing = Vec::new();
    // Without mounts of its own, a command would write to the user's tree.
    let staged = read_scope.view().is_some();
    for tier in [Tier::Namespaces, Tier::Landlock, Tier::Seccomp] {
        let is_out_of_range = tier > confinement.strongest_tier || tier < confinement.weakest_tier.0;
        if is_out_of_range || (staged && tier < Tier::Namespaces) {
            continue;
        }
        let planned = plan_off_runtime(read_scope, confinement, scratch, tier).await?;
        tracing::debug!(?tier, "planned the mounts and filters of a cell");
        if let Some(fault) = missing_protection(&planned).filter(|_| confinement.weakest_tier.0 >= tier) {
            return Err(fault);
        }
        let generation = read_scope.view().map(|view| view.generation());
        match request_cell(spawner, &planned, read_scope.view()).await? {
            Ok(created) => {
                let mut gaps = created.gaps;
                if planned.truncated || planned.links_not_followed || !planned.unread_repositories.is_empty()
                {
                    gaps.push(EnforcementGap::UnscannedFiles);
                }
                let enforcement =
                    if gaps.is_empty() { Enforcement::Full } else { Enforcement::Partial(gaps) };
                return Ok(SandboxCell {
                    control: created.control,
                    idle_supervisors: Mutex::default(),
                    read_scope: Arc::clone(read_scope),
                    confinement: Arc::clone(confinement),
                    scratch: Arc::clone(scratch),
                    planned,
                    view_generation: generation,
                    tier,
                    enforcement,
                    terminals: created.terminals,
                });
            }
            Err(why) => missing.push(MissingTier { tier, why }),
        }
    }
    let fix = setup_advice::setup_advice(&missing, &setup_advice::UserNamespaceFacts::of_this_machine());
    let has_landlock = sys::landlock_version().is_ok_and(|version| version >= landlock::MIN_VERSION);
    let weaker = (confinement.weakest_tier.0 > Tier::Landlock && has_landlock).then_some(Tier::Landlock);
    Err(SpawnFault::Unconfined { at_least: confinement.weakest_tier.0, missing, fix, weaker })
}

/// Returns the reason why a cell with this survey would not protect everything.
fn missing_protection(planned: &PlannedCell) -> Option<SpawnFault> {
    let unread = planned
        .unread_repositories
        .first()
        .map(|(repository, why)| SpawnFault::GitUnread { repository: repository.clone(), why: why.clone() });
    if planned.truncated { Some(SpawnFault::TooMuch) } else { unread }
}

/// Surveys the machine on a blocking thread.
async fn plan_off_runtime(
    read_scope: &Arc<ReadScope>,
    confinement: &Arc<Confinement>,
    scratch: &Arc<Scratch>,
    tier: Tier,
) -> io::Result<PlannedCell> {
    let (read_scope, confinement, scratch) =
        (Arc::clone(read_scope), Arc::clone(confinement), Arc::clone(scratch));
    #[expect(clippy::disallowed_methods, reason = "a cell is not part of any one call")]
    let planning =
        tokio::task::spawn_blocking(move || planner::plan_cell(&confinement, &read_scope, &scratch, tier));
    planning.await.map_err(io::Error::other)
}

/// A cell that was created.
struct CreatedCell {
    control: StdStream,
    gaps: Vec<EnforcementGap>,
    terminals: Option<OwnedFd>,
}

/// Requests a cell from the spawner. The inner error names the step that failed.
async fn request_cell(
    spawner: &Spawner,
    planned: &PlannedCell,
    view: Option<&Arc<dyn WorkspaceView>>,
) -> Result<Result<CreatedCell, String>, SpawnFault> {
    let mut message = MessageEncoder::new();
    planned.plan.write(&mut message);
    let staged = view.map(|view| view.detached_mounts()).transpose()?.unwrap_or_default();
    let control = spawner.request_cell(&message.finish(), &staged)?;
    drop(staged);
    let control = UnixStream::from_std(control)?;
    let gone = || io::Error::other("the cell ended before it was there");
    let mounts = u32::try_from(planned.plan.mounts.len()).unwrap_or(u32::MAX);
    let late = || {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("the sandbox of {mounts} mounts took too long to build"),
        )
    };
    let waits = CREATION_TIMEOUT + TIMEOUT_PER_MOUNT.saturating_mul(mounts);
    let (reply, terminals) = timeout(waits, receive_first_message(&control)).await.map_err(|_| late())??;
    let mut input = MessageDecoder(&reply);
    match input.byte() {
        Some(0) => {
            let count = input.number().ok_or_else(gone)?;
            let gaps = (0..count).filter_map(|_| input.byte()).filter_map(gap).collect();
            Ok(Ok(CreatedCell { control: control.into_std()?, gaps, terminals }))
        }
        Some(kind @ (1 | 2)) => {
            let doing = input.bytes().map(|doing| String::from_utf8_lossy(doing).into_owned());
            let errno = Errno::from_raw_os_error(input.signed().ok_or_else(gone)?);
            let why = format!("{}: {}", doing.ok_or_else(gone)?, io::Error::from(errno));
            match kind {
                1 => Ok(Err(why)),
                // A weaker tier would not enforce the policy for this path either.
                _ => Err(io::Error::other(format!("the sandbox could not be built: {why}")).into()),
            }
        }
        _ => Err(gone().into()),
    }
}

fn gap(code: u8) -> Option<EnforcementGap> {
    EnforcementGap::ALL.into_iter().find(|gap| *gap as u8 == code)
}

/// Receives the first message of a cell, and the descriptor that comes with it.
async fn receive_first_message(control: &UnixStream) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let (mut received, mut fds) = (Vec::new(), Vec::new());
    // ends: with a whole message, or when the cell is gone
    loop {
        if let Some(message) = find_message(&received, MAX_FIRST_MESSAGE_BYTES)? {
            return Ok((received[message].to_vec(), fds.pop()));
        }
        let mut bytes = [0; 1024];
        let got = control.async_io(Interest::READABLE, || {
            if fd_passing::is_readable(control)? {
                fd_passing::receive(control, &mut bytes, &mut fds)
            } else {
                Err(io::ErrorKind::WouldBlock.into())
            }
        });
        match got.await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            got => received.extend(&bytes[..got]),
        }
    }
}

/// Tries if this machine can confine commands in the tiers of `confinement`.
///
/// # Errors
///
/// The fault that would refuse each command.
pub async fn check_tiers(spawner: &Spawner, confinement: &Confinement) -> Result<(), SpawnFault> {
    let scratch = Arc::new(Scratch::new()?);
    let tried = Confinement {
        network: NetworkPolicy::Off,
        strongest_tier: confinement.strongest_tier,
        weakest_tier: confinement.weakest_tier,
        ..Confinement::default()
    };
    create_strongest(spawner, &Arc::new(empty_read_scope()?), &Arc::new(tried), &scratch).await.map(drop)
}

/// The support of one tier on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSupport {
    /// The tier.
    pub tier: Tier,
    /// The gaps of the tier, or the reason why it is not available.
    pub outcome: Result<Vec<EnforcementGap>, String>,
}

/// Tries every tier as a command would be confined. Also returns the remedy for missing ones.
pub async fn probe(spawner: &Spawner) -> Result<(Vec<MachineSupport>, Option<SetupFix>), SpawnFault> {
    let scratch = Arc::new(Scratch::new()?);
    let read_scope = Arc::new(empty_read_scope()?);
    let mut support = Vec::new();
    for tier in [Tier::Namespaces, Tier::Landlock, Tier::Seccomp] {
        let confinement = Arc::new(Confinement { network: NetworkPolicy::Off, ..Confinement::default() });
        let planned = plan_off_runtime(&read_scope, &confinement, &scratch, tier).await?;
        support.push(MachineSupport {
            tier,
            outcome: request_cell(spawner, &planned, None).await?.map(|made| made.gaps),
        });
    }
    let missing: Vec<MissingTier> = support
        .iter()
        .filter_map(|able| Some(MissingTier { tier: able.tier, why: able.outcome.as_ref().err()?.clone() }))
        .collect();
    let fix = setup_advice::setup_advice(&missing, &setup_advice::UserNamespaceFacts::of_this_machine());
    let gaps = support.first().and_then(|strongest| strongest.outcome.as_ref().ok());
    let fix = fix.or_else(|| gaps.and_then(|gaps| setup_advice::advice_for_gaps(gaps)));
    Ok((support, fix))
}

fn empty_read_scope() -> io::Result<ReadScope> {
    let nothing = policy::DenyRead::new(std::iter::empty::<&str>(), None).map_err(io::Error::other)?;
    Ok(ReadScope::new(Vec::new(), nothing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn git_configuration_that_cannot_be_read_as_a_whole_runs_nothing() {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::canonicalize(place.path()).unwrap();
        for name in [".git/objects", ".git/refs"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let scratch = Scratch::new().unwrap();
        let read_scope =
            ReadScope::new(Vec::new(), policy::DenyRead::new(std::iter::empty::<&str>(), None).unwrap());
        let confinement = Confinement { writable: vec![root.clone()], ..Confinement::default() };
        for (size, refused) in [(2 << 20, false), (17 << 20, true)] {
            std::fs::write(root.join(".git/config"), ";".repeat(size)).unwrap();
            let planned = planner::plan_cell(&confinement, &read_scope, &scratch, Tier::Namespaces);
            let told = missing_protection(&planned).map(|fault| fault.to_string());
            assert_eq!(told.is_some(), refused, "{told:?}");
            let names = |text: &str| told.as_deref().is_none_or(|told| told.contains(text));
            assert!(names(&root.display().to_string()) && names("has more than 16 MiB"), "{told:?}");
        }
    }
}
