//! Tests of subagents: real sessions of the real binary, a scripted model, real files, the real sandbox.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use support::{CommandRun, TestHome};
use testkit::TestWorkspace;

/// The first session's prompt; its turns are those that contain these words.
const PROMPT: &str = "the first prompt of all";

fn call(name: &str, arguments: &Value) -> Value {
    json!({"type": "function_call", "name": name, "arguments": arguments})
}

fn turn(when: &str, items: &[Value]) -> Value {
    json!({"when": when, "items": items})
}

fn say(when: &str, text: &str) -> Value {
    turn(when, &[json!({"type": "message", "text": text})])
}

fn run(
    home: &TestHome,
    workspace: &TestWorkspace,
    turns: &[Value],
    more: &[&str],
) -> (CommandRun, Vec<Value>) {
    let script = home.path().join("script.jsonl");
    fs::write(&script, turns.iter().map(|turn| format!("{turn}\n")).collect::<String>()).unwrap();
    let fixed =
        ["run", "--agents", "--json", "--script", script.to_str().unwrap(), "--sandbox", "workspace-write"];
    let ran = home.run(&workspace.path(), &[&fixed, more, &[PROMPT]].concat(), "");
    let answers = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answers = answers.filter(|event| event["type"] == "answer").collect();
    (ran, answers)
}

fn parse_answer(answer: &Value) -> Value {
    serde_json::from_str(answer["text"].as_str().unwrap()).unwrap_or_else(|_| panic!("{answer}"))
}

fn git(directory: &Path, args: &[&str]) {
    let fixed = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    assert!(Command::new("git").args(fixed).args(args).current_dir(directory).status().unwrap().success());
}

#[test]
fn agent_reports_its_work_and_accepts_more_input() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let wait = || turn(PROMPT, &[call("wait", &json!({"ids": ["a1"], "timeout_ms": 60_000}))]);
    let (ran, answers) = run(
        &home,
        &workspace,
        &[
            turn(PROMPT, &[call("spawn_agent", &json!({"message": "write b.txt", "role": "writer"}))]),
            wait(),
            turn(
                PROMPT,
                &[
                    call("list_agents", &json!({})),
                    call("close_agent", &json!({"id": "a1"})),
                    call("send_input", &json!({"id": "a1", "message": "are you there?"})),
                    call("resume_agent", &json!({"id": "a1"})),
                    call("send_input", &json!({"id": "a1", "message": "and what did you write?"})),
                ],
            ),
            wait(),
            turn("write b.txt", &[call("exec_command", &json!({"cmd": "echo by the agent > b.txt"}))]),
            say("write b.txt", "it is written"),
            say("what did you write", "b.txt, as I said"),
        ],
        &[],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let status = |at: usize| parse_answer(&answers[at])["status"]["a1"].clone();
    assert_eq!(status(1), json!({"completed": "it is written"}));
    assert_eq!(parse_answer(&answers[2])["agents"][0]["role"], "writer");
    assert_eq!(parse_answer(&answers[3])["status"], "shutdown");
    assert_eq!(answers[4]["success"], false, "{}", answers[4]);
    assert_eq!(status(7), json!({"completed": "b.txt, as I said"}));
    assert_eq!(fs::read_to_string(workspace.path().join("b.txt")).unwrap(), "by the agent\n");
    // Each agent has its own session, which ended with the first.
    let sessions = fs::read_dir(home.path().join(".local/state/toolgate/sessions")).unwrap();
    let ends =
        sessions.map(|file| fs::read_to_string(file.unwrap().path()).unwrap().contains(r#""kind":"end""#));
    assert_eq!(ends.collect::<Vec<_>>(), [true, true]);
}

#[test]
fn agents_never_have_more_rights_than_their_parent() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let writes = |file: &str| call("exec_command", &json!({"cmd": format!("echo x > {file}; echo $?")}));
    let start = |arguments: Value| call("spawn_agent", &arguments);
    let wait = |id: &str| call("wait", &json!({"ids": [id], "timeout_ms": 60_000}));
    let (ran, answers) = run(
        &home,
        &workspace,
        &[
            turn(
                PROMPT,
                &[start(
                    json!({"message": "the reader", "read_only": true, "tools": ["exec_command", "spawn_agent", "wait"]}),
                )],
            ),
            turn(PROMPT, &[wait("a1")]),
            turn("the reader", &[writes("reader.txt"), call("read_file", &json!({"path": "a"}))]),
            turn("the reader", &[start(json!({"message": "below it"}))]),
            turn("the reader", &[wait("a2")]),
            say("the reader", "read"),
            turn("below it", &[writes("below.txt"), start(json!({"message": "too deep"}))]),
            say("below it", "below"),
        ],
        &[],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(parse_answer(&answers[1])["status"]["a1"], json!({"completed": "read"}));
    assert!(!workspace.path().join("reader.txt").exists() && !workspace.path().join("below.txt").exists());
    let sessions = fs::read_dir(home.path().join(".local/state/toolgate/sessions")).unwrap();
    let all: String = sessions.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(all.contains("there is no tool `read_file`"), "{all}");
    // The agent below it worked as far as its rights allow.
    assert!(all.contains(r#""path":"a1/a2""#) && all.contains("Read-only file system"), "{all}");
    assert!(all.contains("there is no tool `spawn_agent`"), "{all}");
    // An agent's session does not count as the user's last one.
    let listed = home.run(&workspace.path(), &["log", "--json"], "");
    let agents: Vec<Value> = listed
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["agent"].clone())
        .collect();
    assert!(
        agents.contains(&json!("a1")) && agents.contains(&json!("a1/a2")) && agents.contains(&Value::Null),
        "{agents:?}"
    );
    let script = home.path().join("script.jsonl");
    let resume = ["run", "--json", "--script", script.to_str().unwrap(), "--resume", "last", "again"];
    let again = home.run(&workspace.path(), &resume, "");
    let session = |ran: &CommandRun| {
        serde_json::from_str::<Value>(ran.out.lines().next().unwrap()).unwrap()["id"].clone()
    };
    assert!(session(&ran).is_string());
    assert_eq!(session(&again), session(&ran));
}

#[test]
fn read_only_agent_cannot_change_anything() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let rules = home.path().join(".config/toolgate");
    fs::create_dir_all(&rules).unwrap();
    fs::write(
        rules.join("rules.toml"),
        "[[rule]]\npattern = [\"touch\"]\ndecision = \"allow\"\nunsandboxed = true\n",
    )
    .unwrap();
    fs::write(rules.join("config.toml"), "[mcp_servers.mine]\ncommand = \"/nowhere/server\"\n").unwrap();
    let touch = |file: &str| call("exec_command", &json!({"cmd": format!("touch {file}")}));
    let (ran, answers) = run(
        &home,
        &workspace,
        &[
            turn(
                PROMPT,
                &[
                    touch("by-the-first"),
                    call("spawn_agent", &json!({"message": "the reader", "read_only": true})),
                ],
            ),
            turn(PROMPT, &[call("wait", &json!({"ids": ["a1"], "timeout_ms": 60_000}))]),
            turn("the reader", &[touch("by-the-reader"), call("mcp__mine__x", &json!({}))]),
            say("the reader", "read"),
        ],
        &[],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(parse_answer(&answers[2])["status"]["a1"], json!({"completed": "read"}));
    let there = |file: &str| workspace.path().join(file).exists();
    assert_eq!((there("by-the-first"), there("by-the-reader")), (true, false));
    let sessions = fs::read_dir(home.path().join(".local/state/toolgate/sessions")).unwrap();
    let all: String = sessions.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(all.contains("there is no tool `mcp__mine__x`"), "{all}");
}

#[test]
fn an_agent_in_a_worktree_changes_nothing_here_and_its_diff_can_be_applied() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let root = workspace.path();
    workspace.write_file("a.txt", "one\ntwo\n");
    workspace.write_file("plans/next.txt", "K=secret\n");
    commit(&root);
    // A file that is unreadable here is unreadable there and is not copied; an excluded file stays excluded.
    workspace.write_file(".env", "K=secret\n");
    let plans = root.join("plans");
    workspace.write_file(
        "toolgate.toml",
        format!("[tools]\nwithout = [\"view_image\"]\n[files]\ndeny_read = [\"{}\"]\n", plans.display()),
    );
    let start = json!({"message": "in its own tree", "workspace": "worktree"});
    let secret = root.join(".env");
    let command = format!(
        "cat {}; cat plans/next.txt; cat a.txt; echo three >> a.txt; echo new > c.txt",
        secret.display()
    );
    let (ran, answers) = run(
        &home,
        &workspace,
        &[
            turn(PROMPT, &[call("spawn_agent", &start)]),
            turn(PROMPT, &[call("wait", &json!({"ids": ["a1"], "timeout_ms": 60_000}))]),
            turn(
                "in its own tree",
                &[call("exec_command", &json!({"cmd": command})), call("view_image", &json!({"path": "a"}))],
            ),
            say("in its own tree", "changed"),
        ],
        &[],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "one\ntwo\n");
    let agent = &parse_answer(&answers[1])["status"]["a1"];
    assert_eq!(agent["status"], json!({"completed": "changed"}));
    let diff = agent["diff"].as_str().unwrap();
    let applied = home.run(&root, &["patch"], diff);
    assert_eq!(applied.code, Some(0), "{}", applied.err);
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(fs::read_to_string(root.join("c.txt")).unwrap(), "new\n");
    let sessions = fs::read_dir(home.path().join(".local/state/toolgate/sessions")).unwrap();
    let all: String = sessions.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(!all.contains("K=secret") && all.contains("there is no tool `view_image`"), "{all}");
    assert_eq!(left(&home, &root), (0, 0));
}

/// Creates a repository with one commit of the existing files.
fn commit(root: &Path) {
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "base"]);
}

/// Counts the remaining worktrees: Toolgate's and git's own.
fn left(home: &TestHome, root: &Path) -> (usize, usize) {
    let left = fs::read_dir(home.path().join(".local/state/toolgate/worktrees")).unwrap().count();
    let listed = Command::new("git").args(["worktree", "list"]).current_dir(root).output().unwrap();
    (left, String::from_utf8_lossy(&listed.stdout).lines().count() - 1)
}

#[test]
fn resumed_agent_finds_its_worktree_and_a_long_diff_is_in_a_file() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let root = workspace.path();
    // An unreadable file is skipped, and does not affect the others.
    workspace.write_file(".env", "K=secret\n");
    workspace.write_file("a.txt", "one\n");
    commit(&root);
    let start = json!({"message": "in its own tree", "workspace": "worktree"});
    let wait = || turn(PROMPT, &[call("wait", &json!({"ids": ["a1"], "timeout_ms": 60_000}))]);
    let makes = "seq 1 20000 > long.txt; printf '\\0\\1' > picture; echo two >> a.txt";
    // The answer's command, except for the file's name, which a script cannot know.
    let apply = "cat \"$(ls -d ~/.local/state/toolgate/outputs/*/*-agent-*.txt | tail -n 1)\" | git apply --whitespace=nowarn";
    let (ran, answers) = run(
        &home,
        &workspace,
        &[
            turn(PROMPT, &[call("spawn_agent", &start)]),
            wait(),
            turn(
                PROMPT,
                &[
                    call("close_agent", &json!({"id": "a1"})),
                    call("resume_agent", &json!({"id": "a1"})),
                    call("send_input", &json!({"id": "a1", "message": "look again"})),
                ],
            ),
            wait(),
            turn(PROMPT, &[call("exec_command", &json!({"cmd": apply}))]),
            turn("in its own tree", &[call("exec_command", &json!({"cmd": makes}))]),
            say("in its own tree", "made"),
            turn("look again", &[call("exec_command", &json!({"cmd": "wc -l long.txt; rm picture"}))]),
            say("look again", "20000 long.txt"),
        ],
        &[],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let (first, closed, last) = (
        parse_answer(&answers[1])["status"]["a1"].clone(),
        parse_answer(&answers[2]),
        parse_answer(&answers[5])["status"]["a1"].clone(),
    );
    assert_eq!(first["status"], json!({"completed": "made"}), "{first}");
    for told in [&first, &closed] {
        assert!(told["changes"].as_str().unwrap().contains("3 files changed, 20001 insertions"), "{told}");
        assert!(told["apply_with"].as_str().unwrap().contains(told["diff_file"].as_str().unwrap()), "{told}");
    }
    assert!(last["changes"].as_str().unwrap().contains("2 files changed"), "{last}");
    assert_eq!(answers[6]["success"], true, "{}", answers[6]);
    assert_eq!(fs::read_to_string(root.join("long.txt")).unwrap().lines().count(), 20_000);
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "one\ntwo\n");
    assert!(!root.join("picture").exists());
    assert_eq!(left(&home, &root), (0, 0));
}

#[test]
fn an_agent_below_the_top_of_a_repository_comes_back_with_paths_from_there() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    // Not below a directory that is private in the sandbox.
    let outside = testkit::visible_tempdir();
    let root = outside.path().canonicalize().unwrap();
    let sub = root.join("sub");
    fs::create_dir(&sub).unwrap();
    fs::write(sub.join("a.txt"), "one\n").unwrap();
    commit(&root);
    let start = json!({"message": "below", "workspace": "worktree"});
    let turns = [
        turn(PROMPT, &[call("spawn_agent", &start)]),
        turn(PROMPT, &[call("wait", &json!({"ids": ["a1"], "timeout_ms": 60_000}))]),
        turn("below", &[call("exec_command", &json!({"cmd": "echo two >> a.txt; git status --short"}))]),
        say("below", "done"),
    ];
    let (ran, answers) = run(&home, &workspace, &turns, &["--cwd", sub.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = parse_answer(&answers[1]);
    let diff = told["status"]["a1"]["diff"].as_str().unwrap_or_else(|| panic!("{told}"));
    assert!(diff.contains("+++ b/a.txt\n"), "{diff}");
    let applied = home.run(&sub, &["patch"], diff);
    assert_eq!(
        (applied.code, fs::read_to_string(sub.join("a.txt")).unwrap().as_str()),
        (Some(0), "one\ntwo\n")
    );
}

#[test]
fn git_is_not_taken_from_where_a_model_may_write() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let root = workspace.path();
    workspace.write_file("a.txt", "one\n");
    commit(&root);
    // A virtual environment of the project is often on the PATH.
    let ran = home.path().join("ran");
    workspace
        .write_file("bin/git", format!("#!/bin/sh\ntouch {}\nexec /usr/bin/git \"$@\"\n", ran.display()));
    fs::set_permissions(root.join("bin/git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = home.path().join("script.jsonl");
    let start = turn(PROMPT, &[call("spawn_agent", &json!({"message": "look", "workspace": "worktree"}))]);
    fs::write(&script, format!("{start}\n{}\n", say("look", "seen"))).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["run", "--agents", "--json", "--sandbox", "workspace-write", "--script"])
        .args([script.to_str().unwrap(), PROMPT])
        .current_dir(&root)
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", root.join("bin").display()))
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&done.stdout);
    assert!(out.contains(r#"\"agent_id\":\"a1\""#), "{out}");
    assert!(!ran.exists(), "a git of the workspace's ran outside");
}

#[test]
fn worktree_of_a_killed_session_is_removed_by_the_next() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let root = workspace.path();
    workspace.write_file("a.txt", "one\n");
    commit(&root);
    let script = home.path().join("script.jsonl");
    let start = turn(PROMPT, &[call("spawn_agent", &json!({"message": "sleep", "workspace": "worktree"}))]);
    let asleep = json!({"delay_ms": 600_000, "items": []});
    fs::write(&script, format!("{start}\n{asleep}\n{asleep}\n")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["run", "--agents", "--json", "--sandbox", "workspace-write", "--script"])
        .args([script.to_str().unwrap(), PROMPT])
        .current_dir(&root)
        .env_clear()
        .env("HOME", home.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().contains(r#""type":"answer""#)), "no agent was started");
    child.kill().unwrap();
    child.wait().unwrap();
    // The copy, and its lock file.
    assert_eq!(left(&home, &root), (2, 1));
    let turns = [start, say("sleep", "done"), say(PROMPT, "done")];
    let (ran, answers) = run(&home, &workspace, &turns, &[]);
    assert_eq!((ran.code, &answers[0]["success"]), (Some(0), &json!(true)), "{}", ran.err);
    assert_eq!(left(&home, &root), (0, 0));
}

#[test]
fn worktree_content_runs_nothing_outside_the_sandbox() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let root = workspace.path();
    let victim = home.path().join("victim");
    fs::create_dir(&victim).unwrap();
    workspace.write_file("sub/a.txt", "one\n");
    commit(&root);
    // A repository of the agent's own, with a filter that git would run.
    let ran = home.path().join("ran");
    let trap = format!(
        "mkdir s && cd s && git init -q && echo x > f && git add f && git -c user.name=x -c user.email=x@y commit -qm x && \
         printf '[filter \"x\"]\\n\\tclean = touch {}; cat\\n' >> .git/config && mkdir -p .git/info && \
         echo '* filter=x' > .git/info/attributes && echo y > f",
        ran.display()
    );
    let start = json!({"message": "set a trap", "workspace": "worktree"});
    let wait = || turn(PROMPT, &[call("wait", &json!({"ids": ["a1"], "timeout_ms": 60_000}))]);
    let turns = [
        turn(PROMPT, &[call("spawn_agent", &start)]),
        wait(),
        wait(),
        turn("set a trap", &[call("exec_command", &json!({"cmd": trap}))]),
        say("set a trap", "set"),
    ];
    let (done, answers) = run(&home, &workspace, &turns, &["--approval", "never"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(
        parse_answer(&answers[1])["status"]["a1"]["status"],
        json!({"completed": "set"}),
        "{answers:?}"
    );
    assert!(!ran.exists(), "git ran what an agent wrote");
    // The commit decides which of the user's filters run; they run confined.
    let smudge = format!("touch {}; cat", ran.display());
    git(&root, &["config", "filter.x.smudge", &smudge]);
    workspace.write_file(".gitattributes", "* filter=x\n");
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-qm", "attributes"]);
    // A directory that is laid out like a repository is not used as one, even where a patch could create it.
    let laid_out = format!(
        "*** Begin Patch\n*** Add File: sub/HEAD\n+ref: refs/heads/x\n*** Add File: sub/config\n+[core]\n+fsmonitor = touch {}\n*** Add File: sub/objects/x\n+x\n*** Add File: sub/refs/x\n+x\n*** End Patch\n",
        ran.display()
    );
    let turns = [
        turn(PROMPT, &[json!({"type": "custom_tool_call", "name": "apply_patch", "input": laid_out})]),
        turn(PROMPT, &[call("spawn_agent", &json!({"message": "look", "workspace": "worktree"}))]),
        wait(),
        say("look", "seen"),
    ];
    let (_, answers) = run(&home, &workspace, &turns, &["--approval", "never"]);
    let worked: Vec<&Value> = answers.iter().map(|answer| &answer["success"]).collect();
    assert_eq!(worked, [&json!(false), &json!(true), &json!(true)], "{answers:?}");
    assert_eq!(
        parse_answer(&answers[2])["status"]["a1"],
        json!({"status": {"completed": "seen"}, "diff": null})
    );
    assert!(!ran.exists(), "a filter ran outside");
    // The working directory is a symlink in the last commit.
    fs::rename(root.join("sub"), home.path().join("kept")).unwrap();
    std::os::unix::fs::symlink(&victim, root.join("sub")).unwrap();
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-qm", "a link"]);
    fs::remove_file(root.join("sub")).unwrap();
    fs::rename(home.path().join("kept"), root.join("sub")).unwrap();
    let sub = root.join("sub");
    let turns = [
        turn(PROMPT, &[call("spawn_agent", &json!({"message": "elsewhere", "workspace": "worktree"}))]),
        turn("elsewhere", &[call("exec_command", &json!({"cmd": "echo x > owned.txt"}))]),
    ];
    let (_, answers) = run(&home, &workspace, &turns, &["--cwd", sub.to_str().unwrap()]);
    assert_eq!(answers[0]["success"], false, "{}", answers[0]);
    assert!(!victim.join("owned.txt").exists());
}

#[test]
fn agents_are_limited_and_end_with_their_parent() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let start = call("spawn_agent", &json!({"message": "sleep"}));
    let (ran, answers) = run(
        &home,
        &workspace,
        &[
            turn(PROMPT, &vec![start; 7]),
            say(PROMPT, "enough"),
            json!({"when": "sleep", "delay_ms": 600_000, "items": []}),
        ]
        .into_iter()
        .chain((0..6).map(|_| json!({"when": "\"sleep\"", "delay_ms": 600_000, "items": []})))
        .collect::<Vec<_>>(),
        &[],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let worked: Vec<bool> = answers.iter().map(|answer| answer["success"].as_bool().unwrap()).collect();
    assert_eq!(worked, [true, true, true, true, true, true, false]);
    assert!(answers[6]["text"].as_str().unwrap().contains("6 agents are there"), "{}", answers[6]);
}
