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
        let goes = |path: &str| {
            by_path.get(path).is_some_and(|change| change.after.is_none() && change.link.is_none())
        };
        // A rename in git needs a free destination name and a source that is deleted. Each file can be renamed only
        // once.
        let mut renames: HashMap<&str, &str> = HashMap::new();
        for change in self.changes.iter().filter(|change| change.moved && change.before.is_none()) {
            if let Some(from) = change.from.as_deref().filter(|from| goes(from)) {
                renames.entry(from).or_insert(&change.path);
            }
        }
        let shown = |change: &FileChange| {
            if change.after.is_none() && renames.contains_key(change.path.as_str()) {
                return String::new();
            }
            if let Some(link) = change.link.as_ref().filter(|_| change.after.is_none()) {
                return format_symlink_deletion(link);
            }
            let (path, after) = (change.diff_name(), change.after.as_ref());
            let came = change.from.as_deref().zip(change.origin.as_ref()).filter(|_| change.before.is_none());
            let Some((from, origin)) = came else {
                return format_file_diff(path, DiffOrigin::Same, change.before.as_ref(), after);
            };
            let name = origin.diff_name(from);
            let renamed = renames.get(from) == Some(&change.path.as_str());
            let way = if renamed { DiffOrigin::Renamed(name) } else { DiffOrigin::Copied(name) };
            format_file_diff(path, way, Some(&origin.content), after)
        };
        self.changes.iter().map(shown).collect()
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
    way: DiffOrigin<'_>,
    before: Option<&FileContent>,
    after: Option<&FileContent>,
) -> String {
    let from = match way {
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
    let verb = match way {
        DiffOrigin::Same => None,
        DiffOrigin::Renamed(_) => Some("rename"),
        DiffOrigin::Copied(_) => Some("copy"),
    };
    if let Some(verb) = verb {
        let _ = writeln!(out, "{verb} from {}\n{verb} to {}", quote_path("", from), quote_path("", path));
    }
    let was = before.map(|content| content.bytes.as_slice());
    let is = after.map(|content| content.bytes.as_slice());
    let (was_all, is_all) = (was.unwrap_or_default(), is.unwrap_or_default());
    if was_all == is_all {
        return out;
    }
    let old = if before.is_some() { &old } else { "/dev/null" };
    let new = if after.is_some() { &new } else { "/dev/null" };
    let _ = match (as_diff_text(was_all), as_diff_text(is_all)) {
        (Some(was), Some(is)) => {
            write!(
                out,
                "--- {}\n+++ {}\n{}",
                end_name_with_tab(old),
                end_name_with_tab(new),
                unified_hunks::format_hunks(was, is)
            )
        }
        _ => {
            // Without any such line, git would skip the file instead of refusing it.
            let alone = if out.lines().count() == 1 { "dissimilarity index 100%\n" } else { "" };
            write!(out, "{alone}Binary files {old} and {new} differ\n{}", commented_text_diff(was, is))
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
fn commented_text_diff(was: Option<&[u8]>, is: Option<&[u8]>) -> String {
    let (Ok(old), Ok(new)) =
        (DecodedText::from_bytes(was.unwrap_or_default()), DecodedText::from_bytes(is.unwrap_or_default()))
    else {
        return String::new();
    };
    let (from, to) = (old.encoding_name(), new.encoding_name());
    let encoding = match (was, is) {
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
