//! Formats planned changes as one git diff, for people, models and `git apply`.

mod git_quoting;
mod unified_hunks;

use std::collections::HashMap;
use std::fmt::Write;

use crate::decoded_text::DecodedText;
use crate::file_tree::SymbolicLink;
use crate::plan::{FileChange, FileContent, PatchPlan};
use git_quoting::{end_name_with_tab, quote_path};

impl PatchPlan {
    /// Formats the changes as a git diff. `git apply` turns the same files into exactly the plan's result, to the byte.
    ///
    /// A file that a diff cannot hold, because it is binary or not UTF-8, becomes a line `Binary files … differ`. `git
    /// apply` then refuses the whole diff, and lines with `#` show the text.
    pub fn diff(&self) -> String {
        let by_path: HashMap<&str, &FileChange> =
            self.changes.iter().map(|change| (change.path.as_str(), change)).collect();
        let is_deleted = |path: &str| {
            by_path.get(path).is_some_and(|change| change.after.is_none() && change.link.is_none())
        };
        // A rename in git needs a free destination name and a source that is deleted. Each file can be renamed only
        // once.
        let mut renames: HashMap<&str, &str> = HashMap::new();
        for change in self.changes.iter().filter(|change| change.moved && change.before.is_none()) {
            if let Some(from) = change.from.as_deref().filter(|from| is_deleted(from)) {
                renames.entry(from).or_insert(&change.path);
            }
        }
        let format_change = |change: &FileChange| {
            if change.after.is_none() && renames.contains_key(change.path.as_str()) {
                return String::new();
            }
            if let Some(link) = change.link.as_ref().filter(|_| change.after.is_none()) {
                return format_symlink_deletion(link);
            }
            let (path, after) = (change.diff_name(), change.after.as_ref());
            let source =
                change.from.as_deref().zip(change.origin.as_ref()).filter(|_| change.before.is_none());
            let Some((from, origin)) = source else {
                return format_file_diff(path, DiffOrigin::Same, change.before.as_ref(), after);
            };
            let name = origin.diff_name(from);
            let renamed = renames.get(from) == Some(&change.path.as_str());
            let diff_origin = if renamed { DiffOrigin::Renamed(name) } else { DiffOrigin::Copied(name) };
            format_file_diff(path, diff_origin, Some(&origin.content), after)
        };
        self.changes.iter().map(format_change).collect()
    }
}

/// Formats the change of one file from `before` to `after` as a git diff. `from` is its old name, if that differs.
///
/// ```
/// use toolgate_patch::{FileContent, diff};
/// let content = |text: &str| FileContent { bytes: Vec::from(text).into(), executable: false };
/// let shown = diff("a.txt", None, Some(&content("one\n")), Some(&content("two\n")));
/// assert_eq!(shown, "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n");
/// ```
pub fn diff(
    path: &str,
    from: Option<&str>,
    before: Option<&FileContent>,
    after: Option<&FileContent>,
) -> String {
    format_file_diff(path, from.map_or(DiffOrigin::Same, DiffOrigin::Renamed), before, after)
}

/// The relation of a file to its old path.
#[derive(Clone, Copy)]
enum DiffOrigin<'a> {
    Same,
    Renamed(&'a str),
    Copied(&'a str),
}

/// Formats the part of one file.
fn format_file_diff(
    path: &str,
    diff_origin: DiffOrigin<'_>,
    before: Option<&FileContent>,
    after: Option<&FileContent>,
) -> String {
    let from = match diff_origin {
        DiffOrigin::Same => path,
        DiffOrigin::Renamed(from) | DiffOrigin::Copied(from) => from,
    };
    let (old, new) = (quote_path("a/", from), quote_path("b/", path));
    let mut out = format!("diff --git {old} {new}\n");
    let mode = |content: &FileContent| if content.executable { "100755" } else { "100644" };
    let _ = match (before, after) {
        (None, Some(after)) => writeln!(out, "new file mode {}", mode(after)),
        (Some(before), None) => writeln!(out, "deleted file mode {}", mode(before)),
        (Some(before), Some(after)) if mode(before) != mode(after) => {
            writeln!(out, "old mode {}\nnew mode {}", mode(before), mode(after))
        }
        _ => Ok(()),
    };
    let verb = match diff_origin {
        DiffOrigin::Same => None,
        DiffOrigin::Renamed(_) => Some("rename"),
        DiffOrigin::Copied(_) => Some("copy"),
    };
    if let Some(verb) = verb {
        let _ = writeln!(out, "{verb} from {}\n{verb} to {}", quote_path("", from), quote_path("", path));
    }
    let before_bytes = before.map(|content| content.bytes.as_slice());
    let after_bytes = after.map(|content| content.bytes.as_slice());
    let (old_bytes, new_bytes) = (before_bytes.unwrap_or_default(), after_bytes.unwrap_or_default());
    if old_bytes == new_bytes {
        return out;
    }
    let old = if before.is_some() { &old } else { "/dev/null" };
    let new = if after.is_some() { &new } else { "/dev/null" };
    let _ = match (as_diff_text(old_bytes), as_diff_text(new_bytes)) {
        (Some(old_text), Some(new_text)) => {
            write!(
                out,
                "--- {}\n+++ {}\n{}",
                end_name_with_tab(old),
                end_name_with_tab(new),
                unified_hunks::format_hunks(old_text, new_text)
            )
        }
        _ => {
            // Without any such line, git would skip the file instead of refusing it.
            let dissimilarity = if out.lines().count() == 1 { "dissimilarity index 100%\n" } else { "" };
            write!(
                out,
                "{dissimilarity}Binary files {old} and {new} differ\n{}",
                commented_text_diff(before_bytes, after_bytes)
            )
        }
    };
    out
}

/// Formats the deletion of a symlink whose target stays.
fn format_symlink_deletion(link: &SymbolicLink) -> String {
    let (old, new) = (quote_path("a/", &link.name), quote_path("b/", &link.name));
    let (hunks, ended) = (unified_hunks::format_hunks(&link.target, ""), end_name_with_tab(&old));
    format!("diff --git {old} {new}\ndeleted file mode 120000\n--- {ended}\n+++ /dev/null\n{hunks}")
}

/// Returns the bytes as text, if git would put them into a diff as text.
fn as_diff_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|_| memchr::memchr(0, bytes).is_none())
}

/// Formats the text diff of a file in another encoding as `#` lines, which no program takes for a part of the diff.
fn commented_text_diff(before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let (Ok(old), Ok(new)) = (
        DecodedText::from_bytes(before.unwrap_or_default()),
        DecodedText::from_bytes(after.unwrap_or_default()),
    ) else {
        return String::new();
    };
    let (from, to) = (old.encoding_name(), new.encoding_name());
    let encoding = match (before, after) {
        (Some(_), Some(_)) if from != to => format!("{from} becomes {to}"),
        (Some(_), _) => from.to_owned(),
        (None, _) => to.to_owned(),
    };
    let mut out = format!("# as text ({encoding}):\n");
    for line in unified_hunks::format_hunks(old.as_str(), new.as_str()).split_terminator('\n') {
        let _ = writeln!(out, "# {line}");
    }
    out
}
