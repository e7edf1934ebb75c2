//! What publishers do to entries that they have published: edit them, rename them, hide them, date them wrongly.
//!
//! Behaviours say how a site answers; habits say what the entries in its answers look like over time.

use std::fmt;

/// A habit of a publisher. Those that change something do so at a share of requests
/// ([`WebSettings::habit_chance`](super::WebSettings::habit_chance)), the first one aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumIter)]
pub enum EntryHabit {
    /// Every entry has the same body, as in a list of links or a podcast with constant show notes.
    EqualBodies,
    /// The newest entry gets another body.
    EditsNewest,
    /// The newest entry gets another body and a new `updated`; in RSS, a new `pubDate`.
    EditsNewestDated,
    /// One of the entries behind the newest gets another body.
    EditsOld,
    /// The same with a new `updated`; in RSS, with a new `pubDate`.
    EditsOldDated,
    /// Every second entry appears with a date before that of entries that are there already.
    LateEntries,
    /// The order of entries changes, as if readers voted.
    VotesOrder,
    /// All entries get other ids; their URLs and dates stay.
    RotatedIds,
    /// All entries get other ids and other URLs; their dates stay.
    RotatedAddresses,
    /// Links change between http and https. Entries have their link as their id, or no id.
    HttpsLinks,
    /// Tracking parameters of links come, change and go. Entries have their link as their id, or no id.
    TrackingParameters,
    /// Bodies contain a number of comments, which grows for the newest entries.
    CommentCounters,
    /// Entries have no dates.
    Undated,
    /// Entries are dated in the year 1 or at the start of 1970.
    ZeroDates,
    /// Some entries leave the document and return later.
    LeaveAndReturn,
    /// Documents with the newest two entries and full documents alternate.
    TruncatedDocuments,
    /// Two entries share an id.
    DuplicateIds,
}

/// A set of habits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Habits(u32);

impl Habits {
    pub const NONE: Habits = Habits(0);

    pub const fn of(habits: &[EntryHabit]) -> Habits {
        let mut bits = 0;
        let mut place = 0;
        while place < habits.len() {
            bits |= 1 << habits[place] as u32;
            place += 1;
        }
        Habits(bits)
    }

    /// Every habit alone.
    pub fn each() -> Vec<Habits> {
        all().map(|habit| Habits::of(&[habit])).collect()
    }

    /// Every two habits together of which the rules promise each entry once.
    pub fn pairs() -> Vec<Habits> {
        let both = |one: EntryHabit| {
            all().filter(move |other| (*other as u32) > one as u32).map(move |other| Habits::of(&[one, other]))
        };
        all().flat_map(both).filter(|habits| habits.keep_entries_apart()).collect()
    }

    /// No habit, each alone, and combinations that are seen together: what a lifelike web is made of.
    pub fn lifelike() -> Vec<Habits> {
        use EntryHabit::*;
        let together: [&[EntryHabit]; 13] = [
            &[EqualBodies, VotesOrder],
            &[EqualBodies, RotatedIds, Undated],
            &[EqualBodies, LeaveAndReturn, LateEntries],
            &[EqualBodies, HttpsLinks, TrackingParameters],
            &[EqualBodies, DuplicateIds],
            &[CommentCounters, VotesOrder, LateEntries],
            &[EditsNewest, EditsOldDated, LateEntries, TruncatedDocuments],
            &[EditsOld, Undated, LeaveAndReturn],
            &[EditsNewestDated, HttpsLinks, TrackingParameters],
            &[RotatedIds, ZeroDates, LeaveAndReturn],
            &[RotatedIds, EditsOld, CommentCounters, VotesOrder],
            &[RotatedAddresses, TruncatedDocuments, LateEntries],
            &[DuplicateIds, VotesOrder, LateEntries],
        ];
        let mut dealt = vec![Habits::NONE];
        dealt.extend(Habits::each());
        dealt.extend(together.map(Habits::of));
        dealt
    }

    pub const fn has(self, habit: EntryHabit) -> bool {
        self.0 & 1 << habit as u32 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether each entry can be told from every other and from its own earlier versions. It cannot if its id and its
    /// body change between two polls, unless its URL and its date stay and it never leaves; nor if an id leads now to
    /// one entry and now to another.
    pub fn keep_entries_apart(self) -> bool {
        use EntryHabit::*;
        let any = |habits: &[EntryHabit]| self.0 & Habits::of(habits).0 != 0;
        let changes_bodies = any(&[EditsNewest, EditsNewestDated, EditsOld, EditsOldDated, CommentCounters]);
        let keeps_url_and_date = !any(&[
            EqualBodies,
            EditsNewestDated,
            EditsOldDated,
            RotatedAddresses,
            DuplicateIds,
            Undated,
            ZeroDates,
            LeaveAndReturn,
            TruncatedDocuments,
        ]);
        let changes_ids = any(&[RotatedIds, RotatedAddresses, DuplicateIds]) && !keeps_url_and_date;
        let ids_wander =
            self.has(DuplicateIds) && any(&[RotatedIds, RotatedAddresses, LeaveAndReturn, TruncatedDocuments]);
        let only_dates_are_left = self.has(EqualBodies) && self.has(RotatedAddresses);
        !(changes_bodies && changes_ids || ids_wander || only_dates_are_left)
    }

    /// Whether a document changes without a publication.
    pub(super) fn change_documents(self) -> bool {
        use EntryHabit::*;
        self.0 & !Habits::of(&[EqualBodies, LateEntries, Undated, ZeroDates, DuplicateIds]).0 != 0
    }
}

fn all() -> impl Iterator<Item = EntryHabit> {
    <EntryHabit as strum::IntoEnumIterator>::iter()
}

impl fmt::Debug for Habits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(all().filter(|habit| self.has(*habit))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_it_was_made_of() {
        let habits = Habits::of(&[EntryHabit::EqualBodies, EntryHabit::DuplicateIds]);
        let found: Vec<EntryHabit> = all().filter(|habit| habits.has(*habit)).collect();
        assert_eq!(found, [EntryHabit::EqualBodies, EntryHabit::DuplicateIds]);
        assert_eq!(format!("{habits:?}"), "{EqualBodies, DuplicateIds}");
        assert!(Habits::NONE.is_empty() && !habits.is_empty());
    }

    #[test]
    fn a_lifelike_web_has_every_habit_and_none_that_the_rules_cannot_follow() {
        let dealt = Habits::lifelike();
        assert!(all().all(|habit| dealt.contains(&Habits::of(&[habit]))));
        for habits in dealt.into_iter().chain(Habits::pairs()) {
            assert!(habits.keep_entries_apart(), "{habits:?}");
        }
    }
}
