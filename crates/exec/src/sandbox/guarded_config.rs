//! Protects configuration that the user's programs obey, in every writable root: agents, editors, shells and git.
//!
//! `policy` has the names; git's configuration and hooks name further files. An existing file becomes a read-only
//! mount. The path of a missing one is held by an empty directory, or watched: a file that a command creates there is
//! set aside.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use policy::{
    Confinement, HOME_CONFIGURATION, HOME_LISTED, HOST_CONFIGURATION, HostFile, HostFileRole,
    MissingConfigAction, NESTED_CONFIGURATION, host_file_by_name, normalize_path,
};
use rustix::fs::{AtFlags, CWD, FileType, readlinkat, statat};
use rustix::io::Errno;

use super::cell_plan::path_from_bytes;
use super::git::{self, GitInputs, Repository};
use super::mount_table::MountTable;
use super::planner::exists;
use super::root_configuration::RootConfiguration;
use super::scratch::Scratch;
use crate::fs::{canonicalize, canonicalize_existing};

/// Below the home: each version of Python has a directory there whose files it runs at each start.
const PYTHON: &str = ".local/lib";
/// The maximum number of consecutive links.
const MAX_LINK_HOPS: usize = 8;
/// The maximum number of protective mounts: the kernel limits all mounts together.
const MAX_MOUNTS: usize = 20_000;

/// The findings in writable roots.
#[derive(Default)]
pub(super) struct GuardedPaths {
    pub(super) repositories: Vec<Repository>,
    /// Empty directories that hold a path.
    pub(super) placeholders: Vec<PathBuf>,
    /// Paths that must not be moved.
    pub(super) pinned: Vec<PathBuf>,
    /// Missing configuration, with the user action that makes it take effect.
    pub(super) missing_configuration: Vec<(PathBuf, String)>,
    /// Files that take effect on the user's machine and whose changes are reported.
    pub(super) watched_files: Vec<(PathBuf, HostFile)>,
    /// The files that git obeys, by repository.
    pub(super) git_inputs: Vec<(Repository, GitInputs)>,
    /// The real locations of the configuration of each root, and the files that it names.
    pub(super) root_configurations: Vec<(PathBuf, RootConfiguration)>,
    /// Git directories that are read-only, because there are too many for a layer each.
    pub(super) read_only_repositories: Vec<PathBuf>,
    /// True if not everything is protected, because there is too much of it.
    pub(super) truncated: bool,
    /// The repositories whose configuration could not be read completely, with the reason.
    pub(super) unread_repositories: Vec<(PathBuf, String)>,
    /// True if some links in configuration were not followed, because there is too much of it.
    pub(super) links_not_followed: bool,
}

/// Protects the roots of one policy.
pub(super) struct RootGuard<'a> {
    pub(super) confinement: &'a Confinement,
    pub(super) scratch: &'a Scratch,
    pub(super) mount_table: &'a mut MountTable,
    pub(super) found: GuardedPaths,
}

impl RootGuard<'_> {
    /// Protects the paths that the policy makes read-only inside a root.
    pub(super) fn guard_read_only_paths(&mut self) {
        for path in &self.confinement.read_only {
            if let Some(place) = self.is_in_root(path).then(|| self.existing_or_held_path(path)).flatten() {
                self.found.placeholders.extend(self.scratch.placeholder(&place).then(|| place.clone()));
                self.make_read_only(place);
            }
        }
    }

    /// Protects the configuration of agents, editors and git in a writable root.
    pub(super) fn guard_root(&mut self, root: &Path, trees: &[PathBuf]) {
        for (name, missing, when) in HOST_CONFIGURATION {
            self.guard_path(&root.join(name), *missing, when);
        }
        for (name, when) in NESTED_CONFIGURATION {
            self.guard_path(&root.join(name), MissingConfigAction::SetAside, when);
        }
        self.guard_by_name(root);
        self.guard_link_targets(root);
        self.guard_repositories(root, trees);
    }

    /// Protects the targets of links in configuration, and records the files that it names.
    fn guard_link_targets(&mut self, root: &Path) {
        let configuration = RootConfiguration::scan(root, self.confinement);
        for (place, when) in &configuration.linked_paths {
            let is_writable_root = self.confinement.writable.contains(place);
            match exists(place) {
                _ if is_writable_root => {}
                None => self.record_missing(place, when),
                // The target of a link is a separate path.
                Some(_) => self.make_read_only(place.clone()),
            }
        }
        self.found.links_not_followed |= configuration.truncated;
        self.found.root_configurations.push((root.to_owned(), configuration));
    }

    /// Protects the start-up files and the configuration of the user's home where it lies in a root.
    pub(super) fn guard_home(&mut self) {
        let homes = self.confinement.user_homes().filter(|_| self.confinement.holds_home());
        let of_home = |home: &Path| {
            let named = HOME_CONFIGURATION.iter().map(|name| home.join(name));
            let listed = HOME_LISTED.iter().flat_map(|below| entry_paths(&home.join(below)));
            named.chain(python_startup(home)).chain(listed).collect::<BTreeSet<_>>()
        };
        let own = homes.flat_map(of_home).filter(|path| self.is_in_root(path));
        for path in own.collect::<Vec<_>>() {
            if let Some(HostFile { role: HostFileRole::Configuration, when }) =
                self.confinement.host_file(&path)
            {
                self.guard_path(&path, MissingConfigAction::SetAside, &when);
            }
        }
    }

    /// Protects one piece of configuration, existing or not.
    fn guard_path(&mut self, path: &Path, missing: MissingConfigAction, when: &str) {
        // The user has made it writable.
        if self.confinement.writable.iter().any(|root| root == path) {
            return;
        }
        // Behind a link on the way: `RootConfiguration` has the target and the link.
        if path.parent().is_some_and(|above| canonicalize(above).is_ok_and(|real| real != above)) {
            return;
        }
        match (exists(path), missing) {
            // Another session may hold it already.
            (None, MissingConfigAction::Occupied)
            | (Some(FileType::Directory), MissingConfigAction::Occupied)
                if self.scratch.placeholder(path) =>
            {
                self.mount_table.insert_tree(path, false);
                self.found.placeholders.push(path.to_owned());
                // The user may remove it, and a command could then create another.
                self.found.missing_configuration.push((path.to_owned(), when.to_owned()));
            }
            (None, _) => self.record_missing(path, when),
            (Some(FileType::Symlink), _) => self.guard_through_links(path, missing, when),
            (Some(_), _) => self.make_read_only(path.to_owned()),
        }
    }

    /// Records missing configuration. A file in an inaccessible directory may exist and belong to the user.
    fn record_missing(&mut self, path: &Path, when: &str) {
        if statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).err() != Some(Errno::ACCESS) {
            self.found.missing_configuration.push((path.to_owned(), when.to_owned()));
        }
    }

    /// Makes `place` read-only, and pins the path to it.
    fn make_read_only(&mut self, place: PathBuf) {
        if self.found.pinned.len() >= MAX_MOUNTS {
            self.found.truncated = true;
            return;
        }
        self.mount_table.insert_tree(&place, false);
        self.found.pinned.push(place);
    }

    /// Protects configuration at the top of a root whose name only ends like such names, and records the code there.
    fn guard_by_name(&mut self, root: &Path) {
        let is_known = |name: &OsStr| HOST_CONFIGURATION.iter().any(|(known, _, _)| name == *known);
        let found = entry_paths(root).into_iter().filter_map(|path| {
            let name = path.file_name().filter(|name| !is_known(name))?;
            let file = host_file_by_name(Path::new(name))?;
            Some((path, file))
        });
        for (path, file) in found.collect::<Vec<_>>() {
            match file.role {
                HostFileRole::Configuration => {
                    self.guard_path(&path, MissingConfigAction::SetAside, &file.when);
                }
                HostFileRole::Code => self.found.watched_files.push((path, file)),
            }
        }
    }

    fn guard_repositories(&mut self, root: &Path, trees: &[PathBuf]) {
        let trees = trees.iter().filter(|tree| tree.starts_with(root));
        let git = git::find_repositories(trees, &self.confinement.writable);
        self.found.truncated |= git.truncated;
        let at = root.join(".git");
        let outer = git::outer_repositories(root, is_owned_by_user);
        if self.scratch.placeholder(&at) {
            // The root lies inside a repository: git searches upwards.
            let repositories = &mut self.found.repositories;
            let above = outer.first().filter(|above| repositories.iter().all(|known| known.at != above.at));
            repositories.extend(above.cloned().into_iter().collect::<Vec<_>>());
            repositories.push(Repository { at, root: root.to_owned() });
        }
        self.found.read_only_repositories.extend(git.read_only.iter().filter(|at| git::is_git(at)).cloned());
        for pointer in git.pointers.into_iter().chain(git.read_only) {
            self.make_read_only(pointer);
        }
        let known: Vec<PathBuf> = self.found.repositories.iter().map(|known| known.at.clone()).collect();
        let new = git.repositories.into_iter().filter(|new| !known.contains(&new.at));
        self.found.repositories.extend(new);
        let mut all = git.trees;
        all.extend(
            self.found.repositories.iter().filter(|own| !all.contains(own)).cloned().collect::<Vec<_>>(),
        );
        for repository in all.into_iter().chain(outer) {
            self.guard_git_inputs(repository);
        }
        for bare in git.bare.into_iter().chain(git::is_git(root).then(|| root.to_owned())) {
            self.guard_bare_repository(bare);
        }
    }

    /// Protects the configuration and the hooks of a git directory without a working tree here.
    fn guard_bare_repository(&mut self, at: PathBuf) {
        // Git does not tolerate a directory in place of a file.
        for name in ["config", "config.worktree", "commondir"] {
            self.guard_through_links(&at.join(name), MissingConfigAction::SetAside, "use git here");
        }
        self.guard_through_links(&at.join("hooks"), MissingConfigAction::Occupied, "use git here");
        self.guard_git_inputs(Repository { root: at.clone(), at });
    }

    /// Protects the files that git obeys in `repository`, and records the scripts that its hooks call.
    fn guard_git_inputs(&mut self, repository: Repository) {
        if self.found.git_inputs.iter().any(|(known, _)| *known == repository) {
            return;
        }
        let git_inputs = git::find_git_inputs(&repository, self.confinement.home.as_deref());
        for (path, missing) in &git_inputs.configuration {
            self.guard_through_links(path, *missing, "use git here");
        }
        let links = git_inputs.links.iter().filter(|link| self.is_in_root(link));
        links.cloned().collect::<Vec<_>>().into_iter().for_each(|link| self.make_read_only(link));
        let code = git_inputs.code.iter().filter(|path| self.is_in_root(path));
        let code: Vec<_> = code.map(|path| (path.clone(), HostFile::code("commit or push here"))).collect();
        self.found.watched_files.extend(code);
        // A command that renames such a directory could put a link in its place.
        let dotdot_dirs =
            git_inputs.dotdot_dirs.iter().filter(|turn| self.is_in_root(turn) && exists(turn).is_some());
        let dotdot_dirs: Vec<PathBuf> = dotdot_dirs.map(|turn| turn.join("..")).collect();
        self.found.pinned.extend(dotdot_dirs);
        self.found
            .unread_repositories
            .extend(git_inputs.incomplete_reason.clone().map(|why| (repository.root.clone(), why)));
        self.found.git_inputs.push((repository, git_inputs));
    }

    /// Protects `path`, and its target in a writable root if it is a link.
    fn guard_through_links(&mut self, path: &Path, missing: MissingConfigAction, when: &str) {
        let mut path = path.to_owned();
        // ends: after so many links at the latest, as the kernel does
        for _ in 0..MAX_LINK_HOPS {
            let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
            // A missing file would be created where its directory really is.
            let above = canonicalize(above).unwrap_or_else(|_| canonicalize_existing(above));
            path = above.join(name);
            // A writable root in it keeps its permissions.
            if self.confinement.writable.contains(&path) || !self.is_in_root(&path) {
                return;
            }
            match (exists(&path), missing) {
                (None, MissingConfigAction::SetAside) => return self.record_missing(&path, when),
                (None, MissingConfigAction::Occupied) | (Some(_), _) => {
                    let Some(place) = self.existing_or_held_path(&path) else { return };
                    self.make_read_only(place);
                }
            }
            let Ok(to) = readlinkat(CWD, &path, Vec::new()) else { return };
            path = normalize_path(&above.join(path_from_bytes(to.into_bytes())));
        }
    }

    /// Returns the path to make read-only so that `path` stays unchanged: itself, or the first missing directory on
    /// the way, which is then held.
    fn existing_or_held_path(&self, path: &Path) -> Option<PathBuf> {
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

/// Returns the files below `home` that Python runs at each start, or would run.
fn python_startup(home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for version in entry_paths(&home.join(PYTHON)) {
        let packages = version.join("site-packages");
        let is_path = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "pth");
        found.extend(entry_paths(&packages).into_iter().filter(is_path));
        found.extend(["usercustomize.py", "sitecustomize.py"].map(|name| packages.join(name)));
    }
    found
}

/// Returns the paths of the entries of a directory; none if it cannot be listed.
fn entry_paths(directory: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    if let Ok(opened) = git::sys::root(directory) {
        let _seen = git::sys::list(opened.as_fd(), |name, _| {
            names.push(directory.join(name));
            ControlFlow::Continue(())
        });
    }
    names
}

/// Returns true if a directory belongs to this user: git does not enter those of others either.
fn is_owned_by_user(path: &Path) -> bool {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
}
