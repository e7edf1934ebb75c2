//! Character references, as the HTML standard reads them in text.

use html5ever::data::NAMED_ENTITIES;
use memchr::memchr;

use super::fold::Folded;
use crate::parse::entity::without_c1;

/// The longest name in the table is `CounterClockwiseContourIntegral;`.
const NAME_BYTES_MAX: usize = 32;

/// Appends the text with its references decoded. What only looks like a reference stays as it is.
pub(super) fn decode_into(text: &str, folded: &mut Folded) {
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        folded.push(&rest[..at]);
        rest = &rest[at + 1..];
        let consumed = match rest.as_bytes().first() {
            Some(b'#') => numeric(rest, folded),
            Some(byte) if byte.is_ascii_alphabetic() => named(rest, folded),
            _ => 0,
        };
        if consumed == 0 {
            folded.push_char('&');
        }
        rest = &rest[consumed..];
    }
    folded.push(rest);
}

/// Reads `#8217;` or `#x2019;` and returns how many bytes it took.
fn numeric(rest: &str, folded: &mut Folded) -> usize {
    let (start, radix) = if rest[1..].starts_with(['x', 'X']) { (2, 16) } else { (1, 10) };
    let mut number: u32 = 0;
    let mut end = start;
    while let Some(digit) = rest.as_bytes().get(end).and_then(|&byte| char::from(byte).to_digit(radix)) {
        number = number.saturating_mul(radix).saturating_add(digit);
        end += 1;
    }
    if end == start {
        return 0;
    }
    folded.push_char(code_point(number));
    end + usize::from(rest[end..].starts_with(';'))
}

/// Numbers from 128 to 159 are Windows-1252, because that is what people who write them mean.
fn code_point(number: u32) -> char {
    match number {
        0 => char::REPLACEMENT_CHARACTER,
        _ => char::from_u32(number).map_or(char::REPLACEMENT_CHARACTER, without_c1),
    }
}

/// Reads the longest known name and returns how many bytes it took: `&notit` is `¬it`, `&notin;` is `∉`.
fn named(rest: &str, folded: &mut Folded) -> usize {
    // Nearly all references end with a semicolon: one look instead of one for each letter.
    let name_bytes = rest.bytes().take(NAME_BYTES_MAX).take_while(u8::is_ascii_alphanumeric).count();
    if rest.as_bytes().get(name_bytes) == Some(&b';') && push_named(&rest[..=name_bytes], folded) {
        return name_bytes + 1;
    }
    // The table holds every beginning of a name too, with nothing behind it.
    let known = (1..=name_bytes).take_while(|&length| NAMED_ENTITIES.contains_key(&rest[..length])).last();
    let mut length = known.unwrap_or(0);
    while length > 0 && !push_named(&rest[..length], folded) {
        length -= 1;
    }
    length
}

fn push_named(name: &str, folded: &mut Folded) -> bool {
    let Some(&(first, second)) = NAMED_ENTITIES.get(name) else { return false };
    for code in [first, second] {
        if code != 0 {
            folded.push_char(char::from_u32(code).expect("the table holds characters"));
        }
    }
    first != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn decoded(text: &str) -> String {
        let mut folded = Folded::default();
        decode_into(text, &mut folded);
        folded.into_string()
    }

    #[rstest]
    #[case("&amp;&lt;&gt;&quot;&apos;", "&<>\"'")]
    #[case("Caf&eacute; &Uuml;ber&nbsp;alles", "Café Über alles")]
    #[case("&copy 2026 &AMPx &ampx", "© 2026 &x &x")]
    #[case("&notit; &notin; &notin", "¬it; ∉ ¬in")]
    #[case("&nosuch; &nosuch & &; &", "&nosuch; &nosuch & &; &")]
    #[case("AT&T R&D a&b=c", "AT&T R&D a&b=c")]
    #[case("&nGt;", "≫\u{20D2}")]
    #[case("&CounterClockwiseContourIntegral;", "∳")]
    #[case("&CounterClockwiseContourIntegral", "&CounterClockwiseContourIntegral")]
    #[case("&é &日本", "&é &日本")]
    fn names_are_read_by_the_longest_match(#[case] input: &str, #[case] wanted: &str) {
        assert_eq!(decoded(input), wanted);
    }

    #[rstest]
    #[case("&#8217;&#x2019;&#X2019 &#65B", "’’’ AB")]
    #[case("&#150;&#146;&#x80;", "–’€")]
    #[case("&#0;&#xD800;&#x110000;&#99999999999999999999;", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}")]
    #[case("&#; &#x; &#xg; &#", "&#; &#x; &#xg; &#")]
    #[case("a&#10;b&#160;c&#173;d&#x200B;e&#7;f", "a b cdef")]
    #[case("&amp;lt;b&amp;gt;", "&lt;b&gt;")]
    fn numbers_are_read_as_browsers_do(#[case] input: &str, #[case] wanted: &str) {
        assert_eq!(decoded(input), wanted);
    }

    #[test]
    fn every_name_of_the_standard_is_decoded() {
        for (name, &(first, _)) in NAMED_ENTITIES.entries().filter(|(_, codes)| codes.0 != 0) {
            let wanted = char::from_u32(first).unwrap();
            let text = decoded(&format!("x&{name}x"));
            let hidden = wanted.is_whitespace() || matches!(wanted, '\u{AD}' | '\u{200B}');
            assert!(hidden || text.contains(wanted), "{name}: {text}");
            assert!(!text.contains('&') || wanted == '&', "{name}: {text}");
        }
    }
}
