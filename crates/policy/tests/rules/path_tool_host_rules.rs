//! Tests rules for paths, tools and hosts, examples, and warnings about broad rules.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use toolgate_policy::DenyRead;
use toolgate_policy::rules::{
    PathAccess, PolicyRule, RuleDecision, RuleLayer, RulePath, RuleSet, RuleSubject,
};

use super::{parse, read};

#[test]
fn paths_are_from_the_root_the_home_or_the_project() {
    let text =
        "[[rule]]\npath = [\"/a/../b/\", \"~/c/./d\", \"docs\", \"../x\", \".\"]\ndecision = \"forbid\"\n";
    let rules = parse(text, RuleLayer::Project).unwrap();
    let Some(PolicyRule { subject: RuleSubject::Path { paths, access }, .. }) = rules.path_rules().next()
    else {
        panic!()
    };
    assert_eq!(*access, PathAccess::Write);
    let at = |path: &str| RulePath::Absolute(PathBuf::from(path));
    assert_eq!(*paths, [at("/b"), RulePath::Home("c/d".into()), at("/w/docs"), at("/x"), at("/w")]);
    let home = Path::new("/home/[me]");
    assert_eq!(paths[1].path(Some(home)).unwrap(), Path::new("/home/[me]/c/d"));
    assert_eq!(paths[1].path(None), None);
}

#[test]
fn a_path_is_a_pattern_to_deny() {
    let text =
        "[[rule]]\npath = [\"/a\", \"~/c\", \"*.p{e,f}m\"]\naccess = \"read\"\ndecision = \"forbid\"\n";
    let rules = read(text);
    let Some(PolicyRule { subject: RuleSubject::Path { paths, .. }, .. }) = rules.path_rules().next() else {
        panic!()
    };
    let here = RulePath::Absolute(PathBuf::from("/q[1]/x"));
    let patterns = paths.iter().chain([&here]).map(RulePath::deny_read_pattern);
    let deny = DenyRead::new(patterns, Some(Path::new("/home/me"))).unwrap();
    for (path, denied) in [
        ("/a/b", true),
        ("/b/a", false),
        ("/home/me/c/d", true),
        ("/x/k.pem", true),
        ("/x/k.pm", false),
        ("/q[1]/x/y", true),
        ("/q1/x", false),
    ] {
        assert_eq!(deny.denying_pattern(Path::new(path)).is_some(), denied, "{path}");
    }
}

#[test]
fn rules_match_tools_and_hosts() {
    let rules = read(
        r#"
        [[rule]]
        tool = ["mcp__github__*", "shell_command"]
        decision = "ask"
        [[rule]]
        tool = "mcp__*__delete_*"
        decision = "forbid"
        [[rule]]
        host = ["*.example.org:443", "192.0.2.1"]
        decision = "allow"
        "#,
    );
    let strictest = |name: &str| rules.rules_for_tool(name).iter().map(|rule| rule.decision).max();
    assert_eq!(strictest("shell_command"), Some(RuleDecision::Ask));
    assert_eq!(strictest("mcp__github__get_issue"), Some(RuleDecision::Ask));
    assert_eq!(strictest("mcp__github__delete_repo"), Some(RuleDecision::Forbid));
    assert_eq!(strictest("read_file"), None);
    assert_eq!(rules.rules_for_host("WWW.example.org", 443)[0].line, 8);
    assert_eq!(rules.rules_for_host("www.example.org", 80).len(), 0);
    assert_eq!(rules.rules_for_host("192.0.2.1", 80).len(), 1);
}

#[test]
fn every_example_is_tried() {
    let text = r#"
[[rule]]
pattern = ["git", "push"]
decision = "ask"
match = ["git push", "git pull", "git push $x", ["/usr/bin/git", "push"], "sudo git push"]
not_match = ["git pull"]
"#;
    let mut told = String::new();
    for tried in RuleSet::run_examples(text, Path::new("r.toml"), RuleLayer::User).unwrap() {
        let fault = tried.fault.as_deref().unwrap_or("holds");
        let _infallible = writeln!(
            told,
            "{} {}:{} {} [{}]: {fault}",
            tried.rule_line, tried.line, tried.column, tried.list, tried.text
        );
    }
    insta::assert_snapshot!(told, @"
    2 5:10 match [git push]: holds
    2 5:22 match [git pull]: `git pull` is in `match`, but the rule does not match it
    2 5:34 match [git push $x]: `git push $x` is not an example: the value of this variable might run a command; write a list of words instead
    2 5:49 match [/usr/bin/git push]: holds
    2 5:75 match [sudo git push]: `sudo git push` is in `match`, but the rule does not match it
    2 6:14 not_match [git pull]: holds
    ");
}

#[test]
fn broad_allow_rules_give_warnings() {
    let commands = [
        r#"["python3"]"#,
        r#"["bash", "-c"]"#,
        r#"["python3", "build.py"]"#,
        r#"["git"]"#,
        r#"["git", "status"]"#,
        r#"["git", "config"]"#,
        r#"["npm", "run"]"#,
        r#"["npm", "run", "build"]"#,
        r#"["sudo"]"#,
        r#"["env", "-i"]"#,
        r#"["rm", "-rf", "src"]"#,
        r#"["cargo", ["test", "run", "install"]]"#,
        r#"["git push"]"#,
        r#"["ls"]"#,
    ];
    let mut text: String = commands
        .iter()
        .map(|pattern| format!("[[rule]]\npattern = {pattern}\ndecision = \"allow\"\n"))
        .collect();
    text.push_str("[[rule]]\npattern = [\"python3\"]\nexact = true\ndecision = \"allow\"\n");
    text.push_str("[[rule]]\npattern = [\"node\"]\nunsandboxed = true\ndecision = \"allow\"\n");
    text.push_str("[[rule]]\npattern = [\"python3\"]\ndecision = \"forbid\"\n");
    text.push_str("[[rule]]\npattern = [\"git push\"]\ndecision = \"forbid\"\n");
    text.push_str("[[rule]]\npath = [\"/a\", \"/\"]\ndecision = \"allow\"\n");
    text.push_str("[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n");
    text.push_str(
        "[[rule]]\npattern = [\"make\", [\"up\", \"down\"]]\ndecision = \"allow\"\nunsandboxed = true\n",
    );
    let rules = read(&text);
    let told: Vec<String> =
        rules.warnings().iter().map(|warning| format!("{}: {}", warning.rule.line, warning.why)).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    1: `python3` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`
    4: `bash -c` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`
    10: `git` can do very different things, or run any other command, by the words that follow; name more of them, or say `exact = true`
    16: `git config` can do very different things, or run any other command, by the words that follow; name more of them, or say `exact = true`
    19: `npm run` can do very different things, or run any other command, by the words that follow; name more of them, or say `exact = true`
    25: it allows `sudo` without a question: runs a command as another user
    28: `env -i` can do very different things, or run any other command, by the words that follow; name more of them, or say `exact = true`
    31: it allows `rm -rf src` without a question: removes files without asking
    34: `cargo install` can do very different things, or run any other command, by the words that follow; name more of them, or say `exact = true`
    37: no program is called `git push`; a pattern lists words: `["git", "push"]`
    47: outside the sandbox, `node` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`
    54: no program is called `git push`; a pattern lists words: `["git", "push"]`
    57: `/` is everything that lies below it, your own configuration too
    60: `*` is every tool, also those that are added later
    63: `make up|down` leaves the sandbox (`unsandboxed = true`), and may do whatever you may
    "#);
}
