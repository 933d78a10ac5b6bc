//! Finds the real locations of a root's configuration, and the files that it names.
//!
//! A symlink in `.vscode` or `.claude`, or one named `AGENTS.md`, leads to a file that takes effect as if it were
//! there. Commands cannot write such files, and file tools ask before writing them: both use this module.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use policy::{
    Confinement, HOME_CONFIGURATION, HOME_LISTED, HostFile, HostFileRole, NESTED_CONFIGURATION,
    host_file_by_name, normalize_path,
};
use rustix::fs::{CWD, FileType, OFlags, readlinkat};

use super::cell_plan::path_from_bytes;
use super::file_stamp::FileStamp;
use super::git::sys;
use super::named_files::{ConfigurationText, NamedFileScope};
use super::root_scan::is_third_party;

/// The maximum number of entries checked in one piece of configuration.
const MAX_ENTRIES: usize = 2_000;
/// The depth to which a piece of configuration is searched.
const MAX_DEPTH: usize = 6;
/// The maximum number of consecutive links, as in the kernel.
const MAX_LINKS: usize = 40;
/// The maximum number of link targets; each may become a mount.
const MAX_LINKED_PATHS: usize = 1_000;
/// The maximum number of files that configuration names and whose changes are reported.
const MAX_NAMED_FILES: usize = 400;
/// The maximum number of texts that are read, and the maximum size of one.
const MAX_TEXTS: usize = 200;
const MAX_TEXT_BYTES: u64 = 128 * 1024;
/// The maximum number of directories whose changes are noticed before the next command.
const MAX_STAMPED_PATHS: usize = 500;
/// Code files that name other files in their commands.
const COMMAND_FILES: &[&str] = &[
    "package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pre-commit-config.yaml", "Makefile", "makefile",
    "GNUmakefile", "justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml", "taskfile.yml",
    "taskfile.yaml", "Rakefile", "tox.ini", "noxfile.py", "bunfig.toml", "deno.json", "deno.jsonc",
    "devbox.json", ".tmuxinator.yml", ".cargo/config.toml", ".cargo/config",
];
/// Start-up files of shells in a home directory, which name other files that they run.
const SHELL_STARTUP_FILES: &[&str] = &[
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
    ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile",
    ".xsession", ".xsessionrc", ".xinitrc", ".tmux.conf", ".direnvrc", ".vimrc",
];

/// The real locations of the configuration of one root, and the files that it names.
#[derive(Debug, Clone, Default)]
pub(crate) struct RootConfiguration {
    /// Symlinks on the way to configuration and their targets, with the user action that makes them take effect.
    /// Paths that are protected anyway are left out.
    pub(crate) linked_paths: BTreeMap<PathBuf, String>,
    /// Files that are executed because configuration or code names them, with the user action.
    pub(crate) code: BTreeMap<PathBuf, String>,
    /// True if the limits cut the search short.
    pub(crate) truncated: bool,
    /// Links and directories, with their state when they were read.
    stamped_paths: Vec<(PathBuf, Option<FileStamp>)>,
    /// Texts that were read or are missing, with their state.
    stamped_texts: Vec<(PathBuf, Option<FileStamp>)>,
}

impl RootConfiguration {
    /// Searches the configuration of `root`, one of the writable roots.
    pub(crate) fn scan(root: &Path, confinement: &Confinement) -> Self {
        let mut walk =
            ConfigurationWalk { root, confinement, found: Self::default(), searched: BTreeSet::new() };
        walk.search_project();
        for home in confinement.user_homes().filter(|home| home.starts_with(root)) {
            walk.search_home(home);
        }
        let mut found = walk.found;
        let RootConfiguration { linked_paths, code, .. } = &mut found;
        code.retain(|path, _| !linked_paths.keys().any(|place| path.starts_with(place)));
        found
    }

    /// Returns true if the links and directories are unchanged.
    pub(crate) fn is_current(&self) -> bool {
        self.stamped_paths.iter().all(|(path, before)| FileStamp::read(path) == *before)
    }

    /// Returns true if the texts are unchanged.
    pub(crate) fn has_current_texts(&self) -> bool {
        self.stamped_texts.iter().all(|(path, before)| FileStamp::read(path) == *before)
    }

    /// Returns true if all locations of `other` are in this too.
    pub(crate) fn guards_as_much_as(&self, other: &Self) -> bool {
        other.linked_paths.keys().all(|place| self.linked_paths.contains_key(place))
    }

    /// Returns the configuration that `path` belongs to through a link.
    pub(crate) fn configuration_at(&self, path: &Path) -> Option<HostFile> {
        path.ancestors().find_map(|above| self.linked_paths.get(above)).map(HostFile::configuration)
    }

    /// Returns the role of `path` if configuration names it.
    pub(crate) fn code_at(&self, path: &Path) -> Option<HostFile> {
        self.code.get(path).map(HostFile::code)
    }

    /// Returns the files that configuration names, as code.
    pub(crate) fn code_files(&self) -> impl Iterator<Item = (PathBuf, HostFile)> {
        self.code.iter().map(|(path, when)| (path.clone(), HostFile::code(when)))
    }
}

/// A piece of configuration to search.
struct ConfigurationPiece<'a> {
    /// The path of the piece: everything below it is protected.
    top: &'a Path,
    when: &'a str,
    /// True if its texts are read.
    reads_texts: bool,
}

struct ConfigurationWalk<'a> {
    root: &'a Path,
    confinement: &'a Confinement,
    found: RootConfiguration,
    /// Directories that were searched.
    searched: BTreeSet<PathBuf>,
}

impl ConfigurationWalk<'_> {
    /// Searches the configuration at the top of the root.
    fn search_project(&mut self) {
        let names = entry_names(self.root);
        let top = |name: &str| name.split('/').next().is_some_and(|first| names.contains(OsStr::new(first)));
        for name in names.iter().map(Path::new) {
            if let Some(HostFile { role: HostFileRole::Configuration, when }) = host_file_by_name(name) {
                self.search_piece(&ConfigurationPiece {
                    top: &self.root.join(name),
                    when: &when,
                    reads_texts: true,
                });
            }
        }
        for (name, when) in NESTED_CONFIGURATION.iter().filter(|(name, _)| top(name)) {
            self.search_piece(&ConfigurationPiece { top: &self.root.join(name), when, reads_texts: true });
        }
        for name in COMMAND_FILES {
            let (path, file) = (self.root.join(name), host_file_by_name(Path::new(name)));
            self.found.stamped_texts.push((path.clone(), FileStamp::read(&path)));
            if let Some(file) = file.filter(|_| top(name)) {
                self.record_named_files(&path, &file.when, NamedFileScope::Scripts);
            }
        }
    }

    /// Searches the configuration of a home directory in the root.
    fn search_home(&mut self, home: &Path) {
        let named = HOME_CONFIGURATION.iter().map(|name| home.join(name));
        let listed = HOME_LISTED.iter().flat_map(|below| {
            let at = home.join(below);
            entry_names(&at).into_iter().map(move |name| at.join(name)).collect::<Vec<_>>()
        });
        for path in named.chain(listed).collect::<BTreeSet<_>>() {
            let is_there = sys::is_there(&path);
            if let Some(HostFile { role: HostFileRole::Configuration, when }) =
                self.confinement.host_file(&path).filter(|_| is_there)
            {
                let truncated = self.found.truncated;
                self.search_piece(&ConfigurationPiece { top: &path, when: &when, reads_texts: false });
                // Version managers and editor extensions are large, and have no links to the outside.
                self.found.truncated = truncated;
            }
        }
        for name in SHELL_STARTUP_FILES {
            let when = "log in or open a shell";
            self.record_named_files(&home.join(name), when, NamedFileScope::Scripts);
        }
    }

    /// Follows one piece of configuration and the links in it.
    fn search_piece(&mut self, piece: &ConfigurationPiece<'_>) {
        let end = self.follow_links(piece.top, piece);
        let mut next = VecDeque::from_iter(self.is_below_root(&end).then_some((end, 0)));
        let mut left = MAX_ENTRIES;
        // ends: each directory is listed once, and only so many entries are read
        while let Some((path, depth)) = next.pop_front() {
            match sys::kind_of(&path) {
                Some(FileType::RegularFile) if piece.reads_texts => {
                    self.record_named_files(&path, piece.when, NamedFileScope::All);
                }
                Some(FileType::Directory) if self.searched.insert(path.clone()) => {
                    if depth == MAX_DEPTH {
                        self.found.truncated = true;
                        continue;
                    }
                    for entry in self.entries(&path, piece, &mut left) {
                        next.push_back((entry, depth + 1));
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns true if a location is searched: a link to the root itself adds nothing.
    fn is_below_root(&self, place: &Path) -> bool {
        place != self.root && place.starts_with(self.root)
    }

    /// Returns the files, directories and link targets in a directory of configuration.
    fn entries(
        &mut self,
        directory: &Path,
        piece: &ConfigurationPiece<'_>,
        left: &mut usize,
    ) -> Vec<PathBuf> {
        self.record_stamp(directory);
        let Ok(open) = sys::root(directory) else { return Vec::new() };
        let (mut entries, mut links) = (Vec::new(), Vec::new());
        let _seen = sys::list(open.as_fd(), |name, kind| {
            if *left == 0 {
                self.found.truncated = true;
                return ControlFlow::Break(());
            }
            *left -= 1;
            match kind {
                FileType::Symlink => links.push(directory.join(name)),
                FileType::Directory if !is_third_party(name) => entries.push(directory.join(name)),
                FileType::RegularFile if piece.reads_texts => entries.push(directory.join(name)),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        for link in &links {
            let end = self.follow_links(link, piece);
            entries.extend(Some(end).filter(|end| self.is_below_root(end)));
        }
        entries
    }

    /// Records the links that lead from `path` to its real location, and returns that location.
    fn follow_links(&mut self, path: &Path, piece: &ConfigurationPiece<'_>) -> PathBuf {
        let (links, end) = resolve_links(self.root, path);
        if links.is_empty() {
            return end;
        }
        let is_held = |place: &Path| place != piece.top && place.starts_with(piece.top);
        for place in links.iter().chain([&end]) {
            let writable = self.confinement.writable.iter();
            // A location that contains a root would make the whole root read-only.
            let holds_root = writable.clone().any(|root| root.starts_with(place));
            let is_in_root = writable.clone().any(|root| place.starts_with(root));
            if is_in_root && !holds_root && !is_held(place) {
                if self.found.linked_paths.len() < MAX_LINKED_PATHS {
                    self.found.linked_paths.entry(place.clone()).or_insert_with(|| piece.when.to_owned());
                } else {
                    self.found.truncated = true;
                }
            }
        }
        links.iter().for_each(|link| self.record_stamp(link));
        end
    }

    fn record_stamp(&mut self, path: &Path) {
        if self.found.stamped_paths.len() < MAX_STAMPED_PATHS {
            self.found.stamped_paths.push((path.to_owned(), FileStamp::read(path)));
        }
    }

    /// Records the files that the text at `path` names.
    fn record_named_files(&mut self, path: &Path, when: &str, scope: NamedFileScope) {
        if self.found.stamped_texts.len() >= MAX_TEXTS || !should_read(path) {
            return;
        }
        let Some(text) = read_text(path) else { return };
        if !self.found.stamped_texts.iter().any(|(known, _)| known == path) {
            self.found.stamped_texts.push((path.to_owned(), FileStamp::read(path)));
        }
        let home = self.confinement.home.as_deref();
        let named =
            ConfigurationText { file: path, text: &text, root: self.root, home, scope }.find_named_files();
        for file in named.into_iter().filter(|file| file != path) {
            let file = crate::fs::canonicalize_existing(&file);
            let is_not_configuration = || match self.confinement.host_file(&file) {
                Some(HostFile { role: HostFileRole::Configuration, .. }) => false,
                Some(HostFile { role: HostFileRole::Code, .. }) | None => true,
            };
            if self.found.code.len() < MAX_NAMED_FILES
                && file.starts_with(self.root)
                && is_not_configuration()
            {
                self.found.code.entry(file).or_insert_with(|| when.to_owned());
            }
        }
    }
}

/// Returns true if a configuration file is read: those of an IDE list every open file.
fn should_read(path: &Path) -> bool {
    let in_idea = path.iter().any(|name| name == ".idea");
    !in_idea || path.iter().any(|name| name == "runConfigurations" || name == "watcherTasks.xml")
}

/// Reads a small text file.
fn read_text(path: &Path) -> Option<Vec<u8>> {
    let path = crate::fs::canonicalize(path).ok()?;
    let directory = sys::root(path.parent()?).ok()?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(sys::beneath(directory.as_fd(), Path::new(path.file_name()?), flags).ok()?);
    let meta = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= MAX_TEXT_BYTES)?;
    let mut text = Vec::new();
    file.take(meta.len()).read_to_end(&mut text).ok()?;
    Some(text).filter(|text| !text.contains(&0))
}

/// Returns the names in a directory; none if it cannot be listed.
fn entry_names(directory: &Path) -> BTreeSet<std::ffi::OsString> {
    let mut names = BTreeSet::new();
    if let Ok(open) = sys::root(directory) {
        let _seen = sys::list(open.as_fd(), |name, _| {
            names.insert(name.to_owned());
            ControlFlow::Continue(())
        });
    }
    names
}

/// Returns the symlinks that lead from `path` to its real location, and that location, which need not exist. The
/// directory `root` is free of links.
fn resolve_links(root: &Path, path: &Path) -> (Vec<PathBuf>, PathBuf) {
    let (mut links, mut path) = (Vec::new(), path.to_owned());
    // ends: after so many links at the latest, as the kernel does
    while links.len() < MAX_LINKS {
        let mut ways: Vec<&Path> = path.ancestors().take_while(|way| *way != root).collect();
        ways.reverse();
        let first = ways.into_iter().find_map(|way| {
            let to = readlinkat(CWD, way, Vec::new()).ok()?;
            Some((way.to_owned(), normalize_path(&way.parent()?.join(path_from_bytes(to.into_bytes())))))
        });
        let Some((way, to)) = first else { break };
        let Ok(rest) = path.strip_prefix(&way) else { break };
        path = if rest.as_os_str().is_empty() { to } else { to.join(rest) };
        links.push(way);
    }
    (links, path)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct ConfigurationLayout {
        _place: tempfile::TempDir,
        root: PathBuf,
    }

    impl ConfigurationLayout {
        fn new(files: &[(&str, &str)], links: &[(&str, &str)]) -> Self {
            let place = tempfile::tempdir().unwrap();
            let root = crate::fs::canonicalize(place.path()).unwrap();
            let above = |name: &str| std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            for (name, text) in files {
                above(name);
                std::fs::write(root.join(name), text).unwrap();
            }
            for (name, to) in links {
                above(name);
                symlink(to, root.join(name)).unwrap();
            }
            Self { _place: place, root }
        }

        fn found(&self, home: bool) -> RootConfiguration {
            let confinement = Confinement {
                writable: vec![self.root.clone()],
                home: home.then(|| self.root.clone()),
                ..Confinement::default()
            };
            RootConfiguration::scan(&self.root, &confinement)
        }

        fn below(&self, found: &BTreeMap<PathBuf, String>) -> Vec<String> {
            found.keys().map(|path| path.strip_prefix(&self.root).unwrap().display().to_string()).collect()
        }
    }

    #[test]
    fn links_in_configuration_and_on_the_way_to_it_are_followed() {
        let layout = ConfigurationLayout::new(
            &[
                ("conf/vs.json", "{}"),
                ("prompts/a.md", ""),
                ("docs/agents.md", ""),
                ("gh/prompts/x", ""),
                ("two/b", ""),
            ],
            &[
                (".vscode/settings.json", "../conf/vs.json"),
                (".claude/commands", "../prompts"),
                ("prompts/deep", "../two"),
                (".cursor/rules/r.mdc", "../../conf/missing.mdc"),
                ("AGENTS.md", "agents"),
                ("agents", "docs/agents.md"),
                (".github", "gh"),
                (".zed/all", ".."),
                (".zed/own", "x"),
                (".zed/system", "/usr/bin"),
            ],
        );
        let found = layout.found(false);
        let places = layout.below(&found.linked_paths);
        for place in [
            ".github", "AGENTS.md", "agents", "conf/missing.mdc", "conf/vs.json", "docs/agents.md",
            "gh/prompts", "prompts", "two",
        ] {
            assert!(places.contains(&place.to_owned()), "{place} in {places:?}");
        }
        for place in ["", ".zed/x", "conf", "gh"] {
            assert!(!places.contains(&place.to_owned()), "{place} in {places:?}");
        }
        assert!(found.configuration_at(&layout.root.join("prompts/new.md")).is_some() && !found.truncated);
        assert!(found.is_current() && found.has_current_texts());
        std::fs::write(layout.root.join(".vscode/new"), "").unwrap();
        assert!(!found.is_current() && found.guards_as_much_as(&layout.found(false)));
        symlink("../other", layout.root.join(".vscode/link")).unwrap();
        assert!(!found.guards_as_much_as(&layout.found(false)));
    }

    #[test]
    fn links_and_sourced_files_of_a_home_are_found() {
        let layout = ConfigurationLayout::new(
            &[("dot/ssh", ""), ("dot/aliases.sh", ""), (".bashrc", ". ~/dot/aliases.sh\n"), ("proj/x", "")],
            &[(".ssh/config", "../dot/ssh"), (".local/bin/x", "../../proj/x"), (".cache/y", "../proj/x")],
        );
        let found = layout.found(true);
        assert_eq!(layout.below(&found.linked_paths), ["dot/ssh", "proj/x"]);
        assert_eq!(layout.below(&found.code), ["dot/aliases.sh"]);
        assert!(layout.below(&layout.found(false).linked_paths).is_empty());
    }

    #[test]
    fn files_that_configuration_names_are_code() {
        let layout = ConfigurationLayout::new(
            &[
                (".mcp.json", "{\"command\": \"sh\", \"args\": [\"a.sh\", \".mcp.json\"]}"),
                (".claude/settings.json", "{\"command\": \"./b.sh\"}"),
                ("package.json", "{\"scripts\": {\"test\": \"node c.js\"}}"),
                ("a.sh", ""),
                ("b.sh", ""),
                ("c.js", ""),
                ("d.sh", ""),
            ],
            &[],
        );
        let found = layout.found(false);
        assert_eq!(layout.below(&found.code), ["a.sh", "b.sh", "c.js"]);
        assert_eq!(found.code[&layout.root.join("b.sh")], "start Claude Code here");
        std::fs::write(layout.root.join("package.json"), "{\"scripts\": {\"test\": \"node d.js\"}}").unwrap();
        assert!(!found.has_current_texts() && found.is_current());
    }
}
