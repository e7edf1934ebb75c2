//! JSON values that are taken as they come: what is of the wrong type counts as missing instead of spoiling the feed.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::parse::control;
use crate::parse::feed::details::{self, Details, EntryEnclosure};

/// A text, or a number as one. Blank is missing.
#[derive(Debug)]
pub(super) struct LooseText(pub(super) Option<Box<str>>);

impl<'de> Deserialize<'de> for LooseText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LooseText, D::Error> {
        deserializer.deserialize_any(LooseTextVisitor)
    }
}

struct LooseTextVisitor;

impl<'de> Visitor<'de> for LooseTextVisitor {
    type Value = LooseText;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<LooseText, E> {
        Ok(LooseText(shown(text)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<LooseText, E> {
        Ok(LooseText(Some(number.to_string().into())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<LooseText, E> {
        Ok(LooseText(Some(number.to_string().into())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<LooseText, E> {
        // As JavaScript writes it: five bytes such as `1e300` do not become three hundred digits.
        let is_plain = number == 0.0 || (1e-6..1e21).contains(&number.abs());
        let text = if is_plain { number.to_string() } else { format!("{number:e}") };
        Ok(LooseText(Some(text.into())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<LooseText, E> {
        Ok(LooseText(None))
    }

    fn visit_unit<E>(self) -> Result<LooseText, E> {
        Ok(LooseText(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LooseText, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LooseText(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LooseText, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(LooseText(None))
    }
}

/// A list of texts, or one text alone. What is no text in it is ignored.
#[derive(Debug)]
pub(super) struct LooseTexts(pub(super) Vec<Box<str>>);

impl<'de> Deserialize<'de> for LooseTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LooseTexts, D::Error> {
        let texts: LooseList<LooseText> = LooseList::deserialize(deserializer)?;
        Ok(LooseTexts(texts.0.into_iter().filter_map(|text| text.0).collect()))
    }
}

/// The names of authors: a list of objects (1.1), an object (1.0), or a bare name.
#[derive(Debug)]
pub(super) struct LooseAuthors(pub(super) Vec<Arc<str>>);

impl<'de> Deserialize<'de> for LooseAuthors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LooseAuthors, D::Error> {
        let authors: LooseList<LooseAuthor> = LooseList::deserialize(deserializer)?;
        let mut details = Details::default();
        authors.0.into_iter().filter_map(|author| author.0).for_each(|name| details.add_author(name));
        Ok(LooseAuthors(details.authors))
    }
}

/// URLs of hubs that speak WebSub: a list of objects, or one object.
#[derive(Debug)]
pub(super) struct LooseHubs(pub(super) Vec<Box<str>>);

impl<'de> Deserialize<'de> for LooseHubs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LooseHubs, D::Error> {
        let hubs: LooseList<LooseHub> = LooseList::deserialize(deserializer)?;
        Ok(LooseHubs(hubs.0.into_iter().map(|hub| hub.0).collect()))
    }
}

/// Files: a list of objects, or one object.
#[derive(Debug)]
pub(super) struct LooseAttachments(pub(super) Vec<LooseAttachment>);

impl<'de> Deserialize<'de> for LooseAttachments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LooseAttachments, D::Error> {
        LooseList::deserialize(deserializer).map(|list| LooseAttachments(list.0))
    }
}

/// One file; the URL in `enclosure` is still empty.
#[derive(Debug)]
pub(super) struct LooseAttachment {
    pub(super) url: LooseText,
    pub(super) enclosure: EntryEnclosure,
}

/// More members than this of one list are passed over.
const LIST_MAX: usize = 256;

/// A list, or one member alone. Nested lists are ignored, which also bounds the recursion.
#[derive(Debug)]
struct LooseList<T>(Vec<T>);

impl<'de, T: ListElement> Deserialize<'de> for LooseList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LooseList<T>, D::Error> {
        deserializer.deserialize_any(LooseVisitor { may_be_list: true, member: PhantomData })
    }
}

/// What a list may hold: made of a text, or of an object.
trait ListElement: Sized {
    fn from_text(text: Box<str>) -> Option<Self>;

    fn from_object<'de, A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error>;
}

impl ListElement for LooseText {
    fn from_text(text: Box<str>) -> Option<LooseText> {
        Some(LooseText(Some(text)))
    }

    fn from_object<'de, A: MapAccess<'de>>(map: A) -> Result<Option<LooseText>, A::Error> {
        LooseTextVisitor.visit_map(map).map(Some)
    }
}

#[derive(Debug)]
struct LooseAuthor(Option<Arc<str>>);

impl ListElement for LooseAuthor {
    fn from_text(text: Box<str>) -> Option<LooseAuthor> {
        Some(LooseAuthor(Some(text.into())))
    }

    fn from_object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<LooseAuthor>, A::Error> {
        let mut name = None;
        while let Some(key) = map.next_key::<Box<str>>()? {
            if &*key == "name" {
                name = map.next_value::<LooseText>()?.0;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Some(LooseAuthor(name.map(Arc::from))))
    }
}

#[derive(Debug)]
struct LooseHub(Box<str>);

impl ListElement for LooseHub {
    fn from_text(_: Box<str>) -> Option<LooseHub> {
        None
    }

    fn from_object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<LooseHub>, A::Error> {
        let (mut kind, mut url) = (None, None);
        while let Some(key) = map.next_key::<Box<str>>()? {
            match &*key {
                "type" => kind = map.next_value::<LooseText>()?.0,
                "url" => url = map.next_value::<LooseText>()?.0,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let is_websub = kind.is_none_or(|kind| ["websub", "pubsubhubbub"].contains(&&*kind.to_ascii_lowercase()));
        Ok(url.filter(|_| is_websub).map(LooseHub))
    }
}

impl ListElement for LooseAttachment {
    fn from_text(_: Box<str>) -> Option<LooseAttachment> {
        None
    }

    fn from_object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<LooseAttachment>, A::Error> {
        let mut url = LooseText(None);
        let (mut media_type, mut title, mut length, mut duration_seconds) = (None, None, None, None);
        while let Some(key) = map.next_key::<Box<str>>()? {
            match &*key {
                "url" => url = map.next_value()?,
                "mime_type" => media_type = map.next_value::<LooseText>()?.0,
                "title" => title = map.next_value::<LooseText>()?.0,
                "size_in_bytes" => length = map.next_value::<LooseText>()?.0.as_deref().and_then(details::length_bytes),
                "duration_in_seconds" => {
                    let text = map.next_value::<LooseText>()?.0;
                    duration_seconds = text.as_deref().and_then(details::duration_seconds);
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let enclosure = EntryEnclosure { url: "".into(), media_type, length, duration_seconds, title };
        Ok(Some(LooseAttachment { url, enclosure }))
    }
}

struct LooseVisitor<T> {
    may_be_list: bool,
    member: PhantomData<T>,
}

/// A member of a list, for which another list is nothing.
impl<'de, T: ListElement> DeserializeSeed<'de> for LooseVisitor<T> {
    type Value = LooseList<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<LooseList<T>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: ListElement> Visitor<'de> for LooseVisitor<T> {
    type Value = LooseList<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_str<E>(self, text: &str) -> Result<LooseList<T>, E> {
        Ok(LooseList(shown(text).and_then(T::from_text).into_iter().collect()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<LooseList<T>, E> {
        Ok(LooseList(Vec::new()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<LooseList<T>, E> {
        Ok(LooseList(Vec::new()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<LooseList<T>, E> {
        Ok(LooseList(Vec::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<LooseList<T>, E> {
        Ok(LooseList(Vec::new()))
    }

    fn visit_unit<E>(self) -> Result<LooseList<T>, E> {
        Ok(LooseList(Vec::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LooseList<T>, A::Error> {
        let mut members = Vec::new();
        if self.may_be_list {
            while let Some(found) = seq.next_element_seed(LooseVisitor { may_be_list: false, member: PhantomData })? {
                let LooseList::<T>(found) = found;
                members.extend(found.into_iter().take(LIST_MAX - members.len()));
            }
        } else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(LooseList(members))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LooseList<T>, A::Error> {
        Ok(LooseList(T::from_object(map)?.into_iter().collect()))
    }
}

/// A text without the blanks around it and without the control characters that escapes such as `\u0000` bring in;
/// nothing if nothing is left.
fn shown<T: for<'t> From<&'t str>>(text: &str) -> Option<T> {
    let text = control::without_forbidden(text);
    Some(text.trim()).filter(|text| !text.is_empty()).map(T::from)
}
