//! Finds the files that the text of a command names: a git configuration value that is run, or a hook.
//!
//! The reading is generous. A word is resolved against every directory that the command may be in, and a word after a
//! variable also without it (`"$top/lint.sh"`). A directory counts only where its files are run: commands work in
//! directories.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, statat};

use super::git_settings::{dotdot_directories, expand_path};
use super::shell_words::{ShellVariables, UnexpandedWord, WordPiece, assignment, split_pieces, split_words};
use super::wildcard;
use super::word_roles::{DirectoryUse, RoleReader, ScriptPlace, WordRole, is_inline};
use crate::sandbox::root_scan::is_third_party;

/// The nesting depth to which scripts are read (`sh -c 'sh -c …'`).
const MAX_SCRIPT_NESTING: usize = 3;
/// The maximum number of paths of one text.
const MAX_PATHS_PER_TEXT: usize = 5_000;
/// The files that interpreters run in a directory that is their script.
const ENTRY_FILES: &[&str] = &["index.js", "__main__.py"];
/// Suffixes that Node.js appends to the name of a module, in its order.
const MODULE_SUFFIXES: &[&str] = &[".js", ".json", ".node", ".cjs", ".mjs", ".ts"];
/// Directories that builds create.
const BUILD_DIRECTORIES: &[&[u8]] = &[b"build", b"dist", b"out", b"obj", b"coverage"];
/// Variables whose value is a script or a library that a program loads first.
const SCRIPT_VARIABLES: &[&[u8]] = &[b"BASH_ENV", b"LD_PRELOAD", b"PYTHONSTARTUP"];

/// The text of a command, and the directories that its words are resolved against.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandText<'a> {
    pub(super) text: &'a [u8],
    pub(super) bases: &'a [PathBuf],
    pub(super) home: Option<&'a Path>,
}

/// The paths that a text names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NamedPaths {
    /// Files that exist, or could be created.
    pub(super) files: Vec<PathBuf>,
    /// Directories whose files are run.
    pub(super) directories: Vec<PathBuf>,
    /// Directories that a path leaves again by `..`.
    pub(super) dotdot_dirs: Vec<PathBuf>,
}

impl CommandText<'_> {
    /// Returns the files that a command in the configuration names.
    pub(super) fn paths_of_command(self) -> NamedPaths {
        self.named_paths(TextUse::Command)
    }

    /// Returns the files that a hook names.
    pub(super) fn paths_of_hook(self) -> NamedPaths {
        self.named_paths(TextUse::Hook)
    }

    /// Returns the files that a value of unknown use names: only words that look like paths count.
    pub(super) fn paths_of_setting(self) -> NamedPaths {
        self.named_paths(TextUse::Setting)
    }

    fn named_paths(self, text_use: TextUse) -> NamedPaths {
        let mut reader =
            CommandReader { text_use, home: self.home, roots: self.bases, found: NamedPaths::default() };
        if text_use == TextUse::Command || text_use == TextUse::Setting && looks_like_path(self.text) {
            // A path with spaces needs no quotes.
            let whole = PathWord {
                text: self.text,
                follows_substitution: false,
                may_be_missing: reader.may_be_missing(self.text),
            };
            reader.record_path_word(whole, self.bases);
        }
        reader.read_text(self.text, self.bases, &ShellVariables::default(), MAX_SCRIPT_NESTING);
        reader.found
    }
}

/// The source of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextUse {
    Command,
    Hook,
    Setting,
}

/// A word, or a part of one, that may be a path.
#[derive(Clone, Copy)]
struct PathWord<'a> {
    text: &'a [u8],
    /// True if it follows a substitution, as in `$(git rev-parse --show-toplevel)/x`.
    follows_substitution: bool,
    /// True if it counts even if the file is missing.
    may_be_missing: bool,
}

/// Collects the paths of one text.
struct CommandReader<'a> {
    text_use: TextUse,
    home: Option<&'a Path>,
    /// Directories that are too large to be protected as a whole.
    roots: &'a [PathBuf],
    found: NamedPaths,
}

impl CommandReader<'_> {
    fn read_text(&mut self, text: &[u8], bases: &[PathBuf], outer: &ShellVariables, nested: usize) {
        let words = split_words(text);
        let mut variables = outer.clone();
        variables.record_assignments(&words);
        let bases = self.possible_directories(&words, bases);
        let (mut roles, mut before, mut above) = (RoleReader::new(), [].as_slice(), None);
        for word in &words {
            let role = roles.next_role(word, before);
            if nested > 0 && is_inline(before) {
                self.read_text(&word.text, &bases, &variables, nested - 1);
            }
            if let Some((b"PATH", directories)) = assignment(&word.text) {
                self.search_path(directories, &words, &bases);
            }
            let modules = match role.script_place {
                ScriptPlace::Argument => Vec::new(),
                ScriptPlace::Script | ScriptPlace::Later => module_files(before, &word.text),
            };
            for text in &modules {
                self.record_path_word(
                    PathWord { text, follows_substitution: false, may_be_missing: true },
                    &bases,
                );
            }
            if modules.is_empty() && self.found.files.len() < MAX_PATHS_PER_TEXT {
                for text in variables.expansions(&word.text) {
                    self.record_word(&UnexpandedWord { text, ..word.clone() }, role, &bases);
                }
                self.record_joined_path(&word.text, &mut above, &bases);
            }
            before = &word.text;
        }
    }

    /// Returns the directories that the command may be in: it may `cd`.
    fn possible_directories(&self, words: &[UnexpandedWord], bases: &[PathBuf]) -> Vec<PathBuf> {
        let mut all = bases.to_vec();
        for pair in words.windows(2).filter(|pair| pair[0].text == b"cd") {
            all.extend(bases.iter().filter_map(|base| {
                let path = expand_path(without_variable(&pair[1].text), base, self.home)?;
                path.starts_with(base).then_some(path)
            }));
        }
        all
    }

    /// Records a word, its parts, and the directory that it names.
    fn record_word(&mut self, word: &UnexpandedWord, role: WordRole, bases: &[PathBuf]) {
        let (text, follows_substitution) = (word.text.as_slice(), word.follows_substitution);
        let has = |mark| text.contains(&mark);
        let may_be_missing = match (self.text_use, role.script_place) {
            (TextUse::Setting, _) => looks_like_script(text),
            (_, ScriptPlace::Script) => true,
            (_, ScriptPlace::Argument) if role.is_program => has(b'/'),
            (TextUse::Command, _) if is_built(text) => false,
            (_, ScriptPlace::Later) => has(b'/') || has(b'.'),
            (_, ScriptPlace::Argument) => has(b'/'),
        };
        if self.text_use != TextUse::Setting || looks_like_path(text) {
            self.record_path_word(PathWord { text, follows_substitution, may_be_missing }, bases);
        }
        let is_file = |base: &PathBuf| {
            let path = expand_path(without_variable(text), base, self.home);
            path.as_deref().and_then(kind).is_some_and(|kind| kind != FileType::Directory)
        };
        if !bases.iter().any(is_file) {
            split_pieces(text).into_iter().for_each(|piece| self.record_piece(piece, bases));
        }
        if self.text_use == TextUse::Setting {
            return;
        }
        let script = match role.script_offset {
            Some(from) => &text[from..],
            None => text,
        };
        let is_script = role.script_offset.is_some() || role.script_place == ScriptPlace::Script;
        if role.script_offset.is_some() {
            self.record_path_word(
                PathWord { text: script, follows_substitution, may_be_missing: true },
                bases,
            );
        }
        if is_script && role.finds_modules {
            self.record_module_files(script, bases);
        }
        if let Some((_, value)) = assignment(text).filter(|(name, _)| SCRIPT_VARIABLES.contains(name)) {
            self.record_path_word(
                PathWord { text: value, follows_substitution: false, may_be_missing: true },
                bases,
            );
        }
        // `grep python src/*.rs` runs nothing in `src`.
        let runs = matches!(role.directory, DirectoryUse::EntryFile | DirectoryUse::AllFiles);
        if runs || role.is_program || role.script_offset.is_some() {
            self.record_pattern_matches(script, bases);
        }
        self.record_directory(script, role.directory, bases);
    }

    /// Records a part of a word, and the value of an option in it.
    fn record_piece(&mut self, piece: WordPiece<'_>, bases: &[PathBuf]) {
        let WordPiece { text, follows_substitution, is_value } = piece;
        let part = match text.iter().position(|&byte| byte != b'-') {
            Some(0) => text.strip_prefix(b"@").unwrap_or(text),
            // `${x:-./value}`
            Some(dashes) if b"./~$".contains(&text[dashes]) => &text[dashes..],
            // `-Fvalue`
            Some(1) => &text[2..],
            Some(_) | None => return,
        };
        let is_loose = self.text_use != TextUse::Setting && (is_value || text.starts_with(b"-"));
        if is_loose || looks_like_path(part) {
            let may_be_missing = self.may_be_missing(part) || follows_substitution && part.contains(&b'/');
            self.record_path_word(PathWord { text: part, follows_substitution, may_be_missing }, bases);
        }
    }

    /// Returns true if a part counts even if the file is missing. An extra file of a hook costs nothing.
    fn may_be_missing(&self, part: &[u8]) -> bool {
        match self.text_use {
            TextUse::Hook => part.contains(&b'/'),
            TextUse::Command | TextUse::Setting => looks_like_script(part),
        }
    }

    /// Records a file that is named in parts: `join("scripts", "lint.sh")`. `above` is the directory before the word.
    fn record_joined_path(&mut self, word: &[u8], above: &mut Option<PathBuf>, bases: &[PathBuf]) {
        if self.text_use == TextUse::Setting {
            return;
        }
        for WordPiece { text, .. } in split_pieces(word) {
            let part = Path::new(OsStr::from_bytes(text));
            let below = above.take().map(|above| above.join(part)).filter(|_| part.is_relative());
            match below.as_deref().and_then(kind) {
                Some(FileType::Directory) => *above = below,
                Some(_) => self.found.files.extend(below.filter(|path| !self.found.files.contains(path))),
                None => {
                    let mut here = bases.iter().filter_map(|base| expand_path(text, base, self.home));
                    *above = here.find(|path| kind(path) == Some(FileType::Directory));
                }
            }
        }
        if !word.ends_with(b",") {
            *above = None;
        }
    }

    /// Records the directories of a `PATH=`, and the programs that would be run in them.
    fn search_path(&mut self, directories: &[u8], words: &[UnexpandedWord], bases: &[PathBuf]) {
        let mut roles = RoleReader::new();
        let programs: Vec<&[u8]> = words
            .iter()
            .filter(|word| roles.next_role(word, b"").is_program)
            .map(|word| &word.text[..])
            .collect();
        for entry in directories.split(|&byte| byte == b':') {
            let is_variable = entry.starts_with(b"$") && !entry.contains(&b'/');
            let entry = if entry.is_empty() { b"." } else { without_variable(entry) };
            if is_variable || entry.is_empty() || !is_plain(entry) {
                continue;
            }
            for path in
                bases.iter().filter_map(|base| expand_path(entry, base, self.home)).collect::<Vec<_>>()
            {
                // Package managers write there in ordinary work.
                if path.iter().any(is_third_party) {
                    continue;
                }
                let names = programs.iter().filter(|name| !name.contains(&b'/') && is_plain(name));
                self.found.files.extend(names.map(|name| path.join(OsStr::from_bytes(name))));
                match kind(&path) {
                    Some(FileType::Directory) => self.protect_directory(path),
                    None if self.is_protectable(&path) => self.found.files.push(path),
                    Some(_) | None => {}
                }
            }
        }
    }

    /// Records the files that Node.js finds for the module `script`.
    fn record_module_files(&mut self, script: &[u8], bases: &[PathBuf]) {
        let has_suffix = MODULE_SUFFIXES.iter().any(|suffix| script.ends_with(suffix.as_bytes()));
        for suffix in MODULE_SUFFIXES.iter().filter(|_| !has_suffix && !script.ends_with(b"/")) {
            let text = [script, suffix.as_bytes()].concat();
            let may_be_missing = *suffix == ".js" && script.contains(&b'/');
            self.record_path_word(
                PathWord { text: &text, follows_substitution: false, may_be_missing },
                bases,
            );
        }
    }

    /// Records the matches of a pattern that is run: its directory, since a new file may match, or the files at the
    /// top of the tree.
    fn record_pattern_matches(&mut self, text: &[u8], bases: &[PathBuf]) {
        let is_word = |byte: &u8| !byte.is_ascii_whitespace() && !b";|&<>'\"`".contains(byte);
        let word = Some(without_variable(text)).filter(|word| word.iter().all(is_word));
        let Some(pattern) = word.and_then(wildcard::to_pattern) else { return };
        let (above, name, rest) = wildcard::split_pattern(&pattern);
        let above = if above.is_empty() { b"." } else { above };
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        for directory in
            bases.iter().filter_map(|base| expand_path(above, base, self.home)).collect::<Vec<_>>()
        {
            let is_protectable = self.is_protectable(&directory);
            let is_any = name.iter().all(|&byte| byte == b'*');
            // Each file is reported; a protected directory needs no list.
            if is_protectable && self.text_use == TextUse::Hook || !is_protectable && !is_any {
                let found = wildcard::matching_entries(&directory, name).into_iter();
                let found =
                    found.map(|path| if rest.is_empty() { path } else { path.join(OsStr::from_bytes(rest)) });
                self.found
                    .files
                    .extend(found.filter(|path| kind(path).is_some_and(|kind| kind != FileType::Directory)));
            }
            self.protect_directory(directory);
        }
    }

    /// Records a directory whose files are run.
    fn record_directory(&mut self, text: &[u8], role: DirectoryUse, bases: &[PathBuf]) {
        let word = without_variable(text);
        if role == DirectoryUse::NotRun || word.is_empty() || !is_plain(word) {
            return;
        }
        for path in bases.iter().filter_map(|base| expand_path(word, base, self.home)).collect::<Vec<_>>() {
            let is_there = match kind(&path) {
                Some(FileType::Directory) => true,
                None => false,
                Some(_) => continue,
            };
            let entries = ENTRY_FILES.iter().map(|name| path.join(name));
            match role {
                DirectoryUse::AllFiles => self.protect_directory(path),
                DirectoryUse::EntryFile if is_there && self.is_protectable(&path) => {
                    self.protect_directory(path);
                }
                DirectoryUse::EntryFile if is_there => self.found.files.extend(entries),
                DirectoryUse::MaybeEntryFile if is_there => {
                    self.found.files.extend(entries.filter(|path| kind(path).is_some()));
                }
                DirectoryUse::NotRun | DirectoryUse::EntryFile | DirectoryUse::MaybeEntryFile => {}
            }
        }
    }

    /// Returns true if a directory may be protected: not the tree, nor one of its ancestors.
    fn is_protectable(&self, directory: &Path) -> bool {
        !self.roots.iter().any(|root| root.starts_with(directory))
    }

    fn protect_directory(&mut self, directory: PathBuf) {
        if self.is_protectable(&directory) && !self.found.directories.contains(&directory) {
            self.found.directories.push(directory);
        }
    }

    /// Records a word if it is a file, or could be created as one.
    fn record_path_word(
        &mut self,
        PathWord { text, follows_substitution, may_be_missing }: PathWord<'_>,
        bases: &[PathBuf],
    ) {
        let word = without_variable(text);
        if word.is_empty() || word.starts_with(b"-") || word.contains(&0) || word.ends_with(b"/") {
            return;
        }
        let may_be_missing = may_be_missing && is_plain(word);
        for base in bases {
            self.record_path(word, base, may_be_missing);
            if let Some(below) = word.strip_prefix(b"/").filter(|_| !is_there(word)) {
                self.record_path(below, base, may_be_missing && follows_substitution);
            }
        }
    }

    fn record_path(&mut self, word: &[u8], base: &Path, may_be_missing: bool) {
        let Some(path) = expand_path(word, base, self.home) else { return };
        let dotdot_dirs = dotdot_directories(word, base, self.home);
        // A link before a `..` leads elsewhere.
        let real = crate::fs::canonicalize(&base.join(OsStr::from_bytes(word)))
            .ok()
            .filter(|_| !dotdot_dirs.is_empty());
        for path in std::iter::once(path).chain(real) {
            let is_taken = match kind(&path) {
                Some(FileType::Directory) => false,
                Some(_) => true,
                None => may_be_missing,
            };
            // Another spelling of the path may leave another directory.
            self.found.dotdot_dirs.extend(dotdot_dirs.iter().filter(|_| is_taken).cloned());
            if is_taken && !self.found.files.contains(&path) {
                self.found.files.push(path);
            }
        }
    }
}

/// Returns true if a path without a suffix lies where builds and package managers write: `rm -rf target/debug` runs
/// nothing there.
fn is_built(word: &[u8]) -> bool {
    let is_output =
        |name: &[u8]| BUILD_DIRECTORIES.contains(&name) || is_third_party(OsStr::from_bytes(name));
    !has_suffix(word) && word.split(|&byte| byte == b'/').any(is_output)
}

/// Returns true if the file name of a path has a suffix: `x.sh`, but not `.bin`.
fn has_suffix(word: &[u8]) -> bool {
    let name = word.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.iter().rposition(|&byte| byte == b'.').is_some_and(|dot| dot > 0)
}

/// Returns true if a word looks like a path.
fn looks_like_path(word: &[u8]) -> bool {
    word.contains(&b'/') || word.contains(&b'.')
}

/// Returns true if a word looks like the path of a script: a missing directory may be one that a build creates.
fn looks_like_script(word: &[u8]) -> bool {
    let is_marked = [&b"./"[..], b"../", b"~/"].iter().any(|prefix| word.starts_with(prefix));
    let is_absolute = word.starts_with(b"/") && word[1..].contains(&b'/');
    (is_marked || is_absolute || word.contains(&b'/') && has_suffix(word)) && !is_built(word)
}

/// Returns the files that Python imports for `-m module` or `-mmodule`; `word` is the last word of it.
fn module_files(before: &[u8], word: &[u8]) -> Vec<Vec<u8>> {
    let module = match word.strip_prefix(b"-m") {
        Some(module) if !module.is_empty() => module,
        _ if before == b"-m" => word,
        _ => return Vec::new(),
    };
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'.';
    if !module.iter().all(is_name) || module.first().is_none_or(u8::is_ascii_digit) {
        return Vec::new();
    }
    let path: Vec<u8> = module.iter().map(|&byte| if byte == b'.' { b'/' } else { byte }).collect();
    let package = path.split(|&byte| byte == b'/').next().unwrap_or_default();
    let suffixes: [(&[u8], &[u8]); 4] =
        [(&path, b".py"), (&path, b"/__main__.py"), (&path, b"/__init__.py"), (package, b"/__init__.py")];
    suffixes.iter().map(|(stem, suffix)| [*stem, *suffix].concat()).collect()
}

fn is_there(path: &[u8]) -> bool {
    kind(Path::new(OsStr::from_bytes(path))).is_some()
}

/// Returns the kind of the file at `path`, if it exists.
fn kind(path: &Path) -> Option<FileType> {
    let stat = statat(CWD, path, AtFlags::empty()).or_else(|_| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW));
    stat.ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
}

fn is_plain(word: &[u8]) -> bool {
    !word.windows(3).any(|part| part == b"://")
        && !word.iter().any(|byte| b"*?$%{}()[]=,;|&<>'\"`".contains(byte) || byte.is_ascii_whitespace())
}

/// Returns a word such as `$top/lint.sh`, `${top}/lint.sh` or `$(git rev-parse --show-toplevel)/lint.sh` as a path of
/// the tree.
fn without_variable(word: &[u8]) -> &[u8] {
    let Some(rest) = word.strip_prefix(b"$") else { return word };
    let last = |byte: u8| rest.iter().rposition(|&other| other == byte);
    let end = match rest.first() {
        Some(b'(') => last(b')'),
        Some(b'{') => last(b'}'),
        _ => None,
    };
    let rest = &rest[end.unwrap_or(0)..];
    let below = rest.iter().position(|&byte| byte == b'/').map_or(rest.len(), |slash| slash + 1);
    &rest[below..]
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
mod tests {
    use super::*;

    /// A tree of scripts and of files that commands work with.
    const FILES: &[&str] = &[
        "w.sh", "x.sh", "cfg", "main", "Makefile", "h.mk", "h.js", "tools/t.sh", "tools/watch/index.js",
        "tools/lint.js", "conv/__main__.py", "hooks.d/a.sh", "src/main.rs", "src/lib.py", "bin/h",
        "scripts/lint.sh", "sub/x",
    ];

    /// Returns the files and directories (marked by a `/`) that a text names below the tree.
    fn named(text: &str, of: TextUse) -> Vec<String> {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::canonicalize(place.path()).unwrap();
        for file in FILES {
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            std::fs::write(root.join(file), "").unwrap();
        }
        let bases = [root.clone()];
        let found = CommandText { text: text.as_bytes(), bases: &bases, home: None }.named_paths(of);
        let below = |path: &PathBuf| path.strip_prefix(&root).map(|path| path.display().to_string()).ok();
        let directories = found.directories.iter().filter_map(below).map(|path| path + "/");
        found.files.iter().filter_map(below).chain(directories).collect()
    }

    fn check(rows: &[(&str, &[&str])], of: TextUse) {
        let wrong: Vec<_> = rows
            .iter()
            .map(|(text, expected)| (text, named(text, of), expected))
            .filter(|row| row.1 != *row.2)
            .collect();
        assert!(wrong.is_empty(), "text, found, expected: {wrong:#?}");
    }

    #[test]
    fn existing_and_possible_files_are_named() {
        check(
            &[
                ("sh watch", &["watch"]),
                ("sh -c './w.sh $0'", &["w.sh"]),
                ("sh -c \"sh -ec 'w.sh'\"", &["w.sh"]),
                ("$PWD/x.sh", &["x.sh"]),
                ("\"$(git rev-parse --show-toplevel)/x.sh\"", &["x.sh"]),
                ("$(git rev-parse --show-toplevel)/none.sh", &["none.sh"]),
                ("${top}/x.sh", &["x.sh"]),
                ("cd tools && ./t.sh", &["t.sh", "tools/t.sh"]),
                ("python3 -W ignore conv.py", &["ignore", "conv.py"]),
                ("python3 -m gone", &["gone.py", "gone/__main__.py", "gone/__init__.py"]),
                (
                    "env python3 -mtools.conv",
                    &[
                        "tools/conv.py", "tools/conv/__main__.py", "tools/conv/__init__.py",
                        "tools/__init__.py",
                    ],
                ),
            ],
            TextUse::Command,
        );
    }

    #[test]
    fn options_and_assignments_name_files() {
        check(
            &[
                ("node --require=./h.js -e 0", &["h.js", "0"]),
                ("node -r./h.js x.js", &["h.js", "x.js"]),
                ("ssh -F./none", &["none"]),
                ("ssh -Fnone", &["none"]),
                ("ssh -Fcfg", &["cfg"]),
                ("ssh -F none", &["none"]),
                ("make -f./h.mk", &["h.mk"]),
                ("make -fnone", &["none"]),
                ("awk -f./none.awk", &["none.awk"]),
                ("BASH_ENV=./w.sh bash -c false", &["w.sh"]),
                ("BASH_ENV=none bash -c false", &["none"]),
                ("X=./w.sh; sh $X", &["w.sh"]),
                ("S=scripts; sh $S/none", &["none", "scripts/none"]),
                ("${X:-./w.sh}", &["w.sh"]),
                ("eval \"x=./w.sh; \\$x\"", &["w.sh"]),
                ("perl -e 'do \"./w.sh\"'", &["w.sh"]),
                ("perl -e 'system qw(./w.sh)'", &["w.sh"]),
                ("python3 -c 'join(\"scripts\", \"lint.sh\")'", &["scripts/lint.sh"]),
            ],
            TextUse::Command,
        );
    }

    #[test]
    fn directories_are_named_where_their_files_are_run() {
        check(
            &[
                ("node ./tools/watch", &["tools/watch.js", "tools/watch/"]),
                ("node tools/lint", &["tools/lint", "tools/lint.js"]),
                ("python3 conv", &["conv/"]),
                ("python3 -W ignore conv", &["ignore", "conv/__main__.py"]),
                ("node .", &["index.js", "__main__.py"]),
                ("run-parts hooks.d", &["hooks.d/"]),
                ("run-parts none.d", &["none.d/"]),
                ("for f in ./hooks.d/*.sh; do . $f; done", &["hooks.d/"]),
                ("sh tools/$x.sh", &["tools/"]),
                ("./w.s?", &["w.sh"]),
                ("PATH=./bin:$PATH h", &["bin/h", "bin/"]),
                ("PATH=$PWD/none:$PATH h", &["none/h", "none"]),
                ("PATH=node_modules/.bin:$PATH lint", &[]),
            ],
            TextUse::Command,
        );
    }

    #[test]
    fn ordinary_commands_name_no_directory_and_nothing_that_a_build_makes() {
        check(
            &[
                ("git commit -m wip", &[]),
                ("git-lfs clean -- %f", &[]),
                ("less -R", &[]),
                ("true", &[]),
                ("make test", &[]),
                ("git add . src", &[]),
                ("git log --oneline -- src tools", &[]),
                ("grep -rn python src", &[]),
                ("grep -n node src/*.rs", &[]),
                ("wc -l src/*.rs", &[]),
                ("python3 -m black src/*.py", &["black.py", "black/__main__.py", "black/__init__.py"]),
                ("python3 -mblack src", &["black.py", "black/__main__.py", "black/__init__.py"]),
                ("sh -c 'cd src && make'", &[]),
                ("awk '/build/ {print $1}'", &[]),
                ("rg --glob=!target/debug TODO src", &[]),
                ("PYTHONPATH=src pytest", &[]),
                ("ENV=production make", &[]),
                ("rm -rf build target/debug ./dist", &[]),
                ("find . -name x -exec {} ;", &[]),
                ("log --pretty=format:%h%d", &[]),
            ],
            TextUse::Command,
        );
    }

    #[test]
    fn a_value_of_unknown_use_names_what_looks_like_a_path() {
        check(
            &[
                ("./none.sh", &["none.sh"]),
                ("x.sh", &["x.sh"]),
                ("--rules=./x.sh", &["x.sh"]),
                ("scripts/lint.sh -v", &["scripts/lint.sh"]),
                ("main", &[]),
                ("src", &[]),
                ("refs/heads/main", &[]),
                ("https://example.org/x.sh", &[]),
                ("true", &[]),
            ],
            TextUse::Setting,
        );
    }

    #[test]
    fn scripts_that_a_hook_calls_are_named() {
        check(
            &[
                ("for f in hooks.d/*.sh; do sh $f; done", &["hooks.d/a.sh", "hooks.d/"]),
                ("run-parts hooks.d", &["hooks.d/"]),
                ("node tools/watch", &["tools/watch.js", "tools/watch/"]),
                ("S=scripts\nsh $S/lint.sh", &["lint.sh", "scripts/lint.sh"]),
                ("subprocess.run([\"sh\",\"scripts/lint.sh\"])", &["scripts/lint.sh"]),
                ("os.path.join(\"scripts\",\"lint.sh\")", &["scripts/lint.sh"]),
                ("#!./tools/i\n", &["tools/i"]),
                ("# don't\nsh scripts/lint.sh\n", &["scripts/lint.sh"]),
            ],
            TextUse::Hook,
        );
    }

    #[test]
    fn a_directory_that_a_path_leaves_is_named() {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::canonicalize(place.path()).unwrap();
        std::fs::create_dir_all(root.join("evil/deep")).unwrap();
        std::fs::write(root.join("w.sh"), "").unwrap();
        std::fs::write(root.join("evil/w.sh"), "").unwrap();
        std::os::unix::fs::symlink("evil/deep", root.join("sub")).unwrap();
        let bases = [root.clone()];
        let found = CommandText { text: b"sh sub/../w.sh", bases: &bases, home: None }.paths_of_command();
        assert_eq!(found.files, [root.join("w.sh"), root.join("evil/w.sh")]);
        assert!(found.dotdot_dirs.contains(&root.join("sub")), "{:?}", found.dotdot_dirs);
    }
}
