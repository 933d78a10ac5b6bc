//! Planner: turns a policy and the state of this machine into the plan of a cell.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use policy::{Confinement, ReadScope, Tier, normalize_path};
use rustix::fs::{AtFlags, CWD, FileType, statat};

use super::cell_plan::{CellPlan, MountContent, PlannedMount, path_from_bytes};
use super::changed_files::DirectoryIndex;
use super::git::{self, PlantedFileWatch, Repository};
use super::guarded_config::{GuardedPaths, RootGuard};
use super::mount_table::MountTable;
use super::pool::PlannedCell;
use super::root_scan;
use super::scratch::{self, Scratch};
use crate::fs::canonicalize_existing;

/// Directories that are replaced by private ones; exceptions in them are mounted explicitly.
const REPLACED_DIRECTORIES: &[&str] = &["/tmp", "/var/tmp", "/run", "/dev"];
/// Replaced directories that a user may work in.
const USER_TMP_DIRECTORIES: &[&str] = &["/tmp", "/var/tmp"];
/// Files of `/run` that commands need nevertheless: programs of some systems, and name resolution.
const RUN_EXCEPTIONS: &[&str] = &[
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/NetworkManager/resolv.conf",
];
/// Below the home: directories that package managers write on installation. Commands see them, and their changes stay
/// private.
const CACHES: &[&str] = &[
    ".cache", ".npm", ".cargo", ".rustup/tmp", "go/pkg", ".m2", ".gradle", ".ivy2", ".sbt", ".nuget",
    ".yarn", ".bun", ".deno", ".pnpm-store", ".local/share/pnpm", ".local/share/uv", ".local/state", ".gem",
    ".bundle", ".composer", ".ccache", ".pub-cache", ".node-gyp",
];

/// Environment variables that relocate such a directory.
const CACHE_VARIABLES: &[&str] = &[
    "CARGO_HOME", "XDG_CACHE_HOME", "npm_config_cache", "PIP_CACHE_DIR", "UV_CACHE_DIR", "GOCACHE",
    "GOMODCACHE", "GRADLE_USER_HOME", "CCACHE_DIR", "YARN_CACHE_FOLDER",
];

/// Surveys the machine and makes the plan.
pub(crate) fn plan_cell(
    confinement: &Confinement,
    read_scope: &ReadScope,
    scratch: &Scratch,
    tier: Tier,
) -> PlannedCell {
    let mut planned = PlannedCell {
        plan: CellPlan {
            tier,
            network: confinement.network,
            hosts: confinement.hosts.clone(),
            mounts: Vec::new(),
            writable: confinement.writable.iter().filter(|root| exists(root).is_some()).cloned().collect(),
            sockets: allowed_sockets(confinement),
            limits: confinement.limits,
            scratch: scratch.path().to_owned(),
            records_denied_writes: confinement.record_denied_writes,
            staged: read_scope.view().map(|view| view.roots().to_vec()).unwrap_or_default(),
        },
        repositories: Vec::new(),
        placeholders: Vec::new(),
        planted_files: Arc::default(),
        variables: Vec::new(),
        missing_configuration: Vec::new(),
        watched_files: Vec::new(),
        // Until a scan, no directory counts as new.
        directories: Arc::new(Mutex::new(DirectoryIndex::disabled())),
        git_inputs: Vec::new(),
        root_configurations: Vec::new(),
        current_configurations: Mutex::default(),
        read_only_repositories: Arc::default(),
        truncated: false,
        unread_repositories: Vec::new(),
        links_not_followed: false,
    };
    let mut temporary = if tier >= Tier::Namespaces { PathBuf::from("/tmp") } else { scratch.tmp() };
    if tier >= Tier::Namespaces {
        let mount_table = build_mount_table(&mut planned, confinement, read_scope, scratch);
        // The user works in `/tmp`, and the policy makes it read-only.
        if mount_table.0.get(&temporary).is_some_and(|content| !content.is_writable()) {
            temporary = PathBuf::from("/var/tmp");
        }
        planned.plan.mounts =
            mount_table.0.into_iter().map(|(at, content)| PlannedMount { at, content }).collect();
        scratch.register_placeholders(planned.plan.held_paths().cloned());
    } else {
        planned.plan.writable.push(scratch.path().join("tmp"));
    }
    planned.planted_files = watch_for_planted_files(confinement, &mut planned, scratch);
    planned.variables = environment_variables(confinement, &temporary, tier);
    planned
}

/// Collects the locations where commands could plant files that a program of the user's obeys: roots without a
/// repository, missing submodules, missing configuration. They are saved for the session after a kill.
fn watch_for_planted_files(
    confinement: &Confinement,
    planned: &mut PlannedCell,
    scratch: &Scratch,
) -> Arc<PlantedFileWatch> {
    let repositories = &planned.repositories;
    let has_one = |root: &Path| {
        let own = repositories.iter().find(|repository| repository.root == root);
        own.is_some_and(|repository| git::is_git(&repository.at))
    };
    // What a command writes to a staged root does not reach the user's tree.
    let is_direct = |root: &&PathBuf| !planned.plan.staged.contains(root);
    let roots = confinement.writable.iter().filter(is_direct).filter(|root| !has_one(root));
    let missing = scratch.overlap.add_missing(std::mem::take(&mut planned.missing_configuration));
    let within = |path: &Path| confinement.writable.iter().any(|root| path.starts_with(root));
    let missing = missing.into_iter().filter(|(path, _)| within(path)).collect();
    let known = planned.git_inputs.iter().map(|(repository, _)| repository.root.clone());
    let watch =
        PlantedFileWatch::new(roots, repositories, missing, scratch.take_recovery_notes()).trusting(known);
    scratch.record_watched_places(&watch.to_bytes());
    Arc::new(watch)
}

/// Builds the mount table of a cell, and extends the writable paths.
fn build_mount_table(
    planned: &mut PlannedCell,
    confinement: &Confinement,
    read_scope: &ReadScope,
    scratch: &Scratch,
) -> MountTable {
    let mut mount_table = MountTable::default();
    let writable = &mut planned.plan.writable;
    add_replaced_directories(&mut mount_table, scratch);
    add_readable_paths(&mut mount_table, confinement, read_scope);
    // A granted path that is missing can be created in the root that contains it.
    for root in confinement.writable.iter().filter(|root| exists(root).is_some()) {
        mount_table.insert_tree(root, true);
    }
    add_cache_overlays(&mut mount_table, confinement, scratch, writable);
    protect_workspace_in_cache(&mut mount_table, read_scope);
    writable.extend(["/tmp", "/var/tmp"].map(PathBuf::from));
    let roots = confinement.writable.iter().cloned().chain(read_scope.roots().map(Path::to_owned));
    let scan = root_scan::scan_roots(roots, &confinement.writable, read_scope.deny_read());
    let mut guard =
        RootGuard { confinement, scratch, mount_table: &mut mount_table, found: GuardedPaths::default() };
    guard.guard_read_only_paths();
    let staged = planned.plan.staged.clone();
    for root in confinement.writable.iter().filter(|root| !staged.contains(root)) {
        guard.guard_root(root, &scan.trees);
    }
    guard.guard_home();
    let mut found = guard.found;
    let mut pinned: Vec<PathBuf> = confinement.writable.clone();
    pinned.append(&mut found.pinned);
    planned.placeholders.append(&mut found.placeholders);
    planned.truncated |= found.truncated | scan.truncated;
    planned.unread_repositories.append(&mut found.unread_repositories);
    planned.links_not_followed |= found.links_not_followed;
    planned.read_only_repositories = std::mem::take(&mut found.read_only_repositories).into();
    planned.missing_configuration = std::mem::take(&mut found.missing_configuration);
    planned.watched_files = std::mem::take(&mut found.watched_files);
    planned.watched_files.extend(scan.watched_files);
    planned.directories = Arc::new(Mutex::new(scan.directories));
    planned.git_inputs = std::mem::take(&mut found.git_inputs);
    planned.root_configurations = std::mem::take(&mut found.root_configurations);
    planned.current_configurations = Mutex::new(planned.root_configurations.clone());
    let hidden = denied_paths(scan.hidden, read_scope);
    // A command that renames an ancestor would find it under another name.
    pinned.extend(hidden.iter().filter(|path| exists(path).is_some()).cloned());
    found.repositories.retain(|found| gets_layer(&found.at, &mount_table, &hidden, &confinement.writable));
    planned.repositories = found.repositories;
    for Repository { at, .. } in &planned.repositories {
        mount_table.insert_tree(at, false);
        pinned.push(at.clone());
        // Writes go to a layer.
        writable.push(at.clone());
    }
    mount_table.pin_parents(&pinned, &confinement.writable);
    for path in hidden {
        mount_table.insert(&path, MountContent::Hidden);
    }
    mount_table.hide_scratch(scratch);
    mount_table
}

/// Returns true if the repository at `at` gets a layer: one that is read-only or hidden anyway gets none.
fn gets_layer(at: &Path, mount_table: &MountTable, hidden: &BTreeSet<PathBuf>, writable: &[PathBuf]) -> bool {
    let is_hidden = hidden.iter().any(|path| at.starts_with(path));
    let is_below_root = writable.iter().any(|root| at.starts_with(root));
    let above = at.parent().and_then(|above| mount_table.innermost(above));
    !is_hidden
        && mount_table.0.get(at).is_none_or(MountContent::is_writable)
        && !(is_below_root && above.is_some_and(|content| !content.is_writable()))
}

/// Returns the denied paths: the matches of globs, and literal paths, existing or not.
fn denied_paths(globs: BTreeSet<PathBuf>, read_scope: &ReadScope) -> BTreeSet<PathBuf> {
    // A missing file would be created where its directory really is: a home may be a link. Most share a directory,
    // which is resolved once.
    let mut directories = HashMap::new();
    let paths = read_scope.deny_read().literal_paths().iter().map(|path| {
        let path = normalize_path(path);
        match (path.parent(), path.file_name(), exists(&path)) {
            (Some(above), Some(name), kind) if kind != Some(FileType::Symlink) => {
                directories.entry(above.to_owned()).or_insert_with(|| canonicalize_existing(above)).join(name)
            }
            _ => canonicalize_existing(&path),
        }
    });
    // Nothing can exist or be mounted below a file or a broken link.
    let above = |path: &PathBuf| path.ancestors().skip(1).find_map(exists);
    let paths = paths.filter(|path| above(path) == Some(FileType::Directory));
    let all: BTreeSet<PathBuf> = globs.into_iter().chain(paths).collect();
    // A path in a hidden directory needs no mount of its own.
    let covered =
        |path: &PathBuf| path.ancestors().skip(1).any(|above| all.contains(above) && exists(above).is_some());
    all.iter().filter(|path| !covered(path)).cloned().collect()
}

/// Returns the allowed sockets by their real paths: `/var/run` is usually a link to `/run`.
fn allowed_sockets(confinement: &Confinement) -> Vec<Vec<u8>> {
    let real = |name: &String| match crate::fs::canonicalize(Path::new(name)) {
        Ok(real) if name.starts_with('/') => real.into_os_string().into_vec(),
        _ => name.clone().into_bytes(),
    };
    confinement.sockets.iter().map(real).collect()
}

pub(super) fn exists(path: &Path) -> Option<FileType> {
    let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

pub(super) fn is_directory(path: &Path) -> bool {
    exists(path) == Some(FileType::Directory)
}

/// Adds the replaced directories.
fn add_replaced_directories(mount_table: &mut MountTable, scratch: &Scratch) {
    let private = |from: PathBuf| MountContent::Tree { from, writable: true };
    for (at, content) in [
        ("/tmp", private(scratch.tmp())),
        ("/var/tmp", private(scratch.var_tmp())),
        ("/run", MountContent::Empty),
        ("/dev", MountContent::Devices),
    ] {
        if is_directory(Path::new(at)) {
            mount_table.insert(Path::new(at), content);
        }
    }
    // Usually a link to /run.
    if is_directory(Path::new("/var/run")) {
        mount_table.insert(Path::new("/var/run"), MountContent::Empty);
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    if let Some(runtime) =
        runtime.filter(|path| path.is_absolute() && !path.starts_with("/run") && is_directory(path))
    {
        mount_table.insert(&runtime, MountContent::Empty);
    }
    for path in RUN_EXCEPTIONS.iter().map(Path::new).filter(|path| exists(path).is_some()) {
        mount_table.insert_tree(path, false);
    }
}

/// Adds readable paths that lie in a replaced directory.
fn add_readable_paths(mount_table: &mut MountTable, confinement: &Confinement, read_scope: &ReadScope) {
    let home = confinement
        .home
        .clone()
        .filter(|home| !USER_TMP_DIRECTORIES.iter().any(|place| home == Path::new(place)));
    let sockets =
        allowed_sockets(confinement).into_iter().filter(|name| name.starts_with(b"/")).map(path_from_bytes);
    for path in read_scope.roots().map(Path::to_owned).chain(home).chain(sockets) {
        let is_replaced = REPLACED_DIRECTORIES.iter().any(|replaced| {
            let is_itself = path == Path::new(replaced) && !USER_TMP_DIRECTORIES.contains(replaced);
            path.starts_with(replaced) && !is_itself
        });
        let is_private =
            confinement.private_directory.as_ref().is_some_and(|private| path.starts_with(private));
        if is_replaced && !is_private && exists(&path).is_some() {
            mount_table.insert_tree(&path, false);
        }
    }
}

fn add_cache_overlays(
    mount_table: &mut MountTable,
    confinement: &Confinement,
    scratch: &Scratch,
    writable: &mut Vec<PathBuf>,
) {
    let in_home = confinement.home.iter().flat_map(|home| CACHES.iter().map(|name| home.join(name)));
    let named = CACHE_VARIABLES.iter().filter_map(|name| std::env::var_os(name).map(PathBuf::from));
    let roots = || confinement.writable.iter();
    let own = scratch.new_layer();
    for (number, path) in in_home.chain(named).enumerate() {
        let Ok(path) = crate::fs::canonicalize(&path) else { continue };
        // A writable cache needs no layer. A cache that contains a root, or lies in another cache, gets none.
        let in_the_way = roots().any(|root| path.starts_with(root) || root.starts_with(&path))
            || mount_table.0.iter().any(|(place, content)| {
                path.starts_with(place) && matches!(content, MountContent::Overlay { .. })
            })
            || path.components().count() < MIN_CACHE_DEPTH;
        if !is_directory(&path) || in_the_way {
            continue;
        }
        // One overlay serves all caches in the home.
        let shared = confinement.home.as_ref().filter(|home| {
            path.starts_with(home)
                && !scratch.path().starts_with(home)
                && git::sys::is_same_mount(home, &path)
        });
        let name = if shared.is_some() { format!("{own}-home") } else { format!("{own}-{number}") };
        let (lower, layer) = (shared.unwrap_or(&path).clone(), scratch.path().join("caches").join(name));
        if scratch::create_layer_directories(&layer).is_ok() {
            mount_table.insert(&path, MountContent::Overlay { lower, layer });
            writable.push(path);
        }
    }
}

/// Mounts a working directory that lies in a cache read-only: a change in the cache's layer would be lost silently.
fn protect_workspace_in_cache(mount_table: &mut MountTable, read_scope: &ReadScope) {
    // The first root is the working directory. Others may be caches, which package managers write.
    let Some(root) = read_scope.roots().next() else { return };
    if matches!(mount_table.innermost(root), Some(MountContent::Overlay { .. })) && exists(root).is_some() {
        mount_table.insert_tree(root, false);
    }
}

/// A cache lies deeper than this: a variable with the value `/` or `/usr` is a mistake or an attack.
const MIN_CACHE_DEPTH: usize = 3;

/// Returns environment variables that give package managers a writable directory, if their default is missing or
/// read-only.
fn environment_variables(
    confinement: &Confinement,
    temporary: &Path,
    tier: Tier,
) -> Vec<(&'static str, PathBuf)> {
    let mut variables = vec![("TMPDIR", temporary.to_owned())];
    let caches = temporary.join(".cache");
    for (variable, default, instead) in [
        ("XDG_CACHE_HOME", ".cache", ""),
        ("PIP_CACHE_DIR", ".cache/pip", "pip"),
        ("UV_CACHE_DIR", ".cache/uv", "uv"),
        ("GOCACHE", ".cache/go-build", "go-build"),
        ("npm_config_cache", ".npm", "npm"),
        ("CCACHE_DIR", ".cache/ccache", "ccache"),
    ] {
        // A cache that its variable locates gets a layer there, if it exists.
        let named = std::env::var_os(variable).map(PathBuf::from);
        if tier >= Tier::Namespaces && named.is_some_and(|path| is_directory(&path)) {
            continue;
        }
        let in_home = confinement.home.as_ref().map(|home| home.join(default));
        // An overlay covers everything below it.
        let covered = tier >= Tier::Namespaces
            && in_home.as_ref().is_some_and(|path| {
                let top = path.ancestors().find(|above| above.parent() == confinement.home.as_deref());
                top.is_some_and(is_directory)
            });
        if !covered {
            variables.push((variable, caches.join(instead)));
        }
    }
    variables
}
