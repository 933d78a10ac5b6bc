//! A policy and what is there on this machine → the plan of a cell.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{Confinement, PROTECTED, Reach, Tier, normal};
use rustix::fs::{AtFlags, CWD, FileType, statat};

use super::git::{self, Repository, Strays};
use super::look;
use super::plan::{Mount, Plan, What, to_path};
use super::scratch::{self, Scratch};
use crate::fs::real_to_be;

/// Directories that are replaced: whoever has something there has it in a place of its own.
const REPLACED: &[&str] = &["/tmp", "/var/tmp", "/run", "/dev"];
/// What commands need of `/run` all the same: programs of some systems, and how names are resolved.
const OF_RUN: &[&str] = &[
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/NetworkManager/resolv.conf",
];
/// Below the home: what package managers write when they install. Commands see it, and their changes stay theirs.
const CACHES: &[&str] = &[
    ".cache",
    ".npm",
    ".cargo",
    ".rustup/tmp",
    "go/pkg",
    ".m2",
    ".gradle",
    ".ivy2",
    ".sbt",
    ".nuget",
    ".yarn",
    ".bun",
    ".deno",
    ".pnpm-store",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/state",
    ".gem",
    ".bundle",
    ".composer",
    ".ccache",
    ".pub-cache",
    ".node-gyp",
];

/// Variables that say where such a directory is instead.
const CACHE_VARIABLES: &[&str] = &[
    "CARGO_HOME",
    "XDG_CACHE_HOME",
    "npm_config_cache",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "GOCACHE",
    "GOMODCACHE",
    "GRADLE_USER_HOME",
    "CCACHE_DIR",
    "YARN_CACHE_FOLDER",
];

/// The plan for a cell, and what else the host has to know of it.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) plan: Plan,
    pub(crate) repositories: Vec<Repository>,
    /// Directories that were made to hold a place.
    held: Vec<PathBuf>,
    /// Where commands could make git directories that git walks into by itself.
    pub(crate) strays: Arc<Strays>,
    /// Variables that send what would be written elsewhere into the private directory.
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
    /// Not every file that globs could mean was looked at.
    pub(crate) cut: bool,
}

/// Looks at what is there.
pub(crate) fn survey(confinement: &Confinement, reach: &Reach, scratch: &Scratch, tier: Tier) -> Survey {
    let mut survey = Survey {
        plan: Plan {
            tier,
            network: confinement.network,
            hosts: confinement.hosts.clone(),
            mounts: Vec::new(),
            writable: confinement.writable.clone(),
            sockets: sockets(confinement),
            layers: None,
            limits: confinement.limits,
            recorded: confinement.recorded,
        },
        repositories: Vec::new(),
        held: Vec::new(),
        strays: Arc::default(),
        variables: Vec::new(),
        cut: false,
    };
    let temporary = if tier >= Tier::Namespaces { PathBuf::from("/tmp") } else { scratch.tmp() };
    if tier >= Tier::Namespaces {
        let places = view(&mut survey, confinement, reach, scratch);
        let is_kept = |(at, what): &(&PathBuf, &What)| matches!(what, What::Tree { from, writable: false } if from == *at);
        scratch.may_hold(places.0.iter().filter(is_kept).map(|(at, _)| at.clone()));
        survey.plan.mounts = places.0.into_iter().map(|(at, what)| Mount { at, what }).collect();
    } else {
        survey.plan.writable.push(scratch.path().join("tmp"));
    }
    survey.strays = strays(confinement, &survey.repositories);
    survey.variables = variables(confinement, &temporary, tier);
    survey
}

/// Roots without a repository, whose place for one was held, and places of submodules that are not there.
fn strays(confinement: &Confinement, repositories: &[Repository]) -> Arc<Strays> {
    let has_one = |root: &Path| {
        let own = repositories.iter().find(|repository| repository.root == root);
        own.is_some_and(|repository| git::is_git(&repository.at))
    };
    let roots = confinement.writable.iter().filter(|root| !has_one(root));
    Arc::new(Strays::new(roots, repositories))
}

/// What a cell sees of the file system, and what may be written there.
fn view(survey: &mut Survey, confinement: &Confinement, reach: &Reach, scratch: &Scratch) -> Places {
    let mut places = Places::default();
    let writable = &mut survey.plan.writable;
    system(&mut places, scratch);
    visible(&mut places, confinement, reach);
    for root in &confinement.writable {
        places.tree(root, true);
    }
    caches(&mut places, confinement, scratch, writable);
    writable.extend(["/tmp", "/var/tmp"].map(PathBuf::from));
    let mut pinned: Vec<PathBuf> = confinement.writable.clone();
    let in_a_root = |path: &&PathBuf| confinement.writable.iter().any(|root| path.starts_with(root));
    for path in confinement.read_only.iter().filter(in_a_root) {
        if let Some(place) = read_only(path, confinement, scratch) {
            survey.held.extend(scratch.placeholder(&place).then(|| place.clone()));
            places.tree(&place, false);
            pinned.push(place);
        }
    }
    let roots = confinement.writable.iter().cloned().chain(reach.roots().map(Path::to_owned));
    let seen = look::look(roots, reach.deny());
    let mut found = Found::default();
    for root in &confinement.writable {
        protect(&mut places, root, confinement, scratch, &seen.trees, &mut found);
    }
    pinned.extend(found.pinned);
    survey.held.extend(found.held);
    survey.cut |= found.cut | seen.cut;
    let hidden = hidden(seen.hidden, reach);
    // Whoever renames what lies above would find it under another name.
    pinned.extend(hidden.iter().filter(|path| exists(path).is_some()).cloned());
    // What is read-only or hidden anyway gets no layer.
    let is_hidden = |at: &Path| hidden.iter().any(|path| at.starts_with(path));
    let is_read_only = |at: &Path| places.innermost(at.parent()?).map(|what| !what.is_writable());
    found.repositories.retain(|found| {
        let within = confinement.writable.iter().any(|root| found.at.starts_with(root));
        !is_hidden(&found.at)
            && places.0.get(&found.at).is_none_or(What::is_writable)
            && !(within && is_read_only(&found.at).unwrap_or(false))
    });
    survey.repositories = found.repositories;
    for Repository { at, .. } in &survey.repositories {
        places.tree(at, false);
        pinned.push(at.clone());
        // What is written there goes to a layer.
        writable.push(at.clone());
    }
    places.pin(&pinned, &confinement.writable);
    for path in hidden {
        places.put(&path, What::Hidden);
    }
    places.hide_scratch(scratch);
    survey.plan.layers = Some(scratch.path().join("layers"));
    places
}

impl Survey {
    /// Lines for git to ignore what holds a place in the tree at `root`.
    pub(crate) fn ignored(&self, root: &Path) -> Vec<u8> {
        let below = self.held.iter().filter_map(|path| path.strip_prefix(root).ok());
        below.flat_map(|path| [b"/", path.as_os_str().as_bytes(), b"/\n"].concat()).collect()
    }
}

/// What is put where; sorted, so that what lies above comes first.
#[derive(Default)]
struct Places(BTreeMap<PathBuf, What>);

impl Places {
    fn put(&mut self, at: &Path, what: What) {
        self.0.insert(at.to_owned(), what);
    }

    fn tree(&mut self, path: &Path, writable: bool) {
        self.put(path, What::Tree { from: path.to_owned(), writable });
    }

    /// What the innermost place that holds `path` is.
    fn innermost(&self, path: &Path) -> Option<&What> {
        path.ancestors().find_map(|above| self.0.get(above))
    }

    /// Hides the scratch directories of all sessions, wherever they can be seen.
    fn hide_scratch(&mut self, scratch: &Scratch) {
        let Some(all) = scratch.path().parent() else { return };
        let above = all.ancestors().find_map(|above| Some((above, self.0.get(above)?)));
        let is_replaced = above.is_some_and(|(at, what)| match what {
            What::Tree { from, .. } => from != at,
            What::Overlay { .. } => false,
            What::Empty | What::Hidden | What::Devices => true,
        });
        if !is_replaced {
            self.put(all, What::Hidden);
        }
    }

    /// Makes every directory between each of `paths` and the outermost root a mount: nobody can rename one, and so put
    /// another in the place of what lies in it. What it lets be done stays as it is.
    fn pin(&mut self, paths: &[PathBuf], roots: &[PathBuf]) {
        let mut pins = Vec::new();
        for path in paths {
            let outermost =
                roots.iter().filter(|root| path.starts_with(root)).min_by_key(|root| root.as_os_str().len());
            let Some(root) = outermost else { continue };
            let between =
                path.ancestors().skip(1).take_while(|above| *above != root && above.starts_with(root));
            for above in between.filter(|above| !self.0.contains_key(*above)) {
                let writable = self.innermost(above).is_none_or(What::is_writable);
                pins.push((above.to_owned(), What::Tree { from: above.to_owned(), writable }));
            }
        }
        self.0.extend(pins);
    }
}

/// What may not be read: what globs mean, and the paths themselves, whether or not they are there yet.
fn hidden(globs: BTreeSet<PathBuf>, reach: &Reach) -> BTreeSet<PathBuf> {
    // What is not there yet will be where its directory really is: a home may be a link.
    let paths = reach.deny().paths().iter().map(|path| real_to_be(&normal(path)));
    let all: BTreeSet<PathBuf> = globs.into_iter().chain(paths).collect();
    // What lies in a hidden directory needs no mount of its own.
    let covered =
        |path: &PathBuf| path.ancestors().skip(1).any(|above| all.contains(above) && exists(above).is_some());
    all.iter().filter(|path| !covered(path)).cloned().collect()
}

/// Where nobody is to write for `path` to stay as it is: the path itself, or what is held in its place if it is not there.
fn read_only(path: &Path, confinement: &Confinement, scratch: &Scratch) -> Option<PathBuf> {
    if exists(path).is_some() {
        return Some(path.to_owned());
    }
    let root = confinement.writable.iter().find(|root| path.starts_with(root))?;
    // The first directory on the way that is missing.
    let missing = path.ancestors().take_while(|above| *above != root && exists(above).is_none()).last()?;
    scratch.placeholder(missing).then(|| missing.to_owned())
}

/// The sockets that may be connected to, by where they really are: `/var/run` is mostly `/run`.
fn sockets(confinement: &Confinement) -> Vec<Vec<u8>> {
    let real = |name: &String| match crate::fs::real(Path::new(name)) {
        Ok(real) if name.starts_with('/') => real.into_os_string().into_vec(),
        _ => name.clone().into_bytes(),
    };
    confinement.sockets.iter().map(real).collect()
}

fn exists(path: &Path) -> Option<FileType> {
    let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

fn is_directory(path: &Path) -> bool {
    exists(path) == Some(FileType::Directory)
}

/// The places that are replaced.
fn system(places: &mut Places, scratch: &Scratch) {
    let private = |from: PathBuf| What::Tree { from, writable: true };
    for (at, what) in [
        ("/tmp", private(scratch.tmp())),
        ("/var/tmp", private(scratch.var_tmp())),
        ("/run", What::Empty),
        ("/dev", What::Devices),
    ] {
        if is_directory(Path::new(at)) {
            places.put(Path::new(at), what);
        }
    }
    // Mostly a link to /run.
    if is_directory(Path::new("/var/run")) {
        places.put(Path::new("/var/run"), What::Empty);
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    if let Some(runtime) =
        runtime.filter(|path| path.is_absolute() && !path.starts_with("/run") && is_directory(path))
    {
        places.put(&runtime, What::Empty);
    }
    for path in OF_RUN.iter().map(Path::new).filter(|path| exists(path).is_some()) {
        places.tree(path, false);
    }
}

/// What may be read though it lies in a place that is replaced.
fn visible(places: &mut Places, confinement: &Confinement, reach: &Reach) {
    let roots = reach.roots().map(Path::to_owned).chain(confinement.home.clone());
    let sockets = sockets(confinement).into_iter().filter(|name| name.starts_with(b"/")).map(to_path);
    for path in roots.chain(sockets) {
        let is_replaced =
            REPLACED.iter().any(|replaced| path.starts_with(replaced) && path != Path::new(replaced));
        let is_private = confinement.private.as_ref().is_some_and(|private| path.starts_with(private));
        if is_replaced && !is_private && exists(&path).is_some() {
            places.tree(&path, false);
        }
    }
}

fn caches(places: &mut Places, confinement: &Confinement, scratch: &Scratch, writable: &mut Vec<PathBuf>) {
    let in_home = confinement.home.iter().flat_map(|home| CACHES.iter().map(|name| home.join(name)));
    let named = CACHE_VARIABLES.iter().filter_map(|name| std::env::var_os(name).map(PathBuf::from));
    let roots = || confinement.writable.iter();
    let own = scratch.new_layer();
    for (number, path) in in_home.chain(named).enumerate() {
        let Ok(path) = crate::fs::real(&path) else { continue };
        // What can be written already needs no layer; what holds a root, or is held by a cache, gets none.
        let in_the_way = roots().any(|root| path.starts_with(root) || root.starts_with(&path))
            || places
                .0
                .iter()
                .any(|(place, what)| path.starts_with(place) && matches!(what, What::Overlay { .. }))
            || path.components().count() < SHALLOWEST;
        if !is_directory(&path) || in_the_way {
            continue;
        }
        // One overlay serves all that lie in the home.
        let shared = confinement.home.as_ref().filter(|home| {
            path.starts_with(home)
                && !scratch.path().starts_with(home)
                && git::sys::is_same_mount(home, &path)
        });
        let name = if shared.is_some() { format!("{own}-home") } else { format!("{own}-{number}") };
        let (of, layer) = (shared.unwrap_or(&path).clone(), scratch.path().join("caches").join(name));
        if scratch::layer(&layer).is_ok() {
            places.put(&path, What::Overlay { of, layer });
            writable.push(path);
        }
    }
}

/// A cache lies deeper than this: a variable that says `/` or `/usr` is a mistake, or worse.
const SHALLOWEST: usize = 3;

/// Where package managers and others write if what they use by default is not there or cannot be written.
fn variables(confinement: &Confinement, temporary: &Path, tier: Tier) -> Vec<(&'static str, PathBuf)> {
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
        // Whoever says where theirs is gets a layer there, if it is there.
        let named = std::env::var_os(variable).map(PathBuf::from);
        if tier >= Tier::Namespaces && named.is_some_and(|path| is_directory(&path)) {
            continue;
        }
        let in_home = confinement.home.as_ref().map(|home| home.join(default));
        // An overlay covers what lies below it.
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

/// Keeps a link as it is, and what it leads to in a writable root, whether or not that is there.
fn follow(link: &Path, places: &mut Places, confinement: &Confinement, scratch: &Scratch, found: &mut Found) {
    const HOPS: usize = 8;
    let mut path = link.to_owned();
    // ends: after so many links at the latest, as the kernel does
    for _ in 0..HOPS {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
        let Ok(above) = crate::fs::real(above) else { return };
        path = above.join(name);
        // What a root in it lets be done stays as it is.
        if confinement.writable.contains(&path)
            || !confinement.writable.iter().any(|root| path.starts_with(root))
        {
            return;
        }
        let Some(place) = read_only(&path, confinement, scratch) else { return };
        places.tree(&place, false);
        found.pinned.push(place);
        let Ok(to) = rustix::fs::readlinkat(CWD, &path, Vec::new()) else { return };
        path = normal(&above.join(to_path(to.into_bytes())));
    }
}

/// What was found in writable roots.
#[derive(Default)]
struct Found {
    repositories: Vec<Repository>,
    held: Vec<PathBuf>,
    /// What must not be moved.
    pinned: Vec<PathBuf>,
    cut: bool,
}

/// Keeps what decides about agents and git in a writable root as it is.
fn protect(
    places: &mut Places,
    root: &Path,
    confinement: &Confinement,
    scratch: &Scratch,
    trees: &[PathBuf],
    found: &mut Found,
) {
    for name in PROTECTED {
        let path = root.join(name);
        match exists(&path) {
            // Another session may hold it already.
            None | Some(FileType::Directory) if scratch.placeholder(&path) => {
                places.tree(&path, false);
                found.held.push(path.clone());
            }
            // It cannot be made, so nobody else like us can.
            None => {}
            Some(FileType::Symlink) => follow(&path, places, confinement, scratch, found),
            Some(_) => places.tree(&path, false),
        }
    }
    let trees = trees.iter().filter(|tree| tree.starts_with(root));
    let git = git::repositories(trees, &confinement.writable);
    found.cut |= git.cut;
    let repositories = &mut found.repositories;
    let at = root.join(".git");
    if scratch.placeholder(&at) {
        // A directory of a repository: git looks upwards.
        let above = root.ancestors().skip(1).take_while(|above| is_ours(above));
        let above = above.map(|above| Repository { at: above.join(".git"), root: above.to_owned() });
        let above = above.into_iter().find(|repository| is_directory(&repository.at));
        repositories.extend(above.filter(|above| !repositories.contains(above)));
        repositories.push(Repository { at, root: root.to_owned() });
    }
    for pointer in git.pointers {
        places.tree(&pointer, false);
        found.pinned.push(pointer);
    }
    let known: Vec<PathBuf> = repositories.iter().map(|known| known.at.clone()).collect();
    repositories.extend(git.repositories.into_iter().filter(|new| !known.contains(&new.at)));
    let mut leads: Vec<PathBuf> = repositories.iter().flat_map(git::leads).collect();
    if git::is_git(root) {
        // A root that is a git directory itself. Git does not bear a directory in the place of a file.
        let files = ["config", "config.worktree", "commondir"].map(|name| root.join(name));
        leads.extend(files.into_iter().filter(|file| exists(file).is_some()).chain([root.join("hooks")]));
    }
    for lead in leads {
        follow(&lead, places, confinement, scratch, found);
    }
}

/// Whether a directory belongs to this user: git does not look into those of others either.
fn is_ours(path: &Path) -> bool {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
}

/// Where `path` of the host is in a cell.
pub(crate) fn inside(path: &Path, scratch: &Scratch, tier: Tier) -> PathBuf {
    let (tmp, var_tmp) = (scratch.tmp(), scratch.var_tmp());
    if tier >= Tier::Namespaces {
        for (private, public) in [(tmp, "/tmp"), (var_tmp, "/var/tmp")] {
            if let Ok(below) = path.strip_prefix(private) {
                return if below.as_os_str().is_empty() {
                    public.into()
                } else {
                    Path::new(public).join(below)
                };
            }
        }
    }
    path.to_owned()
}
