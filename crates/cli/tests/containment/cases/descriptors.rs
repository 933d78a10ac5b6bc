//! Cases with inherited descriptors, and with descriptors that other processes pass in.

use super::PATHS;
use crate::suite::case::{AttackCase, BreachSign, ExpectedOutcome, call, good, host};

const LENT: ExpectedOutcome =
    ExpectedOutcome::Gap("standard input is lent as it is: what is open on the host stays so");

/// Nothing runs with a descriptor that leads out of the cell.
const REFUSES: [ExpectedOutcome; 3] = [ExpectedOutcome::Refuses; 3];

pub(super) const CASES: &[AttackCase] = &[
    host("3A-21", "an inherited directory", "echo x > /proc/self/fd/9/new").wrap("exec 9<$OUT; exec \"$@\""),
    host("3A-21b", "an inherited directory, by openat", "$P openat 9 new").wrap("exec 9<$OUT; exec \"$@\""),
    host("3A-21c", "an inherited directory with a high number", "echo x > /proc/self/fd/200/new")
        .wrap("exec 200<$OUT; exec \"$@\""),
    host("3A-22", "an inherited file", "echo x >&8").wrap("exec 8>>$OUT/v; exec \"$@\""),
    host("3A-22b", "an inherited file, opened again to write", "echo x > /proc/self/fd/8")
        .wrap("exec 8<$OUT/v; exec \"$@\""),
    host(
        "3A-22c",
        "an inherited file of the sandbox's first process",
        in_sight!("for p; do [ \"$(readlink $p/fd/8)\" = $OUT/v ] && echo x > $p/fd/8; done"),
    )
    .wrap("exec 8>>$OUT/v; exec \"$@\""),
    host("3A-22d", "an inherited pipe", "echo LEAK >&8; echo done")
        .wrap("exec 8>&1; exec \"$@\"")
        .sees(BreachSign::Text("LEAK"))
        .works("done"),
    host("3A-22e", "standard input, opened again to write", "echo x > /proc/self/fd/0")
        .wrap("exec <$OUT/v; exec \"$@\"")
        .expect(PATHS),
    host("3A-22f", "standard input is a directory", "echo x > /proc/self/fd/0/new")
        .wrap("exec <$OUT; exec \"$@\"")
        .expect(REFUSES),
    host("3A-22g", "standard input is a directory, by openat", "$P openat 0 new")
        .wrap("exec <$OUT; exec \"$@\"")
        .expect(REFUSES),
    host("3A-22h", "standard input is a directory, by fchdir and ..", "$P openat-dots 0 ../out/new")
        .wrap("exec <$OUT; exec \"$@\"")
        .expect(REFUSES),
    host("3A-22i", "the mode of standard input", "$P fchmod 0 511")
        .wrap("exec <$OUT/v; exec \"$@\"")
        .expect([LENT, LENT, LENT]),
    host("3A-22j", "an attribute of standard input", "$P fsetxattr 0")
        .wrap("exec <$OUT/v; exec \"$@\"")
        .expect([LENT, LENT, LENT]),
    host("3A-22k", "a directory below standard input, its mode", "$P chmod /proc/self/fd/0/v 511")
        .wrap("exec <$OUT; exec \"$@\"")
        .expect(REFUSES),
    host("3A-22l", "sendfile to an inherited file", "$P send-file 8 w").wrap("exec 8<>$OUT/v; exec \"$@\""),
    host("3C-93", "an inherited connection", "$P inherited-socket 7 && echo SENT")
        .wrap("exec 7<>/dev/udp/127.0.0.1/$U4; exec \"$@\""),
    host("3C-92", "a directory from a helper outside, by SCM_RIGHTS", "$P portal $WS/portal.sock"),
    host(
        "3C-92b",
        "the same, while /tmp has the socket",
        "ln portal.sock /tmp/p; $P portal $WS/portal.sock; rm -f /tmp/p",
    ),
    call(
        "3D-106",
        "descriptors of the first process",
        "for f in /proc/1/fd/*; do readlink $f && echo LET; done",
    )
    .control("readlink /proc/$$/fd/0 && echo LET"),
    good("3A-22z", "standard input is read", "victim", "cat").wrap("exec <$OUT/v; exec \"$@\""),
];
