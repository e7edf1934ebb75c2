//! Whether a name may be another one, mistyped: for suggestions in errors, never to act on.

/// More mistyped letters than this make another word.
const DISTANCE_MAX: usize = 3;

/// The number of letters that differ, if one name may be the other, mistyped. Short names must be nearer.
pub fn misspelling(name: &str, right: &str) -> Option<usize> {
    let distance_max = DISTANCE_MAX.min(right.len() / 4);
    // Each byte of difference in length costs a letter, which spares most comparisons.
    if name.len().abs_diff(right.len()) > distance_max {
        return None;
    }
    Some(strsim::damerau_levenshtein(name, right)).filter(|distance| *distance <= distance_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_a_name_the_more_of_it_may_be_wrong() {
        for (name, right, distance) in [
            ("titel", "title", Some(1)),
            ("enable", "enabled", Some(1)),
            ("poll_intervall_minute", "poll_interval_minutes", Some(2)),
            ("type", "type", Some(0)),
            ("ur", "url", None),
            ("colour", "title", None),
        ] {
            assert_eq!(misspelling(name, right), distance, "{name}");
        }
    }
}
