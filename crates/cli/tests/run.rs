//! Tests of `toolgate run`, `replay` and `demo` with a scripted model over HTTP, real tools and the sandbox.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod script_server;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use script_server::ScriptServerProcess;
use serde_json::{Value, json};
use support::{CommandRun, TestHome};
use testkit::TestWorkspace;

impl ScriptServerProcess {
    /// Runs `toolgate run` with this model.
    fn run(&self, home: &TestHome, workspace: &TestWorkspace, more: &[&str]) -> CommandRun {
        let fixed =
            ["run", "--base-url", &self.url, "--model", "m", "--sandbox", "workspace-write", "--json"];
        home.run(&workspace.path(), &[&fixed, more].concat(), "")
    }
}

fn say(text: &str) -> Value {
    json!({"items": [{"type": "message", "text": text}]})
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"type": "function_call", "name": name, "arguments": arguments})
}

fn turn(items: &[Value]) -> Value {
    json!({ "items": items })
}

fn events(ran: &CommandRun) -> Vec<Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn events_of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn journal(home: &TestHome) -> PathBuf {
    let sessions = home.path().join(".local/state/toolgate/sessions");
    let mut files: Vec<PathBuf> =
        fs::read_dir(sessions).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.pop().unwrap()
}

fn records(file: &Path) -> Vec<Value> {
    fs::read_to_string(file).unwrap().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns the number of answers for each call.
fn answers(records: &[Value]) -> Vec<(String, usize)> {
    let calls = records.iter().filter(|record| record["kind"] == "call");
    calls
        .map(|call| {
            let id = call["id"].as_str().unwrap();
            let answered = |record: &&Value| record["kind"] == "answered" && record["call"] == id;
            (id.to_owned(), records.iter().filter(answered).count())
        })
        .collect()
}

#[test]
fn a_model_works_in_every_dialect() {
    let patch = "*** Begin Patch\n*** Add File: made.txt\n+by a patch\n*** End Patch\n";
    for wire in ["responses", "chat", "anthropic"] {
        let (home, workspace) = (TestHome::new(), TestWorkspace::new());
        workspace.write_file("a.txt", "one\n");
        let turns = [
            turn(&[
                json!({"type": "message", "text": "Looking."}),
                call("read_file", &json!({"path": "a.txt"})),
                call("exec_command", &json!({"cmd": "echo from the shell > shell.txt; cat a.txt"})),
            ]),
            turn(&[
                json!({"type": "custom_tool_call", "name": "apply_patch", "input": patch}),
                call("nonesuch", &json!({})),
            ]),
            say("Done."),
        ];
        let served = ScriptServerProcess::start(home.path(), &turns);
        let ran = served.run(&home, &workspace, &["--wire", wire, "do it"]);
        assert_eq!(ran.code, Some(0), "{wire}: {} {}", ran.out, ran.err);
        let seen = events(&ran);
        let text: String =
            events_of_kind(&seen, "text").iter().filter_map(|event| event["text"].as_str()).collect();
        assert_eq!(text, "Looking.Done.", "{wire}");
        let worked: Vec<bool> =
            events_of_kind(&seen, "answer").iter().map(|event| event["success"].as_bool().unwrap()).collect();
        assert_eq!(worked, [true, true, true, false], "{wire}");
        assert_eq!(fs::read_to_string(workspace.path().join("made.txt")).unwrap(), "by a patch\n");
        assert_eq!(fs::read_to_string(workspace.path().join("shell.txt")).unwrap(), "from the shell\n");
        assert!(
            events_of_kind(&seen, "diff")[0]["unified_diff"].as_str().unwrap().contains("+by a patch"),
            "{wire}"
        );
        assert_eq!(served.requests().len(), 3, "{wire}");
        let records = records(&journal(&home));
        assert!(answers(&records).iter().all(|(_, times)| *times == 1), "{wire}: {records:?}");
        assert_eq!(records.last().unwrap()["kind"], "end");
    }
}

#[test]
fn commands_that_are_called_at_once_all_run() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    // Each response needs more concurrent supervisors than there are.
    let at_once = |count: usize| turn(&vec![call("exec_command", &json!({"cmd": "true"})); count]);
    let served =
        ScriptServerProcess::start(home.path(), &[at_once(4), at_once(8), at_once(16), say("Done.")]);
    let ran = served.run(&home, &workspace, &["go"]);
    let seen = events(&ran);
    let failed: Vec<_> =
        events_of_kind(&seen, "answer").into_iter().filter(|event| event["success"] != true).collect();
    assert_eq!((events_of_kind(&seen, "answer").len(), failed), (28, vec![]));
}

#[test]
fn what_a_request_carries_is_the_beginning_of_the_next() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let echo = |text: &str| turn(&[call("exec_command", &json!({"cmd": format!("echo {text}")}))]);
    let served = ScriptServerProcess::start(home.path(), &[echo("a"), echo("b"), say("Done.")]);
    assert_eq!(served.run(&home, &workspace, &["go"]).code, Some(0));
    let bodies: Vec<String> = served.requests().iter().map(|body| body["input"].to_string()).collect();
    for pair in bodies.windows(2) {
        assert!(pair[1].starts_with(pair[0].trim_end_matches(']')), "{pair:?}");
    }
    let requests = served.requests();
    assert!(requests.windows(2).all(|pair| pair[0]["tools"] == pair[1]["tools"]));
}

#[test]
fn a_request_that_fails_is_sent_again_and_nothing_runs_twice() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let count = call("exec_command", &json!({"cmd": "echo x >> count.txt"}));
    let mut broken = turn(&[count, json!({"type": "message", "text": "and then"})]);
    // After the call is complete, before the response is.
    broken["break_after"] = json!(4);
    let refused = json!({"status": 429, "retry_after": "0.01"});
    let served =
        ScriptServerProcess::start(home.path(), &[refused, json!({"status": 500}), broken, say("Done.")]);
    let ran = served.run(&home, &workspace, &["go"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
    assert_eq!(events_of_kind(&events(&ran), "retry").len(), 3);
    assert_eq!(fs::read_to_string(workspace.path().join("count.txt")).unwrap(), "x\n");
    let last = served.requests().pop().unwrap()["input"].to_string();
    assert!(last.contains("function_call_output"), "{last}");
}

#[test]
fn a_stream_that_ends_without_a_word_is_one_that_broke_off() {
    for wire in ["responses", "chat", "anthropic"] {
        let (home, workspace) = (TestHome::new(), TestWorkspace::new());
        let mut nothing = say("never heard to its end");
        nothing["end_after"] = json!(0);
        let mut half = turn(&[
            call("exec_command", &json!({"cmd": "echo x >> count.txt"})),
            json!({"type": "message", "text": "and"}),
        ]);
        half["end_after"] = json!(if wire == "anthropic" { 4 } else { 3 });
        let served = ScriptServerProcess::start(home.path(), &[nothing, half, say("Done.")]);
        let ran = served.run(&home, &workspace, &["--wire", wire, "go"]);
        assert_eq!(ran.code, Some(0), "{wire}: {} {}", ran.out, ran.err);
        assert_eq!(events_of_kind(&events(&ran), "retry").len(), 2, "{wire}: {}", ran.out);
        let records = records(&journal(&home));
        assert!(answers(&records).iter().all(|(_, times)| *times == 1), "{wire}: {records:?}");
        let count = fs::read_to_string(workspace.path().join("count.txt")).unwrap_or_default();
        assert!(count.lines().count() <= 1, "{wire}: {count}");
    }
}

#[test]
fn blocked_output_does_not_prevent_termination() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let served = ScriptServerProcess::start(home.path(), &[say(&"word ".repeat(400_000))]);
    let mut child = started(&served, &home, &workspace);
    std::thread::sleep(Duration::from_secs(2));
    signal(&child, rustix::process::Signal::TERM);
    let began = Instant::now();
    // ends: with the child, or at the time limit
    while child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn incomplete_run_arguments_are_explained() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let run = |args: &[&str]| {
        let ran = home.run(&workspace.path(), &[&["run"], args].concat(), "");
        format!("{:?} {}", ran.code, ran.err.lines().next().unwrap_or_default())
    };
    insta::assert_snapshot!([
        run(&["go"]),
        run(&["--model", "gpt-5", "go"]),
        run(&["--model", "claude-x", "go"]),
        run(&["--model", "m", "--base-url", "http://example.com/v1", "go"]),
        run(&["--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--resume", "nonesuch", "go"]),
        run(&["--model", "m"]),
    ].join("\n"), @"
    Some(2) error: no model is named
    Some(2) error: there is no key for gpt-5: OPENAI_API_KEY is not set
    Some(2) error: there is no key for claude-x: ANTHROPIC_API_KEY is not set
    Some(2) error: the base URL `http://example.com/v1` would show your key and your files to everybody on the way: use https
    Some(2) error: the session cannot be resumed: no session's name begins with `nonesuch`
    Some(2) error: what should be done? there is no prompt
    ");
}

#[test]
fn a_model_that_refuses_for_good_ends_the_run() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let served = ScriptServerProcess::start(home.path(), &[json!({"status": 401})]);
    let ran = served.run(&home, &workspace, &["go"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.err.contains("401"), "{}", ran.err);
    assert_eq!(events_of_kind(&events(&ran), "end")[0]["why"], "failed");
}

#[test]
fn it_stops_after_so_many_requests() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let turns: Vec<Value> = (0..9).map(|_| turn(&[call("list_dir", &json!({"path": "."}))])).collect();
    let served = ScriptServerProcess::start(home.path(), &turns);
    let ran = served.run(&home, &workspace, &["--max-turns", "3", "go"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert_eq!(served.requests().len(), 3);
    assert_eq!(events_of_kind(&events(&ran), "end")[0]["why"], "max_turns");
    assert_eq!(records(&journal(&home)).last().unwrap()["why"], "max_turns");
}

#[test]
fn a_budget_ends_the_run_and_the_session_can_go_on() {
    let long = call("exec_command", &json!({"cmd": "touch began; sleep 60"}));
    let list = || turn(&[call("list_dir", &json!({"path": "."}))]);
    let price = "models.\"m\".price = { input = 1000, output = 1000 }\n";
    for (flags, turns, says) in [
        (["--max-tokens", "1"], [list(), list()], "the budget of 1 tokens is used up"),
        (["--max-cost", "0.000001"], [list(), list()], "the budget of $0.000001 is used up"),
        (["--max-time", "2s"], [turn(&[long]), list()], "the time limit of 2 s has passed"),
    ] {
        let (home, workspace) = (TestHome::new(), TestWorkspace::new());
        let config = home.path().join(".config/toolgate");
        fs::create_dir_all(&config).unwrap();
        fs::write(config.join("config.toml"), price).unwrap();
        let served = ScriptServerProcess::start(home.path(), &turns);
        let ran = served.run(&home, &workspace, &[&flags[..], &["go"]].concat());
        assert_eq!(ran.code, Some(3), "{flags:?}: {} {}", ran.out, ran.err);
        let events = events(&ran);
        let end = events_of_kind(&events, "end")[0];
        assert_eq!(end["why"], "out_of_budget", "{end}");
        assert!(end["detail"].as_str().unwrap().contains(says), "{end}");
        assert_eq!(events_of_kind(&events, "answer").len(), 1, "each call is answered");
        let ran = served.run(&home, &workspace, &["--resume", "last", "go on"]);
        assert_eq!(ran.code, Some(0), "{flags:?}: {} {}", ran.out, ran.err);
    }
}

#[test]
fn a_cost_limit_needs_prices() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let served = ScriptServerProcess::start(home.path(), &[]);
    let ran = served.run(&home, &workspace, &["--max-cost", "1", "go"]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.err, @r#"
    error: --max-cost needs the prices of `m`
    hint: in dollars for a million tokens, for example, at the top of your configuration: models."m".price = { input = 1.25, cached = 0.125, output = 10 }
    "#);
    assert_eq!(served.requests().len(), 0);
}

#[test]
fn a_signal_answers_what_runs_as_aborted_and_ends_the_turn() {
    use rustix::process::Signal;
    for (sent, code, cause) in [
        (Signal::INT, 130, "the user stopped it"),
        (Signal::TERM, 143, "the program was told to end (SIGTERM)"),
        (Signal::HUP, 129, "the program was told to end (SIGHUP)"),
    ] {
        let (home, workspace) = (TestHome::new(), TestWorkspace::new());
        let served = ScriptServerProcess::start(
            home.path(),
            &[turn(&[call("exec_command", &json!({"cmd": "touch began; sleep 60"}))])],
        );
        let mut child = started(&served, &home, &workspace);
        wait_for(&workspace.path().join("began"));
        signal(&child, sent);
        let mut out = String::new();
        std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut out).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{out}");
        let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (end, at) = (events.last().unwrap(), &events.last().unwrap()["at"]);
        assert_eq!(end, &json!({"type": "end", "why": "interrupted", "detail": cause, "at": at}), "{out}");
        assert!(at.as_str().is_some_and(|at| journal::parse_millis(at).is_some()), "{out}");
        assert_eq!(events_of_kind(&events, "answer").len(), 1, "{out}");
        let records = records(&journal(&home));
        assert_eq!(answers(&records), [("call_0000_00".to_owned(), 1)]);
        assert!(records.iter().any(|record| record["kind"] == "interrupted"));
        assert_eq!(records.last().unwrap()["kind"], "end");
    }
}

#[test]
fn a_program_reads_the_text_as_the_model_wrote_it() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let text = "# A *title*\n\n\u{1b}[31mred\u{1b}[0m\n";
    let served = ScriptServerProcess::start(home.path(), &[say(text)]);
    let ran = home.run(&workspace.path(), &["run", "--base-url", &served.url, "--model", "m", "go"], "");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), text), "{}", ran.err);
}

#[test]
fn under_nohup_a_hang_up_does_not_end_it() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let wait = call("exec_command", &json!({"cmd": "touch began; until [ -e on ]; do sleep 0.1; done"}));
    let served = ScriptServerProcess::start(home.path(), &[turn(&[wait]), say("Done.")]);
    let run = command(&served, &home, &workspace, &["go"]);
    let mut nohup = Command::new("/usr/bin/nohup");
    nohup.arg(run.get_program()).args(run.get_args()).env_clear().env("HOME", home.path());
    let mut child = nohup.current_dir(workspace.path()).stdout(Stdio::piped()).spawn().unwrap();
    wait_for(&workspace.path().join("began"));
    signal(&child, rustix::process::Signal::HUP);
    fs::write(workspace.path().join("on"), "").unwrap();
    let mut out = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{out}");
    assert!(out.contains("Done."), "{out}");
}

#[test]
fn a_session_that_was_killed_goes_on_and_runs_nothing_again() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let slow = call("exec_command", &json!({"cmd": "echo x >> count.txt; touch began; sleep 60"}));
    let quick = call("read_file", &json!({"path": "count.txt"}));
    let served = ScriptServerProcess::start(home.path(), &[turn(&[slow, quick]), say("Done.")]);
    let mut child = started(&served, &home, &workspace);
    wait_for(&workspace.path().join("began"));
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = served.run(&home, &workspace, &["--resume", "last", "go on"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
    assert_eq!(fs::read_to_string(workspace.path().join("count.txt")).unwrap(), "x\n");
    let records = records(&journal(&home));
    assert!(answers(&records).iter().all(|(_, times)| *times == 1), "{records:?}");
    let last = served.requests().pop().unwrap()["input"].clone();
    let told = last.as_array().unwrap().iter().filter(|item| item["type"] == "function_call_output");
    let told: Vec<&str> = told.filter_map(|item| item["output"].as_str()).collect();
    assert!(!told.is_empty() && told[0].starts_with("interrupted; effects unknown"), "{told:?}");
    let calls = last.as_array().unwrap().iter().filter(|item| item["type"] == "function_call").count();
    assert_eq!(calls, told.len());
}

#[test]
fn no_secret_of_the_environment_is_in_the_journal() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let secret = "sk-this-is-nobodys-key-0123456789";
    let served = ScriptServerProcess::start(
        home.path(),
        &[turn(&[call("exec_command", &json!({"cmd": format!("echo {secret}")}))]), say(secret)],
    );
    let ran = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["run", "--base-url", &served.url, "--model", "m", "--sandbox", "workspace-write", secret])
        .current_dir(workspace.path())
        .env_clear()
        .env("HOME", home.path())
        .env("OPENAI_API_KEY", secret)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let written = fs::read_to_string(journal(&home)).unwrap();
    assert!(!written.contains(secret) && written.contains("[redacted: OPENAI_API_KEY]"), "{written}");
}

#[test]
fn unwritable_journal_stops_the_run() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let served = ScriptServerProcess::start(
        home.path(),
        &[turn(&[call("exec_command", &json!({"cmd": "touch done"}))]), say("Done.")],
    );
    // Files are limited to 4 kB, and the first entries are longer.
    let script = format!(
        "ulimit -f 4; exec {} run --base-url {} --model m --sandbox workspace-write --json \"$(head -c 3900 /dev/zero | tr '\\0' x)\"",
        env!("CARGO_BIN_EXE_toolgate"),
        served.url
    );
    let ran = Command::new("bash")
        .args(["-c", &script])
        .current_dir(workspace.path())
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", std::env::var_os("PATH").unwrap())
        .output()
        .unwrap();
    assert!(!workspace.path().join("done").exists(), "{}", String::from_utf8_lossy(&ran.stdout));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        !ran.status.success() && said.contains("journal"),
        "{said} {}",
        String::from_utf8_lossy(&ran.stdout)
    );
}

#[test]
fn a_projects_own_words_reach_the_model_and_a_link_out_of_it_does_not() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("AGENTS.md", "Use tabs here.\n");
    let served = ScriptServerProcess::start(home.path(), &[say("Done.")]);
    assert_eq!(served.run(&home, &workspace, &["go"]).code, Some(0));
    assert!(served.requests()[0]["instructions"].as_str().unwrap().contains("Use tabs here."));
    fs::remove_file(workspace.path().join("AGENTS.md")).unwrap();
    fs::write(home.path().join("private"), "a secret of the user").unwrap();
    std::os::unix::fs::symlink(home.path().join("private"), workspace.path().join("AGENTS.md")).unwrap();
    assert_eq!(served.run(&home, &workspace, &["go"]).code, Some(0));
    assert!(!served.requests()[1]["instructions"].as_str().unwrap().contains("a secret of the user"));
}

#[test]
fn the_demo_ends_green_and_leaves_only_its_journal() {
    let home = TestHome::new();
    let ran = home.run(home.path(), &["demo", "--json"], "");
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
    let seen = events(&ran);
    let answers: Vec<(String, bool)> = events_of_kind(&seen, "answer")
        .iter()
        .map(|event| (event["tool"].as_str().unwrap().to_owned(), event["success"].as_bool().unwrap()))
        .collect();
    let expected = [
        ("list_dir", true),
        ("grep_files", true),
        ("read_file", true),
        ("update_plan", true),
        ("exec_command", false),
        ("read_file", false),
        ("apply_patch", true),
        ("exec_command", true),
        ("update_plan", true),
        ("exec_command", true),
    ];
    let expected: Vec<(String, bool)> = expected.map(|(tool, good)| (tool.to_owned(), good)).to_vec();
    assert_eq!(answers, expected);
    let approved = |event: &&&Value| event["event"] == "decided" && event["decision"] == "approved";
    assert_eq!(events_of_kind(&seen, "event").iter().filter(approved).count(), 1);
    let at = Path::new(events_of_kind(&seen, "session")[0]["journal"].as_str().unwrap());
    assert_eq!(at, journal(&home));
    let project = records(at)[0]["cwd"].as_str().unwrap().to_owned();
    assert!(project.contains("toolgate-demo-") && !Path::new(&project).exists(), "{project}");
    // Its page can be opened.
    let page = home.run(home.path(), &["log", "last", "--html", "demo.html"], "");
    assert_eq!(page.code, Some(0), "{}", page.err);
    assert!(fs::read_to_string(home.path().join("demo.html")).unwrap().contains("count.sh"));
}

fn command(
    served: &ScriptServerProcess,
    home: &TestHome,
    workspace: &TestWorkspace,
    more: &[&str],
) -> Command {
    let fixed = ["run", "--base-url", &served.url, "--model", "m", "--sandbox", "workspace-write", "--json"];
    let mut run = Command::new(env!("CARGO_BIN_EXE_toolgate"));
    run.args(fixed).args(more).current_dir(workspace.path()).env_clear().env("HOME", home.path());
    run
}

fn started(served: &ScriptServerProcess, home: &TestHome, workspace: &TestWorkspace) -> Child {
    command(served, home, workspace, &["go"]).stdout(Stdio::piped()).spawn().unwrap()
}

/// Reports whether a session has written its first record.
fn begun(home: &TestHome) -> bool {
    let sessions = fs::read_dir(home.path().join(".local/state/toolgate/sessions"));
    sessions.into_iter().flatten().any(|entry| !records(&entry.unwrap().path()).is_empty())
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn wait_for(file: &Path) {
    let began = Instant::now();
    while !file.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "{} never came", file.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kills sessions at random times and resumes them; `TOOLGATE_KILLS=200` for more kills.
#[test]
fn however_often_it_is_killed_every_call_has_one_answer_and_nothing_happens_twice() {
    let kills: usize =
        std::env::var("TOOLGATE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10);
    let mut chance = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        chance
    };
    let mut killed = 0;
    while killed < kills {
        let (home, workspace) = (TestHome::new(), TestWorkspace::new());
        let step = |number: usize| {
            let patch = format!("*** Begin Patch\n*** Add File: p{number}.txt\n+{number}\n*** End Patch\n");
            turn(&[
                call(
                    "exec_command",
                    &json!({"cmd": format!("echo {number} >> log.txt; sleep 0.0{}", number % 7)}),
                ),
                json!({"type": "custom_tool_call", "name": "apply_patch", "input": patch}),
                call("read_file", &json!({"path": "log.txt"})),
            ])
        };
        let turns: Vec<Value> = (0..40).map(step).collect();
        let served = ScriptServerProcess::start(home.path(), &turns);
        // ends: with a run that is not killed
        for attempt in 0.. {
            let more = if begun(&home) { &["--resume", "last", "go on"][..] } else { &["go"] };
            let mut run = command(&served, &home, &workspace, more);
            let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            if attempt < 5 && killed < kills {
                std::thread::sleep(Duration::from_micros(20_000 + next() % 400_000));
                child.kill().unwrap();
                killed += 1;
                child.wait().unwrap();
            } else {
                assert!(child.wait().unwrap().success());
                break;
            }
        }
        let file = journal(&home);
        journal::verify_journal(&file).unwrap();
        let records = records(&file);
        let answered = answers(&records);
        assert!(!answered.is_empty() && answered.iter().all(|(_, times)| *times == 1), "{answered:?}");
        let log = fs::read_to_string(workspace.path().join("log.txt")).unwrap();
        let mut seen: Vec<&str> = log.lines().collect();
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all, "{log}");
        let input = served.requests().pop().unwrap()["input"].clone();
        let ids = |kinds: &[&str]| {
            let items = input.as_array().unwrap().iter();
            let mut ids: Vec<String> = items
                .filter(|item| kinds.contains(&item["type"].as_str().unwrap_or_default()))
                .map(|item| item["call_id"].as_str().unwrap().to_owned())
                .collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(
            ids(&["function_call", "custom_tool_call"]),
            ids(&["function_call_output", "custom_tool_call_output"])
        );
    }
}

#[test]
fn a_session_is_replayed_from_where_it_began_and_what_differs_is_told() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("a.txt", "one\n");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n";
    let turns = [
        turn(&[
            call("read_file", &json!({"path": "a.txt"})),
            call("exec_command", &json!({"cmd": "cat a.txt; echo new > b.txt"})),
        ]),
        turn(&[json!({"type": "custom_tool_call", "name": "apply_patch", "input": patch})]),
        turn(&[
            call("exec_command", &json!({"cmd": "cat a.txt b.txt; cat /proc/sys/kernel/random/uuid"})),
            call("get_context_remaining", &json!({})),
        ]),
        say("Done."),
    ];
    let served = ScriptServerProcess::start(home.path(), &turns);
    assert_eq!(served.run(&home, &workspace, &["go"]).code, Some(0));
    let before = fs::read_to_string(workspace.path().join("a.txt")).unwrap();
    let ran = home.run(&workspace.path(), &["replay", "last", "--json"], "");
    assert_eq!(ran.code, Some(1), "{} {}", ran.out, ran.err);
    let outcomes: Vec<String> =
        events(&ran).iter().map(|line| format!("{} {}", line["tool"], line["outcome"])).collect();
    insta::assert_snapshot!(outcomes.join("\n"), @r#"
    "read_file" "same"
    "exec_command" "same"
    "apply_patch" "same"
    "exec_command" "different"
    "get_context_remaining" "not_replayed"
    "#);
    assert_eq!(fs::read_to_string(workspace.path().join("a.txt")).unwrap(), before);
    let text = home.run(&workspace.path(), &["replay", "last"], "");
    assert!(text.err.contains("as it was before the session"), "{}", text.err);
    assert_eq!(home.run(&workspace.path(), &["replay", "nonesuch"], "").code, Some(2));
}

#[test]
fn a_replay_changes_nothing_outside_of_its_copy() {
    let rule = "[[rule]]\npattern = [\"/usr/bin/mkdir\"]\ndecision = \"allow\"\nunsandboxed = true\n\n[[rule]]\npattern = [\"echo\"]\ndecision = \"allow\"\n";
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let config = home.path().join(".config/toolgate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("rules.toml"), rule).unwrap();
    let outside = home.path().join("outside");
    let escalated =
        json!({"cmd": "rm -rf x", "sandbox_permissions": "require_escalated", "justification": "x"});
    let turns = [
        turn(&[
            call("exec_command", &json!({"cmd": format!("/usr/bin/mkdir {}", outside.display())})),
            call("exec_command", &escalated),
            call("exec_command", &json!({"cmd": "echo same"})),
        ]),
        say("Done."),
    ];
    let served = ScriptServerProcess::start(home.path(), &turns);
    let ran = served.run(&home, &workspace, &["go"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
    fs::remove_dir(&outside).expect("the rule let it leave the sandbox");
    let ran = home.run(&workspace.path(), &["replay", "last", "--json"], "");
    assert!(!outside.exists(), "{}", ran.out);
    let outcomes: Vec<String> =
        events(&ran).iter().map(|line| format!("{} {}", line["outcome"], line["why"])).collect();
    insta::assert_snapshot!(outcomes.join("\n"), @r#"
    "not_replayed" "it ran outside the sandbox"
    "not_replayed" "it was refused then"
    "same" null
    "#);
}

#[test]
fn an_unknown_tool_and_a_timeout_are_replayed_as_the_same() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let turns = [
        turn(&[
            call("nope", &json!({})),
            call("shell", &json!({"command": ["true"]})),
            call("shell", &json!({"command": ["sleep", "60"], "timeout_ms": 200})),
        ]),
        say("Done."),
    ];
    let served = ScriptServerProcess::start(home.path(), &turns);
    assert_eq!(served.run(&home, &workspace, &["go"]).code, Some(0));
    let ran = home.run(&workspace.path(), &["replay", "last", "--json"], "");
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
    assert!(events(&ran).iter().all(|line| line["outcome"] == "same"), "{}", ran.out);
}

#[test]
fn what_is_too_long_for_an_answer_is_kept_and_its_hash_is_written_down() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let served = ScriptServerProcess::start(
        home.path(),
        &[turn(&[call("exec_command", &json!({"cmd": "seq 100000"}))]), say("Done.")],
    );
    assert_eq!(served.run(&home, &workspace, &["go"]).code, Some(0));
    let records = records(&journal(&home));
    let kept = records.iter().find(|record| record["kind"] == "kept").unwrap();
    let text: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(fs::read_to_string(kept["path"].as_str().unwrap()).unwrap(), text);
    assert_eq!(kept["bytes"], text.len());
    let hash = Command::new("sha256sum").arg(kept["path"].as_str().unwrap()).output().unwrap();
    assert!(String::from_utf8(hash.stdout).unwrap().starts_with(kept["sha256"].as_str().unwrap()));
}
