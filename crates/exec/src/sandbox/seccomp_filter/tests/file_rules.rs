//! Tests of filter rules about files: device nodes, set-id bits, and notification of changes.

use libc::{ENOSYS, SYS_fchmod, SYS_fchmodat, SYS_mkdirat, SYS_mknodat, SYS_openat, SYS_openat2, c_long};

use super::super::FilterRules;
use super::super::syscalls::{self, arch};
use super::{ALLOW, DENY, FULL, HIGH, NOTIFY, RECORDED, ROOT, check, check_all, fails};

#[test]
fn devices_are_not_made() {
    for (kind, answer) in
        [(0o020_000, DENY), (0o060_000, DENY), (0o010_000, ALLOW), (0o140_000, ALLOW), (0, ALLOW)]
    {
        check(
            FULL,
            &[(SYS_mknodat, &[0, 0, kind | 0o644], answer), (SYS_mknodat, &[0, 0, kind | HIGH], answer)],
        );
        #[cfg(target_arch = "x86_64")]
        check(FULL, &[(libc::SYS_mknod, &[0, kind | 0o644], answer)]);
    }
}

#[test]
fn root_leaves_no_set_id_files() {
    const FCHMODAT2: c_long = 452;
    const TMPFILE: u64 = 0o20_200_000;
    for (mode, answer) in
        [(0o4755, DENY), (0o2755, DENY), (0o6000 | HIGH, DENY), (0o1777, ALLOW), (0o644, ALLOW)]
    {
        let second: &[u64] = &[0, mode];
        let third: &[u64] = &[0, 0, mode];
        let cases = [
            (SYS_fchmodat, third),
            (FCHMODAT2, third),
            (SYS_mkdirat, third),
            (SYS_mknodat, third),
            (SYS_fchmod, second),
        ];
        #[cfg(target_arch = "x86_64")]
        let cases = cases.into_iter().chain(
            [libc::SYS_chmod, libc::SYS_creat, libc::SYS_mkdir, libc::SYS_mknod].map(|call| (call, second)),
        );
        for (call, args) in cases {
            check(ROOT, &[(call, args, answer)]);
            check(FULL, &[(call, args, ALLOW)]);
        }
        for made in [0o101, 0o100 | HIGH, TMPFILE | 2] {
            check(ROOT, &[(SYS_openat, &[0, 0, made, mode], answer)]);
            #[cfg(target_arch = "x86_64")]
            check(ROOT, &[(libc::SYS_open, &[0, made, mode], answer)]);
        }
        check(ROOT, &[(SYS_openat, &[0, 0, 0o200_000, mode], ALLOW), (SYS_openat, &[0, 0, 1, mode], ALLOW)]);
    }
    check(ROOT, &[(SYS_openat2, &[], fails(ENOSYS))]);
    check(FULL, &[(SYS_openat2, &[], ALLOW), (SYS_openat, &[0, 0, 0o100, 0o4755], ALLOW)]);
}

#[test]
fn changes_of_files_are_told() {
    for (flags, answer) in
        [(0, ALLOW), (0o2_200_000, ALLOW), (1, NOTIFY), (2, NOTIFY), (3 | HIGH, NOTIFY), (0o100, NOTIFY)]
    {
        check(
            RECORDED,
            &[(SYS_openat, &[0, 0, flags], answer), (SYS_openat, &[0, flags, HIGH | 0o4000], ALLOW)],
        );
        #[cfg(target_arch = "x86_64")]
        check(RECORDED, &[(libc::SYS_open, &[0, flags], answer)]);
    }
    check(RECORDED, &[(SYS_openat, &[0, 0, 0o1000], NOTIFY), (SYS_openat, &[0, 0, 0o20_200_002], NOTIFY)]);
    check(RECORDED, &[(SYS_openat2, &[], NOTIFY), (SYS_fchmod, &[], ALLOW)]);
    for list in [syscalls::CHANGES, arch::CHANGES] {
        check_all(RECORDED, list, NOTIFY);
        check_all(FULL, list, ALLOW);
    }
    let absent = fails(ENOSYS);
    check(RECORDED, &[(452, &[], NOTIFY), (463, &[], absent), (466, &[], absent), (469, &[], absent)]);
    check(RECORDED, &[(464, &[], ALLOW), (465, &[], ALLOW), (468, &[], ALLOW)]);
    let root = FilterRules { root: true, ..RECORDED };
    check(root, &[(SYS_openat2, &[], fails(ENOSYS)), (SYS_fchmodat, &[0, 0, 0o4755], DENY)]);
    check(root, &[(SYS_fchmodat, &[0, 0, 0o755], NOTIFY), (SYS_openat, &[0, 0, 0o101, 0o4755], DENY)]);
    check(root, &[(SYS_mknodat, &[0, 0, 0o020_644], DENY), (SYS_openat, &[0, 0, 0o101, 0o755], NOTIFY)]);
}
