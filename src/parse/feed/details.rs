//! Fields of entries beside title, text and dates, and those that entries inherit from their feed.

use std::ops::Deref;
use std::sync::Arc;

use url::Url;

use super::link::{self, LinkBudget};
use super::{Entry, Feed};

const AUTHORS_MAX: usize = 32;
const CATEGORIES_MAX: usize = 64;
const CATEGORY_CHARS_MAX: usize = 200;
const ENCLOSURES_MAX: usize = 32;
/// No language tag is longer (RFC 5646, section 4.4.1).
const LANGUAGE_BYTES_MAX: usize = 35;

/// The fields of an [`Entry`] that many entries lack or share. An entry dereferences to them.
///
/// They stand apart because a document may hold ten thousand entries of ten bytes each: entries without fields of their
/// own share one value, and so do neighbours with equal ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// All authors, at most 32; [`Entry::author`] is the first. Names, or mail addresses if there is no name at all.
    pub authors: Vec<Arc<str>>,
    /// Without duplicates; at most 64 of at most 200 characters each.
    pub categories: Vec<Box<str>>,
    /// At most 32, each with another URL.
    pub enclosures: Vec<EntryEnclosure>,
    /// Absolute.
    pub image_url: Option<Box<str>>,
    /// Page with the comments on the entry; absolute.
    pub comments_url: Option<Box<str>>,
    /// Language tag of the entry or of its feed, as the publisher wrote it.
    pub language: Option<Arc<str>>,
    /// What relative links in the texts are relative to.
    pub base: Option<Arc<str>>,
}

/// A file that belongs to an entry, such as the sound of a podcast episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryEnclosure {
    /// Absolute.
    pub url: Box<str>,
    pub media_type: Option<Box<str>>,
    /// Bytes; 0 in a feed means unknown and becomes none.
    pub length: Option<u64>,
    pub duration_seconds: Option<u32>,
    pub title: Option<Box<str>>,
}

/// Dereferenced from an entry without any of these fields.
static NO_DETAILS: Details = Details {
    authors: Vec::new(),
    categories: Vec::new(),
    enclosures: Vec::new(),
    image_url: None,
    comments_url: None,
    language: None,
    base: None,
};

impl Deref for Entry {
    type Target = Details;

    fn deref(&self) -> &Details {
        self.details.as_deref().unwrap_or(&NO_DETAILS)
    }
}

impl Details {
    pub(super) fn add_author(&mut self, name: Arc<str>) {
        if self.authors.len() < AUTHORS_MAX && !self.authors.contains(&name) {
            reserve_one(&mut self.authors);
            self.authors.push(name);
        }
    }

    pub(super) fn add_category(&mut self, name: &str) {
        let name = name.trim();
        let end = name.char_indices().nth(CATEGORY_CHARS_MAX).map_or(name.len(), |(end, _)| end);
        let name = name[..end].trim_end();
        let is_known = || self.categories.iter().any(|known| **known == *name);
        if !name.is_empty() && self.categories.len() < CATEGORIES_MAX && !is_known() {
            reserve_one(&mut self.categories);
            self.categories.push(name.into());
        }
    }

    /// Adds a file, or completes the one with the same URL.
    pub(super) fn add_enclosure(&mut self, enclosure: EntryEnclosure) {
        if let Some(known) = self.enclosures.iter_mut().find(|known| known.url == enclosure.url) {
            known.media_type = known.media_type.take().or(enclosure.media_type);
            known.length = known.length.or(enclosure.length);
            known.duration_seconds = known.duration_seconds.or(enclosure.duration_seconds);
            known.title = known.title.take().or(enclosure.title);
        } else if self.enclosures.len() < ENCLOSURES_MAX {
            reserve_one(&mut self.enclosures);
            self.enclosures.push(enclosure);
        }
    }

    /// Gives a playing time to the first sound or film that has none.
    pub(super) fn set_duration(&mut self, seconds: u32) {
        let playable = self.enclosures.iter_mut().find(|enclosure| {
            let class = MediaClass::of(enclosure.media_type.as_deref(), None, &enclosure.url);
            class == Some(MediaClass::Playable)
        });
        if let Some(enclosure) = playable {
            enclosure.duration_seconds.get_or_insert(seconds);
        }
    }
}

/// Most lists have one member; a vector would start with room for four.
fn reserve_one<T>(list: &mut Vec<T>) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaClass {
    /// A sound or a film.
    Playable,
    Image,
}

impl MediaClass {
    /// Decides by the type (`audio/mpeg`), by the medium (`audio`) or else by the end of the URL.
    pub(super) fn of(media_type: Option<&str>, medium: Option<&str>, url: &str) -> Option<MediaClass> {
        for said in [media_type, medium].into_iter().flatten() {
            let kind = said.trim().split('/').next().unwrap_or_default();
            if ["audio", "video"].iter().any(|name| kind.eq_ignore_ascii_case(name)) {
                return Some(MediaClass::Playable);
            }
            if kind.eq_ignore_ascii_case("image") {
                return Some(MediaClass::Image);
            }
        }
        if media_type
            .is_some_and(|said| said.contains('/') && !said.trim().eq_ignore_ascii_case("application/octet-stream"))
        {
            return None;
        }
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let (_, extension) = path.rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "mp3" | "m4a" | "m4b" | "ogg" | "oga" | "opus" | "flac" | "wav" | "aac" | "mp4" | "m4v" | "mov"
            | "webm" | "ogv" | "mkv" | "avi" => Some(MediaClass::Playable),
            "jpg" | "jpeg" | "png" | "gif" | "webp" | "avif" | "svg" => Some(MediaClass::Image),
            _ => None,
        }
    }
}

/// Seconds out of `3723`, `62:03`, `1:02:03` or `123.4`.
pub(super) fn duration_seconds(text: &str) -> Option<u32> {
    let whole = text.trim().split('.').next().unwrap_or_default();
    let mut seconds: u32 = 0;
    for (index, part) in whole.split(':').enumerate() {
        let part: u32 = part.trim().parse().ok().filter(|_| index < 3)?;
        seconds = seconds.checked_mul(60)?.checked_add(part)?;
    }
    (seconds > 0).then_some(seconds)
}

/// Length of a file in bytes; 0 means unknown.
pub(super) fn length_bytes(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|length| *length > 0)
}

/// A language tag, if it can be one.
pub(super) fn language(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_tag = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.len() <= LANGUAGE_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    is_tag.then_some(text)
}

/// Values of the feed for entries that have none of their own.
#[derive(Debug, Default)]
pub(super) struct Inherited {
    pub(super) authors: Vec<Arc<str>>,
    pub(super) base: Option<Arc<str>>,
    /// Set if the address of the feed is unknown: what its links are relative to then.
    pub(super) link_base: Option<Url>,
}

/// Shared details before and after their completion.
struct Completed {
    before: Option<Arc<Details>>,
    after: Option<Arc<Details>>,
}

impl Inherited {
    /// Completes the entries of a feed.
    pub(super) fn give(&self, feed: &mut Feed, budget: &mut LinkBudget) {
        let language = feed.language.clone();
        // Neighbours share their details, also when they have been completed.
        let mut last: Option<Completed> = None;
        for entry in &mut feed.entries {
            if entry.author.is_none() {
                entry.author = self.authors.first().cloned();
            }
            if let (Some(base), Some(url)) = (&self.link_base, &entry.url) {
                entry.url = budget.absolute(Some(base), url);
            }
            // What the entry alone holds can be changed in place.
            if let Some(own) = entry.details.as_mut().and_then(Arc::get_mut) {
                self.complete(own, language.as_ref(), budget);
                continue;
            }
            let known = last.as_ref().filter(|completed| match (&completed.before, &entry.details) {
                (Some(before), Some(own)) => Arc::ptr_eq(before, own),
                (before, own) => before.is_none() && own.is_none(),
            });
            if let Some(completed) = known {
                entry.details.clone_from(&completed.after);
                continue;
            }
            let before = entry.details.take();
            let mut details = before.as_deref().cloned().unwrap_or_default();
            self.complete(&mut details, language.as_ref(), budget);
            entry.details = (details != NO_DETAILS).then(|| Arc::new(details));
            last = Some(Completed { before, after: entry.details.clone() });
        }
    }

    fn complete(&self, details: &mut Details, language: Option<&Arc<str>>, budget: &mut LinkBudget) {
        if details.authors.is_empty() {
            details.authors.clone_from(&self.authors);
        }
        if details.language.is_none() {
            details.language = language.cloned();
        }
        if details.base.is_none() {
            details.base.clone_from(&self.base);
        }
        let mut make_absolute = |url: &mut Box<str>| {
            if !link::is_absolute(url)
                && let Some(joined) = budget.absolute(self.link_base.as_ref(), url)
            {
                *url = joined;
            }
            link::is_absolute(url)
        };
        details.image_url.take_if(|url| !make_absolute(url));
        details.comments_url.take_if(|url| !make_absolute(url));
        details.enclosures.retain_mut(|enclosure| make_absolute(&mut enclosure.url));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_playing_time_is_read_in_every_form() {
        for (text, expected) in [
            ("3723", Some(3723)),
            ("62:03", Some(3723)),
            ("1:02:03", Some(3723)),
            (" 01:02:03.5 ", Some(3723)),
            ("123.4", Some(123)),
            ("0", None),
            ("", None),
            ("1:2:3:4", None),
            ("an hour", None),
            ("99999999999", None),
            ("4294967295:59", None),
        ] {
            assert_eq!(duration_seconds(text), expected, "for {text:?}");
        }
    }

    #[test]
    fn a_file_is_classified_by_its_type_then_by_its_name() {
        let check = |media_type, medium, url, expected| assert_eq!(MediaClass::of(media_type, medium, url), expected);
        check(Some("audio/mpeg"), None, "https://a.example/x.jpg", Some(MediaClass::Playable));
        check(Some("IMAGE/PNG"), None, "https://a.example/x", Some(MediaClass::Image));
        check(None, Some("video"), "https://a.example/x", Some(MediaClass::Playable));
        check(Some("application/pdf"), None, "https://a.example/x.mp3", None);
        check(Some("application/octet-stream"), None, "https://a.example/x.MP3?a=b.c", Some(MediaClass::Playable));
        check(None, None, "https://a.example/x.webp#1", Some(MediaClass::Image));
        check(None, None, "https://a.example/x", None);
    }

    #[test]
    fn a_language_is_a_tag() {
        assert_eq!(language(" de-AT\n"), Some("de-AT"));
        assert_eq!(language("en_US"), Some("en_US"));
        for text in ["", "English (US)", "12", &"x".repeat(36)] {
            assert_eq!(language(text), None, "for {text:?}");
        }
    }

    #[test]
    fn lists_are_bounded_and_without_duplicates() {
        let mut details = Details::default();
        for number in 0..100 {
            details.add_category(&format!(" {number} "));
            details.add_category(&number.to_string());
            details.add_author(number.to_string().into());
            details.add_author(number.to_string().into());
        }
        assert_eq!((details.categories.len(), details.authors.len()), (64, 32));
        let mut details = Details::default();
        details.add_category(" ");
        details.add_category(&"é".repeat(300));
        assert_eq!(details.categories, [Box::<str>::from("é".repeat(200))]);
    }
}
