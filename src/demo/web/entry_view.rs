//! The fields of entries as a site writes them: what follows from number, version and habits.

use std::time::Duration;

use super::content::{PublishedEntry, SiteForm};
use super::habits::{EntryHabit, Habits};
use super::prose::{Prose, spread};
use super::render::http_date;
use super::site_behaviour::SiteBehaviour;
use crate::model::{PostContent, Timestamp};

/// The body of every entry of a site with [`EntryHabit::EqualBodies`].
const EQUAL_BODY: &str = "Comments";

/// What the entries of a document have in common.
pub(super) struct DocumentStyle<'a> {
    pub(super) form: &'a SiteForm,
    pub(super) behaviour: SiteBehaviour,
    /// How often the habits of the site have acted.
    pub(super) round: u64,
    pub(super) seed: u64,
    pub(super) prose: &'a Prose,
}

/// The date of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryDate {
    Missing,
    /// What programs write for a date that they do not have.
    YearOne,
    StartOf1970,
    At(Timestamp),
}

impl DocumentStyle<'_> {
    pub(super) fn has_titles(&self) -> bool {
        self.behaviour != SiteBehaviour::Titleless
    }

    /// The title of an entry; empty if the site has no titles.
    pub(super) fn title(&self, entry: &PublishedEntry) -> String {
        if self.has_titles() { format!("News {} from site {}", entry.number, self.form.site) } else { String::new() }
    }

    /// The id of an entry, if it has one.
    pub(super) fn id(&self, entry: &PublishedEntry) -> Option<String> {
        let (habits, site, seed) = (self.form.habits, self.form.site, self.seed);
        let urn = |name: String| Some(format!("urn:little-web:{seed:x}:{site}:{name}"));
        if habits.has(EntryHabit::RotatedIds) || habits.has(EntryHabit::RotatedAddresses) {
            urn(format!("{}:{}", self.round, entry.number))
        } else if habits.has(EntryHabit::DuplicateIds) {
            urn(format!("pair:{}", entry.number / 2))
        } else if habits.has(EntryHabit::HttpsLinks) || habits.has(EntryHabit::TrackingParameters) {
            site.is_multiple_of(2).then(|| self.link(entry))
        } else {
            urn(entry.number.to_string())
        }
    }

    /// The URL of an entry. Its path ends with the number, whatever habits make of the rest.
    pub(super) fn link(&self, entry: &PublishedEntry) -> String {
        let (habits, site) = (self.form.habits, self.form.site);
        let home = match habits.has(EntryHabit::HttpsLinks) && self.round & 2 != 0 {
            true => self.form.home.replacen("http://", "https://", 1),
            false => self.form.home.clone(),
        };
        let folder = match habits.has(EntryHabit::RotatedAddresses) {
            true => format!("{}/", self.round),
            false => String::new(),
        };
        let tracking = match spread(self.round, 0) % 3 {
            campaign @ 1.. if habits.has(EntryHabit::TrackingParameters) => {
                format!("?utm_source=rss&amp;utm_campaign={campaign}")
            }
            _ => String::new(),
        };
        format!("{home}/{site}/{folder}entry/{}{tracking}", entry.number)
    }

    /// When an entry was published, as it says itself.
    pub(super) fn published(&self, entry: &PublishedEntry) -> EntryDate {
        self.dated(entry, entry.published)
    }

    /// When an entry was changed last, as it says itself.
    pub(super) fn updated(&self, entry: &PublishedEntry) -> EntryDate {
        self.dated(entry, entry.updated.unwrap_or(entry.published))
    }

    pub(super) fn paragraphs(&self, entry: &PublishedEntry) -> Vec<String> {
        paragraphs(self.prose, self.form.site, self.form.habits, entry.number, entry.version)
    }

    fn dated(&self, entry: &PublishedEntry, moment: Timestamp) -> EntryDate {
        let habits = self.form.habits;
        if habits.has(EntryHabit::Undated) {
            EntryDate::Missing
        } else if habits.has(EntryHabit::ZeroDates) {
            if entry.number.is_multiple_of(2) { EntryDate::YearOne } else { EntryDate::StartOf1970 }
        } else {
            EntryDate::At(moment)
        }
    }
}

/// The body of a version of an entry, as plain text on one line.
pub(super) fn body(prose: &Prose, site: usize, habits: Habits, number: u64, version: u32) -> String {
    paragraphs(prose, site, habits, number, version).join(" ")
}

fn paragraphs(prose: &Prose, site: usize, habits: Habits, number: u64, version: u32) -> Vec<String> {
    let mut paragraphs = match habits.has(EntryHabit::EqualBodies) {
        true => vec![EQUAL_BODY.to_owned()],
        false => vec![prose.opening(site, number), prose.rest(site, number).to_owned()],
    };
    if habits.has(EntryHabit::CommentCounters) {
        paragraphs.push(format!("{version} comments."));
    } else if version > 0 {
        paragraphs.push(format!("This is version {version}."));
    }
    paragraphs
}

/// The number of the entry of this site that a post was made of: from the path of its URL, or from its title if it is
/// a page.
pub(super) fn number_of(site: usize, content: &PostContent) -> Option<u64> {
    let digits = |text: &str| {
        let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    let by_url = || {
        let (start, number) = content.url.as_deref()?.split_once("/entry/")?;
        start.split('/').nth(3).is_some_and(|part| part == site.to_string()).then(|| digits(number))?
    };
    let by_title = || {
        let (number, from) = content.title.strip_prefix("News ")?.split_once(" from site ")?;
        (from == site.to_string()).then(|| digits(number))?
    };
    by_url().or_else(by_title)
}

impl EntryDate {
    /// As Atom and JSON Feed write it.
    pub(super) fn iso(self) -> Option<String> {
        match self {
            EntryDate::Missing => None,
            EntryDate::YearOne => Some("0001-01-01T00:00:00Z".to_owned()),
            EntryDate::StartOf1970 => Some("1970-01-01T00:00:00Z".to_owned()),
            EntryDate::At(moment) => Some(moment.to_string()),
        }
    }

    /// As RSS writes it.
    pub(super) fn http(self) -> Option<String> {
        match self {
            EntryDate::Missing => None,
            EntryDate::YearOne => Some("Mon, 01 Jan 0001 00:00:00 +0000".to_owned()),
            EntryDate::StartOf1970 => Some("Thu, 01 Jan 1970 00:00:00 GMT".to_owned()),
            // Rounded up: an entry must not seem older than the source that was added a moment before it.
            EntryDate::At(moment) => Some(http_date(moment + Duration::from_micros(999_999))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(site: usize, url: Option<&str>, title: &str, number: Option<u64>) {
        let content = PostContent { url: url.map(Into::into), title: title.into(), ..PostContent::default() };
        assert_eq!(number_of(site, &content), number, "{content:?}");
    }

    #[test]
    fn a_post_names_its_entry_whatever_habits_make_of_its_url() {
        check(3, Some("http://127.1.0.1:80/3/entry/17"), "", Some(17));
        check(3, Some("https://127.1.0.1:80/3/9/entry/17?utm_source=rss&utm_campaign=2"), "", Some(17));
        check(4, Some("http://127.1.0.1:80/3/entry/17"), "", None);
        check(3, Some("http://127.1.0.1:80/3/page"), "News 5 from site 3", Some(5));
        check(3, None, "News 5 from site 3", Some(5));
        check(3, None, "News 5 from site 33", None);
        check(3, None, "Something else", None);
    }
}
