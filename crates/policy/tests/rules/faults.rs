//! Tests every fault message of rule files.

use std::fmt::Write;

use super::parse;
use toolgate_policy::rules::RuleLayer;

const ALLOW_LS: &str = "pattern = [\"ls\"]\ndecision = \"allow\"\n";

fn fault_text(texts: &[&str], layer: RuleLayer) -> String {
    let mut told = String::new();
    for text in texts {
        let fault = parse(text, layer).map(|_| ()).unwrap_err().to_string();
        let _infallible = writeln!(told, "{}", fault.strip_prefix("/w/.toolgate/").unwrap_or(&fault));
    }
    told
}

/// Returns the faults of texts that are one rule; line 1 is `[[rule]]`.
fn rules(texts: &[&str], layer: RuleLayer) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("[[rule]]\n{text}")).collect();
    fault_text(&texts.iter().map(String::as_str).collect::<Vec<_>>(), layer)
}

#[test]
fn faults_of_whole_files() {
    insta::assert_snapshot!(fault_text(&["[[rule]", "rule = 1", "[rule]\n", "rule = [1]", "\n[rules]\n", "x = \"\u{1}\"", "a = 1\na = 2"], RuleLayer::User), @r"
    rules.toml:1:8: unclosed array table, expected `]`
    rules.toml:1:1: a rule begins with `[[rule]]`, with two brackets
    rules.toml:1:2: a rule begins with `[[rule]]`, with two brackets
    rules.toml:1:9: a rule is a table: write `[[rule]]` and its keys below
    rules.toml:2:2: there is no `rules` in a file of rules, only `[[rule]]`
    rules.toml:1:6: invalid basic string, expected non-double-quote visible characters, `\`
    rules.toml:2:1: duplicate key
    ");
    let long = format!("#{}", "x".repeat(1 << 20));
    insta::assert_snapshot!(fault_text(&[&long], RuleLayer::User), @"rules.toml: longer than 1048576 bytes");
}

#[test]
fn faults_in_keys_and_decisions() {
    let texts = [
        "patern = [\"ls\"]\ndecision = \"allow\"",
        "colour = 1\ndecision = \"allow\"",
        "pattern = [\"ls\"]",
        "pattern = [\"ls\"]\ndecision = \"deny\"",
        "pattern = [\"ls\"]\ndecision = \"prompt\"",
        "pattern = [\"ls\"]\ndecision = \"Allow\"",
        "pattern = [\"ls\"]\ndecision = \"perhaps\"",
        "pattern = [\"ls\"]\ndecision = 1",
        "decision = \"ask\"",
        "tool = \"x\"\nhost = \"y\"\ndecision = \"ask\"",
        "host = \"y\"\npattern = [\"ls\"]\npath = \"/\"\ndecision = \"ask\"",
        "pattern = [\"ls\"]\ndecision = \"ask\"\nreason = \"  \"",
        "pattern = [\"ls\"]\ndecision = \"ask\"\nreason = 3",
    ];
    insta::assert_snapshot!(rules(&texts, RuleLayer::User), @r#"
    rules.toml:2:1: a rule has no `patern`; did you mean `pattern`?
    rules.toml:2:1: a rule has no `colour`; there are `pattern`, `exact`, `path`, `access`, `tool`, `host`, `decision`, `reason`, `unsandboxed`, `match`, `not_match`
    rules.toml:1:1: the rule has no `decision`: write "allow", "ask" or "forbid"
    rules.toml:3:12: `deny` is not a decision: write "allow", "ask" or "forbid"; did you mean "forbid"?
    rules.toml:3:12: `prompt` is not a decision: write "allow", "ask" or "forbid"; did you mean "ask"?
    rules.toml:3:12: `Allow` is not a decision: write "allow", "ask" or "forbid"; did you mean "allow"?
    rules.toml:3:12: `perhaps` is not a decision: write "allow", "ask" or "forbid"
    rules.toml:3:12: `decision` must be a text, e.g. `decision = "…"`
    rules.toml:1:1: the rule is about nothing: it needs `pattern`, `path`, `tool` or `host`
    rules.toml:3:1: a rule is about one thing, and this one has `tool` and `host`: make two of it
    rules.toml:3:1: a rule is about one thing, and this one has `host` and `pattern`: make two of it
    rules.toml:4:1: `reason` is empty: say why, or leave it out
    rules.toml:4:10: `reason` must be a text, e.g. `reason = "…"`
    "#);
    let long = format!("{ALLOW_LS}reason = \"{}\"", "é".repeat(501));
    insta::assert_snapshot!(rules(&[&long], RuleLayer::User), @"rules.toml:4:1: `reason` is longer than 500 characters: a model and a person have to read it");
}

#[test]
fn faults_in_patterns() {
    let many = format!("decision = \"ask\"\npattern = [{}]", "\"a\",".repeat(101));
    let texts = [
        "decision = \"ask\"\npattern = \"git push\"",
        "decision = \"ask\"\npattern = []",
        "decision = \"ask\"\npattern = [\"git\", []]",
        "decision = \"ask\"\npattern = [\"\"]",
        "decision = \"ask\"\npattern = [[\"git\", \"\"]]",
        "decision = \"ask\"\npattern = [\"git\", 1]",
        "decision = \"ask\"\npattern = [\"git\", [[\"a\"]]]",
        "decision = \"ask\"\npattern = [\"git\", \"a\\u0000\"]",
        "decision = \"ask\"\npattern = [\"git\"]\nexact = \"yes\"",
        "decision = \"ask\"\ntool = \"x\"\nexact = true",
        "decision = \"ask\"\npattern = [\"git\"]\nunsandboxed = true",
        "decision = \"allow\"\nhost = \"x\"\nunsandboxed = true",
        &many,
    ];
    insta::assert_snapshot!(rules(&texts, RuleLayer::User), @r#"
    rules.toml:3:11: `pattern` must be a list of words, e.g. `["git", ["push", "fetch"]]`
    rules.toml:3:11: `pattern` is empty and would match every command: name the program, e.g. `["git", "push"]`
    rules.toml:3:19: a list of alternatives needs at least one word
    rules.toml:3:12: the first word is the program, which has a name
    rules.toml:3:20: the first word is the program, which has a name
    rules.toml:3:19: a word of a pattern must be a text, or a list of texts for alternatives
    rules.toml:3:20: a word of a pattern must be a text, or a list of texts for alternatives
    rules.toml:3:19: it holds a NUL, which no word of a command can
    rules.toml:4:9: `exact` must be true or false
    rules.toml:4:1: `exact` belongs to a rule with a `pattern`
    rules.toml:4:1: `unsandboxed` says that an allowed command runs without confinement: it needs a `pattern` and decision = "allow"
    rules.toml:4:1: `unsandboxed` says that an allowed command runs without confinement: it needs a `pattern` and decision = "allow"
    rules.toml:3:412: more than 100 words are too many
    "#);
}

#[test]
fn faults_in_paths_tools_and_hosts() {
    let path = |path: &str| format!("decision = \"ask\"\npath = {path}");
    let texts = [
        path("\"\""),
        path("[]"),
        path("[\"/a\", 1]"),
        path("\" /a\""),
        path("\"notes\""),
        path("\"$HOME/x\""),
        path("\"~\""),
        path("\"~root/x\""),
        path("\"~/../x\""),
        path("\"/a/*.md\""),
        path("\"/a\\u0000\""),
        path("\"/a\"\naccess = \"execute\""),
        path("\"/a\"\naccess = \"read\""),
        "decision = \"forbid\"\naccess = \"read\"\npath = [\"*.pem\", \"a[\"]".to_owned(),
        "decision = \"forbid\"\naccess = \"read\"\npath = \"../*.pem\"".to_owned(),
        "decision = \"allow\"\naccess = \"read\"\npath = \"/a/*\"".to_owned(),
        "decision = \"ask\"\npattern = [\"ls\"]\naccess = \"read\"".to_owned(),
        "decision = \"ask\"\ntool = \"\"".to_owned(),
        "decision = \"ask\"\ntool = [\"a\", \"b c\"]".to_owned(),
        "decision = \"ask\"\nhost = [\"a\", \"https://b\"]".to_owned(),
        "decision = \"ask\"\nhost = 1".to_owned(),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    insta::assert_snapshot!(rules(&texts, RuleLayer::User), @r#"
    rules.toml:3:8: ``: it is empty; write a path, e.g. `~/notes`
    rules.toml:3:8: `path` is an empty list, so the rule is about nothing
    rules.toml:3:15: `path` must be a text or a list of texts
    rules.toml:3:8: ` /a`: it begins or ends with a blank
    rules.toml:3:8: `notes`: a relative path has no base directory in a file that is not a project's; write `/…` or `~/…`, or `**/…` where reading is forbidden
    rules.toml:3:8: `$HOME/x`: variables are not expanded; write the path, or `~/…`
    rules.toml:3:8: `~`: only `~/…` is known, your own home
    rules.toml:3:8: `~root/x`: only `~/…` is known, your own home
    rules.toml:3:8: `~/../x`: behind `~/` there is no `..`; write the path from `/`
    rules.toml:3:8: `/a/*.md`: only where reading is forbidden may a path have wildcards; name a directory, all below it is meant
    rules.toml:3:8: `/a\0`: it holds a NUL, which no path can
    rules.toml:4:1: `execute` is not an access: write "read" or "write"
    rules.toml:2:12: reading a path never causes a question: write "forbid", or "allow" to make it readable
    rules.toml:4:18: `a[`: unclosed character class; missing ']'
    rules.toml:4:8: `../*.pem`: `.` and `..` are not resolved; write the path from `/` or `~/`, or a glob
    rules.toml:4:8: `/a/*`: only where reading is forbidden may a path have wildcards; name a directory, all below it is meant
    rules.toml:4:1: `access` belongs to a rule with a `path`
    rules.toml:3:8: ``: it is empty; write a tool's name, e.g. `mcp__github__*`
    rules.toml:3:14: `b c`: a tool's name has letters, digits, `_`, `-` and the like, and no blanks
    rules.toml:3:14: `https://b` is not a host: what follows `:` is a port from 1 to 65535; write e.g. `example.org`, `example.org:443`, `*.example.org`, `192.0.2.7` or `[2001:db8::1]:443`
    rules.toml:3:8: `host` must be a text or a list of texts
    "#);
}

#[test]
fn a_project_may_only_tighten() {
    let texts = [ALLOW_LS, "path = \"docs\"\ndecision = \"allow\"", "host = \"a.org\"\ndecision = \"allow\""];
    insta::assert_snapshot!(rules(&texts, RuleLayer::Project), @"
    rules.toml:3:12: a project may tighten the rules, not loosen them: this belongs in your own file
    rules.toml:3:12: a project may tighten the rules, not loosen them: this belongs in your own file
    rules.toml:3:12: a project may tighten the rules, not loosen them: this belongs in your own file
    ");
    assert!(parse(&format!("[[rule]]\n{ALLOW_LS}"), RuleLayer::System).is_ok());
}

#[test]
fn faults_in_examples() {
    let git = "pattern = [\"git\", \"push\"]\ndecision = \"ask\"\n";
    let texts = [
        "match = [\"git push\", \"git pull\"]",
        "match = [\n  \"git push x\",\n  [\"git\", \"pull\"]]",
        "not_match = [\"git pull\", \"git push origin\"]",
        "match = \"git push\"",
        "match = [1]",
        "match = [[\"git\", 1]]",
        "match = [\"git push | cat\"]",
        "match = [\"git push $branch\"]",
        "match = [\"X=1 git push\"]",
        "match = [\"git push > log\"]",
        "match = [\"git push (\"]",
        "match = [\"\"]",
        "match = [[]]",
        "match = [\"git \\\"push\\\"\\nls\"]",
    ];
    let texts: Vec<String> = texts.iter().map(|text| format!("{git}{text}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    insta::assert_snapshot!(rules(&texts, RuleLayer::User), @r#"
    rules.toml:4:22: `git pull` is in `match`, but the rule does not match it
    rules.toml:6:3: `git pull` is in `match`, but the rule does not match it
    rules.toml:4:26: `git push origin` is in `not_match`, but the rule matches it
    rules.toml:4:9: `match` must be a list of examples, e.g. `match = ["git push"]`
    rules.toml:4:10: an example in `match` is a text or a list of words
    rules.toml:4:18: an example in `match` is a text or a list of words
    rules.toml:4:10: `git push | cat` is not an example: it must be one plain command, without variables, pipes and redirections; or a list of words
    rules.toml:4:10: `git push $branch` is not an example: the value of this variable might run a command; write a list of words instead
    rules.toml:4:10: `X=1 git push` is not an example: it must be one plain command, without variables, pipes and redirections; or a list of words
    rules.toml:4:10: `git push > log` is not an example: it must be one plain command, without variables, pipes and redirections; or a list of words
    rules.toml:4:10: `git push (` is not an example: something that is not understood; write a list of words instead
    rules.toml:4:10: `` is not an example: it must be one plain command, without variables, pipes and redirections; or a list of words
    rules.toml:4:10: `` is in `match`, but the rule does not match it
    rules.toml:4:10: `git \"push\"\nls` is not an example: it must be one plain command, without variables, pipes and redirections; or a list of words
    "#);
    let others = [
        "tool = \"a*\"\ndecision = \"ask\"\nmatch = [\"ab\", \"b\"]",
        "tool = \"a*\"\ndecision = \"ask\"\nmatch = [[\"ab\"]]",
        "host = \"*.a.org:443\"\ndecision = \"ask\"\nmatch = [\"x.a.org\"]\nnot_match = [\"a.org\", \"x.a.org:443\"]",
        "host = \"a.org\"\ndecision = \"ask\"\nmatch = [\"https://a.org\"]",
        "path = \"~/a\"\ndecision = \"ask\"\nmatch = [\"~/a/b\", \"~/a\"]\nnot_match = [\"~/ab\", \"~/a/../a\"]",
        "path = [\"*.pem\", \"/x\"]\naccess = \"read\"\ndecision = \"forbid\"\nmatch = [\"/q/k.pem\", \"/x/y\", \"/y/x\"]",
    ];
    insta::assert_snapshot!(rules(&others, RuleLayer::User), @"
    rules.toml:4:16: `b` is in `match`, but the rule does not match it
    rules.toml:4:10: an example in `match` is a text
    rules.toml:5:23: `x.a.org:443` is in `not_match`, but the rule matches it
    rules.toml:4:10: `https://a.org` is not an example: `https://a.org` is not a host: what follows `:` is a port from 1 to 65535; write e.g. `example.org`, `example.org:443`, `*.example.org`, `192.0.2.7` or `[2001:db8::1]:443`
    rules.toml:5:22: `~/a/../a` is in `not_match`, but the rule matches it
    rules.toml:5:30: `/y/x` is in `match`, but the rule does not match it
    ");
    let project = ["path = \"docs\"\ndecision = \"forbid\"\nmatch = [\"docs/a\", \"/w/docs\", \"/docs\"]"];
    insta::assert_snapshot!(rules(&project, RuleLayer::Project), @"rules.toml:4:31: `/docs` is in `match`, but the rule does not match it");
}
