//! Commands that need approval, in the real sandbox: the questions, the effect of an approval, and its limits.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and make and look at what others would"
)]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use policy::rules::{RuleLayer, RuleSet};
use policy::{ApprovalPolicy, ApprovalQuestion, Grant, Grants, ReviewDecision, SandboxPolicy};
use serde_json::{Value, json};
use testkit::{TestApprover, trials};
use tokio::runtime::Runtime;
use toolgate::{ToolErrorKind, ToolOutput, Toolgate};

trials![
    what_was_refused_is_asked_for_and_just_that_is_given,
    a_no_leaves_it_refused,
    what_is_not_there_yet_is_made_in_the_directory_that_is,
    a_new_file_at_home_needs_more_than_a_path,
    a_host_is_asked_for_by_name,
    leaving_the_sandbox_is_asked_for,
    tried_inside_first_if_the_policy_says_so,
    never_means_never,
    a_rule_lets_a_command_leave,
    a_path_that_a_rule_closes_stays_closed,
    a_path_that_a_rule_asks_about_is_asked_about,
    a_workspace_below_tmp_is_asked_about_like_any_other,
    who_works_in_tmp_itself_sees_it,
    danger_is_asked_about_and_stays_confined,
    a_command_is_analysed_once_per_call,
    what_a_session_was_told_it_remembers,
    typing_into_what_left_the_sandbox_is_asked_about,
];

struct ApprovalBench {
    toolgate: Toolgate,
    /// Holds the workspace and the directories beside it.
    top: tempfile::TempDir,
    approver: Arc<TestApprover>,
    runtime: Runtime,
}

impl ApprovalBench {
    fn new(answer: impl Fn(&ApprovalQuestion) -> ReviewDecision + Send + Sync + 'static) -> Self {
        Self::with(ApprovalPolicy::OnRequest, "", answer)
    }

    fn with(
        approval: ApprovalPolicy,
        rules: &str,
        answer: impl Fn(&ApprovalQuestion) -> ReviewDecision + Send + Sync + 'static,
    ) -> Self {
        Self::at(testkit::visible_tempdir(), SandboxPolicy::WorkspaceWrite, approval, rules, answer)
    }

    fn at(
        top: tempfile::TempDir,
        sandbox: SandboxPolicy,
        approval: ApprovalPolicy,
        rules: &str,
        answer: impl Fn(&ApprovalQuestion) -> ReviewDecision + Send + Sync + 'static,
    ) -> Self {
        let outside = fs::canonicalize(top.path()).unwrap().join("outside");
        fs::create_dir_all(outside.join("there")).unwrap();
        fs::create_dir(top.path().join("w")).unwrap();
        let approver = TestApprover::new(answer);
        let rules = rules.replace("OUTSIDE", outside.to_str().unwrap());
        let toolgate = Toolgate::at(top.path().join("w"))
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

    fn outside(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.top.path()).unwrap().join("outside").join(name)
    }

    fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.runtime.block_on(self.toolgate.call(tool, arguments))
    }

    fn sh(&self, script: &str) -> ToolOutput {
        self.call("shell_command", json!({ "command": script, "login": false, "timeout_ms": 60_000 }))
    }

    /// Runs `script` with a request to leave the sandbox.
    fn plead(&self, script: &str) -> ToolOutput {
        self.call(
            "shell_command",
            json!({
                "command": script, "login": false, "sandbox_permissions": "require_escalated", "justification": "it needs the device",
            }),
        )
    }

    /// Returns the grants that each question asked for.
    fn asked(&self) -> Vec<Grants> {
        self.approver.take_questions().into_iter().map(|question| question.grants).collect()
    }
}

fn yes(_: &ApprovalQuestion) -> ReviewDecision {
    ReviewDecision::Approved
}

fn no(_: &ApprovalQuestion) -> ReviewDecision {
    ReviewDecision::Denied { note: Some("keep out".to_owned()) }
}

fn writes(path: PathBuf) -> Grants {
    Grants::from([Grant::Write(path)])
}

fn what_was_refused_is_asked_for_and_just_that_is_given() {
    let bench = ApprovalBench::new(yes);
    let (a, b) = (bench.outside("there/a"), bench.outside("b"));
    fs::write(&a, "").unwrap();
    fs::write(&b, "").unwrap();
    let answer = bench.sh(&format!("echo new > {}", a.display()));
    assert!(answer.success, "{}", answer.joined_text());
    assert_eq!(fs::read_to_string(&a).unwrap(), "new\n");
    assert_eq!(bench.asked(), [writes(a.clone())]);
    assert!(answer.joined_text().contains("the user let it change"), "{}", answer.joined_text());
    // A file beside it was not granted: the second refusal is asked about too, and then both are granted.
    let answer = bench.sh(&format!("echo 1 > {} && echo 2 > {}", a.display(), b.display()));
    assert!(answer.success, "{}", answer.joined_text());
    let both = &writes(a.clone()) | &writes(b);
    assert_eq!(bench.asked(), [writes(a), both]);
}

fn a_no_leaves_it_refused() {
    let bench = ApprovalBench::new(no);
    let a = bench.outside("a");
    fs::write(&a, "old").unwrap();
    let answer = bench.sh(&format!("echo new > {}", a.display()));
    assert!(!answer.success);
    assert_eq!(fs::read_to_string(&a).unwrap(), "old");
    // The text before the program's output.
    let text = answer.joined_text();
    let (note, _) = text.split_once("\nExit code: ").unwrap();
    assert!(note.ends_with("and said no: keep out."), "{text}");
}

fn what_is_not_there_yet_is_made_in_the_directory_that_is() {
    let bench = ApprovalBench::new(yes);
    let there = bench.outside("there");
    let answer = bench.sh(&format!("touch {}/new", there.display()));
    assert!(answer.success && there.join("new").exists(), "{}", answer.joined_text());
    assert_eq!(bench.asked(), [writes(there)]);
}

fn a_new_file_at_home_needs_more_than_a_path() {
    // Its directory holds the workspace, so granting that would grant everything.
    let bench = ApprovalBench::new(no);
    let new = fs::canonicalize(bench.top.path()).unwrap().join("new");
    let answer = bench.sh(&format!("touch {}", new.display()));
    assert!(!answer.success && !new.exists());
    assert!(bench.asked().iter().all(|grants| *grants == Grants::from([Grant::Unconfined])));
}

fn a_host_is_asked_for_by_name() {
    let bench = ApprovalBench::new(yes);
    let script = "import socket; socket.create_connection(('registry.example.org', 443), 5)";
    bench.call("shell", json!({ "command": ["python3", "-c", script] }));
    let asked = bench.asked();
    assert_eq!(asked, [Grants::from([Grant::Connect("registry.example.org".parse().unwrap())])]);
}

fn leaving_the_sandbox_is_asked_for() {
    let bench = ApprovalBench::new(|question| {
        assert_eq!(question.intent.justification.as_deref(), Some("it needs the device"));
        assert!(question.confinement.is_none() && !question.is_retry);
        ReviewDecision::Approved
    });
    let new = bench.outside("new");
    let script = format!("touch {}", new.display());
    let answer = bench.plead(&script);
    assert!(answer.success && new.exists(), "{}", answer.joined_text());
    assert_eq!(bench.asked(), [Grants::from([Grant::Unconfined])]);
    assert_eq!(answer.facts.enforcement.unwrap().as_str(), "none");
    // A denied request has no effect.
    fs::remove_file(&new).unwrap();
    let bench = ApprovalBench::new(no);
    let answer = bench.plead(&script);
    assert_eq!(answer.facts.error, Some(ToolErrorKind::Denied), "{}", answer.joined_text());
    assert!(!new.exists());
}

fn tried_inside_first_if_the_policy_says_so() {
    let bench = ApprovalBench::with(ApprovalPolicy::OnFailure, "", yes);
    let answer = bench.plead("echo inside");
    assert!(answer.success && bench.asked().is_empty(), "{}", answer.joined_text());
    assert_ne!(answer.facts.enforcement.unwrap().as_str(), "none");
    let new = bench.outside("there/new");
    let answer = bench.plead(&format!("touch {}", new.display()));
    assert!(answer.success && new.exists(), "{}", answer.joined_text());
    // The smallest sufficient grant.
    assert_eq!(bench.asked(), [writes(bench.outside("there"))]);
}

fn never_means_never() {
    let bench = ApprovalBench::with(ApprovalPolicy::Never, "", yes);
    let new = bench.outside("new");
    assert!(bench.sh("echo x > in && cat in").success);
    assert!(!bench.sh(&format!("touch {}", new.display())).success);
    assert_eq!(bench.plead("ls").facts.error, Some(ToolErrorKind::Forbidden));
    assert_eq!(bench.sh("rm -rf in").facts.error, Some(ToolErrorKind::Forbidden));
    assert!(bench.asked().is_empty() && !new.exists());
}

fn a_rule_lets_a_command_leave() {
    let rule = "[[rule]]\npattern = [\"touch\"]\ndecision = \"allow\"\nunsandboxed = true\n";
    let bench = ApprovalBench::with(ApprovalPolicy::OnRequest, rule, no);
    let new = bench.outside("new");
    let answer = bench.sh(&format!("touch {} && echo done", new.display()));
    assert!(answer.success && new.exists() && bench.asked().is_empty(), "{}", answer.joined_text());
    // Not next to another command, nor as a part of one.
    for script in
        ["touch OUT && make", "X=1 touch OUT", "sh touch OUT", "touch $(echo OUT)", "touch OUT > log"]
    {
        fs::remove_file(&new).ok();
        bench.sh(&script.replace("OUT", new.to_str().unwrap()));
        assert!(!new.exists(), "{script}");
    }
}

fn a_path_that_a_rule_closes_stays_closed() {
    let rule = "[[rule]]\npath = \"OUTSIDE/there\"\ndecision = \"forbid\"\n";
    let bench = ApprovalBench::with(ApprovalPolicy::OnRequest, rule, yes);
    let new = bench.outside("there/new");
    assert!(!bench.sh(&format!("touch {}", new.display())).success);
    assert!(bench.asked().is_empty() && !new.exists());
    // A path that a rule allows is writable.
    let rule = "[[rule]]\npath = \"OUTSIDE/there\"\ndecision = \"allow\"\n";
    let bench = ApprovalBench::with(ApprovalPolicy::OnRequest, rule, no);
    let new = bench.outside("there/new");
    let answer = bench.sh(&format!("touch {}", new.display()));
    assert!(answer.success && new.exists() && bench.asked().is_empty(), "{}", answer.joined_text());
}

fn a_path_that_a_rule_asks_about_is_asked_about() {
    let rule = "[[rule]]\npath = \"OUTSIDE/../w/migrations\"\ndecision = \"ask\"\n";
    for (answer, written) in [(yes as fn(&ApprovalQuestion) -> ReviewDecision, true), (no, false)] {
        let bench = ApprovalBench::with(ApprovalPolicy::OnRequest, rule, answer);
        let migrations = bench.top.path().join("w/migrations");
        fs::create_dir_all(&migrations).unwrap();
        // The directory is created after the gate, which must not matter.
        let answer = bench.sh("echo 1 > other && echo x > migrations/1.sql");
        assert_eq!(answer.success, written, "{}", answer.joined_text());
        assert_eq!(migrations.join("1.sql").exists(), written);
        assert_eq!(bench.asked().len(), 1);
    }
}

fn a_workspace_below_tmp_is_asked_about_like_any_other() {
    let rule = "[[rule]]\npath = \"OUTSIDE/../w/migrations\"\ndecision = \"ask\"\n";
    for place in ["/tmp", "/var/tmp", "/dev/shm"] {
        for (answer, written) in [(yes as fn(&ApprovalQuestion) -> ReviewDecision, true), (no, false)] {
            let at = |sandbox, rule| {
                let top = tempfile::tempdir_in(place).unwrap();
                let bench = ApprovalBench::at(top, sandbox, ApprovalPolicy::OnRequest, rule, answer);
                let w = fs::canonicalize(bench.top.path()).unwrap().join("w");
                (bench, w)
            };
            let (bench, w) = at(SandboxPolicy::WorkspaceWrite, rule);
            fs::create_dir(w.join("migrations")).unwrap();
            fs::write(w.join("migrations/1.sql"), "1\n").unwrap();
            let answer = bench.sh("echo 1 > other && echo 2 > migrations/1.sql");
            assert_eq!(answer.success, written, "{}", answer.joined_text());
            assert_eq!(fs::read_to_string(w.join("migrations/1.sql")).unwrap() == "2\n", written);
            assert_eq!(bench.asked(), [writes(w.join("migrations/1.sql"))]);
            // In a read-only sandbox too.
            let (bench, w) = at(SandboxPolicy::ReadOnly, "");
            fs::write(w.join("x"), "old").unwrap();
            let answer = bench.sh("echo new > ./x");
            assert_eq!(answer.success, written, "{}", answer.joined_text());
            assert_eq!(fs::read_to_string(w.join("x")).unwrap() == "new\n", written);
            assert_eq!(bench.asked(), [writes(w.join("x"))]);
            if place == "/dev/shm" {
                continue;
            }
            // Files beside the workspace do not exist for commands: they have a private directory, and the answer
            // says so.
            let answer = bench.sh("cat ../outside/there/a").joined_text();
            assert!(answer.contains(&format!("`{place}` is private to this session")), "{answer}");
            assert!(bench.asked().is_empty());
        }
    }
}

fn who_works_in_tmp_itself_sees_it() {
    let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    fs::write(file.path(), "of the host\n").unwrap();
    let toolgate = Toolgate::at("/tmp").with_tools().sandbox(SandboxPolicy::ReadOnly).build().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let name = file.path().file_name().unwrap().to_str().unwrap();
    let read = runtime.block_on(toolgate.call("read_file", json!({ "path": name }))).joined_text();
    assert!(read.contains("of the host"), "{read}");
    let script = format!("cat {name}; touch $TMPDIR/mine && echo made; echo x > {name}");
    let arguments = json!({ "command": script, "login": false });
    let seen = runtime.block_on(toolgate.call("shell_command", arguments)).joined_text();
    assert!(seen.contains("of the host\nmade\n"), "{seen}");
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "of the host\n");
}

fn danger_is_asked_about_and_stays_confined() {
    let bench = ApprovalBench::new(|question| match question.grants.is_empty() {
        true => ReviewDecision::Approved,
        false => ReviewDecision::Denied { note: None },
    });
    let precious = bench.outside("there");
    let answer = bench.sh(&format!("mkdir x; rm -rf x {}", precious.display()));
    assert!(!answer.success && precious.exists(), "{}", answer.joined_text());
    assert!(!bench.top.path().join("w/x").exists());
    assert_eq!(bench.asked()[0], Grants::new());
}

fn a_command_is_analysed_once_per_call() {
    let bench = ApprovalBench::new(|question| {
        let _shown = (question.effect_summary(), question.host_file_warnings());
        ReviewDecision::Approved
    });
    let file = bench.outside("there/a");
    fs::write(&file, "").unwrap();
    for (script, questions) in [
        ("ls".to_owned(), 0),
        ("rm -rf x".to_owned(), 1),
        // The sandbox refuses the file: a second question and a second attempt follow.
        (format!("rm -rf x; echo new > {}", file.display()), 2),
    ] {
        let before = policy::shell::analysed_lines();
        assert!(bench.sh(&script).success, "{script}");
        assert_eq!(policy::shell::analysed_lines() - before, 1, "{script}");
        assert_eq!(bench.asked().len(), questions, "{script}");
    }
}

fn what_a_session_was_told_it_remembers() {
    let bench = ApprovalBench::new(|_| ReviewDecision::ApprovedForSession);
    for round in 0..3 {
        assert!(bench.sh("rm -rf x").success);
        assert_eq!(bench.asked().len(), usize::from(round == 0));
    }
    // A different directory or word makes it a different command.
    bench.sh("rm -rf y");
    assert_eq!(bench.asked().len(), 1);
    fs::create_dir(bench.top.path().join("w/sub")).unwrap();
    bench.call("shell_command", json!({ "command": "rm -rf x", "login": false, "workdir": "sub" }));
    assert_eq!(bench.asked().len(), 1);
}

fn typing_into_what_left_the_sandbox_is_asked_about() {
    let bench = ApprovalBench::new(yes);
    let start = |escalated: bool| {
        let mut arguments = json!({ "cmd": "cat", "stdin": true, "login": false, "yield_time_ms": 250 });
        if escalated {
            arguments["sandbox_permissions"] = json!("require_escalated");
        }
        let answer = bench.call("exec_command", arguments);
        answer.structured.unwrap()["session_id"].as_u64().unwrap()
    };
    let (inside, outside) = (start(false), start(true));
    assert_eq!(bench.asked().len(), 1);
    let typed = |id: u64| bench.call("write_stdin", json!({ "session_id": id, "chars": "x\n" }));
    assert!(typed(inside).success && bench.asked().is_empty());
    assert!(typed(outside).success);
    assert_eq!(bench.asked().len(), 1);
}
