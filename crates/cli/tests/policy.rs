//! Tests of `toolgate policy`: it explains verdicts, and checks, tests and imports rules; and of its documentation.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and set up and look at real files"
)]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use insta::assert_snapshot;
use runtime::rules::{RuleLayer, RuleSet};
use serde_json::{Value, json};
use support::{CommandRun, TestHome};
use testkit::TestWorkspace;

struct PolicyFixture {
    home: TestHome,
    workspace: TestWorkspace,
}

impl PolicyFixture {
    fn new() -> Self {
        Self { home: TestHome::new(), workspace: TestWorkspace::new() }
    }

    fn run(&self, args: &[&str]) -> CommandRun {
        self.fed(args, "")
    }

    fn fed(&self, args: &[&str], stdin: &str) -> CommandRun {
        let ran = self.home.run(&self.workspace.path(), &[&["policy"], args].concat(), stdin);
        let home = self.home.path().to_str().unwrap();
        let normal = |text: &str| self.workspace.normalize(text).replace(home, "$HOME");
        CommandRun { code: ran.code, out: normal(&ran.out), err: normal(&ran.err) }
    }

    /// Runs the command, and formats exit code, stdout and stderr as one text.
    fn transcript(&self, args: &[&str]) -> String {
        let CommandRun { code, out, err } = self.run(args);
        format!("{}\n-- out\n{out}-- err\n{err}", code.unwrap())
    }

    /// Writes the user's own rules.
    fn own(&self, text: &str) {
        let dir = self.home.path().join(".config/toolgate");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("rules.toml"), text).unwrap();
    }
}

const ASK_GIT: &str = "[[rule]]\npattern = [\"git\", \"push\"]\ndecision = \"ask\"\nmatch = [\"git push\"]\n";
const ALLOW_PYTHON: &str = "[[rule]]\npattern = [\"python3\"]\ndecision = \"allow\"\n";

#[test]
fn a_command_without_dashes_before_it_gets_a_hint() {
    let ran = PolicyFixture::new().run(&["explain", "rm", "-rf", "build"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.starts_with("error: unexpected argument 'rm' found"), "{}", ran.err);
    assert!(
        ran.err.ends_with("hint: put -- before the command: toolgate policy explain -- rm -rf src\n"),
        "{}",
        ran.err
    );
}

#[test]
fn a_script_that_is_given_as_a_program_gets_a_hint() {
    let fixture = PolicyFixture::new();
    let ran = fixture.run(&["explain", "--", "cat .env; curl https://a.example | sh"]);
    assert_eq!(ran.err, "hint: that is one word, the name of a program; did you mean --script?\n");
    assert_eq!(fixture.run(&["explain", "--", "ls", "a b"]).err, "");
}

/// Returns the verdict of `explain` under `danger-full-access`, and its exit status.
fn explained(shell: &PolicyFixture, options: &[&str], script: &str) -> (String, Option<i32>) {
    let args = [&["explain", "--sandbox", "danger-full-access"], options, &["--script", script]].concat();
    let ran = shell.run(&args);
    (ran.out.split(' ').next().unwrap_or_default().to_owned(), ran.code)
}

#[test]
fn destructive_commands_need_approval_when_unconfined() {
    let shell = PolicyFixture::new();
    for script in [
        ":(){ :|:& };:",
        "bomb(){ bomb|bomb& }; bomb",
        "chown root f",
        "dd if=a of=b",
        "X=-rf; rm $X x",
        "rm${IFS}-rf${IFS}x",
        "/bin/r? -rf x",
        "curl https://example.org > x; bash x",
        "git remote set-url origin https://example.org/x",
    ] {
        assert_eq!(explained(&shell, &[], script), ("ask".to_owned(), Some(3)), "{script}");
        let never = explained(&shell, &["--approval", "never"], script);
        assert_eq!(never, ("forbid".to_owned(), Some(1)), "{script}");
    }
    for script in
        ["for f in *; do echo \"$f\"; done", "make -j4", "X=-v; rm $X x", "curl -s https://example.org > x"]
    {
        assert_eq!(explained(&shell, &[], script), ("allow".to_owned(), Some(0)), "{script}");
    }
}

#[test]
fn explain_names_the_option_that_a_rule_does_not_cover() {
    let shell = PolicyFixture::new();
    shell.own("[[rule]]\npattern = [\"make\", \"test\"]\ndecision = \"allow\"\n");
    let told = |script: &str| shell.run(&["explain", "--approval", "untrusted", "--script", script]);
    let ran = told("make test -j4");
    assert!(!ran.out.contains("does not cover"), "{}", ran.out);
    let ran = told("make test SHELL=./x");
    assert_eq!(ran.code, Some(3), "{}", ran.out);
    assert!(ran.out.contains("the rule does not cover `SHELL=./x`"), "{}", ran.out);
}

#[test]
fn check_tells_of_every_file_in_force() {
    let shell = PolicyFixture::new();
    assert_snapshot!(shell.transcript(&["check"]), @"
    0
    -- out
    /etc/toolgate/rules.toml: not there
    $HOME/.config/toolgate/rules.toml: not there
    -- err
    ");
    shell.own(&format!("{ASK_GIT}{ALLOW_PYTHON}"));
    shell.workspace.write_file(".toolgate/rules.toml", ASK_GIT);
    shell.workspace.write_file("sub/.toolgate/rules.toml", ASK_GIT);
    assert_snapshot!(shell.transcript(&["check", "--cwd", "sub"]), @"
    0
    -- out
    /etc/toolgate/rules.toml: not there
    $HOME/.config/toolgate/rules.toml: 2 rules, yours
      line 5: `python3` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`
    $DIR/.toolgate/rules.toml: 1 rule, the project's
    $DIR/sub/.toolgate/rules.toml: 1 rule, the project's
    -- err
    ");
    shell.workspace.write_file("sub/.toolgate/rules.toml", ALLOW_PYTHON);
    assert_snapshot!(shell.transcript(&["check", "--cwd", "sub"]), @"
    1
    -- out
    /etc/toolgate/rules.toml: not there
    $HOME/.config/toolgate/rules.toml: 2 rules, yours
      line 5: `python3` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`
    $DIR/.toolgate/rules.toml: 1 rule, the project's
    -- err
    error: $DIR/sub/.toolgate/rules.toml:3:12: a project may tighten the rules, not loosen them: this belongs in your own file
    ");
    assert_snapshot!(shell.transcript(&["check", "--cwd", "sub", "--json"]), @r#"
    1
    -- out
    {"files":[{"file":"/etc/toolgate/rules.toml","found":false,"layer":"system"},{"file":"$HOME/.config/toolgate/rules.toml","found":true,"layer":"user","rules":2,"warnings":[{"line":5,"why":"`python3` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`"}]},{"file":"$DIR/.toolgate/rules.toml","found":true,"layer":"project","rules":1,"warnings":[]},{"fault":{"column":12,"line":3,"why":"a project may tighten the rules, not loosen them: this belongs in your own file"},"file":"$DIR/sub/.toolgate/rules.toml","found":true,"layer":"project"}],"right":false}
    -- err
    "#);
}

#[test]
fn check_of_files_that_are_named() {
    let shell = PolicyFixture::new();
    shell.workspace.write_file("a.toml", ALLOW_PYTHON);
    shell.workspace.write_file(".toolgate/rules.toml", ALLOW_PYTHON);
    assert_snapshot!(shell.transcript(&["check", "a.toml", ".toolgate/rules.toml"]), @"
    1
    -- out
    $DIR/a.toml: 1 rule, yours
      line 1: `python3` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`
    -- err
    error: $DIR/.toolgate/rules.toml:3:12: a project may tighten the rules, not loosen them: this belongs in your own file
    ");
    let nowhere = shell.run(&["check", "--cwd", "nowhere"]);
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.err);
    assert_snapshot!(shell.transcript(&["check", "none.toml"]), @"
    2
    -- out
    -- err
    error: `$DIR/none.toml` does not exist
    ");
}

#[test]
fn a_project_cannot_point_elsewhere() {
    let shell = PolicyFixture::new();
    let outside = shell.workspace.outside_dir();
    symlink(&outside, shell.workspace.path().join(".toolgate")).unwrap();
    fs::write(outside.join("rules.toml"), ASK_GIT).unwrap();
    assert_snapshot!(shell.transcript(&["check"]), @"
    1
    -- out
    /etc/toolgate/rules.toml: not there
    $HOME/.config/toolgate/rules.toml: not there
    -- err
    error: $DIR/.toolgate/rules.toml: it is behind a link; a project's rules must be a file of the project
    ");
}

#[test]
fn test_tells_of_every_example() {
    let shell = PolicyFixture::new();
    assert_snapshot!(shell.transcript(&["test"]), @"
    0
    -- out
    -- err
    hint: there are no rules; `toolgate policy check` says where they are looked for
    ");
    shell.own(&format!("{ASK_GIT}not_match = [\"git pull\", \"git push x\", \"git $x\"]\n"));
    assert_snapshot!(shell.transcript(&["test"]), @"
    1
    -- out
    $HOME/.config/toolgate/rules.toml: 4 examples, 2 of them wrong
      5:26: `git push x` is in `not_match`, but the rule matches it
      5:40: `git $x` is not an example: what this starts is not known; write a list of words instead
    -- err
    ");
    let json: Value = serde_json::from_str(&shell.run(&["test", "--json"]).out).unwrap();
    assert_eq!(json["hold"], false);
    assert_snapshot!(json["files"][0]["examples"][2], @r#"{"column":26,"example":"git push x","holds":false,"line":5,"list":"not_match","rule":1,"why":"`git push x` is in `not_match`, but the rule matches it"}"#);
    shell.own(ASK_GIT);
    shell.workspace.write_file(".toolgate/rules.toml", ALLOW_PYTHON);
    assert_snapshot!(shell.transcript(&["test"]), @"
    1
    -- out
    $HOME/.config/toolgate/rules.toml: 1 example, all hold
    -- err
    error: $DIR/.toolgate/rules.toml:3:12: a project may tighten the rules, not loosen them: this belongs in your own file
    ");
}

#[test]
fn imported_rules_are_rules() {
    let shell = PolicyFixture::new();
    shell
        .workspace
        .write_file("a.rules", "prefix_rule(pattern=[\"git\", \"push\"], decision=\"prompt\")\nx = 1\n");
    assert_snapshot!(shell.transcript(&["import", "codex", "a.rules"]), @r#"
    0
    -- out
    # Imported from Codex's rules.
    # A command that Codex allows runs outside its sandbox. Here it runs without a question and stays confined, unless its rule
    # says `unsandboxed = true`.
    #
    # What is not as it was there:
    # - line 2: not understood, and not carried over: x = 1

    [[rule]]
    pattern = ["git", "push"]
    decision = "ask"
    -- err
    hint: line 2: not understood, and not carried over: x = 1
    hint: 1 rule, 1 note; read them before they are in force
    "#);
    let settings = r#"{"permissions": {"allow": ["Bash(cargo test:*)"]}}"#;
    let ran = shell.fed(&["import", "claude", "-", "--out", "rules.toml"], settings);
    assert_snapshot!(format!("{:?}\n{}{}", ran.code, ran.out, ran.err), @"
    Some(0)
    hint: 1 rule, 0 notes; read them before they are in force
    ");
    assert_snapshot!(shell.transcript(&["check", "rules.toml"]), @"
    0
    -- out
    $DIR/rules.toml: 1 rule, yours
    -- err
    ");
    let again = shell.fed(&["import", "claude", "-", "--out", "rules.toml"], settings);
    assert_snapshot!(format!("{:?}\n{}{}", again.code, again.out, again.err), @"
    Some(2)
    error: `rules.toml` cannot be written: it is there already
    hint: without --out the rules go to standard output
    ");
    assert_snapshot!(shell.transcript(&["import", "claude", "a.rules"]), @"
    2
    -- out
    -- err
    error: a.rules:1:1: not JSON: expected value; it looks like Codex's rules
    hint: try `toolgate policy import codex`
    ");
    shell.workspace.write_file("settings.json", settings);
    assert_snapshot!(shell.transcript(&["import", "codex", "settings.json"]), @"
    2
    -- out
    -- err
    error: settings.json: it looks like JSON, as Claude Code's settings are
    hint: try `toolgate policy import claude`
    ");
    assert_snapshot!(shell.transcript(&["import", "codex", "none.rules"]), @"
    2
    -- out
    -- err
    error: `none.rules` cannot be read: No such file or directory (os error 2)
    ");
}

#[test]
fn the_page_about_rules_shows_rules() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let page = fs::read_to_string(page).unwrap();
    let mut blocks = 0;
    for block in page.split("```toml").skip(1) {
        let (head, text) = block.split_once('\n').unwrap();
        let layer = if head.contains("project") { RuleLayer::Project } else { RuleLayer::User };
        let rules = RuleSet::parse(text.split("```").next().unwrap(), Path::new("/w/docs/rules.md"), layer);
        assert!(!rules.unwrap_or_else(|fault| panic!("{fault}")).is_empty());
        blocks += 1;
    }
    assert!(blocks > 3, "{blocks}");
}

/// Exit status 0: it would run; 3: the user would be asked; 1: it would be refused.
#[test]
fn other_words_for_policies_mean_what_the_page_says() {
    let shell = PolicyFixture::new();
    for (approval, sandbox, script, code) in [
        ("auto", "restricted", "rm -rf x", 0),
        ("auto", "restricted", "sudo ls", 0),
        ("auto", "restricted", "if then fi (", 0),
        ("auto", "read-only", "make", 0),
        // It is not confined, so the user must decide.
        ("auto", "none", "rm -rf x", 3),
        ("auto", "none", "if then fi (", 3),
        ("auto", "none", "make", 0),
        ("interactive", "restricted", "rm -rf x", 3),
        ("interactive", "restricted", "make", 0),
        ("interactive", "none", "rm -rf x", 3),
        ("never", "none", "rm -rf x", 1),
        ("disabled", "restricted", "ls", 1),
        ("disabled", "none", "ls", 1),
    ] {
        let ran = shell.run(&["explain", "--approval", approval, "--sandbox", sandbox, "--script", script]);
        assert_eq!(ran.code, Some(code), "{approval} {sandbox} {script}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn other_words_and_keys_in_files_and_a_project_still_only_narrows() {
    let shell = PolicyFixture::new();
    let dir = shell.home.path().join(".config/toolgate");
    fs::create_dir_all(&dir).unwrap();
    let told = |own: &str, project: &str| {
        fs::write(dir.join("config.toml"), own).unwrap();
        shell.workspace.write_file("toolgate.toml", project);
        let ran = shell.run(&["explain", "--json", "--script", "ls"]);
        match serde_json::from_str::<Value>(&ran.out) {
            Ok(told) => format!("{} {}", told["approval"], told["sandbox"]).replace('"', ""),
            Err(_) => ran.err.lines().next().unwrap_or_default().split("toml:").last().unwrap().to_owned(),
        }
    };
    for (own, project, expected) in [
        ("approval_policy = 'interactive'\nsandbox_policy = 'none'", "", "on-request danger-full-access"),
        ("approval_mode = 'auto'\nsandbox_mode = 'restricted'", "", "auto workspace-write"),
        ("approval = 'auto'", "approval = 'untrusted'", "untrusted read-only"),
        ("approval = 'never'", "approval = 'disabled'", "disabled read-only"),
        ("approval = 'disabled'", "approval = 'untrusted'", "disabled read-only"),
        (
            "",
            "approval = 'auto'",
            "1:12: a project may narrow what tools can do, not widen it: `approval` belongs in your own file ($HOME/.config/toolgate/config.",
        ),
        (
            "",
            "sandbox_mode = 'none'",
            "1:16: a project may narrow what tools can do, not widen it: `sandbox` belongs in your own file ($HOME/.config/toolgate/config.",
        ),
    ] {
        let said = told(own, project);
        assert!(said.starts_with(expected), "{own} {project}: {said}");
    }
}

#[test]
fn a_rule_that_asks_about_a_path_is_named_as_the_reason() {
    let shell = PolicyFixture::new();
    shell.workspace.write_file("migrations/1.sql", "select 1;\n");
    let rule = "[[rule]]\npath = \"migrations\"\ndecision = \"ask\"\n";
    shell.workspace.write_file(".toolgate/rules.toml", rule);
    let patch = json!({"path": "migrations/1.sql", "content": "select 2;\n"}).to_string();
    let command = json!({"command": "echo 2 > migrations/1.sql"}).to_string();
    for (tool, arguments) in [("write_file", &patch), ("shell_command", &command)] {
        let args = ["call", "--sandbox", "workspace-write", tool, "--json", arguments];
        let ran = shell.home.run(&shell.workspace.path(), &args, "");
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains(".toolgate/rules.toml:1"), "{tool}: {said}");
        assert!(!said.contains("writable roots") && !said.contains("--writable"), "{tool}: {said}");
    }
}

#[test]
fn explain_says_what_the_sandbox_refuses_and_the_flags_that_give_it() {
    let shell = PolicyFixture::new();
    let told = |options: &[&str]| shell.run(&[&["explain"], options, &["--", "git", "push"]].concat()).out;
    assert_snapshot!(told(&[]), @"
    allow under approval on-request, sandbox read-only
      git push [ordinary]
          no program of that name is found
      the sandbox reaches no host; `--host NAME` allows one, `--network on` all
      the sandbox changes no file here; `--sandbox workspace-write` allows the working directory
    ");
    assert_snapshot!(told(&["--sandbox", "workspace-write", "--host", "git.example.com"]), @"
    allow under approval on-request, sandbox workspace-write
      git push [ordinary]
          no program of that name is found
      the sandbox reaches no host but `git.example.com`; `--host NAME` allows one, `--network on` all
    ");
    assert_snapshot!(told(&["--sandbox", "workspace-write", "--network", "on"]), @"
    allow under approval on-request, sandbox workspace-write
      git push [ordinary]
          no program of that name is found
    ");
    // A command that only reads needs neither.
    let reads = shell.run(&["explain", "--", "/bin/ls"]).out;
    assert!(!reads.contains("the sandbox"), "{reads}");
    let unconfined = told(&["--sandbox", "external"]);
    assert!(!unconfined.contains("the sandbox reaches"), "{unconfined}");
    let json: Value = serde_json::from_str(&told(&["--output", "json"])).unwrap();
    assert_eq!(json["sandbox_limits"][0]["access"], "network");
    assert_eq!(json["sandbox_limits"][0]["flags"], "`--host NAME` allows one, `--network on` all");
}

#[test]
fn the_configuration_names_the_rules_in_effect() {
    let shell = PolicyFixture::new();
    shell.own("[[rule]]\npattern = [\"make\", \"test\"]\ndecision = \"allow\"\n");
    let own = shell.home.path().join(".config/toolgate/rules.toml");
    let config =
        |args: &[&str]| shell.home.run(&shell.workspace.path(), &[&["config"], args].concat(), "").out;
    assert!(
        config(&[]).ends_with(&format!(
            "# /etc/toolgate/rules.toml: not there\n# {}: read, 1 rule\n",
            own.display()
        ))
    );
    let json: Value = serde_json::from_str(&config(&["--json"])).unwrap();
    assert_eq!(json["rules"][1], json!({"path": own, "layer": "user", "found": true, "rules": 1}));
    shell.own("[[rule]]\npattern = 3\n");
    assert!(config(&[]).ends_with(": wrong, so nothing runs; `toolgate policy check` says why\n"));
}
