//! Tests which rules a command matches.

use toolgate_policy::rules::{MatchedRule, strictest};
use toolgate_policy::shell::ScriptWord;

use super::read;

/// Parses words separated by spaces; `$x` is unknown, and `…` at the end means that more may follow.
fn command(text: &str) -> (Vec<ScriptWord>, bool) {
    let (text, more) = match text.strip_suffix('…') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let word = |word: &str| {
        let word = word.to_owned();
        if word.starts_with('$') { ScriptWord::Unknown(word) } else { ScriptWord::Literal(word) }
    };
    (text.split_whitespace().map(word).collect(), more)
}

/// Returns `yes`, `name` (by the last component of a path), `maybe`, `maybe name` or `no`.
fn fit(rule: &str, text: &str) -> &'static str {
    let rules = read(&format!("[[rule]]\n{rule}\ndecision = \"ask\"\n"));
    let (words, more) = command(text);
    let found = rules.rules_for_command(&words, more);
    let by = |matched: &[MatchedRule<'_>]| matched.first().map(|one| one.matched_by_name);
    assert!(found.certain.len() + found.possible.len() <= 1);
    match (by(&found.certain), by(&found.possible)) {
        (Some(false), _) => "yes",
        (Some(true), _) => "name",
        (None, Some(false)) => "maybe",
        (None, Some(true)) => "maybe name",
        (None, None) => "no",
    }
}

#[test]
fn patterns_match_prefixes() {
    let rule = r#"pattern = ["git", ["push", "fetch"], "origin"]"#;
    for (text, expected) in [
        ("git push origin", "yes"),
        ("git fetch origin", "yes"),
        ("git fetch origin main", "yes"),
        ("git fetch origin $branch", "yes"),
        ("git fetch origin …", "yes"),
        ("git pull origin", "no"),
        ("git push", "no"),
        ("git", "no"),
        ("", "no"),
        ("Git push origin", "no"),
        ("git -C x push origin", "no"),
        ("gitk push origin", "no"),
        ("git push $remote", "maybe"),
        ("git $what origin", "maybe"),
        ("git $what main", "maybe"),
        ("git pull $what", "no"),
        ("$git push origin", "maybe"),
        ("$all", "maybe"),
        ("git …", "maybe"),
        ("git push …", "maybe"),
        ("git pull …", "no"),
        ("…", "maybe"),
        ("/usr/bin/git push origin", "name"),
        ("./git push origin", "name"),
        ("git/ push origin", "no"),
        ("/git/x push origin", "no"),
        ("/usr/bin/git push $remote", "maybe name"),
        ("/usr/bin/git pull $remote", "no"),
    ] {
        assert_eq!(fit(rule, text), expected, "{text}");
    }
}

#[test]
fn exact_patterns_match_all_words() {
    let rule = "pattern = [\"a\", [\"b\", \"c\"], \"d\"]\nexact = true";
    for (text, expected) in [
        ("a b d", "yes"),
        ("a c d", "yes"),
        ("a b d e", "no"),
        ("a b d d", "no"),
        ("a b", "no"),
        ("a b d …", "maybe"),
        ("a b …", "maybe"),
        ("a b e …", "no"),
        ("a b d $x", "maybe"),
        ("a b d $x $y", "maybe"),
        ("a b d $x e", "no"),
        ("a b d e $x", "no"),
        ("a $x d", "maybe"),
        ("a $x b d", "maybe"),
        ("a $x d b", "no"),
        ("a $x d $x", "maybe"),
        ("$x d", "maybe"),
        ("$x a b d", "maybe"),
        ("$x b", "no"),
        ("$x b …", "maybe"),
        ("$x c $y", "maybe"),
        ("$x d b", "no"),
        ("$x", "maybe"),
        ("x/a $x d", "maybe name"),
    ] {
        assert_eq!(fit(rule, text), expected, "{text}");
    }
}

#[test]
fn rules_match_programs_given_by_path() {
    for (rule, text, expected) in [
        (r#"pattern = ["/usr/bin/git"]"#, "/usr/bin/git push", "yes"),
        (r#"pattern = ["/usr/bin/git"]"#, "git push", "no"),
        (r#"pattern = ["/usr/bin/git"]"#, "/bin/git push", "no"),
        (r#"pattern = ["/usr/bin/git"]"#, "/x/usr/bin/git push", "no"),
        (r#"pattern = [["git", "/usr/bin/git"]]"#, "/usr/bin/git push", "yes"),
        (r#"pattern = [["git", "/usr/bin/git"]]"#, "/bin/git push", "name"),
        (r#"pattern = [["git", "git"]]"#, "git push", "yes"),
        // The last component counts only for a program.
        (r#"pattern = ["cat", "x"]"#, "cat y/x", "no"),
        (r#"pattern = ["cat", ""]"#, "cat", "no"),
    ] {
        assert_eq!(fit(rule, text), expected, "{rule} {text}");
    }
}

#[test]
fn the_strictest_wins_and_the_longest_gives_the_reason() {
    let rules = read(
        r#"
        [[rule]]
        pattern = ["git", "push", "--force"]
        decision = "forbid"
        reason = "rewrites what others have"
        [[rule]]
        pattern = ["git"]
        decision = "forbid"
        reason = "all of git"
        [[rule]]
        pattern = ["git", "push"]
        decision = "allow"
        [[rule]]
        pattern = [["git", "hg"], "push"]
        decision = "ask"
        "#,
    );
    let reason = |text: &str| {
        let (words, more) = command(text);
        let found = rules.rules_for_command(&words, more);
        let one = strictest(&found.certain).unwrap();
        (found.certain.len(), one.rule.reason.clone().unwrap_or_default())
    };
    assert_eq!(reason("git push --force"), (4, "rewrites what others have".to_owned()));
    assert_eq!(reason("git push"), (3, "all of git".to_owned()));
    assert_eq!(reason("hg push"), (1, String::new()));
}

#[test]
fn layers_are_merged() {
    let one = read("[[rule]]\npattern = [\"ls\"]\ndecision = \"allow\"\n");
    let other = "[[rule]]\npattern = [[\"ls\", \"cat\"]]\ndecision = \"forbid\"\n";
    let all = one.merge(super::parse(other, super::RuleLayer::Project).unwrap());
    assert_eq!((all.len(), all.iter().count(), all.is_empty()), (2, 2, false));
    let (words, more) = command("ls");
    let found = all.rules_for_command(&words, more);
    assert_eq!(found.certain.len(), 2);
    assert_eq!(strictest(&found.certain).unwrap().rule.layer, super::RuleLayer::Project);
}
