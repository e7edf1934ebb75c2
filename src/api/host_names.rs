//! Host names under which the TCP listener answers.
//!
//! A page can point a name of its own at this machine's address (DNS rebinding); the browser then takes the daemon for
//! part of that page. The name arrives in `Host`, so a name that is not configured is refused. An IP address cannot be
//! rebound and is always accepted.

use std::net::{IpAddr, Ipv6Addr};

use actix_web::http::{Method, header};

use super::problem::Problem;

/// Longest part of a header that an error repeats, in characters.
const SHOWN_CHARS_MAX: usize = 100;

/// Configured names, in lower case.
pub(super) struct HostNames(Vec<String>);

impl HostNames {
    pub(super) fn new(names: &[String]) -> HostNames {
        HostNames(names.to_vec())
    }

    /// Checks `Host`, and `Origin` if the request can change something.
    pub(super) fn check(&self, method: &Method, headers: &header::HeaderMap) -> Result<(), Problem> {
        // Only clients that are not browsers leave it out.
        let Some(given) = headers.get(header::HOST) else { return Ok(()) };
        let authority = given.to_str().unwrap_or_default();
        if !host(authority).is_some_and(|host| self.is_ours(&host)) {
            let shown = shown(&String::from_utf8_lossy(given.as_bytes()));
            return Err(Problem::misdirected(format!(
                "the TCP listener does not answer for the host {shown}; to allow it, add its name to api.allowed-hosts"
            ))
            .at("Host"));
        }
        let only_reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        match headers.get(header::ORIGIN) {
            Some(origin) if !only_reads => self.check_origin(origin, authority),
            _ => Ok(()),
        }
    }

    /// A browser states the origin of the page that sends a request. Another page than one of this host may not change
    /// anything, whatever the browser attaches.
    fn check_origin(&self, origin: &header::HeaderValue, authority: &str) -> Result<(), Problem> {
        let text = origin.to_str().unwrap_or_default();
        let page = text.split_once("://").map(|(_, page)| page);
        let is_same = page.is_some_and(|page| page.eq_ignore_ascii_case(authority));
        let is_configured = || page.and_then(host).is_some_and(|host| self.0.contains(&host));
        if is_same || is_configured() {
            return Ok(());
        }
        let shown = shown(&String::from_utf8_lossy(origin.as_bytes()));
        let text =
            format!("pages of {shown} may not change anything; to allow them, add the host to api.allowed-hosts");
        Err(Problem::forbidden(text).at("Origin"))
    }

    fn is_ours(&self, host: &str) -> bool {
        is_address(host)
            || host == "localhost"
            || host.ends_with(".localhost")
            || self.0.iter().any(|name| name == host)
    }
}

/// The host of `host[:port]`, in lower case and without a dot at the end.
fn host(authority: &str) -> Option<String> {
    let (host, port) = match authority.rfind(']') {
        Some(end) => authority.split_at(end + 1),
        None => authority.find(':').map_or((authority, ""), |colon| authority.split_at(colon)),
    };
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    (is_port && !host.is_empty()).then_some(host)
}

fn is_address(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inside) => inside.parse::<Ipv6Addr>().is_ok(),
        None => host.parse::<IpAddr>().is_ok_and(|address| address.is_ipv4()),
    }
}

fn shown(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    format!("\"{}\"", cut.escape_debug())
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    fn check(method: Method, host: &str, origin: Option<&str>) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        let pairs = [("host", Some(host)), ("origin", origin)];
        for (name, value) in pairs.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let names = HostNames::new(&["feeds.example.org".to_owned()]);
        names.check(&method, &headers).map_err(|problem| problem.to_string())
    }

    #[test]
    fn addresses_localhost_and_configured_names_are_answered() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:8080",
            "10.1.2.3:80",
            "[::1]",
            "[2001:db8::7]:8080",
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "feedwarden.localhost:1",
            "feeds.example.org",
            "Feeds.Example.ORG.:443",
        ] {
            assert_eq!(check(Method::GET, host, None), Ok(()), "{host}");
        }
    }

    #[test]
    fn other_names_are_refused_with_the_key_to_set() {
        for host in [
            "evil.example",
            "evil.example:8080",
            "feeds.example.org.evil.example",
            "x.feeds.example.org",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1@evil.example",
            "127.0.0.1:8080@evil.example",
            "[::1].evil.example",
            "[::1",
            "::1",
            "localhost:80x",
            "",
            ".",
            "\u{e4}",
        ] {
            let refusal = check(Method::GET, host, None).unwrap_err();
            assert!(refusal.contains("api.allowed-hosts"), "{host}: {refusal}");
        }
        assert!(check(Method::GET, &"x".repeat(9000), None).unwrap_err().len() < 400);
    }

    #[test]
    fn pages_of_other_hosts_change_nothing() {
        let host = "127.0.0.1:8080";
        for origin in ["http://127.0.0.1:8080", "https://feeds.example.org", "https://feeds.example.org:8443"] {
            assert_eq!(check(Method::POST, host, Some(origin)), Ok(()), "{origin}");
        }
        for origin in ["null", "", "http://127.0.0.1:3000", "http://localhost:8080", "https://evil.example", "x://"] {
            assert!(check(Method::POST, host, Some(origin)).unwrap_err().contains("may not change"), "{origin}");
            assert_eq!(check(Method::GET, host, Some(origin)), Ok(()), "reading is up to the token");
        }
    }
}
