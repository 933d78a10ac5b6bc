//! Finds the block of code around a line, by indentation alone.

/// Options for choosing the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockOptions {
    /// The number of indentation levels to go out from the line; 0 means to the outermost.
    pub(crate) levels: usize,
    /// Includes or leaves out neighbours at the block's own level.
    pub(crate) siblings: SiblingLines,
    /// Includes or leaves out comments and attributes right above the block.
    pub(crate) header: HeaderLines,
    /// The most lines to take.
    pub(crate) limit: usize,
}

/// Includes or leaves out neighbours at the block's own level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SiblingLines {
    Include,
    LeaveOut,
}

/// Includes or leaves out comments and attributes right above the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderLines {
    Include,
    LeaveOut,
}

/// The width of a tab in columns, and of a level in code without any indentation.
const TAB_WIDTH: usize = 4;

/// Finds the block around `lines[anchor]`, as a range of indices.
pub(crate) fn find_block(lines: &[String], anchor: usize, options: BlockOptions) -> std::ops::Range<usize> {
    let indents = measure_indents(lines);
    let own = indents[anchor];
    let level = indents.iter().copied().filter(|&indent| indent > 0).min().unwrap_or(TAB_WIDTH);
    let floor =
        if options.levels == 0 { 0 } else { own.saturating_sub(level.saturating_mul(options.levels)) };
    let block = BlockScan { lines, indents: &indents, floor, options };
    let (mut first, mut last) = (anchor, anchor);
    // A line at the floor is the head of its block: a line above it at its level is a neighbour. A closing line is not
    // a head: the head is further up.
    let is_head = own == floor && !closes_block(&lines[anchor]);
    let (mut up, mut down) =
        (BlockEdge::new(is_head), BlockEdge::new(own == floor && !is_head && !opens_block(&lines[anchor])));
    // ends: every round takes a line, or both edges are closed
    while last - first + 1 < options.limit && (up.open || down.open) {
        if up.open {
            up.open = first > 0 && block.takes_above(first - 1, &mut up);
            first -= usize::from(up.open);
        }
        if down.open && last - first + 1 < options.limit {
            down.open = last + 1 < lines.len() && block.takes_below(last + 1, &mut down);
            last += usize::from(down.open);
        }
    }
    while first < anchor && lines[first].trim().is_empty() {
        first += 1;
    }
    while last > anchor && lines[last].trim().is_empty() {
        last -= 1;
    }
    first..last + 1
}

/// The growth of the block in one direction.
struct BlockEdge {
    open: bool,
    /// True once the line that bounds the block here was taken.
    bounded: bool,
}

impl BlockEdge {
    fn new(bounded: bool) -> Self {
        Self { open: true, bounded }
    }
}

/// The lines, their indentation and the options of one search.
struct BlockScan<'a> {
    lines: &'a [String],
    indents: &'a [usize],
    floor: usize,
    options: BlockOptions,
}

impl BlockScan<'_> {
    fn takes_above(&self, at: usize, edge: &mut BlockEdge) -> bool {
        if self.indents[at] < self.floor {
            return false;
        }
        if self.options.siblings == SiblingLines::Include {
            return true;
        }
        if edge.bounded {
            let header = self.options.header == HeaderLines::Include;
            return header && self.indents[at] == self.floor && is_header(&self.lines[at]);
        }
        let line = &self.lines[at];
        edge.bounded = self.indents[at] == self.floor && !line.trim().is_empty() && !closes_block(line);
        true
    }

    fn takes_below(&self, at: usize, edge: &mut BlockEdge) -> bool {
        if self.indents[at] < self.floor || edge.bounded {
            return false;
        }
        if self.options.siblings == SiblingLines::Include || self.lines[at].trim().is_empty() {
            return true;
        }
        if self.indents[at] == self.floor {
            let line = &self.lines[at];
            // `) -> u8 {` and `else:` end one part of the block and begin the next.
            edge.bounded = !opens_block(line);
            return closes_block(line);
        }
        true
    }
}

/// Returns the indentation of each line; a blank line has that of the line before it.
fn measure_indents(lines: &[String]) -> Vec<usize> {
    let mut before = 0;
    lines
        .iter()
        .map(|line| {
            if !line.trim().is_empty() {
                let spaces = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
                before = spaces.map(|c| if c == '\t' { TAB_WIDTH } else { 1 }).sum();
            }
            before
        })
        .collect()
}

fn is_header(line: &str) -> bool {
    const HEADER_PREFIXES: &[&str] = &["#", "//", "--", "/*", "*", "@", ";;", "\"\"\""];
    HEADER_PREFIXES.iter().any(|start| line.trim_start().starts_with(start))
}

fn closes_block(line: &str) -> bool {
    const CLOSING_WORDS: &[&str] =
        &["end", "fi", "done", "esac", "else", "elif", "except", "finally", "catch"];
    let text = line.trim_start();
    let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    text.starts_with(['}', ')', ']']) || text.starts_with("</") || CLOSING_WORDS.contains(&word)
}

/// Returns true if more of the block follows below the line.
fn opens_block(line: &str) -> bool {
    let text = line.trim_end();
    text.ends_with(['{', '(', '[', ':'])
        || text.ends_with("=>")
        || text.ends_with(" do")
        || text.ends_with(" then")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = "\
use a;

/// Adds.
#[inline]
fn add(a: u8) -> u8 {
    if a > 1 {
        a + 1

    } else {
        0
    }
}

fn other() {
    two();
}";

    fn block(text: &str, line: usize, choice: BlockOptions) -> (usize, usize) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let range = find_block(&lines, line - 1, choice);
        (range.start + 1, range.end)
    }

    const PLAIN: BlockOptions = BlockOptions {
        levels: 0,
        siblings: SiblingLines::LeaveOut,
        header: HeaderLines::Include,
        limit: 100,
    };

    #[test]
    fn blocks_of_rust() {
        let no_header = BlockOptions { header: HeaderLines::LeaveOut, ..PLAIN };
        let one = BlockOptions { levels: 1, ..PLAIN };
        for (line, choice, expected) in [
            (7, PLAIN, (3, 12)),
            (7, no_header, (5, 12)),
            (7, one, (6, 11)),
            (5, PLAIN, (3, 12)),
            (14, PLAIN, (14, 16)),
            (15, PLAIN, (14, 16)),
            (1, PLAIN, (1, 1)),
            (7, BlockOptions { limit: 1, ..PLAIN }, (7, 7)),
            (7, BlockOptions { siblings: SiblingLines::Include, ..PLAIN }, (1, 16)),
        ] {
            assert_eq!(block(RUST, line, choice), expected, "line {line}, {choice:?}");
        }
    }

    #[test]
    fn blocks_of_python_do_not_take_the_next_statement() {
        let python = "# doc\ndef a():\n    x = 1\n\n    return x\n\nprint(a())\n";
        assert_eq!(block(python, 3, PLAIN), (1, 5));
        assert_eq!(block(python, 7, PLAIN), (7, 7));
    }

    #[test]
    fn a_signature_of_several_lines_belongs_to_its_body() {
        let rust = "fn a() {}\n\npub fn f(\n    a: u8,\n) -> u8 {\n    a\n}\n\nfn b() {}";
        for line in 3..=7 {
            assert_eq!(block(rust, line, PLAIN), (3, 7), "line {line}");
        }
        let python = "if a:\n    b\nelse:\n    c\nd";
        assert_eq!(block(python, 2, PLAIN), (1, 4));
        assert_eq!(block(python, 4, PLAIN), (1, 4));
    }

    #[test]
    fn a_level_is_what_the_file_says_it_is() {
        let yaml = "a:\n  b:\n    c:\n      d: 1\n  e: 2";
        assert_eq!(block(yaml, 4, BlockOptions { levels: 1, ..PLAIN }), (3, 4));
        assert_eq!(block(yaml, 4, BlockOptions { levels: 2, ..PLAIN }), (2, 4));
    }

    #[test]
    fn no_more_lines_than_asked_for() {
        for limit in 1..12 {
            let (first, last) = block(RUST, 7, BlockOptions { limit, ..PLAIN });
            assert!(last - first < limit && first <= 7 && 7 <= last, "{limit}");
        }
    }
}
