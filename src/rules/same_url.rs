//! Compares URLs of entries as publishers vary them: scheme, `www.`, trailing slash, fragment, tracking parameters.
//!
//! Works on text, because it runs for every entry of every reading.

use std::borrow::Cow;

/// Query parameters that say where a reader came from. Names that end with `*` are prefixes.
const TRACKING: [&str; 27] = [
    "utm_*",
    "mtm_*",
    "pk_*",
    "piwik_*",
    "matomo_*",
    "hsa_*",
    "ns_*",
    "at_medium",
    "at_campaign",
    "at_custom*",
    "fbclid",
    "gclid",
    "dclid",
    "msclkid",
    "yclid",
    "igshid",
    "twclid",
    "ttclid",
    "mc_cid",
    "mc_eid",
    "_hsenc",
    "_hsmi",
    "mkt_tok",
    "cmpid",
    "wt_mc",
    "xtor",
    "spm",
];

/// The URL of an entry as its identity: without scheme, `www.`, trailing slash and tracking parameters. A fragment
/// stays, because one page may have many entries.
pub fn identity(url: &str) -> Cow<'_, str> {
    let (url, fragment) = split_fragment(url.trim());
    let stem = stem(url);
    match fragment.filter(|fragment| !is_tracking(fragment)) {
        Some(fragment) => Cow::Owned(format!("{stem}#{fragment}")),
        None => stem,
    }
}

/// Whether two URLs lead to the same place, fragments aside.
pub fn is_same(one: &str, other: &str) -> bool {
    let address = |url| -> Cow<'_, str> { stem(split_fragment(str::trim(url)).0) };
    address(one) == address(other)
}

fn split_fragment(url: &str) -> (&str, Option<&str>) {
    match url.split_once('#') {
        Some((url, fragment)) => (url, Some(fragment).filter(|fragment| !fragment.is_empty())),
        None => (url, None),
    }
}

fn stem(url: &str) -> Cow<'_, str> {
    let rest = ["https://", "http://", "HTTPS://", "HTTP://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let rest = rest.unwrap_or(url);
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, query),
        None => (rest, ""),
    };
    let path = path.trim_end_matches('/');
    let host_end = path.find('/').unwrap_or(path.len());
    let path: Cow<'_, str> = match path[..host_end].bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(path[..host_end].to_ascii_lowercase() + &path[host_end..]),
        false => Cow::Borrowed(path),
    };
    if query.is_empty() {
        return path;
    }
    let mut address = path.into_owned();
    let mut separator = '?';
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty() && !is_tracking(parameter)) {
        address.push(separator);
        address.push_str(parameter);
        separator = '&';
    }
    Cow::Owned(address)
}

fn is_tracking(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
    TRACKING.iter().any(|tracking| match tracking.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == *tracking,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s612_scheme_host_prefix_slash_and_tracking_make_no_difference() {
        let url = "https://a.example/post/1?page=2";
        for variant in [
            "http://a.example/post/1?page=2",
            "https://www.a.example/post/1/?page=2",
            "https://A.example/post/1?utm_source=rss&page=2&fbclid=x",
            "https://a.example/post/1?page=2#xtor=RSS-1",
            " https://a.example/post/1?page=2 ",
        ] {
            assert_eq!(identity(variant), identity(url), "{variant}");
            assert!(is_same(variant, url), "{variant}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_another_url() {
        for (one, other) in [
            ("https://a.example/1", "https://a.example/2"),
            ("https://a.example/1", "https://b.example/1"),
            ("https://a.example/?id=1", "https://a.example/?id=2"),
            ("https://a.example/A", "https://a.example/a"),
            ("https://a.example/?ref=1", "https://a.example/"),
        ] {
            assert_ne!(identity(one), identity(other), "{one} {other}");
            assert!(!is_same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn a_fragment_tells_entries_of_one_page_apart_but_leads_to_the_same_page() {
        let (one, other) = ("https://a.example/changes#v1", "https://a.example/changes#v2");
        assert_ne!(identity(one), identity(other));
        assert!(is_same(one, other));
    }

    #[test]
    fn a_plain_url_is_not_copied() {
        assert!(matches!(identity("https://a.example/post/1"), Cow::Borrowed("a.example/post/1")));
    }
}
