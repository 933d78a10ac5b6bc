//! Command hooks with real programs: the effect of each outcome on a call, and complete cleanup.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and make and look at what others would"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use testkit::{TestWorkspace, trials};
use tokio::runtime::Runtime;
use toolgate::call::{CallId, ToolPayload};
use toolgate::hook::{CommandHook, HookFailurePolicy, HookMoment};
use toolgate::observe::{CallEvent, CallObserver, ToolNotice};
use toolgate::sandbox::SandboxPolicy;
use toolgate::{
    BuildFault, CancellationToken, ToolCall, ToolErrorKind, ToolOutput, Toolgate, ToolgateBuilder,
};

trials![
    a_hook_that_says_nothing_changes_nothing,
    a_hook_denies_asks_and_annotates,
    a_failure_is_a_no,
    a_failure_can_be_ignored_with_a_warning,
    a_hook_reads_the_call_and_the_answer,
    a_hook_that_hangs_goes_with_all_that_it_started,
    what_a_hook_leaves_running_is_ended,
    cancelling_a_call_ends_its_hook,
    a_hook_need_not_read,
    strange_letters_arrive_as_they_are,
    a_hook_is_run_for_its_tools_and_moments,
    an_alias_does_not_get_past_a_hook,
    hooks_run_in_their_order,
    a_hook_gets_no_credentials_but_those_it_names,
    a_hook_that_cannot_be_run_is_known_before_any_call,
    a_command_cannot_change_the_hook,
    whatever_a_hook_prints_it_loosens_nothing,
];

struct CommandHookBench {
    workspace: TestWorkspace,
    runtime: Runtime,
}

#[derive(Default)]
struct WarningLog(Mutex<Vec<String>>);

impl CallObserver for WarningLog {
    fn on_event(&self, _: &CallId, event: &CallEvent) {
        if let CallEvent::Notice(ToolNotice::Warning { text }) = event {
            self.0.lock().push(text.clone());
        }
    }
}

impl CommandHookBench {
    fn new() -> Self {
        let workspace = TestWorkspace::new();
        workspace.write_file("a.txt", "one\n");
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { workspace, runtime }
    }

    /// Creates a hook that is a shell script outside the workspace.
    fn script(&self, name: &str, text: &str) -> CommandHook {
        let path = self.workspace.outside_dir().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let hook = CommandHook::new("guard", vec![path.to_str().unwrap().to_owned()]);
        CommandHook { from: "config.toml:7".to_owned(), ..hook }
    }

    fn before(&self, text: &str) -> CommandHook {
        CommandHook { moments: vec![HookMoment::Before], ..self.script("before.sh", text) }
    }

    fn after(&self, text: &str) -> CommandHook {
        CommandHook { moments: vec![HookMoment::After], ..self.script("after.sh", text) }
    }

    fn builder(&self) -> ToolgateBuilder {
        Toolgate::at(self.workspace.path()).with_tools()
    }

    fn toolgate(&self, hook: CommandHook) -> Toolgate {
        self.builder().command_hook(hook).build().unwrap()
    }

    fn read(&self, hook: CommandHook) -> ToolOutput {
        self.runtime.block_on(self.toolgate(hook).call("read_file", json!({ "path": "a.txt" })))
    }

    /// Returns the answer to a call with this script as a "before" hook.
    fn text_after_hook(&self, text: &str) -> String {
        self.workspace.normalize(&self.read(self.before(text)).joined_text())
    }

    fn outside(&self, name: &str) -> String {
        fs::read_to_string(self.workspace.outside_dir().join(name)).unwrap_or_default()
    }
}

fn a_hook_that_says_nothing_changes_nothing() {
    let bench = CommandHookBench::new();
    for text in ["exit 0", "cat > /dev/null", "echo noise >&2", "echo '{}'", "echo"] {
        let output = bench.read(bench.script("hook.sh", text));
        assert_eq!((output.joined_text().as_str(), output.success), ("1| one", true), "{text}");
    }
}

fn a_hook_denies_asks_and_annotates() {
    let bench = CommandHookBench::new();
    insta::assert_snapshot!(bench.text_after_hook(r#"echo '{"decision": "deny", "reason": "not now"}'"#), @"forbidden by policy: the hook `guard` forbids it: not now");
    insta::assert_snapshot!(bench.text_after_hook("echo 'no, thanks' >&2; exit 2"), @"forbidden by policy: the hook `guard` forbids it: no, thanks");
    insta::assert_snapshot!(bench.text_after_hook(r#"echo '{"decision": "ask", "reason": "look at it"}'"#), @"forbidden by policy: this needs approval: the hook `guard` asks: look at it; no approver is available, so it was refused: try a way that needs no approval");
    insta::assert_snapshot!(bench.text_after_hook(r#"echo '{"note": "mind the gap"}'"#), @"
    Note of the hook `guard`: mind the gap
    1| one
    ");
    let after = |text: &str| bench.read(bench.after(text)).joined_text();
    insta::assert_snapshot!(after(r#"echo '{"note": "it is short"}'"#), @"
    Note of the hook `guard`: it is short
    1| one
    ");
    insta::assert_snapshot!(after(r#"echo '{"decision": "deny", "reason": "a secret is in it"}'"#), @"forbidden by policy: the hook `guard` forbids it: the call was done, and its answer is withheld: a secret is in it");
    let asked = testkit::TestApprover::approving_confined();
    let hook = bench.before(r#"echo '{"decision": "ask", "reason": "look at it"}'"#);
    let toolgate = bench.builder().approver(Arc::clone(&asked) as Arc<_>).command_hook(hook).build().unwrap();
    assert!(bench.runtime.block_on(toolgate.call("read_file", json!({ "path": "a.txt" }))).success);
    assert_eq!(asked.take_questions()[0].reasons[0].to_string(), "the hook `guard` asks: look at it");
}

/// Failing scripts, each with the expected message.
fn failures() -> Vec<(&'static str, &'static str)> {
    vec![
        ("echo broken >&2; exit 1", "it ended with exit code 1: broken"),
        ("kill -SEGV $$", "it was ended by signal 11"),
        ("echo fine", "its output is not an answer: it is not a JSON object; it printed `fine`"),
        (r#"printf '{"decision": "allow"}'"#, "a hook cannot allow anything"),
        (r#"printf '{"decision"'"#, "its output is not an answer: EOF"),
        (r"printf '\377'", "what it printed is not UTF-8"),
        ("head -c 10000000 /dev/zero; exec sleep 60", "it wrote more than 65536 bytes, and was ended"),
        ("yes", "it wrote more than 65536 bytes, and was ended"),
        ("exec sleep 60", "it took longer than 300 ms, and was ended"),
    ]
}

fn a_failure_is_a_no() {
    let bench = CommandHookBench::new();
    for (text, why) in failures() {
        let quick = |hook| CommandHook { timeout: patience(why), ..hook };
        for hook in [quick(bench.before(text)), quick(bench.after(text))] {
            let output = bench.read(hook);
            let said = output.joined_text();
            assert!(
                said.contains("the hook `guard` forbids it: ")
                    && said.contains("it failed, which counts as a no: "),
                "{said}"
            );
            assert!(said.contains(why) && said.ends_with(" (config.toml:7)"), "{text}: {said}");
            assert_eq!(output.facts.error, Some(ToolErrorKind::Forbidden), "{text}");
        }
    }
    // The program existed when the hook was prepared.
    let toolgate = bench.toolgate(bench.before("exit 0"));
    fs::remove_file(bench.workspace.outside_dir().join("before.sh")).unwrap();
    let said = bench.runtime.block_on(toolgate.call("read_file", json!({ "path": "a.txt" }))).joined_text();
    assert!(said.contains("counts as a no: there is no program"), "{said}");
}

/// Generous, except for the test of the timeout itself.
fn patience(why: &str) -> Duration {
    if why.contains("300 ms") { Duration::from_millis(300) } else { Duration::from_secs(30) }
}

fn a_failure_can_be_ignored_with_a_warning() {
    let bench = CommandHookBench::new();
    for (text, why) in failures() {
        let hook = CommandHook {
            on_failure: HookFailurePolicy::Ignore,
            timeout: patience(why),
            ..bench.before(text)
        };
        let warnings = Arc::new(WarningLog::default());
        let toolgate =
            bench.builder().observer(Arc::clone(&warnings) as Arc<_>).command_hook(hook).build().unwrap();
        let output = bench.runtime.block_on(toolgate.call("read_file", json!({ "path": "a.txt" })));
        assert_eq!(output.joined_text(), "1| one", "{text}");
        let warned = warnings.0.lock().concat();
        assert!(warned.starts_with("the hook `guard` was ignored: ") && warned.contains(why), "{warned}");
    }
    // A denial is no failure.
    let hook = CommandHook { on_failure: HookFailurePolicy::Ignore, ..bench.before("exit 2") };
    assert_eq!(bench.read(hook).facts.error, Some(ToolErrorKind::Forbidden));
}

fn a_hook_reads_the_call_and_the_answer() {
    let bench = CommandHookBench::new();
    let heard = bench.workspace.outside_dir().join("heard");
    let hook = bench.script("hook.sh", &format!("cat >> {0}; echo >> {0}", heard.display()));
    bench.read(hook);
    let events: Vec<Value> =
        bench.outside("heard").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown = events.into_iter().map(|mut event| {
        // Unique in this process.
        let id = event["call_id"].take();
        assert!(id.as_str().unwrap().starts_with("direct-"), "{id}");
        bench.workspace.normalize(&event.to_string())
    });
    let shown: Vec<String> = shown.collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    {"arguments":{"path":"a.txt"},"call_id":null,"cwd":"$DIR","effects":[{"read":"$DIR/a.txt"}],"escalation":false,"event":"before_call","justification":null,"tool":"read_file"}
    {"arguments":{"path":"a.txt"},"call_id":null,"cwd":"$DIR","effects":[{"read":"$DIR/a.txt"}],"error":null,"escalation":false,"event":"after_call","exit_code":null,"justification":null,"success":true,"text":"1| one","text_cut":false,"tool":"read_file"}
    "#);
}

/// Returns the number of processes with `mark` in their arguments.
fn running(mark: &str) -> usize {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let lines = pids.filter_map(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

#[track_caller]
fn gone(mark: &str) {
    let until = Instant::now() + Duration::from_secs(20);
    while running(mark) > 0 {
        assert!(Instant::now() < until, "{} are left", running(mark));
        std::thread::yield_now();
    }
}

/// Returns a unique number of seconds, which marks the processes of one test.
fn mark(number: u32) -> String {
    format!("7{number}{}.25", std::process::id())
}

fn a_hook_that_hangs_goes_with_all_that_it_started() {
    let bench = CommandHookBench::new();
    let mark = mark(1);
    let text =
        format!("setsid sleep {mark} & (sleep {mark} &) ; trap '' TERM HUP; sleep {mark}; sleep {mark}");
    let hook = CommandHook { timeout: Duration::from_millis(500), ..bench.before(&text) };
    let said = bench.read(hook).joined_text();
    assert!(said.contains("it took longer than 500 ms"), "{said}");
    gone(&mark);
}

fn what_a_hook_leaves_running_is_ended() {
    let bench = CommandHookBench::new();
    let mark = mark(2);
    let text = format!("setsid -f sleep {mark}; echo '{{\"note\": \"done\"}}'");
    let output = bench.read(bench.before(&text));
    assert_eq!(output.joined_text(), "Note of the hook `guard`: done\n1| one");
    gone(&mark);
}

fn cancelling_a_call_ends_its_hook() {
    let bench = CommandHookBench::new();
    for (number, moment) in [(3, HookMoment::Before), (4, HookMoment::After)] {
        let mark = mark(number);
        let hook = CommandHook {
            moments: vec![moment],
            ..bench.script("hook.sh", &format!("sleep {mark}; exit 0"))
        };
        let toolgate = bench.toolgate(hook);
        let cancel = CancellationToken::new();
        let call = ToolCall::function("1", "read_file", r#"{"path": "a.txt"}"#);
        let answer = bench.runtime.spawn(toolgate.router().dispatch(call, cancel.clone()));
        while running(&mark) == 0 {
            std::thread::yield_now();
        }
        let began = Instant::now();
        cancel.cancel();
        let output = bench.runtime.block_on(answer).unwrap();
        assert_eq!(output.facts.error, Some(ToolErrorKind::Cancelled));
        assert!(!output.joined_text().contains("one") && began.elapsed() < Duration::from_secs(5));
        gone(&mark);
    }
}

fn a_hook_need_not_read() {
    let bench = CommandHookBench::new();
    let toolgate = bench.toolgate(bench.script("hook.sh", r#"echo '{"note": "unread"}'"#));
    let path = "x".repeat(5 << 20);
    let output = bench.runtime.block_on(toolgate.call("read_file", json!({ "path": path })));
    assert!(output.joined_text().starts_with("Note of the hook `guard`: unread\n"));
    // A hook that does read gets the whole event.
    let toolgate = bench.toolgate(bench.before(r#"n=$(wc -c); echo "{\"note\": \"$n\"}""#));
    let output = bench.runtime.block_on(toolgate.call("read_file", json!({ "path": path })));
    let text = output.joined_text();
    let read: usize = text.lines().next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(read > 10 << 20, "{read}");
}

fn strange_letters_arrive_as_they_are() {
    let bench = CommandHookBench::new();
    let strange = "\0 \u{1} \" \\ ' $(x) \u{2028} \u{202e} \u{fffd} \u{1f600} ünï\r\n";
    let heard = bench.workspace.outside_dir().join("heard");
    let toolgate = bench.toolgate(bench.before(&format!("cat > {}", heard.display())));
    let call = |payload| ToolCall { id: strange.into(), name: "update_plan".to_owned(), payload };
    let arguments = json!({ "steps": [{ "description": strange, "status": "pending" }] });
    let payload = ToolPayload::Function { arguments: arguments.to_string() };
    let output = bench.runtime.block_on(toolgate.router().dispatch(call(payload), CancellationToken::new()));
    assert!(output.success, "{}", output.joined_text());
    let event: Value = serde_json::from_str(&bench.outside("heard")).unwrap();
    assert_eq!((&event["arguments"], &event["call_id"]), (&arguments, &json!(strange)));
}

fn a_hook_is_run_for_its_tools_and_moments() {
    let bench = CommandHookBench::new();
    let no = || bench.script("hook.sh", "exit 2");
    let tools = |tools: &[&str]| tools.iter().map(|&tool| tool.to_owned()).collect();
    for (patterns, denied) in [
        (&[][..], true),
        (&["*"], true),
        (&["read_file"], true),
        (&["shell*", "*_file"], true),
        (&["shell*", "list_dir"], false),
        (&["mcp__github__*"], false),
    ] {
        let output = bench.read(CommandHook { tools: tools(patterns), ..no() });
        assert_eq!(output.facts.error.is_some(), denied, "{patterns:?}");
    }
    assert!(bench.read(CommandHook { moments: Vec::new(), ..no() }).success);
}

fn an_alias_does_not_get_past_a_hook() {
    let bench = CommandHookBench::new();
    let hook = CommandHook { tools: vec!["shell".to_owned()], ..bench.before("exit 2") };
    let toolgate = bench.toolgate(hook);
    let alias = "container.exec";
    assert!(toolgate.router().registry().find(alias).is_ok());
    let output = bench.runtime.block_on(toolgate.call(alias, json!({ "command": ["true"] })));
    assert_eq!(output.facts.error, Some(ToolErrorKind::Forbidden));
    assert!(output.joined_text().contains("the hook `guard`"), "{}", output.joined_text());
}

fn hooks_run_in_their_order() {
    let bench = CommandHookBench::new();
    let heard = bench.workspace.outside_dir().join("heard");
    let hook =
        |name: &str, then: &str| bench.script(name, &format!("echo {name} >> {}; {then}", heard.display()));
    let builder = bench.builder().command_hook(hook("one", "")).command_hook(hook("two", ""));
    let both =
        builder.command_hook(CommandHook { moments: vec![HookMoment::After], ..hook("three", "exit 2") });
    let last = both.command_hook(hook("four", "")).build().unwrap();
    let output = bench.runtime.block_on(last.call("read_file", json!({ "path": "a.txt" })));
    assert_eq!(output.facts.error, Some(ToolErrorKind::Forbidden));
    assert_eq!(bench.outside("heard"), "one\ntwo\nfour\none\ntwo\nthree\n");
}

fn a_hook_gets_no_credentials_but_those_it_names() {
    let bench = CommandHookBench::new();
    let heard = bench.workspace.outside_dir().join("heard");
    let hook = bench.before(&format!("env > {}", heard.display()));
    bench.read(hook.clone());
    let env = bench.outside("heard");
    let pwd = format!("PWD={}", bench.workspace.path().display());
    assert!(env.lines().any(|line| line == pwd) && env.lines().any(|line| line == "TOOLGATE=1"), "{env}");
    // Cargo sets this variable, and it is no secret.
    assert!(env.contains("CARGO_MANIFEST_DIR=") == std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "{env}");
    let hook = CommandHook { pass: vec!["OPENAI_API_KEY".to_owned()], ..hook };
    let fault = bench.builder().command_hook(hook).build().err().unwrap();
    insta::assert_snapshot!(fault, @"config.toml:7: the hook `guard` cannot be run: `OPENAI_API_KEY` is the key of a model provider, which no command gets");
}

fn a_hook_that_cannot_be_run_is_known_before_any_call() {
    let bench = CommandHookBench::new();
    let fault = |hook: CommandHook| {
        let fault: BuildFault = bench.builder().command_hook(hook).build().err().unwrap();
        bench.workspace.normalize(&fault.to_string())
    };
    let named = |words: &[&str]| {
        let command = words.iter().map(|&word| word.to_owned()).collect();
        CommandHook { from: "config.toml:7".to_owned(), ..CommandHook::new("guard", command) }
    };
    insta::assert_snapshot!(fault(named(&["no-such-program", "x"])), @"config.toml:7: the hook `guard` cannot be run: there is no program `no-such-program` in PATH");
    insta::assert_snapshot!(fault(named(&["/no/such/program"])), @"config.toml:7: the hook `guard` cannot be run: `/no/such/program` is not an executable program");
    insta::assert_snapshot!(fault(named(&["/etc/passwd"])), @"config.toml:7: the hook `guard` cannot be run: `/etc/passwd` is not an executable program");
    insta::assert_snapshot!(fault(named(&["/tmp"])), @"config.toml:7: the hook `guard` cannot be run: `/tmp` is not an executable program");
    insta::assert_snapshot!(fault(named(&[])), @"config.toml:7: the hook `guard` cannot be run: its command is empty");
    let tools = vec!["read_file".to_owned(), "reed_*".to_owned()];
    insta::assert_snapshot!(fault(CommandHook { tools, ..named(&["true"]) }), @"config.toml:7: the hook `guard` cannot be run: it is for the tool `reed_*`, which does not exist");
}

fn a_command_cannot_change_the_hook() {
    let directory = testkit::visible_tempdir();
    let script = directory.path().join("hooks/guard.sh");
    fs::create_dir(script.parent().unwrap()).unwrap();
    fs::write(&script, "exit 0\n").unwrap();
    let bench = CommandHookBench::new();
    let script = script.to_str().unwrap();
    for word in [script, "hooks/guard.sh"] {
        let hook = CommandHook::new("guard", vec!["sh".to_owned(), word.to_owned()]);
        let toolgate = Toolgate::at(directory.path())
            .with_tools()
            .sandbox(SandboxPolicy::WorkspaceWrite)
            .approver(testkit::TestApprover::approving_confined())
            .command_hook(hook)
            .build()
            .unwrap();
        let tried =
            format!("echo exit 3 > {script}; mv hooks elsewhere; rm -rf hooks; echo here > free; cat free");
        let output =
            bench.runtime.block_on(toolgate.call("shell", json!({ "command": ["sh", "-c", tried] })));
        assert!(output.joined_text().contains("here"), "{}", output.joined_text());
        assert_eq!(fs::read_to_string(script).unwrap(), "exit 0\n");
    }
}

/// Random output of a hook never permits a call that is refused without it.
fn whatever_a_hook_prints_it_loosens_nothing() {
    let bench = CommandHookBench::new();
    let printed = bench.workspace.outside_dir().join("printed");
    let hook = bench.script("hook.sh", &format!("cat {}; exit $(cat {0}.code)", printed.display()));
    let toolgate = bench.toolgate(hook);
    bench.workspace.write_file(".env", "SECRET");
    let calls = [("read_file", json!({ "path": "/etc/passwd" })), ("read_file", json!({ "path": ".env" }))];
    let decision = prop_oneof!["deny|ask|allow|approve|null", any::<String>()];
    let object =
        (decision, any::<Option<String>>(), any::<Option<String>>()).prop_map(|(decision, reason, note)| {
            json!({ "decision": decision, "reason": reason, "note": note, "permit": true })
                .to_string()
                .into_bytes()
        });
    let print = (prop_oneof![object, any::<Vec<u8>>()], prop_oneof![Just(0), any::<u8>()]);
    let config = Config { failure_persistence: None, ..Config::with_cases(40) };
    let mut runner = TestRunner::new(config);
    runner
        .run(&print, |(bytes, code)| {
            fs::write(&printed, &bytes).unwrap();
            fs::write(printed.with_extension("code"), code.to_string()).unwrap();
            for (tool, arguments) in &calls {
                let output = bench.runtime.block_on(toolgate.call(tool, arguments.clone()));
                let text = output.joined_text();
                assert_eq!(
                    (output.success, output.facts.error),
                    (false, Some(ToolErrorKind::Forbidden)),
                    "{text}"
                );
                assert!(!text.contains("root:") && !text.contains("SECRET"), "{text}");
            }
            Ok(())
        })
        .unwrap();
}
