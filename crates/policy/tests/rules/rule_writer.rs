//! Tests adding rules to a rule file.

use std::path::Path;

use toolgate_policy::rules::{
    NewRule, PathAccess, RuleAddition, RuleDecision, RuleFault, RulePath, RuleSubject, add_rule,
};

fn command(words: &[&str]) -> NewRule {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let pattern = words.iter().map(|word| vec![word.clone()]).collect();
    let on = RuleSubject::Command { pattern, exact: false };
    NewRule {
        subject: on,
        decision: RuleDecision::Allow,
        reason: None,
        unsandboxed: false,
        example: Some(words),
    }
}

fn added(text: &str, rule: &NewRule) -> Result<RuleAddition, RuleFault> {
    add_rule(text, Path::new("/c/rules.toml"), rule)
}

fn text(text: &str, rule: &NewRule) -> String {
    match added(text, rule).unwrap() {
        RuleAddition::Added { text, .. } => text,
        RuleAddition::AlreadyExists { line } => panic!("it is on line {line}"),
    }
}

#[test]
fn every_kind_of_rule_is_written() {
    let rule = |on| NewRule { subject: on, ..command(&[]) };
    let one = NewRule {
        subject: RuleSubject::Command {
            pattern: vec![vec!["a\"b".into()], vec!["c".into(), "\u{202e}\n\\".into()]],
            exact: true,
        },
        reason: Some("as I said".into()),
        unsandboxed: true,
        example: Some(vec!["a\"b".into(), "c".into()]),
        ..command(&[])
    };
    let none = None;
    let paths = vec![RulePath::Absolute("/a".into()), RulePath::Home("b".into())];
    let path =
        NewRule { example: none.clone(), ..rule(RuleSubject::Path { paths, access: PathAccess::Read }) };
    let tool = NewRule {
        example: none.clone(),
        decision: RuleDecision::Ask,
        ..rule(RuleSubject::Tool { names: vec!["x*".into()] })
    };
    let host =
        NewRule { example: none, ..rule(RuleSubject::Host { hosts: vec!["[::1]:80".parse().unwrap()] }) };
    let all = [one, path, tool, host].iter().fold(String::new(), |before, rule| text(&before, rule));
    insta::assert_snapshot!(all, @r#"
    [[rule]]
    pattern = ["a\"b", ["c", "\u202e\n\\"]]
    exact = true
    decision = "allow"
    unsandboxed = true
    reason = "as I said"
    match = [["a\"b", "c"]]

    [[rule]]
    path = ["/a", "~/b"]
    access = "read"
    decision = "allow"

    [[rule]]
    tool = "x*"
    decision = "ask"

    [[rule]]
    host = "[::1]:80"
    decision = "allow"
    "#);
}

#[test]
fn existing_text_is_kept() {
    let rule = command(&["cargo", "test"]);
    for before in ["", "# mine", "# mine\r\n\r\n", "\n\n", "[[rule]] # x\npattern=['ls']\ndecision='ask'"] {
        let after = text(before, &rule);
        assert!(after.starts_with(before), "{after}");
        assert_eq!(
            added(&after, &rule).unwrap(),
            RuleAddition::AlreadyExists { line: after.lines().count() - 3 },
            "{after}"
        );
    }
}

#[test]
fn invalid_rules_are_refused() {
    let rule = command(&["cargo", "test"]);
    let told = |text: &str, rule: &NewRule| added(text, rule).unwrap_err().to_string();
    insta::assert_snapshot!(told("[[rule]]\ndecision = 1", &rule), @"/c/rules.toml:1:1: the rule is about nothing: it needs `pattern`, `path`, `tool` or `host`");
    insta::assert_snapshot!(told("rule = []", &rule), @"/c/rules.toml: no rule can be added at its end (duplicate key); write each rule below a `[[rule]]`");
    insta::assert_snapshot!(told("", &command(&[])), @r#"/c/rules.toml: the new rule is wrong: `pattern` is empty and would match every command: name the program, e.g. `["git", "push"]`"#);
    insta::assert_snapshot!(told("", &command(&["a\0"])), @"/c/rules.toml: the new rule is wrong: it holds a NUL, which no word of a command can");
    let other = NewRule { example: Some(vec!["ls".into()]), ..rule };
    insta::assert_snapshot!(told("", &other), @"/c/rules.toml: the new rule is wrong: `ls` is in `match`, but the rule does not match it");
}
