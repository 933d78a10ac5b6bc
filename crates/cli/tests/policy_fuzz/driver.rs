//! Runs the driver program that performs the operations, confined or not, one line at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use testkit::WorldExecutableCopy;

use crate::operations::FileOperation;

const SCRIPT: &str = include_str!("driver.py");
/// Time limit of any step on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the binary under test.
pub(crate) fn toolgate_binary() -> PathBuf {
    let copy = COPY.lock().upgrade().map(|copy| copy.path());
    std::env::var_os("TOOLGATE_FUZZ_BIN").map(PathBuf::from).or(copy).expect("a test holds a copy")
}

static COPY: Mutex<Weak<WorldExecutableCopy>> = Mutex::new(Weak::new());

/// Returns a copy of the binary that every user can start; it exists while a test holds it.
pub(crate) fn world_runnable_copy() -> Arc<WorldExecutableCopy> {
    let mut copied = COPY.lock();
    let made = || Arc::new(WorldExecutableCopy::new(env!("CARGO_BIN_EXE_toolgate")));
    let copy = copied.upgrade().unwrap_or_else(made);
    *copied = Arc::downgrade(&copy);
    copy
}

/// Returns an interpreter that every user can start.
pub(crate) fn python_interpreter() -> Option<&'static str> {
    ["/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find(|path| Path::new(path).exists())
}

/// A running driver.
pub(crate) struct OperationDriver {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

/// The result of an operation.
#[derive(Debug, Clone)]
pub(crate) struct OperationResult {
    pub(crate) ok: bool,
    pub(crate) data: Value,
}

impl OperationDriver {
    /// Starts a driver in `cwd`; confined if there are arguments for that.
    pub(crate) fn start(
        confined: Option<&[String]>,
        user: Option<u32>,
        cwd: &Path,
        home: &Path,
    ) -> Result<Self, String> {
        let script = [python_interpreter().unwrap(), "-I", "-S", "-c", SCRIPT];
        let mut command = Command::new(if confined.is_some() { toolgate_binary() } else { script[0].into() });
        match confined {
            Some(arguments) => command.args(arguments).arg("--").args(script).arg("confined"),
            None => command.args(&script[1..]).arg("twin"),
        };
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut child = command
            .current_dir(cwd)
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        let (tell, errors) = channel();
        let mut output = child.stderr.take().unwrap();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _gone = output.read_to_end(&mut text);
            tell.send(String::from_utf8_lossy(&text).into_owned())
        });
        let input = child.stdin.take();
        let driver = Self { child, input, lines, errors };
        match driver.line() {
            Ok(line) if line == "ready" => Ok(driver),
            Ok(line) => Err(format!("said {line:?} first")),
            Err(_) => Err(driver.wait().1),
        }
    }

    fn line(&self) -> Result<String, String> {
        self.lines.recv_timeout(PATIENCE).map_err(|error| format!("no answer: {error}"))
    }

    /// Performs `op` in the tree at `base`.
    pub(crate) fn run_operation(
        &mut self,
        op: &FileOperation,
        real: &str,
        base: &str,
    ) -> Result<OperationResult, String> {
        let _gone = writeln!(self.input.as_mut().unwrap(), "{}", op.to_json(real, base));
        let answer = self.line()?.replace(base, "/TREE");
        let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        Ok(OperationResult { ok: answer["ok"] == true, data: answer["data"].clone() })
    }

    /// Waits for the end; returns the exit code and stderr.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let errors = self.errors.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let _gone = self.child.kill();
            "does not end".to_owned()
        });
        (self.child.wait().unwrap().code(), errors)
    }
}
