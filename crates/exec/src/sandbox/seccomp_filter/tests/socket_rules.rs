//! Tests of filter rules about sockets: families and types, socket pairs, `connect`, `bind` and TCP Fast Open.

use libc::{
    EAFNOSUPPORT, EOPNOTSUPP, EPROTONOSUPPORT, SYS_bind, SYS_connect, SYS_sendmmsg, SYS_sendmsg, SYS_sendto,
    SYS_socket, SYS_socketpair,
};

use super::super::FilterRules;
use super::{ALLOW, ALONE, DENY, FULL, HIGH, NOTIFY, check, fails};

#[test]
fn sockets_are_made_by_family_and_type() {
    let (unix, inet, inet6, netlink) = (1, 2, 10, 16);
    let (stream, dgram, raw, rdm, seqpacket, packet) = (1, 2, 3, 4, 5, 10);
    let flags = 0o2_004_000; // SOCK_CLOEXEC | SOCK_NONBLOCK
    let (family, kind) = (fails(EAFNOSUPPORT), fails(EPROTONOSUPPORT));
    let socket = |rules, cases: &[([u64; 3], u32)]| {
        for (args, answer) in cases {
            check(rules, &[(SYS_socket, args, *answer), (SYS_socket, &args.map(|arg| arg | HIGH), *answer)]);
        }
    };
    let no_broker = FilterRules { brokered: false, ..FULL };
    let no_inet = FilterRules { inet: false, ..FULL };
    socket(FULL, &[([unix, stream, 0], ALLOW), ([unix, seqpacket | flags, 0], ALLOW)]);
    for no in [0, dgram, dgram | flags, raw, raw | flags, rdm, 6, packet, 15] {
        socket(FULL, &[([unix, no, 0], kind)]);
    }
    socket(no_broker, &[([unix, stream, 0], family), ([unix, dgram, 0], family), ([inet, stream, 0], ALLOW)]);
    for ip in [inet, inet6] {
        let mptcp = 262;
        socket(
            FULL,
            &[([ip, stream | flags, 6], ALLOW), ([ip, dgram, 0], ALLOW), ([ip, stream, mptcp], ALLOW)],
        );
        socket(FULL, &[([ip, raw, 1], DENY), ([ip, raw | flags, 1], DENY), ([ip, packet, 3], DENY)]);
        socket(no_inet, &[([ip, stream, 0], family), ([ip, dgram, 0], family), ([ip, raw, 0], family)]);
    }
    for rules in [FULL, ALONE] {
        socket(rules, &[([netlink, raw, 0], ALLOW), ([netlink, dgram | flags, 0], ALLOW)]);
        socket(
            rules,
            &[([netlink, raw, 9], family), ([netlink, raw, 12], family), ([netlink, raw, 15], family)],
        );
    }
    for other in (0..64).chain([0xffff_ffff]).filter(|other| ![unix, inet, inet6, netlink].contains(other)) {
        socket(FULL, &[([other, stream, 0], family), ([other, dgram, 0], family), ([other, raw, 0], family)]);
    }
}

#[test]
fn pairs_of_sockets_cannot_be_addressed() {
    let (kind, family) = (fails(EPROTONOSUPPORT), fails(EOPNOTSUPP));
    for rules in [FULL, ALONE] {
        check(
            rules,
            &[
                (SYS_socketpair, &[1, 1], ALLOW),
                (SYS_socketpair, &[1, 5 | 0o2_004_000], ALLOW),
                (SYS_socketpair, &[1, 2], kind),
                (SYS_socketpair, &[1, 3], kind),
                (SYS_socketpair, &[1 | HIGH, 2 | HIGH | 0o2_000_000], kind),
                (SYS_socketpair, &[2, 1], family),
                (SYS_socketpair, &[30, 5], family),
            ],
        );
    }
}

#[test]
fn connecting_is_told_and_cannot_be_hidden_in_sending() {
    const FAST_OPEN: u64 = 0x2000_0000;
    let no = fails(EOPNOTSUPP);
    check(
        FULL,
        &[
            (SYS_connect, &[3, 4096, 110], NOTIFY),
            (SYS_sendto, &[3, 4096, 1, FAST_OPEN, 4096, 16], no),
            (SYS_sendto, &[3, 4096, 1, FAST_OPEN | HIGH | 0x40, 4096, 16], no),
            (SYS_sendto, &[3, 4096, 1, 0x4000, 4096, 16], ALLOW),
            (SYS_sendmsg, &[3, 4096, FAST_OPEN], no),
            (SYS_sendmsg, &[3, 4096, 0, FAST_OPEN], ALLOW),
            (SYS_sendmmsg, &[3, 4096, 1, FAST_OPEN], no),
            (SYS_sendmmsg, &[3, 4096, FAST_OPEN], ALLOW),
        ],
    );
    // In its own network, a bound socket is known by the network.
    let shared = FilterRules { own_network: false, ..FULL };
    check(FULL, &[(SYS_bind, &[3, 4096, 110], ALLOW)]);
    check(shared, &[(SYS_bind, &[3, 4096, 110], NOTIFY)]);
    let sent: &[u64] = &[3, 4096, FAST_OPEN, FAST_OPEN];
    check(ALONE, &[(SYS_connect, &[3], ALLOW), (SYS_sendto, sent, ALLOW), (SYS_sendmsg, sent, ALLOW)]);
}
