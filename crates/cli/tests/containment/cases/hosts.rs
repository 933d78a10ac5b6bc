//! Cases with hosts allowed by name, and routes from there to others.

use super::HOLDS;
use crate::suite::case::{AttackCase, ExpectedOutcome, good, host, text};

/// No server listens there; an open route is enough.
const ONE: &[&str] = &["--host", "127.0.0.1:9"];
const ONE_OFF: &[&str] = &["--host", "127.0.0.1:9", "--network", "off"];
const NO_NETWORK: ExpectedOutcome =
    ExpectedOutcome::Gap("without a network namespace there is no network at all");
const RELAYED: [ExpectedOutcome; 3] = [HOLDS, NO_NETWORK, NO_NETWORK];

pub(super) const CASES: &[AttackCase] = &[
    host("3C-110", "a host: another port", "$P tcp4 127.0.0.1 $T4; $P tcp6 ::ffff:127.0.0.1 $T4").flags(ONE),
    host("3C-110b", "a host, network off: another port", "$P tcp4 127.0.0.1 $T4").flags(ONE_OFF),
    host(
        "3C-110c",
        "a host: by every address that could stand for one",
        "for n in 0 1 2 255; do for i in 0 1 2 250 255; do $P tcp4 127.64.$n.$i $T4; done; done; $P tcp4 127.0.0.1 $T4",
    )
    .flags(ONE),
    host("3C-110d", "a host: UDP", "$P udp4 127.0.0.1 $U4; $P udp4-sendmsg 127.0.0.1 $U4")
        .flags(&["--host", "127.0.0.1"]),
    host("3C-110e", "a host: TCP with data first", "$P tfo 127.0.0.1 $T4").flags(ONE),
    host("3C-110f", "a host: TCP by io_uring", "$P uring-connect 127.0.0.1 $T4").flags(ONE),
    host("3C-110g", "a host: MPTCP to another port", "$P mptcp 127.0.0.1 $T4").flags(ONE),
    host("3C-110h", "a host: its connection let go and made anew", ANEW).flags(ONE),
    text("3C-110i", "a host, network off: a loopback of its own", "echoed", OWN).flags(ONE_OFF),
    good("3C-111", "--host lets it", "LET", "$P tcp4 127.0.0.1 $T4")
        .flags(&["--host", "127.0.0.1:$T4"])
        .expect(RELAYED),
    good("3C-111b", "--host lets it, network off", "LET", "$P tcp4 127.0.0.1 $T4")
        .flags(&["--host", "localhost:$T4", "--network", "off"])
        .expect(RELAYED),
    good("3C-111c", "--host leaves a loopback of its own", "echoed", OWN).flags(ONE).expect(RELAYED),
];

const ANEW: &str = "python3 -c 'import socket as s, ctypes as c, sys
a = s.socket()
try: a.connect((\"127.0.0.1\", 9))
except OSError: a = s.socket()
c.CDLL(None).connect(a.fileno(), bytes(16), 16)
a.connect((\"127.0.0.1\", int(sys.argv[1])))' $T4";
const OWN: &str = "python3 -c 'import socket as s
l = s.create_server((\"127.0.0.1\", 0)); c = s.create_connection(l.getsockname()); a = l.accept()[0]
c.send(b\"echoed\"); print(a.recv(9))'";
