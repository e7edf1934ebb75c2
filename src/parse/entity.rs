//! Character references: `&amp;`, `&#8217;`, `&eacute;`, and what Windows programs write for them.

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

use super::control;

/// The longest name that HTML knows, `CounterClockwiseContourIntegral`, with some air.
const NAME_LENGTH_MAX: usize = 40;

/// True if this can be the inside of a reference. `AT&T is big; so what` has a `;` too, and holds none.
pub(super) fn is_reference(name: &str) -> bool {
    let name = name.strip_prefix('#').unwrap_or(name);
    !name.is_empty() && name.len() <= NAME_LENGTH_MAX && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Appends the value of a reference to a text; an unknown name is kept unchanged. Entities that a feed declares itself
/// are expanded before (`feed::declared`).
pub(super) fn push_reference(text: &mut String, name: &str) {
    match name {
        "amp" => text.push('&'),
        "lt" => text.push('<'),
        "gt" => text.push('>'),
        "quot" => text.push('"'),
        "apos" => text.push('\''),
        "nbsp" => text.push('\u{a0}'),
        _ => {
            if let Some(digits) = name.strip_prefix('#') {
                text.push(numeric(digits));
            } else if !push_named(text, name) {
                text.extend(["&", name, ";"]);
            }
        }
    }
}

/// Decodes every reference in an attribute's value once. Control characters that no text may hold are dropped, however
/// they were written.
pub(crate) fn decode(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(start) = rest.find('&') {
        text.push_str(&rest[..start]);
        let after = &rest[start + 1..];
        let end = after.bytes().take(NAME_LENGTH_MAX + 2).position(|byte| byte == b';');
        match end.map(|end| &after[..end]).filter(|name| is_reference(name)) {
            Some(name) => {
                push_reference(&mut text, name);
                rest = &after[name.len() + 1..];
            }
            None => {
                text.push('&');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    control::remove_forbidden(&mut text);
    text
}

/// True for the control characters that stand where Windows has its quotation marks and dashes.
pub(super) fn is_c1(character: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&character)
}

/// The character that was meant by a C1 control; all others stay what they are.
pub(super) fn without_c1(character: char) -> char {
    let index = u32::from(character).checked_sub(0x80).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| C1_REPLACEMENTS.get(index).copied().flatten()).unwrap_or(character)
}

/// The character of a number, with the C1 range read as HTML does: `&#146;` was meant as an apostrophe.
fn numeric(digits: &str) -> char {
    let number = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    number.ok().and_then(char::from_u32).map_or(char::REPLACEMENT_CHARACTER, without_c1)
}

fn push_named(text: &mut String, name: &str) -> bool {
    // The table's keys end with the semicolon; it also holds beginnings of names, which stand for nothing.
    let mut key = [0; NAME_LENGTH_MAX + 1];
    let Some(place) = key.get_mut(..name.len()) else { return false };
    place.copy_from_slice(name.as_bytes());
    let Some(end) = key.get_mut(name.len()) else { return false };
    *end = b';';
    let Some((first, second)) =
        std::str::from_utf8(&key[..=name.len()]).ok().and_then(|key| NAMED_ENTITIES.get(key)).copied()
    else {
        return false;
    };
    if first == 0 {
        return false;
    }
    text.extend([first, second].into_iter().filter(|code| *code != 0).filter_map(char::from_u32));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_once() {
        for (value, expected) in [
            ("a &amp;amp; b", "a &amp; b"),
            ("&eacute;&nbsp;&hellip;", "é\u{a0}…"),
            ("&#8217;&#x2019;&#X2019;", "’’’"),
            ("&#146;&#150;", "’–"),
            ("&#xD800;&#99999999999;", "\u{FFFD}\u{FFFD}"),
            ("a&#0;&#1;\u{b}b&#9;c", "ab\tc"),
            ("?a=1&b=2&copy=3", "?a=1&b=2&copy=3"),
            ("AT&T; R&D", "AT&T; R&D"),
            ("&; &#; & &unknown; &nbs;", "&; &#; & &unknown; &nbs;"),
            ("&NotEqualTilde;", "≂\u{338}"),
            ("&CounterClockwiseContourIntegral;", "∳"),
        ] {
            assert_eq!(decode(value), expected, "for {value:?}");
        }
    }
}
