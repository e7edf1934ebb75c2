//! Hosts, addresses, networks and URLs.

use std::net::{IpAddr, SocketAddr};

use ::config::ValueKind;
use ipnet::IpNet;
use url::{Host, Url};

use super::kind::{MASK, Raw};
use super::problem::quoted;
use super::scalar::{described, text};
use crate::actors::{Fault, NotAFault};
use crate::http::NAT64_PREFIX_LENGTHS;

/// The longest name that DNS carries.
const HOST_BYTES_MAX: usize = 253;
/// The longest part of a name between two dots.
const LABEL_BYTES_MAX: usize = 63;
/// The most networks in one list.
const LIST_MAX: usize = 1024;

/// The one spelling of a host under which it is looked up: lower case, punycode, no dot at the end.
pub(super) fn canonical_host(spelling: &str) -> Result<String, String> {
    let wrong = |hint: &str| format!("{} is not a host's name; {hint}", quoted(spelling));
    if let Some(host) =
        spelling.contains('/').then(|| Url::parse(spelling).ok()).flatten().as_ref().and_then(Url::host_str)
    {
        return Err(wrong(&format!("write the host alone: {host}")));
    }
    if spelling.contains('*') {
        return Err(wrong("there are no wildcards, so name each host"));
    }
    if spelling.parse::<std::net::Ipv6Addr>().is_ok() {
        return Err(wrong(&format!("write an IPv6 address in brackets: [{spelling}]")));
    }
    let generic = "write one such as feeds.example.org, without scheme, port or path";
    let host = Host::parse(spelling.strip_suffix('.').unwrap_or(spelling)).map_err(|_| wrong(generic))?;
    match &host {
        Host::Domain(name) if !is_plausible(name) => Err(wrong(generic)),
        // The same machine under its IPv4 address, which is how the rules spell it.
        Host::Ipv6(address) => {
            Ok(address.to_ipv4_mapped().map_or_else(|| host.to_string(), |mapped| mapped.to_string()))
        }
        _ => Ok(host.to_string()),
    }
}

/// Where the operator can be reached, or nothing.
pub(super) fn contact_url(raw: Raw<'_>) -> Result<Option<Url>, String> {
    let right = "write an https://, http:// or mailto: address that reaches you, or \"\" for none";
    let given = text(raw)?.trim();
    if given.is_empty() {
        return Ok(None);
    }
    Url::parse(given)
        .ok()
        .filter(|url| ["https", "http", "mailto"].contains(&url.scheme()) && url.password().is_none())
        .map(Some)
        .ok_or_else(|| format!("{} is no address of this kind; {right}", quoted(&without_password(given))))
}

/// Where a service is: what its paths follow.
pub(super) fn base_url(raw: Raw<'_>) -> Result<Url, String> {
    let given = text(raw)?.trim();
    let is_base = |url: &Url| {
        matches!(url.scheme(), "https" | "http")
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    };
    Url::parse(given).ok().filter(is_base).ok_or_else(|| {
        let shown = quoted(&without_password(given));
        format!("{shown} is not where a service is; write https://host or https://host/path, and nothing after it")
    })
}

/// A proxy, or nothing.
pub(super) fn proxy_url(raw: Raw<'_>) -> Result<Option<Url>, String> {
    let given = text(raw)?.trim();
    if given.is_empty() {
        return Ok(None);
    }
    Url::parse(given)
        .ok()
        .filter(|url| ["http", "socks5"].contains(&url.scheme()) && url.host_str().is_some_and(|host| !host.is_empty()))
        .map(Some)
        .ok_or_else(|| {
            let shown = quoted(&without_password(given));
            format!("{shown} is not a proxy; write http://host:port or socks5://host:port, or \"\" for none")
        })
}

/// Where hubs reach this program, or nothing.
pub(super) fn callback_url(raw: Raw<'_>) -> Result<Option<Url>, String> {
    if text(raw)?.trim().is_empty() {
        return Ok(None);
    }
    let wrong = |_| {
        let shown = quoted(&without_password(text(raw).unwrap_or_default()));
        format!(
            "{shown} is nothing that hubs could push to; write https://host or https://host/path, and nothing after it, \
             or \"\" for none"
        )
    };
    base_url(raw).map(Some).map_err(wrong)
}

/// What a probe asks, or nothing.
pub(super) fn probe_url(raw: Raw<'_>) -> Result<Option<Url>, String> {
    let given = text(raw)?.trim();
    if given.is_empty() {
        return Ok(None);
    }
    let is_plain =
        |url: &Url| matches!(url.scheme(), "https" | "http") && url.username().is_empty() && url.password().is_none();
    Url::parse(given).ok().filter(is_plain).map(Some).ok_or_else(|| {
        let shown = quoted(&without_password(given));
        format!(
            "{shown} is nothing to ask; write http://host/path or https://host/path, without a login, or \"\" for none"
        )
    })
}

/// A list of networks: a list in a file, commas elsewhere.
pub(super) fn networks(raw: Raw<'_>) -> Result<Vec<IpNet>, String> {
    let right = "write networks such as 10.1.0.0/16 or fd00::/8";
    let words = list(raw, &ListWords { one: "a network", many: "networks", right, example: "[10.1.0.0/16]" })?;
    words
        .into_iter()
        .map(|word| {
            network(word).map_err(|hint| {
                format!("{} is not a network; {}", quoted(word), hint.unwrap_or_else(|| right.to_owned()))
            })
        })
        .collect()
}

/// A list of host names, each in its one spelling: a list in a file, commas elsewhere. Addresses need no mention.
pub(super) fn host_names(raw: Raw<'_>) -> Result<Vec<String>, String> {
    let right = "write names such as feeds.example.org";
    let words =
        list(raw, &ListWords { one: "a host name", many: "host names", right, example: "[feeds.example.org]" })?;
    words.into_iter().map(canonical_host).collect()
}

/// A list of prefixes of NAT64, each of a length that RFC 6052 knows.
pub(super) fn nat64_prefixes(raw: Raw<'_>) -> Result<Vec<IpNet>, String> {
    let prefixes = networks(raw)?;
    let wrong = |prefix: &&IpNet| match prefix {
        IpNet::V4(_) => true,
        IpNet::V6(prefix) => !NAT64_PREFIX_LENGTHS.contains(&prefix.prefix_len()),
    };
    match prefixes.iter().find(wrong) {
        None => Ok(prefixes),
        Some(prefix) => Err(format!(
            "{} is not a prefix of NAT64; write an IPv6 network of 32, 40, 48, 56, 64 or 96 bits, such as \
             2001:db8:64::/96",
            quoted(&prefix.to_string())
        )),
    }
}

/// A list of faults: a list in a file, commas elsewhere.
pub(super) fn faults(raw: Raw<'_>) -> Result<Vec<Fault>, String> {
    let example = "[host/PollSource=panic@0.01]";
    let right = "write faults such as host/PollSource=panic@0.01";
    let words = list(raw, &ListWords { one: "a fault", many: "faults", right, example })?;
    words.into_iter().map(|word| word.parse().map_err(|error: NotAFault| error.to_string())).collect()
}

/// How to complain about a list.
struct ListWords {
    one: &'static str,
    many: &'static str,
    right: &'static str,
    example: &'static str,
}

/// The words of a list: a list in a file, commas elsewhere.
fn list<'a>(raw: Raw<'a>, say: &ListWords) -> Result<Vec<&'a str>, String> {
    let words: Vec<&str> = match raw {
        Raw::Words(text) => text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
        Raw::Typed(ValueKind::Array(values)) => values
            .iter()
            .map(|value| match &value.kind {
                ValueKind::String(text) => Ok(text.trim()),
                other => Err(format!("{} is not {}; {}", described(other), say.one, say.right)),
            })
            .collect::<Result<_, _>>()?,
        Raw::Typed(other) => {
            return Err(format!("{} is not a list; write one such as {}", described(other), say.example));
        }
    };
    if words.len() > LIST_MAX {
        return Err(format!("{} {} are too many; write at most {LIST_MAX}", words.len(), say.many));
    }
    Ok(words)
}

pub(super) fn address(raw: Raw<'_>) -> Result<IpAddr, String> {
    let given = text(raw)?.trim();
    given
        .parse()
        .map_err(|_| format!("{} is not an IP address; write one such as 192.0.2.7 or 2001:db8::7", quoted(given)))
}

/// An IP address with a port, or nothing.
pub(super) fn listen(raw: Raw<'_>) -> Result<Option<SocketAddr>, String> {
    let given = text(raw)?.trim();
    if given.is_empty() {
        return Ok(None);
    }
    given.parse().map(Some).map_err(|_| {
        format!(
            "{} is not an IP address with a port; write one such as 127.0.0.1:8080 or [::1]:8080, or \"\" for none",
            quoted(given)
        )
    })
}

/// A URL to be shown.
pub(super) fn masked(url: &Url) -> String {
    without_password(url.as_str())
}

/// Hides everything between the first colon behind `//` and the last `@`. It may hide too much of a strange URL, but
/// never too little, whatever characters a password has that a URL should not.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    match (rest.find(':'), rest.rfind('@')) {
        (Some(colon), Some(at)) if colon < at => format!("{scheme}://{}:{MASK}{}", &rest[..colon], &rest[at..]),
        _ => url.to_owned(),
    }
}

/// Reads one network. An address with bits behind the prefix is a slip that could open too much, so it is refused.
fn network(word: &str) -> Result<IpNet, Option<String>> {
    let network: IpNet = word.parse().map_err(|_| {
        let single = word.parse::<IpAddr>().ok()?;
        Some(format!("for this address alone write {}", IpNet::from(single)))
    })?;
    if network.trunc() == network {
        Ok(network)
    } else {
        Err(Some(format!("the network around it is {}", network.trunc())))
    }
}

/// Whether DNS could carry the name: `url` lets pass what no resolver would.
fn is_plausible(name: &str) -> bool {
    name.len() <= HOST_BYTES_MAX
        && name.split('.').all(|label| {
            (1..=LABEL_BYTES_MAX).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("nitter.net", "nitter.net")]
    #[case("NITTER.Net", "nitter.net")]
    #[case("nitter.net.", "nitter.net")]
    #[case("bücher.example", "xn--bcher-kva.example")]
    #[case("192.0.2.7", "192.0.2.7")]
    #[case("[2001:DB8::7]", "[2001:db8::7]")]
    #[case("[::ffff:192.0.2.7]", "192.0.2.7")]
    #[case("localhost", "localhost")]
    fn a_host_has_one_spelling(#[case] spelling: &str, #[case] canonical: &str) {
        assert_eq!(canonical_host(spelling).unwrap(), canonical);
    }

    #[rstest]
    #[case::url("https://nitter.net/feed", "write the host alone: nitter.net")]
    #[case::port("nitter.net:8080", "without scheme, port or path")]
    #[case::wildcard("*.nitter.net", "no wildcards")]
    #[case::gap("nitter..net", "without scheme")]
    #[case::empty("", "without scheme")]
    #[case::space("nitter net", "without scheme")]
    #[case::bare_ipv6("::1", "in brackets: [::1]")]
    fn what_is_no_host_is_refused_with_a_remedy(#[case] spelling: &str, #[case] remedy: &str) {
        let complaint = canonical_host(spelling).unwrap_err();
        assert!(complaint.contains(remedy), "{complaint}");
    }

    #[test]
    fn networks_are_read_from_words_and_from_lists() {
        let words = networks(Raw::Words("10.0.0.0/8, fd00::/8")).unwrap();
        let list = ValueKind::Array(vec!["10.0.0.0/8".into(), "fd00::/8".into()]);
        assert_eq!(networks(Raw::Typed(&list)).unwrap(), words);
        assert_eq!(networks(Raw::Words("")).unwrap(), Vec::<IpNet>::new());
    }

    #[rstest]
    #[case("10.0.0.0/33", "\"10.0.0.0/33\" is not a network; write networks such as 10.1.0.0/16 or fd00::/8")]
    #[case("10.0.0.1", "\"10.0.0.1\" is not a network; for this address alone write 10.0.0.1/32")]
    #[case("10.0.0.1/8", "\"10.0.0.1/8\" is not a network; the network around it is 10.0.0.0/8")]
    fn a_network_that_is_none_is_corrected(#[case] words: &str, #[case] complaint: &str) {
        assert_eq!(networks(Raw::Words(words)).unwrap_err(), complaint);
    }

    #[test]
    fn host_names_have_one_spelling_and_no_port() {
        assert_eq!(host_names(Raw::Words("Feeds.Example.org., x")).unwrap(), ["feeds.example.org", "x"]);
        for (wrong, remedy) in [("https://a.example/", "write the host alone"), ("a:80", "port"), ("*", "wildcards")] {
            let complaint = host_names(Raw::Words(wrong)).unwrap_err();
            assert!(complaint.contains(remedy), "{complaint}");
        }
        assert!(host_names(Raw::Typed(&ValueKind::Boolean(true))).unwrap_err().contains("[feeds.example.org]"));
    }

    #[test]
    fn a_prefix_of_nat64_has_one_of_six_lengths() {
        assert_eq!(nat64_prefixes(Raw::Words("2001:db8:64::/96, fd64::/64")).unwrap().len(), 2);
        for wrong in ["2001:db8:64::/95", "10.0.0.0/8"] {
            let complaint = nat64_prefixes(Raw::Words(wrong)).unwrap_err();
            assert!(complaint.starts_with(&format!("\"{wrong}\" is not a prefix of NAT64; write")), "{complaint}");
        }
    }

    #[test]
    fn a_proxy_speaks_http_or_socks5() {
        assert!(proxy_url(Raw::Words("http://proxy:3128")).unwrap().is_some());
        assert!(proxy_url(Raw::Words("socks5://127.0.0.1:1080")).unwrap().is_some());
        assert!(proxy_url(Raw::Words("")).unwrap().is_none());
        for wrong in ["proxy:3128", "socks4://proxy:1080", "https://proxy", "socks5://", "http://me:hunter2@"] {
            let complaint = proxy_url(Raw::Words(wrong)).unwrap_err();
            assert!(complaint.contains("socks5://host:port") && !complaint.contains("hunter2"), "{complaint}");
        }
    }

    #[test]
    fn a_probe_asks_a_url_without_a_login_or_nothing() {
        assert!(probe_url(Raw::Words("http://192.168.1.1/")).unwrap().is_some());
        assert!(probe_url(Raw::Words("")).unwrap().is_none());
        for wrong in ["example.org", "ftp://example.org/", "http://me:hunter2@example.org/"] {
            let complaint = probe_url(Raw::Words(wrong)).unwrap_err();
            assert!(complaint.contains("write http://host/path") && !complaint.contains("hunter2"), "{complaint}");
        }
    }

    #[test]
    fn a_service_is_at_a_plain_url() {
        for right in ["https://api.x.com", "http://127.0.0.1:8000/x/"] {
            assert!(base_url(Raw::Words(right)).is_ok(), "{right}");
        }
        let wrong = ["", "api.x.com", "ftp://api.x.com", "https://", "https://a/?b", "https://a/#b", "https://me@a/"];
        for wrong in wrong.into_iter().chain(["https://me:hunter2@a/"]) {
            let complaint = base_url(Raw::Words(wrong)).unwrap_err();
            assert!(complaint.contains("write https://host") && !complaint.contains("hunter2"), "{complaint}");
        }
    }

    proptest! {
        #[test]
        fn no_password_survives_the_mask(password in "[ -~]{0,20}", host in "[a-z]{1,8}") {
            let secret = format!("hunter2{password}hunter2");
            let shown = without_password(&format!("postgres://me:{secret}@{host}/db"));
            prop_assert!(!shown.contains("hunter2"), "{}", shown);
        }
    }
}
