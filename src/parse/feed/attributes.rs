//! The attributes that say something about a feed, gathered in one pass over a tag.

use std::borrow::Cow;

use super::element::{Element, link_rank};
use crate::parse::entity;
use crate::parse::namespace::NamespaceScope;
use crate::parse::xml::Tag;

/// The attributes of one tag, as found.
#[derive(Debug, Default)]
pub(super) struct FeedAttributes<'a> {
    pub(super) version: Option<&'a str>,
    pub(super) default_namespace: Option<&'a str>,
    pub(super) base: Option<&'a str>,
    pub(super) href: Option<&'a str>,
    pub(super) rel: Option<&'a str>,
    pub(super) media_type: Option<&'a str>,
    pub(super) mode: Option<&'a str>,
    pub(super) url: Option<&'a str>,
    pub(super) src: Option<&'a str>,
    pub(super) about: Option<&'a str>,
    pub(super) is_permalink: Option<bool>,
    pub(super) language: Option<&'a str>,
    pub(super) title: Option<&'a str>,
    pub(super) label: Option<&'a str>,
    pub(super) term: Option<&'a str>,
    /// Name of a category of iTunes.
    pub(super) text: Option<&'a str>,
    pub(super) medium: Option<&'a str>,
    pub(super) role: Option<&'a str>,
    /// `length` of a link, `fileSize` of a media file.
    pub(super) length: Option<&'a str>,
    pub(super) duration: Option<&'a str>,
}

impl<'a> FeedAttributes<'a> {
    /// Reads the attributes of a tag and takes its namespace declarations into force. `is_root` as in
    /// [`NamespaceScope::declare`].
    pub(super) fn read(tag: &Tag<'a>, scope: &mut NamespaceScope<'a>, is_root: bool) -> FeedAttributes<'a> {
        let mut found = FeedAttributes::default();
        if !tag.has_attributes() {
            return found;
        }
        for (name, value) in tag.attributes() {
            let place = match name {
                "xmlns" => {
                    scope.declare("", value, is_root);
                    &mut found.default_namespace
                }
                "version" => &mut found.version,
                "xml:base" => &mut found.base,
                "href" => &mut found.href,
                "rel" => &mut found.rel,
                "type" => &mut found.media_type,
                "mode" => &mut found.mode,
                "url" => &mut found.url,
                "src" => &mut found.src,
                "xml:lang" => &mut found.language,
                "title" => &mut found.title,
                "label" => &mut found.label,
                "term" => &mut found.term,
                "text" => &mut found.text,
                "medium" => &mut found.medium,
                "role" => &mut found.role,
                "length" | "fileSize" => &mut found.length,
                "duration" => &mut found.duration,
                "rdf:about" | "about" => &mut found.about,
                other if other.starts_with("xmlns:") => {
                    scope.declare(&other["xmlns:".len()..], value, is_root);
                    continue;
                }
                other if other.eq_ignore_ascii_case("isPermaLink") => {
                    found.is_permalink = Some(!value.trim().eq_ignore_ascii_case("false"));
                    continue;
                }
                other if other.ends_with(":about") => &mut found.about,
                other if other.eq_ignore_ascii_case("href") => &mut found.href,
                other if other.eq_ignore_ascii_case("version") => &mut found.version,
                _ => continue,
            };
            place.get_or_insert(value);
        }
        found
    }

    /// The link in an Atom `<link>`, a media file or a content kept elsewhere, and its rank.
    pub(super) fn link(&self, element: Element, local: &str) -> Option<(u8, Cow<'a, str>)> {
        let (rank, link) = match local {
            "link" => (self.rel_rank()?, self.href?),
            "enclosure" => (link_rank::FILE, self.url.or(self.href)?),
            "content" if element == Element::MediaGroup => (link_rank::FILE, self.url?),
            "player" => (link_rank::PLAYER, self.url?),
            "content" => (link_rank::RELATED, self.src?),
            "item" => (link_rank::ABOUT, self.about?),
            _ => return None,
        };
        Some((rank, decoded(link)))
    }

    /// `rel` of a link, without the address that it may be written with.
    fn relation(&self) -> &'a str {
        let rel = self.rel.unwrap_or("").trim();
        rel.strip_prefix("http://www.iana.org/assignments/relation/").unwrap_or(rel)
    }

    /// True if the element is a link of this relation.
    pub(super) fn is_relation(&self, relation: &str) -> bool {
        self.relation().eq_ignore_ascii_case(relation)
    }

    /// How good a link of this relation is as the place where an entry can be read; nothing if it is not one at all.
    pub(super) fn rel_rank(&self) -> Option<u8> {
        let rel = self.relation();
        match rel.to_ascii_lowercase().as_str() {
            "" | "alternate" => {
                let is_page = self
                    .media_type
                    .is_none_or(|media_type| media_type.trim().is_empty() || media_type.contains("html"));
                Some(if is_page { link_rank::PAGE } else { link_rank::OTHER_FORM })
            }
            "related" | "via" => Some(link_rank::RELATED),
            "self" => Some(link_rank::OWN_DOCUMENT),
            "enclosure" => Some(link_rank::FILE),
            _ => None,
        }
    }
}

/// A value with its references decoded.
pub(super) fn decoded(value: &str) -> Cow<'_, str> {
    if value.contains('&') { Cow::Owned(entity::decode(value)) } else { Cow::Borrowed(value) }
}
