//! Cases against the machine's own files: settings, devices, control groups. Even a success changes nothing.

use super::{PATHLESS, PATHS, PRIVATE};
use crate::suite::case::{AttackCase, BreachSign, ExpectedOutcome, call, host, text};

const H: ExpectedOutcome = ExpectedOutcome::Holds;

pub(super) const CASES: &[AttackCase] = &[
    call("3A-23", "core_pattern, rewritten as it is", "$P rewrite /proc/sys/kernel/core_pattern")
        .expect(PATHS),
    call("3A-23b", "modprobe, opened to write", "$P openw /proc/sys/kernel/modprobe").expect(PATHS),
    call("3A-23c", "drop_caches, opened to write", "$P openw /proc/sys/vm/drop_caches").expect(PATHS),
    call("3A-23d", "ip_forward with the host's network", "$P openw /proc/sys/net/ipv4/ip_forward")
        .flags(&["--network", "on"])
        .expect(PATHS),
    call(
        "3A-23e",
        "core_pattern by /proc/self/root",
        "$P rewrite /proc/self/root/proc/sys/kernel/core_pattern",
    )
    .expect(PATHS),
    call("3A-23f", "core_pattern by any process's root", ANY_ROOT).expect(PATHS),
    call("3A-23g", "any setting of the kernel, opened to write", ANY_SETTING).expect(PATHS),
    call("3A-24", "sysrq-trigger, opened to write", "$P openw /proc/sysrq-trigger").expect(PATHS),
    call("3A-24b", "/proc/irq, opened to write", "$P openw /proc/irq/default_smp_affinity").expect(PATHS),
    call("3A-25", "transparent_hugepage", "$P openw /sys/kernel/mm/transparent_hugepage/enabled")
        .expect(PATHS),
    call("3A-25b", "/sys/power/state", "$P openw /sys/power/state").expect(PATHS),
    call("3A-25c", "the queue of the disk", "$P openw /sys/block/vda/queue/read_ahead_kb").expect(PATHS),
    call("3A-25d", "a device's uevent", "$P openw /sys/class/net/lo/uevent").expect(PATHS),
    host("3A-26", "a control group of version 2", "mkdir /sys/fs/cgroup/unified/$N")
        .sees(BreachSign::Made("/sys/fs/cgroup/unified/$N")),
    host("3A-26b", "a control group of version 1", "mkdir /sys/fs/cgroup/pids/$N")
        .sees(BreachSign::Made("/sys/fs/cgroup/pids/$N")),
    call("3A-26c", "release_agent", "$P openw /sys/fs/cgroup/systemd/release_agent").expect(PATHS),
    call("3A-26d", "cgroup.procs", "$P openw /sys/fs/cgroup/pids/cgroup.procs").expect(PATHS),
    call("3A-27", "/dev/mem", "$P openr /dev/mem").expect(PRIVATE),
    call("3A-27b", "/dev/port", "$P openrw /dev/port").expect(PATHS),
    call("3A-27c", "/proc/kcore", "$P openr /proc/kcore"),
    call("3A-29", "/dev/kmsg", "$P openw /dev/kmsg").expect(PATHS),
    call("3A-30", "/dev/fuse", "$P openrw /dev/fuse").expect(PATHS),
    call("3A-30b", "/dev/kvm", "$P openrw /dev/kvm").expect(PATHS),
    call("3A-30c", "/dev/net/tun", "$P openrw /dev/net/tun").expect(PATHS),
    call("3A-30d", "/dev/loop-control", "$P openrw /dev/loop-control").expect(PATHS),
    call("3A-30e", "/dev/vsock", "$P openrw /dev/vsock").expect(PATHS),
    call("3A-30f", "/dev/userfaultfd", "$P openrw /dev/userfaultfd").expect(PATHS),
    call("3A-30g", "the host's disk, to write", "$P openrw $(findmnt -no SOURCE /)").expect(PATHS),
    call("3A-30h", "the host's disk, to read", "$P openr $(findmnt -no SOURCE /)").expect(PRIVATE),
    call("3A-30i", "the console", "$P openw /dev/console").expect(PATHS),
    call("3A-30j", "a virtual console", "$P openw /dev/tty1").expect(PATHS),
    call("3A-30k", "a serial line", "$P openw /dev/ttyS0").expect(PATHS),
    call("3A-30l", "any device of the host", ANY_DEVICE).expect(PATHS),
    call("3A-30m", "a terminal of the host", "$P openw $PTY").expect(PATHS),
    call("3D-117z", "/proc/kmsg", "$P openr /proc/kmsg"),
    call("3A-28a", "/proc/slabinfo", "$P openr /proc/slabinfo").expect(PRIVATE),
    call("3A-28b", "/proc/vmallocinfo", "$P openr /proc/vmallocinfo").expect(PRIVATE),
    call("3A-28c", "/proc/timer_list", "$P openr /proc/timer_list").expect(PRIVATE),
    call("3A-28d", "the firmware's tables", "$P openr /sys/firmware/dmi/tables/DMI").expect(PRIVATE),
    call("3A-28e", "the kernel's traces", "ls /sys/kernel/tracing/README && echo LET").expect(PRIVATE),
    text(
        "3D-117y",
        "the kernel's addresses",
        "ADDRESSES",
        "grep -q '^[0-9a-f]*[1-9a-f][0-9a-f]* ' /proc/kallsyms && echo ADDRESSES",
    ),
    text(
        "3D-118z",
        "the host's SysV segments by /proc",
        "SEEN",
        "grep -qw $SHM /proc/sysvipc/shm && echo SEEN; : $V",
    )
    .expect([H, super::NO_NAMESPACES, PATHLESS]),
    call(
        "3A-30n",
        "the bug reports of devices",
        "$P openw /sys/kernel/debug/x; ls /sys/kernel/debug/* && echo LET",
    ),
    call(
        "3A-31",
        "firmware's variables",
        "ls /sys/firmware/efi/efivars/* && $P openw /sys/firmware/efi/efivars/*",
    ),
];

/// Through the root directory of any visible process.
const ANY_ROOT: &str = in_sight!("for p; do $P rewrite $p/root/proc/sys/kernel/core_pattern && break; done");
/// The files are only opened, not written.
const ANY_SETTING: &str = "for f in $(find /proc/sys/kernel /proc/sys/vm /proc/sys/fs /proc/sys/dev -type f -perm -200 \
    2>/dev/null | head -400); do if (exec 5>>$f) 2>/dev/null; then echo $f LET; break; fi; done";
/// All devices except those that every program needs.
const ANY_DEVICE: &str = "for f in /dev/* /dev/*/*; do case $f in */null|*/zero|*/full|*/random|*/urandom|*/tty|*/ptmx|\
    /dev/pts/*|/dev/shm/*|/dev/fd*|/dev/std*|*/watchdog*) continue;; esac; \
    if [ -c $f -o -b $f ] && (exec 5<>$f) 2>/dev/null; then echo $f LET; break; fi; done";
