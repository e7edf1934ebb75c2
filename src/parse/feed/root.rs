//! What a document is, by its first element.

use super::attributes::FeedAttributes;
use super::{FeedError, Format};
use crate::parse::namespace::Namespace;
use crate::parse::xml::Tag;

/// What the first elements of a document turned out to be.
#[derive(Debug, Default)]
pub(super) struct Prolog {
    /// The first element that belongs to no feed.
    foreign: Option<String>,
    /// True once something spoke for a web page.
    looks_like_page: bool,
    declares_rss: bool,
}

/// What an element at the top of a document is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Top {
    /// The element around a feed of this format.
    Feed(Format),
    /// An entry without a feed around it.
    BareEntry(Format),
    /// The beginning of a web page: nothing else will come.
    Page,
    /// Junk, or a document of another kind.
    Foreign,
}

impl Prolog {
    /// Notes the `<!DOCTYPE …>`.
    pub(super) fn doctype(&mut self, text: &str) {
        let name = text.split_whitespace().next().unwrap_or_default();
        self.looks_like_page |= name.get(..4).is_some_and(|name| name.eq_ignore_ascii_case("html"));
    }

    /// Notes the namespaces of an RDF document: those of RSS say that it is a feed, even if it holds nothing.
    pub(super) fn namespaces(&mut self, tag: &Tag<'_>) {
        self.declares_rss |= tag.attributes().any(|(name, uri)| {
            name.starts_with("xmlns")
                && !uri.contains("modules")
                && ["purl.org/rss/", "purl.org/net/rss", "netscape.com/rdf/simple"]
                    .iter()
                    .any(|part| uri.contains(part))
        });
    }

    /// True if a namespace of RSS was declared.
    pub(super) fn declares_rss(&self) -> bool {
        self.declares_rss
    }

    /// True if nothing of another document was seen.
    pub(super) fn is_clean(&self) -> bool {
        self.foreign.is_none()
    }

    /// Looks at an element at the top. `local` is in lower case.
    pub(super) fn element(&mut self, namespace: Namespace, local: &str, attributes: &FeedAttributes<'_>) -> Top {
        // Inside another document these names mean nothing; after an error message, which is bits of HTML, they do.
        let may_be_bare = self.foreign.is_none() || self.looks_like_page;
        let is_core = matches!(namespace, Namespace::Core | Namespace::Atom);
        match local {
            "rss" => Top::Feed(rss_format(attributes.version)),
            "rdf" => Top::Feed(rdf_format(attributes.default_namespace)),
            "feed" if is_core => Top::Feed(atom_format(attributes)),
            "channel" if is_core && may_be_bare => Top::Feed(Format::RssUnknown),
            "item" if is_core && may_be_bare => Top::BareEntry(Format::RssUnknown),
            "entry" if is_core && may_be_bare => Top::BareEntry(Format::Atom10),
            "html" if is_core || namespace == Namespace::Xhtml => {
                self.looks_like_page = true;
                Top::Page
            }
            "head" | "body" if may_be_bare => {
                self.looks_like_page = true;
                Top::Page
            }
            _ => {
                self.looks_like_page |= self.foreign.is_none() && is_page_element(local);
                self.foreign.get_or_insert_with(|| local.chars().take(64).collect());
                Top::Foreign
            }
        }
    }

    /// Why a document without any feed in it is none.
    pub(super) fn into_error(self, text: &str, feeds: impl FnOnce() -> Vec<super::LinkedFeed>) -> FeedError {
        if self.looks_like_page {
            return FeedError::Html { feeds: feeds() };
        }
        match self.foreign {
            Some(root) => FeedError::OtherXml { root },
            None if text.starts_with("<?xml") => FeedError::CutOff,
            None => {
                let line = text.trim().lines().next().unwrap_or_default();
                FeedError::PlainText { beginning: line.chars().take(60).collect() }
            }
        }
    }
}

fn is_page_element(local: &str) -> bool {
    matches!(
        local,
        "a" | "b"
            | "br"
            | "center"
            | "div"
            | "font"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "hr"
            | "i"
            | "iframe"
            | "img"
            | "link"
            | "main"
            | "meta"
            | "noscript"
            | "p"
            | "pre"
            | "script"
            | "section"
            | "span"
            | "strong"
            | "style"
            | "table"
            | "title"
            | "ul"
    )
}

fn rss_format(version: Option<&str>) -> Format {
    let version = version.unwrap_or_default().trim();
    [
        ("0.90", Format::Rss090),
        ("0.91", Format::Rss091),
        ("0.92", Format::Rss092),
        ("0.93", Format::Rss093),
        ("0.94", Format::Rss094),
        ("1", Format::Rss10),
        ("2", Format::Rss20),
    ]
    .into_iter()
    .find(|(beginning, _)| version.starts_with(beginning))
    .map_or(Format::RssUnknown, |(_, format)| format)
}

fn rdf_format(default_namespace: Option<&str>) -> Format {
    match default_namespace {
        Some(uri) if uri.contains("netscape.com/rdf/simple/0.9") => Format::Rss090,
        _ => Format::Rss10,
    }
}

fn atom_format(attributes: &FeedAttributes<'_>) -> Format {
    let is_draft = attributes.version.is_some_and(|version| version.trim().starts_with("0."))
        || attributes.default_namespace.is_some_and(|uri| uri.contains("purl.org/atom"));
    if is_draft { Format::Atom03 } else { Format::Atom10 }
}
