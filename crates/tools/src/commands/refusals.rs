//! What the sandbox refused to a command, in the answer.

use std::path::{Path, PathBuf};

use exec::session::Session;
use policy::{Confinement, Denial, DenyRead};

/// How many are spelled out.
const SHOWN: usize = 4;
/// How much of the end of an output is looked at for a guess.
const LOOKED_AT: usize = 16 << 10;

/// What was refused: told by the kernel, or guessed from what the command wrote.
pub(crate) struct Refusals {
    pub(crate) told: Vec<Denial>,
    pub(crate) guessed: Option<Denial>,
}

impl Refusals {
    /// Looks at a command that ended with `code`, or runs on.
    pub(crate) fn of(session: &Session, code: Option<i32>, output: &str) -> Self {
        let told = session.denials();
        let confinement = session.confinement();
        // Whoever succeeded was refused nothing that matters; and what is known needs no guess.
        let guesses = told.is_empty() && code.is_some_and(|code| code != 0);
        let bounds = confinement.zip(session.reach()).filter(|_| guesses);
        let guessed = bounds.and_then(|(confinement, reach)| {
            guess(output, &confinement, reach.deny(), &session.about().workdir)
        });
        Self { told, guessed }
    }

    /// A line for each.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> =
            self.told.iter().take(SHOWN).map(|denial| format!("Refused by the sandbox: {denial}")).collect();
        if self.told.len() > SHOWN {
            notes.push(format!("Refused by the sandbox: {} more", self.told.len() - SHOWN));
        }
        notes.extend(
            self.guessed
                .iter()
                .map(|denial| format!("Perhaps refused by the sandbox (a guess from the output): {denial}")),
        );
        notes
    }
}

/// The last resort: a line that says that something is read-only or not permitted, and names a path that the policy does
/// not let be changed, or read. Whoever writes such a line to fool us only gets told what the policy says.
fn guess(output: &str, confinement: &Confinement, deny: &DenyRead, workdir: &Path) -> Option<Denial> {
    let from = output.len().saturating_sub(LOOKED_AT);
    let end = &output[output.ceil_char_boundary(from)..];
    let closed =
        |path: &PathBuf| deny.denies(path).is_some() || !confinement.may_write(path) && !is_everybodys(path);
    let path = end.lines().rev().find_map(|line| {
        let (at, word) = WORDS.iter().find_map(|word| Some((line.find(word)?, word)))?;
        // What stands next to the words is meant; else the last path of the line: whoever speaks is named first.
        let next =
            beside(&line[..at], &line[at + word.len()..]).map(|path| policy::normal(&workdir.join(path)));
        next.filter(closed).or_else(|| paths(line, workdir).filter(closed).last())
    })?;
    Some(match deny.denies(&path).map(str::to_owned) {
        Some(rule) => Denial::DenyRead { path, rule },
        None => Denial::MayNotWrite { path, roots: confinement.writable.clone() },
    })
}

/// What systems and languages say about a refused change.
const WORDS: [&str; 6] =
    ["Read-only file system", "Permission denied", "Operation not permitted", "EROFS", "EACCES", "EPERM"];

/// The name right before the words, `name: ` or in quotes, or right behind them in quotes.
fn beside<'a>(before: &'a str, after: &'a str) -> Option<&'a str> {
    const QUOTES: [char; 4] = ['\'', '"', '‘', '’'];
    if let Some(name) = before.strip_suffix(": ") {
        let quoted = name.strip_suffix(QUOTES).and_then(|name| name.rsplit(QUOTES).next());
        return quoted.or_else(|| name.rsplit(' ').next()).filter(|name| !name.is_empty());
    }
    after.strip_prefix(": ")?.strip_prefix(QUOTES)?.split(QUOTES).next().filter(|name| !name.is_empty())
}

/// Where a private place, a device or a fact of the kernel is meant.
fn is_everybodys(path: &Path) -> bool {
    ["/tmp", "/var/tmp", "/dev", "/proc"].iter().any(|place| path.starts_with(place))
}

/// What looks like a path in a line; one that is not whole is one from where the command ran.
fn paths(line: &str, workdir: &Path) -> impl Iterator<Item = PathBuf> {
    let words = line.split(|letter: char| letter.is_whitespace() || "'\"`‘’“”(),;<>[]".contains(letter));
    // Whoever speaks is named first, as in `/bin/bash: line 1: …`.
    let words = words.enumerate().filter(|(at, word)| *at > 0 || !word.ends_with(':')).map(|(_, word)| word);
    let words = words.map(|word| word.trim_end_matches([':', '.']));
    let is_path = |word: &&str| word.len() > 1 && word.contains('/') && !word.contains("://");
    words.filter(is_path).map(|word| policy::normal(&workdir.join(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_guessed() {
        let confinement = Confinement {
            writable: vec!["/w".into()],
            read_only: vec!["/w/Cargo.lock".into()],
            ..Confinement::default()
        };
        for (output, path) in [
            ("touch: cannot touch '/etc/x': Read-only file system\n", Some("/etc/x")),
            ("bash: line 1: /etc/y: Read-only file system", Some("/etc/y")),
            ("/bin/bash: line 1: /etc/y: Read-only file system", Some("/etc/y")),
            ("mv: cannot move '/etc/a' to '/etc/b': Permission denied", Some("/etc/b")),
            ("error: EACCES: permission denied, open '/home/u/.npm/x'", Some("/home/u/.npm/x")),
            ("PermissionError: [Errno 13] Permission denied: '/usr/lib/z'", Some("/usr/lib/z")),
            ("touch: cannot touch '../out/x': Read-only file system", Some("/out/x")),
            ("touch: cannot touch 'Cargo.lock': Read-only file system", Some("/w/Cargo.lock")),
            ("/bin/bash: line 1: Cargo.lock: Read-only file system", Some("/w/Cargo.lock")),
            ("OSError: [Errno 30] Read-only file system: 'Cargo.lock'", Some("/w/Cargo.lock")),
            ("bash: line 1: other: Read-only file system", None),
            ("touch: cannot touch 'sub/x': Permission denied", None),
            ("cp: /w/a: Permission denied", None),
            ("cp: /tmp/a: Permission denied", None),
            ("/etc/x was written", None),
            ("Permission denied", None),
            ("", None),
        ] {
            let expected =
                path.map(|path| Denial::MayNotWrite { path: path.into(), roots: vec!["/w".into()] });
            let deny = DenyRead::new(std::iter::empty::<&str>(), None).unwrap();
            assert_eq!(guess(output, &confinement, &deny, Path::new("/w")), expected, "{output}");
        }
    }

    #[test]
    fn what_may_not_be_read_is_told_as_that() {
        let confinement = Confinement { writable: vec!["/w".into()], ..Confinement::default() };
        let deny = DenyRead::new(["~/.ssh", "**/.env"], Some(Path::new("/home/u"))).unwrap();
        for (output, path) in [
            ("cat: /home/u/.ssh/id_rsa: Permission denied", "/home/u/.ssh/id_rsa"),
            ("/bin/bash: line 1: .env: Permission denied", "/w/.env"),
            ("ls: cannot open directory '/home/u/.ssh': Permission denied", "/home/u/.ssh"),
        ] {
            let found = guess(output, &confinement, &deny, Path::new("/w"));
            assert!(
                matches!(&found, Some(Denial::DenyRead { path: found, .. }) if found == Path::new(path)),
                "{output}: {found:?}"
            );
        }
        assert_eq!(
            guess("/bin/bash: line 1: sub: Permission denied", &confinement, &deny, Path::new("/w")),
            None
        );
    }
}
