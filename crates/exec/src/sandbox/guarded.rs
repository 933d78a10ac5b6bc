//! Keeps the configuration that programs of the user's obey as it is, in every writable root: agents, editors, shells and git.
//!
//! `policy` has the names; git's configuration and hooks name the rest. What is there becomes a read-only mount. The place of
//! what is missing is held by an empty directory, or watched: what a command makes there is set aside.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use policy::{
    Confinement, HOME_CONFIGURATION, HOME_LISTED, HOST_CONFIGURATION, HostFile, HostRole,
    NESTED_CONFIGURATION, WhenMissing, host_file_by_name, normal,
};
use rustix::fs::{AtFlags, CWD, FileType, readlinkat, statat};
use rustix::io::Errno;

use super::configured::ConfiguredRoot;
use super::git::{self, GitObeyed, Repository};
use super::places::Places;
use super::plan::to_path;
use super::scratch::Scratch;
use super::survey::exists;
use crate::fs::{real, real_to_be};

/// Below the home: where each version of Python has a directory whose files it runs at each start.
const PYTHON: &str = ".local/lib";
/// How many links lead from one to the next, as the kernel has it.
const HOPS: usize = 8;
/// How many mounts may guard files: the kernel has a limit for all of them.
const MAX_MOUNTS: usize = 20_000;

/// What was found in writable roots.
#[derive(Default)]
pub(super) struct Guarded {
    pub(super) repositories: Vec<Repository>,
    /// Empty directories that hold a place.
    pub(super) held: Vec<PathBuf>,
    /// What must not be moved.
    pub(super) pinned: Vec<PathBuf>,
    /// Configuration that is missing, with the action that makes it take effect.
    pub(super) missing: Vec<(PathBuf, String)>,
    /// Files that take effect on the user's machine and whose changes are told.
    pub(super) told: Vec<(PathBuf, HostFile)>,
    /// The files that git obeys in each repository.
    pub(super) obeyed: Vec<(Repository, GitObeyed)>,
    /// The real places of the configuration of each root, and the files that it names.
    pub(super) configured: Vec<(PathBuf, ConfiguredRoot)>,
    /// Git directories that are read-only, since there are too many to have a layer for each.
    pub(super) read_only: Vec<PathBuf>,
    /// Not everything is guarded: there is too much of it.
    pub(super) cut: bool,
    /// The repositories whose configuration could not be read to its end, with the reason.
    pub(super) unread: Vec<(PathBuf, String)>,
    /// Some links in configuration were not followed: there is too much of it.
    pub(super) unfollowed: bool,
}

/// Guards the roots of one policy.
pub(super) struct RootGuard<'a> {
    pub(super) confinement: &'a Confinement,
    pub(super) scratch: &'a Scratch,
    pub(super) places: &'a mut Places,
    pub(super) found: Guarded,
}

impl RootGuard<'_> {
    /// Keeps what the policy closes inside a root.
    pub(super) fn read_only_paths(&mut self) {
        for path in &self.confinement.read_only {
            if let Some(place) = self.is_in_root(path).then(|| self.placed(path)).flatten() {
                self.found.held.extend(self.scratch.placeholder(&place).then(|| place.clone()));
                self.close(place);
            }
        }
    }

    /// Keeps the configuration of agents, editors and git in a writable root.
    pub(super) fn root(&mut self, root: &Path, trees: &[PathBuf]) {
        for (name, missing, when) in HOST_CONFIGURATION {
            self.keep(&root.join(name), *missing, when);
        }
        for (name, when) in NESTED_CONFIGURATION {
            self.keep(&root.join(name), WhenMissing::SetAside, when);
        }
        self.by_name(root);
        self.configured(root);
        self.repositories(root, trees);
    }

    /// Keeps the places that links in configuration lead to, and notes the files that it names.
    fn configured(&mut self, root: &Path) {
        let configured = ConfiguredRoot::of(root, self.confinement);
        for (place, when) in &configured.places {
            let given = self.confinement.writable.contains(place);
            match exists(place) {
                _ if given => {}
                None => self.missing(place, when),
                // What a link leads to is a place of its own.
                Some(_) => self.close(place.clone()),
            }
        }
        self.found.unfollowed |= configured.unread;
        self.found.configured.push((root.to_owned(), configured));
    }

    /// Keeps the start-up files and the configuration of the user's home where it lies in a root.
    pub(super) fn home(&mut self) {
        let homes = self.confinement.homes().filter(|_| self.confinement.holds_home());
        let of_home = |home: &Path| {
            let named = HOME_CONFIGURATION.iter().map(|name| home.join(name));
            let listed = HOME_LISTED.iter().flat_map(|below| names(&home.join(below)));
            named.chain(python_startup(home)).chain(listed).collect::<BTreeSet<_>>()
        };
        let own = homes.flat_map(of_home).filter(|path| self.is_in_root(path));
        for path in own.collect::<Vec<_>>() {
            if let Some(HostFile { role: HostRole::Configuration, when }) = self.confinement.host_file(&path)
            {
                self.keep(&path, WhenMissing::SetAside, &when);
            }
        }
    }

    /// Keeps one piece of configuration as it is, whether or not it is there.
    fn keep(&mut self, path: &Path, missing: WhenMissing, when: &str) {
        // Somebody has given it.
        if self.confinement.writable.iter().any(|root| root == path) {
            return;
        }
        // Behind a link on the way: `configured` has the place that it leads to, and the link.
        if path.parent().is_some_and(|above| real(above).is_ok_and(|real| real != above)) {
            return;
        }
        match (exists(path), missing) {
            // Another session may hold it already.
            (None, WhenMissing::Held) | (Some(FileType::Directory), WhenMissing::Held)
                if self.scratch.placeholder(path) =>
            {
                self.places.tree(path, false);
                self.found.held.push(path.to_owned());
                // The user may remove it, and a command then make another.
                self.found.missing.push((path.to_owned(), when.to_owned()));
            }
            (None, _) => self.missing(path, when),
            (Some(FileType::Symlink), _) => self.follow(path, missing, when),
            (Some(_), _) => self.close(path.to_owned()),
        }
    }

    /// Notes configuration that is missing. What lies in a directory that lets nobody look may be there, and be the user's.
    fn missing(&mut self, path: &Path, when: &str) {
        if statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).err() != Some(Errno::ACCESS) {
            self.found.missing.push((path.to_owned(), when.to_owned()));
        }
    }

    /// Keeps what is at `place`, and the way to it.
    fn close(&mut self, place: PathBuf) {
        if self.found.pinned.len() >= MAX_MOUNTS {
            self.found.cut = true;
            return;
        }
        self.places.tree(&place, false);
        self.found.pinned.push(place);
    }

    /// Keeps configuration whose name only ends as such names do, at the top of a root, and notes the code there.
    fn by_name(&mut self, root: &Path) {
        let is_known = |name: &OsStr| HOST_CONFIGURATION.iter().any(|(known, _, _)| name == *known);
        let found = names(root).into_iter().filter_map(|path| {
            let name = path.file_name().filter(|name| !is_known(name))?;
            let file = host_file_by_name(Path::new(name))?;
            Some((path, file))
        });
        for (path, file) in found.collect::<Vec<_>>() {
            match file.role {
                HostRole::Configuration => self.keep(&path, WhenMissing::SetAside, &file.when),
                HostRole::Code => self.found.told.push((path, file)),
            }
        }
    }

    fn repositories(&mut self, root: &Path, trees: &[PathBuf]) {
        let trees = trees.iter().filter(|tree| tree.starts_with(root));
        let git = git::repositories(trees, &self.confinement.writable);
        self.found.cut |= git.cut;
        let at = root.join(".git");
        let outer = git::outer_repositories(root, is_ours);
        if self.scratch.placeholder(&at) {
            // A directory of a repository: git looks upwards.
            let repositories = &mut self.found.repositories;
            let above = outer.first().filter(|above| repositories.iter().all(|known| known.at != above.at));
            repositories.extend(above.cloned().into_iter().collect::<Vec<_>>());
            repositories.push(Repository { at, root: root.to_owned() });
        }
        self.found.read_only.extend(git.closed.iter().filter(|at| git::is_git(at)).cloned());
        for pointer in git.pointers.into_iter().chain(git.closed) {
            self.close(pointer);
        }
        let known: Vec<PathBuf> = self.found.repositories.iter().map(|known| known.at.clone()).collect();
        let new = git.repositories.into_iter().filter(|new| !known.contains(&new.at));
        self.found.repositories.extend(new);
        let mut all = git.trees;
        all.extend(
            self.found.repositories.iter().filter(|own| !all.contains(own)).cloned().collect::<Vec<_>>(),
        );
        for repository in all.into_iter().chain(outer) {
            self.obeyed(repository);
        }
        for bare in git.bare.into_iter().chain(git::is_git(root).then(|| root.to_owned())) {
            self.bare(bare);
        }
    }

    /// Keeps the configuration and the hooks of a git directory that has no working tree here.
    fn bare(&mut self, at: PathBuf) {
        // Git does not bear a directory in the place of a file.
        for name in ["config", "config.worktree", "commondir"] {
            self.follow(&at.join(name), WhenMissing::SetAside, "use git here");
        }
        self.follow(&at.join("hooks"), WhenMissing::Held, "use git here");
        self.obeyed(Repository { root: at.clone(), at });
    }

    /// Keeps the files that git obeys in `repository`, and notes the scripts that its hooks call.
    fn obeyed(&mut self, repository: Repository) {
        if self.found.obeyed.iter().any(|(known, _)| *known == repository) {
            return;
        }
        let obeyed = git::obeyed(&repository, self.confinement.home.as_deref());
        for (path, missing) in &obeyed.configuration {
            self.follow(path, *missing, "use git here");
        }
        let links = obeyed.links.iter().filter(|link| self.is_in_root(link));
        links.cloned().collect::<Vec<_>>().into_iter().for_each(|link| self.close(link));
        let code = obeyed.code.iter().filter(|path| self.is_in_root(path));
        let code: Vec<_> = code.map(|path| (path.clone(), HostFile::code("commit or push here"))).collect();
        self.found.told.extend(code);
        // Whoever renames such a directory could put a link in its place.
        let turns = obeyed.turns.iter().filter(|turn| self.is_in_root(turn) && exists(turn).is_some());
        let turns: Vec<PathBuf> = turns.map(|turn| turn.join("..")).collect();
        self.found.pinned.extend(turns);
        self.found.unread.extend(obeyed.unread.clone().map(|why| (repository.root.clone(), why)));
        self.found.obeyed.push((repository, obeyed));
    }

    /// Keeps what is at `path`, and what it leads to in a writable root if it is a link.
    fn follow(&mut self, path: &Path, missing: WhenMissing, when: &str) {
        let mut path = path.to_owned();
        // ends: after so many links at the latest, as the kernel does
        for _ in 0..HOPS {
            let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
            // What is not there yet will be where its directory really is.
            let above = real(above).unwrap_or_else(|_| real_to_be(above));
            path = above.join(name);
            // What a root in it lets be done stays as it is.
            if self.confinement.writable.contains(&path) || !self.is_in_root(&path) {
                return;
            }
            match (exists(&path), missing) {
                (None, WhenMissing::SetAside) => return self.missing(&path, when),
                (None, WhenMissing::Held) | (Some(_), _) => {
                    let Some(place) = self.placed(&path) else { return };
                    self.close(place);
                }
            }
            let Ok(to) = readlinkat(CWD, &path, Vec::new()) else { return };
            path = normal(&above.join(to_path(to.into_bytes())));
        }
    }

    /// Where nobody is to write for `path` to stay as it is: the path itself, or the first directory on the way that is
    /// missing, which is then held.
    fn placed(&self, path: &Path) -> Option<PathBuf> {
        if exists(path).is_some() {
            return Some(path.to_owned());
        }
        let root = self.confinement.writable.iter().find(|root| path.starts_with(root))?;
        let missing =
            path.ancestors().take_while(|above| *above != root && exists(above).is_none()).last()?;
        self.scratch.placeholder(missing).then(|| missing.to_owned())
    }

    fn is_in_root(&self, path: &Path) -> bool {
        self.confinement.writable.iter().any(|root| path.starts_with(root))
    }
}

/// The files below `home` that Python runs at each start, and could.
fn python_startup(home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for version in names(&home.join(PYTHON)) {
        let packages = version.join("site-packages");
        let is_path = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "pth");
        found.extend(names(&packages).into_iter().filter(is_path));
        found.extend(["usercustomize.py", "sitecustomize.py"].map(|name| packages.join(name)));
    }
    found
}

/// The paths of what is in a directory; nothing if it cannot be listed.
fn names(directory: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    if let Ok(opened) = git::sys::root(directory) {
        let _seen = git::sys::list(opened.as_fd(), |name, _| {
            names.push(directory.join(name));
            ControlFlow::Continue(())
        });
    }
    names
}

/// Whether a directory belongs to this user: git does not look into those of others either.
fn is_ours(path: &Path) -> bool {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
}
