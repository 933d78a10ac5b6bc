//! Finds secrets by pattern: keywords that hint at a secret, and the detector for each.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use super::assignments::{self, SecretNameKind};
use super::token_formats::{self, GITHUB, GITHUB_FINE, GITLAB, GOOGLE, OPENAI, SLACK, TokenFormat};
use super::{SecretLabel, SecretMatch};

/// The detector for a keyword.
#[derive(Clone, Copy)]
enum SecretDetector {
    /// A token with exactly this prefix.
    Token(&'static TokenFormat),
    Aws,
    Jwt,
    PrivateKey,
    Authorization,
    Url,
    /// A value that is assigned to a name with this keyword.
    Assigned(SecretNameKind),
}

const KEYWORDS: &[(&str, SecretDetector)] = &[
    ("sk-", SecretDetector::Token(&OPENAI)),
    ("ghp_", SecretDetector::Token(&GITHUB)),
    ("gho_", SecretDetector::Token(&GITHUB)),
    ("ghu_", SecretDetector::Token(&GITHUB)),
    ("ghs_", SecretDetector::Token(&GITHUB)),
    ("ghr_", SecretDetector::Token(&GITHUB)),
    ("github_pat_", SecretDetector::Token(&GITHUB_FINE)),
    ("glpat-", SecretDetector::Token(&GITLAB)),
    ("AIza", SecretDetector::Token(&GOOGLE)),
    ("xoxa-", SecretDetector::Token(&SLACK)),
    ("xoxb-", SecretDetector::Token(&SLACK)),
    ("xoxe-", SecretDetector::Token(&SLACK)),
    ("xoxp-", SecretDetector::Token(&SLACK)),
    ("xoxr-", SecretDetector::Token(&SLACK)),
    ("xoxs-", SecretDetector::Token(&SLACK)),
    ("AKIA", SecretDetector::Aws),
    ("ASIA", SecretDetector::Aws),
    ("eyJ", SecretDetector::Jwt),
    ("-----BEGIN ", SecretDetector::PrivateKey),
    ("authorization", SecretDetector::Authorization),
    ("://", SecretDetector::Url),
    ("password", SecretDetector::Assigned(SecretNameKind::Password)),
    ("passwd", SecretDetector::Assigned(SecretNameKind::Password)),
    ("secret", SecretDetector::Assigned(SecretNameKind::Token)),
    ("token", SecretDetector::Assigned(SecretNameKind::Token)),
    ("api_key", SecretDetector::Assigned(SecretNameKind::Token)),
    ("api-key", SecretDetector::Assigned(SecretNameKind::Token)),
    ("apikey", SecretDetector::Assigned(SecretNameKind::Token)),
];

static KEYWORD_SEARCHER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasickBuilder::new()
        .match_kind(MatchKind::LeftmostFirst)
        .ascii_case_insensitive(true)
        .build(KEYWORDS.iter().map(|(word, _)| word))
        .expect("a few short words fit")
});

/// Finds all text that looks like a secret, in linear time: each detector reads to the end of a word, or a bounded
/// number of bytes.
pub(super) fn find_secrets(text: &[u8]) -> Vec<SecretMatch> {
    let mut found: Vec<SecretMatch> = Vec::new();
    for hit in KEYWORD_SEARCHER.find_iter(text) {
        // A keyword inside a found secret is redacted with it.
        if found.last().is_some_and(|last| hit.start() < last.range.end) {
            continue;
        }
        let (word, detector) = KEYWORDS[hit.pattern().as_usize()];
        let is_exact = &text[hit.range()] == word.as_bytes();
        found.extend(run_detector(text, hit.range(), detector, is_exact));
        if matches!(detector, SecretDetector::Aws)
            && let Some(id) = found.last().filter(|last| last.range.start == hit.start())
        {
            found.extend(
                token_formats::aws_secret_key(text, id.range.end)
                    .map(|range| pattern_match("AWS key", range)),
            );
        }
    }
    found
}

fn run_detector(
    text: &[u8],
    word: Range<usize>,
    detector: SecretDetector,
    is_exact: bool,
) -> Option<SecretMatch> {
    match detector {
        SecretDetector::Token(_) | SecretDetector::Aws | SecretDetector::Jwt | SecretDetector::PrivateKey
            if !is_exact =>
        {
            None
        }
        SecretDetector::Token(shape) => {
            shape.match_at(text, word).map(|range| pattern_match(shape.label, range))
        }
        SecretDetector::Aws => {
            token_formats::aws_key_id(text, word).map(|range| pattern_match("AWS key", range))
        }
        SecretDetector::Jwt => token_formats::jwt(text, word.start).map(|range| pattern_match("JWT", range)),
        SecretDetector::PrivateKey => {
            token_formats::private_key(text, word).map(|range| pattern_match("private key", range))
        }
        SecretDetector::Authorization => assignments::authorization_credentials(text, word.end)
            .map(|range| pattern_match("Authorization", range)),
        SecretDetector::Url => {
            assignments::url_password(text, word.end).map(|range| pattern_match("password", range))
        }
        SecretDetector::Assigned(key) => {
            assignments::assigned_value(text, word, key).map(|range| pattern_match(key.label(), range))
        }
    }
}

fn pattern_match(label: &'static str, range: Range<usize>) -> SecretMatch {
    SecretMatch { range, label: SecretLabel::Pattern(label) }
}
