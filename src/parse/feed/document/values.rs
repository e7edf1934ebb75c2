//! Keeps what elements say: texts, dates, links, people.

use super::Document;
use crate::parse::date;
use crate::parse::feed::Entry;
use crate::parse::feed::attributes::FeedAttributes;
use crate::parse::feed::author::{self, Author};
use crate::parse::feed::element::{Field, Slot};
use crate::parse::feed::field::{Form, atom_form};
use crate::parse::feed::link::{self, Resolved};
use crate::parse::namespace::Namespace;

impl<'a> Document<'a, '_> {
    /// Keeps the entry that has ended.
    pub(super) fn keep_entry(&mut self) {
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
    pub(super) fn keep(&mut self, field: Field) {
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

    /// Takes a link, made absolute, if it is better than what there is.
    pub(super) fn offer_link(&mut self, rank: u8, found: &str) {
        // The page of a feed is told by its best links only: the rest lead to the feed itself.
        let rank_max = if self.entry.is_some() { u8::MAX } else { 2 };
        let draft = self.entry.as_mut().unwrap_or(&mut self.channel);
        if rank > rank_max || !draft.link.wants(rank) {
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
    pub(super) fn cdata(&mut self, text: &'a str) {
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
