//! Tests host patterns with literal tables and property tests.

use proptest::prelude::*;

use super::*;

fn host(text: &str) -> HostPattern {
    text.parse().unwrap()
}

#[test]
fn parses_hosts_and_displays_them_canonically() {
    for (text, spelled) in [
        ("example.org", "example.org"),
        ("Example.ORG.", "example.org"),
        ("example.org:443", "example.org:443"),
        ("*.example.org", "*.example.org"),
        ("*.Example.org:8080", "*.example.org:8080"),
        ("localhost:3000", "localhost:3000"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("1and1.example", "1and1.example"),
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:80", "192.0.2.7:80"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("[::ffff:192.0.2.7]:80", "192.0.2.7:80"),
    ] {
        assert_eq!(host(text).to_string(), spelled, "{text}");
        assert_eq!(host(spelled), host(text), "{text}");
    }
}

#[test]
fn rejects_text_that_is_no_host() {
    for text in [
        "", ".", "*", "*.", "a..b", ".example.org", "*example.org", "a.*.org", "*.*.org",
        "https://example.org", "example.org/", "user@example.org", "example.org:0", "example.org:65536",
        "example.org:+80", "example.org:", "-a.org", "a-.org", "a_b.org", "b\u{fc}cher.example", "a\0b.org",
        "a b.org", "127.1", "2130706433", "0x7f.0x1", "*.1", "[192.0.2.7]:80", "[2001:db8::1",
        "fe80::1%eth0", "[fe80::1%1]:80",
    ] {
        assert!(text.parse::<HostPattern>().is_err(), "{text:?}");
    }
    assert!(format!("{}.org", "a".repeat(64)).parse::<HostPattern>().is_err());
    assert!(["a"; 128].join(".").parse::<HostPattern>().is_err());
}

#[test]
fn faults_name_the_problem() {
    for (text, why) in [
        ("https://example.org", "what follows `:` is a port from 1 to 65535"),
        ("*", "`*` may only stand before a whole name, for the hosts below it"),
        ("a_b.org", "a name is letters, digits and hyphens between dots, in its ASCII spelling"),
        ("127.1", "it looks like an IP address but is not one"),
    ] {
        let e_g = "write e.g. `example.org`, `example.org:443`, `*.example.org`, `192.0.2.7` or `[2001:db8::1]:443`";
        let said = text.parse::<HostPattern>().unwrap_err().to_string();
        assert_eq!(said, format!("`{text}` is not a host: {why}; {e_g}"));
    }
}

#[test]
fn pattern_covers_names_addresses_and_ports() {
    for (text, name, port, covers) in [
        ("example.org", "example.org", 443, true),
        ("example.org", "EXAMPLE.org.", 1, true),
        ("example.org", "www.example.org", 443, false),
        ("example.org", "example.org.evil.net", 443, false),
        ("example.org", "badexample.org", 443, false),
        ("example.org:443", "example.org", 443, true),
        ("example.org:443", "example.org", 80, false),
        ("*.example.org", "example.org", 443, false),
        ("*.example.org", ".example.org", 443, false),
        ("*.example.org", "a.example.org", 443, true),
        ("*.example.org", "a.b.example.org", 443, true),
        ("*.example.org", "a?b.example.org", 443, false),
        ("*.example.org", "a\0.example.org", 443, false),
        ("*.example.org", "a..example.org", 443, false),
        ("*.example.org", "\u{e9}.example.org", 443, false),
        ("*.example.org", "badexample.org", 443, false),
        ("*.example.org", "\u{1f980}ample.org", 443, false),
        ("192.0.2.7", "192.0.2.7", 443, true),
        ("192.0.2.7", "::ffff:192.0.2.7", 443, true),
        ("192.0.2.7", "192.0.2.77", 443, false),
        ("192.0.2.7:80", "192.0.2.7", 443, false),
        ("[2001:db8::1]:443", "2001:DB8:0::1", 443, true),
        ("2001:db8::1", "[2001:db8::1]", 443, true),
        ("example.org", "192.0.2.7", 443, false),
        ("192.0.2.7", "example.org", 443, false),
    ] {
        assert_eq!(host(text).covers(name, port), covers, "{text} {name:?} {port}");
    }
}

#[test]
fn forbidding_beats_allowing() {
    let hosts = HostRules {
        allow: vec![host("*.example.org"), host("192.0.2.7"), host("one.net:443")],
        forbid: vec![host("secret.example.org"), host("*.example.org:22"), host("192.0.2.7:22")],
    };
    for (name, port, may) in [
        ("a.example.org", 443, true),
        ("a.example.org", 22, false),
        ("secret.example.org", 443, false),
        ("192.0.2.7", 80, true),
        ("192.0.2.7", 22, false),
        ("one.net", 443, true),
        ("one.net", 80, false),
        ("two.net", 443, false),
    ] {
        assert_eq!(hosts.may_reach(name, port), may, "{name} {port}");
    }
    for (name, may) in
        [("a.example.org", true), ("secret.example.org", false), ("one.net", true), ("two.net", false)]
    {
        assert_eq!(hosts.may_reach_some_port(name), may, "{name}");
    }
    assert!(!HostRules::default().may_reach("a.example.org", 443));
}

#[test]
fn a_name_leads_inside_only_where_the_list_says_so() {
    let hosts = HostRules {
        allow: vec![
            host("example.org"),
            host("*.example.org"),
            host("localhost:80"),
            host("app.localhost"),
            host("10.0.0.5:443"),
        ],
        forbid: vec![host("203.0.113.9")],
    };
    for (name, address, port, may) in [
        ("example.org", "203.0.113.8", 443, true),
        ("example.org", "203.0.113.9", 443, false),
        ("example.org", "127.0.0.1", 80, false),
        ("example.org", "169.254.169.254", 80, false),
        ("example.org", "168.63.129.16", 80, false),
        ("example.org", "192.168.1.1", 443, false),
        ("example.org", "10.0.0.5", 443, true),
        ("example.org", "10.0.0.5", 80, false),
        ("a.example.org", "::1", 443, false),
        ("a.example.org", "::ffff:127.0.0.1", 443, false),
        ("localhost", "127.0.0.1", 80, true),
        ("localhost", "::1", 80, true),
        ("localhost", "127.0.0.1", 81, false),
        ("localhost", "192.168.1.1", 80, false),
        ("app.localhost", "127.0.0.1", 81, true),
        ("10.0.0.5", "10.0.0.5", 443, true),
        ("other.net", "203.0.113.8", 443, false),
    ] {
        assert_eq!(
            hosts.may_reach_address(name, SocketAddr::new(address.parse().unwrap(), port)),
            may,
            "{name} {address} {port}"
        );
    }
}

#[test]
fn distinguishes_public_addresses() {
    for (address, public) in [
        ("8.8.8.8", true),
        ("100.63.0.1", true),
        ("172.32.0.1", true),
        ("0.0.0.0", false),
        ("0.1.2.3", false),
        ("10.1.2.3", false),
        ("100.64.0.1", false),
        ("127.0.0.1", false),
        ("169.254.169.254", false),
        ("172.16.0.1", false),
        ("192.168.0.1", false),
        ("192.0.0.8", false),
        ("198.19.0.1", false),
        ("224.0.0.1", false),
        ("255.255.255.255", false),
        // Addresses that clouds serve to their own machines.
        ("168.63.129.16", false),
        ("168.63.129.17", true),
        ("::ffff:168.63.129.16", false),
        ("64:ff9b::a83f:8110", false),
        ("2002:a83f:8110::1", false),
        ("100.100.100.200", false),
        ("169.254.170.2", false),
        ("192.0.0.192", false),
        ("161.26.0.10", false),
        ("166.9.14.5", false),
        ("166.12.0.1", true),
        ("192.88.99.1", false),
        ("2606:4700::1111", true),
        ("::", false),
        ("::1", false),
        ("::ffff:10.0.0.1", false),
        ("::ffff:8.8.8.8", true),
        ("::8.8.8.8", false),
        ("64:ff9b::a00:1", false),
        ("64:ff9b::808:808", true),
        ("64:ff9b:1::1", false),
        ("2002:a00:1::1", false),
        ("2001::1", false),
        ("2001:2::1", false),
        ("2001:20::1", false),
        ("2001:4860:4860::8888", true),
        ("fd20:ce::254", false),
        ("fc00::1", false),
        ("fd00:ec2::254", false),
        ("fe80::1", false),
        ("fec0::1", false),
        ("ff02::1", false),
    ] {
        assert_eq!(AddressClass::of(address.parse().unwrap()).is_public(), public, "{address}");
    }
}

proptest! {
    /// Law: no text panics, and a parsed host survives formatting and parsing.
    #[test]
    fn any_text(text in "\\PC{0,40}", name in "\\PC{0,40}", port: u16) {
        if let Ok(host) = text.parse::<HostPattern>() {
            prop_assert_eq!(&host.to_string().parse::<HostPattern>().unwrap(), &host);
            let _may = host.covers(&name, port);
        }
    }

    /// Law: a wildcard covers exactly the names that end in a dot and its domain.
    #[test]
    fn below_is_below(label in "[a-z0-9]{1,8}", above in "[a-z]{1,8}\\.[a-z]{2,4}", other in "[a-z]{1,8}\\.[a-z]{2,4}") {
        let wild = host(&format!("*.{above}"));
        let (below, beside) = (format!("{label}.{above}"), format!("{label}{above}"));
        let elsewhere = format!("{label}.{other}");
        prop_assert!(wild.covers(&below, 1));
        prop_assert!(!wild.covers(&above, 1));
        prop_assert!(!wild.covers(&beside, 1));
        prop_assert!(other == above || !wild.covers(&elsewhere, 1));
    }

    /// Law: forbidding one more host never makes more reachable.
    #[test]
    fn forbidding_never_loosens(name in "[ab]\\.[ab]", port in 1..3_u16, allow in "(\\*\\.)?[ab](\\.[ab])?(:[12])?", forbid in "(\\*\\.)?[ab](\\.[ab])?(:[12])?") {
        let open = HostRules { allow: vec![host(&allow)], forbid: Vec::new() };
        let closed = HostRules { forbid: vec![host(&forbid)], ..open.clone() };
        prop_assert!(open.may_reach(&name, port) || !closed.may_reach(&name, port));
        prop_assert!(open.may_reach_some_port(&name) || !open.may_reach(&name, port));
    }
}
