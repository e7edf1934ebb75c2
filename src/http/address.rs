//! Decides which addresses may be dialled: by default only public ones.
//!
//! A public name can resolve to any address, including the operator's own network, so the decision depends on
//! the address to be dialled, never on the name. Pure; no lookups.

use std::net::IpAddr;

use ipnet::IpNet;

/// Networks that are not public, with the reason. The first match counts, so narrow networks
/// precede wide ones. From the IANA special-purpose registries.
const SPECIAL_NETWORKS: &[(&str, &str)] = &[
    ("0.0.0.0/8", "unspecified"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "cloud metadata"),
    ("169.254.169.254/32", "cloud metadata"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "reserved"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::ffff:0:0/96", "embedded IPv4 (mapped)"),
    ("::ffff:0:0:0/96", "embedded IPv4 (translated)"),
    ("::/96", "embedded IPv4 (compatible)"),
    ("64:ff9b::/96", "embedded IPv4 (NAT64)"),
    ("64:ff9b:1::/48", "embedded IPv4 (NAT64)"),
    ("2001::/32", "embedded IPv4 (Teredo)"),
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "embedded IPv4 (6to4)"),
    ("3fff::/20", "documentation"),
    ("fd00:ec2::254/128", "cloud metadata"),
    ("fc00::/7", "unique local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
    // IPv6 outside 2000::/3 is unassigned.
    ("::/3", "reserved"),
    ("4000::/2", "reserved"),
    ("8000::/1", "reserved"),
];

#[derive(Clone, Debug)]
pub(super) struct AddressPolicy {
    special: Vec<(IpNet, &'static str)>,
    allowed: Vec<IpNet>,
    allow_all: bool,
}

impl AddressPolicy {
    /// Rejects addresses that are not public, except for these networks; or accepts all.
    pub(super) fn new(allow_all: bool, allowed: &[IpNet]) -> AddressPolicy {
        let special = SPECIAL_NETWORKS
            .iter()
            .map(|(network, what)| (network.parse().expect("every row of the table is a network"), *what))
            .collect();
        AddressPolicy { special, allowed: allowed.to_vec(), allow_all }
    }

    /// Reason for rejecting an address.
    pub(super) fn objection(&self, address: IpAddr) -> Option<&'static str> {
        if self.allow_all || self.allowed.iter().any(|network| network.contains(&address)) {
            return None;
        }
        self.special.iter().find(|(network, _)| network.contains(&address)).map(|(_, what)| *what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn objection(address: &str) -> Option<&'static str> {
        AddressPolicy::new(false, &[]).objection(address.parse().unwrap())
    }

    #[rstest]
    #[case("0.0.0.0", "unspecified")]
    #[case("10.1.2.3", "private")]
    #[case("100.64.0.1", "carrier-grade NAT")]
    #[case("100.100.100.200", "carrier-grade NAT")]
    #[case("127.0.0.1", "loopback")]
    #[case("127.255.255.254", "loopback")]
    #[case("168.63.129.16", "cloud metadata")]
    #[case("169.254.169.254", "cloud metadata")]
    #[case("169.254.1.1", "link-local")]
    #[case("172.16.0.1", "private")]
    #[case("172.31.255.255", "private")]
    #[case("192.0.0.192", "reserved")]
    #[case("192.168.1.1", "private")]
    #[case("198.19.0.1", "benchmarking")]
    #[case("224.0.0.1", "multicast")]
    #[case("255.255.255.255", "reserved")]
    #[case("::", "unspecified")]
    #[case("::1", "loopback")]
    #[case("::ffff:127.0.0.1", "embedded IPv4 (mapped)")]
    #[case("::ffff:8.8.8.8", "embedded IPv4 (mapped)")]
    #[case("::127.0.0.1", "embedded IPv4 (compatible)")]
    #[case("64:ff9b::7f00:1", "embedded IPv4 (NAT64)")]
    #[case("64:ff9b:1::7f00:1", "embedded IPv4 (NAT64)")]
    #[case("2001:0:7f00:1::", "embedded IPv4 (Teredo)")]
    #[case("2001:db8::1", "documentation")]
    #[case("2002:7f00:1::", "embedded IPv4 (6to4)")]
    #[case("fc00::1", "unique local")]
    #[case("fd00:ec2::254", "cloud metadata")]
    #[case("fe80::1", "link-local")]
    #[case("ff02::1", "multicast")]
    #[case("100::1", "reserved")]
    #[case("5f00::1", "reserved")]
    #[case("9000::1", "reserved")]
    fn p36_an_address_that_is_not_public_is_refused(#[case] address: &str, #[case] why: &str) {
        assert_eq!(objection(address), Some(why));
    }

    #[rstest]
    #[case("1.1.1.1")]
    #[case("100.63.255.255")]
    #[case("100.128.0.1")]
    #[case("172.15.255.255")]
    #[case("172.32.0.1")]
    #[case("192.0.1.1")]
    #[case("223.255.255.255")]
    #[case("2001:4860:4860::8888")]
    #[case("2606:4700::1111")]
    #[case("3ffe::1")]
    fn a_public_address_is_not_refused(#[case] address: &str) {
        assert_eq!(objection(address), None);
    }

    #[test]
    fn p36_configuration_can_allow_one_network_or_all() {
        let one = AddressPolicy::new(false, &["10.1.0.0/16".parse().unwrap()]);
        assert_eq!(one.objection("10.1.2.3".parse().unwrap()), None);
        assert_eq!(one.objection("10.2.2.3".parse().unwrap()), Some("private"));
        // Allowing an IPv4 network does not allow IPv6 addresses that embed it.
        assert_eq!(one.objection("::ffff:10.1.2.3".parse().unwrap()), Some("embedded IPv4 (mapped)"));
        assert_eq!(AddressPolicy::new(true, &[]).objection("127.0.0.1".parse().unwrap()), None);
    }
}
