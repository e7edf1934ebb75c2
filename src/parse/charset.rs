//! Detects the actual charset of a document and decodes it.
//!
//! The order: a byte order mark; the pattern that the first characters make in UTF-16 and UTF-32; valid UTF-8, which no
//! other charset produces by accident; then what the HTTP header and the XML declaration name, if the bytes agree; then
//! a guess from the bytes themselves.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Number of bytes used for guessing the charset.
const GUESS_BYTES_MAX: usize = 64 * 1024;
/// Maximum end of an XML declaration, in bytes.
const DECLARATION_BYTES_MAX: usize = 1024;

/// A document as text.
#[derive(Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, without byte order mark; borrowed if the bytes were UTF-8 already.
    pub text: Cow<'a, str>,
    /// The charset it was read in.
    pub charset: &'static str,
    /// The charset that was announced and that the bytes contradict.
    pub refuted: Option<&'static str>,
    /// True if invalid bytes were replaced by U+FFFD.
    pub has_replacements: bool,
}

/// Reads a document in the charset that it is really written in. `top_level_domain`, as in `it`, is a hint for the
/// guess: the same bytes mean other letters in other countries.
pub fn decode<'a>(bytes: &'a [u8], content_type: Option<&str>, top_level_domain: Option<&str>) -> Decoded<'a> {
    if let Some((wide, skip)) = wide_form(bytes) {
        return wide.decode(&bytes[skip..]);
    }
    let has_mark = bytes.starts_with(b"\xEF\xBB\xBF");
    let bytes = if has_mark { &bytes[3..] } else { bytes };
    let declared = declared_encodings(bytes, content_type);
    let first = declared[0].or(declared[1]);

    // ISO-2022-JP is written in seven bits and so is valid UTF-8 too: here alone the label has to be believed.
    if let Some(encoding) = first.filter(|encoding| *encoding == ISO_2022_JP && bytes.contains(&0x1B)) {
        return decoded(bytes, encoding, None);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let refuted = first.filter(|encoding| *encoding != UTF_8 && !text.is_ascii()).map(Encoding::name);
            return Decoded {
                text: Cow::Borrowed(text),
                charset: UTF_8.name(),
                refuted: refuted.filter(|_| !has_mark),
                has_replacements: false,
            };
        }
        Err(_) if has_mark || is_damaged_utf8(bytes, first) => return lossy_utf8(bytes),
        Err(_) => {}
    }
    for encoding in declared.into_iter().flatten() {
        let attempt = decoded(bytes, encoding, None);
        if encoding != UTF_8 && !attempt.has_replacements {
            return attempt;
        }
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[..bytes.len().min(GUESS_BYTES_MAX)], true);
    // The detector panics on anything but lower-case ASCII.
    let hint = top_level_domain.filter(|domain| domain.bytes().all(|byte| byte.is_ascii_lowercase()));
    decoded(bytes, detector.guess(hint.map(str::as_bytes), Utf8Detection::Deny), first)
}

/// Charsets whose characters are two or four bytes wide, so that not even the markup is ASCII.
#[derive(Clone, Copy)]
enum Wide {
    Two(&'static Encoding),
    Four { name: &'static str, to_unit: fn([u8; 4]) -> u32 },
}

impl Wide {
    const FOUR_BIG: Wide = Wide::Four { name: "UTF-32BE", to_unit: u32::from_be_bytes };
    const FOUR_LITTLE: Wide = Wide::Four { name: "UTF-32LE", to_unit: u32::from_le_bytes };

    fn decode(self, bytes: &[u8]) -> Decoded<'_> {
        match self {
            // An odd byte at the end is a character cut in two, which says nothing about the rest.
            Wide::Two(encoding) => decoded(&bytes[..bytes.len() & !1], encoding, None),
            Wide::Four { name, to_unit } => {
                let mut has_replacements = false;
                let units = bytes.as_chunks::<4>().0.iter().map(|unit| {
                    char::from_u32(to_unit(*unit)).unwrap_or_else(|| {
                        has_replacements = true;
                        char::REPLACEMENT_CHARACTER
                    })
                });
                let text: String = units.collect();
                Decoded { text: Cow::Owned(text), charset: name, refuted: None, has_replacements }
            }
        }
    }
}

/// Recognises UTF-16 and UTF-32 by their mark, or by the zeros around a first character that is ASCII. Also says how
/// many bytes the mark takes.
fn wide_form(bytes: &[u8]) -> Option<(Wide, usize)> {
    let starts_document = |byte: u8| matches!(byte, b'<' | b'{' | b'[' | b' ' | b'\t' | b'\r' | b'\n');
    Some(match bytes {
        [0xFF, 0xFE, 0, 0, ..] => (Wide::FOUR_LITTLE, 4),
        [0, 0, 0xFE, 0xFF, ..] => (Wide::FOUR_BIG, 4),
        [0xFF, 0xFE, ..] => (Wide::Two(UTF_16LE), 2),
        [0xFE, 0xFF, ..] => (Wide::Two(UTF_16BE), 2),
        [first, 0, 0, 0, second, 0, 0, 0, ..] if starts_document(*first) && *second != 0 => (Wide::FOUR_LITTLE, 0),
        [0, 0, 0, first, 0, 0, 0, second, ..] if starts_document(*first) && *second != 0 => (Wide::FOUR_BIG, 0),
        [first, 0, second, 0, ..] if starts_document(*first) && *second != 0 => (Wide::Two(UTF_16LE), 0),
        [0, first, 0, second, ..] if starts_document(*first) && *second != 0 => (Wide::Two(UTF_16BE), 0),
        _ => return None,
    })
}

/// What the HTTP header and the document itself name, in the order in which they are believed.
fn declared_encodings(bytes: &[u8], content_type: Option<&str>) -> [Option<&'static Encoding>; 2] {
    let header_label = content_type.and_then(header_label);
    let header = header_label.and_then(usable_encoding);
    let declaration = declaration_label(bytes).or_else(|| meta_label(bytes)).and_then(usable_encoding);
    // These two are what a server says that was never told: a document that names its charset knows better.
    let is_weak = header_label
        .is_some_and(|label| ["us-ascii", "iso-8859-1"].iter().any(|default| label.eq_ignore_ascii_case(default)));
    if is_weak && declaration.is_some() { [declaration, header] } else { [header, declaration] }
}

/// The encoding behind a label. The wide ones have been ruled out by now, so a label that names one is wrong.
fn usable_encoding(label: &str) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label.as_bytes()).or_else(|| encoding_of_unlisted(label))?;
    Some(encoding).filter(|encoding| ![UTF_16LE, UTF_16BE, REPLACEMENT].contains(encoding))
}

/// The encoding behind a label that the Encoding Standard does not list, such as `windows_1251`.
fn encoding_of_unlisted(label: &str) -> Option<&'static Encoding> {
    let label = label.trim().to_ascii_lowercase().replace('_', "-");
    let listed = match label.as_str() {
        "macroman" | "mac-roman" | "apple-roman" => "macintosh",
        "maccyrillic" | "mac-cyrillic" => "x-mac-cyrillic",
        "ms-cyrl" => "windows-1251",
        "ms-ansi" => "windows-1252",
        "ms-ee" => "windows-1250",
        "ms-greek" => "windows-1253",
        "ms-turk" => "windows-1254",
        "ms-hebr" => "windows-1255",
        "ms-arab" => "windows-1256",
        "win1251" | "win-1251" | "cp-1251" => "windows-1251",
        "win1250" | "win-1250" | "cp-1250" => "windows-1250",
        "utf-8-sig" | "utf8mb4" => "utf-8",
        other => other,
    };
    Encoding::for_label(listed.as_bytes())
}

/// `charset` of a `Content-Type` header.
fn header_label(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// `encoding` of an XML declaration near the start.
fn declaration_label(bytes: &[u8]) -> Option<&str> {
    let head = &bytes[..bytes.len().min(DECLARATION_BYTES_MAX)];
    let start = head.windows(5).position(|window| window.eq_ignore_ascii_case(b"<?xml"))?;
    let length = head[start..].iter().position(|byte| *byte == b'>')?;
    let declaration = std::str::from_utf8(&head[start..start + length]).ok()?;
    let (_, after) = declaration.split_once("encoding")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    Some(value[1..].split(quote).next()?.trim())
}

/// `charset` of a page's `<meta>`, in either of its forms: the attribute, or inside a `content` that repeats the
/// header.
fn meta_label(bytes: &[u8]) -> Option<&str> {
    const NAME: &[u8] = b"charset";
    let head = &bytes[..bytes.len().min(DECLARATION_BYTES_MAX)];
    let is_meta = |window: &[u8]| window.eq_ignore_ascii_case(b"<meta");
    let starts = head.windows(5).enumerate().filter(|(_, window)| is_meta(window)).map(|(start, _)| start);
    starts.into_iter().find_map(|start| {
        let tag = head[start..].split(|byte| *byte == b'>').next()?;
        let at = tag.windows(NAME.len()).position(|window| window.eq_ignore_ascii_case(NAME))?;
        let value = std::str::from_utf8(&tag[at + NAME.len()..]).ok()?.trim_start().strip_prefix('=')?;
        let value = value.trim_start().trim_start_matches(['"', '\'']).trim_start();
        value.split(|end: char| end.is_ascii_whitespace() || matches!(end, '"' | '\'' | ';' | '/')).next()
    })
}

/// True for text that is UTF-8 but for a few bytes: cut in the middle of a character, or with one foreign quotation in
/// it. A declaration helps; without one, the good sequences have to outnumber the bad by far.
fn is_damaged_utf8(bytes: &[u8], declared: Option<&'static Encoding>) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    let mut rest = bytes.len();
    for chunk in bytes.utf8_chunks() {
        rest -= chunk.valid().len() + chunk.invalid().len();
        good += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        // Ending inside a character is the mark of a document cut off, not of another charset.
        let is_cut_end =
            rest == 0 && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
        bad += usize::from(!chunk.invalid().is_empty() && !is_cut_end);
    }
    match declared {
        Some(encoding) if encoding == UTF_8 => good >= bad,
        Some(_) => good > 0 && good >= bad * 8,
        None => good >= bad * 8 && (good > 0 || bad == 0),
    }
}

fn lossy_utf8(bytes: &[u8]) -> Decoded<'_> {
    // A character cut in two by the end of the document is dropped, not replaced.
    let end = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    let text = String::from_utf8_lossy(&bytes[..end]);
    let has_replacements = matches!(text, Cow::Owned(_));
    Decoded { text, charset: UTF_8.name(), refuted: None, has_replacements }
}

fn decoded<'a>(bytes: &'a [u8], encoding: &'static Encoding, refuted: Option<&'static Encoding>) -> Decoded<'a> {
    let (text, has_replacements) = encoding.decode_without_bom_handling(bytes);
    Decoded {
        text,
        charset: encoding.name(),
        refuted: refuted.filter(|refuted| *refuted != encoding && *refuted != WINDOWS_1252).map(Encoding::name),
        has_replacements,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(bytes: &[u8], content_type: Option<&str>, charset: &str, text: &str) {
        let found = decode(bytes, content_type, None);
        assert_eq!((found.charset, &*found.text), (charset, text));
    }

    fn wide(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    }

    #[test]
    fn utf_16_and_utf_32_are_known_with_and_without_a_mark() {
        let text = "<rss>Größe 😀</rss>";
        check(&wide(text, u16::to_le_bytes), None, "UTF-16LE", text);
        check(&wide(text, u16::to_be_bytes), Some("text/xml; charset=utf-8"), "UTF-16BE", text);
        check(&[vec![0xFF, 0xFE], wide(text, u16::to_le_bytes)].concat(), None, "UTF-16LE", text);
        check(&[vec![0xFE, 0xFF], wide(text, u16::to_be_bytes)].concat(), None, "UTF-16BE", text);
        let four_little: Vec<u8> = text.chars().flat_map(|character| (character as u32).to_le_bytes()).collect();
        let four_big: Vec<u8> = text.chars().flat_map(|character| (character as u32).to_be_bytes()).collect();
        check(&four_little, None, "UTF-32LE", text);
        check(&four_big, None, "UTF-32BE", text);
        check(&[vec![0xFF, 0xFE, 0, 0], four_little].concat(), None, "UTF-32LE", text);
        check(&[vec![0, 0, 0xFE, 0xFF], four_big].concat(), None, "UTF-32BE", text);
    }

    #[test]
    fn labels_that_no_standard_lists_are_understood() {
        for (label, byte, charset, letter) in [
            ("windows_1251", 0xD0, "windows-1251", 'Р'),
            ("MacRoman", 0x80, "macintosh", 'Ä'),
            ("mac-cyrillic", 0x80, "x-mac-cyrillic", 'А'),
            ("ms-cyrl", 0x80, "windows-1251", 'Ђ'),
        ] {
            let bytes = [b"<?xml version='1.0' encoding='", label.as_bytes(), b"'?><rss>", &[byte], b"</rss>"].concat();
            let found = decode(&bytes, None, None);
            assert_eq!((found.charset, found.text.contains(letter)), (charset, true), "{label}: {}", found.text);
        }
    }

    #[test]
    fn a_page_names_its_charset_in_a_meta_element() {
        for meta in [
            "<meta charset=windows-1251>",
            "<META CharSet = \"windows-1251\" />",
            "<meta name=x><meta http-equiv='Content-Type' content='text/html; charset=windows-1251'>",
        ] {
            let page = [meta.as_bytes(), b"<p>\xcf\xf0\xe8\xe2\xe5\xf2</p>"].concat();
            check(&page, Some("text/html"), "windows-1251", &format!("{meta}<p>Привет</p>"));
        }
    }

    #[test]
    fn a_label_of_a_wide_charset_on_narrow_bytes_is_not_believed() {
        check(
            b"<?xml version='1.0' encoding='utf-16'?><a/>",
            None,
            "UTF-8",
            "<?xml version='1.0' encoding='utf-16'?><a/>",
        );
    }

    #[test]
    fn valid_utf_8_beats_a_declared_single_byte_charset() {
        let found = decode("<a>é</a>".as_bytes(), Some("text/xml; charset=ISO-8859-1"), None);
        assert_eq!((found.charset, &*found.text, found.refuted), ("UTF-8", "<a>é</a>", Some("windows-1252")));
    }

    #[test]
    fn the_header_is_believed_before_the_declaration() {
        let bytes = b"<?xml version=\"1.0\" encoding=\"windows-1251\"?>\xE0";
        assert_eq!(decode(bytes, Some("text/xml; charset=\"windows-1250\""), None).charset, "windows-1250");
        assert_eq!(decode(bytes, Some("text/xml"), None).charset, "windows-1251");
        assert_eq!(decode(bytes, Some("text/xml; charset=us-ascii"), None).charset, "windows-1251");
    }

    #[test]
    fn a_charset_that_does_not_fit_the_bytes_is_replaced_by_a_guess() {
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode("<a>Сегодня хорошая погода в Москве</a>");
        let found = decode(&bytes, Some("text/xml; charset=utf-8"), None);
        assert_eq!((found.charset, found.refuted), ("windows-1251", Some("UTF-8")));
        assert!(found.text.contains("хорошая"));
    }

    #[test]
    fn the_country_of_the_feed_decides_where_the_bytes_alone_do_not() {
        let bytes = b"<a>cosa \xE8 successo</a>";
        assert_eq!(&*decode(bytes, None, Some("it")).text, "<a>cosa è successo</a>");
        assert_eq!(decode(bytes, None, Some("Xn--.É")).text, decode(bytes, None, None).text);
    }

    #[test]
    fn iso_2022_jp_is_believed_although_it_is_ascii() {
        check(b"<a>\x1B$B$\"\x1B(B</a>", Some("text/xml; charset=iso-2022-jp"), "ISO-2022-JP", "<a>あ</a>");
    }

    #[test]
    fn a_character_cut_in_two_at_the_end_is_dropped() {
        check(&"<a>日本".as_bytes()[..8], None, "UTF-8", "<a>日");
        check(&wide("<a>", u16::to_le_bytes)[..5], None, "UTF-16LE", "<a");
    }

    #[test]
    fn a_foreign_byte_in_declared_utf_8_costs_only_itself() {
        let found = decode(b"<?xml version='1.0' encoding='UTF-8'?><a>\xC3\xA9 \x93</a>", None, None);
        assert_eq!((found.charset, found.has_replacements), ("UTF-8", true));
        assert!(found.text.ends_with("<a>é \u{FFFD}</a>"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), label in "[a-z0-9-]{0,12}") {
            let _ = decode(&bytes, Some(&format!("text/xml; charset={label}")), Some(&label));
        }

        #[test]
        fn utf_8_stays_what_it_is_however_it_is_labelled(text in "<[a-zé日😀]{1,40}") {
            prop_assert_eq!(&*decode(text.as_bytes(), Some("text/xml; charset=windows-1252"), None).text, text.as_str());
        }
    }
}
