//! Text to moments: a moment is in range, and written out it is the same one.

use feedwarden::model::Timestamp;
use feedwarden::parse::date::parse;

/// What no date is longer than.
const LENGTH_MAX: usize = 100;

/// Holds the laws against one text.
pub(crate) fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let found = parse(&text);
    assert_eq!(parse(&format!("\t {text}\n")), found, "blanks around a date mean nothing");
    let Some(moment) = found else { return };
    assert!(text.trim().len() <= LENGTH_MAX, "{} bytes are prose", text.len());
    assert!((Timestamp::MIN..=Timestamp::MAX).contains(&moment), "{moment} is out of range");
    assert_eq!(parse(&moment.to_string()), Some(moment), "{moment} written out is another moment");
    assert!(text.chars().any(|character| character.is_ascii_digit()), "a date without any digit");
}
