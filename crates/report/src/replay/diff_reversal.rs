//! Reverses a git diff to undo its changes, and separates the files that a patch cannot undo.

/// Splits a diff into the part that a patch can undo, and the names of the remaining files. These are
/// symlinks, binary files, and files that were too large to keep.
pub fn split_undoable(diff: &str) -> (String, Vec<String>) {
    let (mut undoable, mut left) = (String::new(), Vec::new());
    let begins =
        diff.match_indices("diff --git ").filter(|(at, _)| *at == 0 || diff.as_bytes()[at - 1] == b'\n');
    let begins: Vec<usize> = begins.map(|(at, _)| at).collect();
    for (number, begin) in begins.iter().enumerate() {
        let file = &diff[*begin..begins.get(number + 1).copied().unwrap_or(diff.len())];
        let mut head = file.lines().take_while(|line| !line.starts_with("@@ ")).skip(1);
        let is_no_text = |line: &str| {
            line.ends_with(" 120000") || line.starts_with("Not shown: ") || line.starts_with("Binary files ")
        };
        if head.any(is_no_text) {
            let name =
                file.lines().next().and_then(|line| line.rsplit_once(" b/")).map_or("?", |(_, name)| name);
            left.push(name.to_owned());
        } else {
            undoable.push_str(file);
        }
    }
    left.dedup();
    (undoable, left)
}

/// Says for each file of a diff what undoing it does, e.g. `removed a.txt`.
pub fn describe_undoing(diff: &str) -> Vec<String> {
    let mut described: Vec<(&str, String)> = Vec::new();
    for line in diff.lines() {
        match (line.strip_prefix("diff --git "), described.last_mut()) {
            (Some(names), _) => {
                let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name);
                described.push(("changed back", name.to_owned()));
            }
            (None, Some((verb, name))) => {
                if line.starts_with("new file mode ") {
                    *verb = "removed";
                } else if line.starts_with("deleted file mode ") {
                    *verb = "restored";
                } else if let Some(old) = line.strip_prefix("rename from ") {
                    (*verb, *name) = ("renamed back", format!("{name} to {old}"));
                }
            }
            (None, None) => {}
        }
    }
    described.into_iter().map(|(verb, name)| format!("{verb} {name}")).collect()
}

/// Returns the names of the files that a diff adds.
pub(super) fn added_files(diff: &str) -> impl Iterator<Item = &str> {
    let lines = diff.lines().zip(diff.lines().skip(1));
    lines.filter(|(old, _)| *old == "--- /dev/null").filter_map(|(_, new)| new.strip_prefix("+++ b/"))
}

/// Reverses a diff.
pub fn reverse_diff(diff: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    // Remaining old and new lines of the current hunk.
    let mut left = (0_usize, 0_usize);
    for line in diff.lines() {
        if left != (0, 0) {
            let (turned, takes) = match line.as_bytes().first() {
                Some(b'+') => (format!("-{}", &line[1..]), (0, 1)),
                Some(b'-') => (format!("+{}", &line[1..]), (1, 0)),
                Some(b'\\') => (line.to_owned(), (0, 0)),
                _ => (line.to_owned(), (1, 1)),
            };
            left = (left.0.saturating_sub(takes.0), left.1.saturating_sub(takes.1));
            out.push(turned);
            continue;
        }
        match parse_hunk_header(line) {
            Some((old, new, rest)) => {
                left = (range_len(old), range_len(new));
                out.push(format!("@@ -{new} +{old} @@{rest}"));
            }
            None => out.push(reverse_header_line(line)),
        }
    }
    // The old file name comes first.
    for at in 1..out.len() {
        if out[at - 1].starts_with("+++ ") && out[at].starts_with("--- ") {
            out.swap(at - 1, at);
        }
    }
    out.push(String::new());
    out.join("\n")
}

/// Returns the ranges of a hunk header, and the text after them.
fn parse_hunk_header(line: &str) -> Option<(&str, &str, &str)> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, rest) = rest.split_once(" @@")?;
    Some((old, new, rest))
}

fn range_len(range: &str) -> usize {
    range.split_once(',').map_or(1, |(_, count)| count.parse().unwrap_or(0))
}

/// Reverses a line of a file header.
fn reverse_header_line(line: &str) -> String {
    const HEADER_PAIRS: &[(&str, &str)] = &[
        ("new file mode ", "deleted file mode "),
        ("old mode ", "new mode "),
        ("rename from ", "rename to "),
        ("copy from ", "copy to "),
    ];
    for (one, other) in HEADER_PAIRS {
        if let Some(rest) = line.strip_prefix(one) {
            return format!("{other}{rest}");
        }
        if let Some(rest) = line.strip_prefix(other) {
            return format!("{one}{rest}");
        }
    }
    if let Some(name) = line.strip_prefix("--- ") {
        return format!("+++ {}", swap_prefix(name, "a/", "b/"));
    }
    if let Some(name) = line.strip_prefix("+++ ") {
        return format!("--- {}", swap_prefix(name, "b/", "a/"));
    }
    line.to_owned()
}

fn swap_prefix(name: &str, from: &str, to: &str) -> String {
    name.strip_prefix(from).map_or_else(|| name.to_owned(), |name| format!("{to}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symlinks_and_omitted_files_are_not_undoable() {
        let text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-mode 120000\n+b\n";
        let link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n";
        let binary = "diff --git a/p b/p\nNot shown: 1 bytes before, 2 after\n";
        let picture = "diff --git a/i b/i\nnew file mode 100644\nBinary files /dev/null and b/i differ\n";
        let note = "# `a` runs on your machine next time you x\n";
        let (undoable, left) = split_undoable(&format!("{note}{link}{text}{binary}{picture}"));
        assert_eq!((undoable.as_str(), left.join(" ")), (text, "l p i".to_owned()));
    }

    #[test]
    fn undoing_is_described_file_by_file() {
        let diff = "diff --git a/m b/m\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-new file mode 1\n+b\n\
            diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\
            diff --git a/d b/d\ndeleted file mode 100644\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
            diff --git a/o b/r\nsimilarity index 100%\nrename from o\nrename to r\n";
        assert_eq!(
            describe_undoing(diff).join(", "),
            "changed back m, removed n, restored d, renamed back r to o"
        );
    }

    #[test]
    fn reversing_a_diff_swaps_additions_and_deletions() {
        let diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@ f\n one\n-two\n+2\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+-- x\n";
        insta::assert_snapshot!(reverse_diff(diff), @"
        diff --git a/a b/a
        --- a/a
        +++ b/a
        @@ -1,2 +1,2 @@ f
         one
        +two
        -2
        diff --git a/n b/n
        deleted file mode 100644
        --- a/n
        +++ /dev/null
        @@ -1 +0,0 @@
        --- x
        ");
        assert_eq!(reverse_diff(&reverse_diff(diff)), diff);
        assert_eq!(added_files(diff).collect::<Vec<_>>(), ["n"]);
    }
}
