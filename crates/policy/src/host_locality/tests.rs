//! Tests the relation of hosts to this machine with literal tables.

use super::HostLocality::{Ambiguous, BelowLocalhost, Elsewhere, Localhost, LoopbackAddress, MappedLoopback};
use super::*;

#[test]
fn each_spelling_has_its_locality() {
    for (host, expected) in [
        ("localhost", Localhost),
        ("127.0.0.1", Localhost),
        ("[::1]", Localhost),
        ("127.0.0.2", LoopbackAddress),
        ("127.255.255.255", LoopbackAddress),
        ("[0::1]", LoopbackAddress),
        ("[0:0:0:0:0:0:0:1]", LoopbackAddress),
        ("[::ffff:127.0.0.1]", MappedLoopback),
        ("[::ffff:7f00:1]", MappedLoopback),
        ("app.localhost", BelowLocalhost),
        ("a.b.localhost", BelowLocalhost),
        ("my_app.localhost", BelowLocalhost),
        ("example.org", Elsewhere),
        ("localhost.example.org", Elsewhere),
        ("localhost.evil", Elsewhere),
        ("mylocalhost", Elsewhere),
        ("127.0.0.1.example.org", Elsewhere),
        ("127-0-0-1.example.org", Elsewhere),
        ("1.1.1.1", Elsewhere),
        ("10.0.0.1", Elsewhere),
        ("169.254.169.254", Elsewhere),
        ("[2001:db8::1]", Elsewhere),
        ("2001:db8::1", Elsewhere),
        ("[fe80::1]", Elsewhere),
        ("[64:ff9b::a00:1]", Elsewhere),
    ] {
        assert_eq!(HostLocality::of(host), expected, "{host:?}");
    }
}

/// Spellings that resolvers and URL parsers read differently.
const HOSTILE_SPELLINGS: [&str; 58] = [
    "", ".", "localhost.", "localhost..", "LOCALHOST", "LocalHost", ".localhost", "a..localhost",
    "App.localhost", "app.localhost.", "app.LOCALHOST", "localhost4", "localhost6",
    "localhost6.localdomain6", "localhost.localdomain", "ip6-localhost", "IP6-loopback.", "[localhost]",
    "localhost:80", "0.0.0.0", "[::]", "[::ffff:0.0.0.0]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:808:808::80ff:fffe]", "::1", "::ffff:127.0.0.1",
    "[127.0.0.1]", "[::1", "[[::1]]", "[::1]evil.org", "[::1]:80", "[::1%lo]", "[::1%251]", "127.0.0.1.",
    "127.1", "127.0.1", "0", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "0X7F000001", "2130706433",
    "017700000001", "127.0.0.01", "127.0.0.1 ", " localhost", "localhost\0", "localhost\t.example.org",
    "user@localhost", "localhost/", "%6cocalhost", "127。0。0。1", "ｌｏｃａｌｈｏｓｔ", "ⓛocalhost",
    "loca\u{ad}lhost",
];

#[test]
fn hostile_spellings_are_neither_here_nor_elsewhere() {
    for host in HOSTILE_SPELLINGS {
        assert_eq!(HostLocality::of(host), Ambiguous, "{host:?}");
    }
}

#[test]
fn allow_lists_are_narrow_and_deny_lists_are_wide() {
    for (locality, is_loopback, may_be_here) in [
        (Localhost, true, true),
        (LoopbackAddress, true, true),
        (MappedLoopback, true, true),
        (BelowLocalhost, true, true),
        (Ambiguous, false, true),
        (Elsewhere, false, false),
    ] {
        assert_eq!(
            (locality.is_loopback(), locality.may_be_here()),
            (is_loopback, may_be_here),
            "{locality:?}"
        );
    }
}

#[test]
fn addresses_have_a_locality_too() {
    for (address, expected) in [
        ("127.0.0.1", Localhost),
        ("::1", Localhost),
        ("127.9.9.9", LoopbackAddress),
        ("::ffff:127.0.0.1", MappedLoopback),
        ("0.0.0.0", Ambiguous),
        ("::", Ambiguous),
        ("192.168.1.1", Elsewhere),
        ("8.8.8.8", Elsewhere),
    ] {
        assert_eq!(HostLocality::of_address(address.parse().unwrap()), expected, "{address}");
    }
}

#[test]
fn local_domains_have_no_internet_names() {
    for (name, expected) in [
        ("example.com", true),
        ("a.b.c", true),
        ("localhost.example.com", true),
        ("laptop", false),
        ("localhost", false),
        ("laptop.local", false),
        ("metadata.google.internal", false),
        ("localhost.localdomain", false),
        ("1.0.0.127.in-addr.arpa", false),
        ("app.localhost", false),
        ("", false),
    ] {
        assert_eq!(is_internet_name(name), expected, "{name}");
    }
}
