//! Keeps what elements say: texts, dates, links, people.

use memchr::memmem;

use super::DocumentParser;
use crate::parse::date;
use crate::parse::feed::Entry;
use crate::parse::feed::attributes::FeedAttributes;
use crate::parse::feed::author::{self, Author};
use crate::parse::feed::element::{AUTHOR_MAIL_RANK, Field, FieldSlot, link_rank};
use crate::parse::feed::field::{Form, atom_form};
use crate::parse::feed::link;
use crate::parse::namespace::Namespace;

impl<'a> DocumentParser<'a, '_> {
    /// Keeps the entry that has ended.
    pub(super) fn keep_entry(&mut self) {
        let (Some(draft), Some(feed)) = (self.entry.take(), self.feed.as_mut()) else { return };
        // An entry with only unknown elements is an entry; `<item/>` is not.
        let is_hollow = !draft.has_elements;
        let entry = draft.into_entry();
        if is_hollow && entry == Entry::default() {
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
        feed.push(entry);
    }

    /// Keeps the text that was gathered, as what it was gathered for.
    pub(super) fn keep(&mut self, field: Field) {
        match field.slot {
            FieldSlot::Nothing => {}
            FieldSlot::Id | FieldSlot::Guid => self.keep_id(field),
            FieldSlot::Link => {
                // A link of Atom is in an attribute; words inside it describe it.
                let is_atom = self.is_atom();
                let rank = self.gathered.link_rank;
                let link = self.gathered.plain().filter(|link| !is_atom || link::looks_absolute(link));
                if let (Some(rank), Some(link)) = (rank, link.map(str::to_owned)) {
                    self.offer_link(rank, &link);
                }
            }
            FieldSlot::Title | FieldSlot::Summary | FieldSlot::Content => self.keep_text(field),
            FieldSlot::Published | FieldSlot::Updated => self.keep_date(field),
            FieldSlot::PersonName => self.person_name = self.gathered.plain().map(Into::into),
            FieldSlot::PersonMail => self.person_mail = self.gathered.plain().map(Into::into),
            FieldSlot::Author => self.keep_author(field.rank),
            FieldSlot::Category => self.keep_category(),
            FieldSlot::Comments => self.keep_comments(),
            FieldSlot::Language => self.keep_language(field.rank),
            FieldSlot::Duration => self.keep_duration(),
            FieldSlot::Ttl
            | FieldSlot::UpdatePeriod
            | FieldSlot::UpdateFrequency
            | FieldSlot::Hour
            | FieldSlot::Day => {
                self.keep_schedule(field.slot);
            }
        }
    }

    /// Keeps what the entry is told apart by, which often is its address too.
    fn keep_id(&mut self, field: Field) {
        let said = self.gathered.is_permalink;
        let Some(id) = self.gathered.plain() else { return };
        // Many guids are no address although their publishers did not say so: only what looks like one is.
        let looks_absolute = link::looks_absolute(id);
        let link_rank = match field.slot {
            FieldSlot::Guid if said != Some(false) && (looks_absolute || looks_relative(id, said.is_some())) => {
                Some(link_rank::PERMALINK)
            }
            FieldSlot::Id if field.rank == 0 && looks_absolute => Some(link_rank::ID),
            _ => None,
        };
        let link = link_rank.map(|rank| (rank, id.to_owned()));
        let draft = self.entry.as_mut().unwrap_or(&mut self.channel);
        if draft.id.wants(field.rank) {
            draft.id.offer(field.rank, Some(id.into()));
        }
        if let Some((rank, link)) = link {
            self.offer_link(rank, &link);
        }
    }

    fn keep_text(&mut self, field: Field) {
        let draft = self.entry.as_mut().unwrap_or(&mut self.channel);
        let (place, distrusts_plain) = match field.slot {
            FieldSlot::Title => (&mut draft.title, false),
            FieldSlot::Summary => (&mut draft.summary, true),
            _ => (&mut draft.content, true),
        };
        if place.wants(field.rank) {
            place.offer(field.rank, self.gathered.finish(distrusts_plain));
        }
    }

    fn keep_date(&mut self, field: Field) {
        let draft = self.entry.as_mut().unwrap_or(&mut self.channel);
        let place = if field.slot == FieldSlot::Updated { &mut draft.updated } else { &mut draft.published };
        let year_max = self.limits.year_max;
        place.offer(field.rank, self.gathered.plain().and_then(|text| date::parse_until(text, year_max)));
    }

    fn keep_author(&mut self, rank: u8) {
        let draft = self.entry.as_mut().unwrap_or(&mut self.channel);
        let found = self.person_name.as_deref().or_else(|| self.gathered.plain()).or(self.person_mail.as_deref());
        match found.and_then(author::parse) {
            Some(Author::Name(name)) => draft.offer_author(rank, name),
            Some(Author::Mail(mail)) => draft.offer_author(AUTHOR_MAIL_RANK, mail),
            None => {}
        }
    }

    fn keep_schedule(&mut self, slot: FieldSlot) {
        let Some(text) = self.gathered.plain() else { return };
        match slot {
            FieldSlot::Ttl => self.schedule.ttl(text),
            FieldSlot::UpdatePeriod => self.schedule.period(text),
            FieldSlot::UpdateFrequency => self.schedule.frequency(text),
            FieldSlot::Hour => self.schedule.hour(text),
            _ => self.schedule.day(text),
        }
    }

    /// Takes a link, made absolute, if it is better than what there is.
    pub(super) fn offer_link(&mut self, rank: u8, found: &str) {
        // The page of a feed is told by its best links only: the rest lead to the feed itself.
        let rank_max = if self.entry.is_some() { u8::MAX } else { link_rank::PERMALINK };
        let draft = self.entry.as_mut().unwrap_or(&mut self.channel);
        if rank > rank_max || !draft.link.wants(rank) {
            return;
        }
        let resolved = self.link_budget.absolute(self.bases.last().map(|base| &base.url), found);
        draft.link.offer(rank, resolved);
    }

    pub(super) fn reference(&mut self, name: &str) {
        match self.declared.value(name) {
            Some(value) => self.gathered.declared(value),
            None => self.gathered.reference(name),
        }
    }

    /// A CDATA section whose end was forgotten reaches to the end of the next one, or of the document: it holds the
    /// field's end tag and perhaps after that the beginning of another section.
    pub(super) fn cdata(&mut self, text: &'a str) {
        let is_cut = self.tokens.is_cut;
        let limit = if is_cut { Some(text.len()) } else { memmem::find(text.as_bytes(), b"<![CDATA[") };
        let own_end = limit.and_then(|limit| {
            let end_tag = format!("</{}>", self.frames.last()?.name);
            text[..limit].find(&end_tag)
        });
        match own_end {
            Some(end) => {
                self.gathered.cdata(&text[..end]);
                self.tokens.is_cut = false;
                self.tokens.reread_from(self.tokens.start() + "<![CDATA[".len() + end);
            }
            None => {
                self.gathered.cdata(text);
                self.is_cut_in_section |= is_cut;
            }
        }
    }

    /// How the text of an element is written: Atom says so, all others leave it to the reader.
    pub(super) fn form(&self, field: Field, namespace: Namespace, attributes: &FeedAttributes<'_>) -> Form {
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

/// True for a guid that is a path: told by its first character, or by any slash if its publisher calls it a permalink.
fn looks_relative(guid: &str, is_called_permalink: bool) -> bool {
    !link::is_absolute(guid)
        && !guid.contains(char::is_whitespace)
        && (guid.starts_with('/') || is_called_permalink && guid.contains('/'))
}
