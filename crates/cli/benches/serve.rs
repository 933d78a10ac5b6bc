//! Load test of `toolgate serve`: a thousand sessions, a thousand calls a second, and a million malformed messages.
//!
//! `cargo bench -p toolgate-cli --bench serve` (`-- sessions` or `-- nonsense` for one of them). Traffic is on a Unix
//! socket.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark starts real programs, prints, and may unwrap"
)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

const SESSIONS: usize = 1000;
const CONNECTIONS: usize = 4;
/// Calls a second, and the duration.
const RATE: u64 = 1000;
const SECONDS: u64 = 10;
const NONSENSE: usize = 1_000_000;

fn main() {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    println!("| work | | bar |\n|---|--:|--:|");
    if is_wanted("sessions") {
        sessions();
    }
    if is_wanted("nonsense") {
        nonsense();
    }
}

struct ServeProcess {
    child: Child,
    socket: PathBuf,
    _home: tempfile::TempDir,
    workspace: tempfile::TempDir,
}

impl ServeProcess {
    fn start() -> Self {
        let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let socket = home.path().join("socket");
        let child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
            .args(["serve", "--socket", socket.to_str().unwrap()])
            .env_clear()
            .env("HOME", home.path())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while UnixStream::connect(&socket).is_err() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { child, socket, _home: home, workspace }
    }

    fn connect(&self) -> (BufReader<UnixStream>, UnixStream) {
        let stream = UnixStream::connect(&self.socket).unwrap();
        let (mut read, mut write) = (BufReader::new(stream.try_clone().unwrap()), stream);
        ask(&mut read, &mut write, "initialize", &json!({"protocol": 1, "client": {"name": "bench"}}));
        (read, write)
    }

    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn ask(read: &mut impl BufRead, write: &mut impl Write, method: &str, params: &Value) -> Value {
    let line = json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}).to_string() + "\n";
    write.write_all(line.as_bytes()).unwrap();
    loop {
        let mut line = String::new();
        assert!(read.read_line(&mut line).unwrap() > 0);
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == 0 && message.get("method").is_none() {
            return message["result"].clone();
        }
    }
}

fn start(read: &mut impl BufRead, write: &mut impl Write, cwd: &Path) -> String {
    let started = ask(read, write, "session/start", &json!({"cwd": cwd}));
    started["session_id"].as_str().unwrap().to_owned()
}

/// Opens a thousand sessions, follows each, and spreads no-op calls over them at a steady rate.
fn sessions() {
    let server = ServeProcess::start();
    let began = Instant::now();
    let mut connections: Vec<_> = (0..CONNECTIONS).map(|_| server.connect()).collect();
    let mut ids = vec![Vec::new(); CONNECTIONS];
    for number in 0..SESSIONS {
        let at = number % CONNECTIONS;
        let (read, write) = &mut connections[at];
        ids[at].push(start(read, write, server.workspace.path()));
    }
    println!("| {SESSIONS} sessions opened | {:.1} s | |", began.elapsed().as_secs_f64());
    println!("| … resident | {} MiB | 1,024 MiB |", server.resident());
    let readers: Vec<_> =
        connections.into_iter().zip(ids).map(|((read, write), ids)| load(read, write, ids)).collect();
    let mut took: Vec<Duration> = readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect();
    took.sort();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a list"
        )]
        let place = ((took.len() - 1) as f64 * share) as usize;
        took[place].as_secs_f64() * 1000.0
    };
    println!("| `tool/call` of a no-op, {RATE} a second over all of them: p50 | {:.2} ms | |", at(0.5));
    println!("| … p99 | {:.2} ms | 5 ms |", at(0.99));
    println!("| … the slowest of {} | {:.1} ms | |", took.len(), at(1.0));
    println!("| … resident after them | {} MiB | 1,024 MiB |", server.resident());
}

/// Sends calls at its share of the rate, and times their answers.
fn load(
    mut read: BufReader<UnixStream>,
    mut write: UnixStream,
    ids: Vec<String>,
) -> std::thread::JoinHandle<Vec<Duration>> {
    let count = usize::try_from(RATE * SECONDS).unwrap() / CONNECTIONS;
    let sent = Arc::new(Mutex::new(HashMap::new()));
    let noted = Arc::clone(&sent);
    std::thread::spawn(move || {
        let every = Duration::from_secs(SECONDS) / u32::try_from(count).unwrap();
        let began = Instant::now();
        for number in 0..count {
            let due = began + every * u32::try_from(number).unwrap();
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let id = &ids[number % ids.len()];
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":{},"method":"tool/call","params":{{"session_id":"{id}","tool":"list_sessions"}}}}"#,
                number + 1
            ) + "\n";
            noted.lock().insert(number + 1, Instant::now());
            write.write_all(line.as_bytes()).unwrap();
        }
        // Stays open until the reader has everything.
        std::thread::sleep(Duration::from_secs(5));
    });
    std::thread::spawn(move || {
        let (mut took, mut line) = (Vec::with_capacity(count), Vec::new());
        while took.len() < count {
            line.clear();
            assert!(read.read_until(b'\n', &mut line).unwrap() > 0);
            // Events have no request id.
            if line.starts_with(br#"{"id":"#) {
                let answer: Value = serde_json::from_slice(&line).unwrap();
                assert_eq!(answer["result"]["success"], true, "{answer}");
                let number = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
                took.push(sent.lock().remove(&number).unwrap().elapsed());
            }
        }
        took
    })
}

/// Sends malformed and damaged messages: none may end the server or make it grow.
fn nonsense() {
    let server = ServeProcess::start();
    let (mut read, mut write) = server.connect();
    let id = start(&mut read, &mut write, server.workspace.path());
    let before = server.resident();
    let began = Instant::now();
    let drain = std::thread::spawn(move || {
        let mut line = Vec::new();
        let mut answers = 0;
        loop {
            line.clear();
            match read.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return answers,
                Ok(_) if line.starts_with(b"{\"error") || line.starts_with(b"{\"id") => answers += 1,
                Ok(_) => {}
            }
        }
    });
    let mut chance = NonsenseGenerator(0x9e37_79b9_7f4a_7c15);
    let mut batch = Vec::new();
    for number in 0..NONSENSE {
        batch.extend_from_slice(&chance.message(&id, number));
        batch.push(b'\n');
        if batch.len() > 64 << 10 {
            write.write_all(&batch).unwrap();
            batch.clear();
        }
    }
    write.write_all(&batch).unwrap();
    let (mut again, mut last) = server.connect();
    let listed = ask(&mut again, &mut last, "session/list", &json!({"live": true}));
    assert!(listed["sessions"].as_array().is_some_and(|sessions| !sessions.is_empty()), "{listed}");
    write.shutdown(std::net::Shutdown::Write).unwrap();
    let answers = drain.join().unwrap();
    println!(
        "| {NONSENSE} messages of nonsense | {:.1} s, {answers} answers | it lives |",
        began.elapsed().as_secs_f64()
    );
    println!("| … resident before and after | {before}, {} MiB | |", server.resident());
}

/// Deterministic pseudo-random numbers.
struct NonsenseGenerator(u64);

impl NonsenseGenerator {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }

    fn message(&mut self, id: &str, number: usize) -> Vec<u8> {
        const METHODS: [&str; 12] = [
            "tool/call", "tool/list", "session/list", "session/interrupt", "session/prompt", "process/read",
            "fs/read", "fs/list", "policy/explain", "tool/register", "$/cancel", "no/such",
        ];
        let method = METHODS[self.next(METHODS.len())];
        let session = [id, "20261117-080102-5b1f00", "", "../../x"][self.next(4)];
        let value = match self.next(8) {
            0 => json!({}),
            1 => json!([[[[]]]]),
            2 => json!("\u{202e}\u{0}x"),
            3 => json!(-1),
            4 => json!({"path": "/etc/shadow", "pattern": "((((", "tool": "read_file"}),
            5 => json!(u64::MAX),
            6 => json!(null),
            _ => json!("a".repeat(self.next(2000))),
        };
        let params = json!({"session_id": session, "tool": value, "path": value, "arguments": value, "command": value, "tools": [value], "id": value, "process_id": 1});
        let mut bytes = match self.next(3) {
            0 => json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}),
            1 => json!({"jsonrpc": "2.0", "id": value, "method": method, "params": value}),
            _ => json!({"jsonrpc": "2.0", "method": method, "result": value, "params": params}),
        }
        .to_string()
        .into_bytes();
        // Half of them are damaged too.
        for _ in 0..self.next(4).saturating_sub(1) {
            let at = self.next(bytes.len());
            bytes[at] = u8::try_from(self.next(256)).unwrap();
        }
        bytes.retain(|byte| *byte != b'\n');
        bytes
    }
}
