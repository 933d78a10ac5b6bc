//! Finds the files that the text of configuration names: `scripts/x.sh` in `.mcp.json`, `.envrc` or `package.json`.
//!
//! No format is parsed. The text is split into words, and a word counts if a file of that name is in the workspace. A
//! word after a variable (`${workspaceFolder}/x.sh`) is resolved against the root.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::{normalize_path, runs_script_file};
use rustix::fs::{FileType, stat};

/// The maximum number of words of one text.
const MAX_WORDS: usize = 2_000;
/// The maximum length of a word that may be a path.
const MAX_WORD_BYTES: usize = 300;
/// The maximum number of directories in a text that its words are also resolved against (`cd tools`, `"cwd":
/// "tools"`).
const MAX_BASES: usize = 8;
/// Bytes that end a word, besides whitespace.
const SEPARATORS: &[u8] = b"\"'`,;=()[]{}<>|&\\:";
/// File extensions of scripts.
const SCRIPT_EXTENSIONS: &[&str] = &[
    "sh", "bash", "zsh", "fish", "ksh", "py", "js", "mjs", "cjs", "ts", "mts", "cts", "rb", "pl", "php",
    "lua", "ps1", "mk", "just", "exs", "jl", "R",
];
/// Words whose next word is a script, besides the names of interpreters.
const SOURCE_WORDS: &[&[u8]] = &[b".", b"source", b"source_env", b"watch_file", b"include", b"-include"];
/// Keys of `package.json` that hold commands.
const COMMAND_KEYS: &[&str] =
    &["scripts", "husky", "lint-staged", "simple-git-hooks", "gitHooks", "pre-commit"];

/// The files that a text may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedFileScope {
    /// Every file that is named.
    All,
    /// Scripts and programs: the text names other files too.
    Scripts,
}

/// One text of configuration, and the directories that its words are resolved against.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConfigurationText<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a [u8],
    pub(super) root: &'a Path,
    pub(super) home: Option<&'a Path>,
    pub(super) scope: NamedFileScope,
}

impl ConfigurationText<'_> {
    /// Returns the files that the text names, below the root.
    pub(super) fn find_named_files(self) -> BTreeSet<PathBuf> {
        let text = self.commands();
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || SEPARATORS.contains(byte);
        let words = text.split(is_end).filter(|word| !word.is_empty() && word.len() <= MAX_WORD_BYTES);
        let (mut found, mut before) = (BTreeSet::new(), [].as_slice());
        let mut bases: Vec<PathBuf> = vec![self.root.to_owned()];
        bases.extend(self.file.parent().map(Path::to_owned));
        for word in words.take(MAX_WORDS) {
            let runs = SOURCE_WORDS.contains(&before) || str::from_utf8(before).is_ok_and(runs_script_file);
            before = word;
            let path = without_variable(word.strip_prefix(b"@").unwrap_or(word));
            let is_path = path.contains(&b'/') || path.contains(&b'.');
            if !(runs || is_path || self.scope == NamedFileScope::All) || path.is_empty() || path.contains(&0)
            {
                continue;
            }
            let places = self.candidate_paths(path, &bases);
            // A command may create it.
            let mut missing = places.first().filter(|_| path.contains(&b'/') && is_script(path)).cloned();
            for place in places {
                let Ok(stat) = stat(&place) else { continue };
                missing = None;
                let is_run = || runs || is_script(path) || stat.st_mode & 0o111 != 0;
                match FileType::from_raw_mode(stat.st_mode) {
                    FileType::RegularFile if self.scope == NamedFileScope::All || is_run() => {
                        found.insert(place);
                    }
                    FileType::Directory if bases.len() < MAX_BASES && !bases.contains(&place) => {
                        bases.push(place);
                    }
                    _ => {}
                }
            }
            found.extend(missing);
        }
        found
    }

    /// Returns the paths below the root that a word may refer to.
    fn candidate_paths(self, word: &[u8], bases: &[PathBuf]) -> Vec<PathBuf> {
        let at_home = word.strip_prefix(b"~/");
        let below = at_home.unwrap_or(word);
        let below = Path::new(OsStr::from_bytes(below.strip_prefix(b"/").unwrap_or(below)));
        let as_written = (word.starts_with(b"/") && at_home.is_none()).then(|| Path::new("/").join(below));
        let places = match at_home {
            Some(_) => self.home.iter().map(|home| home.join(below)).collect::<Vec<_>>(),
            // `/x.sh` may have followed a variable.
            None => as_written.into_iter().chain(bases.iter().map(|base| base.join(below))).collect(),
        };
        let places = places.iter().map(|place| normalize_path(place));
        places.filter(|place| place.starts_with(self.root) && place != self.root).collect()
    }

    /// Returns the part of the text that contains commands.
    fn commands(self) -> Vec<u8> {
        let name = self.file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let lines = || self.text.split(|&byte| byte == b'\n');
        match name {
            "Makefile" | "makefile" | "GNUmakefile" => {
                let is_command = |line: &&[u8]| {
                    [b"\t".as_slice(), b"include", b"-include"].iter().any(|begin| line.starts_with(begin))
                };
                lines().filter(is_command).collect::<Vec<_>>().join(&b'\n')
            }
            "package.json" => package_commands(self.text),
            _ if name.ends_with(".md") || name.ends_with(".mdc") || !name.contains('.') && is_prose(name) => {
                imports_and_commands(self.text)
            }
            _ => self.text.to_vec(),
        }
    }
}

/// Returns true if a file without an extension holds prose for a model.
fn is_prose(name: &str) -> bool {
    name.contains("rules") || name.contains("hints") || name.contains("guidelines")
}

/// Returns the imports (`@docs/x.md`) and commands (`` !`x.sh` ``) in prose.
fn imports_and_commands(text: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    for word in text.split(u8::is_ascii_whitespace).filter(|word| word.starts_with(b"@")) {
        found.extend_from_slice(word);
        found.push(b'\n');
    }
    let mut rest = text;
    // ends: each turn leaves less of the text
    while let Some(at) = rest.windows(2).position(|pair| pair == b"!`") {
        rest = &rest[at + 2..];
        let end = rest.iter().position(|&byte| byte == b'`').unwrap_or(rest.len());
        found.extend_from_slice(&rest[..end]);
        found.push(b'\n');
        rest = &rest[end..];
    }
    found
}

/// Returns the strings in the parts of a `package.json` that hold commands.
fn package_commands(text: &[u8]) -> Vec<u8> {
    let (mut depth, mut key, mut is_command) = (0_usize, Vec::new(), false);
    let (mut found, mut string, mut escaped) = (Vec::new(), None::<Vec<u8>>, false);
    for &byte in text {
        match (&mut string, byte) {
            (Some(string), _) if escaped => {
                string.push(byte);
                escaped = false;
            }
            (Some(_), b'\\') => escaped = true,
            (Some(_), b'"') => {
                let done = string.take().unwrap_or_default();
                if is_command && depth > 1 {
                    found.extend_from_slice(&done);
                    found.push(b'\n');
                }
                if depth == 1 {
                    key = done;
                }
            }
            (Some(string), _) => string.push(byte),
            (None, b'"') => string = Some(Vec::new()),
            (None, b'{' | b'[') => {
                is_command |= depth == 1 && COMMAND_KEYS.iter().any(|known| key == known.as_bytes());
                depth += 1;
            }
            (None, b'}' | b']') => {
                depth = depth.saturating_sub(1);
                is_command &= depth > 1;
            }
            (None, _) => {}
        }
    }
    found
}

fn is_script(path: &[u8]) -> bool {
    let ending = Path::new(OsStr::from_bytes(path)).extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| SCRIPT_EXTENSIONS.contains(&ending))
}

/// Returns a word such as `$top/lint.sh` as a path of the tree.
fn without_variable(word: &[u8]) -> &[u8] {
    match word.iter().position(|&byte| byte == b'/') {
        Some(slash) if word.starts_with(b"$") || word.starts_with(b"%") => &word[slash + 1..],
        _ => word,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
mod tests {
    use super::*;

    #[test]
    fn files_named_in_configuration_are_found() {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::canonicalize(place.path()).unwrap();
        for directory in ["scripts", "src", ".vscode"] {
            std::fs::create_dir(root.join(directory)).unwrap();
        }
        for file in ["scripts/x.sh", "src/main.c", "docs.md", "start"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let (all, scripts) = (NamedFileScope::All, NamedFileScope::Scripts);
        for (file, scope, text, expected) in [
            (".mcp.json", all, r#"{"a":{"command":"sh","args":["scripts/x.sh"]}}"#, vec!["scripts/x.sh"]),
            (
                ".vscode/tasks.json",
                all,
                r#"{"command":"${workspaceFolder}/scripts/x.sh"}"#,
                vec!["scripts/x.sh"],
            ),
            (".claude/x", all, r#""\"$CLAUDE_PROJECT_DIR\"/scripts/x.sh""#, vec!["scripts/x.sh"]),
            (".vscode/x.json", all, r#"{"cwd": "scripts", "command": "./x.sh"}"#, vec!["scripts/x.sh"]),
            (".envrc", all, "source ./start\n", vec!["start"]),
            (".envrc", all, "sh tools/new.sh other.sh\n", vec!["tools/new.sh"]),
            ("lefthook.yml", all, "run: sh scripts/x.sh {staged_files}\n", vec!["scripts/x.sh"]),
            ("mise.toml", all, "enter = \"sh scripts/x.sh\"\n", vec!["scripts/x.sh"]),
            ("CLAUDE.md", all, "see scripts/x.sh and @docs.md\n", vec!["docs.md"]),
            (".claude/a.md", all, "run !`scripts/x.sh 1` in src/main.c\n", vec!["scripts/x.sh"]),
            ("Makefile", scripts, "a: src/main.c scripts/x.sh\n\tcc src/main.c\n", vec![]),
            ("Makefile", scripts, "a:\n\t@./scripts/x.sh src/main.c\n", vec!["scripts/x.sh"]),
            ("package.json", scripts, r#"{"main":"scripts/x.sh","scripts":{"t":"sh start"}}"#, vec!["start"]),
            ("tox.ini", scripts, "commands = scripts/x.sh ../outside.sh\n", vec!["scripts/x.sh"]),
        ] {
            let file = root.join(file);
            let text =
                ConfigurationText { file: &file, text: text.as_bytes(), root: &root, home: None, scope };
            let found: Vec<_> = text
                .find_named_files()
                .iter()
                .map(|path| path.strip_prefix(&root).unwrap().to_owned())
                .collect();
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{}", file.display());
        }
    }
}
