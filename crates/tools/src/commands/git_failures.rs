//! Explains files that git could not change in the sandbox: host configuration, and repositories beyond the limit.
//!
//! Git continues when it cannot replace a file, and exits with 0. Its message names the file but not the reason.

use std::path::{Path, PathBuf};

use exec::session::ProcessSession;
use policy::{Confinement, HostFile, HostFileRole};

/// Bytes at the end of an output that are searched.
const SEARCHED_BYTES: usize = 64 << 10;
/// The number of files that are named.
const MAX_LISTED_FILES: usize = 8;
/// Git's message before the name of a file that it could not replace.
const UNLINK_MESSAGES: [&str; 2] = ["unable to unlink old '", "unable to unlink '"];
/// Git's message before a lock file that it could not create.
const LOCK_MESSAGE: &str = "Unable to create '";
const READ_ONLY_MESSAGE: &str = "Read-only file system";
/// Git's message about the destination of a clone.
const NOT_EMPTY_MESSAGE: &str = "already exists and is not an empty directory";

/// Returns notes about the `output` of a command in `session`.
pub(super) fn explain_git_failures(session: &ProcessSession, output: &str) -> Vec<String> {
    let Some(confinement) = session.confinement() else { return Vec::new() };
    let from = output.len().saturating_sub(SEARCHED_BYTES);
    let end = &output[output.ceil_char_boundary(from)..];
    let mut notes = Vec::new();
    let protected = protected_files(&confinement, &session.origin().workdir, end);
    if let Some((_, HostFile { when, .. })) = protected.first() {
        let names = protected.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let first = &protected[0].0;
        notes.push(format!(
            "Git could not change {names}: commands cannot change files that take effect on the user's machine (next time they \
             {when}). The content is that of before, so do not commit it; have the user run `git checkout -- {first}` outside \
             the sandbox"
        ));
    }
    if end.contains(NOT_EMPTY_MESSAGE) {
        notes.push(
            "A directory that commands may write to is never empty in the sandbox: it has placeholders such as `.git`. Clone \
             into a new directory below it"
                .to_owned(),
        );
    }
    if let Some(repository) = read_only_repository(&session.read_only_repositories(), end) {
        notes.push(format!(
            "`{}` is read-only in the sandbox: the workspace holds more repositories than the 32 that commands can write to; \
             work in the directory of that repository alone, or remove repositories that are not needed",
            repository.display()
        ));
    }
    notes
}

/// Returns the files that git names and that the policy protects. Git names them relative to the top of a working tree.
fn protected_files(confinement: &Confinement, workdir: &Path, output: &str) -> Vec<(String, HostFile)> {
    let mut protected: Vec<(String, HostFile)> = Vec::new();
    for line in output.lines() {
        let name = UNLINK_MESSAGES.iter().find_map(|words| line.split_once(words)?.1.split_once('\''));
        let Some((name, _)) = name else { continue };
        let above = workdir.ancestors().map(|above| above.join(name));
        let file = above
            .filter_map(|path| confinement.host_file(&path))
            .find(|file| file.role == HostFileRole::Configuration);
        if let Some(file) = file
            && protected.len() < MAX_LISTED_FILES
            && !protected.iter().any(|(known, _)| known == name)
        {
            protected.push((name.to_owned(), file));
        }
    }
    protected
}

/// Returns the read-only repository in which git could not create a lock file.
fn read_only_repository<'a>(repositories: &'a [PathBuf], output: &str) -> Option<&'a PathBuf> {
    let locks = output.lines().filter(|line| line.contains(READ_ONLY_MESSAGE));
    let mut locks = locks.filter_map(|line| Some(line.split_once(LOCK_MESSAGE)?.1.split_once('\'')?.0));
    locks.find_map(|lock| repositories.iter().find(|repository| Path::new(lock).starts_with(repository)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_git_could_not_replace_is_found_in_its_words() {
        let confinement = Confinement { writable: vec!["/w".into()], ..Confinement::default() };
        let output = "error: unable to unlink old '.vscode/settings.json': Read-only file system\n\
                      error: unable to unlink old 'AGENTS.md': Device or resource busy\n\
                      warning: unable to unlink 'src/main.rs': Permission denied\nSwitched to branch 'two'\n";
        for workdir in ["/w", "/w/src"] {
            let kept = protected_files(&confinement, Path::new(workdir), output);
            let names: Vec<_> = kept.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, [".vscode/settings.json", "AGENTS.md"], "{workdir}");
        }
        let closed = [PathBuf::from("/w/r40/.git")];
        let output = "fatal: Unable to create '/w/r40/.git/index.lock': Read-only file system";
        assert_eq!(read_only_repository(&closed, output), Some(&closed[0]));
        assert_eq!(read_only_repository(&closed, &output.replace("r40", "r4")), None);
    }
}
