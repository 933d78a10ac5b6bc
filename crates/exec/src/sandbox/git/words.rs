//! Files that the text of a command names: a value of git's configuration that is run, or a hook.
//!
//! The text is read generously. A word counts from every directory that the command may be in, and a word behind a variable
//! counts without it (`"$top/lint.sh"`).

use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, statat};

use super::settings::expand;

/// Programs whose first argument is a script.
const INTERPRETERS: &[&str] = &[
    ".", "source", "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "python", "perl", "ruby", "node",
    "deno", "bun", "php", "lua", "tclsh", "awk", "Rscript", "pwsh", "java",
];
/// How deep a script in a script is read (`sh -c 'sh -c …'`).
const MAX_NESTED: usize = 3;

/// The text of a command, and the places that its words count from.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandText<'a> {
    pub(super) text: &'a [u8],
    pub(super) bases: &'a [PathBuf],
    pub(super) home: Option<&'a Path>,
}

impl CommandText<'_> {
    /// The files that a value of the configuration names.
    pub(super) fn of_value(self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        // A path with spaces in it needs no quotes.
        self.candidate(self.text, Next::Argument, &mut found);
        self.collect(MAX_NESTED, &mut found, whole);
        found
    }

    /// The files that a hook names. Parts of an assignment or of a nested script are words of their own.
    pub(super) fn of_hook(self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.collect(MAX_NESTED, &mut found, pieces);
        found
    }

    fn collect(self, nested: usize, found: &mut Vec<PathBuf>, parts: Parts) {
        let words = words(self.text);
        let mut bases = self.bases.to_vec();
        for pair in words.windows(2).filter(|pair| pair[0] == b"cd") {
            let inside = self.bases.iter().filter_map(|base| {
                let path = expand(without_variable(&pair[1]), base, self.home)?;
                path.starts_with(base).then_some(path)
            });
            bases.extend(inside.collect::<Vec<_>>());
        }
        let inner = CommandText { text: self.text, bases: &bases, home: self.home };
        let (mut next, mut before) = (Next::Argument, [].as_slice());
        for word in &words {
            let is_option = word.starts_with(b"-");
            if nested > 0 && is_inline(before) {
                CommandText { text: word, ..inner }.collect(nested - 1, found, parts);
            }
            let modules = if next == Next::Argument { Vec::new() } else { module_files(before, word) };
            for file in &modules {
                inner.candidate(file, Next::Script, found);
            }
            for part in parts(word).into_iter().filter(|_| modules.is_empty()) {
                inner.candidate(part, next, found);
            }
            if !is_option && !word.starts_with(b"#") {
                next = next.after(word);
            }
            before = word;
        }
    }

    /// Takes in the word `part` if it is a file, or would be one.
    fn candidate(self, part: &[u8], next: Next, found: &mut Vec<PathBuf>) {
        let word = without_variable(part);
        if word.is_empty() || word.starts_with(b"-") || word.starts_with(b"#") || word.contains(&0) {
            return;
        }
        let may_be_made = is_plain(word)
            && match next {
                Next::Script => true,
                Next::Argument => part.contains(&b'/'),
                Next::Later => part.contains(&b'/') || part.contains(&b'.'),
            };
        let mut add = |path: PathBuf| {
            let take = match kind(&path) {
                Some(FileType::Directory) => false,
                Some(_) => true,
                None => may_be_made,
            };
            if take && !found.contains(&path) {
                found.push(path);
            }
        };
        for base in self.bases {
            expand(word, base, self.home).into_iter().for_each(&mut add);
            // Behind `$(git rev-parse --show-toplevel)`.
            let below = word.strip_prefix(b"/").filter(|_| !is_there(word));
            below.and_then(|below| expand(below, base, self.home)).into_iter().for_each(&mut add);
        }
    }
}

/// Divides a word into the parts that may be paths.
type Parts = fn(&[u8]) -> Vec<&[u8]>;

fn whole(word: &[u8]) -> Vec<&[u8]> {
    vec![word]
}

fn pieces(word: &[u8]) -> Vec<&[u8]> {
    word.split(|byte| b"=,:'\"\n\t ".contains(byte)).collect()
}

/// The part that the next word of a command plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Nothing special: a missing file has to be written with a `/`.
    Argument,
    /// The script of an interpreter.
    Script,
    /// Another word behind an interpreter: its script may come after the argument of an option.
    Later,
}

impl Next {
    fn after(self, word: &[u8]) -> Self {
        let name = word.rsplit(|&byte| byte == b'/').next().unwrap_or(word);
        let name = std::str::from_utf8(name).unwrap_or_default();
        // `python3.12` is `python`.
        let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        if INTERPRETERS.contains(&name) || INTERPRETERS.contains(&plain) {
            return Self::Script;
        }
        match self {
            Self::Argument => Self::Argument,
            Self::Script | Self::Later => Self::Later,
        }
    }
}

/// The files that Python imports for `-m module` or `-mmodule`, `word` being the last word of it.
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

/// Whether the word behind this one is a script itself: `-c`, `-ec`, `eval`.
fn is_inline(word: &[u8]) -> bool {
    word == b"eval" || word.starts_with(b"-") && !word.starts_with(b"--") && word.ends_with(b"c")
}

fn is_there(path: &[u8]) -> bool {
    use std::os::unix::ffi::OsStrExt;
    kind(Path::new(std::ffi::OsStr::from_bytes(path))).is_some()
}

/// The kind of what is at `path`, if there is something.
fn kind(path: &Path) -> Option<FileType> {
    let stat = statat(CWD, path, AtFlags::empty()).or_else(|_| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW));
    stat.ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
}

fn is_plain(word: &[u8]) -> bool {
    !word.windows(3).any(|part| part == b"://")
        && !word.iter().any(|byte| b"*?$%{}()".contains(byte) || byte.is_ascii_whitespace())
}

/// The words of a command as a shell splits them; an expansion stays as it is written.
fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let (mut words, mut word, mut quote, mut escaped) = (Vec::new(), Vec::new(), None, false);
    for &byte in text {
        match (byte, quote) {
            _ if escaped => {
                word.push(byte);
                escaped = false;
            }
            (b'\\', None | Some(b'"')) => escaped = true,
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            (byte, None) if byte.is_ascii_whitespace() || b";|&<>()`".contains(&byte) => {
                words.push(std::mem::take(&mut word));
            }
            (byte, _) => word.push(byte),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// A word such as `$top/lint.sh`, `${top}/lint.sh` or `$(git rev-parse --show-toplevel)/lint.sh` as a path of the tree.
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

    #[test]
    fn words_that_are_files_or_would_be() {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::real(place.path()).unwrap();
        std::fs::create_dir(root.join("tools")).unwrap();
        for file in ["w.sh", "x.sh", "tools/t.sh"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let bases = [root.clone()];
        for (text, expected) in [
            ("sh watch", vec!["watch"]),
            ("sh -c './w.sh $0'", vec!["w.sh"]),
            ("sh -c \"sh -ec 'w.sh'\"", vec!["w.sh"]),
            ("$PWD/x.sh", vec!["x.sh"]),
            ("\"$(git rev-parse --show-toplevel)/x.sh\"", vec!["x.sh"]),
            ("$(git rev-parse --show-toplevel)/x.sh", vec!["x.sh"]),
            ("${top}/x.sh", vec!["x.sh"]),
            ("cd tools && ./t.sh", vec!["t.sh", "tools/t.sh"]),
            ("python3 -W ignore conv.py", vec!["ignore", "conv.py"]),
            ("python3 -m conv", vec!["conv.py", "conv/__main__.py", "conv/__init__.py"]),
            (
                "env python3 -mtools.conv",
                vec![
                    "tools/conv.py",
                    "tools/conv/__main__.py",
                    "tools/conv/__init__.py",
                    "tools/__init__.py",
                ],
            ),
            ("git commit -m wip", vec![]),
            ("git-lfs clean -- %f", vec![]),
            ("less -R", vec![]),
            ("true", vec![]),
        ] {
            let found = CommandText { text: text.as_bytes(), bases: &bases, home: None }.of_value();
            let found: Vec<_> = found.iter().filter_map(|path| path.strip_prefix(&root).ok()).collect();
            assert_eq!(found, expected.iter().map(Path::new).collect::<Vec<_>>(), "{text}");
        }
    }
}
