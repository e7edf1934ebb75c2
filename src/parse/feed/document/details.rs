//! Keeps the fields of an entry beside its texts: files, images, categories, comments, language, base.

use std::borrow::Cow;

use super::DocumentParser;
use super::elements::Name;
use crate::parse::feed::attributes::{FeedAttributes, decoded};
use crate::parse::feed::details::{self, EntryEnclosure, MediaClass};
use crate::parse::feed::element::{Element, Field, FieldSlot};
use crate::parse::feed::link;
use crate::parse::link_header::add_hub;
use crate::parse::namespace::Namespace;

/// How good each source of an entry's image is (less is better).
mod image_rank {
    pub(super) const ITUNES: u8 = 0;
    pub(super) const THUMBNAIL: u8 = 1;
    pub(super) const MEDIA: u8 = 2;
    pub(super) const ENCLOSURE: u8 = 3;
}

impl DocumentParser<'_, '_> {
    /// Takes the fields that stand in attributes.
    pub(super) fn take_details(&mut self, element: Element, name: &Name<'_>, attributes: &FeedAttributes<'_>) {
        if let Some(language) = attributes.language {
            self.offer_language_of(element, language);
        }
        match element {
            Element::Field(Field { slot: FieldSlot::Link, .. }) => self.take_link(attributes),
            Element::Field(Field { slot: slot @ (FieldSlot::Content | FieldSlot::Summary), rank }) => {
                self.take_base(slot, rank);
            }
            Element::Field(Field { slot: FieldSlot::Category, .. }) => {
                let label = attributes.label.filter(|label| !label.trim().is_empty()).or(attributes.term);
                if let (Some(label), Some(draft)) = (label, self.entry.as_mut()) {
                    draft.details.add_category(&decoded(label));
                }
            }
            Element::Field(Field { slot: FieldSlot::Nothing, .. }) => match (name.namespace, name.lower) {
                (Namespace::Core | Namespace::Atom, "enclosure") => self.take_enclosure(attributes),
                (Namespace::Itunes, "image") => {
                    self.offer_image(image_rank::ITUNES, attributes.href.or(attributes.url));
                }
                (Namespace::Itunes, "category") => {
                    if let (Some(name), Some(draft)) = (attributes.text, self.entry.as_mut()) {
                        draft.details.add_category(&decoded(name));
                    }
                }
                (Namespace::Media, "thumbnail") => self.offer_image(image_rank::THUMBNAIL, attributes.url),
                _ => {}
            },
            Element::MediaGroup if name.lower == "content" => self.take_media(attributes),
            _ => {}
        }
    }

    pub(super) fn keep_category(&mut self) {
        let (Some(name), Some(draft)) = (self.gathered.plain(), self.entry.as_mut()) else { return };
        draft.details.add_category(name);
    }

    /// `<comments>` is an address; some publishers write a number of comments there.
    pub(super) fn keep_comments(&mut self) {
        let Some(found) = self.gathered.plain().filter(|found| link::looks_absolute(found) || found.starts_with('/'))
        else {
            return;
        };
        let found = found.to_owned();
        self.offer_comments(&found);
    }

    pub(super) fn keep_language(&mut self, rank: u8) {
        let Some(language) = self.gathered.plain().and_then(details::language) else { return };
        let draft = self.entry.as_mut().unwrap_or(&mut self.channel);
        draft.language.offer(rank, Some(language.into()));
    }

    pub(super) fn keep_duration(&mut self) {
        let (Some(text), Some(draft)) = (self.gathered.plain(), self.entry.as_mut()) else { return };
        draft.duration_seconds = draft.duration_seconds.or_else(|| details::duration_seconds(text));
    }

    /// `xml:lang` of a feed, an entry or one of its texts.
    fn offer_language_of(&mut self, element: Element, language: &str) {
        let rank = match element {
            Element::Entry => 0,
            Element::Channel => 2,
            Element::Field(Field { slot: FieldSlot::Content, .. }) => 3,
            Element::Field(Field { slot: FieldSlot::Summary, .. }) => 4,
            _ => return,
        };
        if rank > 2 && self.entry.is_none() {
            return;
        }
        let draft = self.entry.as_mut().unwrap_or(&mut self.channel);
        if draft.language.wants(rank) {
            draft.language.offer(rank, details::language(language).map(Into::into));
        }
    }

    /// Keeps the `xml:base` in force at the best text of an entry. The address of the feed is added later.
    fn take_base(&mut self, slot: FieldSlot, rank: u8) {
        let Some(draft) = self.entry.as_mut().filter(|_| self.bases.len() > self.outer_bases) else { return };
        let rank = if slot == FieldSlot::Content { rank } else { rank.saturating_add(u8::MAX / 2) };
        if draft.base.wants(rank) {
            draft.base.offer(rank, self.bases.last().map(|base| base.text.clone()));
        }
    }

    /// Links that are something else than the place where an entry can be read.
    fn take_link(&mut self, attributes: &FeedAttributes<'_>) {
        let Some(href) = attributes.href else { return };
        if self.entry.is_none() {
            if attributes.is_relation("prev-archive") && self.next_archive.is_none() {
                self.next_archive = self.absolute(&decoded(href));
            } else if attributes.is_relation("hub") {
                if let Some(hub) = self.absolute(&decoded(href)).filter(|url| link::looks_absolute(url)) {
                    add_hub(&mut self.hub_links.hubs, &hub);
                }
            } else if attributes.is_relation("self") && self.hub_links.own.is_none() {
                let own = self.absolute(&decoded(href));
                self.hub_links.own = own.filter(|url| link::looks_absolute(url)).map(String::from);
            }
        } else if attributes.is_relation("enclosure") {
            self.take_enclosure(attributes);
        } else if attributes.is_relation("replies") && attributes.media_type.is_some_and(|kind| kind.contains("html")) {
            self.offer_comments(&decoded(href));
        }
    }

    /// `<enclosure>` of RSS or a link of that relation.
    fn take_enclosure(&mut self, attributes: &FeedAttributes<'_>) {
        let Some(url) = attributes.url.or(attributes.href) else { return };
        if MediaClass::of(attributes.media_type, None, url) == Some(MediaClass::Image) {
            self.offer_image(image_rank::ENCLOSURE, Some(url));
        }
        self.add_enclosure(url, attributes);
    }

    /// `<media:content>`: a file, if it is a sound or a film, or an image.
    fn take_media(&mut self, attributes: &FeedAttributes<'_>) {
        let Some(url) = attributes.url else { return };
        match MediaClass::of(attributes.media_type, attributes.medium, url) {
            Some(MediaClass::Playable) => self.add_enclosure(url, attributes),
            Some(MediaClass::Image) => self.offer_image(image_rank::MEDIA, Some(url)),
            None => {}
        }
    }

    fn add_enclosure(&mut self, url: &str, attributes: &FeedAttributes<'_>) {
        if self.entry.is_none() {
            return;
        }
        let Some(url) = self.absolute(&decoded(url)) else { return };
        let Some(draft) = self.entry.as_mut() else { return };
        draft.details.add_enclosure(EntryEnclosure {
            url,
            media_type: attributes.media_type.and_then(shown),
            length: attributes.length.and_then(details::length_bytes),
            duration_seconds: attributes.duration.and_then(details::duration_seconds),
            title: attributes.title.and_then(shown),
        });
    }

    fn offer_image(&mut self, rank: u8, url: Option<&str>) {
        let Some(url) = url.filter(|_| self.entry.as_ref().is_some_and(|draft| draft.image.wants(rank))) else {
            return;
        };
        let url = self.absolute(&decoded(url));
        if let Some(draft) = self.entry.as_mut() {
            draft.image.offer(rank, url);
        }
    }

    fn offer_comments(&mut self, found: &str) {
        if self.entry.as_ref().is_none_or(|draft| draft.details.comments_url.is_some()) {
            return;
        }
        let url = self.absolute(found);
        if let Some(draft) = self.entry.as_mut() {
            draft.details.comments_url = url;
        }
    }

    fn absolute(&mut self, found: &str) -> Option<Box<str>> {
        self.link_budget.absolute(self.bases.last().map(|base| &base.url), found)
    }
}

/// A value with its references decoded and without blanks around it; nothing if it is blank.
fn shown(value: &str) -> Option<Box<str>> {
    let value: Cow<'_, str> = decoded(value);
    Some(value.trim()).filter(|value| !value.is_empty()).map(Into::into)
}
