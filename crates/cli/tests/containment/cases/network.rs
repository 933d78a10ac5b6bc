//! Cases that open network connections or sockets: TCP, UDP, raw, netlink and every other family.

use super::{HOLDS, PATHLESS};
use crate::suite::case::{AttackCase, ExpectedOutcome, call, good, host, text};

const ON: &[&str] = &["--network", "on"];
const OFF: &[&str] = &["--network", "off"];
const NO_LOOPBACK: ExpectedOutcome =
    ExpectedOutcome::Gap("without a network namespace there is no network at all");
const LOOPBACK: [ExpectedOutcome; 3] = [HOLDS, NO_LOOPBACK, NO_LOOPBACK];

pub(super) const CASES: &[AttackCase] = &[
    host("3C-68", "TCP to the host", "$P tcp4 127.0.0.1 $T4"),
    host("3C-68b", "TCP to the host by any of its addresses", "$P tcp4 0.0.0.0 $T4; $P tcp4 127.1.2.3 $T4"),
    host("3C-69", "TCP to the host, IPv6", "$P tcp6 ::1 $T6"),
    host("3C-69b", "TCP to the host, IPv4 in IPv6", "$P tcp6 ::ffff:127.0.0.1 $T4"),
    host("3C-70", "/dev/tcp", "echo > /dev/tcp/127.0.0.1/$T4"),
    host("3C-70b", "/dev/udp", "echo > /dev/udp/127.0.0.1/$U4"),
    host("3C-71", "MPTCP", "$P mptcp 127.0.0.1 $T4"),
    call("3C-71b", "SCTP", "$P sctp").expect([
        ExpectedOutcome::Gap("a private network namespace lets it talk to itself"),
        HOLDS,
        HOLDS,
    ]),
    host("3C-72", "UDP to the host", "$P udp4 127.0.0.1 $U4"),
    host("3C-72b", "UDP to the host, IPv6", "$P udp6 ::1 $U6"),
    host("3C-72c", "UDP to the host by sendmsg", "$P udp4-sendmsg 127.0.0.1 $U4"),
    call("3C-74", "a packet to a name server", "$P udp4 192.0.2.1 53"),
    call(
        "3C-74b",
        "a packet to the gateway",
        "$P udp4 $(ip -4 route show default 2>/dev/null | cut -d' ' -f3 | head -1) 9",
    ),
    host("3C-75", "TCP with data first", "$P tfo 127.0.0.1 $T4"),
    call("3C-76", "a raw socket", "$P raw"),
    call("3C-76b", "a ping socket", "$P ping"),
    call("3C-76c", "a packet socket", "$P socket 17 3 768"),
    call("3C-76d", "a packet socket for datagrams", "$P socket 17 2 768"),
    good("3C-77", "netlink: routes are shown", "LET", "$P netlink 0"),
    call("3C-78", "netlink: audit", "$P netlink 9"),
    call("3C-78b", "netlink: netfilter", "$P netlink 12"),
    call("3C-78c", "netlink: uevents", "$P netlink 15"),
    call("3C-78d", "netlink: generic", "$P netlink 16"),
    call(
        "3C-78e",
        "netlink: every other",
        "for n in 1 2 3 4 5 6 7 8 10 11 13 14 17 18 19 20 21 22; do $P netlink $n; done",
    ),
    call("3C-79", "vsock", "$P vsock"),
    call("3C-80", "the kernel's ciphers", "$P socket 38 5 0"),
    call("3C-80b", "bluetooth", "$P socket 31 3 1"),
    call("3C-80c", "every other family", "$P families"),
    call("3C-80d", "a family with a high bit", "$P high"),
    call(
        "3C-80e",
        "TIPC, KCM, XDP, SMC, RDS, CAN",
        "for f in 30 41 44 43 21 29; do for t in 1 2 3 5; do $P socket $f $t 0; done; done",
    ),
    host("3C-89", "TCP to the host by io_uring", "$P uring-connect 127.0.0.1 $T4"),
    call("3C-90", "a socket by the gate of i386", "$P int80 socket"),
    call("3C-90b", "a harmless call by the gate of i386", "$P int80 getpid"),
    call("3C-91", "a socket by x32", "$P x32"),
    good("3C-95", "a loopback of its own", "echoed", SERVER).expect(LOOPBACK),
    good("3C-95b", "a loopback of its own, IPv6", "echoed", SERVER6).expect(LOOPBACK),
    good("3C-95c", "UDP on a loopback of its own", "echoed", UDP).expect(LOOPBACK),
    host("3C-98", "network off: TCP to the host", "$P tcp4 127.0.0.1 $T4").flags(OFF),
    text("3C-98b", "network off: a loopback of its own", "echoed", SERVER).flags(OFF),
    text("3C-98c", "network off: a loopback of its own, IPv6", "echoed", SERVER6).flags(OFF),
    text("3C-98d", "network off: interfaces", "eth", "cat /proc/net/dev; ls /sys/class/net")
        .flags(OFF)
        .expect([
            ExpectedOutcome::Gap("/sys shows the host's interfaces by name"),
            super::NO_NAMESPACES,
            PATHLESS,
        ]),
    good("3C-99", "network on: TCP", "LET", "$P tcp4 127.0.0.1 22 || $P socket 2 1 0").flags(ON),
    call("3C-99b", "network on: a packet socket", "$P socket 17 3 768").flags(ON),
    call("3C-99c", "network on: a raw socket", "$P raw").flags(ON),
    call("3C-99d", "network on: vsock", "$P vsock").flags(ON),
    call(
        "3C-99e",
        "network on: a link is made",
        "ip link add $N type dummy 2>/dev/null && ip link del $N && echo LET",
    )
    .flags(ON),
    call("3C-99f", "network on: every other family", "$P families").flags(ON),
    call("3C-99g", "network on: netlink of netfilter", "$P netlink 12").flags(ON),
    call("3C-99h", "network on: io_uring", "$P uring").flags(ON),
    call("3C-99i", "network on: a socket by the gate of i386", "$P int80 socket").flags(ON),
    text(
        "3C-100",
        "the host's connections by /proc/net",
        "SEEN",
        "grep -qi \":$(printf %04X $T4) \" /proc/net/tcp && echo SEEN",
    )
    .expect([HOLDS, super::NO_NAMESPACES, PATHLESS]),
    text("3C-100b", "the host's unix sockets by /proc/net", "SEEN", "grep -q $N /proc/net/unix && echo SEEN")
        .expect([HOLDS, super::NO_NAMESPACES, PATHLESS]),
];

const SERVER: &str = "python3 -c 'import socket as s
l = s.create_server((\"127.0.0.1\", 0)); c = \
        s.create_connection(l.getsockname()); a = l.accept()[0]
c.send(b\"echoed\"); \
        print(a.recv(9))'";
const SERVER6: &str = "python3 -c 'import socket as s
l = s.create_server((\"::1\", 0), family=s.AF_INET6); \
        c = s.create_connection(l.getsockname()[:2]); a = l.accept()[0]
c.send(b\"echoed\"); \
        print(a.recv(9))'";
const UDP: &str = "python3 -c 'import socket as s
a = s.socket(type=s.SOCK_DGRAM); \
        a.bind((\"127.0.0.1\", 0)); b = s.socket(type=s.SOCK_DGRAM)
b.sendto(b\"echoed\", \
        a.getsockname()); print(a.recv(9))'";
