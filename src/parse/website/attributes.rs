//! Ends tags that hold more attributes than any real one.
//!
//! html5ever compares each attribute of a tag with all before it: 270 KB of them cost seconds, and 10 MB hours. Whether
//! a `<` starts a tag or stands in a script, a comment or an attribute, only the parser knows. So every reading is
//! followed at once, and a `>` is put in where one of them counts too many. Where that reading was not the parser's, a
//! script or a value has one character more, which is ignored.

use std::borrow::Cow;

/// Real tags hold a few dozen.
const ATTRIBUTES_MAX: u16 = 256;

/// Where in a tag a reading is: the tokenizer's states of the HTML standard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    DoubleQuoted,
    SingleQuoted,
    Unquoted,
}

use Inside::*;

const ALL: [Inside; 8] = [TagName, BeforeName, Name, AfterName, BeforeValue, DoubleQuoted, SingleQuoted, Unquoted];

impl Inside {
    /// Where the reading is after this byte; nowhere if the tag ends.
    const fn after(self, byte: u8) -> Option<Inside> {
        let is_space = byte.is_ascii_whitespace();
        match (self, byte) {
            (DoubleQuoted, b'"') | (SingleQuoted, b'\'') => Some(BeforeName),
            (DoubleQuoted | SingleQuoted, _) => Some(self),
            (_, b'>') => None,
            (TagName | Unquoted, _) if is_space => Some(BeforeName),
            (Unquoted, _) => Some(Unquoted),
            (BeforeValue, b'"') => Some(DoubleQuoted),
            (BeforeValue, b'\'') => Some(SingleQuoted),
            (BeforeValue, _) => Some(if is_space { BeforeValue } else { Unquoted }),
            (_, b'/') => Some(BeforeName),
            (TagName, _) => Some(TagName),
            (Name | AfterName, b'=') => Some(BeforeValue),
            (Name | AfterName, _) if is_space => Some(AfterName),
            (BeforeName, _) if is_space => Some(BeforeName),
            (Name | AfterName | BeforeName, _) => Some(Name),
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// [`Inside::after`] for each place and byte: most of the time of the whole walk is spent in it.
static AFTER: [[Option<Inside>; 256]; ALL.len()] = {
    let mut table = [[None; 256]; ALL.len()];
    let mut place = 0;
    while place < ALL.len() {
        let mut byte = 0;
        while byte < 256 {
            table[place][byte] = ALL[place].after(byte as u8);
            byte += 1;
        }
        place += 1;
    }
    table
};

/// The readings of the page: for each place in a tag, the highest count of attributes among those that are there.
#[derive(Clone, Copy, Default)]
struct Readings {
    counts: [u16; ALL.len()],
    /// Which places have a reading, one bit for each.
    live: u8,
}

impl Readings {
    fn add(&mut self, place: Inside, count: u16) {
        let known = if self.live & place.bit() == 0 { 0 } else { self.counts[place as usize] };
        self.counts[place as usize] = known.max(count);
        self.live |= place.bit();
    }

    fn after(self, byte: u8) -> Readings {
        let mut next = Readings::default();
        let mut live = self.live;
        while live != 0 {
            let place = ALL[live.trailing_zeros() as usize];
            live &= live - 1;
            if let Some(after) = AFTER[place as usize][byte as usize] {
                let is_new = after == Name && place != Name;
                next.add(after, self.counts[place as usize] + u16::from(is_new));
            }
        }
        next
    }

    fn is_over_the_limit(&self) -> bool {
        self.live & Name.bit() != 0 && self.counts[Name as usize] > ATTRIBUTES_MAX
    }

    /// How many of these bytes leave all readings where they are: a tag spends most of its bytes inside of names and
    /// values.
    fn idle_bytes(&self, bytes: &[u8]) -> usize {
        if !self.live.is_power_of_two() {
            return 0;
        }
        let place = ALL[self.live.trailing_zeros() as usize];
        let row = &AFTER[place as usize];
        bytes.iter().take_while(|&&byte| byte != b'<' && row[byte as usize] == Some(place)).count()
    }
}

/// The page, with a `>` behind the 256th attribute of a tag that has more.
pub(super) fn limit(html: &str) -> Cow<'_, str> {
    let bytes = html.as_bytes();
    let mut limited = String::new();
    let mut copied = 0;
    let mut readings = Readings::default();
    let mut at = 0;
    loop {
        at += match readings.live {
            // Between tags there is nothing to follow.
            0 => bytes[at..].iter().take_while(|&&byte| byte != b'<').count(),
            _ => readings.idle_bytes(&bytes[at..]),
        };
        let Some(&byte) = bytes.get(at) else { break };
        readings = readings.after(byte);
        if readings.is_over_the_limit() && html.is_char_boundary(at) {
            limited.push_str(&html[copied..at]);
            limited.push('>');
            copied = at;
            readings.live &= DoubleQuoted.bit() | SingleQuoted.bit();
        }
        if byte == b'<' && starts_tag(&bytes[at..]) {
            readings.add(TagName, 0);
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(html);
    }
    limited.push_str(&html[copied..]);
    Cow::Owned(limited)
}

fn starts_tag(rest: &[u8]) -> bool {
    let name = match rest {
        [b'<', b'/', name, ..] | [b'<', name, ..] => name,
        _ => return false,
    };
    name.is_ascii_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attributes(count: usize) -> String {
        (0..count).map(|number| format!(" a{number}")).collect()
    }

    #[test]
    fn real_tags_are_left_alone() {
        let html = format!("<p{}>a</p><a title='{}'>b</a> 1 < 2", attributes(256), "word ".repeat(1000));
        assert!(matches!(limit(&html), Cow::Borrowed(_)));
    }

    #[test]
    fn a_tag_ends_behind_the_last_attribute_that_is_allowed() {
        let html = format!("<p{}>text</p>", attributes(300));
        let wanted = format!("<p{} >a256{}>text</p>", attributes(256), &attributes(300)[attributes(257).len()..]);
        assert_eq!(limit(&html), wanted);
    }

    /// Whatever stands before it, and however it is written, a large tag does not reach the parser.
    #[test]
    fn a_tag_cannot_hide() {
        let before = [
            "",
            "<script>'<a b=\"'</script>",
            "<!-- <a b=' -->",
            "<a b='\"'>",
            "<style><b \"='</style>",
            "x<y z=\"",
            "<a b=\"<c d='\">",
        ];
        for before in before {
            for (start, name, end) in [
                ("<p ", "a", " "),
                ("<p ", "a", "='>' "),
                ("</p ", "a", "=\"x\""),
                ("<p/", "a", "/"),
                ("<p ", "é", "=1 "),
                ("<p ", "a", "= \n'<b c=\"'\t"),
            ] {
                let html: String = (0..2000).map(|number| format!("{name}{number}{end}")).collect();
                let html = format!("{before}{start}{html}>");
                let document = dom_query::Document::from(limit(&html).as_ref());
                let most = document.select("*").nodes().iter().map(|node| node.attrs().len()).max();
                assert!(most <= Some(usize::from(ATTRIBUTES_MAX) + 1), "{before} {start} {end}: {most:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn only_closing_brackets_are_added(html in "(<[a-z]|[a-z]{1,3}|[ =\"'/>é]){0,40}", repeat in 1usize..80) {
            let html = html.repeat(repeat);
            let limited = limit(&html);
            prop_assert_eq!(limited.replace('>', ""), html.replace('>', ""));
        }
    }
}
