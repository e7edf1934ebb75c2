//! Reads an XML feed: maps the pieces of the document straight into entries, without building a tree.
//!
//! A stack of open elements, never deeper than the limit, says what a piece means. End tags close what they name and
//! everything forgotten inside it; end tags that name nothing open are passed over.

mod details;
mod elements;
mod values;

use std::sync::Arc;

use url::Url;

use super::declared::Declared;
use super::details::Inherited;
use super::draft::Draft;
use super::element::Element;
use super::field::Gathered;
use super::link::{self, LinkBudget};
use super::root::Prolog;
use super::schedule::Schedule;
use super::{Feed, FeedError, Format, Limits, Note, linked_feeds, wrapped};
use crate::model::HubLinks;
use crate::parse::namespace::NamespaceScope;
use crate::parse::xml::{XmlToken, XmlTokens};
use elements::AfterTag;

/// Reads an XML document as a feed, also if it stands inside a web page.
pub(super) fn read(text: &str, base: Option<&Url>, limits: &Limits) -> Result<Feed, FeedError> {
    let error = match read_once(text, base, limits) {
        Err(error @ FeedError::Html { .. }) => error,
        outcome => return outcome,
    };
    let links_to_feeds = matches!(&error, FeedError::Html { feeds } if !feeds.is_empty());
    let inner = wrapped::inner(text, links_to_feeds).and_then(|inner| read_once(&inner, base, limits).ok());
    // Without entries, it is an example or a mistake rather than a feed.
    let mut feed = inner.filter(|feed| !feed.entries.is_empty()).ok_or(error)?;
    if !feed.notes.contains(&Note::JunkSkipped) {
        feed.notes.insert(0, Note::JunkSkipped);
    }
    Ok(feed)
}

fn read_once(text: &str, base: Option<&Url>, limits: &Limits) -> Result<Feed, FeedError> {
    let mut document = DocumentParser {
        tokens: XmlTokens::new(text),
        scope: NamespaceScope::default(),
        frames: Vec::new(),
        bases: base.map(|base| Base::new(base.clone())).into_iter().collect(),
        gathered: Gathered::default(),
        person_name: None,
        person_mail: None,
        declared: Declared::new(text.len()),
        prolog: Prolog::default(),
        feed: None,
        channel: Draft::default(),
        entry: None,
        schedule: Schedule::default(),
        nodes: 0,
        channels: 0,
        entries: 0,
        outer_bases: usize::from(base.is_some()),
        link_budget: LinkBudget::new(text.len()),
        next_archive: None,
        hub_links: HubLinks::default(),
        is_channel_closed: false,
        is_junk_skipped: !text.starts_with('<'),
        is_cut_in_section: false,
        all_bytes: text.len(),
        limits,
    };
    loop {
        match document.tokens.next() {
            XmlToken::Open(tag) => {
                if document.open(tag)? == AfterTag::Page {
                    break;
                }
            }
            XmlToken::Close(name) => document.close(name),
            XmlToken::Text(text) if document.is_in_field() => document.gathered.text(text),
            XmlToken::Reference(name) if document.is_in_field() => document.reference(name),
            XmlToken::CData(text) if document.is_in_field() => document.cdata(text),
            XmlToken::Doctype(text) if document.feed.is_none() => {
                document.prolog.doctype(text);
                document.declared.read(text);
            }
            XmlToken::Text(_) | XmlToken::Reference(_) | XmlToken::CData(_) | XmlToken::Doctype(_) => {}
            XmlToken::End => break,
        }
    }
    document.keep_cut_entry();
    document.finish(text, base)
}

struct Frame<'a> {
    name: &'a str,
    element: Element,
    /// How many namespace declarations and bases were in force outside it.
    scope_depth: usize,
    base_depth: usize,
}

/// What relative links are relative to; the text is shared with the entries that it holds for.
struct Base {
    url: Url,
    text: Arc<str>,
}

impl Base {
    fn new(url: Url) -> Base {
        Base { text: url.as_str().into(), url }
    }
}

struct DocumentParser<'a, 'l> {
    tokens: XmlTokens<'a>,
    scope: NamespaceScope<'a>,
    frames: Vec<Frame<'a>>,
    /// The address of the feed and each `xml:base` in force.
    bases: Vec<Base>,
    /// How many bases are in force without any `xml:base`.
    outer_bases: usize,
    gathered: Gathered,
    /// `<name>` of the author that is being read.
    person_name: Option<Box<str>>,
    /// Its `<email>`.
    person_mail: Option<Box<str>>,
    declared: Declared<'a>,
    prolog: Prolog,
    feed: Option<Feed>,
    channel: Draft,
    entry: Option<Draft>,
    schedule: Schedule,
    nodes: usize,
    /// Elements around entries so far: in RDF, the channel is the second.
    channels: usize,
    entries: usize,
    link_budget: LinkBudget,
    next_archive: Option<Box<str>>,
    hub_links: HubLinks,
    is_channel_closed: bool,
    is_junk_skipped: bool,
    /// True if the document ends inside a CDATA section.
    is_cut_in_section: bool,
    all_bytes: usize,
    limits: &'l Limits,
}

impl<'a> DocumentParser<'a, '_> {
    fn finish(mut self, text: &str, base: Option<&Url>) -> Result<Feed, FeedError> {
        let Some(mut feed) = self.feed.take() else {
            return Err(self.prolog.into_error(text, || linked_feeds(text, base)));
        };
        let is_cut = self.tokens.is_cut || !self.frames.is_empty();
        if is_cut && feed.entries.is_empty() && !self.is_channel_closed {
            return Err(FeedError::CutOff);
        }
        let channel = self.channel.into_entry();
        if feed.format == Format::Rss10 && feed.entries.is_empty() && self.channels < 2 && !self.prolog.declares_rss() {
            // RDF describes many things; this one has no channel in it.
            return Err(FeedError::OtherXml { root: "rdf:RDF".to_owned() });
        }
        feed.language = channel.language.clone();
        let authors = channel.authors.clone();
        feed.title = channel.title;
        feed.link = channel.url;
        feed.next_archive = self.next_archive.filter(|url| link::looks_absolute(url));
        feed.hub_links = self.hub_links;
        feed.update_period_minutes = self.schedule.update_period_minutes();
        feed.skip_hours = self.schedule.skip_hours;
        feed.skip_days = self.schedule.skip_days;
        let mut inherited = Inherited { base: base.map(|base| base.as_str().into()), ..Inherited::default() };
        if feed.format.is_atom() {
            inherited.authors = authors;
        }
        if base.is_none() {
            inherited.link_base = feed.link.as_deref().and_then(|link| Url::parse(link).ok());
            inherited.base = inherited.link_base.as_ref().map(|link| link.as_str().into());
        }
        inherited.give(&mut feed, &mut self.link_budget);
        let notes = [
            (self.is_junk_skipped, Note::JunkSkipped),
            (self.tokens.is_repaired, Note::MarkupRepaired),
            (is_cut, Note::CutOff),
            (self.link_budget.is_exceeded, Note::LinksLeftRelative),
        ];
        feed.notes.extend(notes.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note));
        Ok(feed)
    }

    fn is_in_field(&self) -> bool {
        matches!(self.frames.last(), Some(Frame { element: Element::Field(_), .. }))
    }

    fn is_atom(&self) -> bool {
        self.feed.as_ref().is_some_and(|feed| feed.format.is_atom())
    }
}
