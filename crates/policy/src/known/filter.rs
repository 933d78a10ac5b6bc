//! Words with a small grammar of their own: `printf`, `test`, `sleep`, and the filters of `jq`.

use super::options::{Said, scan};
use super::ways::may_be_read;
use super::{Word, lists};

/// Whether the words of `printf` only print. `-v` and `%n` set a variable, and some shells evaluate the subscript in a
/// number: `a[$(x)]`.
pub(super) fn printf(words: &[Word<'_>]) -> bool {
    let (format, values) = match words {
        [Some("--"), Some(format), values @ ..] => (*format, values),
        [Some(format), values @ ..] if !format.starts_with('-') => (*format, values),
        _ => return false,
    };
    let evaluates = |value: &str| value.contains('[') && value.contains(['$', '`']);
    let format = format.replace("%%", "");
    let kinds: String = format.split('%').skip(1).filter_map(kind).collect();
    let texts = !format.contains('*') && kinds.chars().all(|kind| "sqb".contains(kind));
    !kinds.contains('n') && (texts || values.iter().all(|value| value.is_some_and(|value| !evaluates(value))))
}

/// The letter of a conversion, given what follows its `%`.
fn kind(conversion: &str) -> Option<char> {
    conversion.chars().find(|letter| letter.is_alphabetic() && !"hljztL".contains(*letter))
}

/// What looks at one file. `-v` and `-R` are not among them: they evaluate the subscript of a name.
const UNARY: &str = "-b -c -d -e -f -g -h -k -n -p -r -s -u -w -x -z -G -L -N -O -S";
const BINARY: &str = "= == != -ef -nt -ot";
const NUMERIC: &str = "-eq -ne -lt -le -gt -ge";

/// Whether the words of `test` compare or look, and evaluate nothing. Some shells evaluate what is compared as a number,
/// so that it must be one.
pub(super) fn test(words: &[Word<'_>]) -> bool {
    let plain = |word: &str| !word.starts_with('-') && !matches!(word, "!" | "(" | ")");
    match words {
        [] => true,
        // Whatever stands before and behind: neither is behind an operator that evaluates.
        [_, Some(operator), _] if lists(BINARY, operator) => true,
        [Some("!"), rest @ ..] if !rest.is_empty() && rest.len() <= 3 => test(rest),
        [Some(text)] => plain(text),
        [Some("-t"), Some(number)] => is_number(number),
        [Some(operator), _] => lists(UNARY, operator),
        // However it is grouped, there is nothing in it that evaluates.
        [Some(one), Some(text), Some("-a" | "-o"), Some(other), Some(last)] => {
            lists(UNARY, one) && lists(UNARY, other) && plain(text) && plain(last)
        }
        [Some(one), Some(operator), Some(other)] if lists(NUMERIC, operator) => {
            is_number(one) && is_number(other)
        }
        _ => false,
    }
}

/// The same for `[`, whose last word closes it.
pub(super) fn bracket(words: &[Word<'_>]) -> bool {
    words.split_last().is_some_and(|(last, rest)| *last == Some("]") && test(rest))
}

/// Whether `command` is asked for what a name means, and does not run it.
pub(super) fn command(words: &[Word<'_>]) -> bool {
    matches!(words.first(), Some(Some("-v" | "-V"))) && scan("-vV", words).is_some()
}

/// Whether the words of `exit` are one number at most.
pub(super) fn exit(words: &[Word<'_>]) -> bool {
    match words {
        [] => true,
        [Some(code)] => {
            code.len() <= 3 && code.chars().all(|digit| digit.is_ascii_digit()) && !code.is_empty()
        }
        _ => false,
    }
}

/// Whether `sleep` ends within a minute.
pub(super) fn sleep(words: &[Word<'_>]) -> bool {
    let [Some(time)] = words else { return false };
    let time = time.strip_suffix('s').unwrap_or(time);
    let is_plain = time.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    is_plain && time.parse::<f64>().is_ok_and(|seconds| seconds <= 60.0)
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit())
}

/// What shows the environment, or takes part of the program from a file.
const JQ_UNSAFE: &str = "env ENV import include modulemeta get_search_list";

/// Whether the first operand of `jq` is a filter that shows only its input; the others are files.
pub(super) fn jq(said: &Said<'_>) -> bool {
    let Some((first, files)) = said.operands.split_first() else { return false };
    let is_filter = |filter: &str| filter.split(|c: char| !(in_name(c) || c == '.')).all(is_path);
    first.is_some_and(is_filter) && files.iter().all(|file| file.is_some_and(may_be_read))
}

/// Whether names with dots between them hold no unsafe one but as a field: `.env` is a field of the input, `env` is the
/// environment, and so it is behind `..`, which is all values, and behind a number.
fn is_path(names: &str) -> bool {
    let names: Vec<&str> = names.split('.').collect();
    let is_field = |at: usize| match names[..at] {
        [] => false,
        [""] => true,
        [.., before] => !before.is_empty() && !before.starts_with(|c: char| c.is_ascii_digit()),
    };
    names.iter().enumerate().all(|(at, name)| !lists(JQ_UNSAFE, name) || is_field(at))
}

fn in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
