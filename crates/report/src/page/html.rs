//! Writes HTML and escapes all text except tags from this program's source.

use std::fmt::Write;

use crate::format_amount;

/// A page under construction.
#[derive(Default)]
pub(crate) struct HtmlWriter {
    text: String,
}

impl HtmlWriter {
    /// Adds a tag. Only string literals of this program can be tags.
    pub(super) fn tag(&mut self, tag: &'static str) {
        self.text.push_str(tag);
    }

    /// Adds a number; safe in an attribute.
    pub(super) fn number(&mut self, number: u64) {
        let _infallible = write!(self.text, "{number}");
    }

    /// Adds `part` of `whole` as a percentage, for an attribute of a drawing.
    pub(super) fn percent(&mut self, part: u64, whole: u64) {
        let thousandths = u128::from(part.min(whole)) * 100_000 / u128::from(whole.max(1));
        let _infallible = write!(self.text, "{}.{:03}%", thousandths / 1000, thousandths % 1000);
    }

    /// Adds the text of another writer.
    pub(super) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
    }

    /// Reports whether nothing was written.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds escaped text; safe in an attribute.
    pub(super) fn text(&mut self, text: &str) {
        for letter in terminal::escape_invisible(text).chars() {
            match letter {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\'' => self.text.push_str("&#39;"),
                letter => self.text.push(letter),
            }
        }
    }

    /// Adds a text in a `<pre>`, and the number of bytes that are left out.
    pub(super) fn quote(&mut self, text: &str, omitted_bytes: usize) {
        if !text.is_empty() {
            self.tag("<pre>");
            self.text(text);
            self.tag("</pre>\n");
        }
        self.omitted(omitted_bytes);
    }

    /// Adds the number of bytes that are left out.
    pub(super) fn omitted(&mut self, bytes: usize) {
        if bytes > 0 {
            self.line(&format!("… {} more", format_amount::format_bytes(bytes as u64)));
        }
    }

    /// Adds a faint line.
    pub(super) fn line(&mut self, text: &str) {
        self.tag("<p class=\"faint\">");
        self.text(text);
        self.tag("</p>\n");
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_a_tag() {
        for (text, expected) in [
            ("a & b", "a &amp; b"),
            ("</pre><script>alert(1)</script>", "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\" onload='x'", "&quot; onload=&#39;x&#39;"),
            ("\u{0}\u{1b}[31m\u{202e}", "\\u{0}\\u{1b}[31m\\u{202e}"),
        ] {
            let mut html = HtmlWriter::default();
            html.text(text);
            assert_eq!(html.into_text(), expected);
        }
    }

    #[test]
    fn percentages_stay_within_the_drawing() {
        for (part, whole, expected) in
            [(0, 0, "0.000%"), (1, 3, "33.333%"), (5, 4, "100.000%"), (u64::MAX, u64::MAX, "100.000%")]
        {
            let mut html = HtmlWriter::default();
            html.percent(part, whole);
            assert_eq!(html.into_text(), expected);
        }
    }
}
