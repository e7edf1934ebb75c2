//! Where a source is, in the one spelling that it is stored under: one place written in two ways is one source.

use url::Url;

use super::SourceType;

/// The longest name that X hands out.
const NAME_CHARS_MAX: usize = 15;
/// Where accounts are shown; each also answers with `www.` or `mobile.` before it.
const SITES: [&str; 2] = ["x.com", "twitter.com"];

/// A text that names no X account.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an X account: write https://x.com/NAME, @NAME or NAME, where NAME is 1 to 15 letters, digits or underscores"
)]
pub struct NameError;

/// The place as it is stored and compared: schemes and hosts in lower case, without the default port, dots in the path
/// and the fragment, which no server is ever told; accounts as `https://x.com/name`, since X knows no case. Query and
/// login stay as they are, and so does what is no place at all.
pub fn one_spelling(place: &str, source_type: SourceType) -> String {
    let place = place.trim();
    if source_type == SourceType::Twitter {
        return account_name(place)
            .map_or_else(|_| place.to_owned(), |name| format!("https://x.com/{}", name.to_ascii_lowercase()));
    }
    let Ok(mut url) = Url::parse(place) else { return place.to_owned() };
    url.set_fragment(None);
    url.into()
}

/// The type of a source of which only the place is known: nothing but accounts is followed at X, so that a link to
/// anything else there is a mistake.
pub fn type_at(place: &str) -> Result<SourceType, NameError> {
    match Url::parse(place.trim()) {
        Ok(url) if is_at_x(&url) => account_name(place).map(|_| SourceType::Twitter),
        _ => Ok(SourceType::Rss),
    }
}

/// The name in `https://x.com/NAME`, `https://twitter.com/NAME`, `@NAME` or `NAME`. What people copy along with a link
/// (a trailing slash, `?s=20`) is overlooked.
pub fn account_name(place: &str) -> Result<String, NameError> {
    let text = place.trim();
    if !text.contains("://") {
        return valid(text.strip_prefix('@').unwrap_or(text));
    }
    let url = Url::parse(text).ok().filter(is_at_x).ok_or(NameError)?;
    let path = url.path().trim_start_matches('/');
    valid(path.strip_suffix('/').unwrap_or(path))
}

fn is_at_x(url: &Url) -> bool {
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")).unwrap_or_default();
    let site = host.strip_prefix("www.").or_else(|| host.strip_prefix("mobile.")).unwrap_or(host);
    SITES.contains(&site) && url.port().is_none()
}

fn valid(name: &str) -> Result<String, NameError> {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let fits = (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(word);
    fits.then(|| name.to_owned()).ok_or(NameError)
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
    fn a_place_has_one_spelling(#[case] place: &str) {
        for source_type in [SourceType::Rss, SourceType::Website] {
            assert_eq!(one_spelling(place, source_type), "http://a.example/feed.xml");
        }
    }

    #[rstest]
    #[case::path("http://a.example/Feed.xml")]
    #[case::slash("http://a.example/feed.xml/")]
    #[case::query("http://a.example/feed.xml?A=b&a=B")]
    #[case::login("http://Ann:Word@a.example/feed.xml")]
    #[case::port("http://a.example:8080/feed.xml")]
    #[case::other_scheme("https://a.example/feed.xml")]
    #[case::no_url("not a url")]
    fn what_another_server_or_page_may_tell_apart_stays(#[case] place: &str) {
        assert_eq!(one_spelling(place, SourceType::Rss), place);
    }

    #[rstest]
    #[case("nasa")]
    #[case("@NASA")]
    #[case("https://twitter.com/nasa")]
    #[case("https://www.x.com/Nasa/?s=20")]
    #[case("https://x.com/nasa")]
    fn an_account_has_one_spelling(#[case] place: &str) {
        assert_eq!(one_spelling(place, SourceType::Twitter), "https://x.com/nasa");
    }

    #[test]
    fn what_is_at_x_is_an_account_or_a_mistake() {
        assert_eq!(type_at("https://twitter.com/nasa"), Ok(SourceType::Twitter));
        assert_eq!(type_at("https://x.com/nasa/status/123"), Err(NameError));
        assert_eq!(type_at("https://x.com/"), Err(NameError));
        for place in ["https://a.example/nasa", "nasa", "https://x.com.example/nasa/status/123"] {
            assert_eq!(type_at(place), Ok(SourceType::Rss), "{place}");
        }
    }

    #[rstest]
    #[case("https://x.com/XDevelopers")]
    #[case("https://twitter.com/XDevelopers")]
    #[case("http://www.twitter.com/XDevelopers/")]
    #[case("https://mobile.twitter.com/XDevelopers?s=20&t=abc")]
    #[case("https://X.COM/XDevelopers#top")]
    #[case("@XDevelopers")]
    #[case("XDevelopers")]
    #[case("  XDevelopers ")]
    fn an_account_is_named_by_link_or_by_name(#[case] url: &str) {
        assert_eq!(account_name(url).as_deref(), Ok("XDevelopers"));
    }

    #[rstest]
    #[case::nothing("")]
    #[case::at_alone("@")]
    #[case::two_ats("@@a")]
    #[case::too_long("abcdefghijklmnop")]
    #[case::dot("a.b")]
    #[case::dash("a-b")]
    #[case::not_ascii("jürgen")]
    #[case::two_words("a b")]
    #[case::other_site("https://nitter.net/a")]
    #[case::site_as_part("https://x.com.evil.example/a")]
    #[case::other_scheme("ftp://x.com/a")]
    #[case::other_port("https://x.com:8443/a")]
    #[case::no_name("https://x.com/")]
    #[case::a_post("https://x.com/a/status/1")]
    #[case::at_in_the_path("https://x.com/@a")]
    #[case::encoded("https://x.com/a%2Fb")]
    #[case::no_url("https://")]
    #[case::no_scheme("x.com/a")]
    fn anything_else_names_no_account(#[case] url: &str) {
        assert_eq!(account_name(url), Err(NameError));
    }

    #[test]
    fn every_name_within_the_bounds_is_taken() {
        for name in ["_", "0", "a_b_C_9", "abcdefghijklmno"] {
            assert_eq!(account_name(name).as_deref(), Ok(name));
        }
    }
}
