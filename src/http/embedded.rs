//! IPv4 addresses inside IPv6 addresses: translators (NAT64, RFC 6052 and 8215) and transition mechanisms. Pure.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::Ipv6Net;

/// The well-known prefix of NAT64.
pub(super) const NAT64_WELL_KNOWN: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
/// Prefixes of NAT64 for local use, of any length, are within this one.
pub(super) const NAT64_LOCAL_USE: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48);

/// Lengths that a prefix of NAT64 can have.
pub const NAT64_PREFIX_LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];

/// The IPv4 address behind a prefix of this length (RFC 6052, 2.2). Bits 64 to 71 are not part of it; an address in which
/// they are set is none of a translator with a prefix of up to 64 bits.
pub(super) fn translated(address: Ipv6Addr, prefix_length: u8) -> Option<Ipv4Addr> {
    let bytes = address.octets();
    if prefix_length == 96 {
        return Some(Ipv4Addr::new(bytes[12], bytes[13], bytes[14], bytes[15]));
    }
    if !NAT64_PREFIX_LENGTHS.contains(&prefix_length) || bytes[8] != 0 {
        return None;
    }
    let start = usize::from(prefix_length / 8);
    let mut places = (start..).filter(|place| *place != 8).map(|place| bytes[place]);
    let mut next = || places.next().unwrap_or_default();
    Some(Ipv4Addr::new(next(), next(), next(), next()))
}

/// The IPv4 addresses that an address under the prefix of local use can mean. An address of 0.0.0.0/8 is no host, so it
/// is not meant.
pub(super) fn local_use_readings(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    [48, 56, 64, 96]
        .into_iter()
        .filter_map(|length| translated(address, length))
        .filter(|inner| inner.octets()[0] != 0)
        .collect()
}

/// The IPv4 address inside a mapped, translated, compatible, 6to4 or Teredo address.
pub(super) fn transitional(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let last = |bits: u32| Ipv4Addr::from_bits(bits);
    let bytes = address.octets();
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            Some(last(u32::from(high) << 16 | u32::from(low)))
        }
        // :: and ::1 have a meaning of their own.
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => Some(last(u32::from(high) << 16 | u32::from(low))),
        [0x2002, high, low, ..] => Some(last(u32::from(high) << 16 | u32::from(low))),
        // The client behind Teredo's relay, with every bit inverted.
        [0x2001, 0, ..] => Some(Ipv4Addr::new(!bytes[12], !bytes[13], !bytes[14], !bytes[15])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// The examples of RFC 6052, 2.4.
    #[rstest]
    #[case("2001:db8:c000:221::", 32)]
    #[case("2001:db8:1c0:2:21::", 40)]
    #[case("2001:db8:122:c000:2:2100::", 48)]
    #[case("2001:db8:122:3c0:0:221::", 56)]
    #[case("2001:db8:122:344:c0:2:2100::", 64)]
    #[case("2001:db8:122:344::192.0.2.33", 96)]
    fn the_examples_of_rfc_6052_are_decoded(#[case] address: &str, #[case] length: u8) {
        assert_eq!(translated(address.parse().unwrap(), length), Some(Ipv4Addr::new(192, 0, 2, 33)));
    }

    #[test]
    fn what_no_translator_makes_is_not_decoded() {
        assert_eq!(translated("2001:db8:122:344:1c0:2:2100::".parse().unwrap(), 64), None);
        assert_eq!(translated("2001:db8::".parse().unwrap(), 33), None);
    }

    #[rstest]
    #[case("::ffff:8.8.8.8", Some("8.8.8.8"))]
    #[case("::ffff:0:8.8.8.8", Some("8.8.8.8"))]
    #[case("::8.8.8.8", Some("8.8.8.8"))]
    #[case("2002:808:808::1", Some("8.8.8.8"))]
    #[case("2001:0:4136:e378:8000:63bf:3fff:fdd2", Some("192.0.2.45"))]
    #[case("::1", None)]
    #[case("2001:db8::1", None)]
    fn an_address_of_a_transition_mechanism_is_decoded(#[case] address: &str, #[case] inner: Option<&str>) {
        assert_eq!(transitional(address.parse().unwrap()), inner.map(|inner| inner.parse().unwrap()));
    }
}
