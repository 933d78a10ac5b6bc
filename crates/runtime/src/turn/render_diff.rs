//! Renders changed files as a git diff.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;

use patch::{FileContent, diff};

use super::TurnDiff;
use super::file_snapshot::{ChangedFile, ScanCoverage, SnapshotFile};

/// Returns the diff of `changed` (sorted by path); `before` and `after` are the coverage of the two scans.
pub(super) fn diff_between(changed: &[ChangedFile], before: ScanCoverage, after: ScanCoverage) -> TurnDiff {
    let partial = [before, after].contains(&ScanCoverage::Partial);
    let mut out = TurnDiff { partial, ..TurnDiff::default() };
    let (there, gone): (Vec<&ChangedFile>, Vec<&ChangedFile>) =
        changed.iter().partition(|one| one.after.is_some());
    let identity = |file: &SnapshotFile| (file.stat.identity, file.stat.kind);
    let known = |one: &ChangedFile| one.before.as_ref().map(identity);
    // A moved file has the same identity.
    let mut by_identity: HashMap<_, &ChangedFile> =
        gone.iter().filter_map(|one| Some((known(one)?, *one))).collect();
    let mut moved = HashSet::new();
    for one in there {
        match (&one.before, &one.after) {
            (_, None) => {}
            (Some(was), Some(is)) if was.same_as(is) => {}
            (Some(was), Some(is)) => out.push_file(one.path(), None, Some(was), Some(is)),
            // The earlier scan was incomplete, so the file may have existed before.
            (None, Some(_)) if before == ScanCoverage::Partial => {}
            (None, Some(is)) => {
                let from = by_identity.remove(&identity(is));
                moved.extend(from.map(ChangedFile::path));
                let was = from.and_then(|from| from.before.as_ref()).map(|was| with_current_content(was, is));
                out.push_file(one.path(), from.map(ChangedFile::path), was.as_ref(), Some(is));
            }
        }
    }
    // If the later scan was incomplete, a missing file may still exist.
    let gone = gone.iter().filter(|_| after == ScanCoverage::Complete);
    for one in gone.filter(|one| !moved.contains(one.path())) {
        out.push_file(one.path(), None, one.before.as_ref(), None);
    }
    out
}

/// Returns the moved file as it was. If it was never read, its current content is used: its metadata is unchanged.
fn with_current_content(was: &SnapshotFile, is: &SnapshotFile) -> SnapshotFile {
    let bytes = was.bytes.clone().or_else(|| is.bytes.clone().filter(|_| was.stat == is.stat));
    SnapshotFile { stat: was.stat, bytes }
}

impl SnapshotFile {
    fn content(&self) -> Option<FileContent> {
        let executable = self.stat.executable && !self.is_link();
        Some(FileContent { bytes: self.bytes.as_ref()?.to_vec().into(), executable })
    }
}

impl TurnDiff {
    fn push_file(
        &mut self,
        path: &Path,
        from: Option<&Path>,
        before: Option<&SnapshotFile>,
        after: Option<&SnapshotFile>,
    ) {
        self.files += 1;
        if let (Some(was), Some(is)) = (before, after)
            && was.is_link() != is.is_link()
        {
            // Like git, a change between file and symlink is a removal and an addition.
            self.text.push_str(&file_diff(path, None, before, None));
            self.text.push_str(&file_diff(path, None, None, after));
            return;
        }
        self.text.push_str(&file_diff(path, from, before, after));
    }
}

/// Returns the diff of one file.
fn file_diff(
    path: &Path,
    from: Option<&Path>,
    before: Option<&SnapshotFile>,
    after: Option<&SnapshotFile>,
) -> String {
    let name = path.to_string_lossy();
    let from = from.map(Path::to_string_lossy);
    match (before.map(SnapshotFile::content), after.map(SnapshotFile::content)) {
        (Some(None), _) | (_, Some(None)) => {
            let size = |file: Option<&SnapshotFile>| file.map_or(0, |file| file.stat.size);
            let (was, is) = (size(before), size(after));
            let mut text = String::new();
            let _ = writeln!(text, "diff --git a/{name} b/{name}\nNot shown: {was} bytes before, {is} after");
            text
        }
        (was, is) => {
            let (was, is) = (was.flatten(), is.flatten());
            let text = diff(&name, from.as_deref(), was.as_ref(), is.as_ref());
            if before.or(after).is_some_and(SnapshotFile::is_link) { to_symlink_diff(&text) } else { text }
        }
    }
}

/// Converts the diff of a file to that of a symlink, which git stores as a file of mode 120000 with the target as
/// content. Only header lines can match, because content lines begin with a sign.
fn to_symlink_diff(text: &str) -> String {
    for mode in ["\nnew file mode ", "\ndeleted file mode "] {
        if text.contains(mode) {
            return text.replacen(&format!("{mode}100644\n"), &format!("{mode}120000\n"), 1);
        }
    }
    // If the mode is unchanged, git shows it on the index line, whose hashes only matter to a merge.
    text.replacen("\n--- ", "\nindex 0000000..0000000 120000\n--- ", 1)
}

#[cfg(test)]
mod tests {
    use exec::fs::{FileKind, FileStat};

    use super::*;

    fn file(kind: FileKind, id: u64, text: &str) -> SnapshotFile {
        let (size, identity) = (text.len() as u64, (1, id));
        let stat = FileStat { kind, size, modified: None, identity, executable: kind == FileKind::Symlink };
        SnapshotFile { stat, bytes: Some(text.as_bytes().into()) }
    }

    fn changed(path: &str, before: Option<SnapshotFile>, after: Option<SnapshotFile>) -> ChangedFile {
        ChangedFile { path: path.into(), before, after }
    }

    fn diff_text(changes: &[ChangedFile]) -> String {
        diff_between(changes, ScanCoverage::Complete, ScanCoverage::Complete).text
    }

    #[test]
    fn added_removed_and_changed_files_are_shown() {
        let plain = |id, text| Some(file(FileKind::File, id, text));
        let changes = [
            changed("a", plain(1, "one\n"), plain(9, "uno\n")),
            changed("b", plain(2, "two\n"), None),
            changed("bb", plain(3, "three\n"), None),
            changed("c", plain(3, "three\n"), None),
            changed("d", None, plain(3, "three\n")),
            changed("e", None, plain(5, "new\n")),
            changed("same", plain(4, "same\n"), plain(6, "same\n")),
        ];
        let TurnDiff { text, files, partial } =
            diff_between(&changes, ScanCoverage::Complete, ScanCoverage::Complete);
        assert_eq!((files, partial), (5, false));
        insta::assert_snapshot!(text, @"
        diff --git a/a b/a
        --- a/a
        +++ b/a
        @@ -1 +1 @@
        -one
        +uno
        diff --git a/c b/d
        rename from c
        rename to d
        diff --git a/e b/e
        new file mode 100644
        --- /dev/null
        +++ b/e
        @@ -0,0 +1 @@
        +new
        diff --git a/b b/b
        deleted file mode 100644
        --- a/b
        +++ /dev/null
        @@ -1 +0,0 @@
        -two
        diff --git a/bb b/bb
        deleted file mode 100644
        --- a/bb
        +++ /dev/null
        @@ -1 +0,0 @@
        -three
        ");
        let unsure = diff_between(&changes, ScanCoverage::Partial, ScanCoverage::Partial);
        assert_eq!((unsure.files, unsure.partial), (1, true));
    }

    #[test]
    fn links_are_files_of_their_own_mode() {
        let link = |id, text| Some(file(FileKind::Symlink, id, text));
        let changes = [
            changed("came", None, link(1, "a.txt")),
            changed("moved", None, link(5, "a.txt")),
            changed("turned", link(2, "a.txt"), link(2, "../b")),
            changed("went", link(3, "a.txt"), None),
            changed("was", link(5, "a.txt"), None),
            changed("x", link(4, "a.txt"), Some(file(FileKind::File, 4, "text\n"))),
        ];
        insta::assert_snapshot!(diff_text(&changes), @r"
        diff --git a/came b/came
        new file mode 120000
        --- /dev/null
        +++ b/came
        @@ -0,0 +1 @@
        +a.txt
        \ No newline at end of file
        diff --git a/was b/moved
        rename from was
        rename to moved
        diff --git a/turned b/turned
        index 0000000..0000000 120000
        --- a/turned
        +++ b/turned
        @@ -1 +1 @@
        -a.txt
        \ No newline at end of file
        +../b
        \ No newline at end of file
        diff --git a/x b/x
        deleted file mode 120000
        --- a/x
        +++ /dev/null
        @@ -1 +0,0 @@
        -a.txt
        \ No newline at end of file
        diff --git a/x b/x
        new file mode 100644
        --- /dev/null
        +++ b/x
        @@ -0,0 +1 @@
        +text
        diff --git a/went b/went
        deleted file mode 120000
        --- a/went
        +++ /dev/null
        @@ -1 +0,0 @@
        -a.txt
        \ No newline at end of file
        ");
    }

    #[test]
    fn an_unread_file_that_moved_is_shown_as_a_rename() {
        let now = file(FileKind::File, 1, "text\n");
        let was = SnapshotFile { stat: now.stat, bytes: None };
        let moved = [changed("a", Some(was), None), changed("b", None, Some(now))];
        assert_eq!(diff_text(&moved), "diff --git a/a b/b\nrename from a\nrename to b\n");
    }
}
