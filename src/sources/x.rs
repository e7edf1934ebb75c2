//! X accounts (type `twitter`).
//!
//! The source URL is `https://x.com/NAME`; people also write `@NAME` or `NAME`. All accounts are asked at the API of X
//! (`x.base-url`), with the key of the user who owns the source's podcast (s510). A poll takes several requests: the
//! number of the account by its name, once; then the pages of its posts since the last one seen. Posts are told apart
//! by their number.

mod account;
mod key;
mod poll;
mod refusal;

use secrecy::SecretString;
use url::Url;

use super::{OwnerKey, Polling, Preparation, SourceKind, TypeSettings, UrlError};
use crate::model::{HostKey, KeyProvider, PodcastId, Watermark};
use account::{NameError, account_name, is_at_x};
use key::XKey;

pub use key::KeyError;

pub(super) struct X;

impl SourceKind for X {
    /// In lower case, since X knows no case.
    fn canonical_url(&self, url: &str) -> String {
        account_name(url).map_or_else(
            |NameError| url.trim().to_owned(),
            |name| format!("https://x.com/{}", name.to_ascii_lowercase()),
        )
    }

    fn check_url(&self, url: &str) -> Result<(), UrlError> {
        account_name(url).map(|_| ()).map_err(|error| UrlError(error.to_string()))
    }

    /// Only accounts are followed at X, so a link to anything else there is a mistake.
    fn recognize(&self, url: &str) -> Option<Result<(), UrlError>> {
        Url::parse(url.trim()).ok().filter(is_at_x).map(|_| self.check_url(url))
    }

    fn host(&self, _url: &str, settings: &TypeSettings) -> Option<HostKey> {
        HostKey::of_url(settings.x.base_url.as_str())
    }

    fn preparation(&self) -> Preparation {
        Preparation::OwnerKey(OwnerKey { provider: KeyProvider::X, missing: key_missing })
    }

    fn access_refusal(&self) -> Option<&'static str> {
        Some("an X account uses only the X key of its podcast's owner")
    }

    fn polling(&self) -> Polling {
        Polling::Requests(|fetcher, settings, task| Box::pin(poll::poll(fetcher.client(), &settings.x, task)))
    }

    fn watermark(&self) -> Watermark {
        Watermark::PostNumber
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XSettings {
    /// What the paths of the API follow: scheme and host, perhaps the beginning of a path.
    pub base_url: Url,
}

impl Default for XSettings {
    fn default() -> XSettings {
        XSettings { base_url: Url::parse("https://api.x.com").expect("this is a URL") }
    }
}

impl XSettings {
    fn endpoint(&self, path: &str) -> String {
        format!("{}/2/{path}", self.base_url.as_str().trim_end_matches('/'))
    }
}

/// Whether a text can be used as an X key: a bearer token, or an OAuth 2.0 user token as JSON.
pub fn check_x_key(secret: &SecretString) -> Result<(), KeyError> {
    XKey::read(secret).map(|_| ())
}

fn key_missing(podcast: Option<PodcastId>) -> String {
    match podcast {
        Some(podcast) => format!(
            "the owner of podcast {podcast} has no X key; set one with `feedwarden user key USER --key-file FILE`"
        ),
        None => "an X account needs the X key of a podcast's owner, but the source has no podcast; set one with \
                 --podcast ID (`feedwarden user add NAME --key-file FILE --podcast TITLE` creates one)"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("nasa")]
    #[case("@NASA")]
    #[case("https://twitter.com/nasa")]
    #[case("https://www.x.com/Nasa/?s=20")]
    #[case("https://x.com/nasa")]
    fn an_account_has_one_canonical_url(#[case] url: &str) {
        assert_eq!(X.canonical_url(url), "https://x.com/nasa");
    }

    #[test]
    fn the_paths_follow_the_base_with_and_without_a_slash() {
        for base in ["https://x.example", "https://x.example/", "https://x.example/proxy", "https://x.example/proxy/"] {
            let settings = XSettings { base_url: Url::parse(base).unwrap() };
            let wanted = format!("{}/2/oauth2/token", base.trim_end_matches('/'));
            assert_eq!(settings.endpoint("oauth2/token"), wanted);
        }
    }
}
