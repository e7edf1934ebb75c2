//! Dates as publishers write them: RFC 822 and its many misspellings, RFC 3339 and its relatives, `asctime`, Unix
//! seconds, in several languages.
//!
//! The parser is lenient about form and strict about values: unknown words are ignored, but a thirteenth
//! month or a 31st of February is no date. It has no clock, so a date without a year is invalid, too.

mod names;
mod scan;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::model::Timestamp;
use scan::{Moment, scan};

/// The longest text that can be a date; anything longer is prose.
const LENGTH_MAX: usize = 100;

/// Placeholders for a missing date: the first second of 1970, and anything before the second year.
const NO_DATE: Timestamp = Timestamp::EPOCH;
const SECOND_YEAR: Timestamp = Timestamp::from_seconds(-62_104_060_800);

/// The last year that a year of two digits means, if nothing better is known (RFC 2822, section 4.3).
pub const YEAR_MAX: i16 = 2049;

/// The moment that a text names, if it names one. Without a zone it is taken as universal time. What stands for a
/// missing date is none (s613).
pub fn parse(text: &str) -> Option<Timestamp> {
    parse_until(text, YEAR_MAX)
}

/// The same, but a year of two digits is not after the given one: `49` is 1949 if that is 2027.
pub fn parse_until(text: &str, year_max: i16) -> Option<Timestamp> {
    let text = text.trim();
    // `-0001-11-30` is what some programs make of a missing date; nothing that has a date was published before the year
    // 0.
    let is_before_all_years =
        text.strip_prefix(['-', '−']).is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()));
    if is_before_all_years {
        return None;
    }
    read(text, i64::from(year_max)).filter(|moment| *moment != NO_DATE && *moment >= SECOND_YEAR)
}

fn read(text: &str, year_max: i64) -> Option<Timestamp> {
    if text.is_empty() || text.len() > LENGTH_MAX {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return from_digits(text, year_max);
    }
    match leading_date(text) {
        Leading::Date(date, rest) => resolve(scan(rest, date, year_max)?),
        Leading::Nonsense => None,
        Leading::None => resolve(scan(text, Moment::default(), year_max)?),
    }
}

/// A text of digits alone: a compact date, or seconds or milliseconds since 1970, told apart by their length.
fn from_digits(text: &str, year_max: i64) -> Option<Timestamp> {
    let whole = text.split('.').next().unwrap_or_default();
    let number: i64 = whole.parse().ok()?;
    if text.matches('.').count() == 2 {
        return resolve(scan(text, Moment::default(), year_max)?);
    }
    match whole.len() {
        4 => resolve(Moment { year: Some(number), month: Some(1), day: Some(1), ..Moment::default() }),
        8 => resolve(compact_date(number)),
        9..=11 => Some(Timestamp::from_seconds(number)),
        12 | 13 => Some(Timestamp::from_micros(number.saturating_mul(1000))),
        14 => {
            let time = number % 1_000_000;
            resolve(Moment {
                hour: Some(time / 10_000),
                minute: time / 100 % 100,
                second: time % 100,
                ..compact_date(number / 1_000_000)
            })
        }
        _ => None,
    }
}

/// `20261116` as a date.
fn compact_date(number: i64) -> Moment {
    Moment {
        year: Some(number / 10_000),
        month: Some(number / 100 % 100),
        day: Some(number % 100),
        ..Moment::default()
    }
}

/// What a text begins with, as far as ISO 8601 goes.
enum Leading<'a> {
    /// A date with the year first, and what follows it.
    Date(Moment, &'a str),
    /// Something that looks like one and is none: a week date, an ordinal date.
    Nonsense,
    None,
}

/// Reads `2026-11-16`, `2026/11/16`, `2026-11` or `20261116T` at the start.
fn leading_date(text: &str) -> Leading<'_> {
    let (year, rest) = digits(text);
    if year.len() == 8 && rest.starts_with(['T', 't', ' ']) {
        return year.parse().map_or(Leading::Nonsense, |number| Leading::Date(compact_date(number), rest));
    }
    let Some(separator) = rest.chars().next().filter(|character| matches!(character, '-' | '/' | '.')) else {
        return Leading::None;
    };
    if year.len() != 4 {
        return Leading::None;
    }
    let (month, rest) = digits(&rest[1..]);
    if month.is_empty() || month.len() > 2 {
        // `2026-Nov-16` has a month's name there, which the scanner reads; `2026-W47` and `2026-320` mean nothing here.
        let word = rest.trim_start().split(|next: char| !next.is_alphabetic()).next().unwrap_or_default();
        let names_month = names::month(&word.to_lowercase()).is_some();
        return if month.is_empty() && names_month { Leading::None } else { Leading::Nonsense };
    }
    let mut moment = Moment { year: year.parse().ok(), month: month.parse().ok(), day: Some(1), ..Moment::default() };
    let Some(after) = rest.strip_prefix(separator) else {
        return Leading::Date(moment, rest);
    };
    let (day, rest) = digits(after);
    if day.is_empty() || day.len() > 2 {
        return Leading::Nonsense;
    }
    moment.day = day.parse().ok();
    Leading::Date(moment, rest)
}

/// The digits a text begins with, and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// Puts the parts together, if they make sense together.
fn resolve(moment: Moment) -> Option<Timestamp> {
    let year = i16::try_from(moment.year?).ok().filter(|year| *year > 0)?;
    let date = Date::new(year, i8::try_from(moment.month?).ok()?, i8::try_from(moment.day?).ok()?).ok()?;
    let midnight = date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
    let hour = match (moment.hour.unwrap_or(0), moment.is_afternoon) {
        (hour, None) => hour,
        (12, Some(false)) => 0,
        (hour @ 0..=11, Some(true)) => hour + 12,
        (hour, Some(_)) => hour,
    };
    // 24:00 is the end of the day in ISO 8601, and a leap second is as good as the second before it.
    let is_end_of_day = hour == 24 && moment.minute == 0 && moment.second == 0;
    if !(0..24).contains(&hour) && !is_end_of_day || moment.minute > 59 || moment.second > 60 {
        return None;
    }
    let seconds = midnight + hour * 3600 + moment.minute * 60 + moment.second.min(59) - moment.offset_seconds;
    let micros = seconds * 1_000_000 + moment.micros;
    (Timestamp::MIN.as_micros()..=Timestamp::MAX.as_micros()).contains(&micros).then(|| Timestamp::from_micros(micros))
}

#[cfg(test)]
mod tests;
