//! Cases about processes that outlive the call, resource limits, and the end of a call.

use super::HOLDS;
use crate::suite::case::{AttackCase, BreachSign, ExpectedOutcome, good, host};

/// A process that holds the lock and is short-lived, even unconfined.
macro_rules! holder {
    ($before:literal, $after:literal) => {
        concat!($before, "bash -c 'exec 9>", "'$WS'", "/lock; flock 9; sleep 4'", $after, "\n", UNTIL!())
    };
}
macro_rules! UNTIL {
    () => {
        "for i in $(seq 100); do flock -n lock true || break; sleep 0.02; done"
    };
}

pub(super) const CASES: &[AttackCase] = &[
    survivor("3E-131", "a process in the background", holder!("", " &")),
    survivor("3E-131b", "one in a session of its own", holder!("setsid ", " &")),
    survivor("3E-131c", "one that was forked twice", holder!("(setsid ", " < /dev/null > /dev/null 2>&1 &)")),
    survivor("3E-131d", "one that a hangup does not end", holder!("nohup ", " > /dev/null 2>&1 &")),
    survivor(
        "3E-132",
        "one that ignores every signal it can",
        holder!("trap '' TERM INT HUP QUIT; setsid ", " &"),
    ),
    survivor(
        "3E-132b",
        "one that is stopped",
        concat!(
            holder!("setsid ", " &"),
            "; p=$!; setsid bash -c \"sleep 3; kill -9 -- -$p\" & kill -STOP $p"
        ),
    ),
    survivor("3E-132c", "one whose parents are gone", holder!("( ( (setsid ", " &) & ) & )")),
    survivor("3E-132d", "one after exec of the leader", concat!(holder!("setsid ", " &"), "; exec true")),
    survivor("3E-132e", "one after the leader was killed", concat!(holder!("setsid ", " &"), "; kill -9 $$")),
    survivor(
        "3E-132f",
        "one that has killed the leader's parent",
        concat!(
            holder!("setsid ", " &"),
            "; case $(cat /proc/$PPID/comm) in contain*) ;; *) kill -9 $PPID;; esac"
        ),
    )
    .control(holder!("setsid ", " &")),
    survivor(
        "3E-132g",
        "many",
        concat!("for i in $(seq 30); do setsid sleep 4 & done; ", holder!("setsid ", " &")),
    ),
    survivor("3E-129", "toolgate killed", concat!(holder!("setsid ", " &"), "; sleep 5")).signal(9),
    survivor("3E-129b", "toolgate killed, plain child", holder!("", "")).signal(9),
    survivor(
        "3E-129c",
        "toolgate terminated",
        concat!(holder!("trap '' TERM INT HUP; setsid ", " &"), "; sleep 5"),
    )
    .signal(15),
    survivor(
        "3E-129d",
        "toolgate interrupted",
        concat!(holder!("trap '' TERM INT HUP; setsid ", " &"), "; sleep 5"),
    )
    .signal(2),
    survivor(
        "3E-129e",
        "toolgate hung up",
        concat!(holder!("trap '' TERM INT HUP; setsid ", " &"), "; sleep 5"),
    )
    .signal(1),
    good(
        "3E-130",
        "orphans are reaped",
        "0 zombies",
        "for i in $(seq 50); do (sleep 0.01 &) ; done; sleep 0.3; echo $(grep -l '^State:.Z' \
        /proc/[0-9]*/status 2>/dev/null | wc -l) zombies",
    )
    .control("echo 0 zombies")
    .expect([HOLDS, NOT_ALONE, NOT_ALONE]),
    good("3E-140", "its exit code", "", "exit 7").code(7),
    good("3E-140b", "its exit code is high", "", "exit 255").code(255),
    good("3E-140c", "its exit code, of a signal", "", "kill -9 $$").control("exit 137").code(137),
    good("3E-140d", "its exit code, of a signal that dumps", "", "kill -SEGV $$")
        .control("exit 139")
        .code(139),
    good("3E-140e", "its exit code is 125", "", "exit 125").code(125),
    good(
        "3E-140f",
        "its output, though it leaves processes",
        "before",
        "echo before; setsid sleep 3 & exit 3",
    )
    .code(3),
    host("3E-122", "forks without end", "$P forks 5000; echo done")
        .sees(BreachSign::Text("LET"))
        .works("done")
        .control("echo LET done")
        .expect([ExpectedOutcome::Holds, UNLIMITED, UNLIMITED]),
    host("3E-127", "descriptors without end", "ulimit -n $(ulimit -Hn); $P descriptors 2000000")
        .sees(BreachSign::Text("LET"))
        .control("echo LET"),
];

const NOT_ALONE: ExpectedOutcome = ExpectedOutcome::Not("the processes in sight are the machine's");
const UNLIMITED: ExpectedOutcome = ExpectedOutcome::Not("as many processes would slow this machine");

const fn survivor(id: &'static str, title: &'static str, run: &'static str) -> AttackCase {
    host(id, title, run).sees(BreachSign::Held)
}
