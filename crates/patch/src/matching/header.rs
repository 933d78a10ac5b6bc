//! Finds the `@@` header of a hunk in the file, and the extent of the block or section below it.

use super::line_compare::{fold_line, indentation, is_blank};
use crate::decoded_text::DecodedText;
use crate::engine_part::EnginePart;

/// The cost in search steps of searching one line for a header.
const HEADER_SEARCH_COST: usize = 16;

/// A shorter header matches only a whole line.
const MIN_PARTIAL_HEADER_BYTES: usize = 4;

/// Words that continue or end a block, wherever they stand.
const CONTINUATION_WORDS: &[&str] = &[
    "else", "elsif", "elif", "where", "catch", "finally", "except", "end", "fi", "done", "esac", "#if",
    "#ifdef", "#ifndef", "#else", "#elif", "#endif",
];

/// Words that end a block if they stand alone in a line.
const BLOCK_END_WORDS: &[&str] = &["end", "fi", "done", "esac"];

/// Returns the lines of the innermost of `headers`, each header below the one before it.
pub(crate) fn find_headers(text: &DecodedText<'_>, headers: &[String]) -> Vec<usize> {
    let mut last: Option<Vec<usize>> = None;
    for header in headers.iter().filter(|header| !is_blank(header)) {
        last = Some(find_header_below(text, last.as_deref(), header));
    }
    last.unwrap_or_default()
}

/// Returns the lines of the innermost of those `headers` that are in the file, each below the one before it.
pub(super) fn find_known_headers(text: &DecodedText<'_>, headers: &[String]) -> Vec<usize> {
    let mut last: Option<Vec<usize>> = None;
    for header in headers.iter().filter(|header| !is_blank(header)) {
        let here = find_header_below(text, last.as_deref(), header);
        last = if here.is_empty() { last } else { Some(here) };
    }
    last.unwrap_or_default()
}

/// Returns the lines of `header` within the blocks of `above`, or else after the first of them.
fn find_header_below(text: &DecodedText<'_>, above: Option<&[usize]>, header: &str) -> Vec<usize> {
    let here = find_header_lines(text, header);
    let Some(above) = above else { return here };
    let first = above.first().copied().unwrap_or(usize::MAX);
    let scopes: Vec<(usize, usize)> = header_spans(text, above, block_end);
    if !text.budget().spend(scopes.len().saturating_mul(here.len())) {
        return Vec::new();
    }
    let inside = |at: &usize| scopes.iter().any(|(above, end)| above < at && at < end);
    match here.iter().copied().filter(inside).collect::<Vec<_>>() {
        none if none.is_empty() => here.into_iter().filter(|at| *at > first).collect(),
        some => some,
    }
}

/// Returns each of `headers` with its end, computed by `ends`.
pub(super) fn header_spans(
    text: &DecodedText<'_>,
    headers: &[usize],
    ends: fn(&DecodedText<'_>, usize) -> usize,
) -> Vec<(usize, usize)> {
    let span = |header: &usize| {
        let end = if text.budget().is_exhausted() { *header } else { ends(text, *header) };
        text.budget().spend(4 * end.saturating_sub(*header));
        (*header, end)
    };
    headers.iter().map(span).collect()
}

/// Returns the lines that equal `header`, or else contain it.
fn find_header_lines(text: &DecodedText<'_>, header: &str) -> Vec<usize> {
    let header = fold_line(header);
    let search = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let all = if text.budget().spend(HEADER_SEARCH_COST * text.len()) { text.len() } else { 0 };
        (0..all).filter(|at| is(&fold_line(text.line(*at)))).collect()
    };
    let mut found = text.index().lines_with_fold(&header).to_vec();
    if found.is_empty() && header.len() >= MIN_PARTIAL_HEADER_BYTES && EnginePart::HeaderInfix.is_on() {
        found = search(&|line| line.contains(&*header));
    }
    found
}

/// Returns the line after the block that the line at `header` opens, judged by indentation.
pub(crate) fn block_end(text: &DecodedText<'_>, header: usize) -> usize {
    let own = depth(text.line(header));
    let outside = |at: &usize| {
        let line = text.line(*at);
        !is_blank(line) && (depth(line) < own || depth(line) == own && !continues_block(line))
    };
    (header + 1..text.len()).find(outside).unwrap_or(text.len())
}

/// Returns true if a line continues or closes the block above it.
pub(super) fn continues_block(line: &str) -> bool {
    let line = line.trim_start();
    let word = line.split(|char: char| !char.is_alphanumeric() && char != '#').next().unwrap_or_default();
    line.starts_with(['}', ')', ']', '{']) || CONTINUATION_WORDS.contains(&word)
}

/// Returns the line after the last one that may belong below `header`. A header that opens no block reaches to the next
/// similar one, or to the end of its own block.
pub(super) fn header_reach(text: &DecodedText<'_>, header: usize) -> usize {
    let mut head = header;
    // ends: the head goes down
    while is_attribute(text.line(head)) && head + 1 < text.len() {
        head += 1;
    }
    let own = depth(text.line(head));
    let deeper = |at: usize| !is_blank(text.line(at)) && depth(text.line(at)) > own;
    let end = block_end(text, head);
    if (head + 1..end).any(deeper) {
        return label_end(text, head, end);
    }
    let section = section_marker(text, head);
    let outside = |at: &usize| {
        let line = text.line(*at);
        !is_blank(line)
            && (depth(line) < own
                || section.is_some_and(|mark| self::section_marker(text, *at) == Some(mark)))
    };
    (head + 1..text.len()).find(outside).unwrap_or(text.len())
}

/// Returns the end of a block that continues after a label which is indented no deeper than the block's first line.
fn label_end(text: &DecodedText<'_>, head: usize, mut end: usize) -> usize {
    let label = |line: &str| {
        let name = line.trim_end().strip_suffix(':');
        name.is_some_and(|name| name.chars().all(|char| char.is_alphanumeric() || char == '_'))
    };
    // ends: the end goes down
    while end < text.len() && !text.line(head).trim_end().ends_with(':') && label(text.line(end)) {
        end = block_end(text, end);
    }
    end
}

/// Returns true if a line is an attribute or decorator of the next line.
pub(super) fn is_attribute(line: &str) -> bool {
    line.trim_start().starts_with(['@']) || line.trim_start().starts_with("#[")
}

/// Returns the section marker of the line at `at`, as in INI files and Markdown.
fn section_marker<'a>(text: &'a DecodedText<'_>, at: usize) -> Option<&'a str> {
    let line = text.line(at);
    let apart = at == 0 || is_blank(text.line(at - 1));
    if line.starts_with('[') && line.trim_end().ends_with(']') {
        return Some("[");
    }
    let signs = line.len() - line.trim_start_matches('#').len();
    (apart && signs > 0 && line[signs..].starts_with(' ')).then_some(&line[..signs])
}

/// The extent of a header's section: for each measure, the last line at which a hunk may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeaderSection {
    /// The last line of the block that the header opens; the header itself if it opens none.
    pub(super) block_last_line: usize,
    /// The next line that is indented no deeper than the header and begins with a word.
    pub(super) next_sibling: usize,
    /// The later of that line and the next line that begins with the header's first word.
    pub(super) next_similar: usize,
}

impl HeaderSection {
    /// Measures the section of the line at `header`.
    pub(super) fn from_header(text: &DecodedText<'_>, header: usize) -> Self {
        text.budget().spend(4 * text.len().saturating_sub(header));
        let (own, word) = (depth(text.line(header)), first_word(text.line(header)));
        let below = || (header + 1..text.len()).filter(|at| !is_blank(text.line(*at)));
        let begins = |line: &str| {
            let first = line.trim_start().chars().next();
            let named = first.is_some_and(|first| first.is_alphabetic() || "_$#[@".contains(first));
            named && depth(line) <= own && !continues_block(line)
        };
        let next_sibling = below().find(|at| begins(text.line(*at))).unwrap_or(text.len());
        let same = below().find(|at| first_word(text.line(*at)) == word).unwrap_or(text.len());
        let end = block_end(text, header);
        let closes = |at: &usize| depth(text.line(*at)) == own && closes_block(text.line(*at));
        let block_last_line =
            below().take_while(|at| *at < end).find(closes).unwrap_or(end.saturating_sub(1));
        Self { block_last_line, next_sibling, next_similar: next_sibling.max(same) }
    }
}

/// Returns true if a line only closes a block.
fn closes_block(line: &str) -> bool {
    let line = line.trim();
    let rest = line.trim_start_matches(['}', ')', ']', ';', ',']);
    let bracket = rest.len() < line.len() && !line.starts_with([';', ',']);
    bracket && (rest.is_empty() || rest.trim_start().starts_with(['/', '#']))
        || BLOCK_END_WORDS.contains(&line)
}

/// Returns the first word of a line, or else its first character.
fn first_word(line: &str) -> &str {
    let line = line.trim_start();
    let ends = |char: char| !(char.is_alphabetic() || "_$#[".contains(char));
    let end = line.find(ends).unwrap_or(line.len());
    let first = line.chars().next().map_or(0, char::len_utf8);
    &line[..end.max(first)]
}

/// Returns true if the line at `at` begins another block or section after the one of `header`.
pub(super) fn starts_next_block(text: &DecodedText<'_>, header: usize, at: usize) -> bool {
    let sections = section_marker(text, header).is_some() && section_marker(text, at).is_some();
    sections || depth(text.line(at)) <= depth(text.line(header)) && opens_block(text, at)
}

/// Returns true if the line at `at` opens a block, judged by indentation.
pub(super) fn opens_block(text: &DecodedText<'_>, at: usize) -> bool {
    let below = (at + 1..text.len()).find(|at| !is_blank(text.line(*at)));
    below.is_some_and(|below| depth(text.line(below)) > depth(text.line(at)))
}

fn depth(line: &str) -> usize {
    indentation(line).chars().map(|blank| if blank == '\t' { 4 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_within_one_another() {
        let file = "class A:\n    def f(self):\n        pass\n\nclass B:\n    def f(self):\n        x\n    def g():\n        y\n";
        let text = DecodedText::from_bytes(file.as_bytes()).unwrap();
        let rows: &[(&[&str], &[usize])] = &[
            (&["class B:"], &[4]),
            (&["class B"], &[4]),
            (&["  class B:  "], &[4]),
            (&["def f(self):"], &[1, 5]),
            (&["class B:", "def f(self):"], &[5]),
            (&["class A:", "def f(self):"], &[1]),
            (&["class A:", "def g():"], &[7]),
            (&["class C:"], &[]),
            (&[""], &[]),
        ];
        for (headers, expected) in rows {
            let headers: Vec<String> = headers.iter().map(|&header| header.to_owned()).collect();
            assert_eq!(find_headers(&text, &headers), *expected, "{headers:?}");
        }
        let stacked = |inner: &str| find_known_headers(&text, &["class A:".to_owned(), inner.to_owned()]);
        assert_eq!([stacked("def f(self):"), stacked("def h():")], [vec![1], vec![0]]);
        assert_eq!(
            [block_end(&text, 0), block_end(&text, 1), block_end(&text, 5), block_end(&text, 4)],
            [4, 4, 7, 9]
        );
    }

    #[test]
    fn a_section_ends_with_its_block_or_at_the_next_like_it() {
        let rows = [
            ("def a():\n  x\ny = 1\ndef b():\n", (1, 2, 3)),
            ("int f()\n{\n  x\n}\n  y\nint g()\n", (3, 5, 5)),
            ("fn f(\n  a: A,\n) {\n  x\n}\n  y\n", (4, 6, 6)),
            ("it 'a' do\n  x\nend\n\nend\nit 'b' do\n", (2, 5, 5)),
            ("# A\nx\n## B\ny\n", (0, 1, 4)),
            ("  a:\n    x\n  b:\n    a: 1\n", (1, 2, 3)),
            ("if a; then\n  x\nelse\n  y\nfi\n", (4, 5, 5)),
        ];
        for (file, (block_last_line, next_sibling, next_similar)) in rows {
            let text = DecodedText::from_bytes(file.as_bytes()).unwrap();
            assert_eq!(
                HeaderSection::from_header(&text, 0),
                HeaderSection { block_last_line, next_sibling, next_similar },
                "{file}"
            );
        }
    }

    #[test]
    fn a_header_reaches_to_the_next_like_it() {
        let rows = [
            ("a:\n  x\nb:\n  y\n", 0, 2),
            ("[a]\nx\n[b]\ny\n", 0, 2),
            ("# A\nx\n\n# B\ny\n", 0, 3),
            ("# A\nx\n\n## B\ny\n", 0, 5),
            ("import a\nimport b\nx\n", 0, 3),
            ("f()\n{\n  x\nerr:\n  y\n}\ng()\n", 0, 6),
            ("@dec\ndef f():\n    x\ndef g():\n    y\n", 0, 3),
            ("  x\n  y\nz\n", 0, 2),
        ];
        for (file, header, end) in rows {
            assert_eq!(
                header_reach(&DecodedText::from_bytes(file.as_bytes()).unwrap(), header),
                end,
                "{file}"
            );
        }
    }
}
