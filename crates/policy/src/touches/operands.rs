//! Which words of well-known commands are files, and what becomes of those.

use crate::shell::Word;

/// What a command does with its operands.
#[derive(Clone, Copy)]
enum Does {
    Reads,
    /// The first is a pattern, a program or a mode.
    ReadsRest,
    Writes,
    WritesRest,
    /// The last is written, and those before it are read.
    Copies,
    /// Its operands are no files.
    Neither,
}

/// Commands, options of theirs that take a value, options whose value is a file that is written.
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

/// Options that give `grep` and `sed` what they look for, so that no operand does.
const PATTERNS: &[&str] = &["-e", "-f", "--regexp", "--expression", "--file"];

/// The files among the words of a command.
#[derive(Default)]
pub(super) struct Used {
    pub(super) reads: Vec<Word>,
    pub(super) writes: Vec<Word>,
}

/// The files that the command `name` seems to use, if it is a well-known one.
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
        // `sed -i` writes what it reads.
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

/// The operands, and the options that take a value with theirs.
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

/// `dd`, whose operands are named.
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

/// Whether it is `host:path`.
fn is_elsewhere(word: &Word) -> bool {
    matches!(word, Word::Literal(text) if super::remotes::host_of_path(text).is_some())
}

fn lists(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|listed| listed == name)
}
