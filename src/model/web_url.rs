//! URLs of documents on the web: one text for each, and which of them can be a source.

use url::Url;

/// The URL as it is stored and compared: scheme and host in lower case, without the default port, dots in the path and
/// the fragment, which no server is ever told. Query and login stay as they are, and so does what is no URL.
pub fn canonical_web_url(url: &str) -> String {
    let text = url.trim();
    let Ok(mut url) = Url::parse(text) else { return text.to_owned() };
    url.set_fragment(None);
    url.into()
}

/// Whether this can be asked for; the error does not repeat the URL, which may hold a password.
pub fn check_web_url(url: &str) -> Result<(), String> {
    let begins = |scheme: &str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    match Url::parse(url) {
        Ok(parsed) if parsed.query().is_some_and(|query| query.contains("=********")) => {
            Err("a secret in this URL is masked (********); write the whole URL".to_owned())
        }
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => Ok(()),
        Err(error) if begins("https://") || begins("http://") => Err(format!("not a URL: {error}")),
        _ => Err("write a URL that begins with https:// or http://".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::scheme("HTTP://a.example/feed.xml")]
    #[case::host("http://A.Example/feed.xml")]
    #[case::port("http://a.example:80/feed.xml")]
    #[case::dots("http://a.example/./x/../feed.xml")]
    #[case::fragment("http://a.example/feed.xml#top")]
    #[case::blanks(" http://a.example/feed.xml ")]
    #[case::itself("http://a.example/feed.xml")]
    fn texts_for_one_url_have_one_canonical_url(#[case] url: &str) {
        assert_eq!(canonical_web_url(url), "http://a.example/feed.xml");
    }

    #[test]
    fn a_url_with_a_masked_secret_is_refused() {
        assert!(check_web_url("http://a.example/feed?token=********").unwrap_err().contains("masked"));
        assert_eq!(check_web_url("http://a.example/feed?token=1234"), Ok(()));
    }

    #[rstest]
    #[case::path("http://a.example/Feed.xml")]
    #[case::slash("http://a.example/feed.xml/")]
    #[case::query("http://a.example/feed.xml?A=b&a=B")]
    #[case::login("http://Ann:Word@a.example/feed.xml")]
    #[case::port("http://a.example:8080/feed.xml")]
    #[case::other_scheme("https://a.example/feed.xml")]
    #[case::no_url("not a url")]
    fn what_another_server_or_page_may_tell_apart_stays(#[case] url: &str) {
        assert_eq!(canonical_web_url(url), url);
    }
}
