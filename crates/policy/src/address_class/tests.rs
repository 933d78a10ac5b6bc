//! Tests the classes of addresses with a literal table and property tests.

use proptest::prelude::*;

use super::AddressClass::{
    CarrierNat, CloudInternal, Documentation, LinkLocal, Loopback, Multicast, Private, Public, Reserved,
    Translated, Unspecified,
};
use super::*;

fn class(text: &str) -> AddressClass {
    AddressClass::of(text.parse().unwrap())
}

#[test]
fn every_ipv4_range_has_its_class_up_to_its_borders() {
    for (address, expected) in [
        ("0.0.0.0", Unspecified),
        ("0.0.0.1", Reserved),
        ("0.255.255.255", Reserved),
        ("1.0.0.0", Public),
        ("1.1.1.1", Public),
        ("9.255.255.255", Public),
        ("10.0.0.0", Private),
        ("10.255.255.255", Private),
        ("11.0.0.0", Public),
        ("100.63.255.255", Public),
        ("100.64.0.0", CarrierNat),
        ("100.100.100.200", CarrierNat),
        ("100.127.255.255", CarrierNat),
        ("100.128.0.0", Public),
        ("126.255.255.255", Public),
        ("127.0.0.0", Loopback),
        ("127.0.0.1", Loopback),
        ("127.255.255.255", Loopback),
        ("128.0.0.0", Public),
        ("161.26.0.10", CloudInternal),
        ("166.7.255.255", Public),
        ("166.8.0.0", CloudInternal),
        ("166.11.255.255", CloudInternal),
        ("166.12.0.0", Public),
        ("168.63.129.15", Public),
        ("168.63.129.16", CloudInternal),
        ("169.253.255.255", Public),
        ("169.254.0.0", LinkLocal),
        ("169.254.169.254", LinkLocal),
        ("169.255.0.0", Public),
        ("172.15.255.255", Public),
        ("172.16.0.0", Private),
        ("172.31.255.255", Private),
        ("172.32.0.0", Public),
        ("192.0.0.192", Reserved),
        ("192.0.1.1", Public),
        ("192.0.2.7", Documentation),
        ("192.88.99.1", Reserved),
        ("192.167.255.255", Public),
        ("192.168.0.0", Private),
        ("192.168.255.255", Private),
        ("192.169.0.0", Public),
        ("198.17.255.255", Public),
        ("198.18.0.0", Reserved),
        ("198.19.255.255", Reserved),
        ("198.20.0.0", Public),
        ("198.51.100.1", Documentation),
        ("203.0.113.1", Documentation),
        ("223.255.255.255", Public),
        ("224.0.0.1", Multicast),
        ("239.255.255.255", Multicast),
        ("240.0.0.1", Reserved),
        ("255.255.255.255", Reserved),
    ] {
        assert_eq!(class(address), expected, "{address}");
    }
}

#[test]
fn every_ipv6_range_has_its_class_up_to_its_borders() {
    for (address, expected) in [
        ("::", Unspecified),
        ("::1", Loopback),
        ("0:0:0:0:0:0:0:1", Loopback),
        ("::2", Translated),
        ("1::1", Reserved),
        ("100::1", Reserved),
        ("1fff:ffff::", Reserved),
        ("2000::1", Public),
        ("2001:1::1", Reserved),
        ("2001:2::1", Reserved),
        ("2001:20::1", Reserved),
        ("2001:1ff::1", Reserved),
        ("2001:200::1", Public),
        ("2001:4860:4860::8888", Public),
        ("2001:db7:ffff::1", Public),
        ("2001:db8::1", Documentation),
        ("2001:db9::1", Public),
        ("2606:4700::1111", Public),
        ("3fff:fff::1", Documentation),
        ("3fff:1000::1", Public),
        ("4000::1", Reserved),
        ("5f00::1", Reserved),
        ("fbff::1", Reserved),
        ("fc00::1", Private),
        ("fd00:ec2::254", Private),
        ("fdff::1", Private),
        ("fe00::1", Reserved),
        ("fe80::1", LinkLocal),
        ("febf::1", LinkLocal),
        ("fec0::1", Private),
        ("feff::1", Private),
        ("ff02::1", Multicast),
        ("ffff::1", Multicast),
    ] {
        assert_eq!(class(address), expected, "{address}");
    }
}

/// Addresses that hide an IPv4 address.
#[test]
fn an_ipv4_address_inside_ipv6_is_found() {
    for (address, expected) in [
        ("::ffff:127.0.0.1", Loopback),
        ("::ffff:7f00:1", Loopback),
        ("0:0:0:0:0:ffff:7fff:ffff", Loopback),
        ("::ffff:0.0.0.0", Unspecified),
        ("::ffff:10.0.0.1", Private),
        ("::ffff:169.254.169.254", LinkLocal),
        ("::ffff:a9fe:a9fe", LinkLocal),
        ("::ffff:100.64.0.1", CarrierNat),
        ("::ffff:168.63.129.16", CloudInternal),
        ("::ffff:8.8.8.8", Public),
        // IPv4-compatible and IPv4-translated.
        ("::127.0.0.1", Translated),
        ("::7f00:1", Translated),
        ("::8.8.8.8", Translated),
        ("::ffff:0:127.0.0.1", Translated),
        ("::ffff:0:8.8.8.8", Translated),
        // NAT64.
        ("64:ff9b::127.0.0.1", Translated),
        ("64:ff9b::0.0.0.0", Translated),
        ("64:ff9b::10.0.0.1", Translated),
        ("64:ff9b::a9fe:a9fe", Translated),
        ("64:ff9b::168.63.129.16", Translated),
        ("64:ff9b::8.8.8.8", Public),
        ("64:ff9b::203.0.113.8", Documentation),
        ("64:ff9b:0:0:0:1:808:808", Translated),
        ("64:ff9b:1::8.8.8.8", Translated),
        ("64:ff9b:1:ffff:ffff:ffff:127.0.0.1", Translated),
        ("64:ff9b:2::1", Translated),
        ("64:ff9a::8.8.8.8", Reserved),
        // 6to4.
        ("2002:7f00:1::1", Translated),
        ("2002:a00:1::1", Translated),
        ("2002:a9fe:a9fe::", Translated),
        ("2002:808:808::1", Public),
        // Teredo: a server of the internet and an inverted client.
        ("2001::1", Translated),
        ("2001:0:808:808::80ff:fffe", Translated),
    ] {
        assert_eq!(class(address), expected, "{address}");
    }
}

proptest! {
    /// Law: an IPv4-mapped address has the class of its IPv4 address.
    #[test]
    fn mapping_keeps_the_class(bits: u32) {
        let address = Ipv4Addr::from(bits);
        prop_assert_eq!(AddressClass::of(address.to_ipv6_mapped().into()), AddressClass::of(address.into()));
    }

    /// Law: a gateway makes no address public that is not, and none loopback.
    #[test]
    fn translation_never_loosens(bits: u32, prefix in 0..5_usize) {
        let (inner, bits) = (AddressClass::of(Ipv4Addr::from(bits).into()), u128::from(bits));
        let translated = [
            bits,
            (0xffff << 48) | bits,
            (0x64_ff9b << 96) | bits,
            (0x64_ff9b_0001 << 80) | bits,
            (0x2002 << 112) | (bits << 80),
        ][prefix];
        let class = AddressClass::of(Ipv6Addr::from(translated).into());
        prop_assert!(!class.is_public() || inner.is_public());
        prop_assert!(class != Loopback || translated == 1);
    }

    /// Law: the standard library calls no public address loopback, private, link-local, multicast or unspecified.
    #[test]
    fn public_is_never_local_to_the_standard_library(v4: u32, v6: u128) {
        for address in [IpAddr::V4(v4.into()), IpAddr::V6(v6.into())] {
            let local = address.is_loopback() || address.is_multicast() || address.is_unspecified();
            let inside = match address {
                IpAddr::V4(address) => address.is_private() || address.is_link_local(),
                IpAddr::V6(address) => address.is_unique_local() || address.is_unicast_link_local(),
            };
            prop_assert!(!(local || inside) || !AddressClass::of(address).is_public());
        }
    }
}
