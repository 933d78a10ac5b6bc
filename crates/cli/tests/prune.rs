//! Tests of `toolgate log prune` and of the quota in `[journal]`, with real sessions of a scripted model.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use journal::{Journal, JournalEntry, Redactor, SessionId};
use serde_json::{Value, json};
use support::{CommandRun, TestHome};
use testkit::TestWorkspace;

/// A session that leaves a long output and a diff: 1.3 MB are too long for a model.
const LOUD: &str = r#"{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "seq 1 200000", "max_output_tokens": 100000}}, {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch\n*** Add File: made.txt\n+a\n*** End Patch\n"}]}
"#;
/// A session that only speaks.
const QUIET: &str = r#"{"items": [{"type": "message", "text": "hello"}]}
"#;

impl TestHome {
    fn state(&self) -> PathBuf {
        self.path().join(".local/state/toolgate")
    }

    /// Runs a session and returns its id.
    fn session(&self, workspace: &TestWorkspace, script: &str) -> String {
        let file = self.path().join("script.jsonl");
        fs::write(&file, script).unwrap();
        let script = file.to_str().unwrap();
        let args = ["run", "--json", "--sandbox", "workspace-write", "--script", script, "go"];
        let ran = self.run(&workspace.path(), &args, "");
        assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
        let first: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
        first["id"].as_str().unwrap().to_owned()
    }

    fn prune(&self, args: &[&str]) -> CommandRun {
        self.run(self.path(), &[&["log", "prune"], args].concat(), "")
    }

    /// Returns all files below the state directory, except for those that belong to no session.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect_files(&self.state(), &self.state(), &mut found);
        found.sort();
        found
    }
}

fn collect_files(top: &Path, directory: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_files(top, &path, found);
        } else {
            found.push(path.strip_prefix(top).unwrap().display().to_string());
        }
    }
}

fn states(ran: &CommandRun) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    ran.out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (text(&line["id"]), text(&line["state"])))
        .collect()
}

fn pair(id: &str, state: &str) -> (String, String) {
    (id.to_owned(), state.to_owned())
}

#[test]
fn a_removed_session_takes_its_outputs_and_its_diff_with_it_and_nothing_else() {
    let (home, one, other) = (TestHome::new(), TestWorkspace::new(), TestWorkspace::new());
    let stays = home.session(&other, LOUD);
    let before = home.files();
    assert!(before.iter().any(|file| file.starts_with("outputs/")), "{before:?}");
    assert!(before.iter().any(|file| file.starts_with("turns/")), "{before:?}");
    let old = home.session(&one, LOUD);
    assert!(home.files().len() >= before.len() + 3, "{:?}", home.files());
    fs::write(home.state().join("sessions/notes.txt"), "mine").unwrap();
    // The last write decides about the order, and only one of them may go.
    let path = home.state().join("sessions").join(format!("{stays}.jsonl"));
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::options().append(true).open(path).unwrap().set_modified(later).unwrap();

    let listed = home.prune(&["--keep", "1", "--dry-run", "--json"]);
    assert_eq!(states(&listed), [pair(&old, "would_remove")]);
    let bytes = serde_json::from_str::<Value>(&listed.out).unwrap()["bytes"].as_u64().unwrap();
    assert!(bytes > 1_200_000, "{bytes}");
    let unasked = home.prune(&["--keep", "1"]);
    assert_eq!((unasked.code, home.files().len()), (Some(2), before.len() + 4), "{}", unasked.err);
    insta::assert_snapshot!(unasked.err.replace(|digit: char| digit.is_ascii_digit(), "N"), @"
    error: N session (N.N MB) would be removed, and there is no terminal to ask at
    hint: --yes removes them, --dry-run lists them
    ");

    let done = home.prune(&["--keep", "1", "--yes"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("removed 1 session (1."), "{}", done.out);
    let mut expected = before;
    expected.push("sessions/notes.txt".to_owned());
    expected.sort();
    assert_eq!(home.files(), expected);
    assert_eq!(home.run(home.path(), &["log", "verify", &stays], "").code, Some(0));
    assert_eq!(home.run(home.path(), &["log", &old], "").code, Some(2));
}

#[test]
fn a_running_session_stays_and_is_named() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let ended = home.session(&workspace, QUIET);
    let script = home.path().join("slow.jsonl");
    fs::write(&script, r#"{"items": [{"type": "message", "text": "slow"}], "delay_ms": 600000}"#).unwrap();
    let mut running = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["run", "--json", "--script", script.to_str().unwrap(), "go"])
        .current_dir(workspace.path())
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(running.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let id = serde_json::from_str::<Value>(&line).unwrap()["id"].as_str().unwrap().to_owned();

    let pruned = home.prune(&["--keep", "0", "--yes", "--json"]);
    assert_eq!(
        (pruned.code, states(&pruned)),
        (Some(0), vec![pair(&id, "running"), pair(&ended, "removed")])
    );
    let told = home.prune(&["--older-than", "0s", "--yes"]);
    assert!(told.out.contains("running, stays"), "{}", told.out);
    running.kill().unwrap();
    running.wait().unwrap();
    let after = home.prune(&["--keep", "0", "--yes", "--json"]);
    assert_eq!(states(&after), [pair(&id, "removed")]);
    assert_eq!(
        home.prune(&["--keep", "0", "--yes"]).out,
        "removed 0 sessions (0 bytes); kept 0 sessions (0 bytes)\n"
    );
}

#[test]
fn agents_go_with_the_session_that_started_them_and_a_crash_is_continued() {
    let home = TestHome::new();
    let sessions = home.state().join("sessions");
    let write = |id: &str, entries: &[JournalEntry]| {
        let id: SessionId = id.parse().unwrap();
        let journal = Journal::create(&sessions, &id, Redactor::new([]).unwrap()).unwrap();
        for entry in entries {
            journal.write(entry).unwrap();
        }
        journal
    };
    let (root, child, grandchild) =
        ("20261116-213602-4f9a1c", "20261116-213603-4f9a1c", "20261116-213604-4f9a1c");
    let agent = |of: &str| JournalEntry::Agent { path: "a1".to_owned(), of: of.to_owned() };
    let notice = || JournalEntry::Notice { text: "x".to_owned() };
    drop(write(root, &[notice()]));
    drop(write(child, &[agent(root)]));
    let open = write(grandchild, &[agent(child)]);
    // A crash has removed the agent between the two, and the outputs: the rest is still one family.
    let outside = home.path().join("precious.txt");
    fs::write(&outside, "mine").unwrap();
    open.write(&JournalEntry::Kept {
        call: "c".to_owned(),
        path: outside.display().to_string(),
        sha256: String::new(),
        bytes: 4,
    })
    .unwrap();
    let kept = home.prune(&["--keep", "0", "--yes", "--json"]);
    assert_eq!(states(&kept), [pair(root, "running")]);
    drop(open);
    let listed = home.prune(&["--keep", "0", "--dry-run", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&listed.out).unwrap()["sessions"], json!(3));
    fs::remove_file(sessions.join(format!("{child}.jsonl"))).unwrap();
    let done = home.prune(&["--keep", "0", "--yes", "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!((fs::read_dir(&sessions).unwrap().count(), outside.exists()), (0, true));
}

#[test]
fn the_quota_is_applied_when_a_session_ends() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let loud = home.session(&workspace, LOUD);
    let config = home.path().join(".config/toolgate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[journal]\nmax_mb = 1\nkeep_days = 365\n").unwrap();
    let script = home.path().join("quiet.jsonl");
    fs::write(&script, QUIET).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["run", "--json", "--script", script.to_str().unwrap(), "go"])
        .current_dir(workspace.path())
        .env_clear()
        .env("HOME", home.path())
        .env("TOOLGATE_LOG", "info")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(err.contains("the quota removed 1 old sessions with 1"), "{err}");
    let listed = home.run(home.path(), &["log", "--json"], "");
    assert!(listed.out.lines().count() == 1 && !listed.out.contains(&loud), "{}", listed.out);
    assert!(!home.files().iter().any(|file| file.starts_with("outputs/")), "{:?}", home.files());
    // A project may not remove the sessions of its user.
    fs::write(workspace.path().join("toolgate.toml"), "[journal]\nmax_mb = 1\n").unwrap();
    let refused = home.run(&workspace.path(), &["config"], "");
    assert!(refused.code == Some(2) && refused.err.contains("journal.max_mb"), "{}", refused.err);
}

#[test]
fn what_cannot_be_removed_is_counted_apart_and_stops_nothing() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let good = home.session(&workspace, QUIET);
    let sessions = home.state().join("sessions");
    // A directory, a link and a journal that others may read have the names of sessions.
    let [directory, link, open] =
        ["20250101-000000-000001", "20250101-000000-000002", "20250101-000000-000003"];
    let path = |id: &str| sessions.join(format!("{id}.jsonl"));
    fs::create_dir(path(directory)).unwrap();
    std::os::unix::fs::symlink(path(&good), path(link)).unwrap();
    fs::write(path(open), "mine\n").unwrap();
    fs::set_permissions(path(open), fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(sessions.join("notes.txt"), "mine").unwrap();

    let listed = home.prune(&["--keep", "0", "--dry-run"]);
    assert_eq!(listed.code, Some(1), "{}", listed.out);
    assert!(
        listed.out.contains("would remove 1 session (")
            && listed.out.contains("; 3 sessions cannot be removed\n")
    );
    let done = home.prune(&["--keep", "0", "--yes"]);
    assert_eq!(done.code, Some(1), "{}", done.out);
    let last = done.out.lines().last().unwrap();
    assert!(
        last.starts_with("removed 1 session (")
            && last.ends_with("; kept 0 sessions (0 bytes); 3 sessions cannot be removed"),
        "{last}"
    );
    for id in [directory, link, open] {
        assert!(done.err.contains(&format!("error: `{id}` stays: ")), "{}", done.err);
        assert!(path(id).symlink_metadata().is_ok());
    }
    assert!(!path(&good).exists() && sessions.join("notes.txt").exists());
    let json = home.prune(&["--keep", "0", "--yes", "--json"]);
    assert_eq!(json.code, Some(1));
    let mut expected = [directory, link, open].map(|id| pair(id, "failed")).to_vec();
    let mut told = states(&json);
    expected.sort();
    told.sort();
    assert_eq!(told, expected);
}

#[test]
fn a_linked_directory_of_sessions_is_refused_in_a_clear_sentence() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    home.session(&workspace, QUIET);
    let (sessions, elsewhere) = (home.state().join("sessions"), home.path().join("elsewhere"));
    fs::rename(&sessions, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &sessions).unwrap();
    let ran = home.prune(&["--keep", "0", "--yes"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    let told = format!(
        "error: `{}` cannot be used: it is a symbolic link\nhint: XDG_STATE_HOME or TOOLGATE_HOME names another directory\n",
        sessions.display()
    );
    assert_eq!(ran.err, told);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}
