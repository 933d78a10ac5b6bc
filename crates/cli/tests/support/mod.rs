//! Runs the real binary in a home of its own.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A home directory without the developer's files.
pub(crate) struct TestHome(TempDir);

/// The exit status and output of a run.
pub(crate) struct CommandRun {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        testkit::restore_signals();
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs `toolgate` in `cwd`.
    pub(crate) fn run(&self, cwd: &Path, args: &[&str], stdin: &str) -> CommandRun {
        run_toolgate(self.path().as_os_str(), cwd, args, stdin)
    }
}

/// Runs `toolgate` in `cwd` with the home `home`.
pub(crate) fn run_toolgate(home: &OsStr, cwd: &Path, args: &[&str], stdin: &str) -> CommandRun {
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(args)
        .current_dir(cwd)
        .env_clear()
        .env("HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = stdin.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    // A program need not read all of its input.
    let _written = writer.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandRun { code: status.code(), out: text(stdout), err: text(stderr) }
}
