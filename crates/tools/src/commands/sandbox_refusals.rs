//! Reports accesses that the sandbox refused to a command: recorded ones, and guesses from the command's output.

use std::path::{Path, PathBuf};

use exec::session::ProcessSession;
use policy::{
    Confinement, Denial, Enforcement, EnforcementGap, PrivateDirectory, ReadScope, UnreachableHost,
};
use tool::ErrorHints;

use super::git_failures::explain_git_failures;

/// The number of refusals that are listed.
const MAX_LISTED_REFUSALS: usize = 4;
/// Bytes at the end of an output that are searched for a guess.
const SEARCHED_BYTES: usize = 16 << 10;

/// Refused accesses: reported by the kernel, or guessed from the command's output.
pub(crate) struct SandboxRefusals {
    pub(crate) reported: Vec<Denial>,
    pub(crate) guessed: Option<Denial>,
    /// Allowed hosts that could not be reached.
    pub(crate) unreachable_hosts: Vec<UnreachableHost>,
    /// A file of the host that was perhaps invisible to the command, and the directory that hides it.
    pub(crate) hidden_file: Option<(PathBuf, PrivateDirectory)>,
    /// Files that git could not change, with advice.
    pub(crate) git_failures: Vec<String>,
}

impl SandboxRefusals {
    /// Collects the refusals of a command that ended with `code`, or is still running.
    pub(crate) fn for_session(session: &ProcessSession, code: Option<i32>, output: &str) -> Self {
        let reported = session.denials();
        let confinement = session.confinement();
        // A successful command was refused nothing that matters, and a known refusal needs no guess.
        let guesses = reported.is_empty() && code.is_some_and(|code| code != 0);
        let bounds = confinement.zip(session.read_scope()).filter(|_| guesses);
        let git_failures = explain_git_failures(session, output);
        let unreachable_hosts = session.unreachable_hosts();
        let Some((confinement, read_scope)) = bounds else {
            return Self { reported, guessed: None, unreachable_hosts, hidden_file: None, git_failures };
        };
        let guesser = DenialGuesser {
            confinement: &confinement,
            read_scope: &read_scope,
            workdir: &session.origin().workdir,
            has_private_tmp: !lacks_private_tmp(&session.enforcement()),
        };
        let guessed = guesser.guess_denial(output);
        let hidden_file = if guessed.is_none() { guesser.guess_hidden_file(output) } else { None };
        Self { reported, guessed, unreachable_hosts, hidden_file, git_failures }
    }

    /// Returns one line per refusal.
    pub(crate) fn note_lines(&self, hints: &ErrorHints) -> Vec<String> {
        let mut notes: Vec<String> = self
            .reported
            .iter()
            .take(MAX_LISTED_REFUSALS)
            .map(|denial| format!("Refused by the sandbox: {}", hints.explain(denial)))
            .collect();
        if self.reported.len() > MAX_LISTED_REFUSALS {
            notes.push(format!("Refused by the sandbox: {} more", self.reported.len() - MAX_LISTED_REFUSALS));
        }
        notes.extend(self.guessed.iter().map(|denial| {
            format!("Perhaps refused by the sandbox (a guess from the output): {}", hints.explain(denial))
        }));
        let unreachable = self.unreachable_hosts.iter().take(MAX_LISTED_REFUSALS);
        notes.extend(unreachable.map(|host| format!("Not reached: {host}")));
        notes.extend(self.git_failures.iter().cloned());
        notes.extend(self.hidden_file.iter().map(|(path, private)| {
            format!("Perhaps not seen in the sandbox: `{}`: {}", path.display(), hints.explain(private))
        }));
        notes
    }
}

/// Returns true if commands see the host's `/tmp`, because there are no private mounts.
pub(super) fn lacks_private_tmp(enforcement: &Enforcement) -> bool {
    match enforcement {
        Enforcement::Full => false,
        Enforcement::Partial(gaps) => gaps.contains(&EnforcementGap::PrivateTmp),
        Enforcement::None { .. } => true,
    }
}

/// Guesses a refusal from the command's output and the confinement; the last resort. A command that prints such a line
/// to deceive us only causes a quote of the policy.
struct DenialGuesser<'a> {
    confinement: &'a Confinement,
    read_scope: &'a ReadScope,
    workdir: &'a Path,
    /// True if `/tmp` and `/var/tmp` are private directories of the session.
    has_private_tmp: bool,
}

impl DenialGuesser<'_> {
    /// Finds a line that reports a read-only file system or a missing permission, and names a path that the policy
    /// protects from writing or reading.
    fn guess_denial(&self, output: &str) -> Option<Denial> {
        let deny = self.read_scope.deny_read();
        let closed = |path: &PathBuf| {
            deny.denying_pattern(path).is_some()
                || !self.confinement.may_write(path) && !self.is_not_host_file(path)
        };
        let path = self.find_path(output, &REFUSAL_MESSAGES, closed)?;
        Some(match deny.denying_pattern(&path).map(str::to_owned) {
            Some(rule) => Denial::DenyRead { path, rule },
            None => self.confinement.write_denial(path),
        })
    }

    /// Finds a line that reports a missing file, and names a path in a private directory of the session.
    fn guess_hidden_file(&self, output: &str) -> Option<(PathBuf, PrivateDirectory)> {
        if !self.has_private_tmp {
            return None;
        }
        let path = self.find_path(output, &MISSING_FILE_MESSAGES, |path| {
            self.read_scope.replaced_place(path).is_some()
        })?;
        let private = self.read_scope.private_directory(&path)?;
        Some((path, private))
    }

    /// Returns the last matching path in a line that contains one of `words`.
    fn find_path(&self, output: &str, words: &[&str], fits: impl Fn(&PathBuf) -> bool) -> Option<PathBuf> {
        let from = output.len().saturating_sub(SEARCHED_BYTES);
        let end = &output[output.ceil_char_boundary(from)..];
        end.lines().rev().find_map(|line| {
            let (at, word) = words.iter().find_map(|word| Some((line.find(word)?, word)))?;
            // The path next to the words is meant, else the last path of the line: the program itself is named first.
            let next = adjacent_name(&line[..at], &line[at + word.len()..])
                .map(|path| policy::normalize_path(&self.workdir.join(path)));
            next.filter(&fits).or_else(|| paths_in_line(line, self.workdir).filter(&fits).last())
        })
    }

    /// Returns true for a device, a kernel file, or a path in a private directory of the session.
    fn is_not_host_file(&self, path: &Path) -> bool {
        let is_device = path.starts_with("/dev") && !path.starts_with("/dev/shm");
        is_device
            || path.starts_with("/proc")
            || self.has_private_tmp && self.read_scope.replaced_place(path).is_some()
    }
}

/// Messages of systems and languages about a refused change.
const REFUSAL_MESSAGES: [&str; 6] =
    ["Read-only file system", "Permission denied", "Operation not permitted", "EROFS", "EACCES", "EPERM"];
/// Messages about a missing file.
const MISSING_FILE_MESSAGES: [&str; 2] = ["No such file or directory", "ENOENT"];

/// Returns the name right before the words, as `name: ` or in quotes, or right after them in quotes.
fn adjacent_name<'a>(before: &'a str, after: &'a str) -> Option<&'a str> {
    const QUOTES: [char; 4] = ['\'', '"', '‘', '’'];
    if let Some(name) = before.strip_suffix(": ") {
        let quoted = name.strip_suffix(QUOTES).and_then(|name| name.rsplit(QUOTES).next());
        return quoted.or_else(|| name.rsplit(' ').next()).filter(|name| !name.is_empty());
    }
    after.strip_prefix(": ")?.strip_prefix(QUOTES)?.split(QUOTES).next().filter(|name| !name.is_empty())
}

/// Returns the path-like words of a line; relative paths start in the command's working directory.
fn paths_in_line(line: &str, workdir: &Path) -> impl Iterator<Item = PathBuf> {
    let words = line.split(|letter: char| letter.is_whitespace() || "'\"`‘’“”(),;<>[]".contains(letter));
    // The program itself is named first, as in `/bin/bash: line 1: …`.
    let words = words.enumerate().filter(|(at, word)| *at > 0 || !word.ends_with(':')).map(|(_, word)| word);
    let words = words.map(|word| word.trim_end_matches([':', '.']));
    let is_path = |word: &&str| word.len() > 1 && word.contains('/') && !word.contains("://");
    words.filter(is_path).map(|word| policy::normalize_path(&workdir.join(word)))
}

#[cfg(test)]
mod tests {
    use policy::{DenyRead, ReadRoot};

    use super::*;

    fn read_scope(workspace: &str, deny: &[&str]) -> ReadScope {
        let own = |place: &str| ReadRoot::new(format!("/tmp/s{place}")).with_spelling(place).unlisted();
        let home = || ["/tmp/home".into()];
        let roots = vec![
            ReadRoot::new(workspace),
            own("/tmp").replacing_host_directory(home()),
            own("/var/tmp").replacing_host_directory(home()),
        ];
        ReadScope::new(roots, DenyRead::new(deny, Some(Path::new("/home/u"))).unwrap())
    }

    /// Returns the guess from `output` for a command that may write only in `workspace`.
    fn guessed(output: &str, workspace: &str, deny: &[&str], has_own_places: bool) -> Option<Denial> {
        let confinement = Confinement {
            writable: vec![workspace.into()],
            read_only: vec![format!("{workspace}/Cargo.lock").into()],
            ..Confinement::default()
        };
        let (reach, workdir) = (read_scope(workspace, deny), Path::new(workspace));
        DenialGuesser {
            confinement: &confinement,
            read_scope: &reach,
            workdir,
            has_private_tmp: has_own_places,
        }
        .guess_denial(output)
    }

    #[test]
    fn denied_path_is_guessed_from_output() {
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
            assert_eq!(guessed(output, "/w", &[], true), expected, "{output}");
        }
    }

    #[test]
    fn a_workspace_below_tmp_is_one_like_any_other() {
        for place in ["/tmp/x/w", "/var/tmp/w"] {
            for (output, path) in [
                ("/bin/bash: line 1: Cargo.lock: Read-only file system", Some(format!("{place}/Cargo.lock"))),
                (
                    "touch: cannot touch './Cargo.lock': Read-only file system",
                    Some(format!("{place}/Cargo.lock")),
                ),
                ("touch: cannot touch 'a': Permission denied", None),
                // The home directory is shown to the command as it is.
                ("touch: cannot touch '/tmp/home/a': Read-only file system", Some("/tmp/home/a".to_owned())),
                ("touch: cannot touch '/tmp/x/a': Permission denied", None),
                ("touch: cannot touch '/var/tmp/a': Permission denied", None),
                ("bash: /dev/tcp/x/1: Permission denied", None),
            ] {
                let roots = vec![place.into()];
                let expected = path.map(|path| Denial::MayNotWrite { path: path.into(), roots });
                assert_eq!(guessed(output, place, &[], true), expected, "{place}: {output}");
            }
        }
        // Without private mounts, a command is refused access to the host's files there.
        assert!(guessed("touch: cannot touch '/tmp/a': Permission denied", "/w", &[], false).is_some());
    }

    #[test]
    fn what_may_not_be_read_is_told_as_that() {
        let deny = ["~/.ssh", "**/.env"];
        for (output, path) in [
            ("cat: /home/u/.ssh/id_rsa: Permission denied", "/home/u/.ssh/id_rsa"),
            ("/bin/bash: line 1: .env: Permission denied", "/w/.env"),
            ("ls: cannot open directory '/home/u/.ssh': Permission denied", "/home/u/.ssh"),
        ] {
            let found = guessed(output, "/w", &deny, true);
            assert!(
                matches!(&found, Some(Denial::DenyRead { path: found, .. }) if found == Path::new(path)),
                "{output}: {found:?}"
            );
        }
        assert_eq!(guessed("/bin/bash: line 1: sub: Permission denied", "/w", &deny, true), None);
    }

    #[test]
    fn what_the_host_has_in_tmp_is_told_to_be_unseen() {
        let (confinement, reach) = (Confinement::default(), read_scope("/tmp/x/w", &[]));
        let mut guessing = DenialGuesser {
            confinement: &confinement,
            read_scope: &reach,
            workdir: Path::new("/tmp/x/w"),
            has_private_tmp: true,
        };
        for (output, place) in [
            ("cat: /tmp/notes.txt: No such file or directory", Some("/tmp")),
            (
                "python3: can't open file '/var/tmp/s.py': [Errno 2] No such file or directory",
                Some("/var/tmp"),
            ),
            ("Error: ENOENT: no such file or directory, open '/tmp/x/package.json'", Some("/tmp")),
            ("cat: ../notes.txt: No such file or directory", Some("/tmp")),
            ("cat: notes.txt: No such file or directory", None),
            ("cat: /etc/notes.txt: No such file or directory", None),
        ] {
            let hidden = guessing.guess_hidden_file(output).map(|(_, private)| private.place);
            assert_eq!(hidden, place.map(PathBuf::from), "{output}");
        }
        guessing.has_private_tmp = false;
        assert_eq!(guessing.guess_hidden_file("cat: /tmp/notes.txt: No such file or directory"), None);
    }
}
