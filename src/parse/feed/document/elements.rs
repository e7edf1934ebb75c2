//! Opens and closes elements: what each means where it stands, and what its publisher forgot to close.

use super::{Base, DocumentParser, Frame};
use crate::parse::feed::attributes::{FeedAttributes, decoded};
use crate::parse::feed::draft::Draft;
use crate::parse::feed::element::{Element, Field, FieldSlot, classify, may_be_html};
use crate::parse::feed::field::Form;
use crate::parse::feed::link;
use crate::parse::feed::root::Top;
use crate::parse::feed::{Feed, FeedError, Format};
use crate::parse::namespace::Namespace;
use crate::parse::xml::Tag;

/// Whether to go on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AfterTag {
    Next,
    /// This is a web page.
    Page,
}

impl<'a> DocumentParser<'a, '_> {
    /// Takes a start tag.
    pub(super) fn open(&mut self, tag: Tag<'a>) -> Result<AfterTag, FeedError> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes_max {
            return Err(FeedError::TooManyNodes { nodes_max: self.limits.nodes_max });
        }
        let mut buffer = [0; LOCAL_NAME_MAX];
        loop {
            let scope_depth = self.scope.depth();
            let attributes = FeedAttributes::read(&tag, &mut self.scope, self.frames.len() < 2);
            let (namespace, local) = self.scope.resolve(tag.name);
            let name = Name { namespace, local, lower: lowered(local, &mut buffer) };
            let Some(parent) = self.frames.last() else {
                return self.open_top(tag, &name, &attributes, scope_depth);
            };
            let element = match parent.element {
                Element::Field(field) => match self.open_in_field(&tag, field, &name) {
                    InField::Inline => return Ok(AfterTag::Next),
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
            return Ok(AfterTag::Next);
        }
    }

    /// An element outside everything: the feed itself, or what stands before it.
    fn open_top(
        &mut self,
        tag: Tag<'a>,
        name: &Name<'_>,
        attributes: &FeedAttributes<'a>,
        scope_depth: usize,
    ) -> Result<AfterTag, FeedError> {
        let top = self.prolog.element(name.namespace, name.lower, attributes);
        match top {
            Top::Feed(format) => {
                if name.lower == "rdf" {
                    self.prolog.namespaces(&tag);
                }
                self.begin_feed(format);
                self.push(tag, Element::Channel, scope_depth, name, attributes)?;
            }
            Top::BareEntry(format) => {
                self.begin_feed(format);
                self.push(tag, Element::Entry, scope_depth, name, attributes)?;
            }
            Top::Page if self.feed.is_none() => return Ok(AfterTag::Page),
            Top::Page | Top::Foreign => self.scope.leave(scope_depth),
        }
        Ok(AfterTag::Next)
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
            self.gathered.open_tag(tag, name.local, is_html, &self.declared.expanded(before));
        } else if field.slot != FieldSlot::Author {
            // What an unknown element says after an address or a date is no part of it.
            self.gathered.freeze();
        }
        InField::Inline
    }

    /// True if an element cannot stand inside a text, so that the text's end tag was forgotten.
    fn ends_field(&self, name: &Name<'_>) -> bool {
        let context = self.frames.iter().rev().map(|frame| frame.element);
        let Some(context) = context.into_iter().find(|element| !matches!(element, Element::Field(_))) else {
            return false;
        };
        if self.gathered.is_after_wrapper() {
            // The markup is over; a declaration inside it must not make the next element look like more of it.
            return classify(context, Namespace::Atom, name.lower, self.is_atom()).is_some();
        }
        let expects_markup = self.gathered.expects_markup();
        let is_core = matches!(name.namespace, Namespace::Core | Namespace::Atom);
        // Markup may hold other vocabularies: a drawing has its own `<dc:title>`.
        let is_foreign = name.namespace == Namespace::Xhtml || expects_markup && !is_core;
        if is_foreign || may_be_html(name.lower, expects_markup, self.is_atom()) {
            return false;
        }
        classify(context, name.namespace, name.lower, self.is_atom()).is_some() || self.starts_next_entry(context, name)
    }

    /// True if an element is the next entry and the end tag of the one before was forgotten.
    fn starts_next_entry(&self, context: Element, name: &Name<'_>) -> bool {
        let is_core = matches!(name.namespace, Namespace::Core | Namespace::Atom);
        let is_entry = match (context, self.is_atom()) {
            (Element::Channel, _) => return false,
            // Other vocabularies have items and entries too.
            (Element::Skipped, is_atom) if is_atom || self.entry.is_some() => return false,
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
        if let Some(entry) = self.entry.as_mut() {
            entry.has_elements = true;
        }
        let base_depth = self.bases.len();
        if let Some(base) = attributes.base.filter(|_| element != Element::Skipped) {
            let joined = link::join_base(self.bases.last().map(|base| &base.url), &decoded(base));
            self.bases.extend(joined.map(Base::new));
        }
        // Photographers, actors and others are credited with the same element.
        let is_other_credit = name.lower == "credit"
            && !attributes
                .role
                .is_some_and(|role| ["author", "writer"].contains(&role.trim().to_ascii_lowercase().as_str()));
        let element =
            if is_other_credit { Element::Field(Field { slot: FieldSlot::Nothing, rank: 0 }) } else { element };
        self.frames.push(Frame { name: tag.name, element, scope_depth, base_depth });
        self.channels += usize::from(element == Element::Channel);
        if element == Element::Entry {
            self.entries += 1;
            if self.entries > self.limits.entries_max {
                return Err(FeedError::TooManyEntries { entries_max: self.limits.entries_max });
            }
            let mut draft = Draft::default();
            let about = attributes.about.map(decoded);
            let id = about.as_deref().map(str::trim).filter(|id| !id.is_empty());
            draft.id.offer(1, id.map(Into::into));
            self.entry = Some(draft);
        }
        let says_link = matches!(element, Element::Entry | Element::MediaGroup | Element::Field(_));
        if says_link && let Some((rank, link)) = attributes.link(element, name.lower) {
            self.offer_link(rank, &link);
        }
        self.take_details(element, name, attributes);
        if let Element::Field(field) = element {
            self.gathered.begin(self.form(field, name.namespace, attributes), self.tokens.position());
            self.gathered.is_permalink = attributes.is_permalink;
            if field.slot == FieldSlot::Link {
                self.gathered.link_rank = attributes.rel_rank();
            }
            if field.slot == FieldSlot::Author {
                (self.person_name, self.person_mail) = (None, None);
            }
        }
        if tag.is_empty {
            self.pop();
        }
        Ok(())
    }

    /// Takes an end tag.
    pub(super) fn close(&mut self, name: &'a str) {
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

    /// Keeps the entry in which the document ends, if it ends inside a CDATA section and the entry has an id: by its id,
    /// the whole entry is known as a new version of this one.
    pub(super) fn keep_cut_entry(&mut self) {
        if !self.is_cut_in_section || !self.entry.as_ref().is_some_and(|draft| draft.id.is_known()) {
            return;
        }
        while let Some(frame) = self.frames.last() {
            let is_entry = frame.element == Element::Entry;
            match frame.element {
                // Half an address or a date is none.
                Element::Field(field) if !field.slot.takes_markup() => drop(self.frames.pop()),
                _ => self.pop(),
            }
            if is_entry {
                return;
            }
        }
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
pub(super) struct Name<'n> {
    pub(super) namespace: Namespace,
    local: &'n str,
    pub(super) lower: &'n str,
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
