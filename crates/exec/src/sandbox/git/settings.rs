//! Git's configuration, read as git reads it: every scope, and every file that it includes under any condition.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix_config::file::{Metadata, init::Options};

use super::sys;

/// The largest configuration file that is read.
const MAX_CONFIG: u64 = 1 << 20;
/// How many files are read, with those that they include.
const MAX_FILES: usize = 100;

/// One value, with the names in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitValue {
    pub(crate) section: String,
    pub(crate) key: String,
    pub(crate) value: Vec<u8>,
}

/// The values of all scopes together.
#[derive(Debug, Default)]
pub(crate) struct GitSettings {
    pub(crate) values: Vec<GitValue>,
    /// Every file that was read or would be, whether or not it is there.
    pub(crate) files: Vec<PathBuf>,
    /// A file could not be understood, or there were too many.
    pub(crate) unread: bool,
}

impl GitSettings {
    /// The values that git would see in the repository whose git directory is `git`, for a user with this `home`. A linked
    /// working tree has an `own` git directory too.
    pub(crate) fn of(git: &Path, own: Option<&Path>, home: Option<&Path>) -> Self {
        let mut settings = Self::default();
        let mut waiting: VecDeque<PathBuf> = scopes(git, home).into();
        waiting.extend(own.map(|own| own.join("config.worktree")));
        // ends: each file is read once, and only so many are
        while let Some(file) = waiting.pop_front() {
            if settings.files.contains(&file) {
                continue;
            }
            if settings.files.len() == MAX_FILES {
                settings.unread = true;
                break;
            }
            settings.files.push(file.clone());
            let Some(text) = read(&file, &mut settings.unread) else { continue };
            let Some(values) = parse(&text) else {
                settings.unread = true;
                continue;
            };
            let includes = values.iter().filter(|value| value.is_include());
            waiting.extend(includes.filter_map(|value| expand(&value.value, file.parent()?, home)));
            settings.values.extend(values);
        }
        settings
    }
}

impl GitValue {
    fn is_include(&self) -> bool {
        matches!(self.section.as_str(), "include" | "includeif") && self.key == "path"
    }
}

/// The files that git reads first, from the widest scope to the narrowest.
fn scopes(git: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let system = named("GIT_CONFIG_SYSTEM").unwrap_or_else(|| "/etc/gitconfig".into());
    let mut files = vec![system];
    let own = named("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
    files.extend(own.map(|own| own.join("git/config")));
    files.extend(home.map(|home| home.join(".gitconfig")));
    files.extend(named("GIT_CONFIG_GLOBAL"));
    files.extend([git.join("config"), git.join("config.worktree")]);
    files
}

/// The text of a file; `None` if there is none.
fn read(file: &Path, unread: &mut bool) -> Option<Vec<u8>> {
    let directory = sys::root(&crate::fs::real(file.parent()?).ok()?).ok()?;
    let name = Path::new(file.file_name()?);
    let text = sys::small(directory.as_fd(), name, MAX_CONFIG).or_else(|| {
        // The file itself may be a link.
        let real = crate::fs::real(file).ok()?;
        let directory = sys::root(real.parent()?).ok()?;
        sys::small(directory.as_fd(), Path::new(real.file_name()?), MAX_CONFIG)
    });
    // A directory or a device is no configuration; a file that is too large may be one.
    *unread |= text.is_none() && rustix::fs::stat(file).is_ok_and(|stat| is_file(stat.st_mode));
    text
}

fn is_file(mode: u32) -> bool {
    rustix::fs::FileType::from_raw_mode(mode) == rustix::fs::FileType::RegularFile
}

fn parse(text: &[u8]) -> Option<Vec<GitValue>> {
    let file = gix_config::File::from_bytes_no_includes(text, Metadata::api(), Options::default()).ok()?;
    let mut values = Vec::new();
    for section in file.sections() {
        let name = String::from_utf8_lossy(section.header().name()).to_ascii_lowercase();
        // `[url "ext::PROGRAM"]` names a program in its header.
        if let Some(url) = section.header().subsection_name().filter(|_| name == "url") {
            let value = GitValue { section: name.clone(), key: String::new(), value: url.to_vec() };
            values.push(value);
        }
        for key in section.body().value_names() {
            values.extend(section.body().values(&key).into_iter().map(|value| GitValue {
                section: name.clone(),
                key: key.to_ascii_lowercase(),
                value: value.to_vec(),
            }));
        }
    }
    Some(values)
}

/// The path that a value names: `~/` is the home, `~name/` that of another user, and a relative one counts from `base`.
pub(super) fn expand(value: &[u8], base: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if value.is_empty() || value.contains(&0) {
        return None;
    }
    let of_user = value.strip_prefix(b"~").and_then(|rest| {
        let slash = rest.iter().position(|&byte| byte == b'/')?;
        let (user, below) = (&rest[..slash], OsStr::from_bytes(&rest[slash + 1..]));
        Some(if user.is_empty() { home?.to_owned() } else { home_of(user)? }.join(below))
    });
    let is_at_home = value.starts_with(b"~/");
    let path = match of_user {
        Some(path) => path,
        None if is_at_home => return None,
        None => base.join(OsStr::from_bytes(value)),
    };
    Some(policy::normal(&path))
}

/// The home of a user of this machine.
fn home_of(user: &[u8]) -> Option<PathBuf> {
    let directory = sys::root(Path::new("/etc")).ok()?;
    let users = sys::small(directory.as_fd(), Path::new("passwd"), MAX_CONFIG)?;
    let line =
        users.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(user)?.strip_prefix(b":"))?;
    let home = line.split(|&byte| byte == b':').nth(4)?;
    Some(PathBuf::from(OsStr::from_bytes(home))).filter(|home| home.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn values_of_all_scopes_and_of_all_that_they_include() {
        let place = tempfile::tempdir().unwrap();
        let (git, home) = (place.path().join("w/.git"), place.path().join("home"));
        std::fs::create_dir_all(&git).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        let write = |path: &Path, text: &str| std::fs::write(path, text).unwrap();
        write(&git.join("config"), "[core] hooksPath = a\n[include]\n\tpath = ../one\\\n.conf ; x\n");
        write(&place.path().join("w/one.conf"), "[includeIf \"onbranch:x\"]\npath = \"two words\"\n");
        write(&place.path().join("w/two words"), "[Filter \"x\"]\nClean = \"./a b\" c\n[alias]\nx\n");
        write(&home.join(".gitconfig"), "[include]\npath = ~/missing\n[core]\nfsmonitor = true\n");
        let settings = GitSettings::of(&git, None, Some(&home));
        let has = |section: &str, key: &str, value: &str| {
            let wanted = GitValue { section: section.into(), key: key.into(), value: value.into() };
            assert!(settings.values.contains(&wanted), "{wanted:?} in {:?}", settings.values);
        };
        has("core", "hookspath", "a");
        has("core", "fsmonitor", "true");
        has("filter", "clean", "./a b c");
        for file in [home.join("missing"), place.path().join("w/two words")] {
            assert!(settings.files.contains(&file), "{}", file.display());
        }
        assert!(!settings.unread);
        write(&git.join("config"), "[core\nx");
        assert!(GitSettings::of(&git, None, Some(&home)).unread);
    }
}
