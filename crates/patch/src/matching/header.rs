//! Where the header of a hunk stands in the file, and how far what it heads goes on.

use super::line::{fold, indent, is_blank};
use crate::text::Text;

/// A header shorter than this is only taken for a whole line.
const TELLING: usize = 4;

/// Words that go on with what was begun, wherever they stand.
const CONTINUES: &[&str] = &[
    "else", "elsif", "elif", "where", "catch", "finally", "except", "#if", "#ifdef", "#ifndef", "#else",
    "#elif", "#endif",
];

/// Where the innermost of `headers` stands, each below the one before it.
pub(crate) fn places(text: &Text<'_>, headers: &[String]) -> Vec<usize> {
    let mut last: Option<Vec<usize>> = None;
    for header in headers.iter().filter(|header| !is_blank(header)) {
        let here = stands(text, header);
        last = Some(match last {
            None => here,
            Some(above) => {
                let first = above.first().copied().unwrap_or(usize::MAX);
                let inside = |at: &usize| above.iter().any(|above| above < at && *at < scope(text, *above));
                match here.iter().copied().filter(inside).collect::<Vec<_>>() {
                    none if none.is_empty() => here.into_iter().filter(|at| *at > first).collect(),
                    some => some,
                }
            }
        });
    }
    last.unwrap_or_default()
}

/// The lines that are `header`, or else begin with it, or else hold it.
fn stands(text: &Text<'_>, header: &str) -> Vec<usize> {
    let header = fold(header);
    let search = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let all = if text.effort().spend(4 * text.len()) { text.len() } else { 0 };
        (0..all).filter(|at| is(&fold(text.line(*at)))).collect()
    };
    let mut found = text.index().folded(&header).to_vec();
    if found.is_empty() && header.len() >= TELLING {
        found = search(&|line| line.starts_with(&*header));
    }
    if found.is_empty() && header.len() >= TELLING {
        found = search(&|line| line.contains(&*header));
    }
    found
}

/// The line after the last that belongs to what the line at `header` begins, as its indentation has it.
pub(crate) fn scope(text: &Text<'_>, header: usize) -> usize {
    let own = depth(text.line(header));
    let goes_on = |line: &str| {
        let line = line.trim_start();
        let word = line.split(|char: char| !char.is_alphanumeric() && char != '#').next().unwrap_or_default();
        line.starts_with(['}', ')', ']', '{']) || CONTINUES.contains(&word)
    };
    let outside = |at: &usize| {
        let line = text.line(*at);
        !is_blank(line) && (depth(line) < own || depth(line) == own && !goes_on(line))
    };
    (header + 1..text.len()).find(outside).unwrap_or(text.len())
}

fn depth(line: &str) -> usize {
    indent(line).chars().map(|blank| if blank == '\t' { 4 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_within_one_another() {
        let file = "class A:\n    def f(self):\n        pass\n\nclass B:\n    def f(self):\n        x\n    def g():\n        y\n";
        let text = Text::read(file.as_bytes()).unwrap();
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
            assert_eq!(places(&text, &headers), *expected, "{headers:?}");
        }
        assert_eq!([scope(&text, 0), scope(&text, 1), scope(&text, 5), scope(&text, 4)], [4, 4, 7, 9]);
    }
}
