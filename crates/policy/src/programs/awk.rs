//! Checks that an `awk` program only prints.

use super::list_contains;
use super::option_scanner::ParsedOptions;
use super::read_only::all_operands;
use super::readable_paths::may_be_read;

/// Keywords and functions. None runs, opens or shows anything but the input, and none loops forever.
const SAFE_WORDS: &str = "
    print printf BEGIN END length substr index tolower toupper int if else next exit in sub gsub match split sprintf";
/// Variables: those that `awk` sets, and commonly used names.
const SAFE_VARIABLES: &str = "
    NF NR FNR FS OFS ORS FILENAME RSTART RLENGTH a b c d e f g h i j k l m n o p q r s t u v w x y z sum total count
    counts seen max min flag found key val value line lines len avg mean prev last first start end name names arr parts
    col num out cnt total_lines in_block pat lo hi from to skip show";
/// Signs that may precede a regular expression. After other signs a `/` may be a division.
const BEFORE_REGEX: &str = "(,{};!~&|\n";
/// Characters that may be escaped in a regular expression: none ends it.
const ESCAPABLE_CHARS: &str = "[](){}.*+?^$|tswdSWD";
const ALLOWED_SIGNS: &str = "{}()[]$,;=!<>+-*%&|~.?:^ \t\n";

/// Returns true if the first operand of `awk` is a program that only prints, and the others are readable files.
pub(super) fn only_prints(parsed: &ParsedOptions<'_>) -> bool {
    let files = all_operands(parsed, |word| may_be_read(word) && !word.contains("/inet"));
    let Some(Some(program)) = parsed.operands.first() else { return false };
    !parsed.option_after_operand
        && files
        && parsed.values_of(&["v"]).all(is_plain_assignment)
        && AwkNesting::default().accepts_program(program)
}

/// Returns true if `-v` sets a variable to plain text.
fn is_plain_assignment(setting: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_.,:; -+%".contains(letter);
    let parts = setting.split_once('=');
    parts.is_some_and(|(name, value)| list_contains(SAFE_VARIABLES, name) && value.chars().all(is_plain))
}

/// The previous token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreviousToken {
    /// A variable, a number, or a closing index bracket: a following `/` divides.
    Value,
    Sign(char),
    /// Any other token: no `/` may follow.
    Other,
}

/// The nesting depth of braces and parentheses.
#[derive(Debug, Default)]
struct AwkNesting {
    braces: usize,
    parentheses: usize,
}

impl AwkNesting {
    /// Returns true if the program consists of listed words, numbers, strings, regular expressions and operators.
    /// Redirections (`>`), pipes (`|`), reads (`getline`), loads (`@`) and comments are rejected.
    fn accepts_program(mut self, program: &str) -> bool {
        let (mut rest, mut last) = (program, PreviousToken::Sign('\n'));
        // ends: each round takes a letter or more
        while let Some(next) = rest.chars().next() {
            let taken = match next {
                ' ' | '\t' => Some((1, last)),
                '"' => read_string(rest).map(|end| (end, PreviousToken::Other)),
                '/' => read_slash(rest, last),
                _ if is_name_char(next) => read_word(rest),
                _ if ALLOWED_SIGNS.contains(next) => self.read_sign(rest, next),
                _ => None,
            };
            let Some((taken, now)) = taken else { return false };
            (rest, last) = (&rest[taken..], now);
        }
        self.braces == 0 && self.parentheses == 0
    }

    /// Reads a one- or two-character sign.
    fn read_sign(&mut self, rest: &str, sign: char) -> Option<(usize, PreviousToken)> {
        let second = rest[1..].chars().next();
        match sign {
            '|' if second == Some('|') => return Some((2, PreviousToken::Sign('|'))),
            '&' if second == Some('&') => return Some((2, PreviousToken::Sign('&'))),
            '|' | '&' => return None,
            // Within an action `>` compares only inside parentheses; a pattern cannot redirect.
            '>' if second == Some('>') || (self.braces > 0 && self.parentheses == 0) => return None,
            '(' => self.parentheses += 1,
            ')' => self.parentheses = self.parentheses.checked_sub(1)?,
            '{' | '}' | ';' | '\n' if self.parentheses > 0 => return None,
            '{' => self.braces += 1,
            '}' => self.braces = self.braces.checked_sub(1)?,
            ']' => return Some((1, PreviousToken::Value)),
            _ => {}
        }
        Some((1, PreviousToken::Sign(sign)))
    }
}

fn is_name_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Reads a string; only the escapes for newline and tab are accepted.
fn read_string(rest: &str) -> Option<usize> {
    let mut letters = rest.char_indices().skip(1);
    // ends: each round takes a letter
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some(at + 1),
            '\\' if !matches!(letters.next(), Some((_, 'n' | 't'))) => return None,
            '\n' => return None,
            _ => {}
        }
    }
    None
}

/// Reads a number, a word, or the head of a loop over the keys of a variable. Only that loop is certain to end.
fn read_word(rest: &str) -> Option<(usize, PreviousToken)> {
    let end = rest.find(|letter| !is_name_char(letter)).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    if word == "for" {
        let (head, _) = after.trim_start_matches(' ').strip_prefix('(')?.split_once(')')?;
        let words: Vec<&str> = head.split_whitespace().collect();
        let [key, "in", of] = words.as_slice() else { return None };
        let taken = end + after.find(')')? + 1;
        return (list_contains(SAFE_VARIABLES, key) && list_contains(SAFE_VARIABLES, of))
            .then_some((taken, PreviousToken::Other));
    }
    if list_contains(SAFE_VARIABLES, word) || word.chars().all(|digit| digit.is_ascii_digit()) {
        return Some((end, PreviousToken::Value));
    }
    list_contains(SAFE_WORDS, word).then_some((end, PreviousToken::Other))
}

/// Reads a division or a regular expression if only one of them is possible.
fn read_slash(rest: &str, last: PreviousToken) -> Option<(usize, PreviousToken)> {
    if rest.starts_with("/=") {
        return None;
    }
    match last {
        PreviousToken::Value => Some((1, PreviousToken::Sign('/'))),
        PreviousToken::Sign(sign) if BEFORE_REGEX.contains(sign) => {
            read_regex(rest).map(|end| (end, PreviousToken::Other))
        }
        PreviousToken::Sign(_) | PreviousToken::Other => None,
    }
}

/// Reads a regular expression. A bracket must be closed inside it, and must not contain a possible end of it.
fn read_regex(rest: &str) -> Option<usize> {
    let mut letters = rest.char_indices().skip(1);
    // ends: each round takes a letter
    while let Some((at, letter)) = letters.next() {
        match letter {
            '/' => return Some(at + 1),
            '\\' => drop(letters.next().filter(|(_, next)| ESCAPABLE_CHARS.contains(*next))?),
            '[' => {
                let inside = rest[at + 1..].split_once(']')?.0;
                let plain = inside.strip_prefix('^').unwrap_or(inside);
                if plain.is_empty() || plain.contains(['/', '[', '\\', '"', '\n']) {
                    return None;
                }
                letters.nth(inside.chars().count());
            }
            '"' | '\n' => return None,
            _ => {}
        }
    }
    None
}
