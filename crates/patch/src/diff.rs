//! Two trees' worth of changes → one diff as git writes it, for people, models and `git apply`.

use std::fmt::Write;
use std::time::Duration;

use similar::{Algorithm, TextDiff};

use crate::plan::{Change, Content, Plan};
use crate::text::Text;

/// A diff that takes longer is finished coarsely.
const PATIENCE: Duration = Duration::from_millis(200);

impl Plan {
    /// What it changes, as a git diff.
    pub fn diff(&self) -> String {
        let source = |path: &str| self.changes.iter().find(|change| change.path == path)?.before.as_ref();
        let file = |change: &Change| {
            let from = change.from.as_deref();
            let before = match from {
                Some(from) if change.before.is_none() => source(from),
                _ => change.before.as_ref(),
            };
            let from = from.filter(|_| change.before.is_none() && before.is_some());
            diff(&change.path, from, before, change.after.as_ref())
        };
        self.told().map(file).collect()
    }
}

/// The change of one file from `before` to `after`, as a git diff; it is called `from` before if that is given.
///
/// ```
/// use toolgate_patch::{Content, diff};
/// let content = |text: &str| Content { bytes: text.into(), executable: false };
/// let shown = diff("a.txt", None, Some(&content("one\n")), Some(&content("two\n")));
/// assert_eq!(shown, "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n");
/// ```
pub fn diff(path: &str, from: Option<&str>, before: Option<&Content>, after: Option<&Content>) -> String {
    let (old, new) = (quoted("a/", from.unwrap_or(path)), quoted("b/", path));
    let mut out = format!("diff --git {old} {new}\n");
    let mode = |content: &Content| if content.executable { "100755" } else { "100644" };
    let _ = match (before, after) {
        (None, Some(after)) => writeln!(out, "new file mode {}", mode(after)),
        (Some(before), None) => writeln!(out, "deleted file mode {}", mode(before)),
        (Some(before), Some(after)) if mode(before) != mode(after) => {
            writeln!(out, "old mode {}\nnew mode {}", mode(before), mode(after))
        }
        _ => Ok(()),
    };
    if let Some(from) = from {
        let _ = writeln!(out, "rename from {}\nrename to {}", quoted("", from), quoted("", path));
    }
    let bytes = |content: Option<&Content>| content.map(|content| content.bytes.clone()).unwrap_or_default();
    let (was, is) = (bytes(before), bytes(after));
    if was == is {
        return out;
    }
    let (Ok(was), Ok(is)) = (Text::read(&was), Text::read(&is)) else {
        let _ = writeln!(out, "Binary files {} and {} differ", name(before, &old), name(after, &new));
        return out;
    };
    // A tab ends a name with a blank in it, as git has it.
    let ended = |name: &str| if name.contains(' ') { format!("{name}\t") } else { name.to_owned() };
    let _ = write!(out, "--- {}\n+++ {}\n", ended(name(before, &old)), ended(name(after, &new)));
    let lines = |text: &Text| -> Vec<String> {
        (0..text.len()).map(|at| text.line(at).to_owned() + text.ending(at)).collect()
    };
    let (was, is) = (lines(&was), lines(&is));
    let (was, is): (Vec<&str>, Vec<&str>) =
        (was.iter().map(String::as_str).collect(), is.iter().map(String::as_str).collect());
    let changes = TextDiff::configure()
        .algorithm(Algorithm::Histogram)
        .timeout(PATIENCE)
        .newline_terminated(true)
        .diff_slices(&was, &is);
    let _ = write!(out, "{}", changes.unified_diff().context_radius(3));
    out
}

fn name<'a>(content: Option<&Content>, name: &'a str) -> &'a str {
    if content.is_some() { name } else { "/dev/null" }
}

/// A name as git writes it: in quotes if there is anything unusual in it.
fn quoted(prefix: &str, path: &str) -> String {
    let usual = |char: char| !char.is_control() && char != '"' && char != '\\';
    if path.chars().all(usual) {
        return format!("{prefix}{path}");
    }
    let mut out = format!("\"{prefix}");
    for char in path.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            char if char.is_control() => {
                let mut buffer = [0; 4];
                for byte in char.encode_utf8(&mut buffer).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            char => out.push(char),
        }
    }
    out + "\""
}
