//! What was learned about how often a source publishes: counts that fade, in a value of fixed size.

use super::Timestamp;

/// Version of the stored form.
const VERSION: u8 = 1;
/// Bytes of the stored form.
const BYTES: usize = 1 + 2 * 8 + 4 + 2 * (7 + 24);

/// What is known about how often a source publishes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PublishingHistory {
    /// Nothing: no document was read since its counts began.
    #[default]
    Unknown,
    /// The stored value makes no sense; it counts as nothing and is replaced.
    Damaged,
    Known(Box<PublishingCounts>),
}

/// Numbers of new entries, which fade with time (`rules::publishing`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishingCounts {
    /// Beginning of the time that the counts are about.
    pub since: Timestamp,
    /// Publication of the last entry that was counted; the counts have faded up to then.
    pub counted_at: Timestamp,
    /// Entries, never negative.
    pub entries: f32,
    /// Hours with a dated entry, by day of the week: Monday first, in [`PublishingCounts::UNIT`]s.
    pub weekdays: [u16; 7],
    /// The same by hour of the day, in universal time.
    pub hours: [u16; 24],
}

impl PublishingCounts {
    /// One hour with an entry: a fraction of it is left when it has faded.
    pub const UNIT: u16 = 256;
}

impl PublishingHistory {
    pub fn counts(&self) -> Option<&PublishingCounts> {
        match self {
            PublishingHistory::Known(counts) => Some(counts),
            PublishingHistory::Unknown | PublishingHistory::Damaged => None,
        }
    }

    /// The stored form: empty if nothing is known.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Some(counts) = self.counts() else { return Vec::new() };
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.push(VERSION);
        bytes.extend(counts.since.as_micros().to_le_bytes());
        bytes.extend(counts.counted_at.as_micros().to_le_bytes());
        bytes.extend(counts.entries.to_le_bytes());
        bytes.extend(counts.weekdays.iter().chain(&counts.hours).flat_map(|count| count.to_le_bytes()));
        bytes
    }

    /// Reads the stored form.
    pub fn from_bytes(bytes: &[u8]) -> PublishingHistory {
        match bytes {
            [] => PublishingHistory::Unknown,
            [VERSION, rest @ ..] if bytes.len() == BYTES => PublishingCounts::read(rest)
                .map_or(PublishingHistory::Damaged, |counts| PublishingHistory::Known(Box::new(counts))),
            _ => PublishingHistory::Damaged,
        }
    }
}

impl PublishingCounts {
    fn read(bytes: &[u8]) -> Option<PublishingCounts> {
        let (since, rest) = bytes.split_first_chunk()?;
        let (counted_at, rest) = rest.split_first_chunk()?;
        let (entries, rest) = rest.split_first_chunk()?;
        let mut counts = rest.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let counts = PublishingCounts {
            since: Timestamp::from_micros(i64::from_le_bytes(*since)),
            counted_at: Timestamp::from_micros(i64::from_le_bytes(*counted_at)),
            entries: f32::from_le_bytes(*entries),
            weekdays: std::array::from_fn(|_| counts.next().unwrap_or_default()),
            hours: std::array::from_fn(|_| counts.next().unwrap_or_default()),
        };
        (counts.entries.is_finite() && counts.entries >= 0.0 && counts.since <= counts.counted_at).then_some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts() -> PublishingCounts {
        PublishingCounts {
            since: Timestamp::from_seconds(1_800_000_000),
            counted_at: Timestamp::from_micros(1_800_000_000_123_456),
            entries: 12.75,
            weekdays: std::array::from_fn(|day| day as u16 * 300),
            hours: std::array::from_fn(|hour| u16::MAX - hour as u16),
        }
    }

    #[test]
    fn the_stored_form_is_read_again_and_has_one_size() {
        for known in [PublishingHistory::Unknown, PublishingHistory::Known(Box::new(counts()))] {
            assert_eq!(PublishingHistory::from_bytes(&known.to_bytes()), known);
        }
        assert_eq!(PublishingHistory::Known(Box::new(counts())).to_bytes().len(), BYTES);
        assert!(PublishingHistory::Damaged.to_bytes().is_empty());
    }

    #[test]
    fn a_value_of_another_version_or_with_impossible_counts_is_damaged() {
        let right = PublishingHistory::Known(Box::new(counts())).to_bytes();
        let wrong = |change: fn(&mut Vec<u8>)| {
            let mut bytes = right.clone();
            change(&mut bytes);
            PublishingHistory::from_bytes(&bytes)
        };
        assert_eq!(wrong(|bytes| bytes[0] = 2), PublishingHistory::Damaged);
        assert_eq!(wrong(|bytes| bytes.truncate(40)), PublishingHistory::Damaged);
        assert_eq!(wrong(|bytes| bytes.push(0)), PublishingHistory::Damaged);
        assert_eq!(wrong(|bytes| bytes[17..21].copy_from_slice(&f32::NAN.to_le_bytes())), PublishingHistory::Damaged);
        assert_eq!(wrong(|bytes| bytes[17..21].copy_from_slice(&(-1f32).to_le_bytes())), PublishingHistory::Damaged);
        assert_eq!(wrong(|bytes| bytes[9..17].fill(0)), PublishingHistory::Damaged, "counted before it began");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let read = PublishingHistory::from_bytes(&bytes);
            let again = PublishingHistory::from_bytes(&read.to_bytes());
            prop_assert_eq!(again.counts(), read.counts());
        }
    }
}
