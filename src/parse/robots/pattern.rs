//! The paths that a rule speaks of, and what they are compared with: both in one spelling, all of it ASCII.

use std::fmt;

use url::{Position, Url};

/// Beyond this a path is compared by its beginning alone, and a longer pattern is none.
const BYTES_MAX: usize = 4096;

/// A path with `*` for anything, and perhaps `$` for the end. Other stars and dollars are spelled `%2A` and `%24`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Spelling);

/// The path and query of a page.
#[derive(Debug)]
pub(super) struct RobotsTarget(Spelling);

/// RFC 9309 (2.2.2) has `:` and `/` in a query mean the same as `%3A` and `%2F`, which is so in no other place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spelling {
    strict: Box<str>,
    /// With these references in the query undone, if there are any.
    loose: Option<Box<str>>,
}

impl Pattern {
    /// The pattern of a rule; none if it is empty, which forbids and allows nothing.
    pub(super) fn new(value: &[u8]) -> Option<Pattern> {
        if value.is_empty() || value.len() > BYTES_MAX {
            return None;
        }
        let mut strict = String::new();
        // Every path begins with a slash, so a pattern without one was meant to have it.
        if !matches!(value[0], b'/' | b'*') {
            strict.push('/');
        }
        let (value, is_anchored) = value.strip_suffix(b"$").map_or((value, false), |value| (value, true));
        for (index, part) in value.split(|byte| *byte == b'*').enumerate() {
            if index > 0 {
                strict.push('*');
            }
            spell(part, &mut strict);
        }
        if is_anchored {
            strict.push('$');
        }
        Some(Pattern(Spelling::new(strict)))
    }

    /// How much it says; the longer of two patterns is the more specific one.
    pub(super) fn len(&self) -> usize {
        self.0.strict.len()
    }

    pub(super) fn matches(&self, target: &RobotsTarget) -> bool {
        let (pattern, target) = (&self.0, &target.0);
        let is_loose = pattern.loose.is_some() || target.loose.is_some();
        is_match(&pattern.strict, &target.strict) || is_loose && is_match(pattern.loosely(), target.loosely())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.strict)
    }
}

impl RobotsTarget {
    pub(super) fn new(url: &Url) -> RobotsTarget {
        let mut strict = String::new();
        let path = url[Position::BeforePath..Position::AfterQuery].as_bytes();
        spell(&path[..path.len().min(BYTES_MAX)], &mut strict);
        RobotsTarget(Spelling::new(strict))
    }
}

impl Spelling {
    fn new(strict: String) -> Spelling {
        let loose = strict.split_once('?').and_then(|(path, query)| {
            let references = [("%3A", ":"), ("%2F", "/"), ("%3F", "?"), ("%40", "@")];
            let undone = references.iter().fold(query.to_owned(), |query, (from, to)| query.replace(from, to));
            (undone != query).then(|| format!("{path}?{undone}").into())
        });
        Spelling { strict: strict.into(), loose }
    }

    fn loosely(&self) -> &str {
        self.loose.as_ref().unwrap_or(&self.strict)
    }
}

/// Writes bytes in the one spelling: a reference to a character that needs none is undone, other references are in
/// capitals, and what is no character of a URL becomes a reference.
fn spell(bytes: &[u8], spelled: &mut String) {
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        let referred = match after {
            [high, low, ..] if *first == b'%' => digit(*high).zip(digit(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        let byte = referred.unwrap_or(*first);
        let is_plain = match referred {
            Some(byte) => is_unreserved(byte),
            None => is_unreserved(byte) || b":/?#[]@!&'()+,;=%".contains(&byte),
        };
        if is_plain {
            spelled.push(char::from(byte));
        } else {
            spelled.extend(['%', hexadecimal(byte >> 4), hexadecimal(byte & 15)]);
        }
        rest = if referred.is_some() { &after[2..] } else { after };
    }
}

/// RFC 3986, 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn hexadecimal(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0').to_ascii_uppercase()
}

/// Whether a path begins as the pattern says. The first place that fits a part is as good as any later one, so that
/// nothing is tried twice.
fn is_match(pattern: &str, path: &str) -> bool {
    let (pattern, is_anchored) = pattern.strip_suffix('$').map_or((pattern, false), |pattern| (pattern, true));
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return !is_anchored || rest.is_empty() };
    for part in parts {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    if is_anchored { rest.ends_with(last) } else { rest.contains(last) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same by trying everything.
    fn is_match_slowly(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => true,
            [b'$'] => path.is_empty(),
            [b'*', rest @ ..] => (0..=path.len()).any(|place| is_match_slowly(rest, &path[place..])),
            [first, rest @ ..] => path.first() == Some(first) && is_match_slowly(rest, &path[1..]),
        }
    }

    proptest! {
        #[test]
        fn p29_a_pattern_matches_as_if_every_way_were_tried(pattern in "[ab/*]{0,8}[$]?", path in "[ab/]{0,10}") {
            prop_assert_eq!(is_match(&pattern, &path), is_match_slowly(pattern.as_bytes(), path.as_bytes()));
        }

        #[test]
        fn p29_the_one_spelling_has_neither_wildcards_nor_anything_outside_ascii(
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut spelled = String::new();
            spell(&bytes, &mut spelled);
            prop_assert!(spelled.is_ascii() && !spelled.contains(['*', '$', ' ']), "{}", spelled);
        }
    }
}
