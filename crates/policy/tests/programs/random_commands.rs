//! Generates random commands that are classified as read-only.

use toolgate_policy::{CommandRisk, classify_command};

use super::observed_effects::program_runs;
use super::{READ_ONLY, XorShift, commands, refs};

/// Words for random commands: options of all programs, listed for the current one or not.
const OPERANDS: &str = "
    f g -o --pre a*b src l . .. - x.gz f.json sums b64 x 1 2 , : + +%s {print} .a 1p $p s/a/b/ / /etc/passwd ! = -eq -f -d 3 -1 -5
    ( ) -name -type -print -perm -newer -maxdepth -printf -ls %p -- -u+x -o -exec ; + {} -delete -fprint PWN -v env";

pub(crate) fn random_rows(each: usize, random: &mut XorShift) -> Vec<Vec<String>> {
    let table = include_str!("../../src/programs/read_only.rs");
    let is_long = |word: &&str| word.starts_with("--") && word.len() > 3;
    let long: Vec<&str> = table.split([' ', '"', ',', '\n']).filter(is_long).collect();
    let operands: Vec<&str> = OPERANDS.split_whitespace().collect();
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
    let mut programs: Vec<String> = commands(READ_ONLY).into_iter().map(|row| row[0].clone()).collect();
    programs.sort();
    programs.dedup();
    let mut rows = Vec::new();
    for program in programs.iter().filter(|program| !program_runs(&[program]).is_empty()) {
        let wanted = rows.len() + each;
        // ends: the number of tries is bounded; fewer results are acceptable.
        for _ in 0..each * 3_000 {
            let mut row = vec![program.clone()];
            for _ in 0..1 + random.next(5) {
                row.push(match random.next(4) {
                    0 => format!(
                        "-{}",
                        (0..=random.next(2)).map(|_| letters[random.next(letters.len())]).collect::<String>()
                    ),
                    1 => {
                        let option = random.row_class(&long).trim_end_matches(['=', '?']);
                        if random.next(2) == 0 {
                            option.to_owned()
                        } else {
                            format!("{option}={}", random.row_class(&operands))
                        }
                    }
                    _ => random.row_class(&operands).replace('*', " "),
                });
            }
            if classify_command(&refs(&row)) == CommandRisk::ReadOnly {
                rows.push(row);
            }
            if rows.len() == wanted {
                break;
            }
        }
    }
    rows
}

/// Script fragments for the programs that take a script, including ones that run or write.
const PIECES: &[(&str, &[&str])] = &[
    (
        "sed -n",
        &[
            "1", "$", ",", "/a/", "/[/]/", "!", "p", "d", "=", "s/a/b/", "s|[a-z]|&|g", "s/./touch PWN/",
            "e", "e touch PWN", "w PWN", "w", "y/a/b/", "{", "}", ";", "\n", "q", "I", "~2", "+1", " ",
            "r f", "g", "\\", "[", "]", "/", "#", "x", "N", "s,[^,]*,x,", "s/[[:space:]]/ /2p", "M", "a",
            "s", "y",
        ],
    ),
    (
        "awk",
        &[
            "/a/", "{", "}", "print", " ", "$1", "\"", "|", ">", "PWN", "\"PWN\"", "system(",
            "\"touch PWN\"", ")", "(", "/", "[", "]", "\\", ";", "NR", "==", "1", "<", "getline", "n", "=",
            "+", "~", "printf", "\\n", "#", "@", "BEGIN", "END", ",", "if (", "for (k in n)", "gsub(/a/, ",
            "||", "/[a-z]/", "length",
        ],
    ),
    (
        "jq -n",
        &[
            "env", ".", "..", "|", "$ENV", "[", "]", "\"", "\\(", ")", "(", "1", "keys", ".a", "env.",
            "input", "\"a\"", " ", ",",
        ],
    ),
    (
        "printf --",
        &[
            "%", "s", "d", "n", "%s", "%d", "%%", "\\n", "*", "-", "5", "(", ")", "T", "l", "q", "b",
            "a[$(touch PWN)]",
        ],
    ),
];

pub(crate) fn random_scripts(each: usize, random: &mut XorShift) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (command, pieces) in PIECES {
        let wanted = rows.len() + each;
        for _ in 0..each * 300 {
            let script: String = (0..=random.next(9)).map(|_| random.row_class(pieces)).collect();
            let mut row: Vec<String> = command.split(' ').map(str::to_owned).collect();
            row.extend([script, "f".to_owned()]);
            if classify_command(&refs(&row)) == CommandRisk::ReadOnly {
                rows.push(row);
            }
            if rows.len() == wanted {
                break;
            }
        }
    }
    rows
}
