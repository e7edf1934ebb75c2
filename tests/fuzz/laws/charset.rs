//! Bytes to text: nothing is invented, and nothing that was text already is touched.

use feedwarden::parse::charset::decode;

/// Holds the laws against one document, with and without its header, and with the hint of a country.
pub(crate) fn check(input: &[u8]) {
    let (content_type, document) = super::content_type_and_document(input);
    check_decoded(document, content_type, None);
    check_decoded(document, None, Some("it"));
    // A country out of the document itself, because in production it comes from an untrusted URL.
    let country = String::from_utf8_lossy(&document[..document.len().min(8)]);
    check_decoded(document, content_type, Some(&country));
}

fn check_decoded(document: &[u8], content_type: Option<&str>, top_level_domain: Option<&str>) {
    let decoded = decode(document, content_type, top_level_domain);
    let text = &*decoded.text;

    // A byte becomes one character at most, and none is longer than U+FFFD.
    assert!(text.len() <= document.len() * 3, "{} bytes became {}", document.len(), text.len());
    let zeros = document.iter().filter(|byte| **byte == 0).count();
    assert!(text.matches('\0').count() <= zeros, "a NUL out of nothing");
    assert!(decoded.refuted != Some(decoded.charset), "{} is refuted by itself", decoded.charset);
    assert!(!decoded.has_replacements || text.contains(char::REPLACEMENT_CHARACTER), "nothing was replaced");

    let unmarked = document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document);
    if decoded.charset == "UTF-8" && !decoded.has_replacements {
        assert!(unmarked.starts_with(text.as_bytes()), "UTF-8 was not left as it is");
        assert!(unmarked.len() - text.len() < 4, "more than a cut character is gone");
    }
    // Text is text whatever a header says. A NUL can make it UTF-16, and an escape ISO-2022-JP.
    if !text.contains(['\0', '\x1B', '\u{FEFF}']) {
        let again = decode(text.as_bytes(), content_type, top_level_domain);
        assert_eq!((&*again.text, again.charset, again.has_replacements), (text, "UTF-8", false));
    }
}
