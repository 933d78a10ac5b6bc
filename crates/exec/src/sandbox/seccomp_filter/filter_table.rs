//! Table of system calls and their actions, from which the filter is compiled.
//!
//! The first matching rule of a call decides; a call without a matching rule is allowed. The kernel reads integers
//! such as families, types, flags and modes as 32 bits or fewer, so only the low half of such an argument counts.

use std::collections::BTreeMap;

use libc::{EAFNOSUPPORT, ENOSYS, EOPNOTSUPP, EPERM, EPROTONOSUPPORT};

use super::FilterRules;
use super::syscalls::{self, Syscall, arch};

/// The rules by system call.
pub(super) type FilterTable = BTreeMap<Syscall, Vec<SyscallRule>>;

/// The action for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyscallAction {
    Allow,
    /// The call fails with this error.
    Fail(i32),
    /// A supervisor decides.
    Notify,
}

/// An action that applies if all its conditions hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyscallRule {
    pub(super) conditions: Vec<ArgCondition>,
    pub(super) action: SyscallAction,
}

/// A condition on an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgCondition {
    /// Under this mask, the argument equals this value.
    Is { word: ArgWord, mask: u32, value: u32 },
    /// The argument has one of these bits set.
    Has { word: ArgWord, bits: u32 },
}

/// One half of an argument; the first argument is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgWord {
    Low(u8),
    High(u8),
}

/// Flags of `clone` and `unshare` that create namespaces. Time is excluded: `clone` takes its bit as part of a
/// signal.
const NEW_NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;
/// Flags of `unshare` that create no namespace. All others do or will: 7.1 gave it one that `clone` uses for another
/// purpose.
const UNSHARE_HARMLESS: i32 = libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SYSVSEM
    | libc::CLONE_VM
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD;
/// Requests of `ioctl` that inject input into a terminal or change its discipline: TIOCSTI, TIOCLINUX and TIOCSETD.
const TERMINAL_INJECTION_REQUESTS: [u32; 3] = [0x5412, 0x541c, 0x5423];
/// The bits of a socket type that are not flags.
const SOCKET_TYPE_MASK: u32 = 0xf;
/// Obsolete: the kernel turns it into a packet socket, which sees all network traffic.
const SOCK_PACKET: i32 = 10;
const SET_ID_BITS: u32 = libc::S_ISUID | libc::S_ISGID;
/// Without the bit for directories, which `O_DIRECTORY` has too.
const O_TMPFILE: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;
const WRITE_FLAGS: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | O_TMPFILE;
/// The number differs from that of `setpriority`.
const IOPRIO_WHO_USER: i32 = 3;

/// Builds the table for `rules`. Among several rules of a call, refusals come before notifications.
pub(super) fn filter_table(rules: FilterRules) -> FilterTable {
    let mut policy = FilterTable::new();
    let mut add = |calls: &[Syscall], rules: &[SyscallRule]| {
        for &call in calls {
            policy.entry(call).or_default().extend_from_slice(rules);
        }
    };
    add(syscalls::ABSENT, &[always(SyscallAction::Fail(ENOSYS))]);
    add(syscalls::DENIED, &[always(DENY)]);
    add(arch::DENIED, &[always(DENY)]);
    add(syscalls::CLONE, &[deny([low(0).has(NEW_NAMESPACES)])]);
    add(syscalls::UNSHARE, &[deny([low(0).has(!UNSHARE_HARMLESS)]), deny([high(0).has(ANY_BIT)])]);
    add(syscalls::IOCTL, &TERMINAL_INJECTION_REQUESTS.map(|request| deny([low(1).is(request)])));
    add(syscalls::SOCKET, &socket_rules(rules));
    add(syscalls::SOCKETPAIR, &socketpair());
    add(arch::MKNOD_1, &device_rules(1));
    add(syscalls::MKNOD_2, &device_rules(2));
    if rules.root {
        add_root_rules(&mut add);
    }
    if !rules.namespaces {
        add_rules_without_namespaces(&mut add);
    }
    if !rules.namespaces && !rules.landlock {
        add(syscalls::TRACING, &[always(DENY)]);
    }
    if rules.brokered {
        add(syscalls::CONNECT, &[always(SyscallAction::Notify)]);
        if !rules.own_network {
            add(syscalls::BIND, &[always(SyscallAction::Notify)]);
        }
        // The flag makes a send connect implicitly. The error is that of a kernel where the feature is switched off.
        let fast_open = |flags: ArgWord| [fail(EOPNOTSUPP, [flags.has(libc::MSG_FASTOPEN)])];
        add(syscalls::SEND_FLAGS_3, &fast_open(low(3)));
        add(syscalls::SEND_FLAGS_2, &fast_open(low(2)));
    }
    if rules.notifies_writes {
        add_write_notifications(&mut add);
    }
    policy
}

fn socket_rules(rules: FilterRules) -> Vec<SyscallRule> {
    let is = |family: i32| low(0).is(family.cast_unsigned());
    let of_type = |kind: i32| low(1).equals_under_mask(SOCKET_TYPE_MASK, kind.cast_unsigned());
    let mut list = Vec::new();
    if rules.brokered {
        list.extend(connected_unix_types().map(|kind| allow([is(libc::AF_UNIX), kind])));
        list.push(fail(EPROTONOSUPPORT, [is(libc::AF_UNIX)]));
    }
    if rules.inet {
        for family in [libc::AF_INET, libc::AF_INET6] {
            list.push(deny([is(family), of_type(libc::SOCK_RAW)]));
            list.push(deny([is(family), of_type(SOCK_PACKET)]));
            list.push(allow([is(family)]));
        }
    }
    list.push(allow([is(libc::AF_NETLINK), low(2).is(libc::NETLINK_ROUTE.cast_unsigned())]));
    // The error of a kernel that was built without the family.
    list.push(always(SyscallAction::Fail(EAFNOSUPPORT)));
    list
}

fn socketpair() -> Vec<SyscallRule> {
    let unix = low(0).is(libc::AF_UNIX.cast_unsigned());
    let mut list: Vec<SyscallRule> = connected_unix_types().map(|kind| allow([unix, kind])).into();
    list.push(fail(EPROTONOSUPPORT, [unix]));
    list.push(always(SyscallAction::Fail(EOPNOTSUPP)));
    list
}

/// Returns the types of unix sockets that send only to their connected peer. All others can send to any path: the
/// kernel turns SOCK_RAW into a datagram socket too.
fn connected_unix_types() -> [ArgCondition; 2] {
    [libc::SOCK_STREAM, libc::SOCK_SEQPACKET]
        .map(|kind| low(1).equals_under_mask(SOCKET_TYPE_MASK, kind.cast_unsigned()))
}

fn device_rules(mode: u8) -> [SyscallRule; 2] {
    [libc::S_IFCHR, libc::S_IFBLK].map(|kind| deny([low(mode).equals_under_mask(libc::S_IFMT, kind)]))
}

/// Prevents root from leaving a set-id program behind.
fn add_root_rules(add: &mut impl FnMut(&[Syscall], &[SyscallRule])) {
    let no_set_id = |mode: u8| [deny([low(mode).has_bits(SET_ID_BITS)])];
    let made =
        |flags: u8| [deny([low(flags).has(libc::O_CREAT | O_TMPFILE), low(flags + 1).has_bits(SET_ID_BITS)])];
    add(syscalls::MODE_1, &no_set_id(1));
    add(arch::MODE_1, &no_set_id(1));
    add(syscalls::MODE_2, &no_set_id(2));
    add(arch::OPEN_1, &made(1));
    add(syscalls::OPEN_2, &made(2));
    // Its mode is in memory, which a filter cannot read. Callers fall back on `openat`, as on kernels before 5.6.
    add(syscalls::OPEN_HOW, &[always(SyscallAction::Fail(ENOSYS))]);
}

/// Protects other processes of the user, which are visible, from being slowed down, limited or contacted.
fn add_rules_without_namespaces(add: &mut impl FnMut(&[Syscall], &[SyscallRule])) {
    let other = low(0).has(ANY_BIT);
    add(syscalls::PRLIMIT, &[deny([other, low(2).has(ANY_BIT)]), deny([other, high(2).has(ANY_BIT)])]);
    add(syscalls::SCHEDULING, &[deny([other])]);
    // An id of 0 means the caller itself, but with "all processes of a user" it means all of the user's own.
    let of_user = |user: i32| [deny([low(0).is(user.cast_unsigned())]), deny([low(1).has(ANY_BIT)])];
    add(syscalls::SETPRIORITY, &of_user(2));
    add(syscalls::IOPRIO_SET, &of_user(IOPRIO_WHO_USER));
    add(syscalls::SHARED_IPC, &[always(DENY)]);
}

fn add_write_notifications(add: &mut impl FnMut(&[Syscall], &[SyscallRule])) {
    let writing = |flags: u8| {
        [SyscallRule { conditions: vec![low(flags).has(WRITE_FLAGS)], action: SyscallAction::Notify }]
    };
    add(arch::OPEN_1, &writing(1));
    add(syscalls::OPEN_2, &writing(2));
    add(syscalls::OPEN_HOW, &[always(SyscallAction::Notify)]);
    add(syscalls::CHANGES, &[always(SyscallAction::Notify)]);
    add(arch::CHANGES, &[always(SyscallAction::Notify)]);
    add(syscalls::NEW_CHANGES, &[always(SyscallAction::Fail(ENOSYS))]);
}

const DENY: SyscallAction = SyscallAction::Fail(EPERM);
/// Any bit: not zero.
const ANY_BIT: i32 = -1;

fn always(action: SyscallAction) -> SyscallRule {
    SyscallRule { conditions: Vec::new(), action }
}

fn allow<const N: usize>(conditions: [ArgCondition; N]) -> SyscallRule {
    SyscallRule { conditions: conditions.into(), action: SyscallAction::Allow }
}

fn deny<const N: usize>(conditions: [ArgCondition; N]) -> SyscallRule {
    fail(EPERM, conditions)
}

fn fail<const N: usize>(errno: i32, conditions: [ArgCondition; N]) -> SyscallRule {
    SyscallRule { conditions: conditions.into(), action: SyscallAction::Fail(errno) }
}

fn low(argument: u8) -> ArgWord {
    ArgWord::Low(argument)
}

fn high(argument: u8) -> ArgWord {
    ArgWord::High(argument)
}

impl ArgWord {
    fn is(self, value: u32) -> ArgCondition {
        self.equals_under_mask(u32::MAX, value)
    }

    fn equals_under_mask(self, mask: u32, value: u32) -> ArgCondition {
        ArgCondition::Is { word: self, mask, value }
    }

    fn has(self, bits: i32) -> ArgCondition {
        self.has_bits(bits.cast_unsigned())
    }

    fn has_bits(self, bits: u32) -> ArgCondition {
        ArgCondition::Has { word: self, bits }
    }
}
