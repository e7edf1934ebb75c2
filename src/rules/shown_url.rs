//! The URL of a source for logs and output, without secrets.

use url::Url;

/// The URL as it is stored, without credentials (p37) and with control characters escaped (s206). A text that is no URL
/// is shown as well, so that it can be found.
pub fn shown_url(url: &str) -> String {
    let has_authority = |url: &Url| !url.cannot_be_a_base();
    match Url::parse(url).ok().filter(has_authority) {
        Some(parsed) if parsed.username().is_empty() && parsed.password().is_none() => escaped(url),
        Some(mut parsed) => {
            // Both fail only for URLs that cannot hold credentials, which then have none.
            let _ = parsed.set_username("");
            let _ = parsed.set_password(None);
            let shown = without_login(url);
            // As it is stored, unless the parser sees the login elsewhere.
            if Url::parse(&shown).is_ok_and(|shown| shown == parsed) { escaped(&shown) } else { parsed.into() }
        }
        None => escaped(&without_login(url)),
    }
}

/// A text that is no URL, without what may be a login in it: all that stands before an `@` where a host should be.
fn without_login(text: &str) -> String {
    let start = text.find("//").map_or(0, |slashes| slashes + 2);
    let (scheme, rest) = text.split_at(start);
    let authority = rest.find(['/', '?', '#']).map_or(rest, |end| &rest[..end]);
    let login_end = match authority.rfind('@') {
        Some(at) => Some(at),
        // Not a port, so perhaps a password with a slash in it.
        None if authority.split_once(':').is_some_and(|(_, port)| !is_port(port)) => rest.rfind('@'),
        None => None,
    };
    match login_end {
        Some(at) => format!("{scheme}{}", &rest[at + 1..]),
        None => text.to_owned(),
    }
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn escaped(text: &str) -> String {
    let escape = |character: char| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    match text.contains(char::is_control) {
        true => text.chars().map(escape).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cases: &[(&str, &str)]) {
        for (url, shown) in cases {
            assert_eq!(shown_url(url), *shown, "{url:?}");
        }
    }

    #[test]
    fn p37_credentials_are_left_out_and_the_rest_is_shown_as_it_was_given() {
        check(&[
            ("https://ann:word@feeds.example/all?page=1", "https://feeds.example/all?page=1"),
            ("https://ann@feeds.example/", "https://feeds.example/"),
            ("HTTP://Feeds.example/a b", "HTTP://Feeds.example/a b"),
            ("http://me:pw@Feeds.example:80/x y?q=<z>#top", "http://Feeds.example:80/x y?q=<z>#top"),
            ("http:/me:p@w@feeds.example/", "http://feeds.example/"),
        ]);
    }

    #[test]
    fn s206_a_text_that_is_no_url_is_shown_as_it_is_stored() {
        check(&[
            ("not a url", "not a url"),
            ("http://exa mple/feed@2x.xml", "http://exa mple/feed@2x.xml"),
            ("http://[1::/feed?a=1", "http://[1::/feed?a=1"),
            ("http://feeds.example:99999/a@b", "http://feeds.example:99999/a@b"),
            ("mailto:", "mailto:"),
            ("", ""),
        ]);
    }

    #[test]
    fn s206_p37_credentials_are_left_out_of_what_is_no_url_too() {
        check(&[
            ("http://ann:word@exa mple/feed", "http://exa mple/feed"),
            ("//ann:word@feeds.example", "//feeds.example"),
            ("ann:word@feeds", "feeds"),
            ("http://ann:w@rd@exa mple/@home", "http://exa mple/@home"),
            ("http://ann:wo/rd@exa mple/", "http://exa mple/"),
        ]);
    }

    #[test]
    fn s206_control_characters_are_escaped() {
        check(&[
            ("http://exa mple/\u{1b}[31m\n", r"http://exa mple/\u{1b}[31m\n"),
            ("http://feeds.example/a\tb", r"http://feeds.example/a\tb"),
        ]);
    }
}
