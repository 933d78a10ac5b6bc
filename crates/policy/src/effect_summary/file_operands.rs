//! Finds the files among the arguments of well-known commands, and how they are used.

use crate::shell::ScriptWord;

/// The use that a command makes of its operands.
#[derive(Clone, Copy)]
enum OperandEffect {
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
type OperandRow = (&'static str, OperandEffect, &'static str, &'static str);

const HABITS: &[OperandRow] = &[
    (
        "cat tac nl wc less more od xxd hexdump strings file stat ls tree du",
        OperandEffect::Reads,
        "-N -j -w -I -L",
        "",
    ),
    (
        "md5sum sha1sum sha256sum sha512sum b2sum cksum base64 cmp diff readlink realpath",
        OperandEffect::Reads,
        "-w",
        "",
    ),
    ("head tail", OperandEffect::Reads, "-n -c --lines --bytes", ""),
    ("sort uniq", OperandEffect::Reads, "-k -t -S -T -f -s -w", "-o --output"),
    ("cut paste", OperandEffect::Reads, "-d -f -c -b", ""),
    ("source .", OperandEffect::Reads, "", ""),
    ("grep egrep fgrep rg", OperandEffect::ReadsRest, "-m -A -B -C -g -t -T --type --glob", ""),
    ("awk gawk mawk", OperandEffect::ReadsRest, "-F -v", ""),
    ("sed", OperandEffect::ReadsRest, "-l", ""),
    ("touch mkdir rm rmdir unlink shred mkfifo", OperandEffect::Writes, "-m -d -t -n -s", ""),
    ("tee truncate", OperandEffect::Writes, "-s --size", ""),
    ("mv", OperandEffect::Writes, "-S", "-t --target-directory"),
    ("chmod chown chgrp setfacl", OperandEffect::WritesRest, "", ""),
    ("cp ln install", OperandEffect::Copies, "-S -m -o -g", "-t --target-directory"),
    ("scp rsync", OperandEffect::Copies, "-P -p -i -F -o -J -l -c -e -f --exclude --include", ""),
    ("curl", OperandEffect::Neither, "", "-o --output"),
    ("wget", OperandEffect::Neither, "", "-O -P --output-document"),
    ("cc gcc g++ c++ clang clang++ ld rustc", OperandEffect::Neither, "", "-o"),
];

/// Options that give `grep` and `sed` a pattern, so that no operand is one.
const PATTERNS: &[&str] = &["-e", "-f", "--regexp", "--expression", "--file"];

/// The files among the arguments of a command.
#[derive(Default)]
pub(super) struct UsedFiles {
    pub(super) reads: Vec<ScriptWord>,
    pub(super) writes: Vec<ScriptWord>,
}

/// Returns the files that the well-known command `name` appears to use.
pub(super) fn files_used_by(name: &str, words: &[ScriptWord]) -> UsedFiles {
    let habit = HABITS.iter().find(|(names, ..)| lists(names, name));
    let Some(&(_, does, takes, into)) = habit else { return dd(name, words) };
    let mut used = UsedFiles::default();
    let (operands, options) = split(words, &format!("{takes} {into} {}", PATTERNS.join(" ")));
    used.writes
        .extend(options.iter().filter(|(option, _)| lists(into, option)).map(|(_, value)| (*value).clone()));
    let given = options.iter().any(|(option, _)| PATTERNS.contains(option));
    let rest = if given { &operands[..] } else { operands.get(1..).unwrap_or_default() };
    match does {
        OperandEffect::Reads => used.reads = owned(&operands),
        // `sed -i` writes the files that it reads.
        OperandEffect::ReadsRest if name == "sed" && words.iter().any(in_place) => used.writes = owned(rest),
        OperandEffect::ReadsRest => used.reads = owned(rest),
        OperandEffect::Writes => used.writes.extend(owned(&operands)),
        OperandEffect::WritesRest => used.writes = owned(rest),
        OperandEffect::Copies => {
            let last = if used.writes.is_empty() { operands.split_last() } else { None };
            let (to, from) = last.map_or((None, &operands[..]), |(to, from)| (Some(*to), from));
            let here = |word: &ScriptWord| !is_elsewhere(word);
            used.writes.extend(to.cloned().filter(here));
            used.reads.extend(owned(from).into_iter().filter(here));
        }
        OperandEffect::Neither => {}
    }
    used
}

/// Splits arguments into operands and options with a value.
fn split<'a>(words: &'a [ScriptWord], takes: &str) -> (Vec<&'a ScriptWord>, Vec<(&'a str, &'a ScriptWord)>) {
    let (mut operands, mut options, mut only_operands) = (Vec::new(), Vec::new(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word {
            ScriptWord::Literal(text) if only_operands || !text.starts_with('-') || text == "-" => {
                operands.push(word);
            }
            ScriptWord::Literal(text) if text == "--" => only_operands = true,
            ScriptWord::Literal(text) if lists(takes, text) => {
                options.extend(words.next().map(|value| (text.as_str(), value)));
            }
            ScriptWord::Literal(_) => {}
            ScriptWord::Unknown(_) => operands.push(word),
        }
    }
    (operands, options)
}

/// Handles `dd`, whose operands are named.
fn dd(name: &str, words: &[ScriptWord]) -> UsedFiles {
    let named = |prefix: &str| {
        let value = |word: &ScriptWord| match word {
            ScriptWord::Literal(text) if name == "dd" => {
                text.strip_prefix(prefix).map(|text| ScriptWord::Literal(text.to_owned()))
            }
            ScriptWord::Literal(_) | ScriptWord::Unknown(_) => None,
        };
        words.iter().filter_map(value).collect()
    };
    UsedFiles { reads: named("if="), writes: named("of=") }
}

fn owned(words: &[&ScriptWord]) -> Vec<ScriptWord> {
    words.iter().map(|word| (*word).clone()).collect()
}

fn in_place(word: &ScriptWord) -> bool {
    matches!(word, ScriptWord::Literal(text) if text.starts_with("-i") || text.starts_with("--in-place"))
}

/// Returns true for `host:path`.
fn is_elsewhere(word: &ScriptWord) -> bool {
    matches!(word, ScriptWord::Literal(text) if super::remote_hosts::host_of_path(text).is_some())
}

fn lists(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|listed| listed == name)
}
