//! Finds secrets by pattern: keywords that hint at a secret, and the detector for each.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use super::assigned::{self, Key};
use super::shape::{self, GITHUB, GITHUB_FINE, GITLAB, GOOGLE, OPENAI, SLACK, Shape};
use super::{Found, Label};

/// The detector for a keyword.
#[derive(Clone, Copy)]
enum Look {
    /// A token with exactly this prefix.
    Token(&'static Shape),
    Aws,
    Jwt,
    PrivateKey,
    Authorization,
    Url,
    /// A value that is assigned to a name with this keyword.
    Assigned(Key),
}

const WORDS: &[(&str, Look)] = &[
    ("sk-", Look::Token(&OPENAI)),
    ("ghp_", Look::Token(&GITHUB)),
    ("gho_", Look::Token(&GITHUB)),
    ("ghu_", Look::Token(&GITHUB)),
    ("ghs_", Look::Token(&GITHUB)),
    ("ghr_", Look::Token(&GITHUB)),
    ("github_pat_", Look::Token(&GITHUB_FINE)),
    ("glpat-", Look::Token(&GITLAB)),
    ("AIza", Look::Token(&GOOGLE)),
    ("xoxa-", Look::Token(&SLACK)),
    ("xoxb-", Look::Token(&SLACK)),
    ("xoxe-", Look::Token(&SLACK)),
    ("xoxp-", Look::Token(&SLACK)),
    ("xoxr-", Look::Token(&SLACK)),
    ("xoxs-", Look::Token(&SLACK)),
    ("AKIA", Look::Aws),
    ("ASIA", Look::Aws),
    ("eyJ", Look::Jwt),
    ("-----BEGIN ", Look::PrivateKey),
    ("authorization", Look::Authorization),
    ("://", Look::Url),
    ("password", Look::Assigned(Key::Password)),
    ("passwd", Look::Assigned(Key::Password)),
    ("secret", Look::Assigned(Key::Token)),
    ("token", Look::Assigned(Key::Token)),
    ("api_key", Look::Assigned(Key::Token)),
    ("api-key", Look::Assigned(Key::Token)),
    ("apikey", Look::Assigned(Key::Token)),
];

static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasickBuilder::new()
        .match_kind(MatchKind::LeftmostFirst)
        .ascii_case_insensitive(true)
        .build(WORDS.iter().map(|(word, _)| word))
        .expect("a few short words fit")
});

/// Finds all text that looks like a secret, in linear time: each detector reads to the end of a word, or a bounded
/// number of bytes.
pub(super) fn find(text: &[u8]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for hit in FINDER.find_iter(text) {
        // A keyword inside a found secret is redacted with it.
        if found.last().is_some_and(|last| hit.start() < last.range.end) {
            continue;
        }
        let (word, look) = WORDS[hit.pattern().as_usize()];
        let is_exact = &text[hit.range()] == word.as_bytes();
        found.extend(closer(text, hit.range(), look, is_exact));
        if matches!(look, Look::Aws)
            && let Some(id) = found.last().filter(|last| last.range.start == hit.start())
        {
            found.extend(shape::aws_secret(text, id.range.end).map(|range| named("AWS key", range)));
        }
    }
    found
}

fn closer(text: &[u8], word: Range<usize>, look: Look, is_exact: bool) -> Option<Found> {
    match look {
        Look::Token(_) | Look::Aws | Look::Jwt | Look::PrivateKey if !is_exact => None,
        Look::Token(shape) => shape.at(text, word).map(|range| named(shape.label, range)),
        Look::Aws => shape::aws_id(text, word).map(|range| named("AWS key", range)),
        Look::Jwt => shape::jwt(text, word.start).map(|range| named("JWT", range)),
        Look::PrivateKey => shape::private_key(text, word).map(|range| named("private key", range)),
        Look::Authorization => {
            assigned::authorization(text, word.end).map(|range| named("Authorization", range))
        }
        Look::Url => assigned::in_url(text, word.end).map(|range| named("password", range)),
        Look::Assigned(key) => assigned::value(text, word, key).map(|range| named(key.label(), range)),
    }
}

fn named(label: &'static str, range: Range<usize>) -> Found {
    Found { range, label: Label::Pattern(label) }
}
