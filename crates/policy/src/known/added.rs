//! Commands that are given words nobody knows: by `xargs`, and by `find -exec`.

use super::options::scan;
use super::{Known, find, known, last_part, lists};

/// Programs of which no option writes, runs or waits for anything: whatever a word turns out to be, they read.
const ANY_WORDS: &str = "
    cat wc head grep ls stat cut nl basename dirname realpath readlink md5sum sha1sum sha256sum echo";
/// Options of `xargs` that ask nobody, and open no file but the one they name.
const XARGS: &str = "
    -0rtx -dEInLPs= --null --no-run-if-empty --verbose --exit --delimiter= --max-args= --max-chars= --max-procs=";

/// Whether the command `argv` only reads if each `None` may be any one word, and any number may follow.
pub(crate) fn reads_whatever_is_added(argv: &[Option<&str>]) -> bool {
    let Some((Some(program), _)) = argv.split_first() else { return false };
    let stand_in: Vec<&str> = argv.iter().map(|word| word.unwrap_or("x")).collect();
    lists(ANY_WORDS, last_part(program)) && known(&stand_in) == Known::ReadOnly
}

/// Whether `options`, which stand between `xargs` and its command, only say how words are taken from its input.
pub(crate) fn xargs_only_starts(options: &[Option<&str>]) -> bool {
    scan(XARGS, options).is_some_and(|said| said.operands.is_empty())
}

/// Whether `find` with `words` only prints, but for the commands that it starts with `-exec`.
pub(crate) fn find_only_starts(words: &[Option<&str>]) -> bool {
    let mut left = Vec::new();
    let mut rest = words.iter().copied();
    // ends: each round takes a word
    while let Some(word) = rest.next() {
        if word != Some("-exec") {
            left.push(word);
            continue;
        }
        let mut before = None;
        let ended = rest.by_ref().any(|word| {
            let ends = word == Some(";") || (word == Some("+") && before == Some("{}"));
            before = word;
            ends
        });
        if !ended {
            return false;
        }
        left.push(Some("-true"));
    }
    find::only_prints(&left)
}

/// Whether `text` may name, or lead to, files that never end or show what they should not. Links may do so too, but
/// those have to be there.
pub(crate) fn leads_astray(text: &str) -> bool {
    let climbs =
        |word: &str| word.chars().all(|letter| matches!(letter, '/' | '.')) && !matches!(word, "." | "./");
    let mut words = text.split_whitespace();
    ["/dev", "/proc", "/sys", "/inet"].iter().any(|place| text.contains(place)) || words.any(climbs)
}
