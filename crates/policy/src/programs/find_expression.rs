//! Checks that the expression of `find` only prints.

use super::option_scanner::looks_like_option;
use super::{MaybeWord, list_contains};

/// Tests and actions without a value.
const TESTS_WITHOUT_VALUE: &str = "
    ! ( ) , -a -and -o -or -not -print -print0 -ls -prune -depth -quit -empty -true -false -mount -xdev -follow -daystart
    -noleaf -ignore_readdir_race -noignore_readdir_race -readable -writable -executable -nouser -nogroup -warn -nowarn";
/// Tests and actions with a value.
const TESTS_WITH_VALUE: &str = "
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -atime -ctime
    -mmin -amin -cmin -newer -anewer -cnewer -user -group -uid -gid -links -inum -samefile -lname -ilname -maxdepth
    -mindepth -fstype -used -printf";
/// Options that may precede the paths.
const LEADING_OPTIONS: &str = "-H -L -P";

/// Returns true if the words of `find` are paths and an expression that only prints.
pub(super) fn only_prints(words: &[MaybeWord<'_>]) -> bool {
    let known: Option<Vec<&str>> = words.iter().copied().collect();
    let Some(known) = known else { return false };
    let mut words = known.into_iter().skip_while(|word| list_contains(LEADING_OPTIONS, word)).peekable();
    while words.next_if(|word| is_path(word)).is_some() {}
    while let Some(word) = words.next() {
        if list_contains(TESTS_WITHOUT_VALUE, word) {
            continue;
        }
        let fits = match word {
            "-perm" => is_mode,
            _ if list_contains(TESTS_WITH_VALUE, word) || is_newer(word) => {
                |value: &str| !looks_like_option(value)
            }
            _ => return false,
        };
        if !words.next().is_some_and(fits) {
            return false;
        }
    }
    true
}

fn is_path(word: &str) -> bool {
    !word.starts_with('-') && !matches!(word, "(" | ")" | "!" | ",")
}

/// Returns true for `-newerXY`, where X and Y select the compared times.
fn is_newer(word: &str) -> bool {
    let times = word.strip_prefix("-newer").unwrap_or_default();
    times.len() == 2 && times.chars().all(|time| "aBcmt".contains(time))
}

/// Returns true for a mode, which may begin with a dash and a letter: `-u+x`.
fn is_mode(value: &str) -> bool {
    value.chars().all(|letter| letter.is_ascii_digit() || "ugoarwxstX+,=/-".contains(letter))
}
