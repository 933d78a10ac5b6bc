//! Cases against outside processes, and information about them.

use super::{HOLDS, NO_NAMESPACES, PATHLESS};
use crate::suite::case::{AttackCase, ExpectedOutcome, call, good, host, text};

const H: ExpectedOutcome = HOLDS;
/// Landlock's scoping of signals and debugging holds here.
const SCOPED: [ExpectedOutcome; 3] =
    [H, H, ExpectedOutcome::Gap("a filter of system calls does not know whose process it is")];
/// The filter blocks debuggers; without Landlock, `/proc` still has files.
const TRACED: [ExpectedOutcome; 3] = [H, H, H];
const SEEN: [ExpectedOutcome; 3] = [H, NO_NAMESPACES, PATHLESS];
/// A PID namespace or the filter holds here.
const FILTERED: [ExpectedOutcome; 3] = [H, H, H];

pub(super) const CASES: &[AttackCase] = &[
    call("3D-98", "a debugger's attachment", "$P ptrace $V").expect(TRACED),
    call("3D-98b", "a debugger's seizure", "$P ptrace-seize $V").expect(TRACED),
    call(
        "3D-98c",
        "a debugger's attachment to the first process",
        alone!("$P ptrace 1 || $P ptrace-seize 1"),
    )
    .control("$P ptrace $V")
    .expect([H, REAL_INIT, REAL_INIT]),
    good("3D-98d", "a debugger inside", "LET", "$P ptrace-self").expect([
        H,
        H,
        ExpectedOutcome::Gap("where neither namespaces nor Landlock hold it, no process traces another"),
    ]),
    text("3D-99", "the victim's memory, read", "memory-secret", "$P pvm-read $V $ADDR").expect(TRACED),
    host("3D-99b", "the victim's memory, written", "$P pvm-write $V $ADDR").expect(TRACED),
    host("3D-99c", "the victim's memory by /proc", "$P mem-write $V $ADDR").expect(SCOPED).as_root([H; 3]),
    text(
        "3D-99d",
        "the victim's memory by /proc, read",
        "memory-secret",
        "dd if=/proc/$V/mem bs=1 skip=$((ADDR)) count=16 2>/dev/null",
    )
    .expect(SCOPED)
    .as_root([H; 3]),
    call("3D-99e", "the victim's pages moved", "$P move-pages $V $ADDR").expect(FILTERED),
    call("3D-99f", "the victim's pages migrated", "$P migrate-pages $V").expect(FILTERED),
    call("3D-99g", "the victim's pages paged out", "$P madvise $V $ADDR").expect(FILTERED),
    call("3D-99h", "a mapping of the victim's", "ls /proc/$V/map_files/ | head -1 | grep -q . && echo LET")
        .expect(SCOPED)
        .as_root([H; 3]),
    text("3D-99i", "the addresses of the victim", "r-xp", "cat /proc/$V/maps").expect(SCOPED).as_root([H; 3]),
    host("3D-100", "killed", "$P kill $V").expect(SCOPED),
    host("3D-100b", "all killed, if it is its own namespace", alone!("kill -9 -1; : $V"))
        .control("$P kill $V")
        .expect([H, REAL_ROOT, REAL_ROOT]),
    host("3D-101", "killed by tgkill", "$P tgkill $V").expect(SCOPED),
    host("3D-101b", "killed by tkill", "$P tkill $V").expect(SCOPED),
    host("3D-101c", "killed by rt_sigqueueinfo", "$P sigqueue $V").expect(SCOPED),
    host("3D-101d", "killed by a pidfd", "$P pidfd-kill $V").expect(SCOPED),
    host("3D-101e", "killed by a directory of /proc", "$P procfd-kill $V").expect(SCOPED),
    host("3D-101f", "killed by the kernel's SIGIO", "$P sigio $V").expect(SCOPED),
    host("3D-101g", "killed by its group", "kill -9 -- -$V").expect(SCOPED),
    call("3D-101h", "asked whether it is there", "$P kill0 $V").expect(SCOPED),
    host("3D-102", "its limits", "$P prlimit $V").expect(FILTERED),
    host("3D-102b", "its priority", "$P setprio $V").expect(FILTERED),
    host("3D-102c", "its processors", "$P affinity $V").expect(FILTERED),
    host("3D-102d", "its scheduler", "$P scheduler $V").expect(FILTERED),
    host("3D-102e", "its scheduler by attributes", "$P sched-attr $V").expect(FILTERED),
    call("3D-102f", "its disk priority", "$P ioprio $V").expect(FILTERED),
    host("3D-102g", "its score when memory runs out", "echo 500 > /proc/$V/oom_score_adj")
        .expect([H, H, PATHLESS]),
    call("3D-102h", "its core's filter", "$P openw /proc/$V/coredump_filter").expect([H, H, PATHLESS]),
    call("3D-102i", "its pages' marks", "$P openw /proc/$V/clear_refs").expect([H, H, PATHLESS]),
    call("3D-102j", "its priority by renice", "renice -n 5 -p $V && echo LET").expect(FILTERED),
    host("3D-102k", "the priority of everything of the user", ALL_OF_USER)
        .control("$P setprio $V")
        .as_root([H, REAL_ROOT, REAL_ROOT]),
    call("3D-103", "kcmp", "$P kcmp $V").expect(FILTERED),
    call("3D-103b", "kcmp of itself", "$P kcmp $$"),
    text("3D-104", "the victim's environment", "sk-victim", "tr '\\0' '\\n' < /proc/$V/environ")
        .expect(SCOPED)
        .as_root([H; 3]),
    text(
        "3D-104b",
        "every environment in sight",
        "sk-victim",
        in_sight!("cat ${@/%//environ} | tr '\\0' '\\n'"),
    )
    .expect(SCOPED)
    .as_root([H; 3]),
    text("3D-104c", "the victim's command line", "victim", "tr '\\0' ' ' < /proc/$V/cmdline").expect(SEEN),
    call("3D-104d", "the victim's descriptors", "ls /proc/$V/fd | grep -q . && echo LET").expect(SEEN),
    call("3D-104e", "the victim's directory", "readlink /proc/$V/cwd && echo LET")
        .expect(SCOPED)
        .as_root([H; 3]),
    call("3D-104f", "the victim's program", "readlink /proc/$V/exe && echo LET")
        .expect(SCOPED)
        .as_root([H; 3]),
    call("3D-104g", "the victim's namespaces", "readlink /proc/$V/ns/mnt && echo LET")
        .expect(SCOPED)
        .as_root([H; 3]),
    call("3D-104h", "that there is a victim", "[ -e /proc/$V ] && echo LET").expect(SEEN),
    call("3D-104i", "the victim's output", "$P pidfd-getfd $V 1").expect(FILTERED),
    text(
        "3D-105",
        "the key in the first process's environment",
        "sk-host",
        in_sight!("cat ${@/%//environ} | tr '\\0' '\\n'"),
    ),
    text(
        "3D-105b",
        "the token in any thread's environment",
        "token-host",
        in_sight!("cat ${@/%//task/*/environ} | tr '\\0' '\\n'"),
    ),
    call(
        "3D-106b",
        "the first process's descriptors by pidfd_getfd",
        alone!("for i in 0 1 2 3 4 5 6 7 8 9; do $P pidfd-getfd 1 $i; done"),
    )
    .control("$P pidfd-getfd $V 1")
    .expect([H, REAL_INIT, REAL_INIT]),
    host("3D-106c", "files by the first process's root", "echo x > /proc/1/root$OUT/new")
        .control("echo x > $OUT/new"),
    host("3D-106d", "files by the first process's directory", "echo x > /proc/1/cwd/../out/new")
        .control("echo x > $OUT/new"),
    host("3D-118", "a SysV segment of the host", "$P shmat $SHM; : $V").expect(FILTERED),
    host("3D-118b", "a POSIX queue of the host", "$P mq-send $N; : $V").expect(FILTERED),
    good("3D-118c", "SysV segments of its own", "LET", "$P shm-new; ipcrm -a 2>/dev/null")
        .expect([H, NO_IPC, NO_IPC])
        .control("echo LET"),
    text("3D-118d", "a file in the host's /dev/shm", "shm-file", "cat /dev/shm/$N.f")
        .setup("echo shm-file > /dev/shm/$N.f")
        .expect(super::PRIVATE),
    text("3D-118e", "a file in the host's /tmp", "tmp-file", "cat /tmp/$N.f")
        .setup("echo tmp-file > /tmp/$N.f")
        .expect(super::PRIVATE),
];

const REAL_INIT: ExpectedOutcome =
    ExpectedOutcome::Not("without a process namespace that is the machine's own first process");
const NO_IPC: ExpectedOutcome = ExpectedOutcome::Gap("without an IPC namespace there is no IPC at all");
const REAL_ROOT: ExpectedOutcome =
    ExpectedOutcome::Not("if it did not hold it would hit every process of this machine");
/// As root, only in a PID namespace of its own.
const ALL_OF_USER: &str = "[ $(id -u) != 0 ] || [ \"$(readlink /proc/self/ns/pid)\" != \"$PIDNS\" ] && \
    python3 -c 'import os; os.setpriority(os.PRIO_USER, 0, 3)'; : $V";
