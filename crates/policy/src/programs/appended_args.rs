//! Checks commands that get unknown arguments from `xargs` or `find -exec`.

use super::option_scanner::scan_options;
use super::{CommandRisk, classify_command, find_expression, list_contains, program_name, read_only};

/// Programs without options that write, run or wait for anything: they only read, for any argument.
const SAFE_WITH_ANY_ARGS: &str = "
    cat wc head grep ls stat cut nl basename dirname realpath readlink md5sum sha1sum sha256sum echo";
/// Options of `xargs` that do not prompt, and open only the file that they name.
const XARGS: &str = "
    -0rtx -dEInLPs= --null --no-run-if-empty --verbose --exit --delimiter= --max-args= --max-chars= --max-procs=";

/// Returns true if the command `argv` is read-only when each `None` is any word and any number of words follows.
pub(crate) fn is_read_only_with_any_args(argv: &[Option<&str>]) -> bool {
    let Some((Some(program), _)) = argv.split_first() else { return false };
    let stand_in: Vec<&str> = argv.iter().map(|word| word.unwrap_or("x")).collect();
    list_contains(SAFE_WITH_ANY_ARGS, program_name(program))
        && classify_command(&stand_in) == CommandRisk::ReadOnly
}

/// Returns true if `options`, between `xargs` and its command, only control how arguments are taken from the input.
pub(crate) fn xargs_only_runs_command(options: &[Option<&str>]) -> bool {
    let at_lines = |end: &str| matches!(end, "\\n" | "\\0" | "\n");
    scan_options(XARGS, options).is_some_and(|parsed| {
        parsed.operands.is_empty() && parsed.values_of(&["d", "--delimiter"]).all(at_lines)
    })
}

/// Returns true if every word that the command `argv` prints is an existing file name or a number. Some commands do so
/// only if they are `fed` such names.
pub(crate) fn prints_file_names(argv: &[Option<&str>], fed: bool) -> bool {
    let Some((Some(program), words)) = argv.split_first() else { return false };
    let name = program_name(program);
    if name == "find" {
        return !words.contains(&Some("-printf"));
    }
    let Some(parsed) = read_only::parse_options(name, words) else { return false };
    let filters = fed && !parsed.has_any("o --only-matching r --replace c --bytes");
    match name {
        "cd" => true,
        "ls" => !parsed.has_any("--time-style"),
        "grep" if parsed.has_any("l L --files-with-matches --files-without-match") => true,
        "rg" if parsed.has_any("l --files-with-matches --files-without-match --files") => true,
        "grep" | "rg" => {
            let given = parsed.has_any("e f --regexp --file");
            filters && parsed.operands.len() <= usize::from(!given)
        }
        "head" | "sort" | "tail" | "uniq" | "wc" => filters && parsed.operands.is_empty(),
        _ => false,
    }
}

/// Returns true if `find` with `words` only prints, apart from the commands that it starts with `-exec`.
pub(crate) fn find_only_runs_commands(words: &[Option<&str>]) -> bool {
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
    find_expression::only_prints(&left)
}
