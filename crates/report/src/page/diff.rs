//! Writes a diff or a patch with coloured lines.

use super::html::HtmlWriter;

/// The first line of a patch in the format of `apply_patch`.
const PATCH_START: &str = "*** Begin Patch";

/// Writes a git diff, or a patch in the format of `apply_patch`.
pub(super) fn write_diff(html: &mut HtmlWriter, diff: &str, omitted_bytes: usize) {
    let is_patch = diff.trim_start().starts_with(PATCH_START);
    html.tag("<pre class=\"diff\">");
    for line in diff.lines() {
        let (begin, end) = match line.as_bytes() {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] if !is_patch => ("<b>", "\n</b>"),
            [b'*', b'*', b'*', b' ', ..] if is_patch => ("<b>", "\n</b>"),
            [b'+', ..] => ("<ins>", "\n</ins>"),
            [b'-', ..] => ("<del>", "\n</del>"),
            [b'@', ..] => ("<i>", "\n</i>"),
            _ => ("", "\n"),
        };
        html.tag(begin);
        html.text(line);
        html.tag(end);
    }
    html.tag("</pre>\n");
    html.omitted(omitted_bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(diff: &str) -> String {
        let mut html = HtmlWriter::default();
        write_diff(&mut html, diff, 0);
        html.into_text()
    }

    #[test]
    fn a_removed_comment_of_a_patch_is_no_file_header() {
        assert_eq!(
            written("--- a\n+++ b\n@@ -1 +1 @@\n-<x>\n+y\n z"),
            "<pre class=\"diff\"><b>--- a\n</b><b>+++ b\n</b><i>@@ -1 +1 @@\n</i><del>-&lt;x&gt;\n</del><ins>+y\n</ins> z\n</pre>\n"
        );
        assert_eq!(
            written("*** Begin Patch\n*** Update File: a.sql\n--- old\n*** End Patch\n"),
            "<pre class=\"diff\"><b>*** Begin Patch\n</b><b>*** Update File: a.sql\n</b><del>--- old\n</del><b>*** End Patch\n</b></pre>\n"
        );
    }
}
