//! Finds and renames files that commands plant where a program of the user's would obey them.
//!
//! They are git directories that git enters, and new configuration of agents and editors.
//!
//! Git takes a directory with `HEAD`, `objects` and `refs` for a repository, and enters a repository at the path of a
//! submodule. No mount can protect missing names. So they are searched for during a run and after it, and renamed if
//! a program would obey them. The locations are saved, so that the next session finds the files planted during a
//! killed one.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statat, statx};
use rustix::io::Errno;

use super::git_settings::MAX_CONFIG_FILE_BYTES;
use super::index::{self, HostIndexPaths};
use super::object_format::ObjectFormat;
use super::tip_links::TipGitlinks;
use super::{Repository, discover, sys};
use crate::sandbox::cell_plan::path_from_bytes;
use crate::sandbox::run_overlap::is_made;
use crate::sandbox::set_aside::{describe_set_aside, set_aside, with_reachable};

/// The maximum number of submodules.
const MAX_MODULES: usize = 1_000;
/// The maximum number of linked working trees.
const MAX_TREES: usize = 100;
/// The maximum size of a pointer to a working tree.
const MAX_POINTER_BYTES: u64 = 8 * 1024;
/// The maximum number of branch trees read at the start of a session, and after a run that changed a git directory.
const MAX_TREES_AT_START: usize = 5_000;
const MAX_TREES_AFTER_RUN: usize = 50_000;

/// The locations where commands of a session could plant files that a program of the user's obeys.
#[derive(Debug, Default)]
pub(crate) struct PlantedFileWatch {
    repositories: Vec<Repository>,
    locations: Mutex<Vec<PlantLocation>>,
    /// The gitlinks of each of `repositories`.
    gitlinks: Mutex<Vec<TipGitlinks>>,
    /// The start of the session, in nanoseconds.
    session_start_nanos: i128,
    /// The working trees that had a repository at the start of the session.
    known_trees: BTreeSet<PathBuf>,
    /// Notes about the leftovers of a killed session, not reported yet.
    recovery_notes: Mutex<Vec<String>>,
    /// The notes of this run: a note that is still true half a second later is not repeated.
    reported_notes: Mutex<BTreeSet<String>>,
}

impl PlantedFileWatch {
    /// Collects the locations: `roots` outside any repository, missing submodules, and missing `configuration` with
    /// the user action that makes it take effect. `recovery_notes` are reported with the first run.
    pub(crate) fn new<'a>(
        roots: impl Iterator<Item = &'a PathBuf>,
        repositories: &[Repository],
        configuration: Vec<(PathBuf, String)>,
        recovery_notes: Vec<String>,
    ) -> Self {
        let roots = roots.cloned().filter_map(PlantLocation::from_root);
        let modules = repositories.iter().flat_map(missing_submodules);
        let missing = configuration.into_iter().map(|(at, when)| PlantLocation::Configuration { at, when });
        let locations = roots.chain(modules).chain(missing).collect();
        let watch = Self {
            repositories: repositories.to_vec(),
            locations: Mutex::new(locations),
            recovery_notes: Mutex::new(recovery_notes),
            gitlinks: Mutex::new(repositories.iter().map(|_| TipGitlinks::default()).collect()),
            session_start_nanos: UNIX_EPOCH
                .elapsed()
                .map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0)),
            ..Self::default()
        };
        // Existing repositories are the user's.
        let _known = watch.watch_submodules(MAX_TREES_AT_START);
        watch
    }

    /// Treats the repositories of the working trees in `known` as the user's.
    pub(crate) fn trusting(mut self, known: impl Iterator<Item = PathBuf>) -> Self {
        self.known_trees.extend(known);
        self
    }

    /// Begins a run: notes of earlier runs may be repeated.
    pub(crate) fn begin_run(&self) {
        self.reported_notes.lock().clear();
    }

    /// Renames planted files, except those `accepted`, and returns notes about it. If git directories were `changed`,
    /// it also collects new locations for the next run.
    pub(crate) fn defuse(&self, accepted: &BTreeSet<PathBuf>, changed: bool) -> Vec<String> {
        let mut notes = std::mem::take(&mut *self.recovery_notes.lock());
        if changed {
            notes.extend(self.watch_submodules(MAX_TREES_AFTER_RUN));
        }
        let locations = self.locations.lock();
        let open = locations.iter().filter(|place| !place.is_accepted(accepted));
        notes.extend(open.filter_map(PlantLocation::defuse));
        let mut reported_notes = self.reported_notes.lock();
        notes.retain(|sentence| reported_notes.insert(sentence.clone()));
        notes
    }

    /// Adds the paths of submodules that the index or a branch names, reading at most `budget` trees. Returns
    /// warnings that the user has to check.
    fn watch_submodules(&self, mut budget: usize) -> Vec<String> {
        let mut links = self.gitlinks.lock();
        let (mut new, mut warnings) = (Vec::new(), BTreeSet::new());
        for (repository, links) in self.repositories.iter().zip(links.iter_mut()) {
            let known = links.gitlinks.len();
            if !links.scan(repository, &mut budget) {
                warnings.insert(COMMITS_NOT_SCANNED_WARNING.to_owned());
            }
            new.extend(missing_submodules(repository));
            for root in repository.working_trees() {
                let is_plantable = |at: &PathBuf| self.is_plantable(at);
                let places = links.gitlinks.iter().map(|link| root.join(link));
                let of = &repository.at;
                new.extend(
                    places
                        .clone()
                        .filter(is_plantable)
                        .map(|at| PlantLocation::Submodule { at, of: of.clone() }),
                );
                let older =
                    places.skip(known).filter(|at| !self.is_plantable(at) && !leads_to_modules(at, of));
                warnings.extend(older.map(|at| older_repository(&at)));
            }
        }
        let mut locations = self.locations.lock();
        let modules =
            locations.iter().filter(|place| matches!(place, PlantLocation::Submodule { .. })).count();
        let room = MAX_MODULES.saturating_sub(modules);
        let new: Vec<PlantLocation> =
            new.into_iter().filter(|place| !locations.contains(place)).take(room).collect();
        locations.extend(new);
        warnings.into_iter().collect()
    }

    /// Returns true if there is no repository at `place`, or one that was created in this session. No command can set
    /// the birth time or the change time of a file; a rename updates the latter.
    fn is_plantable(&self, place: &Path) -> bool {
        let git = place.join(".git");
        let wanted = StatxFlags::BTIME | StatxFlags::CTIME;
        let Ok(stat) = statx(CWD, &git, AtFlags::SYMLINK_NOFOLLOW, wanted) else { return true };
        let since = |seconds: i64, nanoseconds: u32| {
            i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds) >= self.session_start_nanos
        };
        let is_known = |time: StatxFlags| stat.stx_mask & time.bits() != 0;
        let (made, changed) = (stat.stx_btime, stat.stx_ctime);
        is_known(StatxFlags::BTIME) && since(made.tv_sec, made.tv_nsec)
            || !self.known_trees.contains(place)
                && is_known(StatxFlags::CTIME)
                && since(changed.tv_sec, changed.tv_nsec)
    }

    /// Encodes the locations, for [`recover`].
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let locations = self.locations.lock();
        locations.iter().flat_map(PlantLocation::to_bytes).collect()
    }
}

/// Renames files planted during a killed session at the locations that it saved as `written`, and returns notes about
/// it. `made_then` decides whether a path was created during that session.
pub(crate) fn recover(written: &[u8], made_then: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut fields = written.split(|&byte| byte == 0);
    let mut notes = Vec::new();
    // ends: each step takes three fields of the text
    while let (Some(kind), Some(at), Some(rest)) = (fields.next(), fields.next(), fields.next()) {
        let (at, of) = (path_from_bytes(at.to_vec()), path_from_bytes(rest.to_vec()));
        let when = String::from_utf8_lossy(rest).into_owned();
        let location = match kind {
            b"root" => PlantLocation::Root(at),
            b"bare" => PlantLocation::BareRepository(at),
            b"module" => PlantLocation::Submodule { at, of },
            b"configuration" if made_then(&at) => PlantLocation::Configuration { at, when },
            _ => continue,
        };
        notes.extend(location.defuse());
    }
    notes
}

/// A location that held nothing to obey when the session began.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PlantLocation {
    /// A root outside any repository: it could become one itself.
    Root(PathBuf),
    /// A root that is a git directory itself: it could be redirected to another one.
    BareRepository(PathBuf),
    /// The path of a missing submodule of the repository at `of`.
    Submodule { at: PathBuf, of: PathBuf },
    /// Missing configuration, which would take effect when the user does `when`.
    Configuration { at: PathBuf, when: String },
}

/// The warning when a run has made more commits than are read.
const COMMITS_NOT_SCANNED_WARNING: &str = "WARNING: commands have made more commits than are looked through for nested repositories: \
    look at directories with a `.git` in them before you switch branches or use `git reset`";

/// Returns the warning about a commit that names a repository which existed before the session.
fn older_repository(at: &Path) -> String {
    format!(
        "WARNING: a command has made a commit that names the repository `{}`; git would walk into it from the repository \
         above and obey its configuration after `git switch` or `git reset`: look at its `.git/config` before you do that",
        at.display()
    )
}

impl Repository {
    /// Returns the working tree, and the linked ones below it.
    fn working_trees(&self) -> Vec<PathBuf> {
        let mut trees = vec![self.root.clone()];
        let Ok(directory) = sys::root(&self.at.join("worktrees")) else { return trees };
        let _seen = sys::list(directory.as_fd(), |name, _| {
            let pointer =
                sys::read_small_file(directory.as_fd(), &Path::new(name).join("gitdir"), MAX_POINTER_BYTES);
            let path = pointer.map(|text| path_from_bytes(text.trim_ascii_end().to_vec()));
            let tree = path.and_then(|path| path.parent().map(Path::to_owned));
            trees.extend(tree.filter(|tree| tree.starts_with(&self.root) && *tree != self.root));
            if trees.len() < MAX_TREES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        trees
    }
}

/// Returns the paths of the repository's submodules without a git directory.
fn missing_submodules(Repository { at, root }: &Repository) -> Vec<PlantLocation> {
    let Ok(git) = sys::root(at) else { return Vec::new() };
    let read = |name: &str, most| sys::read_small_file(git.as_fd(), Path::new(name), most);
    let Some(format) =
        read("config", MAX_CONFIG_FILE_BYTES).and_then(|config| ObjectFormat::from_config(&config))
    else {
        return Vec::new();
    };
    let index = read("index", index::MAX_INDEX_BYTES).unwrap_or_default();
    let links = HostIndexPaths::from_index(&index, format).gitlinks.into_iter().take(MAX_MODULES);
    let places = links.map(|path| root.join(path_from_bytes(path)));
    let has_none = |place: &PathBuf| !sys::is_there(&place.join(".git"));
    places.filter(has_none).map(|place| PlantLocation::Submodule { at: place, of: at.clone() }).collect()
}

impl PlantLocation {
    fn from_root(root: PathBuf) -> Option<Self> {
        if !discover::is_git(&root) {
            return Some(Self::Root(root));
        }
        (!sys::is_there(&root.join("commondir"))).then_some(Self::BareRepository(root))
    }

    fn is_accepted(&self, accepted: &BTreeSet<PathBuf>) -> bool {
        matches!(self, Self::Configuration { at, .. } if accepted.contains(at))
    }

    fn to_bytes(&self) -> Vec<u8> {
        let (kind, at, rest) = match self {
            Self::Root(root) => ("root", root, Vec::new()),
            Self::BareRepository(root) => ("bare", root, Vec::new()),
            Self::Submodule { at, of } => ("module", at, of.as_os_str().as_encoded_bytes().to_vec()),
            Self::Configuration { at, when } => ("configuration", at, when.clone().into_bytes()),
        };
        [kind.as_bytes(), b"\0", at.as_os_str().as_encoded_bytes(), b"\0", &rest, b"\0"].concat()
    }

    /// Renames a planted file, and returns a note about the success or failure. A command may have made the directory
    /// inaccessible.
    fn defuse(&self) -> Option<String> {
        let directory = match self {
            Self::Root(at) | Self::BareRepository(at) | Self::Submodule { at, .. } => at,
            // Most are missing, and ENOENT proves that the directory is searchable: one check is enough.
            Self::Configuration { at, .. } if is_absent(at) => return None,
            Self::Configuration { at, .. } => at.parent()?,
        };
        with_reachable(directory, || self.defuse_open())
    }

    fn defuse_open(&self) -> Option<String> {
        match self {
            Self::Root(root) => {
                let head = root.join("HEAD");
                let why = "git would take the directory for a repository and obey its configuration when you use git there";
                discover::is_git(root).then(|| describe_set_aside(&head, set_aside(&head), why))
            }
            Self::BareRepository(root) => {
                let common = root.join("commondir");
                let why = "git would follow it to another git directory when you use git there";
                sys::is_there(&common).then(|| describe_set_aside(&common, set_aside(&common), why))
            }
            Self::Submodule { at, of } => {
                let git = at.join(".git");
                let kept = match sys::kind_of(&git) {
                    None => true,
                    Some(FileType::RegularFile) => leads_to_modules(at, of),
                    Some(_) => false,
                };
                let why = "git would walk into it from the repository above and obey its configuration when you use git there";
                (!kept).then(|| describe_set_aside(&git, set_aside(&git), why))
            }
            Self::Configuration { at, when } => {
                let why = format!("it would take effect on this machine next time you {when}");
                is_made(at).then(|| describe_set_aside(at, set_aside(at), &why))
            }
        }
    }
}

fn is_absent(path: &Path) -> bool {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).err() == Some(Errno::NOENT)
}

/// Returns true if the pointer in `at` leads into the modules of the git directory `of`, whose configuration Toolgate
/// has written.
fn leads_to_modules(at: &Path, of: &Path) -> bool {
    discover::read_git_pointer(at)
        .and_then(|git| sys::canonical_path(&git).ok())
        .is_some_and(|git| git.strip_prefix(of).is_ok_and(|below| below.iter().any(|name| name == "modules")))
}
