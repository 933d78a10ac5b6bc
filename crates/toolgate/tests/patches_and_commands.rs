//! Tests patches and commands in the real sandbox: shared files, `apply_patch` run in a shell, equal write limits.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and make and look at what others would"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{ApprovalPolicy, Grant, Grants, ReviewDecision, SandboxPolicy};
use serde_json::{Value, json};
use testkit::{TestApprover, trials};
use tokio::runtime::Runtime;
use toolgate::{ToolErrorKind, ToolOutput, Toolgate};

trials![
    a_patch_in_tmp_is_where_commands_find_it,
    a_patch_in_tmp_says_that_it_does_not_last,
    a_shell_that_applies_a_patch_is_this_tool,
    a_shell_that_does_more_is_a_shell,
    a_patch_by_shell_is_asked_about_like_any_other,
    a_patch_sees_what_a_command_changed,
    what_commands_may_not_write_patches_may_not_either,
];

struct EditBench {
    toolgate: Toolgate,
    /// Holds the workspace and the directories beside it.
    top: tempfile::TempDir,
    approver: Arc<TestApprover>,
    runtime: Runtime,
}

impl EditBench {
    fn new(approval: ApprovalPolicy, answer: ReviewDecision) -> Self {
        Self::with(testkit::visible_tempdir(), approval, answer)
    }

    /// Every question is denied, and the workspace is in `top`.
    fn at(top: tempfile::TempDir) -> Self {
        Self::with(top, ApprovalPolicy::OnRequest, ReviewDecision::Denied { note: None })
    }

    fn with(top: tempfile::TempDir, approval: ApprovalPolicy, answer: ReviewDecision) -> Self {
        for name in ["w/src", "outside"] {
            fs::create_dir_all(top.path().join(name)).unwrap();
        }
        let approver = TestApprover::new(move |_| answer.clone());
        let toolgate = Toolgate::at(top.path().join("w"))
            .with_tools()
            .edit_records_in(top.path().join("records"))
            .sandbox(SandboxPolicy::WorkspaceWrite)
            .approval(approval)
            .approver(approver.clone())
            .build()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        Self { toolgate, top, approver, runtime: runtime.unwrap() }
    }

    /// Every question is denied, and none is expected.
    fn quiet() -> Self {
        Self::new(ApprovalPolicy::OnRequest, ReviewDecision::Denied { note: None })
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.top.path()).unwrap().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|fault| format!("({name}: {fault})"))
    }

    fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.runtime.block_on(self.toolgate.call(tool, arguments))
    }

    fn patch(&self, lines: &str) -> ToolOutput {
        self.call("apply_patch", json!({ "input": envelope(lines) }))
    }

    fn sh(&self, script: &str) -> ToolOutput {
        self.call("shell_command", json!({ "command": script, "login": false, "timeout_ms": 60_000 }))
    }
}

fn envelope(lines: &str) -> String {
    format!("*** Begin Patch\n{lines}*** End Patch\n")
}

const ADD: &str = "*** Add File: new.txt\n+it costs $HOME `date`\n";

fn a_patch_in_tmp_is_where_commands_find_it() {
    let bench = EditBench::quiet();
    let name = format!("toolgate-edited-{}", std::process::id());
    let answer =
        bench.patch(&format!("*** Add File: /tmp/{name}/a.txt\n+one\n*** Add File: /var/tmp/{name}\n+two\n"));
    assert!(answer.success, "{}", answer.joined_text());
    assert!(!Path::new("/tmp").join(&name).exists() && !Path::new("/var/tmp").join(&name).exists());
    let seen = bench.sh(&format!("cat /tmp/{name}/a.txt /var/tmp/{name}")).joined_text();
    assert!(seen.trim_end().ends_with("one\ntwo"), "{seen}");
    // In the other direction, and with the path that the model knows.
    assert!(bench.sh(&format!("echo 1 > /tmp/{name}/a.txt")).success);
    let answer = bench.patch(&format!("*** Update File: /tmp/{name}/a.txt\n-1\n+2\n"));
    let told = format!("Applied:\nM /tmp/{name}/a.txt\n`/tmp/{name}/a.txt` had changed since you read it");
    assert!(answer.joined_text().starts_with(&told), "{}", answer.joined_text());
    assert!(bench.approver.take_questions().is_empty());
}

fn a_patch_in_tmp_says_that_it_does_not_last() {
    for place in ["/tmp", "/var/tmp"] {
        let bench = EditBench::at(tempfile::tempdir_in(place).unwrap());
        let beside = bench.path("evil");
        let answer = bench.patch("*** Add File: ../evil\n+one\n*** Add File: in.txt\n+two\n");
        let told = format!(
            "Applied:\nA ../evil\nA in.txt\n`{}` is in this session's private `{place}`, not in the host's; it goes when the session ends",
            beside.display()
        );
        assert_eq!(answer.joined_text(), told);
        assert!(!beside.exists() && bench.path("w/in.txt").exists());
        // Commands find the file at the same path.
        assert!(bench.sh(&format!("cat ../evil {}", beside.display())).success);
        // Host files there do not exist for either of them.
        fs::write(bench.path("outside/a.txt"), "1\n").unwrap();
        let answer = bench.patch("*** Update File: ../outside/a.txt\n-1\n+2\n");
        let told = format!("`{place}` is private to this session");
        assert!(!answer.success && answer.joined_text().contains(&told), "{}", answer.joined_text());
        let answer = bench.call("read_file", json!({ "path": bench.path("outside/a.txt") }));
        assert!(!answer.success && answer.joined_text().contains(&told), "{}", answer.joined_text());
        assert!(!answer.joined_text().contains("toolgate-"), "{}", answer.joined_text());
        let listed = bench.call("list_dir", json!({ "path": place }));
        assert!(listed.joined_text().starts_with(&format!("{place}\n")), "{}", listed.joined_text());
    }
}

fn a_shell_that_applies_a_patch_is_this_tool() {
    let heredoc = format!("cd src && apply_patch <<'EOF'\n{}EOF\n", envelope(ADD));
    for (tool, arguments) in [
        ("shell", json!({ "command": ["bash", "-lc", heredoc] })),
        ("shell", json!({ "command": ["apply_patch", envelope(ADD)], "workdir": "src" })),
        ("shell_command", json!({ "command": heredoc })),
        ("exec_command", json!({ "cmd": heredoc })),
        ("exec_command", json!({ "cmd": heredoc.replace("cd src && ", ""), "workdir": "src" })),
    ] {
        let bench = EditBench::quiet();
        let answer = bench.call(tool, arguments.clone());
        assert!(answer.success, "{arguments}: {}", answer.joined_text());
        assert_eq!(answer.joined_text(), "Applied:\nA new.txt", "{arguments}");
        assert_eq!(bench.text("w/src/new.txt"), "it costs $HOME `date`\n", "{arguments}");
    }
}

fn a_shell_that_does_more_is_a_shell() {
    let heredoc = format!("apply_patch <<'EOF'\n{}EOF\n", envelope(ADD));
    for script in [format!("true; {heredoc}"), format!("{heredoc}true\n"), heredoc.replace("'EOF'", "EOF")] {
        let bench = EditBench::quiet();
        let answer = bench.sh(&script);
        assert!(!answer.joined_text().starts_with("Applied"), "{script}: {}", answer.joined_text());
    }
}

fn a_patch_by_shell_is_asked_about_like_any_other() {
    let heredoc = format!("cd src && apply_patch <<'EOF'\n{}EOF\n", envelope(ADD));
    let bench = EditBench::new(ApprovalPolicy::Untrusted, ReviewDecision::Approved);
    assert!(bench.sh(&heredoc).success);
    let question = bench.approver.take_questions().remove(0);
    assert_eq!(question.tool, "apply_patch");
    assert!(question.intent.diff.unwrap().contains("+it costs $HOME `date`\n"));
    // A patch outside the workspace needs a grant.
    let bench = EditBench::quiet();
    let answer = bench.sh(&heredoc.replace("cd src", "cd ../outside"));
    assert_eq!(answer.facts.error, Some(ToolErrorKind::Denied), "{}", answer.joined_text());
    assert_eq!(
        bench.approver.take_questions().remove(0).grants,
        Grants::from([Grant::Write(bench.path("outside"))])
    );
    assert!(!bench.path("outside/new.txt").exists());
}

fn a_patch_sees_what_a_command_changed() {
    let bench = EditBench::quiet();
    fs::write(bench.path("w/a.txt"), "one\ntwo\n").unwrap();
    assert!(bench.call("read_file", json!({ "path": "a.txt" })).success);
    assert!(bench.sh("sed -i s/one/eins/ a.txt").success);
    let answer = bench.patch("*** Update File: a.txt\n-two\n+zwei\n");
    assert!(answer.joined_text().contains("had changed since you read it"), "{}", answer.joined_text());
    assert_eq!(bench.text("w/a.txt"), "eins\nzwei\n");
}

fn what_commands_may_not_write_patches_may_not_either() {
    let bench = EditBench::quiet();
    for repository in ["w", "w/sub"] {
        fs::create_dir_all(bench.path(repository).join(".git/hooks")).unwrap();
        fs::write(bench.path(repository).join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    for path in
        [".git/hooks/pre-commit", "sub/.git/hooks/pre-commit", "sub/.git/config", ".toolgate/rules.toml"]
    {
        let by_command = bench.sh(&format!("mkdir -p $(dirname {path}); echo x > {path}"));
        let written = bench.path("w").join(path).exists();
        assert!(!written, "a command wrote {path}: {}", by_command.joined_text());
        let by_patch = bench.patch(&format!("*** Add File: {path}\n+x\n"));
        assert!(!by_patch.success, "a patch wrote {path}: {}", by_patch.joined_text());
        assert!(!bench.path("w").join(path).exists(), "{path}");
    }
}
