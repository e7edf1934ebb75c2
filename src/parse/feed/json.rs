//! Reads JSON Feed 1.0 and 1.1.
//!
//! Entries are built while the text is read, so that those before a mistake or a cut are kept, and no second tree of
//! the document ever stands in memory. A value of the wrong type counts as missing.

mod loose;

use std::sync::Arc;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use url::Url;

use super::details::{self, Details, EntryEnclosure, Inherited};
use super::link::{self, LinkBudget};
use super::{Entry, Feed, FeedError, Format, Limits, Note, Text, TextKind};
use crate::parse::date;
use crate::parse::link_header::add_hub;
use loose::{LooseAttachments, LooseAuthors, LooseHubs, LooseText, LooseTexts};

/// The reader of JSON quotes what it did not expect, however long that is.
const REASON_CHARS_MAX: usize = 200;

/// Reads a JSON document as a feed.
pub(super) fn read(text: &str, base: Option<&Url>, limits: &Limits) -> Result<Feed, FeedError> {
    let mut gathered = GatheredFeed {
        feed: Feed::new(Format::JsonFeed11),
        version: None,
        authors: Vec::new(),
        links: Links { base, budget: LinkBudget::new(text.len()) },
        has_items: false,
        items: 0,
        is_full: false,
        entries_max: limits.entries_max,
    };
    // Room for every entry that the text can hold: each has a brace, and none is shorter than `{"id":1},`.
    let braces = text.bytes().filter(|byte| *byte == b'{').count();
    gathered.feed.entries.reserve_exact(braces.min(text.len() / 9).min(limits.entries_max));
    let outcome = serde_json::Deserializer::from_str(text).deserialize_any(RootVisitor(&mut gathered));
    let GatheredFeed { mut feed, version, authors, mut links, has_items, is_full, .. } = gathered;
    if is_full {
        return Err(FeedError::TooManyEntries { entries_max: limits.entries_max });
    }
    let is_declared = version.as_deref().is_some_and(|version| version.contains("jsonfeed.org"));
    if let Err(error) = &outcome {
        if feed.entries.is_empty() || !has_items {
            let reason = if error.is_eof() && is_declared { None } else { Some(shortened(&error.to_string())) };
            return Err(reason.map_or(FeedError::CutOff, |reason| FeedError::Json { reason }));
        }
        feed.notes.push(if error.is_eof() { Note::CutOff } else { Note::MarkupRepaired });
    }
    if !has_items {
        return Err(FeedError::Json { reason: "it has no \"items\"".to_owned() });
    }
    if !is_declared && feed.title.is_none() && feed.entries.is_empty() {
        return Err(FeedError::Json { reason: "it has neither the version nor the entries of one".to_owned() });
    }
    if version.as_deref().is_some_and(|version| version.trim_end_matches('/').ends_with("/1")) {
        feed.format = Format::JsonFeed10;
    }
    let mut inherited = Inherited { authors, base: base.map(|base| base.as_str().into()), link_base: None };
    if base.is_none() {
        inherited.link_base = feed.link.as_deref().and_then(|link| Url::parse(link).ok());
        inherited.base = inherited.link_base.as_ref().map(|link| link.as_str().into());
    }
    inherited.give(&mut feed, &mut links.budget);
    if links.budget.is_exceeded {
        feed.notes.push(Note::LinksLeftRelative);
    }
    Ok(feed)
}

/// What is wrong, without the whole value that was found in the wrong place.
fn shortened(reason: &str) -> String {
    match reason.char_indices().nth(REASON_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}

/// What has been read so far.
struct GatheredFeed<'b> {
    feed: Feed,
    version: Option<Box<str>>,
    authors: Vec<Arc<str>>,
    links: Links<'b>,
    has_items: bool,
    /// How many there were so far, in all lists of them: a key may stand there twice.
    items: usize,
    is_full: bool,
    entries_max: usize,
}

fn text(value: LooseText, kind: TextKind) -> Option<Text> {
    value.0.map(|value| Text { value, kind })
}

fn language(value: LooseText) -> Option<Arc<str>> {
    details::language(&value.0?).map(Into::into)
}

/// What links are relative to, and how much longer they may become.
struct Links<'b> {
    base: Option<&'b Url>,
    budget: LinkBudget,
}

impl Links<'_> {
    fn absolute(&mut self, value: LooseText) -> Option<Box<str>> {
        self.budget.absolute(self.base, &value.0?)
    }
}

/// The object around everything.
struct RootVisitor<'g, 'b>(&'g mut GatheredFeed<'b>);

impl<'de> Visitor<'de> for RootVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let gathered = self.0;
        while let Some(key) = map.next_key::<LooseText>()? {
            match key.0.as_deref().unwrap_or_default() {
                "version" => gathered.version = map.next_value::<LooseText>()?.0,
                "title" => gathered.feed.title = text(map.next_value()?, TextKind::Plain),
                "home_page_url" => gathered.feed.link = gathered.links.absolute(map.next_value()?),
                "next_url" => {
                    let url = gathered.links.absolute(map.next_value()?);
                    gathered.feed.next_archive = url.filter(|url| link::looks_absolute(url));
                }
                "feed_url" => {
                    let url = gathered.links.absolute(map.next_value()?);
                    gathered.feed.hub_links.own = url.filter(|url| link::looks_absolute(url)).map(String::from);
                }
                "hubs" => {
                    for hub in map.next_value::<LooseHubs>()?.0 {
                        let url = gathered.links.absolute(LooseText(Some(hub)));
                        if let Some(url) = url.filter(|url| link::looks_absolute(url)) {
                            add_hub(&mut gathered.feed.hub_links.hubs, &url);
                        }
                    }
                }
                "language" => gathered.feed.language = language(map.next_value()?),
                "author" | "authors" => {
                    let authors = map.next_value::<LooseAuthors>()?.0;
                    if gathered.authors.is_empty() {
                        gathered.authors = authors;
                    }
                }
                "items" => map.next_value_seed(Items(&mut *gathered))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The list of entries.
struct Items<'g, 'b>(&'g mut GatheredFeed<'b>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a list of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let gathered = self.0;
        gathered.has_items = true;
        while let Some(entry) = items.next_element_seed(EntrySeed(&mut gathered.links))? {
            gathered.items += 1;
            if gathered.items > gathered.entries_max {
                gathered.is_full = true;
                return Err(A::Error::custom("too many items"));
            }
            if entry != Entry::default() {
                gathered.feed.push(entry);
            }
        }
        Ok(())
    }
}

/// One entry.
struct EntrySeed<'g, 'b>(&'g mut Links<'b>);

impl<'de> DeserializeSeed<'de> for EntrySeed<'_, '_> {
    type Value = Entry;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Entry, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EntrySeed<'_, '_> {
    type Value = Entry;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
        let links = self.0;
        let mut entry = Entry::default();
        let mut details = Details::default();
        let (mut external_url, mut plain, mut banner) = (None, None, None);
        while let Some(key) = map.next_key::<LooseText>()? {
            match key.0.as_deref().unwrap_or_default() {
                "id" => entry.id = map.next_value::<LooseText>()?.0,
                "title" => entry.title = text(map.next_value()?, TextKind::Plain),
                "url" => entry.url = links.absolute(map.next_value()?),
                "external_url" => external_url = links.absolute(map.next_value()?),
                "summary" => entry.summary = text(map.next_value()?, TextKind::Plain),
                "content_html" => entry.content = text(map.next_value()?, TextKind::Html),
                "content_text" => plain = text(map.next_value()?, TextKind::Plain),
                "date_published" => entry.published = map.next_value::<LooseText>()?.0.as_deref().and_then(date::parse),
                "date_modified" => entry.updated = map.next_value::<LooseText>()?.0.as_deref().and_then(date::parse),
                "author" | "authors" => {
                    let authors = map.next_value::<LooseAuthors>()?.0;
                    if details.authors.is_empty() {
                        details.authors = authors;
                    }
                }
                "tags" => map.next_value::<LooseTexts>()?.0.iter().for_each(|tag| details.add_category(tag)),
                "image" => details.image_url = links.absolute(map.next_value()?),
                "banner_image" => banner = links.absolute(map.next_value()?),
                "language" => details.language = language(map.next_value()?),
                "attachments" => {
                    for attachment in map.next_value::<LooseAttachments>()?.0 {
                        let Some(url) = links.absolute(attachment.url) else { continue };
                        details.add_enclosure(EntryEnclosure { url, ..attachment.enclosure });
                    }
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let id_as_url = entry.id.as_deref().filter(|id| link::looks_absolute(id)).map(Into::into);
        entry.url = entry.url.or(external_url).or(id_as_url);
        entry.content = entry.content.or(plain);
        details.image_url = details.image_url.take().or(banner);
        entry.author = details.authors.first().cloned();
        entry.details = (details != Details::default()).then(|| Arc::new(details));
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_items(items: &str) -> Feed {
        let text = format!(r#"{{"version":"https://jsonfeed.org/version/1.1","items":{items}}}"#);
        read(&text, None, &Limits::default()).expect("a good feed")
    }

    #[test]
    fn escapes_bring_no_forbidden_characters_in() {
        let feed = read_items(r#"[{"id":"\u0000","title":"a\u0000b\u0007c\td","authors":[{"name":"\u0001 Ann"}]}]"#);
        let Entry { id, title, author, .. } = &feed.entries[0];
        assert_eq!((id, title.as_ref().map(|title| &*title.value)), (&None, Some("abc\td")));
        assert_eq!(author.as_deref(), Some("Ann"));
    }

    #[test]
    fn a_number_is_a_text_of_about_its_own_length() {
        let feed = read_items(r#"[{"id":17},{"id":-1.5},{"id":1e20},{"id":1e300},{"id":1e-300},{"id":0.0}]"#);
        let ids: Vec<&str> = feed.entries.iter().filter_map(|entry| entry.id.as_deref()).collect();
        assert_eq!(ids, ["17", "-1.5", "100000000000000000000", "1e300", "1e-300", "0"]);
    }

    #[test]
    fn two_lists_of_items_count_as_one() {
        let limits = Limits { entries_max: 3, ..Limits::default() };
        let outcome = read(r#"{"items":[{"id":1},{"id":2}],"items":[{"id":3},{"id":4}]}"#, None, &limits);
        assert_eq!(outcome, Err(FeedError::TooManyEntries { entries_max: 3 }));
    }

    #[test]
    fn an_error_does_not_repeat_the_document() {
        let text = format!(r#"{{"items":"{}"}}"#, "é".repeat(100_000));
        let error = read(&text, None, &Limits::default()).expect_err("items are no text").to_string();
        assert!(error.ends_with('…') && error.chars().count() < 300, "{error}");
    }
}
