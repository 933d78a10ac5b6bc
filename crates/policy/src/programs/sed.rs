//! Classifies `sed` scripts: print only, write files, or run programs.

use std::iter::Peekable;
use std::str::Chars;

use super::MaybeWord;
use super::option_scanner::{ParsedOptions, scan_options};
use super::readable_paths::may_be_read;

/// The worst effect of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SedEffect {
    /// Transforms and prints its input.
    Print,
    /// Writes files, or has unknown effects.
    WriteOrUnknown,
    /// Runs programs.
    Run,
}

/// All options, to distinguish scripts from files.
const OPTIONS: &str = "
    -nErsuzb -elf= -i=? -I= --quiet --silent --expression= --file= --regexp-extended --separate --unbuffered --null-data
    --zero-terminated --posix --sandbox --debug --in-place=? --line-length= --follow-symlinks --binary --help --version";

/// Commands without an argument, or with a number.
const PLAIN_COMMANDS: &str = "=dDFgGhHlnNpPqQxz";
/// Commands whose argument is text up to an unescaped newline.
const TEXT_COMMANDS: &str = "aic";
/// Commands whose argument is the rest of the line.
const LINE_COMMANDS: &str = "rRwW#v";
/// Commands whose argument is a label.
const LABEL_COMMANDS: &str = ":btT";
/// Accepted delimiters of `s` and `y`.
const DELIMITERS: &str = "/|,#@:!%_~+;";

/// Returns true if the scripts in `parsed` only print and the files are readable.
pub(super) fn only_prints(parsed: &ParsedOptions<'_>) -> bool {
    let (scripts, files) = scripts_and_files(parsed);
    !scripts.is_empty()
        && scripts.iter().all(|script| script_effect(script) == SedEffect::Print)
        && files.iter().all(|file| file.is_some_and(may_be_read))
}

/// Returns true if a script among `words` runs programs.
pub(super) fn runs_programs(words: &[MaybeWord<'_>]) -> bool {
    // An unknown word is taken for a file. It may be a script, but then its effect is unknown.
    let words: Vec<String> = words.iter().map(|word| expand_abbreviation(word.unwrap_or("?"))).collect();
    let words: Vec<MaybeWord<'_>> = words.iter().map(|word| Some(word.as_str())).collect();
    match scan_options(OPTIONS, &words) {
        Some(parsed) => scripts_and_files(&parsed).0.iter().any(|script| match script_effect(script) {
            SedEffect::Run => true,
            SedEffect::WriteOrUnknown => may_run(script),
            SedEffect::Print => false,
        }),
        // A word that is not understood may be or contain a script.
        None => {
            words.iter().flatten().any(|word| may_run(word.split_once('=').map_or(*word, |(_, value)| value)))
        }
    }
}

/// Expands `word` if it is an unambiguous abbreviation of an option.
fn expand_abbreviation(word: &str) -> String {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let options = OPTIONS.split_whitespace().map(|option| option.trim_end_matches(['=', '?']));
    let fits: Vec<&str> = options.filter(|option| name.len() > 2 && option.starts_with(name)).collect();
    match (name.starts_with("--"), fits.as_slice(), value) {
        (true, [one], Some(value)) => format!("{one}={value}"),
        (true, [one], None) => (*one).to_owned(),
        _ => word.to_owned(),
    }
}

/// Returns true if an unparsable script may run a program: a command `e`, or an `s` with the flag `e`.
fn may_run(script: &str) -> bool {
    let letters: Vec<char> = script.chars().collect();
    let ends =
        |at: usize| letters.get(at).is_none_or(|next| next.is_whitespace() || matches!(next, ';' | '}'));
    let begins = |at: usize| {
        let before = letters[..at].iter().rev().find(|letter| **letter != ' ');
        before.is_none_or(|before| !before.is_alphabetic() || matches!(before, 'I' | 'M'))
    };
    let command = (0..letters.len()).any(|at| letters[at] == 'e' && ends(at + 1) && begins(at));
    let flagged = |at: usize| {
        let Some(&mark) = letters.get(at + 1).filter(|mark| !matches!(mark, '\\' | '\n')) else {
            return false;
        };
        let closing =
            (at + 2..letters.len()).filter(|&place| letters[place] == mark && letters[place - 1] != '\\');
        closing.skip(1).any(|place| {
            let flags: String =
                letters[place + 1..].iter().take_while(|flag| flag.is_ascii_alphanumeric()).collect();
            flags.contains('e') && ends(place + 1 + flags.len())
        })
    };
    command || (0..letters.len()).any(|at| letters[at] == 's' && flagged(at))
}

/// Returns the scripts and the files. An unknown script is omitted, so that the command does not count as print-only.
fn scripts_and_files<'s, 'a>(parsed: &'s ParsedOptions<'a>) -> (Vec<&'a str>, &'s [MaybeWord<'a>]) {
    let mut scripts: Vec<&str> = parsed.values_of(&["e", "--expression"]).collect();
    if !scripts.is_empty() || parsed.values_of(&["f", "--file"]).next().is_some() {
        return (scripts, &parsed.operands);
    }
    match parsed.operands.split_first() {
        Some((first, files)) => {
            scripts.extend(first);
            (scripts, files)
        }
        None => (scripts, &[]),
    }
}

fn script_effect(script: &str) -> SedEffect {
    let mut script = script.chars().peekable();
    let (mut worst, mut open) = (SedEffect::Print, 0_usize);
    // ends: each round takes a letter
    while let Some(next) = script.peek().copied() {
        if next.is_whitespace() || next == ';' {
            script.next();
            continue;
        }
        if read_addresses(&mut script).is_none() {
            return worst.max(SedEffect::WriteOrUnknown);
        }
        let Some(command) = script.next() else { return SedEffect::WriteOrUnknown.max(worst) };
        match command {
            '{' => {
                open += 1;
                continue;
            }
            '}' if open > 0 => open -= 1,
            'e' => return SedEffect::Run,
            's' | 'y' => worst = worst.max(read_substitution(&mut script, command == 's')),
            _ if PLAIN_COMMANDS.contains(command) => {
                skip_while(&mut script, |letter| letter == ' ' || letter.is_ascii_digit());
            }
            _ if TEXT_COMMANDS.contains(command) => {
                worst = SedEffect::WriteOrUnknown;
                skip_text(&mut script);
            }
            _ if LINE_COMMANDS.contains(command) => {
                worst = SedEffect::WriteOrUnknown;
                skip_while(&mut script, |letter| letter != '\n');
            }
            _ if LABEL_COMMANDS.contains(command) => {
                worst = SedEffect::WriteOrUnknown;
                skip_while(&mut script, |letter| letter != '\n' && letter != ';');
            }
            _ => return SedEffect::WriteOrUnknown.max(worst),
        }
        skip_while(&mut script, |letter| letter == ' ');
        if !matches!(script.peek(), None | Some(';' | '\n' | '}')) {
            return SedEffect::WriteOrUnknown.max(worst);
        }
    }
    if open == 0 { worst } else { SedEffect::WriteOrUnknown.max(worst) }
}

fn skip_while(script: &mut Peekable<Chars<'_>>, while_: impl Fn(char) -> bool) {
    while script.next_if(|letter| while_(*letter)).is_some() {}
}

fn skip_text(script: &mut Peekable<Chars<'_>>) {
    while let Some(letter) = script.next_if(|letter| *letter != '\n') {
        if letter == '\\' {
            script.next();
        }
    }
}

/// Reads the addresses before a command, if any: `5`, `$`, `/x/I`, `1~2`, two with a comma, and `!`.
fn read_addresses(script: &mut Peekable<Chars<'_>>) -> Option<()> {
    read_address(script)?;
    skip_while(script, |letter| letter == ' ');
    if script.next_if_eq(&',').is_some() {
        skip_while(script, |letter| letter == ' ');
        script.next_if(|letter| matches!(letter, '+' | '~'));
        read_address(script)?;
    }
    skip_while(script, |letter| matches!(letter, ' ' | '!'));
    Some(())
}

fn read_address(script: &mut Peekable<Chars<'_>>) -> Option<()> {
    if script.next_if_eq(&'/').is_some() {
        read_regex(script, '/')?;
        skip_while(script, |letter| matches!(letter, 'I' | 'M'));
    } else if script.next_if_eq(&'\\').is_some() {
        let end = script.next().filter(|end| DELIMITERS.contains(*end))?;
        read_regex(script, end)?;
        skip_while(script, |letter| matches!(letter, 'I' | 'M'));
    } else if script.next_if_eq(&'$').is_none() {
        skip_while(script, |letter| letter.is_ascii_digit() || letter == '~');
    }
    Some(())
}

/// Reads a regular expression up to `end`. A bracket must be closed inside it, and a backslash in a bracket must
/// precede a letter: implementations differ on `end` inside brackets.
fn read_regex(script: &mut Peekable<Chars<'_>>, end: char) -> Option<()> {
    while let Some(letter) = script.next() {
        match letter {
            _ if letter == end => return Some(()),
            '\\' => drop(script.next().filter(|next| *next != '\n')?),
            '\n' => return None,
            '[' => read_bracket(script, end)?,
            _ => {}
        }
    }
    None
}

fn read_bracket(script: &mut Peekable<Chars<'_>>, end: char) -> Option<()> {
    script.next_if_eq(&'^');
    let mut first = true;
    while let Some(letter) = script.next() {
        match letter {
            ']' if !first => return Some(()),
            '[' if matches!(script.peek(), Some(':' | '.' | '=')) => {
                // A class: `[:alpha:]`.
                let mark = script.next()?;
                skip_while(script, |letter| letter.is_ascii_alphabetic());
                if script.next()? != mark || script.next()? != ']' {
                    return None;
                }
            }
            '\\' if matches!(script.peek(), Some('t' | 'n' | 's' | 'w')) => drop(script.next()),
            '[' | '\\' | '\n' => return None,
            _ if letter == end => return None,
            _ => {}
        }
        first = false;
    }
    None
}

/// Reads the arguments of `s` or `y`.
fn read_substitution(script: &mut Peekable<Chars<'_>>, flags: bool) -> SedEffect {
    let Some(end) = script.next().filter(|letter| DELIMITERS.contains(*letter)) else {
        return SedEffect::WriteOrUnknown;
    };
    if read_regex(script, end).is_none() || read_replacement(script, end).is_none() {
        return SedEffect::WriteOrUnknown;
    }
    let mut worst = SedEffect::Print;
    while let Some(flag) = script.next_if(|letter| flags && letter.is_ascii_alphanumeric()) {
        worst = worst.max(match flag {
            'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => SedEffect::Print,
            'e' => return SedEffect::Run,
            _ => SedEffect::WriteOrUnknown,
        });
    }
    worst
}

fn read_replacement(script: &mut Peekable<Chars<'_>>, end: char) -> Option<()> {
    while let Some(letter) = script.next() {
        match letter {
            _ if letter == end => return Some(()),
            '\\' => drop(script.next().filter(|next| *next != '\n')?),
            '\n' => return None,
            _ => {}
        }
    }
    None
}
