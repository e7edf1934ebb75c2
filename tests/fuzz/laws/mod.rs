//! What the readers of foreign bytes promise whatever the bytes are, one file for each target of `cargo fuzz`.
//!
//! The fuzz targets and the tests call the same functions, so that a law is written once. A broken law is a panic.

pub(crate) mod authorization;
pub(crate) mod charset;
pub(crate) mod date;
pub(crate) mod feed;
pub(crate) mod html_text;
pub(crate) mod opml;
pub(crate) mod response;
pub(crate) mod robots;
pub(crate) mod website;
pub(crate) mod x_json;

/// The laws of one target: panics if an input makes the reader break one.
pub(crate) type Laws = fn(&[u8]);

/// Every target: its name, which is also the name of the folder with its seeds, and its laws.
pub(crate) const TARGETS: [(&str, Laws); 10] = [
    ("authorization", authorization::check),
    ("charset", charset::check),
    ("date", date::check),
    ("feed", feed::check),
    ("html_text", html_text::check),
    ("opml", opml::check),
    ("response", response::check),
    ("robots", robots::check),
    ("website", website::check),
    ("x_json", x_json::check),
];

/// Parts an input into the `Content-Type` that its first line pretends it came with, if there is such a line, and the
/// document.
fn content_type_and_document(input: &[u8]) -> (Option<&str>, &[u8]) {
    let parts = input.strip_prefix(b"Content-Type:").and_then(|input| {
        let end = input.iter().position(|byte| *byte == b'\n')?;
        Some((std::str::from_utf8(&input[..end]).ok()?.trim(), &input[end + 1..]))
    });
    parts.map_or((None, input), |(content_type, document)| (Some(content_type), document))
}

/// True for the control characters that neither XML nor JSON allows in a text.
fn is_forbidden(character: char) -> bool {
    character < ' ' && !matches!(character, '\t' | '\n' | '\r')
}

/// A link is one line, without blanks around it, and leads to a page rather than into the browser that follows it.
fn check_link(link: &str) {
    assert_eq!(link.trim(), link, "blanks around a link");
    assert!(!link.is_empty(), "a link to nowhere");
    assert!(!link.contains(['\n', '\r', '\t']) && !link.contains(is_forbidden), "{link:?} is broken");
    let scheme = link.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    assert!(!["javascript", "data", "vbscript", "file"].contains(&scheme.as_str()), "{link:?} leads to no page");
}
