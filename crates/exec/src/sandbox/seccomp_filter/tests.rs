//! Tests of the seccomp filter: every rule as a literal case, run on the compiled program.

mod file_rules;
mod invariants;
mod socket_rules;
mod table_snapshot;

use libc::{
    ENOSYS, EPERM, SYS_clone, SYS_ioctl, SYS_ioprio_set, SYS_openat, SYS_prlimit64, SYS_read,
    SYS_setpriority, SYS_unshare, c_long,
};

use super::super::bpf::interpreter::{BpfOutcome, SeccompCall, run};
use super::syscalls::{self, Syscall, arch};
use super::{FilterRules, compile_filter};

/// Namespaces, Landlock and a supervisor, as most systems support.
const FULL: FilterRules = FilterRules {
    inet: true,
    own_network: true,
    namespaces: true,
    landlock: true,
    root: false,
    brokered: true,
    notifies_writes: false,
};
/// The filter alone.
const ALONE: FilterRules = FilterRules {
    inet: false,
    own_network: false,
    namespaces: false,
    landlock: false,
    root: false,
    brokered: false,
    notifies_writes: false,
};
const ROOT: FilterRules = FilterRules { root: true, ..FULL };
const RECORDED: FilterRules = FilterRules { notifies_writes: true, ..FULL };

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const NOTIFY: u32 = libc::SECCOMP_RET_USER_NOTIF;
const DENY: u32 = fails(EPERM);
/// A bit of the half of an argument that the kernel ignores.
const HIGH: u64 = 1 << 32;

const fn fails(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}

fn run_filter(rules: FilterRules, number: u32, args: &[u64]) -> BpfOutcome {
    let mut all = [0; 6];
    all[..args.len()].copy_from_slice(args);
    run(&compile_filter(rules), &SeccompCall { number, arch: arch::NAME, args: all })
}

fn check(rules: FilterRules, cases: &[(c_long, &[u64], u32)]) {
    for &(call, args, answer) in cases {
        let number = u32::try_from(call).unwrap();
        assert_eq!(
            run_filter(rules, number, args).answer,
            answer,
            "call {call} with {args:x?} under {rules:?}"
        );
    }
}

fn check_all(rules: FilterRules, calls: &[Syscall], answer: u32) {
    for &(number, name) in calls {
        assert_eq!(run_filter(rules, number, &[]).answer, answer, "{name} under {rules:?}");
    }
}

#[test]
fn other_architectures_do_not_exist() {
    const I386: u32 = 0x4000_0003;
    const X32: u32 = 0x4000_0000;
    let program = compile_filter(FULL);
    for arch in [I386, 0x4000_0028, 0, u32::MAX] {
        assert_eq!(run(&program, &SeccompCall { number: 1, arch, args: [0; 6] }).answer, fails(ENOSYS));
    }
    for number in [X32, X32 | 1, X32 | 512, 470, 511, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1] {
        assert_eq!(run_filter(FULL, number, &[]).answer, fails(ENOSYS), "{number:#x}");
    }
    assert_eq!(run_filter(FULL, u32::MAX, &[]).answer, ALLOW, "what a tracer leaves out");
}

#[test]
fn new_calls_pass_but_those_that_hide_others() {
    // landlock_*, memfd_secret, process_mrelease, futex_waitv, set_mempolicy_home_node, cachestat, fchmodat2,
    // map_shadow_stack, futex_*, statmount, listmount, lsm_*, mseal, *xattrat; then file_getattr and file_setattr.
    for number in (444..=466).chain([468, 469]) {
        assert_eq!(run_filter(FULL, number, &[]).answer, ALLOW, "{number}");
    }
    for number in [425, 426, 427, 435, 467] {
        assert_eq!(run_filter(FULL, number, &[]).answer, fails(ENOSYS), "{number}");
    }
}

#[test]
fn lists_of_calls_are_refused_whole() {
    check_all(FULL, syscalls::ABSENT, fails(ENOSYS));
    check_all(FULL, syscalls::DENIED, DENY);
    check_all(FULL, arch::DENIED, DENY);
    #[cfg(target_arch = "x86_64")]
    check(FULL, &[(174, &[], DENY), (178, &[], DENY)]);
    check_all(FULL, syscalls::SHARED_IPC, ALLOW);
    check_all(ALONE, syscalls::SHARED_IPC, DENY);
    check_all(FilterRules { namespaces: false, ..FULL }, syscalls::SHARED_IPC, DENY);
}

#[test]
fn tracing_needs_something_that_keeps_it_inside() {
    check_all(FULL, syscalls::TRACING, ALLOW);
    check_all(FilterRules { namespaces: false, ..FULL }, syscalls::TRACING, ALLOW);
    check_all(FilterRules { landlock: false, ..FULL }, syscalls::TRACING, ALLOW);
    check_all(ALONE, syscalls::TRACING, DENY);
}

#[test]
fn no_namespaces_are_made() {
    const THREAD: u64 = 0x3d_0f00;
    let clone = |flags| (SYS_clone, flags);
    let unshare = |flags| (SYS_unshare, flags);
    for bit in [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000] {
        for (call, flags) in
            [clone(bit), clone(bit | THREAD), clone(bit | HIGH), unshare(bit), unshare(bit | HIGH)]
        {
            check(FULL, &[(call, &[flags], DENY)]);
        }
    }
    const FS: u64 = 0x200;
    const TIME: u64 = 0x80;
    const EMPTY_MOUNTS: u64 = 0x10_0000;
    check(
        FULL,
        &[
            (SYS_clone, &[THREAD], ALLOW),
            (SYS_clone, &[17], ALLOW),
            (SYS_clone, &[TIME | 17], ALLOW),
            (SYS_unshare, &[0], ALLOW),
            (SYS_unshare, &[FS | 0x400 | 0x4_0000 | 0x1_0900], ALLOW),
            (SYS_unshare, &[TIME], DENY),
            (SYS_unshare, &[EMPTY_MOUNTS], DENY),
            (SYS_unshare, &[FS | HIGH], DENY),
        ],
    );
}

#[test]
fn terminals_are_not_typed_into() {
    for request in [0x5412, 0x541c, 0x5423] {
        check(FULL, &[(SYS_ioctl, &[0, request], DENY), (SYS_ioctl, &[0, request | HIGH], DENY)]);
        check(FULL, &[(SYS_ioctl, &[0, request | 1 << 31], ALLOW), (SYS_ioctl, &[request, 0x5401], ALLOW)]);
    }
}

#[test]
fn without_namespaces_others_are_left_alone() {
    let alone = FilterRules { namespaces: false, ..FULL };
    let cases: &[(c_long, &[u64], u32)] = &[
        (SYS_prlimit64, &[0, 7, 4096], ALLOW),
        (SYS_prlimit64, &[HIGH, 7, 4096], ALLOW),
        (SYS_prlimit64, &[77, 7, 0, 4096], ALLOW),
        (SYS_prlimit64, &[77, 7, 4096], DENY),
        (SYS_prlimit64, &[77, 7, HIGH], DENY),
        (SYS_setpriority, &[0, 0, 5], ALLOW),
        (SYS_setpriority, &[1, HIGH, 5], ALLOW),
        (SYS_setpriority, &[0, 77, 5], DENY),
        (SYS_setpriority, &[2, 0, 5], DENY),
        (SYS_setpriority, &[2 | HIGH, 0, 5], DENY),
        (SYS_ioprio_set, &[1, 0, 5], ALLOW),
        (SYS_ioprio_set, &[1, 77, 5], DENY),
        (SYS_ioprio_set, &[3, 0, 5], DENY),
    ];
    check(alone, cases);
    for &(call, args, _) in cases {
        check(FULL, &[(call, args, ALLOW)]);
    }
    for &(number, _) in syscalls::SCHEDULING {
        let call = c_long::from(number);
        check(alone, &[(call, &[0, 1], ALLOW), (call, &[HIGH], ALLOW), (call, &[77], DENY)]);
        check(FULL, &[(call, &[77], ALLOW)]);
    }
}

#[test]
fn common_calls_cost_little() {
    let steps =
        |rules, call: c_long, args: &[u64]| run_filter(rules, u32::try_from(call).unwrap(), args).steps;
    for call in [SYS_read, libc::SYS_write, libc::SYS_mmap, libc::SYS_futex, libc::SYS_close, SYS_openat] {
        assert!(steps(FULL, call, &[]) <= 13, "{call} takes {}", steps(FULL, call, &[]));
    }
    assert!(steps(RECORDED, SYS_openat, &[]) <= 15, "{}", steps(RECORDED, SYS_openat, &[]));
}
