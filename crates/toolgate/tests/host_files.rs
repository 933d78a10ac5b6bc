//! Files that take effect on the user's machine by themselves: protection, approval and messages.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and make and look at what others would"
)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use policy::rules::{RuleLayer, RuleSet};
use policy::{ApprovalPolicy, ApprovalQuestion, ReviewDecision, SandboxPolicy};
use serde_json::json;
use testkit::{TestApprover, trials};
use tokio::runtime::Runtime;
use toolgate::{ToolOutput, Toolgate};

trials![
    a_patch_of_configuration_is_asked_about_under_every_policy,
    without_an_approver_it_is_refused,
    a_rule_that_allows_the_path_is_word_enough,
    hooks_and_included_configuration_are_known_to_patches,
    a_command_is_refused_asked_about_and_tried_again,
    code_that_runs_on_the_machine_is_named,
    a_turn_names_what_takes_effect,
    configuration_that_the_user_makes_stays,
    hooks_that_the_user_sets_up_meanwhile_are_guarded,
    a_file_that_a_running_command_makes_is_not_taken_for_the_users,
    new_files_that_take_effect_are_named,
    files_that_git_could_not_change_are_told,
    a_link_with_the_name_of_a_secret_does_not_show_it,
    a_directory_that_cannot_be_listed_stays_closed,
    targets_of_links_in_configuration_are_configuration,
    links_that_the_user_makes_meanwhile_are_guarded,
    scripts_that_configuration_names_are_named,
    configuration_is_named_first_wherever_it_is_made,
    configuration_that_is_moved_or_behind_a_link_is_named,
];

struct HostFileBench {
    toolgate: Toolgate,
    top: tempfile::TempDir,
    approver: Arc<TestApprover>,
    runtime: Runtime,
}

impl HostFileBench {
    fn new(
        sandbox: SandboxPolicy,
        approval: ApprovalPolicy,
        rules: &str,
        answer: fn(&ApprovalQuestion) -> ReviewDecision,
    ) -> Self {
        let top = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir_all(top.path().join("w")).unwrap();
        fs::create_dir(top.path().join("home")).unwrap();
        let w = fs::canonicalize(top.path().join("w")).unwrap();
        let rules = rules.replace("WORKSPACE", w.to_str().unwrap());
        let approver = TestApprover::new(answer);
        let toolgate = Toolgate::at(&w)
            .with_tools()
            .sandbox(sandbox)
            .approval(approval)
            .rules(RuleSet::parse(&rules, "/rules.toml".as_ref(), RuleLayer::User).unwrap())
            .approver(approver.clone())
            .build()
            .unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { toolgate, top, approver, runtime }
    }

    fn writing(answer: fn(&ApprovalQuestion) -> ReviewDecision) -> Self {
        Self::new(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::OnRequest, "", answer)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join("w").join(name)
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        let git = git.args(args).current_dir(self.path("")).env("HOME", self.top.path().join("home"));
        assert!(git.output().unwrap().status.success(), "git {args:?}");
    }

    fn add(&self, path: &str) -> ToolOutput {
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch");
        self.runtime.block_on(self.toolgate.call("apply_patch", json!({ "input": patch })))
    }

    fn sh(&self, script: &str) -> ToolOutput {
        let arguments = json!({ "command": script, "login": false, "timeout_ms": 60_000 });
        self.runtime.block_on(self.toolgate.call("shell_command", arguments))
    }

    /// Starts a command that keeps running, and returns its session id.
    fn begin(&self, cmd: &str) -> u64 {
        let arguments = json!({ "cmd": cmd, "login": false, "yield_time_ms": 400 });
        let text = self.runtime.block_on(self.toolgate.call("exec_command", arguments)).joined_text();
        let id = text.split("session ID ").nth(1).unwrap_or_else(|| panic!("{text}"));
        id.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
    }

    /// Returns the number of questions since the last call of this function.
    fn questions(&self) -> usize {
        self.approver.take_questions().len()
    }
}

fn yes(_: &ApprovalQuestion) -> ReviewDecision {
    ReviewDecision::Approved
}

fn no(_: &ApprovalQuestion) -> ReviewDecision {
    ReviewDecision::Denied { note: None }
}

const CONFIGURATION: &[&str] = &[
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/tasks.json",
    ".zed/settings.json",
    ".idea/x",
    ".devcontainer/devcontainer.json",
    ".gemini/settings.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".agents/x",
    ".husky/pre-commit",
    "AGENTS.md",
    "CLAUDE.md",
    "sub/CLAUDE.md",
    "sub/.mcp.json",
];

fn a_patch_of_configuration_is_asked_about_under_every_policy() {
    for sandbox in [SandboxPolicy::WorkspaceWrite, SandboxPolicy::FullAccess, SandboxPolicy::ReadOnly] {
        for approval in [ApprovalPolicy::OnRequest, ApprovalPolicy::OnFailure, ApprovalPolicy::Untrusted] {
            let desk = HostFileBench::new(sandbox, approval, "", no);
            for path in CONFIGURATION {
                let answer = desk.add(path);
                assert!(!answer.success, "{path} under {sandbox:?}, {approval}: {}", answer.joined_text());
                assert_eq!(desk.questions(), 1, "{path} under {sandbox:?}, {approval}");
                assert!(!desk.path(path).exists(), "{path}");
            }
        }
    }
    let desk = HostFileBench::writing(yes);
    for path in CONFIGURATION {
        let answer = desk.add(path);
        assert!(answer.success && desk.path(path).exists(), "{path}: {}", answer.joined_text());
    }
    assert_eq!(desk.questions(), CONFIGURATION.len());
}

fn without_an_approver_it_is_refused() {
    for sandbox in [SandboxPolicy::WorkspaceWrite, SandboxPolicy::FullAccess] {
        let desk = HostFileBench::new(sandbox, ApprovalPolicy::Never, "", yes);
        let answer = desk.add(".vscode/tasks.json");
        assert!(!answer.success && !desk.path(".vscode/tasks.json").exists());
        let text = answer.joined_text();
        assert!(
            text.contains("takes effect on this machine next time you open this folder in VS Code"),
            "{text}"
        );
        assert!(desk.add("src/plain.txt").success);
        assert_eq!(desk.questions(), 0);
    }
}

fn a_rule_that_allows_the_path_is_word_enough() {
    let rule = "[[rule]]\npath = [\"WORKSPACE/AGENTS.md\"]\ndecision = \"allow\"\n";
    let desk = HostFileBench::new(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::OnRequest, rule, no);
    assert!(desk.add("AGENTS.md").success && desk.questions() == 0);
    assert!(!desk.add("CLAUDE.md").success && desk.questions() == 1);
}

fn hooks_and_included_configuration_are_known_to_patches() {
    let desk = HostFileBench::writing(no);
    desk.git(&["init", "-q"]);
    desk.git(&["config", "core.hooksPath", "githooks"]);
    desk.git(&["config", "include.path", "../more.conf"]);
    desk.git(&["config", "core.fsmonitor", "sh watch"]);
    fs::write(desk.path("watch"), "exit 1\n").unwrap();
    fs::create_dir(desk.path("real")).unwrap();
    std::os::unix::fs::symlink("real", desk.path("githooks")).unwrap();
    for path in ["githooks/pre-commit", "real/pre-push", "more.conf"] {
        let answer = desk.add(path);
        assert!(!answer.success && desk.questions() == 1, "{path}: {}", answer.joined_text());
    }
    let patch = "*** Begin Patch\n*** Update File: watch\n-exit 1\n+touch x\n*** End Patch";
    let answer = desk.runtime.block_on(desk.toolgate.call("apply_patch", json!({ "input": patch })));
    assert!(!answer.success && desk.questions() == 1, "{}", answer.joined_text());
    assert!(desk.add("other/file").success && desk.questions() == 0);
}

fn a_command_is_refused_asked_about_and_tried_again() {
    let desk = HostFileBench::writing(yes);
    fs::write(desk.path("AGENTS.md"), "mine\n").unwrap();
    let answer = desk.sh("echo more >> AGENTS.md");
    assert_eq!((desk.questions(), answer.success), (1, true), "{}", answer.joined_text());
    assert_eq!(fs::read_to_string(desk.path("AGENTS.md")).unwrap(), "mine\nmore\n");
    let answer = desk.sh("echo x > .vscode/settings.json");
    assert_eq!((desk.questions(), answer.success), (1, true), "{}", answer.joined_text());
    assert!(desk.path(".vscode/settings.json").exists());
}

fn code_that_runs_on_the_machine_is_named() {
    let desk = HostFileBench::writing(no);
    desk.git(&["init", "-q"]);
    fs::write(desk.path(".git/hooks/pre-commit"), "#!/bin/sh\nexec \"$top/scripts/lint.sh\"\n").unwrap();
    fs::create_dir(desk.path("scripts")).unwrap();
    fs::write(desk.path("scripts/lint.sh"), "true\n").unwrap();
    fs::write(desk.path("package.json"), "{}\n").unwrap();
    let text = desk.sh("echo touch x > scripts/lint.sh; echo '{ }' > package.json").joined_text();
    assert!(
        text.contains("scripts/lint.sh` runs on your machine next time you commit or push here"),
        "{text}"
    );
    assert!(text.contains("package.json` runs on your machine next time you run npm"), "{text}");
    let text = desk.sh("echo done").joined_text();
    assert!(!text.contains("runs on your machine"), "{text}");
    let patch = "*** Begin Patch\n*** Update File: scripts/lint.sh\n-touch x\n+touch y\n*** End Patch";
    let text =
        desk.runtime.block_on(desk.toolgate.call("apply_patch", json!({ "input": patch }))).joined_text();
    assert!(
        text.contains("`scripts/lint.sh` runs on your machine next time you commit or push here"),
        "{text}"
    );
}

fn a_turn_names_what_takes_effect() {
    let desk = HostFileBench::writing(yes);
    let mut tracker = desk.toolgate.track_turns();
    assert!(desk.sh("mkdir sub; echo '{}' > sub/package.json; echo x > plain").success);
    assert!(desk.add("AGENTS.md").success);
    let text = tracker.finish_turn().text;
    let begin: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
    assert_eq!(
        begin,
        [
            "# `AGENTS.md` takes effect on your machine next time you start an agent here",
            "# `sub/package.json` runs on your machine next time you run npm, pnpm, yarn or bun here",
        ],
        "{text}"
    );
}

fn configuration_that_the_user_makes_stays() {
    let desk = HostFileBench::writing(no);
    assert!(desk.sh("true").success);
    fs::write(desk.path("CLAUDE.md"), "mine\n").unwrap();
    let text = desk.sh("echo evil > .mcp.json; echo ok").joined_text();
    assert!(text.contains(".mcp.json.untrusted-") && text.contains("start an agent here"), "{text}");
    assert!(desk.path("CLAUDE.md").exists() && !desk.path(".mcp.json").exists());
}

fn hooks_that_the_user_sets_up_meanwhile_are_guarded() {
    let desk = HostFileBench::new(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::Never, "", no);
    desk.git(&["init", "-q"]);
    fs::create_dir(desk.path("h")).unwrap();
    assert!(desk.sh("echo x > h/a").success);
    desk.git(&["config", "core.hooksPath", "h"]);
    let answer = desk.sh("echo x > h/pre-commit");
    assert!(!desk.path("h/pre-commit").exists(), "{}", answer.joined_text());
}

fn a_file_that_a_running_command_makes_is_not_taken_for_the_users() {
    let desk = HostFileBench::writing(no);
    let first = desk.begin("while :; do echo evil > .mcp.json; done");
    let second = desk.begin("sleep 2; echo evil > .mcp.json; sleep 0.2");
    desk.runtime.block_on(desk.toolgate.call("kill_session", json!({ "session_id": first })));
    let wait = json!({ "session_id": second, "chars": "", "yield_time_ms": 20_000 });
    let text = desk.runtime.block_on(desk.toolgate.call("write_stdin", wait)).joined_text();
    assert!(!desk.path(".mcp.json").exists(), "{text}");
    assert!(text.contains(".mcp.json.untrusted-"), "{text}");
}

fn new_files_that_take_effect_are_named() {
    let desk = HostFileBench::writing(no);
    for (name, text) in
        [("sub/.claude/settings.json", "{}"), (".cargo/config.toml", ""), ("sub/AGENTS.md", "a")]
    {
        fs::create_dir_all(desk.path(name).parent().unwrap()).unwrap();
        fs::write(desk.path(name), text).unwrap();
    }
    let changed = [
        ("package.json", "runs on"),
        ("Justfile", "runs on"),
        (".pre-commit-config.yaml", "runs on"),
        (".gitattributes", "runs on"),
        (".cargo/config.toml", "runs on"),
        ("sub/.claude/settings.json", "takes effect on"),
        ("sub/AGENTS.md", "takes effect on"),
        ("new/deep/AGENTS.md", "takes effect on"),
        ("x.code-workspace", "takes effect on"),
    ];
    let names: Vec<&str> = changed.iter().map(|(name, _)| *name).collect();
    let answer = desk.sh(&format!("mkdir -p new/deep; for f in {}; do echo 1 > $f; done", names.join(" ")));
    let text = answer.joined_text();
    for (name, what) in changed {
        assert!(text.contains(&format!("/{name}` {what} your machine next time you")), "{name}: {text}");
    }
    let text = desk.sh("echo x > src.txt").joined_text();
    assert!(!text.contains("your machine"), "{text}");
}

fn files_that_git_could_not_change_are_told() {
    let desk = HostFileBench::new(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::Never, "", no);
    desk.git(&["init", "-q", "-b", "one"]);
    let commit = |text: &str| {
        fs::write(desk.path("AGENTS.md"), text).unwrap();
        desk.git(&["add", "."]);
        desk.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]);
    };
    commit("1\n");
    desk.git(&["switch", "-qc", "two"]);
    commit("2\n");
    desk.git(&["switch", "-q", "one"]);
    let text = desk.sh("git switch two").joined_text();
    assert!(
        text.contains("Git could not change `AGENTS.md`") && text.contains("git checkout -- AGENTS.md"),
        "{text}"
    );
}

fn a_link_with_the_name_of_a_secret_does_not_show_it() {
    let desk = HostFileBench::writing(no);
    fs::create_dir(desk.path("conf")).unwrap();
    fs::write(desk.path("conf/prod.txt"), "SECRET").unwrap();
    std::os::unix::fs::symlink("conf/prod.txt", desk.path(".env")).unwrap();
    // A symlink that a command makes must not hide a program.
    fs::create_dir(desk.path("sub")).unwrap();
    std::os::unix::fs::symlink("/usr/bin/env", desk.path("sub/.env")).unwrap();
    let text = desk.sh("cat .env conf/prod.txt; /usr/bin/env true && echo ran").joined_text();
    assert!(!text.contains("SECRET") && text.contains("ran"), "{text}");
}

fn a_directory_that_cannot_be_listed_stays_closed() {
    use std::os::unix::fs::PermissionsExt;
    let desk = HostFileBench::writing(no);
    fs::create_dir_all(desk.path("app/conf")).unwrap();
    fs::write(desk.path("app/conf/.env"), "SECRET").unwrap();
    fs::set_permissions(desk.path("app"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root can list it anyway, and then only the file is hidden.
    let text = desk.sh("chmod 755 app; cat app/conf/.env").joined_text();
    fs::set_permissions(desk.path("app"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!text.contains("SECRET"), "{text}");
}

fn targets_of_links_in_configuration_are_configuration() {
    let desk = HostFileBench::new(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::Never, "", no);
    let links = [
        ("conf/vs.json", ".vscode/settings.json", "../conf/vs.json"),
        ("prompts/a.md", ".claude/commands", "../prompts"),
        ("docs/agents.md", "AGENTS.md", "docs/agents.md"),
        ("gh/copilot-instructions.md", ".github", "gh"),
    ];
    for (target, link, to) in links {
        for path in [target, link] {
            fs::create_dir_all(desk.path(path).parent().unwrap()).unwrap();
        }
        fs::write(desk.path(target), "old\n").unwrap();
        std::os::unix::fs::symlink(to, desk.path(link)).unwrap();
    }
    for (target, _, _) in links {
        let patch = format!("*** Begin Patch\n*** Update File: {target}\n-old\n+evil\n*** End Patch");
        let answer = desk.runtime.block_on(desk.toolgate.call("apply_patch", json!({ "input": patch })));
        assert!(!answer.success, "{target}: {}", answer.joined_text());
        let answer =
            desk.sh(&format!("echo evil > {target}; d=$(dirname {target}); mv $d moved; echo evil > $d"));
        assert_eq!(fs::read_to_string(desk.path(target)).unwrap(), "old\n", "{}", answer.joined_text());
    }
    assert!(desk.sh("echo x > gh/other; echo x > conf/other").success && desk.path("gh/other").exists());
    assert!(desk.add("conf/new").success && !desk.add("prompts/new.md").success);
}

fn links_that_the_user_makes_meanwhile_are_guarded() {
    let desk = HostFileBench::new(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::Never, "", no);
    fs::create_dir(desk.path(".vscode")).unwrap();
    assert!(desk.sh("echo old > x.json").success);
    std::os::unix::fs::symlink("../x.json", desk.path(".vscode/tasks.json")).unwrap();
    let answer = desk.sh("echo evil > x.json");
    assert_eq!(fs::read_to_string(desk.path("x.json")).unwrap(), "old\n", "{}", answer.joined_text());
}

fn scripts_that_configuration_names_are_named() {
    let desk = HostFileBench::writing(no);
    fs::create_dir_all(desk.path("s")).unwrap();
    fs::create_dir(desk.path(".claude")).unwrap();
    for name in ["mcp.sh", "hook.sh", "npm.sh", "later.sh", "other.sh"] {
        fs::write(desk.path("s").join(name), "old\n").unwrap();
    }
    fs::write(desk.path(".mcp.json"), r#"{"command": "sh", "args": ["s/mcp.sh"]}"#).unwrap();
    fs::write(desk.path(".claude/settings.json"), r#"{"command": "$CLAUDE_PROJECT_DIR/s/hook.sh"}"#).unwrap();
    fs::write(desk.path("package.json"), r#"{"scripts": {"postinstall": "sh s/npm.sh"}}"#).unwrap();
    let text = desk.sh("for f in s/*; do echo evil > $f; done").joined_text();
    let runs =
        |text: &str, name: &str| text.contains(&format!("s/{name}` runs on your machine next time you"));
    for (name, expected) in
        [("mcp.sh", true), ("hook.sh", true), ("npm.sh", true), ("later.sh", false), ("other.sh", false)]
    {
        assert_eq!(runs(&text, name), expected, "{name}: {text}");
    }
    // A command can change which scripts run.
    desk.sh(r#"echo '{"scripts": {"test": "./s/later.sh"}}' > package.json"#);
    let text = desk.sh("echo 2 > s/later.sh").joined_text();
    assert!(runs(&text, "later.sh"), "{text}");
    let patch = "*** Begin Patch\n*** Update File: s/mcp.sh\n-evil\n+more\n*** End Patch";
    let text =
        desk.runtime.block_on(desk.toolgate.call("apply_patch", json!({ "input": patch }))).joined_text();
    assert!(runs(&text, "mcp.sh"), "{text}");
}

fn configuration_is_named_first_wherever_it_is_made() {
    let desk = HostFileBench::writing(no);
    for directory in ["a/b/c/d/e", "vendor/z"] {
        fs::create_dir_all(desk.path(directory)).unwrap();
    }
    let many = "for i in $(seq 30); do mkdir p$i; echo {} > p$i/package.json; done";
    let text =
        desk.sh(&format!("{many}; mkdir -p zsub/.claude; echo 1 > zsub/.claude/settings.json")).joined_text();
    assert!(text.contains("zsub/.claude/settings.json` takes effect"), "{text}");
    let text = desk.sh("echo 1 > vendor/z/AGENTS.md; echo {} > vendor/z/package.json").joined_text();
    assert!(text.contains("vendor/z/AGENTS.md` takes effect") && !text.contains("package.json"), "{text}");
    let text = desk.sh("echo 1 > a/b/c/d/e/AGENTS.md").joined_text();
    assert!(text.contains("a/b/c/d/e/AGENTS.md` takes effect"), "{text}");
    // Also in a directory that an earlier command made.
    desk.sh("mkdir -p n/b/c/d/e");
    let text = desk.sh("echo 1 > n/b/c/d/e/CLAUDE.md").joined_text();
    assert!(text.contains("n/b/c/d/e/CLAUDE.md` takes effect"), "{text}");
}

fn configuration_that_is_moved_or_behind_a_link_is_named() {
    let desk = HostFileBench::writing(no);
    for (name, text) in
        [("d1/x/.claude/settings.json", "{}"), ("conf/x.md", "old"), ("pkg/y", ""), ("d2/y", "")]
    {
        fs::create_dir_all(desk.path(name).parent().unwrap()).unwrap();
        fs::write(desk.path(name), text).unwrap();
    }
    std::os::unix::fs::symlink("../conf/x.md", desk.path("pkg/CLAUDE.md")).unwrap();
    let text = desk.sh("mv d1 d2/; touch d2/d1 d2/d1/x").joined_text();
    assert!(text.contains("d2/d1/x/.claude/settings.json` takes effect"), "{text}");
    let text = desk.sh("echo evil > conf/x.md").joined_text();
    assert!(
        text.contains("conf/x.md` takes effect on your machine next time you start Claude Code"),
        "{text}"
    );
    let text = desk.sh("echo x > plain").joined_text();
    assert!(!text.contains("your machine"), "{text}");
}
