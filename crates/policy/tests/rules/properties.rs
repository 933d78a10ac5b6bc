//! Property tests of rules over hostile text: no panics, round trips, and agreement with a simpler matcher.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::{prop_assert, prop_assert_eq};
use toolgate_policy::rules::{
    NewRule, RuleAddition, RuleDecision, RuleLayer, RuleSet, RuleSubject, add_rule,
};
use toolgate_policy::shell::ScriptWord;

/// Generates program names and unexpected words.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z/]{1,4}",
        any::<String>(),
        vec(
            prop_oneof![
                Just('"'),
                Just('\\'),
                Just('\''),
                Just('\n'),
                Just('\r'),
                Just('\t'),
                Just('\u{1b}'),
                Just('\u{7f}'),
                Just('\u{202e}'),
                Just('\u{feff}'),
                Just('\u{e0041}'),
                Just('#'),
                Just('['),
                Just('é'),
            ],
            1..6
        )
        .prop_map(String::from_iter),
    ]
    .prop_map(|word| word.replace('\0', ""))
}

fn rule() -> impl Strategy<Value = NewRule> {
    let first = vec(word().prop_map(|word| format!("{word}x")), 1..3);
    let pattern = (first, vec(vec(word(), 1..3), 0..4));
    let reason = proptest::option::of(word().prop_map(|word| format!("{word}.")));
    (pattern, any::<bool>(), any::<bool>(), reason).prop_map(|((first, rest), exact, unsandboxed, reason)| {
        let pattern: Vec<Vec<String>> = std::iter::once(first).chain(rest).collect();
        let example = pattern.iter().map(|names| names[0].clone()).collect();
        let on = RuleSubject::Command { pattern, exact };
        NewRule { subject: on, decision: RuleDecision::Allow, reason, unsandboxed, example: Some(example) }
    })
}

/// Returns true if `words` may be all of `pattern`, or start with it if it is a prefix. A simple reference
/// implementation.
fn may(pattern: &[Vec<String>], exact: bool, words: &[ScriptWord], more: bool) -> bool {
    match (pattern, words) {
        ([], _) if !exact => true,
        ([], []) => true,
        ([], [ScriptWord::Unknown(_), rest @ ..]) => may(pattern, exact, rest, more),
        ([], [ScriptWord::Literal(_), ..]) => false,
        (_, []) => more,
        ([names, later @ ..], [ScriptWord::Literal(word), rest @ ..]) => {
            names.contains(word) && may(later, exact, rest, more)
        }
        ([_, later @ ..], [ScriptWord::Unknown(_), rest @ ..]) => {
            may(pattern, exact, rest, more) || may(later, exact, words, more)
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_rules_or_a_fault(text in any::<String>()) {
        let _either = RuleSet::parse(&text, Path::new("x"), RuleLayer::User);
    }

    #[test]
    fn text_that_looks_like_rules_is_rules_or_a_fault(
        parts in vec(prop_oneof![
            Just("[[rule]]\n"), Just("pattern = "), Just("path = "), Just("host = "), Just("tool = "), Just("match = "),
            Just("not_match = "), Just("decision = \"allow\"\n"), Just("decision = \"forbid\"\n"), Just("access = \"read\"\n"),
            Just("["), Just("]"), Just(", "), Just("\"git\""), Just("\"*\""), Just("\"~/a[\""), Just("\n"), Just("true\n"),
            Just("exact = "), Just("rule = "), Just("\"é"), Just("{"), Just("}"), Just("1"),
        ], 0..40)
    ) {
        let text = parts.concat();
        for layer in [RuleLayer::System, RuleLayer::User, RuleLayer::Project] {
            if let Ok(rules) = RuleSet::parse(&text, Path::new("/w/rules.toml"), layer) {
                let _some = rules.warnings();
            }
        }
    }

    #[test]
    fn what_is_saved_is_what_is_read(rules in vec(rule(), 1..4)) {
        let mut text = String::from("# mine\n");
        for rule in &rules {
            match add_rule(&text, Path::new("x"), rule).unwrap() {
                RuleAddition::AlreadyExists { .. } => {}
                RuleAddition::Added { text: longer, .. } => {
                    prop_assert!(longer.starts_with(&text));
                    text = longer;
                }
            }
            let read = RuleSet::parse(&text, Path::new("x"), RuleLayer::User).unwrap();
            let last = read.iter().find(|one| one.subject == rule.subject && one.unsandboxed == rule.unsandboxed).unwrap();
            if last.line + 6 > text.lines().count() {
                prop_assert_eq!(&last.reason, &rule.reason);
            }
            let hidden = ['\u{1b}', '\u{202e}'];
            prop_assert!(!text.contains(hidden));
        }
    }

    #[test]
    fn matching_agrees_with_the_plain_way(
        pattern in vec(vec("[abc]", 1..3), 1..5),
        exact in any::<bool>(),
        words in vec(prop_oneof![3 => "[abc]".prop_map(ScriptWord::Literal), 1 => Just(ScriptWord::Unknown("$x".into()))], 0..7),
        more in any::<bool>(),
    ) {
        let subject = RuleSubject::Command { pattern: pattern.clone(), exact };
        let new = NewRule { subject, decision: RuleDecision::Ask, reason: None, unsandboxed: false, example: None };
        let rules = RuleSet::parse(&new.to_string(), Path::new("x"), RuleLayer::User).unwrap();
        let found = rules.rules_for_command(&words, more);
        // A certain match holds for any value of the unknown words: also if they are empty, or a word that matches
        // nothing.
        let without: Vec<ScriptWord> = words.iter().filter(|word| matches!(word, ScriptWord::Literal(_))).cloned().collect();
        let odd = |word: &ScriptWord| match word {
            ScriptWord::Literal(word) => ScriptWord::Literal(word.clone()),
            ScriptWord::Unknown(_) => ScriptWord::Literal("?".into()),
        };
        let odd: Vec<ScriptWord> = words.iter().map(odd).chain(more.then(|| ScriptWord::Literal("?".into()))).collect();
        let certain = may(&pattern, exact, &without, false) && may(&pattern, exact, &odd, false);
        prop_assert_eq!(found.certain.len(), usize::from(certain));
        prop_assert_eq!(found.certain.len() + found.possible.len(), usize::from(may(&pattern, exact, &words, more)));
    }
}
