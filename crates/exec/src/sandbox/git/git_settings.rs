//! Git's configuration: all scopes, all included files whatever their condition, and `-c` settings in aliases.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix_config::file::{Metadata, init::Options};

use super::shell_words::split_words;
use super::sys;
use super::word_roles::is_inline;

/// The maximum size of a configuration file.
pub(super) const MAX_CONFIG_FILE_BYTES: u64 = 16 << 20;
/// The maximum number of files, including included ones.
const MAX_FILES: usize = 2_000;
/// The nesting depth to which commands are searched for settings (`sh -c 'git -c …'`).
const MAX_COMMAND_NESTING: usize = 3;

/// One value, with its names in lower case.
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
    /// All files that were read or would be, existing or not.
    pub(crate) files: Vec<PathBuf>,
    /// Directories that the path of a file leaves again by `..`.
    pub(super) dotdot_dirs: Vec<PathBuf>,
    /// The reason why this may be incomplete.
    pub(crate) incomplete_reason: Option<String>,
}

impl GitSettings {
    /// Reads the values that git sees in the repository with the git directory `git`, for a user with this `home`. A
    /// linked working tree also has an `own` git directory.
    pub(crate) fn load(git: &Path, own: Option<&Path>, home: Option<&Path>) -> Self {
        let mut settings = Self::default();
        let mut queued_files: VecDeque<PathBuf> = scopes(git, home).into();
        queued_files.extend(own.map(|own| own.join("config.worktree")));
        // ends: each file is read once, and only so many are
        while let Some(file) = queued_files.pop_front() {
            if settings.files.contains(&file) {
                continue;
            }
            if settings.files.len() == MAX_FILES {
                settings.incomplete_reason = Some(format!("it includes more than {MAX_FILES} files"));
                break;
            }
            settings.files.push(file.clone());
            let text = match read_config_file(&file) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(why) => {
                    settings.incomplete_reason = Some(format!("`{}` {why}", file.display()));
                    continue;
                }
            };
            let Some(mut values) = parse(&text) else {
                settings.incomplete_reason = Some(format!("`{}` has a syntax error", file.display()));
                continue;
            };
            values.extend(
                values
                    .iter()
                    .flat_map(|value| settings_in_command(&value.value, MAX_COMMAND_NESTING))
                    .collect::<Vec<_>>(),
            );
            settings.queue_includes(&file, &values, home, &mut queued_files);
            settings.values.extend(values);
        }
        settings
    }

    /// Adds the files that `file` includes with these `values` to `queued_files`.
    fn queue_includes(
        &mut self,
        file: &Path,
        values: &[GitValue],
        home: Option<&Path>,
        queued_files: &mut VecDeque<PathBuf>,
    ) {
        let Some(above) = file.parent() else { return };
        for value in values.iter().filter(|value| value.is_include()) {
            let dotdot_dirs = dotdot_directories(&value.value, above, home);
            // A link before a `..` leads elsewhere.
            let real = crate::fs::canonicalize(&above.join(OsStr::from_bytes(&value.value)));
            queued_files.extend(real.ok().filter(|_| !dotdot_dirs.is_empty()));
            queued_files.extend(expand_path(&value.value, above, home));
            self.dotdot_dirs.extend(dotdot_dirs);
        }
    }
}

impl GitValue {
    fn is_include(&self) -> bool {
        matches!(self.section.as_str(), "include" | "includeif") && self.key == "path"
    }
}

/// Returns the files that git reads first, from the widest scope to the narrowest.
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

/// Reads a file; `None` if it is missing. The error is a clause with the reason.
fn read_config_file(file: &Path) -> Result<Option<Vec<u8>>, String> {
    let text = read_small_config(file).or_else(|| {
        // The file itself may be a link.
        read_small_config(&crate::fs::canonicalize(file).ok()?)
    });
    // A directory or a device is not configuration; a file that is too large may be.
    match rustix::fs::stat(file) {
        Ok(stat) if text.is_none() && is_file(stat.st_mode) => {
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            Err(match size > MAX_CONFIG_FILE_BYTES {
                true => format!("has more than {} MiB", MAX_CONFIG_FILE_BYTES >> 20),
                false => "cannot be read".to_owned(),
            })
        }
        _ => Ok(text),
    }
}

fn read_small_config(file: &Path) -> Option<Vec<u8>> {
    let directory = sys::root(&crate::fs::canonicalize(file.parent()?).ok()?).ok()?;
    sys::read_small_file(directory.as_fd(), Path::new(file.file_name()?), MAX_CONFIG_FILE_BYTES)
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

/// Returns the settings within a command: `git -c core.hooksPath=x commit`.
fn settings_in_command(command: &[u8], nested: usize) -> Vec<GitValue> {
    let words = split_words(command.strip_prefix(b"!").unwrap_or(command));
    let mut found = Vec::new();
    for pair in words.windows(2) {
        let (before, text) = (&pair[0].text, &pair[1].text);
        if nested > 0 && is_inline(before) && text.contains(&b' ') {
            found.extend(settings_in_command(text, nested - 1));
        }
        let Some(equals) = text.iter().position(|&byte| byte == b'=') else { continue };
        let (name, value) = (String::from_utf8_lossy(&text[..equals]), text[equals + 1..].to_vec());
        let is_name = |letter: char| !letter.is_whitespace() && letter != '\'';
        let is_setting = (before == b"-c" || before == b"--config") && name.chars().all(is_name);
        if let (Some((section, _)), Some((_, key))) = (name.split_once('.'), name.rsplit_once('.'))
            && is_setting
        {
            let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
            found.push(GitValue { section, key, value });
        }
    }
    found
}

/// Returns the directories that the path in a value leaves again by `..`: `sub/../x` is another file once `sub` is a
/// link.
pub(super) fn dotdot_directories(value: &[u8], base: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let parts: Vec<&[u8]> = value.split(|&byte| byte == b'/').collect();
    let ups = (1..parts.len()).filter(|&at| parts[at] == b"..");
    let before = ups.filter_map(|up| expand_path(&parts[..up].join(&b'/'), base, home));
    before.filter(|path| !base.starts_with(path)).collect()
}

/// Expands the path in a value: `~/` is the home, `~name/` that of another user. A relative path is resolved against
/// `base`.
pub(super) fn expand_path(value: &[u8], base: &Path, home: Option<&Path>) -> Option<PathBuf> {
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
    Some(policy::normalize_path(&path))
}

/// Returns the home directory of a user of this machine.
fn home_of(user: &[u8]) -> Option<PathBuf> {
    let directory = sys::root(Path::new("/etc")).ok()?;
    let users = sys::read_small_file(directory.as_fd(), Path::new("passwd"), MAX_CONFIG_FILE_BYTES)?;
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
    fn values_of_all_scopes_and_includes_are_read() {
        let place = tempfile::tempdir().unwrap();
        let (git, home) = (place.path().join("w/.git"), place.path().join("home"));
        std::fs::create_dir_all(&git).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        let write = |path: &Path, text: &str| std::fs::write(path, text).unwrap();
        write(&git.join("config"), "[core] hooksPath = a\n[include]\n\tpath = ../one\\\n.conf ; x\n");
        write(&place.path().join("w/one.conf"), "[includeIf \"onbranch:x\"]\npath = \"two words\"\n");
        write(&place.path().join("w/two words"), "[Filter \"x\"]\nClean = \"./a b\" c\n[alias]\nx\n");
        write(&home.join(".gitconfig"), "[include]\npath = ~/missing\n[core]\nfsmonitor = true\n");
        let settings = GitSettings::load(&git, None, Some(&home));
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
        assert_eq!(settings.incomplete_reason, None);
        for (text, why) in [
            ("[core\nx".to_owned(), "has a syntax error"),
            (";".repeat(17 << 20), "has more than 16 MiB"),
            (
                (0..2_100).map(|at| format!("[include]\npath = {at}.conf\n")).collect(),
                "it includes more than 2000 files",
            ),
        ] {
            write(&git.join("config"), &text);
            let unread = GitSettings::load(&git, None, Some(&home)).incomplete_reason;
            assert!(unread.as_ref().is_some_and(|unread| unread.contains(why)), "{why}: {unread:?}");
        }
    }

    #[test]
    fn settings_in_a_command_are_read() {
        for (command, expected) in [
            ("-c core.hooksPath=hk commit", vec![("core", "hookspath", "hk")]),
            ("!git -c core.fsmonitor='./w x' status", vec![("core", "fsmonitor", "./w x")]),
            ("!sh -c 'git -c include.path=/a/b status'", vec![("include", "path", "/a/b")]),
            ("!sh -c 'x=y'", vec![]),
            ("commit -C a.b=c", vec![]),
        ] {
            let found = settings_in_command(command.as_bytes(), MAX_COMMAND_NESTING);
            let found: Vec<_> = found
                .iter()
                .map(|GitValue { section, key, value }| (&**section, &**key, str::from_utf8(value).unwrap()))
                .collect();
            assert_eq!(found, expected, "{command}");
        }
    }
}
