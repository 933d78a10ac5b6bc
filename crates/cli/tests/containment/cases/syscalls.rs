//! Cases with dangerous system calls, keyrings, terminal injection, privilege gain, and planted programs.
//!
//! Dangerous calls are made with invalid arguments: the kernel's error about them shows that the kernel, not the
//! filter, has answered.

use crate::suite::case::{AttackCase, BreachSign, ExpectedOutcome, call, good, host, text};

const H: ExpectedOutcome = ExpectedOutcome::Holds;
const TTY: &str = "exec script -qec \"$(printf '%q ' \"$@\")\" /dev/null";

pub(super) const CASES: &[AttackCase] = &[
    call("3D-109", "perf_event_open", "$P perf"),
    call("3D-109b", "perf_event_open with a bad address", "$P try perf_event_open"),
    call("3D-109c", "bpf", "$P bpf"),
    call("3D-109d", "bpf with a bad address", "$P try bpf"),
    call("3D-109e", "userfaultfd", "$P uffd"),
    call("3D-109f", "userfaultfd with bad flags", "$P try userfaultfd"),
    call("3D-109g", "fanotify_init", "$P fanotify"),
    call("3D-109h", "modify_ldt", "$P ldt"),
    call("3D-109i", "modify_ldt, to write", "$P try modify_ldt"),
    call("3D-109j", "io_uring_setup with a bad address", "$P try io_uring_setup"),
    call("3D-109k", "io_uring_enter", "$P try io_uring_enter"),
    call("3D-109l", "io_uring_register", "$P try io_uring_register"),
    call("3D-110", "a key", "$P add-key"),
    call("3D-110b", "the user's keyring", "$P keyctl"),
    call("3D-110c", "what the user's keyring is", "$P keyctl-describe"),
    call("3D-110d", "a key asked for", "$P request-key"),
    call("3D-110e", "a key with a bad address", "$P try add_key"),
    call("3D-110f", "a key asked for with a bad address", "$P try request_key"),
    call("3D-110g", "a keyring joined", "$P try keyctl"),
    text("3D-111", "letters typed into the terminal", "QZQZ", "$P inject Q Z Q Z").wrap(TTY),
    text("3D-111b", "letters typed into the terminal, with a high bit", "QZQZ", "$P inject-high Q Z Q Z")
        .wrap(TTY),
    text("3D-111c", "letters typed into the terminal that is stdout", "QZQZ", "$P inject Q Z Q Z <&1")
        .wrap(TTY),
    text("3D-111d", "letters typed into /dev/tty", "QZQZ", "$P inject Q Z Q Z </dev/tty").wrap(TTY),
    good("3D-113", "no new privileges", "LET", "$P nnp").control("echo LET"),
    call("3D-113b", "new privileges again", "$P nnp0").control("echo LET"),
    call("3D-113c", "the filter taken away", "$P seccomp-off").control("echo LET"),
    call("3D-113d", "a setuid program", "$SUID probe euid").expect([H; 3]),
    call("3D-113e", "a setuid program, then setuid(0)", "$SUID probe setuid0"),
    call("3D-113f", "a capability raised", "$P cap-raise"),
    call("3D-113g", "another user's id", "$P setuid 12345"),
    call("3D-113h", "another group", "$P setgroups 12345"),
    call(
        "3D-113i",
        "su, sudo, pkexec",
        "for p in su sudo pkexec; do command -v $p >/dev/null && timeout 2 $p -c 'echo LET' \
        </dev/null; done",
    ),
    host(
        "3D-116",
        "a core file",
        "ulimit -c unlimited; sleep 9 & kill -SEGV $!; wait; ls core* && echo CORE",
    )
    .sees(BreachSign::Text("CORE")),
    call("3D-116b", "the limit of cores raised", "$P core-limit"),
    call("3D-117", "syslog", "$P try syslog"),
    call("3D-117b", "settimeofday", "$P try settimeofday"),
    call("3D-117c", "clock_settime", "$P try clock_settime"),
    call("3D-117d", "adjtimex, to set", "$P try adjtimex"),
    call("3D-117e", "clock_adjtime, to set", "$P try clock_adjtime"),
    call("3D-117f", "sethostname", "$P try sethostname"),
    call("3D-117g", "setdomainname", "$P try setdomainname"),
    call("3D-117h", "swapon", "$P try swapon"),
    call("3D-117i", "swapoff", "$P try swapoff"),
    call("3D-117j", "kexec_load", "$P try kexec_load"),
    call("3D-117k", "kexec_file_load", "$P try kexec_file_load"),
    call("3D-117l", "init_module", "$P try init_module"),
    call("3D-117m", "finit_module", "$P try finit_module"),
    call("3D-117n", "delete_module", "$P try delete_module"),
    call("3D-117o", "reboot, with wrong numbers", "$P try reboot"),
    call("3D-117p", "acct", "$P try acct"),
    call("3D-117q", "quotactl", "$P try quotactl"),
    call("3D-117r", "quotactl_fd", "$P try quotactl_fd"),
    call("3D-117s", "iopl", "$P try iopl"),
    call("3D-117t", "ioperm", "$P try ioperm"),
    call("3D-117u", "open_by_handle_at", "$P try open_by_handle_at"),
    call("3D-117v", "process_madvise", "$P try process_madvise"),
    call("3D-117w", "pidfd_getfd", "$P try pidfd_getfd"),
    good("3D-119", "memory without a name", "LET", "$P memfd"),
    good("3D-119b", "a domain of Landlock inside", "1", "$P domains"),
    good("3D-119c", "no address randomisation, as debuggers ask", "LET", "$P personality"),
    host("3D-121", "a toolgate in the workspace's PATH", "echo inside")
        .setup(
            "for n in toolgate bwrap sh git newuidmap mount ip; do printf '#!/bin/sh\\ntouch \
        %s/PWN\\n' $OUT > $n; chmod 755 $n; done",
        )
        .wrap("export PATH=$WS:$PATH; exec \"$@\"")
        .control("touch $OUT/PWN")
        .works("inside"),
    host("3D-120", "a library of the workspace", "echo inside")
        .setup(
            "printf 'int x;' > l.c; mkdir lib; for l in libc.so.6 libgcc_s.so.1 libm.so.6; do echo \
        > lib/$l; done",
        )
        .wrap("cd $WS; exec \"$@\"")
        .control("touch $OUT/PWN")
        .works("inside"),
];
