//! Read-only checks for commands with a grammar of their own: `printf`, `test`, `sleep`, and filters of `jq`.

use super::option_scanner::{ParsedOptions, scan_options};
use super::readable_paths::may_be_read;
use super::{MaybeWord, list_contains};

/// Returns true if `printf` only prints. `-v` and `%n` set a variable, and some shells evaluate the subscript in a
/// number: `a[$(x)]`.
pub(super) fn printf_only_prints(words: &[MaybeWord<'_>]) -> bool {
    let (format, values) = match words {
        [Some("--"), Some(format), values @ ..] => (*format, values),
        [Some(format), values @ ..] if !format.starts_with('-') => (*format, values),
        _ => return false,
    };
    let evaluates = |value: &str| value.contains('[') && value.contains(['$', '`']);
    let format = format.replace("%%", "");
    let kinds: String = format.split('%').skip(1).filter_map(conversion_letter).collect();
    let texts = !format.contains('*') && kinds.chars().all(|kind| "sqb".contains(kind));
    !kinds.contains('n') && (texts || values.iter().all(|value| value.is_some_and(|value| !evaluates(value))))
}

/// Returns the letter of a conversion, given the text after its `%`.
fn conversion_letter(conversion: &str) -> Option<char> {
    conversion.chars().find(|letter| letter.is_alphabetic() && !"hljztL".contains(*letter))
}

/// Operators on one file. `-v` and `-R` are excluded: they evaluate the subscript of a name.
const UNARY: &str = "-b -c -d -e -f -g -h -k -n -p -r -s -u -w -x -z -G -L -N -O -S";
const BINARY: &str = "= == != -ef -nt -ot";
const NUMERIC: &str = "-eq -ne -lt -le -gt -ge";

/// Returns true if `test` only compares or examines files and evaluates nothing. Some shells evaluate numeric operands,
/// so these must be numbers.
pub(super) fn test_is_pure(words: &[MaybeWord<'_>]) -> bool {
    let plain = |word: &str| !word.starts_with('-') && !matches!(word, "!" | "(" | ")");
    match words {
        [] => true,
        // The operands may be anything: neither follows an operator that evaluates.
        [_, Some(operator), _] if list_contains(BINARY, operator) => true,
        [Some("!"), rest @ ..] if !rest.is_empty() && rest.len() <= 3 => test_is_pure(rest),
        [Some(text)] => plain(text),
        [Some("-t"), Some(number)] => is_number(number),
        [Some(operator), _] => list_contains(UNARY, operator),
        // In any grouping no operator evaluates anything.
        [Some(one), Some(text), Some("-a" | "-o"), Some(other), Some(last)] => {
            list_contains(UNARY, one) && list_contains(UNARY, other) && plain(text) && plain(last)
        }
        [Some(one), Some(operator), Some(other)] if list_contains(NUMERIC, operator) => {
            is_number(one) && is_number(other)
        }
        _ => false,
    }
}

/// Applies the check of `test` to `[`, whose last word closes it.
pub(super) fn bracket_is_pure(words: &[MaybeWord<'_>]) -> bool {
    words.split_last().is_some_and(|(last, rest)| *last == Some("]") && test_is_pure(rest))
}

/// Returns true if `command` only looks up a name and runs nothing.
pub(super) fn command_only_looks_up(words: &[MaybeWord<'_>]) -> bool {
    matches!(words.first(), Some(Some("-v" | "-V"))) && scan_options("-vV", words).is_some()
}

/// Returns true if `exit` has at most one number.
pub(super) fn exit_is_number(words: &[MaybeWord<'_>]) -> bool {
    match words {
        [] => true,
        [Some(code)] => {
            code.len() <= 3 && code.chars().all(|digit| digit.is_ascii_digit()) && !code.is_empty()
        }
        _ => false,
    }
}

/// Returns true if `sleep` ends within a minute.
pub(super) fn sleep_is_short(words: &[MaybeWord<'_>]) -> bool {
    let [Some(time)] = words else { return false };
    let time = time.strip_suffix('s').unwrap_or(time);
    let is_plain = time.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    is_plain && time.parse::<f64>().is_ok_and(|seconds| seconds <= 60.0)
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit())
}

/// Names that show the environment or load part of the program from a file.
const JQ_UNSAFE: &str = "env ENV import include modulemeta get_search_list";

/// Returns true if the first operand of `jq` is a filter that shows only its input, and the others are files.
pub(super) fn jq_only_filters(parsed: &ParsedOptions<'_>) -> bool {
    let Some((first, files)) = parsed.operands.split_first() else { return false };
    let is_filter = |filter: &str| filter.split(|c: char| !(is_name_char(c) || c == '.')).all(is_safe_path);
    first.is_some_and(is_filter) && files.iter().all(|file| file.is_some_and(may_be_read))
}

/// Returns true if the dotted `names` use unsafe names only as fields. `.env` is a field of the input; `env` is the
/// environment, also after `..` (all values) and after a number.
fn is_safe_path(names: &str) -> bool {
    let names: Vec<&str> = names.split('.').collect();
    let is_field = |at: usize| match names[..at] {
        [] => false,
        [""] => true,
        [.., before] => !before.is_empty() && !before.starts_with(|c: char| c.is_ascii_digit()),
    };
    names.iter().enumerate().all(|(at, name)| !list_contains(JQ_UNSAFE, name) || is_field(at))
}

fn is_name_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
