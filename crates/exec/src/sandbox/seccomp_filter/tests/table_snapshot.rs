//! Snapshots of the complete filter table in readable form.

use std::fmt::Write;

use super::super::FilterRules;
use super::super::filter_table::{
    ArgCondition, ArgWord, FilterTable, SyscallAction, SyscallRule, filter_table,
};
use super::FULL;

/// The snapshots contain the calls of this architecture; others have fewer.
const LISTED: bool = cfg!(target_arch = "x86_64");

#[test]
fn usual_table_matches_its_snapshot() {
    if !LISTED {
        return;
    }
    insta::assert_snapshot!(listing(filter_table(FULL)), @"
    ioctl
        arg1 is 0x5412: EPERM
        arg1 is 0x541c: EPERM
        arg1 is 0x5423: EPERM
    socket
        arg0 is 0x1, arg1 & 0xf is 0x1: allow
        arg0 is 0x1, arg1 & 0xf is 0x5: allow
        arg0 is 0x1: EPROTONOSUPPORT
        arg0 is 0x2, arg1 & 0xf is 0x3: EPERM
        arg0 is 0x2, arg1 & 0xf is 0xa: EPERM
        arg0 is 0x2: allow
        arg0 is 0xa, arg1 & 0xf is 0x3: EPERM
        arg0 is 0xa, arg1 & 0xf is 0xa: EPERM
        arg0 is 0xa: allow
        arg0 is 0x10, arg2 is 0x0: allow
        always: EAFNOSUPPORT
    connect
        always: tell
    sendto sendmmsg
        arg3 has 0x20000000: EOPNOTSUPP
    sendmsg
        arg2 has 0x20000000: EOPNOTSUPP
    socketpair
        arg0 is 0x1, arg1 & 0xf is 0x1: allow
        arg0 is 0x1, arg1 & 0xf is 0x5: allow
        arg0 is 0x1: EPROTONOSUPPORT
        always: EOPNOTSUPP
    clone
        arg0 has 0x7e020000: EPERM
    syslog uselib vhangup modify_ldt pivot_root _sysctl adjtimex chroot
    acct settimeofday mount umount2 swapon swapoff reboot sethostname
    setdomainname iopl ioperm create_module init_module delete_module query_module quotactl
    nfsservctl lookup_dcookie clock_settime mbind set_mempolicy kexec_load add_key request_key
    keyctl migrate_pages move_pages perf_event_open fanotify_init open_by_handle_at clock_adjtime setns
    kcmp finit_module kexec_file_load bpf userfaultfd open_tree move_mount fsopen
    fsconfig fsmount fspick pidfd_getfd process_madvise mount_setattr quotactl_fd
        always: EPERM
    mknod
        arg1 & 0xf000 is 0x2000: EPERM
        arg1 & 0xf000 is 0x6000: EPERM
    mknodat
        arg2 & 0xf000 is 0x2000: EPERM
        arg2 & 0xf000 is 0x6000: EPERM
    unshare
        arg0 has 0xfffaf0ff: EPERM
        arg0 >> 32 is not 0: EPERM
    io_uring_setup io_uring_enter io_uring_register clone3 open_tree_attr
        always: ENOSYS
    ");
}

#[test]
fn strictest_table_matches_its_snapshot() {
    if !LISTED {
        return;
    }
    let strictest =
        FilterRules { namespaces: false, landlock: false, root: true, notifies_writes: true, ..FULL };
    let (mut more, less) = (filter_table(strictest), filter_table(FULL));
    more.retain(|call, rules| less.get(call) != Some(rules));
    insta::assert_snapshot!(listing(more), @"
    open
        arg1 has 0x400040, arg2 has 0xc00: EPERM
        arg1 has 0x400243: tell
    shmget shmat shmctl semget semop semctl msgget msgsnd
    msgrcv msgctl ptrace semtimedop mq_open mq_unlink process_vm_readv process_vm_writev
        always: EPERM
    truncate rename rmdir link unlink symlink chown lchown
    utime setxattr lsetxattr removexattr lremovexattr utimes fchownat futimesat
    unlinkat renameat linkat symlinkat utimensat renameat2
        always: tell
    mkdir creat chmod
        arg1 has 0xc00: EPERM
        always: tell
    fchmod
        arg1 has 0xc00: EPERM
    mknod
        arg1 & 0xf000 is 0x2000: EPERM
        arg1 & 0xf000 is 0x6000: EPERM
        arg1 has 0xc00: EPERM
        always: tell
    setpriority
        arg0 is 0x2: EPERM
        arg1 is not 0: EPERM
    sched_setparam sched_setscheduler sched_setaffinity sched_setattr
        arg0 is not 0: EPERM
    ioprio_set
        arg0 is 0x3: EPERM
        arg1 is not 0: EPERM
    openat
        arg2 has 0x400040, arg3 has 0xc00: EPERM
        arg2 has 0x400243: tell
    mkdirat fchmodat fchmodat2
        arg2 has 0xc00: EPERM
        always: tell
    mknodat
        arg2 & 0xf000 is 0x2000: EPERM
        arg2 & 0xf000 is 0x6000: EPERM
        arg2 has 0xc00: EPERM
        always: tell
    prlimit64
        arg0 is not 0, arg2 is not 0: EPERM
        arg0 is not 0, arg2 >> 32 is not 0: EPERM
    openat2
        always: ENOSYS
        always: tell
    setxattrat removexattrat file_setattr
        always: ENOSYS
    ");
}

/// Lists the calls that share the same rules, with those rules.
fn listing(policy: FilterTable) -> String {
    let mut groups: Vec<(Vec<SyscallRule>, Vec<&str>)> = Vec::new();
    for ((_, name), rules) in policy {
        let name = name.trim_start_matches("SYS_");
        match groups.iter_mut().find(|(same, _)| *same == rules) {
            Some((_, names)) => names.push(name),
            None => groups.push((rules, vec![name])),
        }
    }
    let mut text = String::new();
    for (rules, names) in groups {
        for line in names.chunks(8) {
            writeln!(text, "{}", line.join(" ")).unwrap();
        }
        for SyscallRule { conditions: when, action: then } in rules {
            let when: Vec<String> = when.into_iter().map(condition).collect();
            writeln!(
                text,
                "    {}: {}",
                if when.is_empty() { "always".into() } else { when.join(", ") },
                action(then)
            )
            .unwrap();
        }
    }
    text
}

fn condition(condition: ArgCondition) -> String {
    let name = |word| match word {
        ArgWord::Low(argument) => format!("arg{argument}"),
        ArgWord::High(argument) => format!("arg{argument} >> 32"),
    };
    match condition {
        ArgCondition::Is { word, mask: u32::MAX, value } => format!("{} is {value:#x}", name(word)),
        ArgCondition::Is { word, mask, value } => format!("{} & {mask:#x} is {value:#x}", name(word)),
        ArgCondition::Has { word, bits: u32::MAX } => format!("{} is not 0", name(word)),
        ArgCondition::Has { word, bits } => format!("{} has {bits:#x}", name(word)),
    }
}

fn action(action: SyscallAction) -> String {
    match action {
        SyscallAction::Allow => "allow".into(),
        SyscallAction::Notify => "tell".into(),
        SyscallAction::Fail(libc::EPERM) => "EPERM".into(),
        SyscallAction::Fail(libc::ENOSYS) => "ENOSYS".into(),
        SyscallAction::Fail(libc::EOPNOTSUPP) => "EOPNOTSUPP".into(),
        SyscallAction::Fail(libc::EAFNOSUPPORT) => "EAFNOSUPPORT".into(),
        SyscallAction::Fail(libc::EPROTONOSUPPORT) => "EPROTONOSUPPORT".into(),
        SyscallAction::Fail(other) => panic!("an error that the text does not have: {other}"),
    }
}
