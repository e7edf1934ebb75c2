//! Removes control characters that neither XML nor JSON allows.

use std::borrow::Cow;

/// How many bytes are looked at before asking whether one was found: enough for the compiler to take them at once.
const STEP_BYTES: usize = 64;

/// A text without forbidden control characters; borrowed if there were none.
pub(super) fn without_forbidden(text: &str) -> Cow<'_, str> {
    if !has_forbidden(text) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    cleaned.extend(text.chars().filter(|character| !is_forbidden_character(*character)));
    Cow::Owned(cleaned)
}

/// Removes forbidden control characters, which references such as `&#1;` bring in again.
pub(super) fn remove_forbidden(text: &mut String) {
    if has_forbidden(text) {
        text.retain(|character| !is_forbidden_character(character));
    }
}

/// True if a text holds a forbidden control character. Every byte of every feed passes here.
fn has_forbidden(text: &str) -> bool {
    text.as_bytes().chunks(STEP_BYTES).any(|step| step.iter().fold(false, |found, byte| found | is_forbidden(*byte)))
}

fn is_forbidden_character(character: char) -> bool {
    u8::try_from(character).is_ok_and(is_forbidden)
}

// Without shortcuts, so that it can be done for many bytes at once.
fn is_forbidden(byte: u8) -> bool {
    (byte < b' ') & (byte != b'\t') & (byte != b'\n') & (byte != b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_forbidden_goes() {
        assert_eq!(without_forbidden("a\0b\x0bc\x1f\u{85}é\t\r\n"), "abc\u{85}é\t\r\n");
        assert!(matches!(without_forbidden("nothing\tto do é\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn one_is_found_wherever_it_stands() {
        for place in [0, 1, 63, 64, 65, 127, 199] {
            let mut text = "x".repeat(200);
            text.replace_range(place..=place, "\x01");
            remove_forbidden(&mut text);
            assert_eq!(text, "x".repeat(199), "at byte {place}");
        }
    }
}
