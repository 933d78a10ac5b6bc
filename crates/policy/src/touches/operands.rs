//! Finds the files among the arguments of well-known commands, and how they are used.

use crate::shell::Word;

/// The use that a command makes of its operands.
#[derive(Clone, Copy)]
enum Does {
    Reads,
    /// Reads all but the first, which is a pattern, a program or a mode.
    ReadsRest,
    Writes,
    WritesRest,
    /// Writes the last operand and reads the others.
    Copies,
    /// Operands are not files.
    Neither,
}

/// Command names, the use of operands, options that take a value, and options whose value is an output file.
type Habit = (&'static str, Does, &'static str, &'static str);

const HABITS: &[Habit] = &[
    (
        "cat tac nl wc less more od xxd hexdump strings file stat ls tree du",
        Does::Reads,
        "-N -j -w -I -L",
        "",
    ),
    (
        "md5sum sha1sum sha256sum sha512sum b2sum cksum base64 cmp diff readlink realpath",
        Does::Reads,
        "-w",
        "",
    ),
    ("head tail", Does::Reads, "-n -c --lines --bytes", ""),
    ("sort uniq", Does::Reads, "-k -t -S -T -f -s -w", "-o --output"),
    ("cut paste", Does::Reads, "-d -f -c -b", ""),
    ("source .", Does::Reads, "", ""),
    ("grep egrep fgrep rg", Does::ReadsRest, "-m -A -B -C -g -t -T --type --glob", ""),
    ("awk gawk mawk", Does::ReadsRest, "-F -v", ""),
    ("sed", Does::ReadsRest, "-l", ""),
    ("touch mkdir rm rmdir unlink shred mkfifo", Does::Writes, "-m -d -t -n -s", ""),
    ("tee truncate", Does::Writes, "-s --size", ""),
    ("mv", Does::Writes, "-S", "-t --target-directory"),
    ("chmod chown chgrp setfacl", Does::WritesRest, "", ""),
    ("cp ln install", Does::Copies, "-S -m -o -g", "-t --target-directory"),
    ("scp rsync", Does::Copies, "-P -p -i -F -o -J -l -c -e -f --exclude --include", ""),
    ("curl", Does::Neither, "", "-o --output"),
    ("wget", Does::Neither, "", "-O -P --output-document"),
    ("cc gcc g++ c++ clang clang++ ld rustc", Does::Neither, "", "-o"),
];

/// Options that give `grep` and `sed` a pattern, so that no operand is one.
const PATTERNS: &[&str] = &["-e", "-f", "--regexp", "--expression", "--file"];

/// The files among the arguments of a command.
#[derive(Default)]
pub(super) struct Used {
    pub(super) reads: Vec<Word>,
    pub(super) writes: Vec<Word>,
}

/// Returns the files that the well-known command `name` appears to use.
pub(super) fn of(name: &str, words: &[Word]) -> Used {
    let habit = HABITS.iter().find(|(names, ..)| lists(names, name));
    let Some(&(_, does, takes, into)) = habit else { return dd(name, words) };
    let mut used = Used::default();
    let (operands, options) = split(words, &format!("{takes} {into} {}", PATTERNS.join(" ")));
    used.writes
        .extend(options.iter().filter(|(option, _)| lists(into, option)).map(|(_, value)| (*value).clone()));
    let given = options.iter().any(|(option, _)| PATTERNS.contains(option));
    let rest = if given { &operands[..] } else { operands.get(1..).unwrap_or_default() };
    match does {
        Does::Reads => used.reads = owned(&operands),
        // `sed -i` writes the files that it reads.
        Does::ReadsRest if name == "sed" && words.iter().any(in_place) => used.writes = owned(rest),
        Does::ReadsRest => used.reads = owned(rest),
        Does::Writes => used.writes.extend(owned(&operands)),
        Does::WritesRest => used.writes = owned(rest),
        Does::Copies => {
            let last = if used.writes.is_empty() { operands.split_last() } else { None };
            let (to, from) = last.map_or((None, &operands[..]), |(to, from)| (Some(*to), from));
            let here = |word: &Word| !is_elsewhere(word);
            used.writes.extend(to.cloned().filter(here));
            used.reads.extend(owned(from).into_iter().filter(here));
        }
        Does::Neither => {}
    }
    used
}

/// Splits arguments into operands and options with a value.
fn split<'a>(words: &'a [Word], takes: &str) -> (Vec<&'a Word>, Vec<(&'a str, &'a Word)>) {
    let (mut operands, mut options, mut only_operands) = (Vec::new(), Vec::new(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word {
            Word::Literal(text) if only_operands || !text.starts_with('-') || text == "-" => {
                operands.push(word);
            }
            Word::Literal(text) if text == "--" => only_operands = true,
            Word::Literal(text) if lists(takes, text) => {
                options.extend(words.next().map(|value| (text.as_str(), value)));
            }
            Word::Literal(_) => {}
            Word::Unknown(_) => operands.push(word),
        }
    }
    (operands, options)
}

/// Handles `dd`, whose operands are named.
fn dd(name: &str, words: &[Word]) -> Used {
    let named = |prefix: &str| {
        let value = |word: &Word| match word {
            Word::Literal(text) if name == "dd" => {
                text.strip_prefix(prefix).map(|text| Word::Literal(text.to_owned()))
            }
            Word::Literal(_) | Word::Unknown(_) => None,
        };
        words.iter().filter_map(value).collect()
    };
    Used { reads: named("if="), writes: named("of=") }
}

fn owned(words: &[&Word]) -> Vec<Word> {
    words.iter().map(|word| (*word).clone()).collect()
}

fn in_place(word: &Word) -> bool {
    matches!(word, Word::Literal(text) if text.starts_with("-i") || text.starts_with("--in-place"))
}

/// Returns true for `host:path`.
fn is_elsewhere(word: &Word) -> bool {
    matches!(word, Word::Literal(text) if super::remotes::host_of_path(text).is_some())
}

fn lists(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|listed| listed == name)
}
