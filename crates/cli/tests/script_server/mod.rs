//! Runs `toolgate script-server` as a scripted model over HTTP, and reads its request log.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A running script server; it ends when dropped.
pub(crate) struct ScriptServerProcess {
    child: Child,
    pub(crate) url: String,
    log: PathBuf,
}

impl ScriptServerProcess {
    /// Serves `turns`; its files are in `directory`.
    pub(crate) fn start(directory: &Path, turns: &[Value]) -> Self {
        testkit::restore_signals();
        let (file, log) = (directory.join("script.jsonl"), directory.join("requests.jsonl"));
        fs::write(&file, turns.iter().map(|turn| format!("{turn}\n")).collect::<String>()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
            .arg("script-server")
            .arg(&file)
            .arg("--log")
            .arg(&log)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned(), log }
    }

    /// Returns the bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].clone()).collect()
    }
}

impl Drop for ScriptServerProcess {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
