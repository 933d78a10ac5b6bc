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
    NotFiles,
}

/// Command names, the use of operands, options that take a value, and options whose value is an output file.
type OperandRow = (&'static str, OperandEffect, &'static str, &'static str);

const OPERAND_TABLE: &[OperandRow] = &[
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
    ("curl", OperandEffect::NotFiles, "", "-o --output"),
    ("wget", OperandEffect::NotFiles, "", "-O -P --output-document"),
    ("cc gcc g++ c++ clang clang++ ld rustc", OperandEffect::NotFiles, "", "-o"),
];

/// Options that give `grep` and `sed` a pattern, so that no operand is one.
const PATTERN_OPTIONS: &[&str] = &["-e", "-f", "--regexp", "--expression", "--file"];

/// The files among the arguments of a command.
#[derive(Default)]
pub(super) struct UsedFiles {
    pub(super) reads: Vec<ScriptWord>,
    pub(super) writes: Vec<ScriptWord>,
}

/// Returns the files that the well-known command `name` appears to use.
pub(super) fn files_used_by(name: &str, words: &[ScriptWord]) -> UsedFiles {
    let row = OPERAND_TABLE.iter().find(|(names, ..)| list_contains(names, name));
    let Some(&(_, does, takes, into)) = row else { return dd_files(name, words) };
    let mut used = UsedFiles::default();
    let patterns = if matches!(does, OperandEffect::ReadsRest) { PATTERN_OPTIONS } else { &[] };
    let (operands, options) = split_operands(words, &format!("{takes} {into} {}", patterns.join(" ")));
    used.writes.extend(
        options.iter().filter(|(option, _)| list_contains(into, option)).map(|(_, value)| (*value).clone()),
    );
    let given = options.iter().any(|(option, _)| PATTERN_OPTIONS.contains(option));
    let rest = if given { &operands[..] } else { operands.get(1..).unwrap_or_default() };
    match does {
        OperandEffect::Reads => used.reads = clone_words(&operands),
        // `sed -i` writes the files that it reads.
        OperandEffect::ReadsRest if name == "sed" && words.iter().any(is_in_place_option) => {
            used.writes = clone_words(rest);
        }
        OperandEffect::ReadsRest => used.reads = clone_words(rest),
        OperandEffect::Writes => used.writes.extend(clone_words(&operands)),
        OperandEffect::WritesRest => used.writes = clone_words(rest),
        OperandEffect::Copies => {
            let last = if used.writes.is_empty() { operands.split_last() } else { None };
            let (to, from) = last.map_or((None, &operands[..]), |(to, from)| (Some(*to), from));
            let here = |word: &ScriptWord| !is_remote_path(word);
            used.writes.extend(to.cloned().filter(here));
            used.reads.extend(clone_words(from).into_iter().filter(here));
        }
        OperandEffect::NotFiles => {}
    }
    used
}

/// Splits arguments into operands and options with a value.
fn split_operands<'a>(
    words: &'a [ScriptWord],
    takes: &str,
) -> (Vec<&'a ScriptWord>, Vec<(&'a str, &'a ScriptWord)>) {
    let (mut operands, mut options, mut only_operands) = (Vec::new(), Vec::new(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word {
            ScriptWord::Literal(text) if only_operands || !text.starts_with('-') || text == "-" => {
                operands.push(word);
            }
            ScriptWord::Literal(text) if text == "--" => only_operands = true,
            ScriptWord::Literal(text) if list_contains(takes, text) => {
                options.extend(words.next().map(|value| (text.as_str(), value)));
            }
            ScriptWord::Literal(_) => {}
            ScriptWord::Unknown(_) => operands.push(word),
        }
    }
    (operands, options)
}

/// Handles `dd`, whose operands are named.
fn dd_files(name: &str, words: &[ScriptWord]) -> UsedFiles {
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

fn clone_words(words: &[&ScriptWord]) -> Vec<ScriptWord> {
    words.iter().map(|word| (*word).clone()).collect()
}

fn is_in_place_option(word: &ScriptWord) -> bool {
    matches!(word, ScriptWord::Literal(text) if text.starts_with("-i") || text.starts_with("--in-place"))
}

/// Returns true for `host:path`.
fn is_remote_path(word: &ScriptWord) -> bool {
    matches!(word, ScriptWord::Literal(text) if super::remote_hosts::host_of_path(text).is_some())
}

fn list_contains(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|listed| listed == name)
}
