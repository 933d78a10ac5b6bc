//! Detects elisions in a whole-file write: lines such as `// ... existing code`, whose lines would be lost.

use std::collections::HashSet;

/// The maximum length of an elision line.
const MAX_ELISION_CHARS: usize = 80;
/// Prefixes of an elision line, unless it consists of dots.
const COMMENT_PREFIXES: &[&str] = &["{/*", "/*", "//", "#", "<!--", "--", ";", "%", "(", "["];
/// Characters that may end it.
const CLOSING_CHARS: &[char] = &['*', '/', '}', '-', '>', ')', ']', '.', '…', ':', ' '];
/// Words that mean an elision on their own.
const SOLE_ELISION_WORDS: &[&str] = &["unchanged", "unmodified", "omitted", "snip", "snipped", "truncated"];
/// Words for the lines that are left out, and their nouns.
const ELIDED_ADJECTIVES: &[&str] =
    &["rest", "remaining", "existing", "previous", "other", "same", "original"];
const ELIDED_NOUNS: &[&str] = &[
    "code", "file", "files", "content", "contents", "method", "methods", "function", "functions", "class",
    "classes", "module", "implementation", "implementations", "definitions", "imports", "tests", "lines",
    "logic", "same", "before", "unchanged", "omitted",
];
/// Words that may stand between them.
const FILLER_WORDS: &[&str] = &[
    "the", "of", "this", "your", "all", "and", "as", "is", "are", "was", "it", "here", "remains", "remain",
    "stays", "stay", "goes", "continues", "for", "brevity", "in", "no", "changes", "keep", "kept", "not",
    "shown", "left", "out", "with", "body", "exactly",
];
/// Phrases that mark a line with dots as an elision, whatever else it contains.
const DOTTED_PHRASES: &[&str] =
    &["rest of", "remaining", "existing", "unchanged", "same as before", "other code", "previous"];

/// Returns a line of `content` that only says that lines of the file `before` are left out.
///
/// Dots alone, and words without dots, may be literal. They count if the file becomes shorter, or if lines at that
/// place disappear. Dots that are the whole body of a block, as in Python, count if the file becomes shorter by half.
pub(crate) fn find_elision<'a>(content: &'a str, before: &[u8]) -> Option<&'a str> {
    let before = String::from_utf8_lossy(before);
    let (lines, was) = (content.lines().count(), before.lines().count());
    let new: Vec<&str> = content.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let found = (0..new.len()).find(|at| {
        let (above, line) = (at.checked_sub(1).map_or("", |above| new[above]), new[*at]);
        let is_body = above.ends_with(':') && line == "...";
        let counts = match elision_certainty(line) {
            None => false,
            Some(ElisionCertainty::Certain) => true,
            Some(ElisionCertainty::Possible) if is_body => lines * 2 < was,
            Some(ElisionCertainty::Possible) => lines < was || loses_lines_at(&new, *at, &before),
        };
        counts && !before.contains(line)
    });
    found.map(|at| new[at])
}

/// Returns true if `before` has lines between the neighbours of the line at `at` that `new` contains nowhere.
fn loses_lines_at(new: &[&str], at: usize, before: &str) -> bool {
    let old: Vec<&str> = before.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let place = |line: &str| {
        let mut places = (0..old.len()).filter(|place| old[*place] == line);
        places.next().filter(|_| places.next().is_none())
    };
    let Some(above) = at.checked_sub(1).and_then(|above| place(new[above])) else { return false };
    let below = new.get(at + 1).map_or(Some(old.len()), |below| place(below));
    let stay: HashSet<&str> = new.iter().copied().collect();
    below.is_some_and(|below| (above + 1..below).any(|gone| !stay.contains(old[gone])))
}

/// The certainty that a line is an elision.
#[derive(Debug, PartialEq, Eq)]
enum ElisionCertainty {
    Certain,
    Possible,
}

fn elision_certainty(line: &str) -> Option<ElisionCertainty> {
    let dots = line.contains("...") || line.contains('…');
    let signed = COMMENT_PREFIXES.iter().any(|sign| line.starts_with(sign));
    if line.chars().count() > MAX_ELISION_CHARS
        || !signed && !line.starts_with("...") && !line.starts_with('…')
    {
        return None;
    }
    let phrase = line.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
    if dots && DOTTED_PHRASES.iter().any(|words| phrase.contains(words)) {
        return Some(ElisionCertainty::Certain);
    }
    let mut bare = line;
    // ends: each round takes a sign off
    while let Some(rest) = COMMENT_PREFIXES.iter().find_map(|sign| bare.strip_prefix(sign)) {
        bare = rest.trim_start();
    }
    // Only dots, more than a sentence has.
    let all_dots = dots && bare.trim_matches(CLOSING_CHARS).is_empty();
    (all_dots || says_only_unchanged(&phrase)).then_some(ElisionCertainty::Possible)
}

/// Returns true if the words say only that something is unchanged.
fn says_only_unchanged(phrase: &str) -> bool {
    let words: Vec<&str> =
        phrase.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let any = |of: &[&str]| words.iter().any(|word| of.contains(word));
    let known = |word: &&str| {
        [SOLE_ELISION_WORDS, ELIDED_ADJECTIVES, ELIDED_NOUNS, FILLER_WORDS].iter().any(|of| of.contains(word))
    };
    let pairs = || {
        words.iter().filter(|word| ELIDED_ADJECTIVES.contains(word) || ELIDED_NOUNS.contains(word)).count()
            > 1
    };
    words.iter().all(known)
        && (any(SOLE_ELISION_WORDS) || any(ELIDED_ADJECTIVES) && any(ELIDED_NOUNS) && pairs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "def a():\n    one()\n\n\ndef b():\n    two()\n\n\ndef c():\n    three()\n";

    #[test]
    fn a_line_that_stands_for_the_rest_is_seen() {
        let lines = [
            "# ...",
            "// ...",
            "...",
            "…",
            "/* ... */",
            "{/* ... */}",
            "<!-- ... -->",
            "<!-- rest of the file -->",
            "-- ...",
            "-- rest of the code",
            "# (unchanged)",
            "(unchanged)",
            "// rest of the code remains the same",
            "# Remaining methods are unchanged.",
            "# other functions as before",
            "// existing implementation",
            "/* previous content omitted for brevity */",
            "# the rest of this class stays the same",
            "// ... existing code ...",
            "... (rest of the file unchanged)",
        ];
        for line in lines {
            let content = format!("def a():\n    four()\n{line}\n");
            assert_eq!(find_elision(&content, OLD.as_bytes()), Some(line), "{line}");
        }
    }

    #[test]
    fn lines_that_are_gone_count_though_others_come() {
        let more = "x = 1\ny = 2\nz = 3\nw = 4\nv = 5\nu = 6\n";
        let content = format!("{more}def a():\n    one()\n# ...\ndef c():\n    three()\n");
        assert_eq!(find_elision(&content, OLD.as_bytes()), Some("# ..."));
        let whole =
            format!("{more}def a():\n    one()\n# ...\ndef b():\n    two()\n\ndef c():\n    three()\n");
        assert_eq!(find_elision(&whole, OLD.as_bytes()), None);
    }

    #[test]
    fn a_line_that_may_be_meant_is_not() {
        let lines = [
            "# Handle the remaining code points",
            "# Other",
            "## Rest",
            "# Same",
            "// the previous value",
            "# imports",
            "x = [...]",
            "f(...args)",
            "# and so on...",
            "# ----------",
            "#",
            "-- ",
            "--- a",
        ];
        for line in lines {
            assert_eq!(find_elision(&format!("{line}\n"), OLD.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn dots_that_are_a_body_stay() {
        let longer = OLD.replace("three()", "...\n\n\ndef d():\n    ...");
        assert_eq!(find_elision(&longer, OLD.as_bytes()), None);
        assert_eq!(find_elision(&OLD.replace("three()", "..."), OLD.as_bytes()), None);
        assert_eq!(find_elision("def a():\n    one()\n\n\ndef c():\n    ...\n", OLD.as_bytes()), None);
        assert_eq!(find_elision("def a():\n    ...\n", OLD.as_bytes()), Some("..."));
        assert_eq!(find_elision("# ...\none()\n", b"# ...\none()\ntwo()\n"), None);
    }
}
