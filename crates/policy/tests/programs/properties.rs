//! Property tests of the command classification over arbitrary words.

use toolgate_policy::{CommandRisk, classify_command, classify_words, rule_prefix};

use super::{DANGEROUS, ORDINARY, READ_ONLY, RISKY, XorShift, commands, refs};

/// Programs that accept any words.
const ANYTHING: [&str; 5] = ["echo", "true", "false", ":", "expr"];
const UNKNOWN: [&str; 6] = ["--zzz", "--zzz=1", "-\u{e9}", "-@", "--o", "-%x"];

#[test]
fn an_unknown_option_makes_nothing_read_only() {
    for row in commands(READ_ONLY) {
        let row = refs(&row);
        if ANYTHING.contains(&row[0]) {
            continue;
        }
        // After the format of `printf` and between the brackets of `[`, every word is an operand.
        let end = row.iter().position(|word| *word == "--").unwrap_or(row.len());
        let end = if row[0] == "printf" { 1 } else { end };
        for at in 1..=end {
            for option in UNKNOWN {
                let mut words = row.clone();
                words.insert(at, option);
                assert_ne!(classify_command(&words), CommandRisk::ReadOnly, "{words:?}");
            }
        }
    }
}

#[test]
fn an_unknown_word_never_lowers_the_risk() {
    let rank = |is| match is {
        CommandRisk::ReadOnly => 0,
        CommandRisk::Ordinary | CommandRisk::Risky(_) => 1,
        CommandRisk::Dangerous(_) => 2,
    };
    let others = [
        "-o", "--output=x", "-rf", "--", "-", "f", "/dev/zero", "-delete", "-v", "!", "+x", "a[$(x)]",
        "-exec", "env", "%n",
    ];
    for row in [READ_ONLY, ORDINARY, RISKY, DANGEROUS].into_iter().flat_map(commands) {
        for at in 0..row.len() {
            let mut words: Vec<_> = refs(&row).into_iter().map(Some).collect();
            words[at] = None;
            if classify_words(&words) != CommandRisk::ReadOnly {
                continue;
            }
            assert_eq!(rank(classify_command(&refs(&row))), 0, "{words:?}");
            for other in others {
                words[at] = Some(other);
                assert_eq!(classify_words(&words), CommandRisk::ReadOnly, "{words:?}");
            }
        }
    }
}

#[test]
fn an_abbreviation_is_never_read_only() {
    for row in commands(READ_ONLY) {
        for (at, word) in row.iter().enumerate().filter(|(_, word)| word.starts_with("--") && word.len() > 4)
        {
            let name = word.split('=').next().unwrap();
            let mut words = refs(&row);
            if ANYTHING.contains(&words[0]) {
                continue;
            }
            let short = word.replacen(name, &name[..name.len() - 1], 1);
            words[at] = &short;
            assert_ne!(classify_command(&words), CommandRisk::ReadOnly, "{words:?}");
        }
    }
}

#[test]
fn no_words_panic() {
    let mut random = XorShift(42);
    let rows: Vec<_> = [READ_ONLY, ORDINARY, RISKY, DANGEROUS].into_iter().flat_map(commands).collect();
    let pool: Vec<&str> = rows.iter().flatten().map(String::as_str).collect();
    let odd = [
        "", "-", "--", "---", "=", "--=", "-é", "é", "\u{0}", "'", "日本", "-n", "s/", "s", "y/", "/[",
        "/\\", "%", "%n", ".", "..", "/", "{", "}", "\n", "!", "1,", "$", "-\u{301}",
    ];
    for _ in 0..10_000 {
        let mut words = vec![rows[random.next(rows.len())][0].as_str()];
        for _ in 0..random.next(6) {
            words.push(if random.next(3) == 0 { random.row_class(&odd) } else { random.row_class(&pool) });
        }
        classify_command(&words);
        rule_prefix(&words);
        let partly: Vec<_> = words.iter().map(|word| (random.next(4) > 0).then_some(*word)).collect();
        classify_words(&partly);
    }
    // Deep nesting and long commands terminate.
    for word in ["env", "npx", "find -exec", "a"] {
        let words: Vec<_> = word.split(' ').cycle().take(5_000).collect();
        classify_command(&words);
        rule_prefix(&words);
    }
}

/// Random scripts and filters from characters that are special to them.
#[test]
fn no_script_panics() {
    let mut random = XorShift(7);
    let letters: Vec<char> = "sye/|[]\\^$:=.,;{}()pdqw1~!In \n\"@%*>é".chars().collect();
    for _ in 0..2_000 {
        let script: String = (0..random.next(14)).map(|_| letters[random.next(letters.len())]).collect();
        for program in
            [["sed", "-n"], ["awk", "-F:"], ["jq", "-r"], ["printf", "--"], ["find", "."], ["[", "x"]]
        {
            classify_command(&[program[0], program[1], &script]);
        }
    }
}
