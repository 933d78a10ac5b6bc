//! `python3` workloads: packages, tests, processes of all kinds, databases, terminals.

use crate::workload::{NO_TERMINALS, Workload};

pub(crate) const ALL: &[Workload] = &[
    Workload::new("pip_install_into_a_venv", &[VENV])
        .shelf(&["wheel"])
        .before(OWN_BACKEND)
        .after(r#"is "$(v/bin/keep-tiny)" tiny; is "$(v/bin/python -c 'import own; own.here()')" here"#),
    Workload::new("pytest", &[r#"PYTHONPATH="$SHELF/pytest" python3 -m pytest -q"#])
        .shelf(&["pytest"])
        .before(PYTEST)
        .after("test -d .pytest_cache"),
    Workload::new(
        "python_unittest_and_compileall",
        &["python3 -m unittest -q test_plain; python3 -m compileall -q ."],
    )
    .before(
        r"printf 'import unittest\nclass It(unittest.TestCase):\n  def test(self): pass\n' >test_plain.py",
    )
    .after("ls __pycache__/test_plain*.pyc"),
    Workload::new("python_multiprocessing", &["for how in fork spawn; do python3 m.py $how; done"])
        .before(MANY),
    Workload::new("python_asyncio", &["python3 a.py"]).before(ASYNCIO),
    Workload::new("python_sqlite_with_many_writers", &["python3 s.py"]).before(SQLITE).after(
        r#"is "$(python3 - <<'END'
import sqlite3
d = sqlite3.connect("d.db")
print(*d.execute("pragma integrity_check").fetchone(), *d.execute("select count(*) from t").fetchone())
END
)" 'ok 80'"#,
    ),
    Workload::new(
        "sqlite_program",
        &[r#"sqlite3 d.db 'pragma journal_mode=wal; create table t(x); insert into t values (1), (2);'
          is "$(sqlite3 d.db 'select sum(x) from t')" 3"#],
    )
    .programs(&["sqlite3"])
    .after(r#"is "$(sqlite3 d.db 'pragma integrity_check; select count(*) from t')" $'ok\n2'"#),
    Workload::new("python_terminals", &["python3 p.py"]).before(TERMINALS).namespaces(NO_TERMINALS),
    Workload::new("python_sockets_and_descriptors", &["python3 u.py"]).before(SOCKETS),
    Workload::new("abstract_unix_sockets", &["python3 h.py"])
        .before(ABSTRACT)
        .namespaces("abstract sockets are everybody's without namespaces"),
    Workload::new("python_system_calls", &["python3 k.py"]).before(KERNEL),
];

/// Uses the installed `pip`: unpacking another takes longer than all the rest.
const VENV: &str = r#"if python3 -c 'import pip' 2>/dev/null
then python3 -m venv --without-pip --system-site-packages v
else python3 -m venv v
fi
. v/bin/activate; python -m pip install -q --no-index "$SHELF"/wheel/*.whl ./project
is "$(keep-tiny)" tiny; is "$(python -c 'import own; own.here()')" here"#;

/// A project that is its own build backend: nothing has to be fetched.
const OWN_BACKEND: &str = r#"mkdir project; cd project
printf '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "own"\nversion = "1"\n' >pyproject.toml
echo 'def here(): print("here")' >own.py
cat >backend.py <<'END'
import zipfile
def build_wheel(directory, *_, **__):
    with zipfile.ZipFile(directory + "/own-1-py3-none-any.whl", "w") as wheel:
        wheel.write("own.py")
        wheel.writestr("own-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: own\nVersion: 1\n")
        wheel.writestr("own-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("own-1.dist-info/RECORD", "")
    return "own-1-py3-none-any.whl"
END"#;

const PYTEST: &str = r#"cat >test_it.py <<'END'
import os, subprocess, sys
def test_tmp(tmp_path):
    (tmp_path / "x").write_text("x")
def test_subprocess(capfd):
    subprocess.run(["sh", "-c", "echo out; echo err >&2"], check=True)
    assert capfd.readouterr() == ("out\n", "err\n")
def test_monkeypatch(monkeypatch):
    monkeypatch.setenv("X", "1")
    assert subprocess.check_output([sys.executable, "-c", "import os; print(os.environ['X'])"]) == b"1\n"
END"#;

const MANY: &str = r#"cat >m.py <<'END'
import concurrent.futures, multiprocessing, sys
from multiprocessing import shared_memory
def square(x): return x * x
def fill(queue, lock, value, name):
    with lock: value.value += 1
    block = shared_memory.SharedMemory(name)
    block.buf[0] = 7
    block.close()
    queue.put("filled")
if __name__ == "__main__":
    how = multiprocessing.get_context(sys.argv[1])
    with how.Pool(2) as pool: assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
    queue, lock, value = how.Queue(), how.Lock(), how.Value("i", 0)
    block = shared_memory.SharedMemory(create=True, size=16)
    child = how.Process(target=fill, args=(queue, lock, value, block.name))
    child.start()
    assert queue.get(timeout=30) == "filled"
    child.join(30)
    assert (value.value, block.buf[0], child.exitcode) == (1, 7, 0)
    block.close(); block.unlink()
    if sys.argv[1] == "fork":
        with how.Manager() as manager:
            table = manager.dict()
            children = [how.Process(target=table.update, args=({i: i},)) for i in range(2)]
            for child in children: child.start()
            for child in children: child.join(30)
            assert dict(table) == {0: 0, 1: 1}
        with concurrent.futures.ProcessPoolExecutor(2) as pool: assert list(pool.map(square, [3])) == [9]
        with concurrent.futures.ThreadPoolExecutor(2) as pool: assert list(pool.map(square, [3])) == [9]
END"#;

const ASYNCIO: &str = r#"cat >a.py <<'END'
import asyncio, os, signal
async def serve(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()
async def main():
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    assert (await child.communicate(b"x"))[0] == b"x"
    child = await asyncio.create_subprocess_shell("exit 3")
    assert await child.wait() == 3
    server = await asyncio.start_unix_server(serve, "a.sock")
    reader, writer = await asyncio.open_unix_connection("a.sock")
    writer.write(b"hello\n")
    assert await reader.readline() == b"HELLO\n"
    writer.close(); server.close()
    got = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, got.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(got.wait(), 10)
    assert await asyncio.to_thread(lambda: 1) == 1
    child = await asyncio.create_subprocess_exec("sleep", "100", start_new_session=True)
    os.killpg(child.pid, signal.SIGTERM)
    assert await child.wait() == -signal.SIGTERM
asyncio.run(main())
os.unlink("a.sock")
END"#;

const SQLITE: &str = r#"cat >s.py <<'END'
import multiprocessing, sqlite3
def write(who):
    db = sqlite3.connect("d.db", timeout=30)
    for i in range(20):
        with db: db.execute("insert into t values (?, ?)", (who, i))
db = sqlite3.connect("d.db")
assert db.execute("pragma journal_mode=wal").fetchone() == ("wal",)
db.execute("create table t(who, i)"); db.close()
children = [multiprocessing.Process(target=write, args=(who,)) for who in range(4)]
for child in children: child.start()
for child in children: child.join(); assert child.exitcode == 0
END"#;

const TERMINALS: &str = r#"cat >p.py <<'END'
import os, pty, sys, termios
child, master = pty.fork()
if child == 0:
    script = "test -t 0 && tty >/dev/null && echo asks >/dev/tty && read -r x && echo \"got $x\" && stty size"
    os.execvp("bash", ["bash", "--norc", "-c", script])
said = b""
os.write(master, b"an answer\n")
while True:
    try: new = os.read(master, 1024)
    except OSError: break
    if not new: break
    said += new
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, said
assert b"asks" in said and b"got an answer" in said, said
master, slave = os.openpty()
assert os.isatty(slave) and os.ttyname(slave).startswith("/dev/pts/")
with open(os.ttyname(slave), "w") as tty: tty.write("x")
termios.tcgetattr(slave)
END"#;

const SOCKETS: &str = r#"cat >u.py <<'END'
import os, select, socket, struct
left, right = socket.socketpair()
left.send(b"x"); assert right.recv(1) == b"x"
socket.send_fds(left, [b"f"], [0]); assert len(socket.recv_fds(right, 1, 1)[1]) == 1
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
a.send(b"x"); assert b.recv(1) == b"x"
server = socket.socket(socket.AF_UNIX); server.bind("u.sock"); server.listen()
client = socket.socket(socket.AF_UNIX); client.connect("u.sock"); client.sendall(b"hi")
peer = server.accept()[0]; assert peer.recv(2) == b"hi"
pid, uid, gid = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
assert (uid, gid) == (os.getuid(), os.getgid()), (uid, gid)
client.setblocking(False)
try: client.recv(1)
except BlockingIOError: pass
client.shutdown(socket.SHUT_WR); client.getpeername(); client.getsockname()
os.unlink("u.sock")
try: socket.socket(socket.AF_UNIX).connect("none.sock")
except FileNotFoundError: pass
slow = socket.socket(socket.AF_UNIX); slow.bind("slow.sock"); slow.listen(1); slow.settimeout(10)
clients = [socket.socket(socket.AF_UNIX) for _ in range(2)]
for one in clients: one.connect("slow.sock")
slow.accept(); slow.accept()
os.unlink("slow.sock")
epoll = select.epoll(); epoll.register(left); poll = select.poll(); poll.register(right); poll.poll(0)
END"#;

const ABSTRACT: &str = r#"cat >h.py <<'END'
import os, socket
hidden = socket.socket(socket.AF_UNIX); hidden.bind("\0keep-%d" % os.getpid()); hidden.listen()
socket.socket(socket.AF_UNIX).connect("\0keep-%d" % os.getpid())
END"#;

const KERNEL: &str = r#"cat >k.py <<'END'
import ctypes, fcntl, mmap, os, resource, select, signal, ssl, subprocess, tempfile, uuid
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
assert watch >= 0 and libc.inotify_add_watch(watch, b".", 0x100) >= 0, os.strerror(ctypes.get_errno())
open("seen", "w").write("seen")
assert select.select([watch], [], [], 10)[0] and b"seen" in os.read(watch, 4096)
memory = os.memfd_create("m")
os.write(memory, open("/bin/echo", "rb").read())
run = subprocess.check_output([f"/proc/self/fd/{memory}", "from memory"], pass_fds=[memory])
assert run == b"from memory\n"
code = mmap.mmap(-1, 4096, prot=7)
intel = os.uname().machine == "x86_64"
code.write(b"\xb8\x2a\x00\x00\x00\xc3" if intel else b"\x40\x05\x80\xd2\xc0\x03\x5f\xd6")
assert ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))() == 42
unnamed = os.open(".", os.O_TMPFILE | os.O_RDWR)
os.write(unnamed, b"x" * 4096)
assert libc.linkat(-100, f"/proc/self/fd/{unnamed}".encode(), -100, b"named", 0x400) == 0, ctypes.get_errno()
with open("named", "r+b") as file:
    shared = mmap.mmap(file.fileno(), 0); shared[0:1] = b"y"; shared.flush()
    fcntl.lockf(file, fcntl.LOCK_EX); fcntl.flock(file, fcntl.LOCK_EX)
    os.posix_fallocate(file.fileno(), 0, 8192); os.fsync(file.fileno())
seen, copy = os.open("seen", os.O_RDONLY), os.open("copy", os.O_CREAT | os.O_RDWR)
os.copy_file_range(seen, copy, 2); os.sendfile(copy, seen, 0, 4)
os.setxattr("seen", "user.keep", b"x"); assert os.getxattr("seen", "user.keep") == b"x"
os.utime("seen", (1, 1)); os.chmod("seen", 0o640); os.chown("seen", os.getuid(), os.getgid())
with tempfile.TemporaryDirectory() as d: open(d + "/x", "w").write("x")
with tempfile.TemporaryFile() as f: f.write(b"x")
os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1); os.getpriority(os.PRIO_PROCESS, 0)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.getrandom(8); os.setsid() if os.fork() == 0 else None
signal.setitimer(signal.ITIMER_REAL, 1000); assert libc.eventfd(0, 0) > 0
assert libc.prctl(15, b"keep", 0, 0, 0) == 0 and open("/proc/self/comm").read() == "keep\n"
if hasattr(os, "pidfd_open"): os.close(os.pidfd_open(os.getpid()))
ssl.create_default_context(); uuid.uuid1(); os.getlogin if os.isatty(0) else None
END"#;
