//! Writes a model's Markdown as HTML. Links and pictures are shown as text, so that nothing is loaded or followed.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::diff::write_diff;
use super::html::HtmlWriter;

/// Writes `text`. Falls back to the source where Markdown would hide a part of it.
pub(super) fn write_markdown(html: &mut HtmlWriter, text: &str) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = MarkdownWriter::default();
    for event in Parser::new_ext(text, options) {
        writer.handle(event);
    }
    // Link definitions, superfluous cells of a table, and entities.
    if writer.letters < count_letters(&text.replace("[x] ", "").replace("[X] ", "")) {
        html.quote(text, 0);
    } else {
        html.append(&writer.html);
    }
}

fn count_letters(text: &str) -> usize {
    text.chars().filter(|letter| letter.is_alphabetic()).count()
}

/// Writes the events of a text. The parser closes every tag that it opens.
#[derive(Default)]
struct MarkdownWriter {
    html: HtmlWriter,
    /// Letters that were written.
    letters: usize,
    /// The text of the open code block, if its language is `diff`.
    diff: Option<String>,
    /// The addresses of the open links and pictures.
    addresses: Vec<String>,
    in_table_head: bool,
}

impl MarkdownWriter {
    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.diff.is_some() => {
                self.letters += count_letters(&text);
                self.diff.iter_mut().for_each(|diff| diff.push_str(&text));
            }
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::FootnoteReference(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.text(&text),
            Event::Code(text) => {
                self.html.tag("<code>");
                self.text(&text);
                self.html.tag("</code>");
            }
            Event::SoftBreak => self.html.tag("\n"),
            Event::HardBreak => self.html.tag("<br>\n"),
            Event::Rule => self.html.tag("<hr>\n"),
            Event::TaskListMarker(true) => self.html.tag("☑ "),
            Event::TaskListMarker(false) => self.html.tag("☐ "),
        }
    }

    fn text(&mut self, text: &str) {
        self.letters += count_letters(text);
        self.html.text(text);
    }

    fn start(&mut self, tag: Tag<'_>) {
        let begin = match tag {
            Tag::Paragraph | Tag::HtmlBlock => "<p>",
            Tag::Heading { level: HeadingLevel::H1, .. } => "<h3>",
            Tag::Heading { level: HeadingLevel::H2, .. } => "<h4>",
            Tag::Heading { .. } => "<h5>",
            Tag::BlockQuote(_) => "<blockquote>\n",
            Tag::CodeBlock(kind) => return self.start_code(&kind),
            Tag::List(Some(first)) => {
                self.html.tag("<ol start=\"");
                self.html.number(first);
                "\">\n"
            }
            Tag::List(None) => "<ul>\n",
            Tag::Item => "<li>",
            Tag::Table(_) => "<div class=\"wide\"><table>\n",
            Tag::TableHead => {
                self.in_table_head = true;
                "<tr>"
            }
            Tag::TableRow => "<tr>",
            Tag::TableCell if self.in_table_head => "<th>",
            Tag::TableCell => "<td>",
            Tag::Emphasis => "<i>",
            Tag::Strong => "<b>",
            Tag::Strikethrough => "<s>",
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.addresses.push(dest_url.into_string());
                "<u>"
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => "",
        };
        self.html.tag(begin);
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        let info = match kind {
            CodeBlockKind::Fenced(info) => info.as_ref(),
            CodeBlockKind::Indented => "",
        };
        // The language is not shown.
        self.letters += count_letters(info);
        if info == "diff" {
            self.diff = Some(String::new());
        } else {
            self.html.tag("<pre class=\"code\">");
        }
    }

    fn end(&mut self, tag: TagEnd) {
        let end = match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => "</p>\n",
            TagEnd::Heading(HeadingLevel::H1) => "</h3>\n",
            TagEnd::Heading(HeadingLevel::H2) => "</h4>\n",
            TagEnd::Heading(_) => "</h5>\n",
            TagEnd::BlockQuote(_) => "</blockquote>\n",
            TagEnd::CodeBlock => match self.diff.take() {
                Some(diff) => return write_diff(&mut self.html, &diff, 0),
                None => "</pre>\n",
            },
            TagEnd::List(true) => "</ol>\n",
            TagEnd::List(false) => "</ul>\n",
            TagEnd::Item => "</li>\n",
            TagEnd::Table => "</table></div>\n",
            TagEnd::TableHead => {
                self.in_table_head = false;
                "</tr>\n"
            }
            TagEnd::TableRow => "</tr>\n",
            TagEnd::TableCell if self.in_table_head => "</th>",
            TagEnd::TableCell => "</td>",
            TagEnd::Emphasis => "</i>",
            TagEnd::Strong => "</b>",
            TagEnd::Strikethrough => "</s>",
            TagEnd::Link | TagEnd::Image => return self.end_link(),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => "",
        };
        self.html.tag(end);
    }

    fn end_link(&mut self) {
        self.html.tag("</u>");
        if let Some(address) = self.addresses.pop() {
            self.html.tag(" <span class=\"faint\">(");
            self.text(&address);
            self.html.tag(")</span>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut html = HtmlWriter::default();
        write_markdown(&mut html, text);
        html.into_text()
    }

    #[test]
    fn markdown_is_rendered() {
        insta::assert_snapshot!(written(
            "# Done\n\nIt is **mended**, see `a.rs`:\n\n```sh\nmake < x\n```\n\n1. one\n2. [x] two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```diff\n-old\n+new\n```\n",
        ), @r#"
        <h3>Done</h3>
        <p>It is <b>mended</b>, see <code>a.rs</code>:</p>
        <pre class="code">make &lt; x
        </pre>
        <ol start="1">
        <li>one</li>
        <li>☑ two</li>
        </ol>
        <div class="wide"><table>
        <tr><th>a</th><th>b</th></tr>
        <tr><td>1</td><td>2</td></tr>
        </table></div>
        <pre class="diff"><del>-old
        </del><ins>+new
        </ins></pre>
        "#);
    }

    #[test]
    fn links_pictures_and_html_are_text() {
        insta::assert_snapshot!(written(
            "[a](javascript:alert(1)) ![b](https://x.example/p.png) <img src=x onerror=y>\n\n<script>z</script>\n",
        ), @r#"
        <p><u>a</u> <span class="faint">(javascript:alert(1))</span> <u>b</u> <span class="faint">(https://x.example/p.png)</span> &lt;img src=x onerror=y&gt;</p>
        <p>&lt;script&gt;z&lt;/script&gt;
        </p>
        "#);
    }

    #[test]
    fn text_that_markdown_hides_is_quoted() {
        assert!(written("[1]: https://a.example \"words\"\n").starts_with("<pre>[1]: https://a.example"));
    }
}
