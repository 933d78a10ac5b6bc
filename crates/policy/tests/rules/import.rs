//! Tests the import of rules of other programs.

use std::path::Path;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use toolgate_policy::rules::import::{ImportedRules, import_claude, import_codex};
use toolgate_policy::rules::{RuleFault, RuleLayer, RuleSet};

use super::read;

fn of_codex(text: &str) -> Result<ImportedRules, RuleFault> {
    import_codex(text, Path::new("default.rules"))
}

fn of_claude(text: &str) -> Result<ImportedRules, RuleFault> {
    import_claude(text, Path::new("settings.json"))
}

/// Returns the imported text without its constant header, after parsing it.
fn checked(imported: &ImportedRules) -> String {
    assert_eq!(read(&imported.text).len(), imported.rules);
    let own = |line: &&str| {
        !line.starts_with("# Imported from")
            && !line.starts_with("# A command")
            && *line != "# says `unsandboxed = true`."
    };
    imported.text.lines().filter(own).collect::<Vec<_>>().join("\n")
}

#[test]
fn codex_rules_are_converted() {
    let text = r##"
# Made by hand.
prefix_rule(pattern=["git", "push"], decision="prompt", match=["git push origin", ["git", "push"]], not_match=["git pull"],)
prefix_rule(
    pattern = ["npm", ["run", 'test'],  # either
    ],
    justification = "so it is\t\"said\"",
)
prefix_rule(["rm"], "forbidden")
prefix_rule(pattern=["echo", r"\d", "\x41\u00e9\\", """three
lines"""])
network_rule(host="Example.ORG", protocol="https", decision="allow")
network_rule(host="evil.example", protocol="http", decision="prompt")
network_rule(host="evil.example", protocol="http", decision="deny", justification="bad")
"##;
    insta::assert_snapshot!(checked(&of_codex(text).unwrap()), @r#"
    #
    # What is not as it was there:
    # - line 12: `https` to this host is allowed as `example.org:443`: rules for hosts have a port and no protocol
    # - line 13: not carried over: line 14 says something else about the same host

    [[rule]]
    pattern = ["git", "push"]
    decision = "ask"
    match = [["git", "push", "origin"], ["git", "push"]]
    not_match = [["git", "pull"]]

    [[rule]]
    pattern = ["npm", ["run", "test"]]
    decision = "allow"
    reason = "so it is\t\"said\""

    [[rule]]
    pattern = ["rm"]
    decision = "forbid"

    [[rule]]
    pattern = ["echo", "\\d", "Aé\\", "three\nlines"]
    decision = "allow"

    [[rule]]
    host = "example.org:443"
    decision = "allow"

    [[rule]]
    host = "evil.example"
    decision = "forbid"
    reason = "bad"
    "#);
}

#[test]
fn unsupported_codex_rules_are_noted() {
    let text = r#"
host_executable(name="git", paths=["/usr/bin/git"])
GIT = ["git"]
prefix_rule(pattern=GIT, decision="allow")
prefix_rule(pattern=["a"] + ["b"])
if True:
    prefix_rule(pattern=["c"])
def f():
  prefix_rule(pattern=["d"])

[prefix_rule(pattern=[x]) for x in ["e"]]
prefix_rule(pattern=["f"]) if False else None
    prefix_rule(pattern=["g"])
prefix_rule(pattern=["h"], decision="deny")
prefix_rule(pattern=["i"], colour="red")
prefix_rule(pattern=["j"], pattern=["k"])
prefix_rule(pattern=[])
prefix_rule(pattern=["l", []])
prefix_rule(pattern="m")
prefix_rule(pattern=[f"n"])
prefix_rule(pattern=["\q"])
prefix_rule(decision="allow")
prefix_rule(pattern=["o"], match=["p", "o 'x"], not_match=["o x"], justification="  ")
prefix_rule(pattern=["p"], **{})
network_rule(host="a.org", protocol="socks5_tcp", decision="allow")
network_rule(host="https://a.org", protocol="https", decision="deny")
network_rule(host="a.org", decision="deny")
print("hello")
prefix_rule(pattern=["q"]); prefix_rule(pattern=["r"])
prefix_rule(pattern=["s
"#;
    insta::assert_snapshot!(checked(&of_codex(text).unwrap()), @r#"
    #
    # What is not as it was there:
    # - line 2: `host_executable` is not carried over: a rule names a program, or its whole path
    # - line 3: not understood, and not carried over: GIT = ["git"]
    # - line 4: not understood, and not carried over: prefix_rule(pattern=GIT, decision="allow")
    # - line 5: not understood, and not carried over: prefix_rule(pattern=["a"] + ["b"])
    # - line 6: not understood, and not carried over: if True:
    # - line 8: not understood, and not carried over: def f():
    # - line 11: not understood, and not carried over: [prefix_rule(pattern=[x]) for x in ["e"]]
    # - line 12: not understood, and not carried over: prefix_rule(pattern=["f"]) if False else None
    # - line 14: not carried over: `decision` must be "allow", "prompt" or "forbidden"
    # - line 15: not carried over: the argument `colour` is not known, or is there twice
    # - line 16: not carried over: the argument `pattern` is not known, or is there twice
    # - line 17: not carried over: `pattern` is empty and would match every command: name the program, e.g. `["git", "push"]`
    # - line 18: not carried over: a list of alternatives needs at least one word
    # - line 19: not carried over: `pattern` must be a list of words and lists of words
    # - line 20: not understood, and not carried over: prefix_rule(pattern=[f"n"])
    # - line 21: not understood, and not carried over: prefix_rule(pattern=["\q"])
    # - line 22: not carried over: `pattern` must be a list of words and lists of words
    # - line 23: `justification` was left out: it is not text, or is empty
    # - line 23: an example was left out: it is neither a command nor a list of words
    # - line 23: an example was left out: `p` is in `match`, but the rule does not match it
    # - line 23: an example was left out: `o x` is in `not_match`, but the rule matches it
    # - line 24: not understood, and not carried over: prefix_rule(pattern=["p"], **{})
    # - line 25: not carried over: which ports `socks5_tcp` allows is not known
    # - line 26: not carried over: `https://a.org` is not a host: what follows `:` is a port from 1 to 65535; write e.g. `example.org`, `example.org:443`, `*.example.org`, `192.0.2.7` or `[2001:db8::1]:443`
    # - line 27: not carried over: `host` and `protocol` must be texts
    # - line 28: `print(…)` is not carried over: it is not a rule
    # - line 29: not understood, and not carried over: prefix_rule(pattern=["q"]); prefix_rule(pattern=["r"])
    # - line 30: not understood, and not carried over: prefix_rule(pattern=["s

    [[rule]]
    pattern = ["o"]
    decision = "allow"
    "#);
    for text in [
        "def prefix_rule(pattern):\n  pass\nprefix_rule(pattern=[\"ls\"])",
        "prefix_rule(pattern=[\"ls\"])\nif x:\n  prefix_rule = print",
        "load(\"x\", \"prefix_rule\")",
    ] {
        assert!(of_codex(text).unwrap_err().why.contains("another meaning"), "{text}");
    }
    let json = of_codex("\n{\"permissions\": {}}").unwrap_err().to_string();
    insta::assert_snapshot!(json, @"default.rules: it looks like JSON, as Claude Code's settings are");
}

#[test]
fn claude_permissions_are_converted() {
    let text = r#"{
      "model": "x", "hooks": {},
      "permissions": {
        "allow": ["Bash(npm run test:*)", "Bash(git status)", "Bash(cargo test *)", "Read(~/.zshrc)", "Read(//etc/hosts)",
                  "Edit(~/notes/**)", "WebFetch(domain:example.com)", "mcp__github", "mcp__github__*", "mcp__github__get_issue"],
        "ask": ["Bash(git push:*)", "Bash"],
        "deny": ["Read(./.env)", "Read(./secrets/**)", "Read(**/*.pem)", "Read(//etc/ssl/private/**)", "Edit(//etc/**)",
                 "Bash(*)", "Read", "WebFetch(domain:*.evil.example)"],
        "additionalDirectories": ["/srv/shared", "~/other"]
      }
    }"#;
    insta::assert_snapshot!(checked(&of_claude(text).unwrap()), @r#"
    #
    # What is not as it was there:
    # - permissions.allow[6]: `WebFetch(domain:example.com)` is a rule for the host, so it holds for commands too
    # - permissions.deny[0]: `Read(./.env)`: holds at any depth here, not only in one project
    # - permissions.deny[1]: `Read(./secrets/**)`: holds at any depth here, not only in one project
    # - settings: not carried over, they are not rules: hooks, model

    [[rule]]
    pattern = ["npm", "run", "test"]
    decision = "allow"

    [[rule]]
    pattern = ["git", "status"]
    exact = true
    decision = "allow"

    [[rule]]
    pattern = ["cargo", "test"]
    decision = "allow"

    [[rule]]
    path = "~/.zshrc"
    access = "read"
    decision = "allow"

    [[rule]]
    path = "/etc/hosts"
    access = "read"
    decision = "allow"

    [[rule]]
    path = "~/notes"
    decision = "allow"

    [[rule]]
    host = "example.com"
    decision = "allow"

    [[rule]]
    tool = "mcp__github__*"
    decision = "allow"

    [[rule]]
    tool = "mcp__github__get_issue"
    decision = "allow"

    [[rule]]
    pattern = ["git", "push"]
    decision = "ask"

    [[rule]]
    tool = ["shell", "shell_command", "exec_command"]
    decision = "ask"

    [[rule]]
    path = "**/.env"
    access = "read"
    decision = "forbid"

    [[rule]]
    path = "**/secrets"
    access = "read"
    decision = "forbid"

    [[rule]]
    path = "**/*.pem"
    access = "read"
    decision = "forbid"

    [[rule]]
    path = "/etc/ssl/private"
    access = "read"
    decision = "forbid"

    [[rule]]
    path = "/etc"
    decision = "forbid"

    [[rule]]
    tool = ["shell", "shell_command", "exec_command"]
    decision = "forbid"

    [[rule]]
    tool = ["read_file", "list_dir", "grep_files", "view_image"]
    decision = "forbid"

    [[rule]]
    host = "*.evil.example"
    decision = "forbid"

    [[rule]]
    path = "/srv/shared"
    access = "read"
    decision = "allow"

    [[rule]]
    path = "~/other"
    access = "read"
    decision = "allow"
    "#);
}

#[test]
fn unsupported_claude_permissions_are_noted() {
    let text = r#"{
      "permissions": {
        "defaultMode": "acceptEdits",
        "allow": ["Bash", "Bash(ls*)", "Bash(* --version)", "Bash(a && b)", "Bash(X=1 make)", "Bash(echo $HOME)", "Bash()", "Bash(:*)",
                  "Read", "Read(./src/**)", "Edit(docs/**)", "Edit", "Read(~/x/*.md)", "WebSearch", "WebFetch", "WebFetch(url:x)",
                  "mcp__a(b)", "Task(x)", "Read(x", "", 7],
        "ask": ["Read(~/x)"],
        "deny": ["Bash(curl * | sh)", "Write(docs/**)", "Read(../x)", "Read(**)", "Read(a{b,c})", "WebFetch(domain:*)", "Agent"],
        "additionalDirectories": ["../docs", "docs"]
      }
    }"#;
    insta::assert_snapshot!(checked(&of_claude(text).unwrap()), @"
    #
    # What is not as it was there:
    # - permissions.allow[0]: `Bash` is not carried over: it allows everything; say what is to be allowed
    # - permissions.allow[1]: `Bash(ls*)` is not carried over: a `*` may only stand for all words at the end
    # - permissions.allow[2]: `Bash(* --version)` is not carried over: a `*` may only stand for all words at the end
    # - permissions.allow[3]: `Bash(a && b)` is not carried over: it is not one plain command
    # - permissions.allow[4]: `Bash(X=1 make)` is not carried over: it is not one plain command
    # - permissions.allow[5]: `Bash(echo $HOME)` is not carried over: it is not one plain command
    # - permissions.allow[6]: `Bash()` is not carried over: it is not one plain command
    # - permissions.allow[7]: `Bash(:*)` is not carried over: it is not one plain command
    # - permissions.allow[8]: `Read` is not carried over: it allows everything; say what is to be allowed
    # - permissions.allow[9]: `Read(./src/**)` is not carried over: what lies in the working directory is read without a question
    # - permissions.allow[10]: `Edit(docs/**)` is not carried over: the sandbox policy says whether a project may be written, not a rule
    # - permissions.allow[11]: `Edit` is not carried over: the sandbox policy says whether files may be changed, not a rule
    # - permissions.allow[12]: `Read(~/x/*.md)` is not carried over: only where reading is forbidden may a path have wildcards; name a directory, all below it is meant
    # - permissions.allow[13]: `WebSearch` is not carried over: there is no such tool here
    # - permissions.allow[14]: `WebFetch` is not carried over: there is no such tool here
    # - permissions.allow[15]: `WebFetch(url:x)` is not carried over: only `domain:` is known
    # - permissions.allow[16]: `mcp__a(b)` is not carried over: there is no such tool here
    # - permissions.allow[17]: `Task(x)` is not carried over: there is no such tool here
    # - permissions.allow[18]: `Read(x` is not carried over: there is no `)` at its end
    # - permissions.allow[19]: `` is not carried over: there is no such tool here
    # - permissions.allow[20]: not carried over: it is not text
    # - permissions.ask[0]: `Read(~/x)` is not carried over: reading a path never causes a question, so it causes no question here
    # - permissions.deny[0]: `Bash(curl * | sh)` is not carried over: a `*` may only stand for all words at the end, so it is NOT forbidden here
    # - permissions.deny[1]: `Write(docs/**)` is not carried over: only a project's own rules can name a path of the project, so it is NOT forbidden here
    # - permissions.deny[2]: `Read(../x)` is not carried over: its path is none that rules can name, so it is NOT forbidden here
    # - permissions.deny[3]: `Read(**)` is not carried over: it would forbid to read everything, so it is NOT forbidden here
    # - permissions.deny[4]: `Read(a{b,c})` is not carried over: its path is none that rules can name, so it is NOT forbidden here
    # - permissions.deny[5]: `WebFetch(domain:*)` is not carried over: it names no host, so it is NOT forbidden here
    # - permissions.deny[6]: `Agent` is not carried over: there is no such tool here, so it is NOT forbidden here
    # - permissions.additionalDirectories[0]: `../docs` is not carried over: its path is none that rules can name
    # - permissions.additionalDirectories[1]: `docs` is not carried over: what lies in the working directory is read without a question
    # - permissions.defaultMode: not carried over: it is a setting, not a rule
    ");
    let told = |text: &str| of_claude(text).unwrap_err().to_string();
    insta::assert_snapshot!(told("{\"permissions\": [}"), @"settings.json:1:18: not JSON: expected value");
    insta::assert_snapshot!(told("prefix_rule(pattern=[\"ls\"])"), @"settings.json:1:1: not JSON: expected value; it looks like Codex's rules");
    insta::assert_snapshot!(told("[]"), @"settings.json: it holds no settings: a `settings.json` is an object");
    insta::assert_snapshot!(told("{\"permissions\": []}"), @"settings.json: `permissions` must be an object");
    assert_eq!(of_claude("{}").unwrap().rules, 0);
}

#[test]
fn hostile_files_take_no_time() {
    let codexes = [
        "x\n".repeat(500_000),
        "(".repeat(1_000_000),
        "[[[[[[[[".repeat(100_000),
        format!("prefix_rule(pattern=[{}])", "[".repeat(1_000_000)),
        "prefix_rule(pattern=[\"a\"])\n".repeat(20_000),
        "prefix_rule(".repeat(80_000),
        "\"\"\"".repeat(300_000),
        "network_rule(host=\"a.org\", protocol=\"http\", decision=\"deny\")\n".repeat(16_000),
        format!("prefix_rule(pattern=[\"a\"], match=[{}])", "\"b\",".repeat(200_000)),
        format!(
            "prefix_rule(pattern=[[{}]], match=[{}])",
            "\"b\",".repeat(100_000),
            "\"b\",".repeat(100_000)
        ),
    ];
    let claudes = [
        format!("{{\"permissions\":{{\"allow\":[{}\"\"]}}}}", "\"Bash(a:*)\",".repeat(20_000)),
        "[".repeat(1_000_000),
    ];
    for (number, text) in codexes.iter().enumerate() {
        let began = Instant::now();
        let _either = of_codex(text);
        assert!(began.elapsed() < Duration::from_secs(20), "{number}: {:?}", began.elapsed());
    }
    for (number, text) in claudes.iter().enumerate() {
        let began = Instant::now();
        let _either = of_claude(text);
        assert!(began.elapsed() < Duration::from_secs(20), "{number}: {:?}", began.elapsed());
    }
    assert!(of_codex(&"x".repeat((1 << 20) + 1)).is_err());
}

proptest! {
    #[test]
    fn whatever_comes_out_of_codex_is_read(text in prop_oneof![any::<String>(), vec(prop_oneof![
        Just("prefix_rule("), Just("network_rule("), Just("host=\"a\""), Just("pattern="), Just("match="), Just("["), Just("]"),
        Just(","), Just("\"git\""), Just("'a\\n'"), Just("\"\"\""), Just("#"), Just("\n"), Just(" "), Just(")"), Just(")\n"),
        Just("decision=\"allow\""), Just("protocol='http'"), Just("justification=\"\u{85}\n\""), Just("é"), Just("\\"), Just("None"),
    ], 0..40).prop_map(|parts| parts.concat())]) {
        if let Ok(imported) = of_codex(&text) {
            let rules = RuleSet::parse(&imported.text, Path::new("x"), RuleLayer::User).unwrap();
            assert_eq!(rules.len(), imported.rules);
        }
    }

    #[test]
    fn whatever_comes_out_of_claude_is_read(texts in vec(prop_oneof![any::<String>(), vec(prop_oneof![
        Just("Bash("), Just("Read("), Just("Edit("), Just("WebFetch(domain:"), Just("mcp__"), Just(")"), Just(":*"), Just(" *"), Just("git"),
        Just("/"), Just("~/"), Just("**"), Just("."), Just("["), Just("\u{202e}"), Just("'"), Just("$"), Just("é"), Just("\n"),
    ], 0..8).prop_map(|parts| parts.concat())], 0..6), list in prop_oneof![Just("allow"), Just("ask"), Just("deny"), Just("additionalDirectories")]) {
        let text = serde_json::json!({ "permissions": { list: texts } }).to_string();
        let imported = of_claude(&text).unwrap();
        let rules = RuleSet::parse(&imported.text, Path::new("x"), RuleLayer::User).unwrap();
        assert_eq!(rules.len(), imported.rules);
    }

    #[test]
    fn any_text_is_settings_or_a_fault(text in any::<String>()) {
        let _either = of_claude(&text);
    }
}
