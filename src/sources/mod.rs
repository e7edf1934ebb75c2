//! The source types: each in one file that says all that is particular to it, behind one trait.
//!
//! Uses `fetch` for requests and `parse` for answers. The rest of the program knows a type by its name
//! ([`SourceType`]) and asks [`kind`] for what it needs; it never compares types. To add one, see ARCHITECTURE.md.

mod linked_document;
mod rss;
mod website;
mod x;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::fetch::{DocumentReader, Fetched, Fetcher, Task};
use crate::model::{HostKey, KeyProvider, PodcastId, Shard, SourceType, Watermark, canonical_web_url, check_web_url};

pub use linked_document::{archive_task, article_task, hub_task};
pub use x::{KeyError, XSettings, check_x_key};

/// What is particular to a type, in the order in which a source meets it. The defaults are those of a document on the
/// web.
pub trait SourceKind: Sync {
    /// The source URL as it is stored and compared: two texts for one source have one canonical URL. What is no URL of
    /// this type stays as it is.
    fn canonical_url(&self, url: &str) -> String {
        canonical_web_url(url)
    }

    /// Whether a source of this type can have this URL. The error never repeats the URL, which may hold a password.
    fn check_url(&self, url: &str) -> Result<(), UrlError> {
        check_web_url(url).map_err(UrlError)
    }

    /// Whether a URL without a type is one of this type: `None` if it may be of any other, an error if it is at the
    /// service that this type reads, and names nothing that can be read there.
    fn recognize(&self, _url: &str) -> Option<Result<(), UrlError>> {
        None
    }

    /// The host that requests for this URL go to.
    fn host(&self, url: &str, _settings: &TypeSettings) -> Option<HostKey> {
        HostKey::of_url(url)
    }

    /// What a source needs before its first request.
    fn preparation(&self) -> Preparation {
        Preparation::Nothing
    }

    /// Why a source of this type takes neither a login nor headers of its own; `None` if it does.
    fn access_refusal(&self) -> Option<&'static str> {
        None
    }

    /// How a source is polled.
    fn polling(&self) -> Polling;

    /// How progress is remembered.
    fn watermark(&self) -> Watermark;

    /// The pause between two requests to one host, if neither the source nor the configuration says otherwise.
    fn default_delay(&self) -> Duration {
        Duration::ZERO
    }
}

/// What a source needs before its first request.
#[derive(Clone, Copy)]
pub enum Preparation {
    /// It can be asked at once.
    Nothing,
    /// Permission by the robots.txt of the site, at each hop of a redirect (p29).
    RobotsTxt,
    /// A key of the user who owns the source's podcast (s510).
    OwnerKey(OwnerKey),
}

/// A key that users give for sources of a type.
#[derive(Clone, Copy)]
pub struct OwnerKey {
    /// The service that the key is for.
    pub provider: KeyProvider,
    /// Says that there is no key for a source of this podcast, and how to give one.
    pub missing: fn(Option<PodcastId>) -> String,
}

/// How a source is polled.
#[derive(Clone, Copy)]
pub enum Polling {
    /// One conditional GET of the source URL, whose answer this reads.
    Document(DocumentReader),
    /// Requests of the type's own. The future is boxed, so that polls of documents stay as small as they are.
    Requests(for<'a> fn(&'a Fetcher, &'a TypeSettings, &'a Task) -> BoxedPoll<'a>),
}

/// A poll under way.
pub type BoxedPoll<'a> = Pin<Box<dyn Future<Output = Fetched> + Send + 'a>>;

/// The settings of the types that have any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeSettings {
    pub x: XSettings,
}

/// Why a source of a type cannot have a URL, as a sentence of its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UrlError(pub String);

/// What is particular to a type.
pub fn kind(source_type: SourceType) -> &'static dyn SourceKind {
    match source_type {
        SourceType::Rss => &rss::Rss,
        SourceType::Website => &website::Website,
        SourceType::Twitter => &x::X,
    }
}

/// The type of a source of which only the URL is known: a feed, unless another type recognizes the URL.
pub fn detect_type(url: &str) -> Result<SourceType, UrlError> {
    let recognized = |source_type: SourceType| Some(kind(source_type).recognize(url)?.map(|()| source_type));
    SourceType::ALL.into_iter().find_map(recognized).unwrap_or(Ok(SourceType::Rss))
}

/// The key that sources of this type need, if they need one.
pub fn owner_key(source_type: SourceType) -> Option<OwnerKey> {
    match kind(source_type).preparation() {
        Preparation::OwnerKey(key) => Some(key),
        Preparation::Nothing | Preparation::RobotsTxt => None,
    }
}

/// The text that stands in the store for this host: sources of a type that are all asked at one configured host are
/// stored under [`SourceType::shared_host`].
pub fn stored_host(host: &HostKey, settings: &TypeSettings) -> HostKey {
    let is_asked_there = |source_type: &SourceType| kind(*source_type).host("", settings).as_ref() == Some(host);
    let shared = SourceType::ALL.into_iter().filter(is_asked_there).find_map(SourceType::shared_host);
    shared.map_or_else(|| host.clone(), HostKey::from_canonical)
}

/// The shard of a host: that of the sources that are asked there.
pub fn host_shard(host: Option<&HostKey>, settings: &TypeSettings) -> Shard {
    Shard::of_host(host.map(|host| stored_host(host, settings)).as_ref())
}

/// The default delay of every type.
pub fn default_delays() -> HashMap<SourceType, Duration> {
    SourceType::ALL.into_iter().map(|source_type| (source_type, kind(source_type).default_delay())).collect()
}

/// Polls a source once. Never panics: a reader that does is reported as our own fault.
pub async fn poll(fetcher: &Fetcher, settings: &TypeSettings, task: &Task) -> Fetched {
    match kind(task.settings.source_type).polling() {
        Polling::Document(reader) => fetcher.document(task, reader).await,
        Polling::Requests(requests) => requests(fetcher, settings, task).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn canonical_url(source_type: SourceType, url: &str) -> String {
        kind(source_type).canonical_url(url)
    }

    #[test]
    fn the_type_follows_from_the_url() {
        assert_eq!(detect_type("https://twitter.com/nasa"), Ok(SourceType::Twitter));
        assert!(detect_type("https://x.com/nasa/status/123").is_err());
        assert!(detect_type("https://x.com/").is_err());
        for url in ["https://a.example/nasa", "nasa", "https://x.com.example/nasa/status/123"] {
            assert_eq!(detect_type(url), Ok(SourceType::Rss), "{url}");
        }
    }

    #[rstest]
    #[case::web(SourceType::Rss, "HTTP://A.example:80/./feed#top", "http://a.example/feed")]
    #[case::page(SourceType::Website, "HTTP://A.example:80/./feed#top", "http://a.example/feed")]
    #[case::account(SourceType::Twitter, "@NASA", "https://x.com/nasa")]
    #[case::no_account(SourceType::Twitter, "a b", "a b")]
    fn two_texts_for_one_source_have_one_canonical_url(
        #[case] source_type: SourceType,
        #[case] url: &str,
        #[case] canonical: &str,
    ) {
        assert_eq!(canonical_url(source_type, url), canonical);
        assert_eq!(canonical_url(source_type, canonical), canonical);
        assert_eq!(canonical_url(source_type, &format!(" {url} ")), canonical);
    }

    #[test]
    fn a_url_is_refused_without_repeating_it() {
        for (source_type, url) in [
            (SourceType::Rss, "ftp://ann:hidden@a.example/"),
            (SourceType::Rss, "https://hidden:99999/"),
            (SourceType::Website, "hidden"),
            (SourceType::Twitter, "https://a.example/hidden"),
        ] {
            let error = kind(source_type).check_url(url).unwrap_err().to_string();
            assert!(!error.contains("hidden"), "{error}");
        }
        assert_eq!(kind(SourceType::Rss).check_url("HTTPS://a.example/feed"), Ok(()));
        assert_eq!(kind(SourceType::Twitter).check_url("@nasa"), Ok(()));
    }

    #[test]
    fn all_accounts_of_a_service_share_its_host() {
        let settings = TypeSettings::default();
        let host = |source_type, url| kind(source_type).host(url, &settings);
        let api = HostKey::from_canonical("api.x.com");
        assert_eq!(host(SourceType::Twitter, "https://x.com/nasa"), Some(api.clone()));
        assert_eq!(host(SourceType::Rss, "https://x.com/nasa"), Some(HostKey::from_canonical("x.com")));
        assert_eq!(stored_host(&api, &settings).as_str(), "(x)");
        assert_eq!(stored_host(&HostKey::from_canonical("x.com"), &settings).as_str(), "x.com");
    }
}
