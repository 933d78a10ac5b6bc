//! Workloads of two runs, or a run and a person, in one workspace: each sees the other's locks, sockets and changes.

use crate::workload::Workload;

pub(crate) const ALL: &[Workload] = &[
    Workload::new(
        "locks_hold_between_runs",
        &["exec 8>lock; flock 8; touch held; wait_for test -e tried; flock -u 8; wait_for test -e got"],
    )
    .beside(
        r#"wait_for test -e held; fails flock -n lock true; touch tried
        wait_for flock -n lock true; touch got"#,
    ),
    Workload::new("changes_are_seen_at_once", &["python3 w.py"])
        .before(WATCH)
        .beside_a_person("wait_for test -e ready; echo x >from-outside; mkdir d; mv from-outside d/moved"),
    // Each run is its own sandbox: one reaches the socket of another by name.
    Workload::new("unix_socket_between_runs", &["python3 s.py"])
        .flags(&["--unix-socket", "$BASE/ws/w.sock"])
        .before(SERVER)
        .beside("wait_for test -S w.sock; python3 c.py w.sock"),
    Workload::new("unix_socket_of_a_run_for_a_person", &["python3 s.py"])
        .before(SERVER)
        .beside_a_person("wait_for test -S w.sock; python3 c.py w.sock"),
    Workload::new(
        "unix_socket_of_a_person_that_is_named",
        &[r#"wait_for test -S "$BASE/out/w.sock"; python3 c.py "$BASE/out/w.sock""#],
    )
    .flags(&["--unix-socket", "$BASE/out/w.sock"])
    .before(SERVER)
    .beside_a_person(r#"mkdir "$BASE/out"; cd "$BASE/out"; python3 "$WS/s.py""#),
    Workload::new("sqlite_between_runs", &["python3 q.py a; touch a; wait_for test -e b"])
        .before(DATABASE)
        .beside("python3 q.py b; touch b; wait_for test -e a")
        .after(r#"is "$(python3 count.py)" '(40,)'"#),
];

const WATCH: &str = r#"cat >w.py <<'END'
import ctypes, os, select
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(0)
assert libc.inotify_add_watch(watch, b".", 0x3c8) >= 0
open("ready", "w").close()
seen = b""
while b"from-outside" not in seen:
    assert select.select([watch], [], [], 20)[0], seen
    seen += os.read(watch, 65536)
END"#;

const SERVER: &str = r#"cat >s.py <<'END'
import os, socket
server = socket.socket(socket.AF_UNIX)
server.bind("w.new"); server.listen(); os.rename("w.new", "w.sock")
server.settimeout(20)
peer = server.accept()[0]
assert peer.recv(5) == b"hello"
peer.sendall(b"there"); peer.close(); os.unlink("w.sock")
END
cat >c.py <<'END'
import socket, sys
client = socket.socket(socket.AF_UNIX); client.settimeout(20)
client.connect(sys.argv[1]); client.sendall(b"hello")
assert client.recv(5) == b"there"
END"#;

const DATABASE: &str = r#"cat >q.py <<'END'
import sqlite3, sys
db = sqlite3.connect("d.db", timeout=30, isolation_level=None)
for i in range(20): db.execute("insert into t values (?, ?)", (sys.argv[1], i))
END
echo 'import sqlite3; print(*sqlite3.connect("d.db").execute("select count(*) from t"))' >count.py
python3 - <<'END'
import sqlite3
d = sqlite3.connect("d.db")
d.execute("pragma journal_mode=wal"); d.execute("create table t(who, i)")
END"#;
