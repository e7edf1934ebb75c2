//! The texts of entries: each is unique, made from its number alone, and never kept.

use crate::dice::{Dice, SeededDice};

const WORDS: [&str; 40] = [
    "river", "window", "morning", "council", "garden", "market", "letter", "bridge", "winter", "harbour", "teacher",
    "engine", "village", "record", "number", "question", "kitchen", "journey", "weather", "library", "station",
    "paper", "mountain", "evening", "summer", "carried", "opened", "repaired", "counted", "followed", "measured",
    "painted", "answered", "quiet", "narrow", "early", "distant", "careful", "wooden", "heavy",
];

/// Words for every entry of a web.
pub(super) struct Prose {
    seed: u64,
    entry_bytes: usize,
    /// Twice the longest text and more, so that a text can begin at many places and never runs over the end.
    words: String,
}

impl Prose {
    pub(super) fn new(seed: u64, entry_bytes: usize) -> Prose {
        let dice = SeededDice::new(seed);
        let bytes = 4 * entry_bytes + 16 * 1024;
        let mut words = String::with_capacity(bytes + 16);
        while words.len() < bytes {
            words.push_str(WORDS[(dice.roll() * WORDS.len() as f64) as usize]);
            words.push(' ');
        }
        Prose { seed, entry_bytes, words }
    }

    /// Some words that belong to no entry.
    pub(super) fn words(&self) -> &[u8] {
        self.words.as_bytes()
    }

    /// The first paragraph of an entry, which no other entry has.
    pub(super) fn opening(&self, site: usize, number: u64) -> String {
        format!("This is entry {number} of site {site} on the simulated web {:x}, and there is no other.", self.seed)
    }

    /// The second paragraph: between half of the usual length and one and a half of it.
    pub(super) fn rest(&self, site: usize, number: u64) -> &str {
        let place = spread(site as u64, number);
        let bytes = self.entry_bytes / 2 + place as usize % (self.entry_bytes + 1);
        let start = (place >> 20) as usize % (self.words.len() / 2);
        let start = start + self.words[start..].find(' ').map_or(0, |space| space + 1);
        let end = start + bytes;
        let end = end + self.words[end..].find(' ').unwrap_or(0);
        &self.words[start..end]
    }
}

/// Two numbers made into one that looks like neither (the finalizer of SplitMix64).
pub(super) fn spread(one: u64, other: u64) -> u64 {
    let mut mixed = one.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(other);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn texts_are_unique_folded_and_about_as_long_as_asked_for() {
        let prose = Prose::new(3, 1000);
        let texts: Vec<String> = (0..50)
            .flat_map(|site| (0..20).map(move |number| (site, number)))
            .map(|(site, number)| format!("{} {}", prose.opening(site, number), prose.rest(site, number)))
            .collect();
        assert_eq!(texts.iter().collect::<HashSet<_>>().len(), 1000);
        for text in &texts {
            assert!((500..1700).contains(&text.len()), "{}", text.len());
            assert_eq!(*text, text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        let mean = texts.iter().map(String::len).sum::<usize>() / texts.len();
        assert!((1000..1200).contains(&mean), "{mean}");
    }

    #[test]
    fn texts_may_be_short() {
        let prose = Prose::new(3, 0);
        assert!(prose.opening(1, 2).starts_with("This is entry 2 of site 1 "));
        assert!(prose.rest(1, 2).len() < 20);
    }
}
