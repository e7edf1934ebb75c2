//! Gathers the parts of a date from a text, in whatever order they come.

use super::names;

/// The parts of a date, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) year: Option<i64>,
    pub(super) month: Option<i64>,
    pub(super) day: Option<i64>,
    pub(super) hour: Option<i64>,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) micros: i64,
    pub(super) is_afternoon: Option<bool>,
    pub(super) offset_seconds: i64,
}

/// A number and how it was written: `07` and `7` are the same day, `0700` is no day.
#[derive(Clone, Copy)]
struct Number {
    value: i64,
    digits: usize,
}

/// Adds the parts in a text to the known ones; none if they are contradictory. A year of two digits is not after
/// `year_max`.
pub(super) fn scan(text: &str, known: Moment, year_max: i64) -> Option<Moment> {
    let is_date_known = known.year.is_some();
    let mut scanner =
        Scanner { rest: text, moment: known, is_date_known, numbers: Vec::new(), separator: None, year_max };
    while let Some(character) = scanner.rest.chars().next() {
        if character.is_ascii_digit() {
            scanner.number()?;
        } else if character.is_alphabetic() {
            scanner.word();
        } else if matches!(character, '+' | '-' | '\u{2212}') && scanner.moment.hour.is_some() {
            scanner.rest = &scanner.rest[character.len_utf8()..];
            if scanner.rest.starts_with(|next: char| next.is_ascii_digit()) {
                let offset_seconds = scanner.offset()?;
                scanner.moment.offset_seconds = if character == '+' { offset_seconds } else { -offset_seconds };
            }
        } else if character == '(' {
            // A comment, as RFC 822 allows: `+0100 (CET)`.
            scanner.rest = scanner.rest.split_once(')').map_or("", |(_, after)| after);
        } else {
            if scanner.numbers.len() == 1 && matches!(character, '/' | '.' | '-') {
                scanner.separator = Some(character);
            }
            scanner.rest = &scanner.rest[character.len_utf8()..];
        }
    }
    if is_date_known { Some(scanner.moment) } else { scanner.with_date() }
}

struct Scanner<'a> {
    rest: &'a str,
    moment: Moment,
    /// True if the date stands before what is read here.
    is_date_known: bool,
    /// Numbers that are neither time nor zone: at most day, month and year.
    numbers: Vec<Number>,
    /// What stood after the first of them.
    separator: Option<char>,
    year_max: i64,
}

/// Korea has one time zone, and dates in its language seldom name it.
const KOREAN_OFFSET_SECONDS: i64 = 9 * 3600;

impl Scanner<'_> {
    /// Reads a number: an hour if a colon follows, a compact time after a date that is known, a part of the date else.
    fn number(&mut self) -> Option<()> {
        let number = self.take_number()?;
        if self.moment.hour.is_none() && self.rest.starts_with(':') && number.digits <= 2 {
            return self.clock(number.value);
        }
        if self.is_date_known {
            if self.moment.hour.is_some() {
                return Some(());
            }
            match number.digits {
                1 | 2 => self.moment.hour = Some(number.value),
                4 => (self.moment.hour, self.moment.minute) = (Some(number.value / 100), number.value % 100),
                6 => {
                    self.moment.hour = Some(number.value / 10_000);
                    self.moment.minute = number.value / 100 % 100;
                    self.moment.second = number.value % 100;
                    self.fraction();
                }
                _ => return None,
            }
            return Some(());
        }
        if self.numbers.len() == 3 {
            return None;
        }
        self.numbers.push(number);
        Some(())
    }

    /// Reads what follows an hour: minutes, seconds and a fraction, each of which may be missing.
    fn clock(&mut self, hour: i64) -> Option<()> {
        self.moment.hour = Some(hour);
        self.rest = &self.rest[1..];
        self.moment.minute = self.take_number()?.value;
        if let Some(after) = self.rest.strip_prefix(':') {
            self.rest = after;
            if self.rest.starts_with(|next: char| next.is_ascii_digit()) {
                self.moment.second = self.take_number()?.value;
                self.fraction();
            }
        }
        Some(())
    }

    /// Reads a fraction of a second, to the microsecond.
    fn fraction(&mut self) {
        let Some(after) = self.rest.strip_prefix(['.', ',']) else { return };
        let length = after.bytes().take_while(u8::is_ascii_digit).count();
        self.moment.micros = after
            .bytes()
            .take(length)
            .chain(std::iter::repeat(b'0'))
            .take(6)
            .fold(0, |micros, digit| micros * 10 + i64::from(digit - b'0'));
        self.rest = &after[length..];
    }

    /// Reads `02`, `0200`, `02:00`, `530` or `5:30` as an offset from universal time.
    fn offset(&mut self) -> Option<i64> {
        let number = self.take_number()?;
        let (hours, minutes) = match number.digits {
            1 | 2 => match self.rest.strip_prefix(':') {
                Some(after) if after.starts_with(|next: char| next.is_ascii_digit()) => {
                    self.rest = after;
                    (number.value, self.take_number()?.value)
                }
                _ => (number.value, 0),
            },
            3 | 4 => (number.value / 100, number.value % 100),
            _ => return None,
        };
        (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)
    }

    /// Reads a word: am/pm, a zone, a month or the sign for one; weekdays and other words are ignored.
    fn word(&mut self) {
        let length = self.rest.find(|character: char| !character.is_alphabetic()).unwrap_or(self.rest.len());
        let word = self.rest[..length].to_lowercase();
        self.rest = &self.rest[length..];
        match word.as_str() {
            "am" | "午前" | "上午" => return self.moment.is_afternoon = Some(false),
            "pm" | "午後" | "下午" => return self.moment.is_afternoon = Some(true),
            "오전" | "오후" => {
                self.moment.offset_seconds = KOREAN_OFFSET_SECONDS;
                return self.moment.is_afternoon = Some(word == "오후");
            }
            "년" => return self.moment.offset_seconds = KOREAN_OFFSET_SECONDS,
            "월" | "月" if self.numbers.len() > 1 => {
                self.moment.month = self.numbers.pop().map(|number| number.value);
                return;
            }
            // `a.m.` and `p.m.`, which no zone follows so closely.
            "a" | "p" if self.rest.starts_with(".m") => return self.moment.is_afternoon = Some(word == "p"),
            _ => {}
        }
        if self.moment.hour.is_some()
            && let Some(minutes) = names::zone_offset_minutes(&word)
        {
            self.moment.offset_seconds = minutes * 60;
            return;
        }
        // The last name wins: `mar.` is Tuesday in French, Spanish and Italian, and stands before the month.
        // After a date in numbers it is a weekday.
        if !self.is_date_known
            && let Some(month) = names::month(&word)
        {
            self.moment.month = Some(month);
        }
    }

    /// Makes a date of the numbers that are left and the month, if it was named.
    fn with_date(self) -> Option<Moment> {
        let mut moment = self.moment;
        let (day, month, year) = match (moment.month, self.numbers.as_slice()) {
            (Some(month), [number]) if number.digits == 4 => (1, month, *number),
            (Some(month), [first, second, ..]) if first.digits > 2 || first.value > 31 => (second.value, month, *first),
            (Some(month), [first, second, ..]) => (first.value, month, *second),
            (None, [first, second, third]) => {
                let is_month_first = match self.separator? {
                    '/' => first.value <= 12,
                    _ => second.value > 12,
                };
                // `05-12-29` has the year first if it would be years ahead otherwise.
                let is_year_first = third.digits <= 2 && (self.is_ahead(*third) || first.value > 31);
                if is_year_first && (1..=12).contains(&second.value) {
                    (third.value, second.value, *first)
                } else if is_month_first {
                    (second.value, first.value, *third)
                } else {
                    (first.value, second.value, *third)
                }
            }
            _ => return None,
        };
        moment.year = Some(self.full_year(year));
        moment.month = Some(month);
        moment.day = Some(day);
        Some(moment)
    }

    fn take_number(&mut self) -> Option<Number> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let value = self.rest[..digits].parse().ok().filter(|_| digits <= 9)?;
        self.rest = &self.rest[digits..];
        Some(Number { value, digits })
    }

    /// The year that was meant by two or three digits (RFC 2822, section 4.3).
    fn full_year(&self, year: Number) -> i64 {
        match year.digits {
            1 | 2 if !self.is_ahead(year) => year.value + 2000,
            1..=3 => year.value + 1900,
            _ => year.value,
        }
    }

    /// True for a year of two digits that would be too late in this century.
    fn is_ahead(&self, year: Number) -> bool {
        year.digits <= 2 && year.value + 2000 > self.year_max
    }
}
