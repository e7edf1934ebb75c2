//! Decides which addresses may be dialled: by default only public ones.
//!
//! A public name can resolve to any address, including the operator's own network, so the decision depends on
//! the address to be dialled, never on the name. Pure; no lookups.
//!
//! An address that a translator turns into an IPv4 address (`embedded`) is judged by that address, also in a network
//! that is allowed: an allowed prefix of a translator must not lead to loopback behind it.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv6Net};

use super::embedded::{self, NAT64_LOCAL_USE, NAT64_WELL_KNOWN};

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

/// Reason of a refused address, for the operator.
pub(super) type Objection = Cow<'static, str>;

#[derive(Clone, Debug)]
pub(super) struct AddressPolicy {
    special: Vec<(IpNet, &'static str)>,
    allowed: Vec<IpNet>,
    /// Prefixes of translators to IPv4, as configured; the well-known one included.
    nat64: Vec<Ipv6Net>,
    allow_all: bool,
}

impl AddressPolicy {
    /// Rejects addresses that are not public, except for these networks; or accepts all. Addresses with one of the
    /// prefixes of NAT64 are judged by the IPv4 address in them.
    pub(super) fn new(allow_all: bool, allowed: &[IpNet], nat64: &[Ipv6Net]) -> AddressPolicy {
        let special = SPECIAL_NETWORKS
            .iter()
            .map(|(network, what)| (network.parse().expect("every row of the table is a network"), *what))
            .collect();
        let nat64 = std::iter::once(NAT64_WELL_KNOWN).chain(nat64.iter().copied()).collect();
        AddressPolicy { special, allowed: allowed.to_vec(), nat64, allow_all }
    }

    /// Reason for rejecting an address.
    pub(super) fn objection(&self, address: IpAddr) -> Option<Objection> {
        if self.allow_all {
            return None;
        }
        if let IpAddr::V6(six) = address
            && let Some(verdict) = self.of_translated(six)
        {
            return verdict;
        }
        let is_allowed = self.allowed.iter().any(|network| network.contains(&address));
        let inner = match address {
            IpAddr::V6(six) if is_allowed => embedded::transitional(six),
            _ => None,
        };
        match inner {
            None if is_allowed => None,
            Some(inner) => self.of_inner(inner, "embedded IPv4"),
            None => self.special(address).map(Cow::Borrowed),
        }
    }

    /// The verdict on an address that NAT64 translates; none if it has no such prefix.
    fn of_translated(&self, address: Ipv6Addr) -> Option<Option<Objection>> {
        let what = "embedded IPv4 (NAT64)";
        // The longest prefix is the translator's that gets the packet.
        let prefix =
            self.nat64.iter().filter(|prefix| prefix.contains(&address)).max_by_key(|prefix| prefix.prefix_len());
        if let Some(prefix) = prefix {
            let inner = embedded::translated(address, prefix.prefix_len());
            return Some(match inner {
                Some(inner) => self.of_inner(inner, what),
                None => Some(Cow::Borrowed("embedded IPv4 (NAT64), malformed")),
            });
        }
        if !NAT64_LOCAL_USE.contains(&address) {
            return None;
        }
        // The length of the prefix is the network's own choice: every reading that can be meant has to be allowed.
        let readings = embedded::local_use_readings(address);
        if readings.is_empty() {
            return Some(Some(Cow::Borrowed("embedded IPv4 (NAT64), malformed")));
        }
        Some(readings.into_iter().find_map(|inner| self.of_inner(inner, what)))
    }

    /// Reason for rejecting an address because of the one that is embedded in it.
    fn of_inner(&self, inner: Ipv4Addr, how: &str) -> Option<Objection> {
        let address = IpAddr::V4(inner);
        if self.allowed.iter().any(|network| network.contains(&address)) {
            return None;
        }
        self.special(address).map(|what| Cow::Owned(format!("{how}: {inner} is {what}")))
    }

    fn special(&self, address: IpAddr) -> Option<&'static str> {
        self.special.iter().find(|(network, _)| network.contains(&address)).map(|(_, what)| *what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn policy(allowed: &[&str], nat64: &[&str]) -> AddressPolicy {
        let allowed: Vec<IpNet> = allowed.iter().map(|network| network.parse().unwrap()).collect();
        let nat64: Vec<Ipv6Net> = nat64.iter().map(|prefix| prefix.parse().unwrap()).collect();
        AddressPolicy::new(false, &allowed, &nat64)
    }

    fn says(policy: &AddressPolicy, address: &str) -> String {
        policy.objection(address.parse().unwrap()).unwrap_or_default().into_owned()
    }

    fn objection(address: &str) -> Option<String> {
        Some(says(&policy(&[], &[]), address)).filter(|objection| !objection.is_empty())
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
    #[case("64:ff9b::7f00:1", "embedded IPv4 (NAT64): 127.0.0.1 is loopback")]
    #[case("64:ff9b::a9fe:a9fe", "embedded IPv4 (NAT64): 169.254.169.254 is cloud metadata")]
    #[case("64:ff9b:1::7f00:1", "embedded IPv4 (NAT64): 127.0.0.1 is loopback")]
    #[case("64:ff9b:1:a00:0:100::", "embedded IPv4 (NAT64): 10.0.0.1 is private")]
    #[case("64:ff9b:1::", "embedded IPv4 (NAT64), malformed")]
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
        assert_eq!(objection(address).as_deref(), Some(why));
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
    #[case("64:ff9b::8.8.8.8")]
    #[case("64:ff9b:1::8.8.8.8")]
    fn a_public_address_is_not_refused(#[case] address: &str) {
        assert_eq!(objection(address), None);
    }

    #[test]
    fn p36_configuration_can_allow_one_network_or_all() {
        let one = policy(&["10.1.0.0/16"], &[]);
        assert_eq!(says(&one, "10.1.2.3"), "");
        assert_eq!(says(&one, "10.2.2.3"), "private");
        // Allowing an IPv4 network does not allow addresses that only an attacker would embed it in.
        assert_eq!(says(&one, "::ffff:10.1.2.3"), "embedded IPv4 (mapped)");
        assert_eq!(AddressPolicy::new(true, &[], &[]).objection("127.0.0.1".parse().unwrap()), None);
    }

    #[rstest]
    #[case("64:ff9b::/96", "64:ff9b::7f00:1", "embedded IPv4 (NAT64): 127.0.0.1 is loopback")]
    #[case("::ffff:0:0/96", "::ffff:10.1.2.3", "embedded IPv4: 10.1.2.3 is private")]
    #[case("2002::/16", "2002:7f00:1::", "embedded IPv4: 127.0.0.1 is loopback")]
    #[case("2002::/16", "2002:808:808::1", "")]
    #[case("2001::/32", "2001:0:4136:e378:8000:63bf:f5ff:fffe", "embedded IPv4: 10.0.0.1 is private")]
    fn p36_an_allowed_prefix_does_not_allow_what_is_embedded_in_it(
        #[case] allowed: &str,
        #[case] address: &str,
        #[case] objection: &str,
    ) {
        assert_eq!(says(&policy(&[allowed], &[]), address), objection);
    }

    #[test]
    fn p36_an_address_of_nat64_is_allowed_where_the_ipv4_address_is() {
        let one = policy(&["10.1.0.0/16"], &[]);
        assert_eq!(says(&one, "64:ff9b::10.1.2.3"), "");
        assert_eq!(says(&one, "64:ff9b::10.2.2.3"), "embedded IPv4 (NAT64): 10.2.2.3 is private");
    }

    #[rstest]
    #[case("2001:67c:2b0:db32::/96", "2001:67c:2b0:db32::8.8.8.8", "")]
    #[case("2001:67c:2b0:db32::/96", "2001:67c:2b0:db32::10.0.0.1", "embedded IPv4 (NAT64): 10.0.0.1 is private")]
    #[case("2001:67c:2b0::/48", "2001:67c:2b0:a00:0:100::", "embedded IPv4 (NAT64): 10.0.0.1 is private")]
    #[case("64:ff9b:1:fffe::/96", "64:ff9b:1:fffe::8.8.8.8", "")]
    #[case("fd64::/96", "fd64::8.8.8.8", "")]
    #[case("fd64::/96", "fd65::8.8.8.8", "unique local")]
    fn p36_the_networks_own_prefix_of_nat64_is_decoded(
        #[case] prefix: &str,
        #[case] address: &str,
        #[case] objection: &str,
    ) {
        assert_eq!(says(&policy(&[], &[prefix]), address), objection);
    }

    #[test]
    fn p36_a_prefix_of_local_use_that_is_not_configured_is_refused_if_any_reading_is() {
        // As /96 it is 8.8.8.8, as /48 it is 10.0.0.1 with a suffix that some translators ignore.
        assert_eq!(
            objection("64:ff9b:1:a00:0:100:808:808").as_deref(),
            Some("embedded IPv4 (NAT64): 10.0.0.1 is private")
        );
    }
}
