//! URLs for logs and output, without secrets.

use std::borrow::Cow;

use url::{Url, form_urlencoded};

/// Shown instead of a secret.
const MASK: &str = "********";

/// Parameters whose values are secrets, in lower case without separators.
const SECRET_NAMES: [&str; 10] =
    ["auth", "authorization", "hmac", "jwt", "pass", "pwd", "session", "sessionid", "sid", "sig"];
/// Ends of such names: `rss_token`, `api-key`, `X-Amz-Signature`.
const SECRET_NAME_ENDS: [&str; 8] =
    ["key", "token", "secret", "password", "passwd", "passphrase", "signature", "credential"];

/// The URL as it is stored, without credentials: its login is left out (p37) and values of parameters such as `token`
/// are masked. Control characters are escaped (s206). A text that is no URL is shown as well, so that it can be found.
pub fn shown_url(url: &str) -> String {
    with_masked_parameters(url_without_login(url))
}

/// The URL of a webhook. Receivers such as chat services take any client that knows the path for the sender, so only
/// the origin is shown.
pub fn shown_webhook_url(url: &str) -> String {
    let Ok(parsed) = Url::parse(url) else { return MASK.to_owned() };
    if !matches!(parsed.scheme(), "http" | "https") {
        // Of a file or a broker: nothing but the login is secret.
        return url_without_login(url);
    }
    let Some(host) = parsed.host_str() else { return MASK.to_owned() };
    let port = parsed.port().map(|port| format!(":{port}")).unwrap_or_default();
    let is_bare = parsed.path() == "/" && parsed.query().is_none() && parsed.fragment().is_none();
    format!("{}://{host}{port}/{}", parsed.scheme(), if is_bare { "" } else { MASK })
}

/// The URL in a row of this table.
pub fn shown_row_url(table: &str, url: &str) -> String {
    if table == "webhooks" { shown_webhook_url(url) } else { shown_url(url) }
}

/// The URL as it is stored, without its login and with control characters escaped.
pub fn url_without_login(url: &str) -> String {
    // Most URLs: without an `@` there is no login in it, and it need not be parsed.
    if !url.contains('@') {
        return escaped(url);
    }
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

fn with_masked_parameters(url: String) -> String {
    let Some(start) = url.find('?').map(|mark| mark + 1) else { return url };
    let end = url[start..].find('#').map_or(url.len(), |length| start + length);
    let parameters: Vec<_> = url[start..end].split('&').map(masked_parameter).collect();
    format!("{}{}{}", &url[..start], parameters.join("&"), &url[end..])
}

fn masked_parameter(pair: &str) -> Cow<'_, str> {
    match pair.split_once('=') {
        Some((name, value)) if !value.is_empty() && is_secret(name) => Cow::Owned(format!("{name}={MASK}")),
        _ => Cow::Borrowed(pair),
    }
}

/// Whether a parameter of this name, as it stands in a query, has a secret value.
fn is_secret(name: &str) -> bool {
    let decoded = form_urlencoded::parse(name.as_bytes()).next().map(|(name, _)| name).unwrap_or_default();
    let plain: String =
        decoded.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    SECRET_NAMES.contains(&plain.as_str()) || SECRET_NAME_ENDS.iter().any(|end| plain.ends_with(end))
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
    fn secrets_in_parameters_are_masked_and_other_parameters_are_not() {
        check(&[
            ("https://a.example/f?token=abc", "https://a.example/f?token=********"),
            ("https://a.example/f?a=1&api_key=x&b=2#top", "https://a.example/f?a=1&api_key=********&b=2#top"),
            ("https://me:pw@a.example/f?rss-Token=x&auth=y", "https://a.example/f?rss-Token=********&auth=********"),
            (
                "https://a.example/f?%74oken=x&X-Amz-Signature=y",
                "https://a.example/f?%74oken=********&X-Amz-Signature=********",
            ),
            ("http://exa mple/f?password=x", "http://exa mple/f?password=********"),
            ("https://a.example/f?token&token=&author=ann", "https://a.example/f?token&token=&author=ann"),
            (
                "https://a.example/f?channel_id=UC0123456789&page=2",
                "https://a.example/f?channel_id=UC0123456789&page=2",
            ),
            ("https://a.example/token=x#?token=x", "https://a.example/token=x#?token=********"),
            ("https://a.example/f?", "https://a.example/f?"),
        ]);
    }

    #[test]
    fn of_a_webhook_only_the_origin_is_shown() {
        for (url, shown) in [
            ("https://hooks.example/services/T0/B0/secret", "https://hooks.example/********"),
            ("https://ann:word@hooks.example:8443/?token=secret", "https://hooks.example:8443/********"),
            ("https://hooks.example/#secret", "https://hooks.example/********"),
            ("https://hooks.example", "https://hooks.example/"),
            ("http://[::1]:9/x", "http://[::1]:9/********"),
            ("secret", "********"),
        ] {
            assert_eq!(shown_webhook_url(url), shown, "{url}");
        }
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
    fn of_a_row_of_webhooks_only_the_origin_is_shown() {
        let url = "https://hooks.example/services/T0/secret";
        assert_eq!(shown_row_url("webhooks", url), "https://hooks.example/********");
        assert_eq!(shown_row_url("sources", url), url);
    }

    #[test]
    fn s206_control_characters_are_escaped() {
        check(&[
            ("http://exa mple/\u{1b}[31m\n", r"http://exa mple/\u{1b}[31m\n"),
            ("http://feeds.example/a\tb", r"http://feeds.example/a\tb"),
        ]);
    }
}
