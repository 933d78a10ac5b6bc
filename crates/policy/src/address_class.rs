//! Classifies IP addresses: this machine, its networks, or the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of an IP address. All decisions about local, private and public addresses start from it.
///
/// An IPv4-mapped address (`::ffff:a.b.c.d`) has the class of its IPv4 address: the kernel connects to that address.
/// Other IPv6 addresses that contain an IPv4 address need a gateway. They are never [`Loopback`](Self::Loopback),
/// because their packets leave this machine, and [`Public`](Self::Public) only if the IPv4 address is.
///
/// ```
/// use toolgate_policy::AddressClass;
/// assert_eq!(AddressClass::of("::ffff:127.0.0.1".parse().unwrap()), AddressClass::Loopback);
/// assert_eq!(AddressClass::of("64:ff9b::127.0.0.1".parse().unwrap()), AddressClass::Translated);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// This machine: `127.0.0.0/8` and `::1`.
    Loopback,
    /// `0.0.0.0` and `::`: every address of this machine to a listener, and this machine to a client.
    Unspecified,
    /// A private network: `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`, `fc00::/7`, and `fec0::/10`.
    Private,
    /// The local link, with the metadata services of clouds: `169.254.0.0/16` and `fe80::/10`.
    LinkLocal,
    /// The network behind a carrier-grade NAT: `100.64.0.0/10`.
    CarrierNat,
    /// A public-looking address at which a cloud serves only its own machines: metadata, credentials, internal services.
    CloudInternal,
    /// A group of machines: `224.0.0.0/4` and `ff00::/8`.
    Multicast,
    /// An example in documents: `192.0.2.0/24`, `198.51.100.0/24`, `203.0.113.0/24`, `2001:db8::/32`, `3fff::/20`.
    Documentation,
    /// An IPv6 address that contains a non-public IPv4 address, or that a tunnel or a local gateway translates.
    Translated,
    /// Reserved for protocols, for benchmarks or for the future.
    Reserved,
    /// A machine on the public internet.
    Public,
}

impl AddressClass {
    /// Returns the class of `address`.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => classify_v4(address),
            IpAddr::V6(address) => classify_v6(address),
        }
    }

    /// Returns true if a model server at the address may be spoken to over plain HTTP, if the user allows that: the
    /// address belongs to this machine or to a private network.
    pub fn may_be_plain_http(self) -> bool {
        match self {
            Self::Loopback | Self::Private | Self::LinkLocal | Self::CarrierNat => true,
            Self::Unspecified
            | Self::CloudInternal
            | Self::Multicast
            | Self::Documentation
            | Self::Translated
            | Self::Reserved
            | Self::Public => false,
        }
    }

    /// Returns true if a packet to the address leaves this machine and its networks.
    pub fn is_public(self) -> bool {
        match self {
            // Documentation addresses belong to no network. Routers treat them as public addresses without a route.
            Self::Public | Self::Documentation => true,
            Self::Loopback
            | Self::Unspecified
            | Self::Private
            | Self::LinkLocal
            | Self::CarrierNat
            | Self::CloudInternal
            | Self::Multicast
            | Self::Translated
            | Self::Reserved => false,
        }
    }
}

fn classify_v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        [0, 0, 0, 0] => AddressClass::Unspecified,
        [127, ..] => AddressClass::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [169, 254, ..] => AddressClass::LinkLocal,
        [100, 64..=127, ..] => AddressClass::CarrierNat,
        // The Azure virtual machine host (agent configuration, DNS, DHCP), and service endpoints of IBM Cloud.
        [168, 63, 129, 16] | [161, 26, ..] | [166, 8..=11, ..] => AddressClass::CloudInternal,
        [224..=239, ..] => AddressClass::Multicast,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressClass::Documentation,
        // "This network", protocol assignments, the 6to4 relay, and benchmarking.
        [0, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => AddressClass::Reserved,
        // The future, and broadcast.
        [240..=255, ..] => AddressClass::Reserved,
        _ => AddressClass::Public,
    }
}

/// Classifies an address that is not IPv4-mapped.
fn classify_v6(address: Ipv6Addr) -> AddressClass {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressClass::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        // NAT64 with the well-known prefix, and 6to4: gateways of the internet, as public as their IPv4 address.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x2002, ..] => match embedded_v4(address).map(classify_v4) {
            Some(class) if class.is_public() => class,
            Some(_) | None => AddressClass::Translated,
        },
        // Deprecated IPv4-compatible addresses, IPv4-translated addresses, NAT64 with a local prefix, and Teredo.
        [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => AddressClass::Translated,
        [0x64, 0xff9b, ..] | [0x2001, 0, ..] => AddressClass::Translated,
        // Protocol assignments: benchmarking and identifiers.
        [0x2001, 0..=0x1ff, ..] => AddressClass::Reserved,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressClass::Documentation,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressClass::Private,
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        [0xff00..=0xffff, ..] => AddressClass::Multicast,
        // All global unicast addresses begin with the bits 001.
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Reserved,
    }
}

/// Returns the IPv4 address to which a tunnel or a gateway translates `address`. With a local NAT64 prefix
/// (`64:ff9b:1::/48`) only the gateway knows its position.
pub(crate) fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => Some(join(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => Some(join(high, low)),
        // Teredo inverts the bits of the client's address.
        [0x2001, 0, _, _, _, _, high, low] => Some(join(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
