//! The lines about changed files: a list of the files of a turn with the beginning of each diff, and the small diff of
//! one call.

use anstyle::{AnsiColor, Style};

use super::call_lines::{BAD, GOOD, MARK};
use super::refusal_lines::RemedyForm;
use super::status_lines::truncate_to_width;
use terminal::{FAINT, to_one_line};

/// Maximum lines shown of the diff of one file, and of all files together.
const MAX_FILE_LINES: usize = 40;
const MAX_TURN_LINES: usize = 200;
/// Maximum number of files in the list.
const MAX_LISTED_FILES: usize = 30;
/// Maximum lines shown of the diff of one call.
const MAX_CALL_LINES: usize = 12;
/// Width of lines that are not for a terminal.
const PLAIN_WIDTH: usize = 160;
/// Lines before the hunks that repeat the list: the name and the kind of the change.
const REPEATED_HEAD: [&str; 8] = [
    "--- ", "+++ ", "index ", "new file mode ", "deleted file mode ", "similarity index ", "rename from ",
    "rename to ",
];

/// The kind of a change, in the order of the list: what is lost comes first, long new files last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ChangeKind {
    Deleted,
    Renamed,
    Changed,
    Added,
}

/// One file of a diff.
struct ShownFileDiff<'a> {
    kind: ChangeKind,
    /// Its name; for a renamed file, the old name and the new one.
    name: String,
    added: usize,
    removed: usize,
    /// The hunks, and lines before them that say more than the name.
    lines: Vec<&'a str>,
}

/// Splits a diff in git's format into its files, in the order of the list.
fn split_files(diff: &str) -> Vec<ShownFileDiff<'_>> {
    let mut files: Vec<ShownFileDiff<'_>> = Vec::new();
    let mut in_hunks = false;
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name).to_owned();
            files.push(ShownFileDiff {
                kind: ChangeKind::Changed,
                name,
                added: 0,
                removed: 0,
                lines: Vec::new(),
            });
            in_hunks = false;
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        in_hunks |= line.starts_with("@@ ");
        if !in_hunks {
            if line.starts_with("new file mode ") {
                file.kind = ChangeKind::Added;
            } else if line.starts_with("deleted file mode ") {
                file.kind = ChangeKind::Deleted;
            } else if let Some(old) = line.strip_prefix("rename from ") {
                (file.kind, file.name) = (ChangeKind::Renamed, format!("{old} → {}", file.name));
            }
            if REPEATED_HEAD.iter().any(|start| line.starts_with(start)) {
                continue;
            }
        } else if line.starts_with('+') {
            file.added += 1;
        } else if line.starts_with('-') {
            file.removed += 1;
        }
        file.lines.push(line);
    }
    files.sort_by_key(|file| file.kind);
    files
}

/// Renders the changes of a turn for a screen of `width` columns; `None` is no terminal.
pub(super) fn turn_diff_lines(diff: &str, width: Option<usize>, form: RemedyForm) -> Vec<String> {
    let files = split_files(diff);
    let room = width.map_or(PLAIN_WIDTH, |width| width.saturating_sub(3));
    let all = match form {
        RemedyForm::AllowCommand => "/diff",
        RemedyForm::Flag => "`toolgate diff`",
    };
    let more = |what: String| format!("  {FAINT}… {what}; {all} shows all{FAINT:#}");
    let mut lines: Vec<String> =
        files.iter().take(MAX_LISTED_FILES).map(|file| format!("  {}", file.list_line(room))).collect();
    if files.len() > MAX_LISTED_FILES {
        lines.push(more(format!("{} more files", files.len() - MAX_LISTED_FILES)));
    }
    let mut left = MAX_TURN_LINES;
    for (number, file) in files.iter().enumerate() {
        if left == 0 {
            lines.push(more(format!("the diffs of {} more files", files.len() - number)));
            break;
        }
        if files.len() > 1 {
            let bold = Style::new().bold();
            lines.push(format!("  {bold}{}{bold:#}", truncate_to_width(&to_one_line(&file.name), room)));
        }
        let shown = file.lines.len().min(MAX_FILE_LINES).min(left);
        lines.extend(file.lines[..shown].iter().map(|line| format!("  {}", styled_line(line, room))));
        if file.lines.len() > shown {
            lines.push(more(format!("{} more lines", file.lines.len() - shown)));
        }
        left -= shown;
    }
    lines
}

/// Renders the beginning of the changes of one call, in `room` columns.
pub(super) fn call_diff_lines(diff: &str, room: usize) -> Vec<String> {
    let files = split_files(diff);
    let mut all: Vec<&str> = Vec::new();
    for file in &files {
        all.extend((files.len() > 1).then_some(file.name.as_str()));
        all.extend(file.lines.iter().filter(|line| !line.starts_with("@@ ")));
    }
    let mut lines: Vec<String> =
        all.iter().take(MAX_CALL_LINES).map(|line| styled_line(line, room.min(PLAIN_WIDTH))).collect();
    if all.len() > MAX_CALL_LINES {
        lines.push(format!("{FAINT}… {} more lines{FAINT:#}", all.len() - MAX_CALL_LINES));
    }
    lines
}

fn styled_line(line: &str, room: usize) -> String {
    let style = match line.as_bytes().first() {
        Some(b'+') => GOOD,
        Some(b'-') => BAD,
        Some(b'@') => MARK,
        _ => FAINT,
    };
    format!("{style}{}{style:#}", truncate_to_width(&to_one_line(&line.replace('\t', "    ")), room))
}

impl ShownFileDiff<'_> {
    /// Returns the line of the list: the kind, the name, and the number of lines.
    fn list_line(&self, room: usize) -> String {
        let (word, style) = match self.kind {
            ChangeKind::Deleted => ("deleted", BAD),
            ChangeKind::Renamed => ("renamed", AnsiColor::Yellow.on_default()),
            ChangeKind::Changed => ("changed", AnsiColor::Yellow.on_default()),
            ChangeKind::Added => ("added  ", GOOD),
        };
        let count =
            |sign: &str, count: usize| if count > 0 { format!(" {sign}{count}") } else { String::new() };
        let counts = format!("{}{}", count("+", self.added), count("−", self.removed));
        let taken = word.len() + 1 + counts.chars().count();
        let name = truncate_to_width(&to_one_line(&self.name), room.saturating_sub(taken));
        format!("{style}{word}{style:#} {name}{FAINT}{counts}{FAINT:#}")
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use anstream::adapter::strip_str;
    use insta::assert_snapshot;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    /// A long new file, a change, a renamed and a deleted file.
    fn diff(new_lines: usize) -> String {
        let mut diff = format!(
            "diff --git a/big.txt b/big.txt\nnew file mode 100644\n--- /dev/null\n+++ b/big.txt\n@@ -0,0 +1,{new_lines} @@\n"
        );
        for number in 1..=new_lines {
            let _infallible = writeln!(diff, "+{number}");
        }
        diff.push_str(
            "diff --git a/src/lib.rs b/src/lib.rs\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n fn a() {\n-\told();\n+\tnew(\"a string that is longer than the screen is wide, by far\");\n }\n\
             diff --git a/a.sh b/b.sh\nold mode 100644\nnew mode 100755\nrename from a.sh\nrename to b.sh\n\
             diff --git a/gone.md b/gone.md\ndeleted file mode 100644\n--- a/gone.md\n+++ /dev/null\n@@ -1,2 +0,0 @@\n--- x\n-y\n",
        );
        diff
    }

    fn plain(lines: &[String], width: usize) -> String {
        let text = strip_str(&lines.join("\n")).to_string();
        assert!(text.lines().all(|line| line.width() < width), "{text}");
        text
    }

    #[test]
    fn files_are_listed_before_their_diffs_and_each_diff_is_cut() {
        let lines = turn_diff_lines(&diff(3000), Some(50), RemedyForm::AllowCommand);
        let text = plain(&lines, 50);
        let numbers = |text: &str| {
            text.replace((2..=39).map(|n| format!("  +{n}\n")).collect::<String>().as_str(), "  +…\n")
        };
        assert_snapshot!(numbers(&text), @r#"
        deleted gone.md −2
        renamed a.sh → b.sh
        changed src/lib.rs +1 −1
        added   big.txt +3000
        gone.md
        @@ -1,2 +0,0 @@
        --- x
        -y
        a.sh → b.sh
        old mode 100644
        new mode 100755
        src/lib.rs
        @@ -1,3 +1,3 @@
         fn a() {
        -    old();
        +    new("a string that is longer than the scr…
         }
        big.txt
        @@ -0,0 +1,3000 @@
        +1
        +…
        … 2961 more lines; /diff shows all
        "#);
    }

    #[test]
    fn one_file_needs_no_second_name() {
        let text = "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n";
        assert_snapshot!(plain(&turn_diff_lines(text, None, RemedyForm::Flag), 99), @r"
        added   a +1
        @@ -0,0 +1 @@
        +x
        ");
    }

    #[test]
    fn many_files_are_counted() {
        let text: String = (0..50)
            .map(|n| {
                let lines: String = (0..20).map(|line| format!("+{line}\n")).collect();
                format!("diff --git a/{n} b/{n}\nnew file mode 100644\n--- /dev/null\n+++ b/{n}\n@@ -0,0 +1,20 @@\n{lines}")
            })
            .collect();
        let lines = turn_diff_lines(&text, Some(80), RemedyForm::Flag);
        let text = plain(&lines, 80);
        assert!(text.contains("  … 20 more files; `toolgate diff` shows all\n"), "{text}");
        assert!(text.ends_with("  … the diffs of 40 more files; `toolgate diff` shows all"), "{text}");
        assert!(lines.len() < 250, "{}", lines.len());
    }

    #[test]
    fn a_call_shows_the_beginning_of_its_changes() {
        assert_snapshot!(plain(&call_diff_lines(&diff(20), 40), 41), @r#"
        gone.md
        --- x
        -y
        a.sh → b.sh
        old mode 100644
        new mode 100755
        src/lib.rs
         fn a() {
        -    old();
        +    new("a string that is longer than …
         }
        big.txt
        … 20 more lines
        "#);
    }
}
