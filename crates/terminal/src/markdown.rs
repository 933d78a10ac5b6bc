//! Renders a model's Markdown for a terminal while it arrives: block by block, wrapped at words.

use std::fmt::Write;

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Effects, Style};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use crate::code_highlight::CodeHighlighter;
use crate::{FAINT, escape_invisible};

const BOLD: Style = Style::new().bold();
const TITLE: Style = Style::new().effects(Effects::BOLD.insert(Effects::UNDERLINE));
const ITALIC: Style = Style::new().italic();
const STRUCK: Style = Style::new().strikethrough();
const INLINE_CODE: Style = AnsiColor::Cyan.on_default();
const LINK: Style = Style::new().underline();
/// Narrowest width for which text is wrapped.
const MIN_WIDTH: usize = 20;
/// Letters of the longest name of an entity.
const MAX_ENTITY_LETTERS: usize = 31;
/// The narrowest column of a table.
const MIN_COLUMN: usize = 3;

/// Markdown that arrives in pieces.
#[derive(Default)]
pub struct MarkdownStream {
    /// The complete lines of the unfinished block, and the unfinished line.
    block: String,
    line: String,
    /// The code block that is open.
    fence: Option<OpenFence>,
    /// The previous block belongs to a list, so indentation continues an item.
    in_list: bool,
    /// The last line that was returned is empty.
    after_blank: bool,
}

/// An open fenced code block.
struct OpenFence {
    /// The backticks or tildes that close it.
    marks: String,
    indent: usize,
    highlighter: CodeHighlighter,
}

impl MarkdownStream {
    /// Adds text, and returns the blocks that are complete now, rendered for `width` columns.
    pub fn push(&mut self, text: &str, width: usize) -> String {
        let mut out = String::new();
        for piece in escape_invisible(text).split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.end_line(line.trim_end_matches('\n'), width, &mut out);
            }
        }
        out
    }

    /// Returns the unfinished text, as the model wrote it.
    pub fn pending(&self) -> String {
        format!("{}{}", self.block, self.line)
    }

    /// Returns the unfinished text, rendered. An open code block or list continues with the next text.
    pub fn flush(&mut self, width: usize) -> String {
        let mut out = String::new();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, width, &mut out);
        }
        self.end_block(width, &mut out);
        out
    }

    /// Returns the unfinished text, rendered. The next text begins a new document.
    pub fn finish(&mut self, width: usize) -> String {
        let rest = self.flush(width);
        *self = Self::default();
        rest
    }

    fn end_line(&mut self, line: &str, width: usize, out: &mut String) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(fence) = &mut self.fence {
            if is_closing_fence(text, &fence.marks) {
                self.fence = None;
            } else {
                let code = line.get(fence.indent.min(indent)..).unwrap_or(line);
                let margin = fence.indent + 2;
                out.push_str(&format!("{:margin$}{}\n", "", fence.highlighter.highlight(code)));
                self.after_blank = false;
            }
            return;
        }
        if text.is_empty() {
            self.end_block(width, out);
            if !self.after_blank {
                out.push('\n');
                self.after_blank = true;
            }
            return;
        }
        if let Some((marks, info)) = opening_fence(text) {
            self.end_block(width, out);
            let highlighter = CodeHighlighter::for_info(info);
            self.fence = Some(OpenFence { marks: marks.to_owned(), indent, highlighter });
            return;
        }
        let begins_item = is_list_item(text);
        let is_heading = text.starts_with('#');
        if begins_item || is_heading || (self.block.is_empty() && indent == 0) {
            self.end_block(width, out);
            self.in_list = begins_item;
        }
        self.block.push_str(line);
        self.block.push('\n');
        if is_heading {
            self.end_block(width, out);
        }
    }

    fn end_block(&mut self, width: usize, out: &mut String) {
        let block = std::mem::take(&mut self.block);
        if block.trim().is_empty() {
            return;
        }
        let indent = block.len() - block.trim_start_matches(' ').len();
        // Indentation continues a list item; elsewhere four blanks begin code.
        let (indent, source) = if self.in_list { (indent, unindent(&block, indent)) } else { (0, block) };
        let width = width.saturating_sub(indent).max(MIN_WIDTH);
        let mut rendered = render_block(&source, width);
        if count_letters(&strip_str(&rendered).to_string())
            < count_letters(&without_entities(&source.replace("[x] ", "").replace("[X] ", "")))
        {
            // Markdown hides some text, such as link definitions and superfluous cells.
            rendered = source.lines().flat_map(|line| wrap_words(line, width)).collect::<Vec<_>>().join("\n");
        }
        for line in rendered.lines() {
            out.push_str(&format!("{:indent$}{line}\n", ""));
        }
        self.after_blank = false;
    }
}

fn count_letters(text: &str) -> usize {
    text.chars().filter(|letter| letter.is_alphabetic()).count()
}

/// Removes entities such as `&amp;`, of which fewer letters are left when they are rendered.
fn without_entities(text: &str) -> String {
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name = part.strip_prefix('#').unwrap_or(part);
        let length = name.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(name.len());
        match name[length..].strip_prefix(';') {
            Some(rest) if (1..=MAX_ENTITY_LETTERS).contains(&length) => out.push_str(rest),
            _ => out.push_str(part),
        }
    }
    out
}

/// Removes up to `indent` blanks at the start of every line.
fn unindent(block: &str, indent: usize) -> String {
    block
        .split_inclusive('\n')
        .map(|line| &line[(line.len() - line.trim_start_matches(' ').len()).min(indent)..])
        .collect()
}

/// Returns the marks and the info string of a line that opens a code block.
fn opening_fence(text: &str) -> Option<(&str, &str)> {
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = text.chars().take_while(|letter| *letter == mark).count();
    let info = text[count..].trim();
    (count >= 3 && !info.contains('`')).then_some((&text[..count], info))
}

fn is_closing_fence(text: &str, marks: &str) -> bool {
    let text = text.trim_end();
    text.starts_with(marks) && text.trim_start_matches(&marks[..1]).is_empty()
}

/// Returns true if `text` begins with a list marker and a blank.
fn is_list_item(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    match digits {
        0 => rest.starts_with("- ") || rest.starts_with("* ") || rest.starts_with("+ "),
        1..=9 => rest.starts_with(". ") || rest.starts_with(") "),
        _ => false,
    }
}

/// Renders one block. Its text has no invisible characters.
fn render_block(source: &str, width: usize) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = BlockRenderer::new(width);
    for event in Parser::new_ext(source, options) {
        renderer.handle(event);
    }
    renderer.out
}

/// Renders the events of one block.
struct BlockRenderer {
    width: usize,
    out: String,
    /// The text of the current paragraph, heading or table cell, with styles.
    text: String,
    styles: Vec<Style>,
    /// Prefix of the first line of the next paragraph, and of all others.
    first_prefix: String,
    prefix: String,
    /// The lengths of the prefix outside each open quote and item.
    outer_prefixes: Vec<usize>,
    /// The numbers of the open lists; `None` for bullets.
    lists: Vec<Option<u64>>,
    link: Option<(String, usize)>,
    code: Option<CodeHighlighter>,
    table: RenderedTable,
}

/// The cells of a table.
#[derive(Default)]
struct RenderedTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl BlockRenderer {
    fn new(width: usize) -> Self {
        Self {
            width,
            out: String::new(),
            text: String::new(),
            styles: Vec::new(),
            first_prefix: String::new(),
            prefix: String::new(),
            outer_prefixes: Vec::new(),
            lists: Vec::new(),
            link: None,
            code: None,
            table: RenderedTable::default(),
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(highlighter) => {
                    for line in text.lines() {
                        let line = highlighter.highlight(line);
                        let _infallible = writeln!(self.out, "{}  {line}", self.prefix);
                    }
                }
                None => self.text.push_str(&text),
            },
            Event::Code(text) => self.push_styled(INLINE_CODE, &text),
            Event::Html(text) | Event::InlineHtml(text) => self.text.push_str(&text),
            Event::SoftBreak => self.text.push(' '),
            Event::HardBreak => self.text.push('\n'),
            Event::Rule => {
                let rule = "─".repeat(self.width.min(40));
                let _infallible = writeln!(self.out, "{FAINT}{rule}{FAINT:#}");
            }
            Event::TaskListMarker(is_done) => self.text.push_str(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text.push_str(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.push_style(if level == HeadingLevel::H1 { TITLE } else { BOLD });
            }
            Tag::BlockQuote(_) => self.indent("│ ", "│ "),
            Tag::CodeBlock(kind) => {
                self.end_paragraph();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(CodeHighlighter::for_info(&info));
            }
            Tag::List(first) => {
                self.end_paragraph();
                self.lists.push(first);
            }
            Tag::Item => {
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.indent(&marker, &" ".repeat(marker.width()));
            }
            Tag::Table(alignments) => self.table = RenderedTable { alignments, rows: Vec::new() },
            Tag::TableHead | Tag::TableRow => self.table.rows.push(Vec::new()),
            Tag::Emphasis => self.push_style(ITALIC),
            Tag::Strong => self.push_style(BOLD),
            Tag::Strikethrough => self.push_style(STRUCK),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.to_string(), self.text.len()));
                self.push_style(LINK);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.pop_style();
                self.end_paragraph();
            }
            TagEnd::Paragraph => self.end_paragraph(),
            TagEnd::BlockQuote(_) | TagEnd::Item => self.outdent(),
            TagEnd::CodeBlock => self.code = None,
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(row) = self.table.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                let table = std::mem::take(&mut self.table);
                self.out.push_str(&table.render(self.width));
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.pop_style(),
            TagEnd::Link | TagEnd::Image => {
                self.pop_style();
                self.end_link();
            }
            TagEnd::HtmlBlock => self.end_paragraph(),
            _ => {}
        }
    }

    /// Begins a quote or an item: `first` precedes its first line, `others` its other lines.
    fn indent(&mut self, first: &str, others: &str) {
        self.end_paragraph();
        self.outer_prefixes.push(self.prefix.len());
        self.first_prefix = format!("{}{first}", self.prefix);
        self.prefix.push_str(others);
    }

    fn outdent(&mut self) {
        self.end_paragraph();
        // An item without content, such as `42.`
        if self.first_prefix != self.prefix {
            let _infallible = writeln!(self.out, "{}", self.first_prefix.trim_end());
        }
        self.prefix.truncate(self.outer_prefixes.pop().unwrap_or(0));
        self.first_prefix.clone_from(&self.prefix);
    }

    /// Adds the address of a link, unless it is its text.
    fn end_link(&mut self) {
        let Some((url, from)) = self.link.take() else { return };
        let label = strip_str(&self.text[from..]).to_string();
        if label != url && !url.is_empty() {
            self.push_styled(FAINT, &format!(" ({url})"));
        }
    }

    fn push_style(&mut self, style: Style) {
        self.styles.push(style);
        let _infallible = write!(self.text, "{style}");
    }

    /// Ends the innermost style; the outer ones go on.
    fn pop_style(&mut self) {
        self.styles.pop();
        self.text.push_str("\x1b[0m");
        for style in &self.styles {
            let _infallible = write!(self.text, "{style}");
        }
    }

    fn push_styled(&mut self, style: Style, text: &str) {
        self.push_style(style);
        self.text.push_str(text);
        self.pop_style();
    }

    fn end_paragraph(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return;
        }
        for line in text.split('\n') {
            for row in wrap_words(line, self.width.saturating_sub(self.prefix.width())) {
                let _infallible = writeln!(self.out, "{}{row}", self.first_prefix);
                self.first_prefix.clone_from(&self.prefix);
            }
        }
    }
}

impl RenderedTable {
    /// Renders the table, with columns that fit `width`.
    fn render(&self, width: usize) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return String::new();
        }
        let wanted: Vec<usize> = (0..columns)
            .map(|column| {
                self.rows.iter().map(|row| row.get(column).map_or(0, |cell| plain_width(cell))).max()
            })
            .map(|widest| widest.unwrap_or(0).max(MIN_COLUMN))
            .collect();
        let widths = fit_columns(wanted, width.saturating_sub(3 * (columns - 1)));
        let mut out = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            self.render_row(row, &widths, number == 0, &mut out);
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                let _infallible = writeln!(out, "{FAINT}{}{FAINT:#}", rule.join("─┼─"));
            }
        }
        out
    }

    fn render_row(&self, row: &[String], widths: &[usize], is_head: bool, out: &mut String) {
        let empty = String::new();
        let cells: Vec<Vec<String>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| wrap_words(row.get(column).unwrap_or(&empty), *width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            let shown: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| {
                    let text = cells[column].get(line).unwrap_or(&empty);
                    let pad = width.saturating_sub(plain_width(text));
                    let left = match self.alignments.get(column) {
                        Some(Alignment::Right) => pad,
                        Some(Alignment::Center) => pad / 2,
                        _ => 0,
                    };
                    let text = if is_head { format!("{BOLD}{text}{BOLD:#}") } else { text.clone() };
                    format!("{:left$}{text}{:right$}", "", "", right = pad - left)
                })
                .collect();
            let bar = format!(" {FAINT}│{FAINT:#} ");
            let _infallible = writeln!(out, "{}", shown.join(&bar).trim_end());
        }
    }
}

/// Narrows the widest columns until all fit `room`.
fn fit_columns(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    // ends: each step narrows a column, down to the minimum
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|width| **width > MIN_COLUMN) else { break };
        *widest -= 1;
    }
    widths
}

fn plain_width(text: &str) -> usize {
    strip_str(text).to_string().width()
}

/// Wraps text at words into rows of `width` columns. Longer words are broken. Styles go on after a break.
pub fn wrap_words(text: &str, width: usize) -> Vec<String> {
    let options = textwrap::Options::new(width.max(1)).word_separator(textwrap::WordSeparator::AsciiSpace);
    textwrap::wrap(text, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    /// Renders text that arrives in pieces of `size` bytes, without styles.
    fn render_in_pieces(text: &str, width: usize, size: usize) -> String {
        let (mut stream, mut out, mut rest) = (MarkdownStream::default(), String::new(), text);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
            out.push_str(&stream.push(piece, width));
            rest = after;
        }
        out.push_str(&stream.finish(width));
        strip_str(&out).to_string()
    }

    fn render(text: &str, width: usize) -> String {
        let whole = render_in_pieces(text, width, text.len());
        for size in [1, 7] {
            assert_eq!(render_in_pieces(text, width, size), whole);
        }
        whole
    }

    #[test]
    fn blocks_are_rendered_and_wrapped_at_words() {
        let text = "# The *result*\n\nA paragraph with **bold** words, `code` and a [link](https://a.example/b) that\n\
            is soft-wrapped.\n\n- one item that is long enough to wrap\n  - nested `x`\n- two\n\n3. third\n4. fourth\n\n\
            ```rust\nfn main() {\n    let x = 1;\n\n}\n```\n> quoted words that are long enough to be wrapped\n\nEnd\n---\n";
        assert_snapshot!(render(text, 36), @r"
        The result

        A paragraph with bold words, code
        and a link (https://a.example/b)
        that is soft-wrapped.

        • one item that is long enough to
          wrap
          • nested x
        • two

        3. third
        4. fourth

          fn main() {
              let x = 1;
          
          }
        │ quoted words that are long enough
        │ to be wrapped

        End
        ");
    }

    #[test]
    fn entities_are_rendered_and_the_text_around_them_too() {
        assert_snapshot!(render("a &amp; **bold** &lt;b&gt; &#233; &#x1F600; `&amp;` & c&d; x\n", 60), @"a & bold <b> é 😀 &amp; & c&d; x");
    }

    #[test]
    fn tables_fit_the_screen() {
        let text = "| name | what it does | n |\n|---|:-:|--:|\n| `a` | adds two numbers and prints them | 1 |\n| bb | x | 22 |\n";
        assert_snapshot!(render(text, 60), @r"
        name │           what it does           │   n
        ─────┼──────────────────────────────────┼────
        a    │ adds two numbers and prints them │   1
        bb   │                x                 │  22
        ");
        assert_snapshot!(render(text, 30), @r"
        name │   what it does    │   n
        ─────┼───────────────────┼────
        a    │ adds two numbers  │   1
             │  and prints them  │
        bb   │         x         │  22
        ");
    }

    #[test]
    fn code_in_lists_and_odd_markup_keep_their_lines() {
        let text = "1. run this:\n\n   ```sh\n   make\n     indented\n   ```\n\n   then look\n2. next\n\n    code by\n    indentation\n\n\
            ~~~\n``` inside\n~~~\n* [ ] open\n* [x] done\n<b>html</b> and 2 * 3 * 4 and a_b_c\n";
        assert_snapshot!(render(text, 50), @r"
        1. run this:

             make
               indented

           then look
        2. next

            code by indentation

          ``` inside
        • ☐ open
        • ☑ done <b>html</b> and 2 * 3 * 4 and a_b_c
        ");
    }

    #[test]
    fn text_that_markdown_would_not_show_is_shown() {
        assert_eq!(
            render("42.\n\n-\n\n[1]: https://a.example\n\nsee [x][1]\n", 40),
            "42.\n\n•\n\n[1]: https://a.example\n\nsee [x][1]\n"
        );
    }

    #[test]
    fn a_code_block_continues_after_a_flush() {
        let mut stream = MarkdownStream::default();
        let shown =
            [stream.push("```sh\n# one\n", 40), stream.flush(40), stream.push("# two\n```\n", 40)].concat();
        assert_eq!(strip_str(&shown).to_string(), "  # one\n  # two\n");
    }

    #[test]
    fn control_characters_of_a_model_are_escaped() {
        let shown = MarkdownStream::default().push("\u{1b}[31mred **\u{9b}x**\n\n", 80);
        assert!(shown.starts_with("\\u{1b}[31mred "), "{shown:?}");
        assert!(!shown.contains("\u{1b}[31m") && !shown.contains('\u{9b}'), "{shown:?}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_rendered_the_same_in_any_pieces(text in "[ a`#*_|>\\-\\[\\]()!0-9.\n漢é<&;~+:\"']{0,80}", size in 1_usize..9, width in 1_usize..50) {
            let pieces = render_in_pieces(&text, width, size);
            proptest::prop_assert_eq!(pieces, render_in_pieces(&text, width, text.len().max(1)));
        }

        #[test]
        fn markup_loses_no_letter(text in "[ a-d#*_>\\-\\[\\]()!.:\n漢é+|&;\"<]{0,60}", width in 20_usize..50) {
            let letters = |text: &str| text.chars().filter(|letter| letter.is_alphabetic()).collect::<String>();
            let shown = render_in_pieces(&text, width, 5);
            proptest::prop_assert_eq!(letters(&shown), letters(&text));
        }

        #[test]
        fn no_word_of_a_plain_text_is_lost(words in proptest::collection::vec("[a-z]{1,12}", 0..40), width in 20_usize..80) {
            let shown = render_in_pieces(&words.join(" "), width, 5);
            proptest::prop_assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), words);
            proptest::prop_assert!(shown.lines().all(|line| line.width() <= width));
        }
    }
}
