//! Links: which of them are one, and where the relative ones lead.

use url::Url;

/// Longer bases only serve to multiply a document.
const BASE_LENGTH_MAX: usize = 2048;

/// True for a text that can be followed as it stands.
pub(super) fn looks_absolute(text: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// True for a link with a scheme.
pub(super) fn is_absolute(link: &str) -> bool {
    looks_absolute(link) || scheme(link).is_some()
}

/// How much longer links may still become by being made absolute, so that a long base cannot multiply a document.
#[derive(Debug)]
pub(super) struct LinkBudget {
    bytes_left: usize,
    /// True once a link had to be left relative.
    pub(super) is_exceeded: bool,
}

impl LinkBudget {
    pub(super) fn new(document_bytes: usize) -> LinkBudget {
        LinkBudget { bytes_left: document_bytes.saturating_mul(4).saturating_add(64 * 1024), is_exceeded: false }
    }

    /// A link made absolute if the budget allows it; nothing for what is no link (see [`resolve`]).
    pub(super) fn absolute(&mut self, base: Option<&Url>, found: &str) -> Option<Box<str>> {
        match resolve(base, found)? {
            Resolved::AsFound(link) | Resolved::Relative(link) => Some(link),
            Resolved::Joined(link) => match self.bytes_left.checked_sub(link.len().saturating_sub(found.len())) {
                Some(left) => {
                    self.bytes_left = left;
                    Some(link)
                }
                None => {
                    self.is_exceeded = true;
                    Some(found.trim().into())
                }
            },
        }
    }
}

/// The base that an `xml:base` sets, seen from the one around it.
pub(super) fn join_base(outer: Option<&Url>, value: &str) -> Option<Url> {
    if value.len() > BASE_LENGTH_MAX {
        return None;
    }
    let joined = match outer {
        Some(outer) => outer.join(value.trim()),
        None => Url::parse(value.trim()),
    };
    joined.ok().filter(|url| url.as_str().len() <= BASE_LENGTH_MAX && !url.cannot_be_a_base())
}

/// What came of a link.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    /// It was absolute already and stays as it was found.
    AsFound(Box<str>),
    /// It was relative and is absolute now.
    Joined(Box<str>),
    /// It is relative, and there is nothing to see it from.
    Relative(Box<str>),
}

/// Makes a link absolute. Nothing comes back for what is no link to a page: blanks, scripts, inline data.
pub(super) fn resolve(base: Option<&Url>, found: &str) -> Option<Resolved> {
    let found = found.trim();
    // Line breaks inside a link are an editor's work, and so is the indentation that follows them.
    let cleaned: String;
    let found = if found.contains(['\n', '\r', '\t']) {
        cleaned = found.split_whitespace().collect();
        cleaned.as_str()
    } else {
        found
    };
    if found.is_empty() {
        return None;
    }
    if looks_absolute(found) {
        return Some(Resolved::AsFound(found.into()));
    }
    if let Some(scheme) = scheme(found) {
        return is_page_scheme(scheme).then(|| Resolved::AsFound(found.into()));
    }
    if found.starts_with("www.") {
        return Some(Resolved::Joined(format!("http://{found}").into()));
    }
    match base.and_then(|base| base.join(found).ok()) {
        // `javascript:1;alert(1)` looks like a host with a port.
        Some(url) => is_page_scheme(url.scheme()).then(|| Resolved::Joined(url.as_str().into())),
        None => {
            let scheme = found.split_once(':').map_or("", |(scheme, _)| scheme);
            is_page_scheme(scheme).then(|| Resolved::Relative(found.into()))
        }
    }
}

/// False for schemes that make a browser do something else than open a page.
fn is_page_scheme(scheme: &str) -> bool {
    let others = ["javascript", "data", "vbscript", "about", "blob", "file"];
    !others.iter().any(|other| scheme.eq_ignore_ascii_case(other))
}

/// The scheme of a link that has one. `example.org:8080/a` has none, though RFC 3986 would read it so.
fn scheme(link: &str) -> Option<&str> {
    let (scheme, rest) = link.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-'));
    (is_scheme && !rest.starts_with(|first: char| first.is_ascii_digit())).then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base: &str, found: &str, expected: Option<&str>) {
        let link = resolve(Url::parse(base).ok().as_ref(), found).map(|resolved| match resolved {
            Resolved::AsFound(link) | Resolved::Joined(link) | Resolved::Relative(link) => link,
        });
        assert_eq!(link.as_deref(), expected, "for {found:?} seen from {base:?}");
    }

    #[test]
    fn links_are_seen_from_their_base() {
        let base = "https://example.org/blog/feed.xml";
        check(base, "post/1", Some("https://example.org/blog/post/1"));
        check(base, "/post/1", Some("https://example.org/post/1"));
        check(base, "?p=1", Some("https://example.org/blog/feed.xml?p=1"));
        check(base, "//cdn.example.org/1", Some("https://cdn.example.org/1"));
        check(base, "www.example.net/1", Some("http://www.example.net/1"));
        check(base, " https://example.org/\n  a", Some("https://example.org/a"));
        check(base, "https://example.org/a b ", Some("https://example.org/a b"));
        check(base, "HTTP://example.org/ü", Some("HTTP://example.org/ü"));
        check(base, "gemini://example.org/1", Some("gemini://example.org/1"));
        check(base, "javascript:alert(1)", None);
        check(base, "javascript:1;alert(1)", None);
        check("", "javascript:1;alert(1)", None);
        check(base, "\u{1}data:text/html,1", None);
        check(base, " ", None);
        check("", "post/1", Some("post/1"));
    }

    #[test]
    fn a_base_is_seen_from_the_base_around_it_and_bounded() {
        let outer = Url::parse("https://example.org/a/").unwrap();
        assert_eq!(join_base(Some(&outer), "b/").unwrap().as_str(), "https://example.org/a/b/");
        assert_eq!(join_base(Some(&outer), &"x".repeat(3000)), None);
        assert_eq!(join_base(None, "b/"), None);
        assert_eq!(join_base(Some(&outer), "mailto:a@b"), None);
    }
}
