//! Tests of the private `/tmp` of a session: hidden files are reported, and other users cannot take its name.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, look at real files, and may unwrap"
)]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use support::{CommandRun, TestHome};
use tempfile::TempDir;
use testkit::TestWorkspace;

/// Runs `toolgate` with its temporary directory at `temporary`.
fn with_tmpdir(temporary: &Path, args: &[&str]) -> CommandRun {
    let (home, work) = (TestHome::new(), TestWorkspace::new());
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
    command.args(args).current_dir(work.path()).env_clear().env("HOME", home.path());
    let ran = command.env("TMPDIR", temporary).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandRun { code: ran.status.code(), out: text(ran.stdout), err: text(ran.stderr) }
}

fn known_name() -> String {
    format!("toolgate-{}", rustix::process::geteuid().as_raw())
}

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Creates temporary directories in which another file has the name of the private directory.
fn taken() -> Vec<(&'static str, TempDir)> {
    let make = |what: &'static str, take: &dyn Fn(PathBuf)| {
        let directory = testkit::visible_tempdir();
        take(directory.path().join(known_name()));
        (what, directory)
    };
    let open = |path: PathBuf| {
        fs::create_dir(&path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let mut taken = vec![
        make("a file", &|path| fs::write(path, "").unwrap()),
        make("a link", &|path| symlink("/", path).unwrap()),
        make("a directory that others may enter", &open),
    ];
    if rustix::process::geteuid().is_root() {
        let foreign = |path: PathBuf| {
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            chown(path, Some(65534), Some(65534)).unwrap();
        };
        taken.push(make("another user's directory", &foreign));
    } else {
        testkit::not_run("a directory of another user takes the name", "only root can make one");
    }
    taken
}

#[test]
fn squatted_name_does_not_disable_the_private_tmp() {
    for (what, temporary) in taken() {
        for _ in 0..2 {
            let ran = with_tmpdir(
                temporary.path(),
                &["sandbox", "--", "sh", "-c", "echo x > /tmp/a && cat /tmp/a"],
            );
            assert_eq!((ran.code, &*ran.out), (Some(0), "x\n"), "{what}: {}", ran.err);
        }
        // All sessions share one other directory, and leave nothing in it.
        let names = names(temporary.path());
        assert_eq!(names.len(), 2, "{what}: {names:?}");
        assert!(names[1].starts_with(&format!("{}-", known_name())), "{what}: {names:?}");
        assert_eq!(fs::read_dir(temporary.path().join(&names[1])).unwrap().count(), 0, "{what}");
        let ran = with_tmpdir(temporary.path(), &["call", "list_dir", "--json", r#"{"path": "."}"#]);
        assert_eq!(ran.code, Some(0), "{what}: {}", ran.err);
        let ran = with_tmpdir(temporary.path(), &["doctor"]);
        let told = format!("/{} is not a directory of yours alone, so another one is used", known_name());
        assert!(ran.out.contains(&told), "{what}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named_with_what_helps() {
    let above = tempfile::tempdir().unwrap();
    let missing = above.path().join("missing");
    let told = format!(
        "no private directory could be made for commands: `{}`: No such file or directory (os error 2)\n",
        missing.display()
    );
    let fix = "set TMPDIR to a directory that you may write to\n";
    for args in [&["sandbox", "--", "true"][..], &["call", "list_dir", "--json", r#"{"path": "."}"#]] {
        let ran = with_tmpdir(&missing, args);
        assert!(ran.code != Some(0), "{args:?}");
        assert_eq!(ran.err, format!("error: {told}hint: {fix}"), "{args:?}");
    }
    let ran = with_tmpdir(&missing, &["doctor"]);
    assert_eq!((ran.code, &*ran.err), (Some(125), ""), "{}", ran.out);
    let verdict = format!("No session can start here:\n  ✗ {told}    Fix: {fix}\n");
    assert!(ran.out.starts_with(&verdict), "{}", ran.out);
}

#[test]
fn a_server_whose_script_is_in_tmp_is_told_why_it_does_not_start() {
    for place in ["/tmp", "/var/tmp"] {
        let (home, work) = (TestHome::new(), TestWorkspace::new());
        let elsewhere = tempfile::tempdir_in(place).unwrap();
        let script = fs::canonicalize(elsewhere.path()).unwrap().join("server.py");
        fs::write(&script, "#!/usr/bin/env python3\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let config = home.path().join(".config/toolgate");
        fs::create_dir_all(&config).unwrap();
        for (command, args) in [("python3", json!([script])), (script.to_str().unwrap(), json!([]))] {
            let table = format!("[mcp_servers.s]\ncommand = {}\nargs = {args}\n", json!(command));
            fs::write(config.join("config.toml"), table).unwrap();
            let CommandRun { code, out, err } = home.run(&work.path(), &["mcp", "test", "s"], "");
            let told = format!(
                "`{}` is in the host's `{place}`, and the server has a private `{place}` where it is not",
                script.display()
            );
            assert!(code != Some(0) && format!("{out}{err}").contains(&told), "{out}\n{err}");
        }
    }
}

#[test]
fn a_home_in_tmp_is_the_same_for_patches_and_commands() {
    let (home, work) = (tempfile::tempdir_in("/tmp").unwrap(), tempfile::tempdir_in("/tmp").unwrap());
    let path = fs::canonicalize(home.path()).unwrap().join("a.txt");
    fs::write(&path, "1\n").unwrap();
    let run = |tool: &str, arguments: serde_json::Value| {
        let arguments = arguments.to_string();
        let args = ["call", tool, "--sandbox", "workspace-write", "--json", &arguments];
        support::run_toolgate(home.path().as_os_str(), work.path(), &args, "")
    };
    let seen = run("shell_command", json!({ "command": format!("cat {0}; echo 2 > {0}", path.display()) }));
    assert!(seen.out.contains("1\n") && seen.out.contains("may not be changed"), "{}{}", seen.out, seen.err);
    let patch = format!("*** Begin Patch\n*** Update File: {}\n-1\n+2\n*** End Patch\n", path.display());
    let patched = run("apply_patch", json!({ "input": patch }));
    assert!(patched.err.contains("may not be changed"), "{}{}", patched.out, patched.err);
    let read = run("read_file", json!({ "path": path }));
    assert!(read.err.contains("is outside the readable roots"), "{}{}", read.out, read.err);
    assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
}

#[test]
fn a_workspace_in_a_cache_loses_nothing() {
    let home = TestHome::new();
    let work = home.path().join(".cache/project");
    fs::create_dir_all(&work).unwrap();
    for (sandbox, written) in [("read-only", false), ("workspace-write", true)] {
        let arguments = json!({ "command": "echo 1 > a.txt" }).to_string();
        let ran = home.run(&work, &["call", "shell_command", "--sandbox", sandbox, "--json", &arguments], "");
        assert_eq!(
            (ran.code == Some(0), work.join("a.txt").exists()),
            (written, written),
            "{}{}",
            ran.out,
            ran.err
        );
    }
}

#[test]
fn a_file_beside_a_workspace_in_tmp_is_said_to_vanish() {
    let (home, above) = (TestHome::new(), tempfile::tempdir_in("/tmp").unwrap());
    let work = above.path().join("work");
    fs::create_dir(&work).unwrap();
    let run = |command: &str| {
        let arguments = json!({ "command": command }).to_string();
        home.run(&work, &["call", "shell_command", "--sandbox", "workspace-write", "--json", &arguments], "")
    };
    let ran = run("echo hello > ../out.txt");
    let told = format!(
        "`{}` is in this session's private `/tmp`, not in the host's; it goes when the session ends",
        above.path().join("out.txt").display()
    );
    assert!(ran.out.contains(&told), "{}{}", ran.out, ran.err);
    assert!(!above.path().join("out.txt").exists());
    let ran = run("echo hello > in.txt");
    assert!(!ran.out.contains("private"), "{}", ran.out);
}
