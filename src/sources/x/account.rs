//! The name of an X account in what people write for it.

use url::Url;

/// The longest name that X hands out.
const NAME_CHARS_MAX: usize = 15;
/// Where accounts are shown; each also answers with `www.` or `mobile.` before it.
const SITES: [&str; 2] = ["x.com", "twitter.com"];

/// A text that names no X account.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an X account: write https://x.com/NAME, @NAME or NAME, where NAME is 1 to 15 letters, digits or underscores"
)]
pub(super) struct NameError;

/// The name in `https://x.com/NAME`, `https://twitter.com/NAME`, `@NAME` or `NAME`. What people copy along with a link
/// (a trailing slash, `?s=20`) is overlooked.
pub(super) fn account_name(url: &str) -> Result<String, NameError> {
    let text = url.trim();
    if !text.contains("://") {
        return valid(text.strip_prefix('@').unwrap_or(text));
    }
    let url = Url::parse(text).ok().filter(is_at_x).ok_or(NameError)?;
    let path = url.path().trim_start_matches('/');
    valid(path.strip_suffix('/').unwrap_or(path))
}

pub(super) fn is_at_x(url: &Url) -> bool {
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
