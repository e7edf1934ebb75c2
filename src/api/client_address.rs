//! The address of a client behind reverse proxies.
//!
//! Every proxy appends the address that it was reached from. Only entries that trusted proxies appended are true, so the
//! client is the last address that is not a trusted proxy; what stands before it may be invented.

use std::net::{IpAddr, Ipv6Addr};

use actix_web::http::header::{FORWARDED, HeaderMap, HeaderName, X_FORWARDED_FOR};
use ipnet::IpNet;

/// Entries that are read from the end; a longer chain of trusted proxies is no client's.
const HOPS_MAX: usize = 32;

/// The client's address if the peer is a trusted proxy that names one, and the peer's otherwise.
///
/// A proxy sets one of the two headers and passes the other one on as the client sent it. So if they disagree, neither
/// is believed.
pub(super) fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
    let peer = peer.to_canonical();
    if !is_trusted(peer) {
        return peer;
    }
    let named = |name: &HeaderName, read: fn(&str) -> Option<IpAddr>| {
        let hops = entries(headers, name)?.into_iter().rev().take(HOPS_MAX);
        hops.map(|entry| read(&entry)).find(|hop| !hop.is_some_and(is_trusted))?
    };
    let is_given = |name: &HeaderName| headers.contains_key(name);
    let forwarded = named(&FORWARDED, forwarded_for);
    let x_forwarded_for = named(&X_FORWARDED_FOR, address);
    match (is_given(&FORWARDED), is_given(&X_FORWARDED_FOR)) {
        (true, true) if forwarded == x_forwarded_for => forwarded,
        (true, true) => None,
        (true, false) => forwarded,
        (false, _) => x_forwarded_for,
    }
    .unwrap_or(peer)
}

/// Whether a trusted proxy says that its client came over TLS.
pub(super) fn is_https(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> bool {
    if !trusted.iter().any(|network| network.contains(&peer.to_canonical())) {
        return false;
    }
    let last = |name: &HeaderName| entries(headers, name).and_then(|entries| entries.into_iter().next_back());
    let plain = last(&HeaderName::from_static("x-forwarded-proto"));
    let in_forwarded = || {
        let entry = last(&FORWARDED)?;
        let pairs = outside_quotes(&entry, ';').into_iter().filter_map(|pair| pair.split_once('='));
        let mut named = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("proto"));
        named.next().map(|(_, value)| value.trim().trim_matches('"').to_owned())
    };
    plain.or_else(in_forwarded).is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"))
}

/// The entries of all lines of a header; none if a line is no text.
fn entries(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    let mut entries = Vec::new();
    for line in headers.get_all(name) {
        entries.extend(outside_quotes(line.to_str().ok()?, ',').into_iter().map(str::to_owned));
    }
    Some(entries)
}

/// The address in `for=` of an entry of `Forwarded` (RFC 7239); none for `unknown` and for names that hide it.
fn forwarded_for(entry: &str) -> Option<IpAddr> {
    let pairs = outside_quotes(entry, ';').into_iter().filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for")).map(|(_, value)| value.trim());
    let value = named.next().filter(|_| named.next().is_none())?;
    address(value.strip_prefix('"').map_or(Some(value), |value| value.strip_suffix('"'))?)
}

/// An address with or without a port: `192.0.2.7`, `192.0.2.7:80`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (IpAddr::V6(host.parse::<Ipv6Addr>().ok()?), port)
        }
        None => {
            let colon = text.find(':')?;
            (IpAddr::V4(text[..colon].parse().ok()?), &text[colon..])
        }
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then(|| host.to_canonical())
}

/// Splits at a character that does not stand in quotes.
fn outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let split = text.split(|character: char| {
        let was_escaped = is_escaped;
        is_escaped = is_quoted && !was_escaped && character == '\\';
        if character == '"' && !was_escaped {
            is_quoted = !is_quoted;
        }
        character == separator && !is_quoted
    });
    split.collect()
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    /// The client of a request from this peer, with these headers, behind proxies in 10.0.0.0/8 and fd00::/8.
    fn client(peer: &str, lines: &[(&str, &str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.parse().unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let trusted = ["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        client_address(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    fn check(name: &str, cases: &[(&str, &str)]) {
        for (value, expected) in cases {
            assert_eq!(client("10.0.0.1", &[(name, value)]), *expected, "{name}: {value}");
        }
    }

    #[test]
    fn the_last_address_that_is_no_trusted_proxy_is_the_client() {
        check(
            "X-Forwarded-For",
            &[
                ("192.0.2.7", "192.0.2.7"),
                ("203.0.113.9, 192.0.2.7", "192.0.2.7"),
                ("203.0.113.9, 192.0.2.7, 10.9.9.9", "192.0.2.7"),
                ("nonsense, 192.0.2.7", "192.0.2.7"),
                (" 192.0.2.7:4711 ", "192.0.2.7"),
                ("2001:db8::7", "2001:db8::7"),
                ("[2001:db8::7]:4711, fd00::1", "2001:db8::7"),
                ("::ffff:192.0.2.7", "192.0.2.7"),
            ],
        );
        check(
            "Forwarded",
            &[
                ("for=192.0.2.7", "192.0.2.7"),
                ("For=\"192.0.2.7:80\";proto=https;by=10.0.0.1", "192.0.2.7"),
                ("for=203.0.113.9, for=192.0.2.7;host=\"a,b;for=1.1.1.1\", for=10.2.2.2", "192.0.2.7"),
                ("proto=http;for=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
            ],
        );
        let two_lines = [("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-For", "192.0.2.7")];
        assert_eq!(client("10.0.0.1", &two_lines), "192.0.2.7");
    }

    #[test]
    fn a_client_cannot_invent_its_address() {
        let lines = [("X-Forwarded-For", "192.0.2.7"), ("Forwarded", "for=192.0.2.7")];
        assert_eq!(client("198.51.100.1", &lines), "198.51.100.1", "the peer is no trusted proxy");
        assert_eq!(client("10.0.0.1", &lines), "192.0.2.7", "both agree");
        let lines = [("X-Forwarded-For", "192.0.2.7"), ("Forwarded", "for=203.0.113.9")];
        assert_eq!(client("10.0.0.1", &lines), "10.0.0.1", "the proxy has set one of them");
        let lines = [("X-Forwarded-For", "192.0.2.7"), ("Forwarded", "garbage")];
        assert_eq!(client("10.0.0.1", &lines), "10.0.0.1");
        assert_eq!(client("::ffff:10.0.0.1", &[("X-Forwarded-For", "192.0.2.7")]), "192.0.2.7");
    }

    #[test]
    fn a_header_that_names_no_client_leaves_the_proxy() {
        check(
            "X-Forwarded-For",
            &[
                ("", "10.0.0.1"),
                ("10.2.2.2", "10.0.0.1"),
                ("192.0.2.7, unknown", "10.0.0.1"),
                ("192.0.2.7,", "10.0.0.1"),
            ],
        );
        check(
            "Forwarded",
            &[
                ("for=unknown", "10.0.0.1"),
                ("for=_hidden", "10.0.0.1"),
                ("for=192.0.2.7;for=192.0.2.8", "10.0.0.1"),
                ("for=\"192.0.2.7", "10.0.0.1"),
                ("proto=https", "10.0.0.1"),
                ("for=192.0.2.7:http", "10.0.0.1"),
            ],
        );
        assert_eq!(client("10.0.0.1", &[("X-Forwarded-For", "\u{e4}")]), "10.0.0.1");
        let chain = vec!["10.2.2.2"; 40].join(", ");
        assert_eq!(client("10.0.0.1", &[("X-Forwarded-For", &format!("192.0.2.7, {chain}"))]), "10.0.0.1");
    }
}
