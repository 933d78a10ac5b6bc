//! Cases with Unix sockets: of the host, of its other programs, and of the sandbox itself.

use super::{HOLDS, PATHLESS};
use crate::suite::case::{AttackCase, ExpectedOutcome, call, good, host};

const ON: &[&str] = &["--network", "on"];
const NAMED: &[&str] = &["--unix-socket", "$OUT/s.sock"];
/// A process of Toolgate's decides about each connection, in every tier.
const ALL: [ExpectedOutcome; 3] = [HOLDS; 3];
const NO_TMP: ExpectedOutcome =
    ExpectedOutcome::Gap("without a mount namespace there is no private /tmp; TMPDIR is elsewhere");

pub(super) const CASES: &[AttackCase] = &[
    host("3C-81", "a stream socket outside", "$P stream $OUT/s.sock").expect(ALL),
    host("3C-81b", "a stream socket outside, by ..", "$P stream ../out/s.sock").expect(ALL),
    host("3C-81c", "a stream socket outside, from its directory", "cd $OUT; $P stream s.sock").expect(ALL),
    host("3C-81d", "a stream socket outside, by a link", "ln -s $OUT/s.sock l; $P stream $WS/l").expect(ALL),
    host("3C-81e", "a stream socket outside, by a linked directory", "ln -s $OUT l; $P stream $WS/l/s.sock")
        .expect(ALL),
    host("3C-81f", "a stream socket outside, by /proc/self/root", "$P stream /proc/self/root$OUT/s.sock")
        .expect(ALL),
    host("3C-81g", "a stream socket outside, by /proc/self/cwd", "$P stream /proc/self/cwd/../out/s.sock")
        .expect(ALL),
    host("3C-81h", "a stream socket outside, by a descriptor", "$P stream-fd $OUT/s.sock").expect(ALL),
    host("3C-81i", "a stream socket outside, by a new hard link", "ln $OUT/s.sock l; $P stream $WS/l")
        .expect([HOLDS, HOLDS, PATHLESS]),
    host("3C-81j", "a stream socket outside, by a hard link that was there", "$P stream $WS/l")
        .setup("ln $OUT/s.sock $WS/l")
        .expect(ALL),
    host("3C-81k", "a stream socket outside, moved in", "mv $OUT/s.sock l; $P stream $WS/l")
        .expect([HOLDS, HOLDS, PATHLESS]),
    host("3C-81l", "a stream socket outside, by a name that changes", RACE)
        .control("$P stream $OUT/s.sock")
        .expect(ALL),
    host("3C-81m", "a stream socket outside, by a link that changes", LINK_RACE)
        .control("$P stream $OUT/s.sock")
        .expect(ALL),
    host("3C-81n", "a stream socket outside, by a directory of another process", OTHER).expect(ALL),
    host("3C-81o", "a stream socket outside, the root's way", "cd /; $P stream .$OUT/s.sock").expect(ALL),
    host("3C-81p", "a stream socket outside, with slashes and dots", "$P stream //$OUT/./d/../s.sock")
        .expect(ALL),
    host("3C-81q", "a stream socket outside, by a family that changes", "$P family-race $OUT/s.sock 16")
        .control("$P stream $OUT/s.sock")
        .expect(ALL),
    host("3C-81r", "the same, by a name that is an address too", "ln -s $OUT/s.sock l; $P family-race l 2")
        .control("$P stream $OUT/s.sock")
        .expect(ALL),
    host(
        "3C-81s",
        "the same, by a name that is an address of IPv6 too",
        "ln -s $OUT/s.sock l; $P family-race l 10",
    )
    .control("$P stream $OUT/s.sock")
    .expect(ALL),
    host("3C-81t", "a stream socket in a cache at home", "$P stream $H/.cache/s.sock").expect(ALL),
    host("3C-81u", "a stream socket of the host in the workspace", "$P stream $WS/host.sock").expect(ALL),
    host(
        "3C-81x",
        "the same, by a name that it is moved to",
        "mv host.sock m; $P stream $WS/m; mv m host.sock",
    )
    .expect(ALL),
    host("3C-81y", "the same, after a socket of one's own had its name", OUSTED)
        .control("$P stream $WS/host.sock")
        .expect(ALL),
    host("3C-81z", "the same, by a new hard link", "ln host.sock h; $P stream $WS/h; rm h").expect(ALL),
    host(
        "3C-81v",
        "a stream socket in the host's /tmp, by the first process's directory",
        "$P stream /proc/self/cwd/$N.s",
    )
    .flags(&["--cwd", "$WS"])
    .wrap("cd /tmp; exec \"$@\"")
    .control("$P stream /tmp/$N.s")
    .expect(ALL),
    host(
        "3C-81w",
        "a stream socket by the first process's descriptors",
        "for i in $(seq 3 30); do $P stream /proc/self/fd/$i; $P stream \
        /proc/self/fd/$i/s.sock; done",
    )
    .control("$P stream $OUT/s.sock")
    .expect(ALL),
    host("3C-82", "a stream socket in the host's /tmp", "$P stream /tmp/$N.s").expect(ALL),
    host("3C-82b", "a stream socket in the host's /run", "$P stream /run/$N.s").expect(ALL),
    host("3C-82c", "a stream socket in the host's /var/run", "$P stream /var/run/$N.s").expect(ALL),
    host("3C-82d", "an abstract stream socket", "$P abstract $ABS").expect(ALL),
    host("3C-82e", "an abstract datagram socket", "$P abstract-dgram $ABS.d").expect(ALL),
    host(
        "3C-82f",
        "sockets in the host's /tmp, by any process's root",
        in_sight!("for p; do $P stream $p/root/tmp/$N.s && break; done"),
    )
    .expect(ALL),
    host("3C-83", "a datagram", "$P dgram $OUT/d.sock").expect(ALL),
    host("3C-83b", "a datagram by sendmsg", "$P dgram-sendmsg $OUT/d.sock").expect(ALL),
    host("3C-83c", "a datagram by sendmmsg", "$P dgram-sendmmsg $OUT/d.sock").expect(ALL),
    host("3C-83d", "a datagram in the host's /tmp", "$P dgram /tmp/$N.d").expect(ALL),
    host("3C-83e", "a datagram by the type that is called raw", "$P dgram-raw $OUT/d.sock").expect(ALL),
    host("3C-83f", "a datagram by numbers with high bits", "$P dgram-high $OUT/d.sock").expect(ALL),
    call("3C-83g", "a datagram socket, connected", "$P dgram-connect $OUT/d.sock").expect(ALL),
    host("3C-83h", "a datagram in the host's /run", "$P dgram /run/$N.d").expect(ALL),
    host("3C-84", "a pair of datagram sockets, sent elsewhere", "$P pair-dgram $OUT/d.sock").expect(ALL),
    host("3C-84b", "a pair of the type that is called raw", "$P pair-raw $OUT/d.sock").expect(ALL),
    host("3C-85", "network on: a stream socket outside", "$P stream $OUT/s.sock").flags(ON).expect(ALL),
    host("3C-85b", "network on: a datagram", "$P dgram $OUT/d.sock").flags(ON).expect(ALL),
    host("3C-85c", "network on: a socket in /tmp", "$P stream /tmp/$N.s").flags(ON).expect(ALL),
    host("3C-85d", "network on: an abstract socket", "$P abstract $ABS").flags(ON).expect(ALL),
    host("3C-85e", "network on: an abstract datagram", "$P abstract-dgram $ABS.d").flags(ON).expect(ALL),
    host("3C-85f", "network on: a socket in /run", "$P stream /run/$N.s").flags(ON).expect(ALL),
    host("3C-85g", "network on: a pair of datagram sockets", "$P pair-dgram $OUT/d.sock")
        .flags(ON)
        .expect(ALL),
    host("3C-85i", "network on: a socket of the host in the workspace", "$P stream $WS/host.sock")
        .flags(ON)
        .expect(ALL),
    host("3C-85h", "network off: a stream socket outside", "$P stream $OUT/s.sock")
        .flags(&["--network", "off"])
        .expect(ALL),
    host("3C-86", "--unix-socket names another one", "$P stream /tmp/$N.s; $P dgram $OUT/d.sock")
        .flags(NAMED)
        .expect(ALL),
    host("3C-86b", "--unix-socket names an abstract one: the datagram beside it", "$P abstract-dgram $ABS.d")
        .flags(&["--unix-socket", "@$ABS"])
        .expect(ALL),
    host("3C-86c", "read-only mode: a stream socket in the workspace", "$P stream $WS/host.sock")
        .flags(&["--mode", "read-only"])
        .expect(ALL),
    call(
        "3C-86d",
        "the bus and the keys of the user",
        "echo $SSH_AUTH_SOCK $DBUS_SESSION_BUS_ADDRESS | grep -q . && echo LET",
    ),
    good("3C-87", "--unix-socket lets it", "LET", "$P stream $OUT/s.sock").flags(NAMED).expect(ALL),
    good("3C-87e", "--unix-socket by another spelling lets it", "LET", "$P stream $WS/o/s.sock")
        .flags(&["--unix-socket", "$WS/o/s.sock"])
        .setup("ln -s $OUT o")
        .expect(ALL),
    good("3C-87f", "--unix-socket in /run lets it", "LET", "$P stream /run/$N.s")
        .flags(&["--unix-socket", "/run/$N.s"])
        .expect(ALL),
    good("3C-87h", "--unix-socket in /var/run lets it", "LET", "$P stream /var/run/$N.s")
        .flags(&["--unix-socket", "/var/run/$N.s"])
        .expect(ALL),
    good("3C-87g", "--unix-socket of an abstract name, network on", "LET", "$P abstract $ABS")
        .flags(&["--unix-socket", "@$ABS", "--network", "on"])
        .expect(ALL),
    good("3C-87b", "sockets of its own in the workspace", "echoed", OWN),
    good("3C-87i", "network on: sockets of its own in the workspace", "echoed", OWN).flags(ON).expect(ALL),
    good("3C-87j", "a socket of another command's in the workspace", "echoed", OTHERS).expect(ALL),
    good("3C-87k", "a socket without a listener", "refused", DEAD).expect(ALL),
    good("3C-87c", "sockets of its own in /tmp", "echoed", OWN_TMP).expect([HOLDS, NO_TMP, HOLDS]),
    good(
        "3C-87d",
        "pairs of stream sockets",
        "pair",
        "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"pair\"); \
        print(b.recv(9))'",
    ),
];

const RACE: &str = "mkdir 1; ln -s $OUT 2; python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(\"1/s.sock\"); s.listen(9999); time.sleep(3)' & \
    for i in $(seq 50); do [ -e 1/s.sock ] && break; sleep 0.02; done; $P stream-race $WS/1/s.sock $WS/2/s.sock; kill $!";
const LINK_RACE: &str = "python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(\"good.sock\"); s.listen(999); time.sleep(3)' & a=$!; \
    (for i in $(seq 300); do ln -sfn $WS/good.sock l; ln -sfn $OUT/s.sock l; done) & \
    for i in $(seq 100); do $P stream $WS/l; done; kill $a; wait";
/// Its working directory is outside, and the name is short.
const OTHER: &str = "(cd $OUT; sleep 1) & p=$!; $P stream /proc/$p/cwd/s.sock; kill $p";
const OWN: &str = "python3 -c 'import socket as s
l = s.socket(s.AF_UNIX); l.bind(\"own.sock\"); \
        l.listen(); c = s.socket(s.AF_UNIX); c.connect(\"own.sock\"); a = \
        l.accept()[0]
c.send(b\"echoed\"); print(a.recv(9))'";
/// A socket of its own is bound and removed, so that its inode number may be reused.
const OUSTED: &str = "python3 -c 'import socket, os
s = socket.socket(socket.AF_UNIX); s.bind(\"o\"); s.listen(); os.unlink(\"o\"); os.link(\"host.sock\", \"o\")
c = socket.socket(socket.AF_UNIX)
try: c.connect(\"o\"); print(\"LET\")
finally: os.unlink(\"o\")'";
const OTHERS: &str = "python3 -c 'import socket
l = socket.socket(socket.AF_UNIX); l.bind(\"s.sock\"); l.listen(); l.accept()[0].send(b\"echoed\")' & \
    for i in $(seq 200); do [ -e s.sock ] && break; sleep 0.02; done; \
    python3 -c 'import socket, time
for i in range(200):
    c = socket.socket(socket.AF_UNIX)
    try: c.connect(\"s.sock\"); break
    except ConnectionRefusedError: time.sleep(0.02)
print(c.recv(9))'; wait";
const DEAD: &str = "python3 -c 'import socket as s
l = s.socket(s.AF_UNIX); l.bind(\"dead.sock\"); l.listen(); l.close(); c = s.socket(s.AF_UNIX)
try: c.connect(\"dead.sock\")
except ConnectionRefusedError: print(\"refused\")'";
const OWN_TMP: &str = "python3 -c 'import socket as s, os
n = \"/tmp/own-%d\" % os.getpid()
l = \
        s.socket(s.AF_UNIX); l.bind(n); l.listen(); c = s.socket(s.AF_UNIX); c.connect(n); a \
        = l.accept()[0]
os.unlink(n); c.send(b\"echoed\"); print(a.recv(9))'";
