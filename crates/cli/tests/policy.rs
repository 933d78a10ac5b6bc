//! `toolgate policy`: rules checked, tested and imported, and the page about them.
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
use serde_json::Value;
use support::{Home, Ran};
use testkit::Workspace;
use toolgate::rules::{Layer, Rules};

struct Shell {
    home: Home,
    workspace: Workspace,
}

impl Shell {
    fn new() -> Self {
        Self { home: Home::new(), workspace: Workspace::new() }
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.fed(args, "")
    }

    fn fed(&self, args: &[&str], stdin: &str) -> Ran {
        let ran = self.home.run(&self.workspace.path(), &[&["policy"], args].concat(), stdin);
        let home = self.home.path().to_str().unwrap();
        let normal = |text: &str| self.workspace.normal(text).replace(home, "$HOME");
        Ran { code: ran.code, out: normal(&ran.out), err: normal(&ran.err) }
    }

    /// Exit code, stdout and stderr as one text.
    fn told(&self, args: &[&str]) -> String {
        let Ran { code, out, err } = self.run(args);
        format!("{}\n-- out\n{out}-- err\n{err}", code.unwrap())
    }

    /// The user's own rules.
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
    let ran = Shell::new().run(&["explain", "rm", "-rf", "build"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.starts_with("error: unexpected argument 'rm' found"), "{}", ran.err);
    assert!(
        ran.err.ends_with("hint: put -- before the command: toolgate policy explain -- rm -rf src\n"),
        "{}",
        ran.err
    );
}

#[test]
fn check_tells_of_every_file_in_force() {
    let shell = Shell::new();
    assert_snapshot!(shell.told(&["check"]), @"
    0
    -- out
    /etc/toolgate/rules.toml: not there
    $HOME/.config/toolgate/rules.toml: not there
    -- err
    ");
    shell.own(&format!("{ASK_GIT}{ALLOW_PYTHON}"));
    shell.workspace.file(".toolgate/rules.toml", ASK_GIT);
    shell.workspace.file("sub/.toolgate/rules.toml", ASK_GIT);
    assert_snapshot!(shell.told(&["check", "--cwd", "sub"]), @"
    0
    -- out
    /etc/toolgate/rules.toml: not there
    $HOME/.config/toolgate/rules.toml: 2 rules, yours
      line 5: `python3` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`
    $DIR/.toolgate/rules.toml: 1 rule, the project's
    $DIR/sub/.toolgate/rules.toml: 1 rule, the project's
    -- err
    ");
    shell.workspace.file("sub/.toolgate/rules.toml", ALLOW_PYTHON);
    assert_snapshot!(shell.told(&["check", "--cwd", "sub"]), @"
    1
    -- out
    /etc/toolgate/rules.toml: not there
    $HOME/.config/toolgate/rules.toml: 2 rules, yours
      line 5: `python3` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`
    $DIR/.toolgate/rules.toml: 1 rule, the project's
    -- err
    error: $DIR/sub/.toolgate/rules.toml:3:12: a project may tighten the rules, not loosen them: this belongs in your own file
    ");
    assert_snapshot!(shell.told(&["check", "--cwd", "sub", "--json"]), @r#"
    1
    -- out
    {"files":[{"file":"/etc/toolgate/rules.toml","found":false,"layer":"system"},{"file":"$HOME/.config/toolgate/rules.toml","found":true,"layer":"user","rules":2,"warnings":[{"line":5,"why":"`python3` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`"}]},{"file":"$DIR/.toolgate/rules.toml","found":true,"layer":"project","rules":1,"warnings":[]},{"fault":{"column":12,"line":3,"why":"a project may tighten the rules, not loosen them: this belongs in your own file"},"file":"$DIR/sub/.toolgate/rules.toml","found":true,"layer":"project"}],"right":false}
    -- err
    "#);
}

#[test]
fn check_of_files_that_are_named() {
    let shell = Shell::new();
    shell.workspace.file("a.toml", ALLOW_PYTHON);
    shell.workspace.file(".toolgate/rules.toml", ALLOW_PYTHON);
    assert_snapshot!(shell.told(&["check", "a.toml", ".toolgate/rules.toml"]), @"
    1
    -- out
    $DIR/a.toml: 1 rule, yours
      line 1: `python3` runs any program that is given to it, so the rule allows everything; name the file, or say `exact = true`
    -- err
    error: $DIR/.toolgate/rules.toml:3:12: a project may tighten the rules, not loosen them: this belongs in your own file
    ");
    let nowhere = shell.run(&["check", "--cwd", "nowhere"]);
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.err);
    assert_snapshot!(shell.told(&["check", "none.toml"]), @"
    2
    -- out
    -- err
    error: `$DIR/none.toml` does not exist
    ");
}

#[test]
fn a_project_cannot_point_elsewhere() {
    let shell = Shell::new();
    let outside = shell.workspace.outside();
    symlink(&outside, shell.workspace.path().join(".toolgate")).unwrap();
    fs::write(outside.join("rules.toml"), ASK_GIT).unwrap();
    assert_snapshot!(shell.told(&["check"]), @"
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
    let shell = Shell::new();
    assert_snapshot!(shell.told(&["test"]), @"
    0
    -- out
    -- err
    hint: there are no rules; `toolgate policy check` says where they are looked for
    ");
    shell.own(&format!("{ASK_GIT}not_match = [\"git pull\", \"git push x\", \"git $x\"]\n"));
    assert_snapshot!(shell.told(&["test"]), @"
    1
    -- out
    $HOME/.config/toolgate/rules.toml: 4 examples, 2 of them wrong
      5:26: `git push x` is in `not_match`, but the rule matches it
      5:40: `git $x` is no example: what this starts is not known; write a list of words instead
    -- err
    ");
    let json: Value = serde_json::from_str(&shell.run(&["test", "--json"]).out).unwrap();
    assert_eq!(json["hold"], false);
    assert_snapshot!(json["files"][0]["examples"][2], @r#"{"column":26,"example":"git push x","holds":false,"line":5,"list":"not_match","rule":1,"why":"`git push x` is in `not_match`, but the rule matches it"}"#);
    shell.own(ASK_GIT);
    shell.workspace.file(".toolgate/rules.toml", ALLOW_PYTHON);
    assert_snapshot!(shell.told(&["test"]), @"
    1
    -- out
    $HOME/.config/toolgate/rules.toml: 1 example, all hold
    -- err
    error: $DIR/.toolgate/rules.toml:3:12: a project may tighten the rules, not loosen them: this belongs in your own file
    ");
}

#[test]
fn imported_rules_are_rules() {
    let shell = Shell::new();
    shell.workspace.file("a.rules", "prefix_rule(pattern=[\"git\", \"push\"], decision=\"prompt\")\nx = 1\n");
    assert_snapshot!(shell.told(&["import", "codex", "a.rules"]), @r#"
    0
    -- out
    # Made of Codex's rules by `toolgate policy import codex`.
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
    assert_snapshot!(shell.told(&["check", "rules.toml"]), @"
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
    assert_snapshot!(shell.told(&["import", "claude", "a.rules"]), @"
    2
    -- out
    -- err
    error: a.rules:1:1: not JSON: expected value; it looks like Codex's rules: try `toolgate policy import codex`
    ");
    shell.workspace.file("settings.json", settings);
    assert_snapshot!(shell.told(&["import", "codex", "settings.json"]), @"
    2
    -- out
    -- err
    error: settings.json: it looks like JSON, as Claude Code's settings are: try `toolgate policy import claude`
    ");
    assert_snapshot!(shell.told(&["import", "codex", "none.rules"]), @"
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
        let layer = if head.contains("project") { Layer::Project } else { Layer::User };
        let rules = Rules::parse(text.split("```").next().unwrap(), Path::new("/w/docs/rules.md"), layer);
        assert!(!rules.unwrap_or_else(|fault| panic!("{fault}")).is_empty());
        blocks += 1;
    }
    assert!(blocks > 3, "{blocks}");
}
