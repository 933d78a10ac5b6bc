//! Pool of cells on the host side: one for each policy of a session, in the strongest available tier.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use policy::{
    Confinement, Enforcement, EnforcementGap, MissingTier, NetworkPolicy, Permit, ReadScope, Tier,
    UnenforcedReason,
};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::git::{self, GitLayer, LandedChanges, Repository};
use super::host_watch::{HostFileWatch, WatchedRoots};
use super::mounted_layers::LayerRequest;
use super::planner::{self, PlannedCell};
use super::scratch::{self, Scratch};
use super::setup_advice::{self, SetupFix};
use super::{landlock, mounts, sys};
use crate::process::codec::{LENGTH_PREFIX_BYTES, MessageDecoder, MessageEncoder};
use crate::process::{SpawnFault, Spawner, fd_passing};

/// The maximum number of idle supervisors of a cell.
const MAX_IDLE: usize = 8;
/// The time limit for creating a cell. It is far more than needed; a machine may be busy.
const CREATION_TIMEOUT: Duration = Duration::from_secs(20);
/// The additional time for each mount.
const TIMEOUT_PER_MOUNT: Duration = Duration::from_millis(5);
/// The maximum size of a cell's first message.
const MAX_FIRST_MESSAGE_BYTES: usize = 64 << 10;

/// All cells of a spawner.
#[derive(Debug, Default)]
pub(crate) struct CellPool {
    /// Locked while a cell is created: another request for the same cell waits for it.
    cells: tokio::sync::Mutex<Vec<Arc<SandboxCell>>>,
    lent_scratches: Mutex<Vec<Weak<Scratch>>>,
    created: AtomicU64,
}

/// A sandbox for the commands of one policy.
#[derive(Debug)]
pub(crate) struct SandboxCell {
    pub(crate) control: StdStream,
    /// Supervisors that wait for the next run.
    idle_supervisors: Mutex<Vec<IdleSupervisor>>,
    read_scope: Arc<ReadScope>,
    confinement: Arc<Confinement>,
    scratch: Arc<Scratch>,
    planned: PlannedCell,
    tier: Tier,
    pub(crate) enforcement: Enforcement,
    /// The devpts mount in which terminals are opened that have a name in the cell.
    pub(crate) terminals: Option<OwnedFd>,
}

/// An idle supervisor, and the name of its layer for each git directory. Files that did not land stay in the layer
/// for the next run.
type IdleSupervisor = (StdStream, Vec<String>);

/// A layer in use by a run.
#[derive(Debug)]
pub(crate) struct BorrowedLayer {
    pub(crate) request: LayerRequest,
    layer: GitLayer,
}

impl BorrowedLayer {
    /// Returns true if there may be changes to land.
    pub(crate) fn has_pending_changes(&mut self) -> bool {
        self.layer.has_pending_changes()
    }

    /// Lands the allowed changes while the run continues.
    pub(crate) fn land(&mut self) -> LandedChanges {
        self.layer.land()
    }

    /// Lands the changes after the run. The layer was unmounted if it was `touched`.
    pub(crate) fn finish(self, touched: bool) -> LandedChanges {
        if !touched {
            return LandedChanges::default();
        }
        let landed = self.layer.finish();
        tracing::debug!("landed the safe changes of a git directory");
        landed
    }
}

impl CellPool {
    /// Returns the number of cells that were created.
    pub(crate) fn created_count(&self) -> u64 {
        self.created.load(Relaxed)
    }

    /// Uses `scratch` for the policies that name its path.
    pub(crate) fn lend_scratch(&self, scratch: &Arc<Scratch>) {
        let mut lent_scratches = self.lent_scratches.lock();
        lent_scratches.retain(|scratch| scratch.strong_count() > 0);
        lent_scratches.push(Arc::downgrade(scratch));
    }

    /// Returns the cell for this confinement, or `None` if there can be none and the policy accepts that.
    pub(crate) async fn find_or_create(
        &self,
        spawner: &Spawner,
        read_scope: &Arc<ReadScope>,
        confinement: &Arc<Confinement>,
    ) -> Result<Option<Arc<SandboxCell>>, SpawnFault> {
        let mut cells = self.cells.lock().await;
        // No permit refers to these cells any more.
        cells.retain(|cell| Arc::strong_count(&cell.read_scope) > 1 || Arc::strong_count(cell) > 1);
        let same = |cell: &&Arc<SandboxCell>| {
            Arc::ptr_eq(&cell.read_scope, read_scope) && Arc::ptr_eq(&cell.confinement, confinement)
        };
        if let Some(cell) = cells.iter().find(same) {
            if !cell.is_stale() {
                tracing::debug!("uses the cell of an earlier command");
                return Ok(Some(Arc::clone(cell)));
            }
            // Running commands continue in the old cell.
            let stale = Arc::clone(cell);
            cells.retain(|cell| !Arc::ptr_eq(cell, &stale));
        }
        let scratch = self.scratch_for(confinement)?;
        match create_strongest(spawner, read_scope, confinement, &scratch).await {
            Ok(cell) => {
                tracing::debug!("created a cell");
                self.created.fetch_add(1, Relaxed);
                let cell = Arc::new(cell);
                cells.push(Arc::clone(&cell));
                Ok(Some(cell))
            }
            Err(SpawnFault::Unconfined { at_least: Tier::Nothing, .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Drops a cell that is gone.
    pub(crate) async fn forget(&self, gone: &Arc<SandboxCell>) {
        self.cells.lock().await.retain(|cell| !Arc::ptr_eq(cell, gone));
    }

    fn scratch_for(&self, confinement: &Confinement) -> io::Result<Arc<Scratch>> {
        let lent_scratches = self.lent_scratches.lock();
        let named = lent_scratches.iter().filter_map(Weak::upgrade).find(|scratch| {
            confinement.private_directory.as_deref().is_some_and(|private| private == scratch.path())
        });
        named.map_or_else(|| Scratch::new().map(Arc::new), Ok)
    }
}

/// Creates a cell in the strongest tier that this machine supports.
async fn create_strongest(
    spawner: &Spawner,
    read_scope: &Arc<ReadScope>,
    confinement: &Arc<Confinement>,
    scratch: &Arc<Scratch>,
) -> Result<SandboxCell, SpawnFault> {
    let mut missing = Vec::new();
    for tier in [Tier::Namespaces, Tier::Landlock, Tier::Seccomp] {
        if tier > confinement.strongest_tier || tier < confinement.weakest_tier.0 {
            continue;
        }
        let planned = plan_off_runtime(read_scope, confinement, scratch, tier).await?;
        tracing::debug!(?tier, "planned the mounts and filters of a cell");
        if let Some(fault) = missing_protection(&planned).filter(|_| confinement.weakest_tier.0 >= tier) {
            return Err(fault);
        }
        match request_cell(spawner, &planned).await? {
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
) -> Result<Result<CreatedCell, String>, SpawnFault> {
    let mut message = MessageEncoder::new();
    planned.plan.write(&mut message);
    let control = spawner.request_cell(&message.finish())?;
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
        if let Some(length) = received.first_chunk::<LENGTH_PREFIX_BYTES>() {
            let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
            if length > MAX_FIRST_MESSAGE_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if received.len() >= LENGTH_PREFIX_BYTES + length {
                received.drain(..LENGTH_PREFIX_BYTES);
                return Ok((received, fds.pop()));
            }
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

impl SandboxCell {
    /// Returns the path in the cell of the host's `path`.
    pub(crate) fn path_inside(&self, path: &Path) -> PathBuf {
        self.scratch.inside(path, self.tier)
    }

    /// Begins to watch one run for files that take effect on the user's machine.
    pub(crate) fn begin_watch(&self) -> HostFileWatch {
        let (planted_files, scratch) = (Arc::clone(&self.planned.planted_files), Arc::clone(&self.scratch));
        let watched_files = self.planned.reported_files(&self.confinement);
        let directories = Arc::clone(&self.planned.directories);
        let watched = WatchedRoots { roots: &self.confinement.writable, watched_files, directories };
        HostFileWatch::begin(planted_files, watched, scratch)
    }

    /// Returns true if unprotected files take effect by now, because the user has changed git's configuration or a
    /// link.
    fn is_stale(&self) -> bool {
        let home = self.confinement.home.as_deref();
        let by_git = self.planned.git_inputs.iter().any(|(repository, known)| {
            !known.is_current() && !known.guards_as_much_as(&git::find_git_inputs(repository, home))
        });
        by_git || self.planned.has_configuration_moved(&self.confinement)
    }

    /// Returns the git directories that are read-only because there are too many.
    pub(crate) fn read_only_repositories(&self) -> Arc<[PathBuf]> {
        Arc::clone(&self.planned.read_only_repositories)
    }

    /// Returns the additional environment variables of commands in the cell.
    pub(crate) fn variables(&self) -> &[(&'static str, PathBuf)] {
        &self.planned.variables
    }

    /// Returns the confinement of its commands.
    pub(crate) fn confinement(&self) -> &Arc<Confinement> {
        &self.confinement
    }

    /// Returns the readable paths of its commands.
    pub(crate) fn read_scope(&self) -> &Arc<ReadScope> {
        &self.read_scope
    }

    /// Takes an idle supervisor with the names of its layers.
    pub(crate) fn take_idle(&self) -> Option<IdleSupervisor> {
        self.idle_supervisors.lock().pop()
    }

    /// Returns the names of layers for a new supervisor.
    pub(crate) fn new_layers(&self) -> Vec<String> {
        self.planned.repositories.iter().map(|_| self.scratch.new_layer()).collect()
    }

    /// Returns a supervisor to the idle list.
    pub(crate) fn return_idle(&self, supervisor: StdStream, names: Vec<String>) {
        let mut idle = self.idle_supervisors.lock();
        if idle.len() < MAX_IDLE {
            idle.push((supervisor, names));
        }
    }

    /// Returns the layers of a supervisor, for one run.
    pub(crate) fn layers_for_run(&self, names: &[String]) -> Vec<BorrowedLayer> {
        let all = self.scratch.path().join("layers");
        let borrow = |(repository, name): (&Repository, &String)| {
            let directory = all.join(name);
            scratch::create_layer_directories(&directory).ok()?;
            let layer = GitLayer::new(repository.clone(), directory.join("upper"));
            let ignore_lines = self.planned.ignore_lines(&repository.root);
            Some(BorrowedLayer {
                request: LayerRequest { at: repository.at.clone(), name: name.clone(), ignore_lines },
                layer,
            })
        };
        self.planned.repositories.iter().zip(names).filter_map(borrow).collect()
    }

    /// Describes the mounts for people.
    pub(crate) fn describe_mounts(&self) -> Vec<(PathBuf, &'static str)> {
        let mut places = mounts::describe_mounts(&self.planned.plan);
        let git = self.planned.repositories.iter().map(|git| &git.at);
        for at in git {
            if let Some(place) = places.iter_mut().find(|(path, _)| path == at) {
                place.1 = "git: what is safe lands";
            }
        }
        places
    }

    /// Returns the tier.
    pub(crate) fn tier(&self) -> Tier {
        self.tier
    }
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
    let nothing = policy::DenyRead::new(std::iter::empty::<&str>(), None).map_err(io::Error::other)?;
    let read_scope = Arc::new(ReadScope::new(Vec::new(), nothing));
    let mut support = Vec::new();
    for tier in [Tier::Namespaces, Tier::Landlock, Tier::Seccomp] {
        let confinement = Arc::new(Confinement { network: NetworkPolicy::Off, ..Confinement::default() });
        let planned = plan_off_runtime(&read_scope, &confinement, &scratch, tier).await?;
        support.push(MachineSupport {
            tier,
            outcome: request_cell(spawner, &planned).await?.map(|made| made.gaps),
        });
    }
    let missing: Vec<MissingTier> = support
        .iter()
        .filter_map(|able| Some(MissingTier { tier: able.tier, why: able.outcome.as_ref().err()?.clone() }))
        .collect();
    let fix = setup_advice::setup_advice(&missing, &setup_advice::UserNamespaceFacts::of_this_machine());
    Ok((support, fix))
}

/// Returns the enforcement for a command that runs with `permit` and without a cell.
pub(crate) fn unconfined_enforcement(permit: &Permit) -> Enforcement {
    let why = match permit.sandbox() {
        policy::SandboxPolicy::External => UnenforcedReason::External,
        policy::SandboxPolicy::FullAccess => UnenforcedReason::FullAccess,
        policy::SandboxPolicy::ReadOnly | policy::SandboxPolicy::WorkspaceWrite => {
            UnenforcedReason::Unsupported
        }
    };
    Enforcement::None { why }
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
