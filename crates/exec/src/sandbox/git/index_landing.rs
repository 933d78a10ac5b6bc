//! Decides which parts of a run's index may land, and at which paths it may name another repository (gitlink).
//!
//! `git status` enters a repository that the index names, and obeys its configuration. So a new one may be named only
//! where no repository exists yet, or one whose git directory is inside this one: its configuration has landed, or
//! existed before.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::git_settings::MAX_CONFIG_FILE_BYTES;
use super::index::{self, HostIndexPaths};
use super::landing::LayerLanding;
use super::object_format::ObjectFormat;
use super::path_text::{normalize, parts};
use super::upper_dir::LandingContent;
use super::{allowlist, config_rewrite, sys};

/// The maximum size of a `.git` file: a path and a few letters.
const MAX_POINTER_BYTES: u64 = 8 * 1024;
/// The maximum number of new gitlinks.
const MAX_NEW_GITLINKS: usize = 1_000;

impl LayerLanding<'_> {
    /// Returns the object format of the repository that `path` belongs to, or `None` if it is unclear.
    pub(super) fn object_format(&mut self, path: &Path) -> Option<ObjectFormat> {
        let git: PathBuf = path.iter().take(allowlist::repository_depth(&parts(path))).collect();
        if let Some(known) = self.object_formats.get(&git) {
            return *known;
        }
        let config = self.host.read_small(&git.join("config"), MAX_CONFIG_FILE_BYTES);
        let format = config.and_then(|config| ObjectFormat::from_config(&config));
        self.object_formats.insert(git, format);
        format
    }

    /// Returns the part of the index at `path` that may land, or `None`.
    pub(super) fn landable_index(
        &self,
        path: &Path,
        body: &LandingContent,
        format: ObjectFormat,
    ) -> Option<LandingContent> {
        let LandingContent::File(file, _) = body else { return None };
        let git = path.parent()?;
        let host = self.host.open_file(path).and_then(|file| index::read_index_file(&file));
        let mut known = host.map(|host| HostIndexPaths::from_index(&host, format)).unwrap_or_default();
        known.sparse = self.host.exists(&git.join("info/sparse-checkout"));
        let checked = index::check_index(index::read_index_file(file)?, format, &known)?;
        let may = |link: &Vec<u8>| self.check_gitlink_path(git, Path::new(OsStr::from_bytes(link))).is_some();
        let fits = checked.gitlinks.len() <= MAX_NEW_GITLINKS && checked.gitlinks.iter().all(may);
        fits.then_some(LandingContent::Bytes(checked.bytes))
    }

    /// Checks whether the index of `git` may name another repository at `path`.
    fn check_gitlink_path(&self, git: &Path, path: &Path) -> Option<()> {
        let tree = self.working_tree(git)?;
        let top = sys::root(&tree).ok()?;
        let dir = match sys::beneath(top.as_fd(), path, sys::LIST_FLAGS) {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return Some(()),
            Err(_) => return None,
        };
        let Some(stat) = sys::stat_name(dir.as_fd(), OsStr::new(".git")).ok()? else {
            let mut empty = true;
            let listed = sys::list(dir.as_fd(), |_, _| {
                empty = false;
                ControlFlow::Break(())
            });
            return (listed.is_ok() && empty).then_some(());
        };
        let text = sys::read_small_file(dir.as_fd(), Path::new(".git"), MAX_POINTER_BYTES)
            .filter(|_| sys::file_type(&stat) == FileType::RegularFile)?;
        let line = text.strip_prefix(b"gitdir: ")?;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let target = normalize(&tree.join(path), Path::new(OsStr::from_bytes(line)))?;
        let at = &self.layer.repository.at;
        let ours = [at.join("modules"), at.join(git).join("modules")];
        let inside = |path: &Path| ours.iter().any(|ours| path.starts_with(ours) && path != ours);
        (inside(&target) && sys::canonical_path(&target).ok()? == target).then_some(())
    }

    /// Returns the working tree of the git directory `git`.
    fn working_tree(&self, git: &Path) -> Option<PathBuf> {
        let (at, root) = (&self.layer.repository.at, &self.layer.repository.root);
        let whole = at.join(git);
        if whole == root.join(".git") {
            return Some(root.clone());
        }
        let names = parts(git);
        if let [.., b"worktrees", _] = names.as_slice() {
            let text = self.host.read_small(&git.join("gitdir"), MAX_POINTER_BYTES)?;
            let line = text.strip_suffix(b"\n").unwrap_or(&text);
            return normalize(&whole, Path::new(OsStr::from_bytes(line)))?.parent().map(Path::to_owned);
        }
        let config = self.host.read_small(&git.join("config"), MAX_CONFIG_FILE_BYTES)?;
        normalize(&whole, Path::new(&config_rewrite::worktree(&config)?))
    }
}
