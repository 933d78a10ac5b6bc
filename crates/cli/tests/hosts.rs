//! Tests of hosts allowed by name: reachable and unreachable ones, and cleanup. All servers are local.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, make servers for them, and may unwrap"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Time limit for cleanup.
const GONE: Duration = Duration::from_secs(3);

/// A server that reads each connection to its end and answers with the number of bytes.
struct CountingServer {
    port: u16,
    called: Arc<AtomicUsize>,
}

impl CountingServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let called = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&called);
        // Ends with the tests.
        spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                spawn(move || {
                    let (mut stream, mut heard) = (stream.unwrap(), Vec::new());
                    let _hung_up = stream.read_to_end(&mut heard);
                    let _hung_up = write!(stream, "heard {}", heard.len());
                    let _hung_up = stream.shutdown(Shutdown::Write);
                });
            }
        });
        Self { port, called }
    }

    fn unused_port() -> u16 {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
    }

    fn called(&self) -> usize {
        self.called.load(Ordering::SeqCst)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RelayUser {
    Oneself,
    Unprivileged,
}

/// Root also runs the tests as an unprivileged user.
fn users() -> &'static [RelayUser] {
    if rustix::process::geteuid().is_root() {
        &[RelayUser::Oneself, RelayUser::Unprivileged]
    } else {
        &[RelayUser::Oneself]
    }
}

/// A workspace, and a copy of the program that every user can run.
struct RelayFixture {
    directory: TempDir,
    user: RelayUser,
    /// The limit of open files: a number that no other spawner has.
    limit: usize,
}

impl RelayFixture {
    fn new(user: RelayUser) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let limit = 3600 + std::process::id() as usize % 16 * 25 + MADE.fetch_add(1, Ordering::Relaxed);
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let everybody = fs::Permissions::from_mode(0o777);
        fs::set_permissions(directory.path(), everybody.clone()).unwrap();
        fs::create_dir(directory.path().join("ws")).unwrap();
        fs::set_permissions(directory.path().join("ws"), everybody).unwrap();
        // `cp` makes the copy: if this process did, a child of another test could hold it open for writing, and exec
        // would fail.
        let copied = Command::new("cp")
            .args([Path::new(env!("CARGO_BIN_EXE_toolgate")), &directory.path().join("toolgate")])
            .status();
        assert!(copied.unwrap().success());
        Self { directory, user, limit }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn start(&self, flags: &str, script: &str) -> Child {
        let limit = self.limit;
        let dropped = match self.user {
            RelayUser::Oneself => "",
            RelayUser::Unprivileged => "setpriv --reuid 65534 --regid 65534 --clear-groups --",
        };
        let line = format!(
            r#"ulimit -Sn {limit} && exec {dropped} ../toolgate sandbox --explain {flags} -- python3 -c "$0""#
        );
        Command::new("/bin/sh")
            .args(["-c", &line, &format!("{ASK}{script}")])
            .current_dir(self.path("ws"))
            .env_clear()
            .envs([
                ("HOME", self.directory.path().to_str().unwrap()),
                ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Returns a script's output, and Toolgate's messages about it.
    fn run(&self, flags: &str, script: &str) -> (String, String) {
        let out = self.start(flags, script).wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        (text(&out.stdout), text(&out.stderr))
    }

    /// Returns the processes of its spawner, the spawner included.
    fn processes(&self, called: &str) -> Vec<PathBuf> {
        let all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let text = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        let ours = format!("toolgate-spawner\0{}\0", self.limit);
        all.filter(|path| {
            text(path.join("cmdline")) == ours && text(path.join("comm")).trim().starts_with(called)
        })
        .collect()
    }

    fn is_gone(&self) -> bool {
        eventually(|| self.processes("").is_empty())
    }
}

fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    // ends: when it holds, or at the time limit
    while !holds() {
        if start.elapsed() > GONE {
            return false;
        }
        sleep(Duration::from_millis(5));
    }
    true
}

/// `ask` sends, shuts down writing and reads the answer; `look_up` queries only the DNS server.
const ASK: &str = r#"
import socket, struct
def ask(host, port, words=b"hello"):
    try: s = socket.create_connection((host, port), 10)
    except OSError as error: return type(error).__name__ + " " + str(error.errno)
    return hear(s, words)
def hear(s, words=b"hello"):
    try:
        s.sendall(words); s.shutdown(socket.SHUT_WR); got = b""
        while more := s.recv(65536): got += more
        return got.decode()
    except OSError as error: return type(error).__name__
def look_up(name, kind=1):
    server = open("/etc/resolv.conf").read().split()[1]
    s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(5); s.connect((server, 53))
    labels = b"".join(bytes([len(part)]) + part for part in name.encode("latin1").split(b"."))
    s.send(b"ab\1\0\0\1\0\0\0\0\0\0" + labels + struct.pack(">BHH", 0, kind, 1))
    answer = s.recv(2000)
    return answer[3] & 15, socket.inet_ntoa(answer[-4:]) if answer[7] else None
"#;

#[test]
fn only_an_allowed_address_is_reached() {
    let (allowed, other) = (CountingServer::start(), CountingServer::start());
    let (a, b) = (allowed.port, other.port);
    for &user in users() {
        let bench = RelayFixture::new(user);
        let script =
            format!("print(ask('127.0.0.1', {a}), ask('127.0.0.1', {b}), ask('192.0.2.7', {a}), sep='\\n')");
        let (said, why) = bench.run(&format!("--host 127.0.0.1:{a}"), &script);
        assert_eq!(said, "heard 5\nConnectionRefusedError 111\nOSError 101", "{user:?}: {why}");
        assert!(why.contains("enforced: full"), "{why}");
        assert!(why.contains(&format!("refused: connecting to `192.0.2.7:{a}` is not allowed")), "{why}");
        let (said, why) = bench.run(&format!("--host 127.0.0.1:{a} --network off"), &script);
        assert_eq!(said, "heard 5\nOSError 101\nOSError 101", "{user:?}: {why}");
        let (said, why) = bench.run("", &script);
        assert_eq!(
            said, "ConnectionRefusedError 111\nConnectionRefusedError 111\nOSError 101",
            "{user:?}: {why}"
        );
        assert!(bench.is_gone());
    }
    assert_eq!((allowed.called(), other.called()), (2 * users().len(), 0));
}

#[test]
fn an_allowed_name_is_reached_and_no_other_port_of_it() {
    let (allowed, other) = (CountingServer::start(), CountingServer::start());
    let (a, b) = (allowed.port, other.port);
    for &user in users() {
        let bench = RelayFixture::new(user);
        let script = format!(
            "print(ask('localhost', {a}), look_up('localhost', 28), look_up('other.example'), sep='\\n')
found = look_up('LocalHost')[1]; print(ask(found, {a}), ask(found, {b}))
six = socket.socket(socket.AF_INET6); six.connect(('::ffff:127.0.0.1', {a})); print(hear(six))"
        );
        for network in ["loopback", "off"] {
            let (said, why) = bench.run(&format!("--host localhost:{a} --network {network}"), &script);
            let expected = "heard 5\n(0, None)\n(3, None)\nheard 5 OSError 101\nheard 5";
            assert_eq!(said, expected, "{user:?} {network}: {why}");
            for refused in [format!("localhost:{b}"), "other.example".to_owned()] {
                assert!(why.contains(&format!("refused: connecting to `{refused}` is not allowed")), "{why}");
                assert!(why.contains(&format!("or `--host {refused}`")), "{why}");
            }
        }
    }
    assert_eq!(other.called(), 0);
}

#[test]
fn an_allowed_host_that_cannot_be_reached_is_named_with_the_reason() {
    let bench = RelayFixture::new(RelayUser::Oneself);
    let (said, why) = bench.run("--host no-such-host.invalid", "print(ask('no-such-host.invalid', 443))");
    assert!(said.starts_with("Connection"), "{said}");
    assert!(
        why.contains("hint: `no-such-host.invalid` is allowed, but its name cannot be resolved: "),
        "{why}"
    );
    let port = CountingServer::unused_port();
    let (_, why) =
        bench.run(&format!("--host 127.0.0.1:{port}"), &format!("print(ask('127.0.0.1', {port}))"));
    let expected = format!(
        "hint: `127.0.0.1:{port}` is allowed, but cannot be reached from this machine: Connection refused"
    );
    assert!(why.contains(&expected), "{why}");
}

/// Returns a name of this machine other than `localhost`, from `/etc/hosts`.
fn alias() -> Option<String> {
    let text = fs::read_to_string("/etc/hosts").ok()?;
    let local = text.lines().filter(|line| line.starts_with("127."));
    let mut names = local.flat_map(|line| line.split_whitespace().skip(1).map(str::to_owned));
    names.find(|name| !name.starts_with("localhost") && name.parse::<runtime::HostPattern>().is_ok())
}

#[test]
fn a_name_that_leads_to_this_machine_is_refused() {
    // Without such a name there is nothing to test; a unit test covers the case.
    let Some(name) = alias() else { return };
    let server = CountingServer::start();
    let bench = RelayFixture::new(RelayUser::Oneself);
    let script = format!("print(ask('{name}', {}))", server.port);
    let (said, why) = bench.run(&format!("--host {name}"), &script);
    assert!(said.starts_with("ConnectionResetError") && server.called() == 0, "{said} {why}");
    assert!(why.contains(&format!(":{}` is not allowed", server.port)), "{why}");
    let (said, why) = bench.run(&format!("--host {name} --host 127.0.0.1 --host 127.0.1.1"), &script);
    assert_eq!((said.as_str(), server.called()), ("heard 5", 1), "{why}");
}

#[test]
fn bulk_data_flows_both_ways_to_the_last_byte() {
    let server = CountingServer::start();
    let bench = RelayFixture::new(RelayUser::Oneself);
    let port = server.port;
    let flags = format!("--host 127.0.0.1:{port}");
    let (said, why) = bench.run(&flags, &format!("print(ask('127.0.0.1', {port}, bytes(20_000_000)))"));
    assert_eq!(said, "heard 20000000", "{why}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("socket.create_connection(('127.0.0.1', {port})).send(b'last words')");
    let (_, why) = bench.run(&format!("--host 127.0.0.1:{port}"), &script);
    let mut heard = String::new();
    listener.accept().unwrap().0.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "last words", "{why}");
}

#[test]
fn many_connections_leave_nothing_open() {
    let server = CountingServer::start();
    let bench = RelayFixture::new(RelayUser::Oneself);
    let port = server.port;
    let script = format!(
        "held = [socket.create_connection(('127.0.0.1', {port})) for _ in range(200)]
print(all(hear(one) == 'heard 5' for one in held), flush=True)
del held
print(all(ask('127.0.0.1', {port}) == 'heard 5' for _ in range(200)), flush=True); input()"
    );
    let mut child = bench.start(&format!("--host 127.0.0.1:{port}"), &script);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!([lines.next().unwrap().unwrap(), lines.next().unwrap().unwrap()], ["True", "True"]);
    let relays = bench.processes("toolgate-relay");
    assert_eq!(relays.len(), 1);
    // Only root may look.
    let open = || fs::read_dir(relays[0].join("fd")).map_or(0, Iterator::count);
    let threads = || fs::read_dir(relays[0].join("task")).map_or(0, Iterator::count);
    assert!(eventually(|| open() <= 8 && threads() == 1), "{} files, {} threads", open(), threads());
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(bench.is_gone());
}

#[test]
fn the_relay_goes_with_its_session() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let bench = RelayFixture::new(RelayUser::Oneself);
    let script =
        format!("s = socket.create_connection(('127.0.0.1', {port})); print(1, flush=True); s.recv(1)");
    let mut child = bench.start(&format!("--host 127.0.0.1:{port}"), &script);
    let (mut stream, _) = listener.accept().unwrap();
    // A process that it has just forked still has its name.
    assert!(eventually(|| bench.processes("toolgate-relay").len() == 1));
    // As `kill -9` does.
    child.kill().unwrap();
    child.wait().unwrap();
    stream.set_read_timeout(Some(GONE)).unwrap();
    // End of stream, or a reset.
    assert_eq!(stream.read(&mut [0; 1]).unwrap_or_default(), 0);
    assert!(bench.is_gone(), "{:?}", bench.processes(""));
}

#[test]
fn nothing_changes_where_no_host_is_allowed() {
    let bench = RelayFixture::new(RelayUser::Oneself);
    let mut child = bench.start("", "print(1, flush=True); input()");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "1");
    assert_eq!(bench.processes("toolgate-relay"), Vec::<PathBuf>::new());
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn a_weaker_tier_says_that_hosts_cannot_be_reached() {
    let bench = RelayFixture::new(RelayUser::Oneself);
    let server = CountingServer::start();
    let script = format!("print(ask('127.0.0.1', {}))", server.port);
    let (said, why) = bench.run(&format!("--host 127.0.0.1:{} --tier landlock", server.port), &script);
    // Without Landlock, nothing runs at all.
    let is_told = why.contains("hosts that are allowed one by one cannot be reached") || said.is_empty();
    assert!(is_told && !said.contains("heard") && server.called() == 0, "{said} {why}");
}

#[test]
fn a_missing_resolv_conf_is_a_gap_where_hosts_are_allowed() {
    const GAP: &str = "hosts that are allowed one by one can be reached by address, and not by name";
    let (bench, server) = (RelayFixture::new(RelayUser::Oneself), CountingServer::start());
    let port = server.port;
    let host = format!("--host 127.0.0.1:{port}");
    let connects = format!("print(ask('127.0.0.1', {port}))");
    let (said, why) = bench.run(&host, &connects);
    assert!(said == "heard 5" && !why.contains(GAP), "{said} {why}");
    let namespaces = if rustix::process::geteuid().is_root() { "-m" } else { "-Urm" };
    let run = |flags: &str, script: &str| {
        let line = format!(
            r#"mkdir -p ../etc && cd /etc && cp -a passwd group hosts nsswitch.conf ld.so.cache "$OLDPWD/../etc" 2>/dev/null
            cd "$OLDPWD" && mount --bind ../etc /etc && exec ../toolgate sandbox --explain {flags} -- python3 -c "$0""#
        );
        let out = Command::new("unshare")
            .args([namespaces, "/bin/sh", "-c", &line, &format!("{ASK}{script}")])
            .current_dir(bench.path("ws"))
            .env_clear()
            .envs([
                ("HOME", bench.directory.path().as_os_str()),
                ("PATH", "/usr/local/bin:/usr/bin:/bin".as_ref()),
            ])
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        (text(&out.stdout), text(&out.stderr))
    };
    let (said, why) = run(&host, &connects);
    assert!(said == "heard 5" && why.contains(GAP), "{said} {why}");
    let (said, why) = run("", "print(1)");
    assert!(said == "1" && !why.contains(GAP), "{said} {why}");
}
