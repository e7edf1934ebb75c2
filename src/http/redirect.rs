//! Target of a redirect, and whether it may be followed. Pure.

use std::fmt;

use url::Url;

use super::reply::Hop;
use super::request::without_credentials;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RedirectError {
    NoLocation,
    Post,
    BadLocation(url::ParseError),
    Scheme(String),
    Downgrade,
    Loop(Url),
    TooMany(u32),
}

impl fmt::Display for RedirectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RedirectError::NoLocation => write!(formatter, "redirect without a Location"),
            RedirectError::Post => write!(formatter, "redirect of a POST refused"),
            RedirectError::BadLocation(error) => write!(formatter, "redirect to something that is no URL: {error}"),
            RedirectError::Scheme(scheme) => write!(formatter, "redirect to {scheme}, which is neither http nor https"),
            RedirectError::Downgrade => write!(formatter, "redirect from https to http refused"),
            RedirectError::Loop(url) => write!(formatter, "redirect loop: {url} leads back to itself"),
            RedirectError::TooMany(limit) => write!(formatter, "more than {limit} redirects"),
        }
    }
}

pub(super) fn target(
    from: &Url,
    location: Option<&[u8]>,
    hops: &[Hop],
    redirects_max: u32,
) -> Result<Url, RedirectError> {
    let location = location.ok_or(RedirectError::NoLocation)?;
    // Bytes outside ASCII are invalid; decode them as UTF-8, otherwise as Latin-1.
    let location = match std::str::from_utf8(location) {
        Ok(text) => text.to_owned(),
        Err(_) => super::headers::text(location),
    };
    // The base has no credentials; a target of the same origin gets them back later.
    let target = without_credentials(from).join(location.trim()).map_err(RedirectError::BadLocation)?;
    match (from.scheme(), target.scheme()) {
        ("https", "http") => return Err(RedirectError::Downgrade),
        (_, "http" | "https") => {}
        (_, other) => return Err(RedirectError::Scheme(other.chars().take(32).collect())),
    }
    let mut shown = without_credentials(&target);
    if hops.iter().any(|hop| hop.url == shown) {
        // The error is stored and shown to everyone, and a query can contain a token.
        shown.set_query(None);
        shown.set_fragment(None);
        return Err(RedirectError::Loop(shown));
    }
    if hops.len() > usize::try_from(redirects_max).unwrap_or(usize::MAX) {
        return Err(RedirectError::TooMany(redirects_max));
    }
    Ok(target)
}

/// Whether two URLs have the same scheme, host and port, so that secrets for one may be sent to the other.
pub(super) fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn hop(url: &str) -> Hop {
        Hop { url: Url::parse(url).unwrap(), address: None, status: Some(301) }
    }

    #[rstest]
    #[case("https://feeds.example/a", b"/b?c#d".as_slice(), "https://feeds.example/b?c#d")]
    #[case("https://ann:word@feeds.example/a/", b"b".as_slice(), "https://feeds.example/a/b")]
    #[case("http://feeds.example/a", b"//other.example/b".as_slice(), "http://other.example/b")]
    #[case("http://feeds.example/a", b" https://feeds.example/a ".as_slice(), "https://feeds.example/a")]
    #[case("http://feeds.example/", "/ä".as_bytes(), "http://feeds.example/%C3%A4")]
    #[case("http://feeds.example/", b"/\xe4".as_slice(), "http://feeds.example/%C3%A4")]
    fn a_location_is_read_against_the_url_it_came_from(#[case] from: &str, #[case] location: &[u8], #[case] to: &str) {
        let from = Url::parse(from).unwrap();
        assert_eq!(target(&from, Some(location), &[], 5).unwrap().as_str(), to);
    }

    #[rstest]
    #[case("https://feeds.example/", "http://feeds.example/", "redirect from https to http refused")]
    #[case("http://feeds.example/", "ftp://feeds.example/", "redirect to ftp, which is neither http nor https")]
    #[case("http://feeds.example/", "file:///etc/passwd", "redirect to file, which is neither http nor https")]
    #[case("http://feeds.example/", "http://", "redirect to something that is no URL: empty host")]
    fn p23_p37_https_never_falls_back_and_only_http_and_https_are_followed(
        #[case] from: &str,
        #[case] location: &str,
        #[case] error: &str,
    ) {
        let from = Url::parse(from).unwrap();
        assert_eq!(target(&from, Some(location.as_bytes()), &[], 5).unwrap_err().to_string(), error);
    }

    #[test]
    fn p21_five_redirects_are_followed_and_the_sixth_is_not() {
        let hops: Vec<Hop> = (0..6).map(|number| hop(&format!("http://feeds.example/{number}"))).collect();
        let from = &hops[4].url;
        assert!(target(from, Some(b"/next"), &hops[..5], 5).is_ok());
        assert_eq!(target(from, Some(b"/next"), &hops, 5), Err(RedirectError::TooMany(5)));
    }

    #[test]
    fn p21_a_loop_is_named_without_its_credentials() {
        let from = Url::parse("http://feeds.example/b").unwrap();
        let hops = [hop("http://feeds.example/a"), hop("http://feeds.example/b")];
        let error = target(&from, Some(b"http://ann:word@feeds.example/a"), &hops, 5).unwrap_err();
        assert_eq!(error.to_string(), "redirect loop: http://feeds.example/a leads back to itself");
        let hops = [hop("http://feeds.example/a?token=secret")];
        let error = target(&from, Some(b"/a?token=secret"), &hops, 5).unwrap_err();
        assert_eq!(error.to_string(), "redirect loop: http://feeds.example/a leads back to itself");
    }

    #[test]
    fn p23_an_origin_is_scheme_host_and_port() {
        let url = |text: &str| Url::parse(text).unwrap();
        assert!(same_origin(&url("https://a.example/x"), &url("https://a.example:443/y")));
        assert!(!same_origin(&url("https://a.example/"), &url("http://a.example/")));
        assert!(!same_origin(&url("https://a.example/"), &url("https://a.example:8443/")));
        assert!(!same_origin(&url("https://a.example/"), &url("https://b.a.example/")));
    }
}
