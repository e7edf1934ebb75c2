//! Reads an XML feed: maps the pieces of the document straight into entries, without building a tree.
//!
//! A stack of open elements, never deeper than the limit, says what a piece means. End tags close what they name and
//! everything forgotten inside it; end tags that name nothing open are passed over.

use url::Url;

use super::super::date;
use super::super::namespace::{Namespace, Scope};
use super::super::xml::{Tag, Token, Tokens};
use super::attributes::{FeedAttributes, decoded};
use super::author::{self, Author};
use super::draft::Draft;
use super::element::{Element, Field, Slot, classify, may_be_html};
use super::field::{Form, Gathered, atom_form};
use super::link::{self, Resolved};
use super::root::{Prolog, Top};
use super::schedule::Schedule;
use super::{Entry, Feed, FeedError, Format, Limits, Note, linked_feeds};

/// Reads an XML document as a feed.
pub(super) fn read(text: &str, base: Option<&Url>, limits: &Limits) -> Result<Feed, FeedError> {
    let mut document = Document {
        tokens: Tokens::new(text),
        scope: Scope::default(),
        frames: Vec::new(),
        bases: base.into_iter().cloned().collect(),
        gathered: Gathered::default(),
        person_name: None,
        prolog: Prolog::default(),
        feed: None,
        channel: Draft::default(),
        entry: None,
        schedule: Schedule::default(),
        nodes: 0,
        entries: 0,
        link_bytes_left: text.len().saturating_mul(4).saturating_add(64 * 1024),
        is_channel_closed: false,
        has_links_left: false,
        is_junk_skipped: !text.starts_with('<'),
        all_bytes: text.len(),
        limits,
    };
    loop {
        match document.tokens.next() {
            Token::Open(tag) => {
                if document.open(tag)? == Step::Page {
                    break;
                }
            }
            Token::Close(name) => document.close(name),
            Token::Text(text) if document.is_in_field() => document.gathered.text(text),
            Token::Reference(name) if document.is_in_field() => document.gathered.reference(name),
            Token::CData(text) if document.is_in_field() => document.cdata(text),
            Token::Doctype(text) if document.feed.is_none() => document.prolog.doctype(text),
            Token::Text(_) | Token::Reference(_) | Token::CData(_) | Token::Doctype(_) => {}
            Token::End => break,
        }
    }
    document.finish(text, base)
}

/// An open element.
struct Frame<'a> {
    name: &'a str,
    element: Element,
    /// How many namespace declarations and bases were in force outside it.
    scope_depth: usize,
    base_depth: usize,
}

struct Document<'a, 'l> {
    tokens: Tokens<'a>,
    scope: Scope<'a>,
    frames: Vec<Frame<'a>>,
    /// The address of the feed and each `xml:base` in force.
    bases: Vec<Url>,
    gathered: Gathered,
    /// `<name>` of the author that is being read.
    person_name: Option<Box<str>>,
    prolog: Prolog,
    feed: Option<Feed>,
    channel: Draft,
    entry: Option<Draft>,
    schedule: Schedule,
    nodes: usize,
    entries: usize,
    /// How much longer links may still become by being made absolute.
    link_bytes_left: usize,
    is_channel_closed: bool,
    has_links_left: bool,
    is_junk_skipped: bool,
    all_bytes: usize,
    limits: &'l Limits,
}

/// Whether to go on.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Next,
    /// This is a web page.
    Page,
}

impl<'a> Document<'a, '_> {
    fn open(&mut self, tag: Tag<'a>) -> Result<Step, FeedError> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes_max {
            return Err(FeedError::TooManyNodes { nodes_max: self.limits.nodes_max });
        }
        let mut buffer = [0; LOCAL_NAME_MAX];
        loop {
            let scope_depth = self.scope.depth();
            let attributes = FeedAttributes::read(&tag, &mut self.scope, self.frames.is_empty());
            let (namespace, local) = self.scope.resolve(tag.name);
            let name = Name { namespace, local, lower: lowered(local, &mut buffer) };
            let Some(parent) = self.frames.last() else {
                return self.open_top(tag, &name, &attributes, scope_depth);
            };
            let element = match parent.element {
                Element::Field(field) => match self.open_in_field(&tag, field, &name) {
                    InField::Inline => return Ok(Step::Next),
                    InField::Person(element) => element,
                    InField::EndsField => {
                        self.tokens.is_repaired = true;
                        self.pop();
                        continue;
                    }
                },
                context => {
                    if self.starts_next_entry(context, &name) {
                        self.tokens.is_repaired = true;
                        self.pop();
                        continue;
                    }
                    classify(context, name.namespace, name.lower, self.is_atom()).unwrap_or(Element::Skipped)
                }
            };
            self.push(tag, element, scope_depth, &name, &attributes)?;
            return Ok(Step::Next);
        }
    }

    /// An element outside everything: the feed itself, or what stands before it.
    fn open_top(
        &mut self,
        tag: Tag<'a>,
        name: &Name<'_>,
        attributes: &FeedAttributes<'a>,
        scope_depth: usize,
    ) -> Result<Step, FeedError> {
        let top = self.prolog.element(name.namespace, name.lower, attributes);
        match top {
            Top::Feed(format) => {
                self.begin_feed(format);
                self.push(tag, Element::Channel, scope_depth, name, attributes)?;
            }
            Top::BareEntry(format) => {
                self.begin_feed(format);
                self.push(tag, Element::Entry, scope_depth, name, attributes)?;
            }
            Top::Page if self.feed.is_none() => return Ok(Step::Page),
            Top::Page | Top::Foreign => self.scope.leave(scope_depth),
        }
        Ok(Step::Next)
    }

    fn begin_feed(&mut self, format: Format) {
        if self.feed.is_none() {
            self.is_junk_skipped |= !self.prolog.is_clean();
            self.feed = Some(Feed::new(format));
        }
    }

    /// Decides whether a tag inside a text belongs to the text.
    fn open_in_field(&mut self, tag: &Tag<'a>, field: Field, name: &Name<'_>) -> InField {
        if let Some(element) = classify(Element::Field(field), name.namespace, name.lower, self.is_atom()) {
            return InField::Person(element);
        }
        if self.ends_field(name) {
            return InField::EndsField;
        }
        if field.slot.takes_markup() {
            let is_html = name.namespace == Namespace::Xhtml;
            let before = self.tokens.source(self.gathered.start()..self.tokens.start());
            let is_same = self.frames.last().is_some_and(|frame| frame.name.eq_ignore_ascii_case(tag.name));
            self.gathered.same_name_depth += usize::from(is_same && !tag.is_empty);
            self.gathered.open_tag(tag, name.local, is_html, before);
        }
        InField::Inline
    }

    /// True if an element cannot stand inside a text, so that the text's end tag was forgotten.
    fn ends_field(&self, name: &Name<'_>) -> bool {
        if name.namespace == Namespace::Xhtml || may_be_html(name.lower, self.gathered.expects_markup()) {
            return false;
        }
        let context = self.frames.iter().rev().map(|frame| frame.element);
        let Some(context) = context.into_iter().find(|element| !matches!(element, Element::Field(_))) else {
            return false;
        };
        classify(context, name.namespace, name.lower, self.is_atom()).is_some() || self.starts_next_entry(context, name)
    }

    /// True if an element is the next entry and the end tag of the one before was forgotten.
    fn starts_next_entry(&self, context: Element, name: &Name<'_>) -> bool {
        let is_core = matches!(name.namespace, Namespace::Core | Namespace::Atom);
        let is_entry = match (context, self.is_atom()) {
            (Element::Channel, _) => return false,
            (Element::Skipped, true) => return false,
            (_, true) => name.lower == "entry",
            (_, false) => name.lower == "item",
        };
        is_core && is_entry
    }

    fn push(
        &mut self,
        tag: Tag<'a>,
        element: Element,
        scope_depth: usize,
        name: &Name<'_>,
        attributes: &FeedAttributes<'a>,
    ) -> Result<(), FeedError> {
        if self.frames.len() >= self.limits.depth_max {
            return Err(FeedError::TooDeep { depth_max: self.limits.depth_max });
        }
        let base_depth = self.bases.len();
        if let Some(base) = attributes.base.filter(|_| element != Element::Skipped) {
            self.bases.extend(link::join_base(self.bases.last(), &decoded(base)));
        }
        self.frames.push(Frame { name: tag.name, element, scope_depth, base_depth });
        if element == Element::Entry {
            self.entries += 1;
            if self.entries > self.limits.entries_max {
                return Err(FeedError::TooManyEntries { entries_max: self.limits.entries_max });
            }
            let mut draft = Draft::default();
            draft.id.offer(1, attributes.about.map(|about| decoded(about).trim().into()));
            self.entry = Some(draft);
        }
        let says_link = !matches!(element, Element::Channel | Element::SkipHours | Element::SkipDays);
        if says_link && let Some((rank, link)) = attributes.link(Some(element), name.lower) {
            self.offer_link(rank, &link);
        }
        if let Element::Field(field) = element {
            self.gathered.begin(self.form(field, name.namespace, attributes), self.tokens.position());
            self.gathered.is_permalink = attributes.is_permalink;
            if field.slot == Slot::Author {
                self.person_name = None;
            }
        }
        if tag.is_empty {
            self.pop();
        }
        Ok(())
    }

    fn close(&mut self, name: &'a str) {
        let Some(top) = self.frames.last() else { return };
        let is_own = top.name.eq_ignore_ascii_case(name);
        if is_own && self.gathered.same_name_depth > 0 && self.is_in_field() {
            self.gathered.same_name_depth -= 1;
            return self.close_inline(name);
        }
        if is_own {
            return self.pop();
        }
        self.tokens.is_repaired |= !self.is_in_field();
        let place = self.frames.iter().rposition(|frame| frame.name.eq_ignore_ascii_case(name)).or_else(|| {
            // `<dc:creator>…</creator>`
            let (own, other) = (local_part(top.name), local_part(name));
            own.eq_ignore_ascii_case(other).then_some(self.frames.len() - 1)
        });
        match place {
            Some(place) => {
                self.tokens.is_repaired = true;
                while self.frames.len() > place {
                    self.pop();
                }
            }
            None if self.is_in_field() => self.close_inline(name),
            None => {}
        }
    }

    fn close_inline(&mut self, name: &str) {
        let (namespace, local) = self.scope.resolve(name);
        self.gathered.close_tag(name, local, namespace == Namespace::Xhtml);
    }

    /// Closes the innermost element and keeps what it said.
    fn pop(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        match frame.element {
            Element::Field(field) => self.keep(field),
            Element::Entry => self.keep_entry(),
            Element::Channel => self.is_channel_closed = true,
            _ => {}
        }
        self.scope.leave(frame.scope_depth);
        self.bases.truncate(frame.base_depth);
        if self.is_in_field() {
            // What a part of an author said is kept; it is not part of the text around it.
            self.gathered.begin(Form::Unsaid, self.tokens.position());
        }
    }

    fn keep_entry(&mut self) {
        let (Some(draft), Some(feed)) = (self.entry.take(), self.feed.as_mut()) else { return };
        let entry = draft.into_entry();
        if entry == Entry::default() {
            return;
        }
        let length = feed.entries.len();
        if length == feed.entries.capacity() {
            // Room for as many as the rest of the document is likely to hold, so that thousands of entries are not
            // copied again and again.
            let read_bytes = self.tokens.position().max(1);
            let likely = length.saturating_mul(self.all_bytes.saturating_sub(read_bytes)) / read_bytes;
            feed.entries.reserve_exact(likely.clamp(4, self.limits.entries_max.max(4)).max(length / 8));
        }
        feed.entries.push(entry);
    }

    /// Keeps the text that was gathered.
    fn keep(&mut self, field: Field) {
        let Field { slot, rank } = field;
        match slot {
            Slot::Link => {
                let link = self.gathered.plain().map(str::to_owned);
                return link.map_or((), |link| self.offer_link(rank, &link));
            }
            Slot::Guid => {
                // Many guids are no address although their publishers did not say so: only one that looks like it is.
                let is_permalink = self.gathered.is_permalink != Some(false);
                let link = self.gathered.plain().filter(|text| is_permalink && link::looks_absolute(text));
                if let Some(link) = link.map(str::to_owned) {
                    self.offer_link(2, &link);
                }
            }
            Slot::Id if rank == 0 => {
                let link = self.gathered.plain().filter(|text| link::looks_absolute(text)).map(str::to_owned);
                if let Some(link) = link {
                    self.offer_link(7, &link);
                }
            }
            _ => {}
        }
        let draft = self.entry.as_mut().unwrap_or(&mut self.channel);
        match slot {
            Slot::Id | Slot::Guid if draft.id.wants(rank) => {
                draft.id.offer(rank, self.gathered.plain().map(Into::into))
            }
            Slot::Title if draft.title.wants(rank) => draft.title.offer(rank, self.gathered.finish(false)),
            Slot::Summary if draft.summary.wants(rank) => draft.summary.offer(rank, self.gathered.finish(true)),
            Slot::Content if draft.content.wants(rank) => draft.content.offer(rank, self.gathered.finish(true)),
            Slot::Published => draft.published.offer(rank, self.gathered.plain().and_then(date::parse)),
            Slot::Updated => draft.updated.offer(rank, self.gathered.plain().and_then(date::parse)),
            Slot::PersonName => self.person_name = self.gathered.plain().map(Into::into),
            Slot::Author => {
                let found = self.person_name.as_deref().or_else(|| self.gathered.plain());
                match found.and_then(author::parse) {
                    Some(Author::Name(name)) => draft.author.offer(rank, Some(name.into())),
                    Some(Author::Mail(mail)) => draft.author.offer(4, Some(mail.into())),
                    None => {}
                }
            }
            _ => {}
        }
        let Some(text) = self.gathered.plain() else { return };
        match slot {
            Slot::Ttl => self.schedule.ttl(text),
            Slot::UpdatePeriod => self.schedule.period(text),
            Slot::UpdateFrequency => self.schedule.frequency(text),
            Slot::Hour => self.schedule.hour(text),
            Slot::Day => self.schedule.day(text),
            _ => {}
        }
    }

    fn offer_link(&mut self, rank: u8, found: &str) {
        let draft = self.entry.as_mut().unwrap_or(&mut self.channel);
        if !draft.link.wants(rank) {
            return;
        }
        let resolved = match link::resolve(self.bases.last(), found) {
            Some(Resolved::Joined(link)) if link.len() > found.len().saturating_add(self.link_bytes_left) => {
                self.has_links_left = true;
                Some(found.trim().into())
            }
            Some(Resolved::Joined(link)) => {
                self.link_bytes_left -= link.len().saturating_sub(found.len());
                Some(link)
            }
            Some(Resolved::AsFound(link) | Resolved::Relative(link)) => Some(link),
            None => None,
        };
        draft.link.offer(rank, resolved);
    }

    /// A CDATA section whose end was forgotten reaches to the end of the next one: it holds the field's end tag and
    /// after that the beginning of another section.
    fn cdata(&mut self, text: &'a str) {
        let own_end = text.find("<![CDATA[").and_then(|next| {
            let end_tag = format!("</{}>", self.frames.last()?.name);
            text[..next].find(&end_tag)
        });
        match own_end {
            Some(end) => {
                self.gathered.cdata(&text[..end]);
                self.tokens.reread_from(self.tokens.start() + "<![CDATA[".len() + end);
            }
            None => self.gathered.cdata(text),
        }
    }

    fn finish(mut self, text: &str, base: Option<&Url>) -> Result<Feed, FeedError> {
        let Some(mut feed) = self.feed.take() else {
            return Err(self.prolog.into_error(text, || linked_feeds(text, base)));
        };
        let is_cut = self.tokens.is_cut || !self.frames.is_empty();
        if is_cut && feed.entries.is_empty() && !self.is_channel_closed {
            return Err(FeedError::CutOff);
        }
        let channel = self.channel.into_entry();
        feed.title = channel.title;
        feed.link = channel.url;
        feed.update_period_minutes = self.schedule.update_period_minutes();
        feed.skip_hours = self.schedule.skip_hours;
        feed.skip_days = self.schedule.skip_days;
        if feed.format.is_atom()
            && let Some(author) = channel.author
        {
            for entry in &mut feed.entries {
                entry.author.get_or_insert_with(|| author.clone());
            }
        }
        if base.is_none() {
            self.has_links_left |= resolve_from_feed_link(&mut feed, self.link_bytes_left);
        }
        let notes = [
            (self.is_junk_skipped, Note::JunkSkipped),
            (self.tokens.is_repaired, Note::MarkupRepaired),
            (is_cut, Note::CutOff),
            (self.has_links_left, Note::LinksLeftRelative),
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

    /// How the text of an element is written: Atom says so, all others leave it to the reader.
    fn form(&self, field: Field, namespace: Namespace, attributes: &FeedAttributes<'_>) -> Form {
        let is_atom = namespace == Namespace::Atom || namespace == Namespace::Core && self.is_atom();
        match namespace {
            _ if is_atom && field.slot.takes_markup() => atom_form(attributes.media_type, attributes.mode),
            Namespace::Xhtml => Form::Markup,
            Namespace::Media if attributes.media_type == Some("html") => Form::Html,
            Namespace::Media => Form::Plain,
            _ => Form::Unsaid,
        }
    }
}

/// What a tag inside a text is.
enum InField {
    /// Part of the text, or of nothing.
    Inline,
    /// A part of an author.
    Person(Element),
    /// The next element: the text should have ended before it.
    EndsField,
}

/// A name, taken apart.
struct Name<'n> {
    namespace: Namespace,
    local: &'n str,
    lower: &'n str,
}

/// Longer names mean nothing to anyone here.
const LOCAL_NAME_MAX: usize = 20;

/// A name in lower case, or nothing if it is too long to be known.
fn lowered<'n>(local: &'n str, buffer: &'n mut [u8; LOCAL_NAME_MAX]) -> &'n str {
    if !local.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return local;
    }
    let Some(place) = buffer.get_mut(..local.len()) else { return "" };
    place.copy_from_slice(local.as_bytes());
    place.make_ascii_lowercase();
    std::str::from_utf8(place).unwrap_or_default()
}

fn local_part(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

/// Makes links absolute from the feed's own link, if nothing better is known. Says whether some had to be left.
fn resolve_from_feed_link(feed: &mut Feed, bytes_max: usize) -> bool {
    let Some(base) = feed.link.as_deref().and_then(|link| Url::parse(link).ok()) else { return false };
    let mut bytes_left = bytes_max;
    for entry in &mut feed.entries {
        let Some(found) = entry.url.as_deref() else { continue };
        let Some(Resolved::Joined(link)) = link::resolve(Some(&base), found) else { continue };
        match bytes_left.checked_sub(link.len()) {
            Some(left) => bytes_left = left,
            None => return true,
        }
        entry.url = Some(link);
    }
    false
}
