//! Pool of cells on the host side: one for each policy of a session.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use policy::{Confinement, Enforcement, HostFile, Permit, ReadScope, Tier, UnenforcedReason};

use super::cell_plan::CellPlan;
use super::changed_files::DirectoryIndex;
use super::create_cell::create_strongest;
use super::git::{self, GitInputs, GitLayer, PlantedFileWatch, Repository};
use super::host_watch::{HostFileWatch, WatchedRoots};
use super::mounted_layers::LayerRequest;
use super::mounts;
use super::root_configuration::RootConfiguration;
use super::scratch::{self, Scratch};
use crate::process::{SpawnFault, Spawner};

/// The maximum number of idle supervisors of a cell.
const MAX_IDLE: usize = 8;

/// The time in which the last commands of a session give their cells back.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(500);
/// The pause before the next look at them.
const RELEASE_INTERVAL: Duration = Duration::from_millis(2);

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
    pub(super) idle_supervisors: Mutex<Vec<IdleSupervisor>>,
    pub(crate) read_scope: Arc<ReadScope>,
    pub(crate) confinement: Arc<Confinement>,
    pub(super) scratch: Arc<Scratch>,
    pub(crate) planned: PlannedCell,
    /// The generation of the view of staged changes that it mounted.
    pub(super) view_generation: Option<u64>,
    pub(crate) tier: Tier,
    pub(crate) enforcement: Enforcement,
    /// The devpts mount in which terminals are opened that have a name in the cell.
    pub(crate) terminals: Option<OwnedFd>,
}

/// The plan of a cell, and the host's additional knowledge about it.
#[derive(Debug)]
pub(crate) struct PlannedCell {
    pub(crate) plan: CellPlan,
    pub(crate) repositories: Vec<Repository>,
    /// Placeholder directories that were created.
    pub(super) placeholders: Vec<PathBuf>,
    /// The locations where commands could plant git directories that git enters by itself.
    pub(crate) planted_files: Arc<PlantedFileWatch>,
    /// Environment variables that redirect writes into the private directory.
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
    /// Missing configuration of the user's programs, with the user action that makes it take effect.
    pub(super) missing_configuration: Vec<(PathBuf, String)>,
    /// Files that take effect on the user's machine and whose changes are reported.
    pub(crate) watched_files: Vec<(PathBuf, HostFile)>,
    /// The first directories that commands can change.
    pub(crate) directories: Arc<Mutex<DirectoryIndex>>,
    /// The files that git obeys in each repository, at the time of the survey.
    pub(crate) git_inputs: Vec<(Repository, GitInputs)>,
    /// The real locations of the configuration of each root, at the time of the survey.
    pub(crate) root_configurations: Vec<(PathBuf, RootConfiguration)>,
    /// The configuration of each root with the files that it names currently.
    pub(super) current_configurations: Mutex<Vec<(PathBuf, RootConfiguration)>>,
    /// Git directories that are read-only, because there are too many for a layer each.
    pub(crate) read_only_repositories: Arc<[PathBuf]>,
    /// True if the limits cut the scan short.
    pub(crate) truncated: bool,
    /// The repositories whose configuration could not be read completely, with the reason.
    pub(crate) unread_repositories: Vec<(PathBuf, String)>,
    /// True if some links in configuration were not followed, because there is too much of it.
    pub(crate) links_not_followed: bool,
}

/// An idle supervisor, and the name of its layer for each git directory. Files that did not land stay in the layer
/// for the next run.
type IdleSupervisor = (StdStream, Vec<String>);

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

    /// Returns the cell for commands that run with `permit`. `None`: they are not confined, because the policy asks
    /// for that, or accepts it where there can be no cell.
    pub(crate) async fn find_or_create(
        &self,
        spawner: &Spawner,
        permit: &Permit,
    ) -> Result<Option<Arc<SandboxCell>>, SpawnFault> {
        let Some(confinement) = permit.confinement() else { return Ok(None) };
        let read_scope = permit.read_scope();
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

    /// Ends the cells that use `scratch`, and removes its placeholders when no command runs in them any more. The next
    /// command gets a new cell.
    pub(crate) async fn release(&self, scratch: &Arc<Scratch>) {
        // Held until the end: a new cell would need the placeholders.
        let mut cells = self.cells.lock().await;
        let ended: Vec<Weak<SandboxCell>> = cells
            .extract_if(.., |cell| Arc::ptr_eq(&cell.scratch, scratch))
            .map(|cell| Arc::downgrade(&cell))
            .collect();
        let until = Instant::now() + RELEASE_TIMEOUT;
        // A command that has ended gives its cell back a little later.
        while ended.iter().any(|cell| cell.strong_count() > 0) {
            // ends: at this time
            if Instant::now() > until {
                return;
            }
            tokio::time::sleep(RELEASE_INTERVAL).await;
        }
        scratch.remove_placeholders();
    }

    fn scratch_for(&self, confinement: &Confinement) -> io::Result<Arc<Scratch>> {
        let lent_scratches = self.lent_scratches.lock();
        let named = lent_scratches.iter().filter_map(Weak::upgrade).find(|scratch| {
            confinement.private_directory.as_deref().is_some_and(|private| private == scratch.path())
        });
        named.map_or_else(|| Scratch::new().map(Arc::new), Ok)
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
        if self.read_scope.view().map(|view| view.generation()) != self.view_generation {
            return true;
        }
        let home = self.confinement.home.as_deref();
        let by_git = self.planned.git_inputs.iter().any(|(repository, known)| {
            !known.is_current() && !known.guards_as_much_as(&git::find_git_inputs(repository, home))
        });
        by_git || self.planned.has_configuration_moved(&self.confinement)
    }

    /// Returns the additional environment variables of commands in the cell.
    pub(crate) fn variables(&self) -> &[(&'static str, PathBuf)] {
        &self.planned.variables
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

    /// Returns the layers of a supervisor for one run: the requests to mount them, and their host side.
    pub(crate) fn layers_for_run(&self, names: &[String]) -> (Vec<LayerRequest>, Vec<GitLayer>) {
        let all = self.scratch.path().join("layers");
        let borrow = |(repository, name): (&Repository, &String)| {
            let directory = all.join(name);
            scratch::create_layer_directories(&directory).ok()?;
            let layer = GitLayer::new(repository.clone(), directory.join("upper"));
            let ignore_lines = self.planned.ignore_lines(&repository.root);
            Some((LayerRequest { at: repository.at.clone(), name: name.clone(), ignore_lines }, layer))
        };
        self.planned.repositories.iter().zip(names).filter_map(borrow).unzip()
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
}

impl PlannedCell {
    /// Returns the files whose changes are reported. Changed configuration is read again: a command may have changed
    /// the scripts that `package.json` names.
    pub(crate) fn reported_files(&self, confinement: &Confinement) -> Vec<(PathBuf, HostFile)> {
        let mut files = self.watched_files.clone();
        let mut configurations = self.current_configurations.lock();
        for (root, configured) in &mut *configurations {
            if !configured.has_current_texts() {
                *configured = RootConfiguration::scan(root, confinement);
            }
            files.extend(configured.code_files());
        }
        files
    }

    /// Returns true if the user has changed a link so that configuration lies elsewhere.
    pub(crate) fn has_configuration_moved(&self, confinement: &Confinement) -> bool {
        self.root_configurations.iter().any(|(root, known)| {
            !known.is_current() && !known.guards_as_much_as(&RootConfiguration::scan(root, confinement))
        })
    }

    /// Returns the lines that make git ignore the placeholders in the tree at `root`.
    pub(crate) fn ignore_lines(&self, root: &Path) -> Vec<u8> {
        let below = self.placeholders.iter().filter_map(|path| path.strip_prefix(root).ok());
        below.flat_map(|path| [b"/", path.as_os_str().as_bytes(), b"/\n"].concat()).collect()
    }
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
