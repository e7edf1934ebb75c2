//! JSON values that are taken as they come: what is of the wrong type counts as missing instead of spoiling the feed.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::parse::control;

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

/// The first name among authors: a list of objects (1.1), an object (1.0), or a bare name.
#[derive(Debug)]
pub(super) struct LooseAuthors(pub(super) Option<Arc<str>>);

impl<'de> Deserialize<'de> for LooseAuthors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LooseAuthors, D::Error> {
        deserializer.deserialize_any(LooseAuthorsVisitor { may_be_list: true })
    }
}

/// One author of a list. A nested list is ignored, which also bounds the recursion.
struct LooseAuthor(Option<Arc<str>>);

impl<'de> Deserialize<'de> for LooseAuthor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LooseAuthor, D::Error> {
        let authors = deserializer.deserialize_any(LooseAuthorsVisitor { may_be_list: false })?;
        Ok(LooseAuthor(authors.0))
    }
}

struct LooseAuthorsVisitor {
    may_be_list: bool,
}

impl<'de> Visitor<'de> for LooseAuthorsVisitor {
    type Value = LooseAuthors;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an author")
    }

    fn visit_str<E>(self, text: &str) -> Result<LooseAuthors, E> {
        Ok(LooseAuthors(shown(text)))
    }

    fn visit_u64<E>(self, _: u64) -> Result<LooseAuthors, E> {
        Ok(LooseAuthors(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<LooseAuthors, E> {
        Ok(LooseAuthors(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<LooseAuthors, E> {
        Ok(LooseAuthors(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<LooseAuthors, E> {
        Ok(LooseAuthors(None))
    }

    fn visit_unit<E>(self) -> Result<LooseAuthors, E> {
        Ok(LooseAuthors(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LooseAuthors, A::Error> {
        let mut first = None;
        if self.may_be_list {
            while let Some(author) = seq.next_element::<LooseAuthor>()? {
                first = first.or(author.0);
            }
        } else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(LooseAuthors(first))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LooseAuthors, A::Error> {
        let mut name = None;
        while let Some(key) = map.next_key::<Box<str>>()? {
            if &*key == "name" {
                name = map.next_value::<LooseText>()?.0;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(LooseAuthors(name.map(Arc::from)))
    }
}

/// A text without the blanks around it and without the control characters that escapes such as `\u0000` bring in;
/// nothing if nothing is left.
fn shown<T: for<'t> From<&'t str>>(text: &str) -> Option<T> {
    let text = control::without_forbidden(text);
    Some(text.trim()).filter(|text| !text.is_empty()).map(T::from)
}
