//! Tests the command classification: literal rows, property tests, and observed system calls.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod classified_commands;
mod observed_effects;
mod properties;
mod random_commands;

/// Parses a table: one command per line, `'…'` is (part of) one word, `#` begins a comment line.
fn commands(table: &str) -> Vec<Vec<String>> {
    let lines = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(words).collect()
}

fn words(line: &str) -> Vec<String> {
    let (mut words, mut open) = (Vec::new(), false);
    let mut word: Option<String> = None;
    for letter in line.chars() {
        match letter {
            '\'' => {
                open = !open;
                word.get_or_insert_default();
            }
            ' ' if !open => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

fn refs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

const READ_ONLY: &str = include_str!("read_only.txt");
const ORDINARY: &str = concat!(include_str!("ordinary.txt"), include_str!("ordinary_more.txt"));
const RISKY: &str = include_str!("risky.txt");
const DANGEROUS: &str = include_str!("dangerous.txt");

/// A deterministic pseudo-random generator (xorshift).
struct XorShift(u64);

impl XorShift {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn row_class<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.next(list.len())]
    }
}
