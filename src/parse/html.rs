//! Changes HTML in place, on tokens alone. What is not meant to change stays as it is, byte for byte.

mod srcset;

use std::borrow::Cow;
use std::cell::OnceCell;

use memchr::memchr;
use url::Url;

use super::entity;
use super::text::{HtmlToken, HtmlTokens, attributes};

/// How much longer than the input the output may become: this many times, and so many bytes more.
const SIZES_MAX: usize = 4;
const SLACK_BYTES: usize = 64 * 1024;

/// HTML in which relative links (`href`, `src`, `poster`, `cite`, `srcset`) are absolute; borrowed if there were none.
///
/// References to a place in the same document (`#note`) and what cannot be joined with the base stay as they are, and so
/// do all remaining links once the output would exceed four times the input and 64 KiB.
pub fn with_absolute_links<'h>(html: &'h str, base: &str) -> Cow<'h, str> {
    if memchr(b'=', html.as_bytes()).is_none() {
        // No attribute has a value.
        return Cow::Borrowed(html);
    }
    let base = &LinkBase { text: base, url: OnceCell::new() };
    let mut changed = RewrittenHtml { html, output: String::new(), copied: 0 };
    let mut tokens = HtmlTokens::new(html);
    while let Some(token) = tokens.next() {
        let HtmlToken::Open { name, attributes: text, self_closed } = token else { continue };
        // The attributes end where the tag ends, or at its closing bracket.
        let tag_end = tokens.position();
        let tag_end = tag_end - usize::from(html.as_bytes()[tag_end - 1] == b'>');
        let start = tag_end - text.len();
        for attribute in attributes(text) {
            let is = |name: &str| attribute.name.eq_ignore_ascii_case(name);
            let value = if ["href", "src", "poster", "cite"].into_iter().any(is) {
                absolute(attribute.value, base)
            } else if is("srcset") {
                srcset::absolute(attribute.value, base)
            } else {
                None
            };
            // Damage: a value that holds a tag or ends a CDATA section means more to a reader than a link.
            let is_damaged = attribute.value.contains('<') || attribute.value.contains("]]>");
            let Some(value) = value.filter(|_| !is_damaged) else { continue };
            let value_start = start + attribute.value_start;
            if !changed.replace(value_start, attribute.value.len(), &escaped(&value)) {
                return changed.finish();
            }
        }
        if is_raw_text(name) {
            tokens.skip_fallback(name, self_closed);
        }
    }
    changed.finish()
}

/// What links are relative to. Most documents have absolute links only, so it is parsed when one is not.
struct LinkBase<'b> {
    text: &'b str,
    url: OnceCell<Option<Url>>,
}

impl LinkBase<'_> {
    fn url(&self) -> Option<&Url> {
        self.url.get_or_init(|| Url::parse(self.text).ok()).as_ref()
    }
}

/// The output so far, and how much of the input is in it.
struct RewrittenHtml<'h> {
    html: &'h str,
    output: String,
    copied: usize,
}

impl<'h> RewrittenHtml<'h> {
    /// Replaces a part of the input behind the last one. False if the output would become too long.
    fn replace(&mut self, start: usize, length: usize, value: &str) -> bool {
        let bytes_max = self.html.len().saturating_mul(SIZES_MAX).saturating_add(SLACK_BYTES);
        let unchanged = self.html.len() - self.copied - length;
        if self.output.len() + unchanged + value.len() > bytes_max {
            return false;
        }
        if self.output.is_empty() {
            self.output.reserve(self.html.len() + self.html.len() / 8 + value.len());
        }
        self.output.push_str(&self.html[self.copied..start]);
        self.output.push_str(value);
        self.copied = start + length;
        true
    }

    fn finish(mut self) -> Cow<'h, str> {
        if self.copied == 0 {
            return Cow::Borrowed(self.html);
        }
        self.output.push_str(&self.html[self.copied..]);
        Cow::Owned(self.output)
    }
}

/// The absolute form of a link as written in an attribute; nothing if it is to stay as it is.
fn absolute(value: &str, base: &LinkBase<'_>) -> Option<String> {
    if value.contains('&') { absolute_decoded(&entity::decode(value), base) } else { absolute_decoded(value, base) }
}

/// The same for a link whose references are decoded.
fn absolute_decoded(link: &str, base: &LinkBase<'_>) -> Option<String> {
    let link = link.trim();
    if link.is_empty() || link.starts_with('#') || has_scheme(link) {
        return None;
    }
    let base = base.url()?;
    if link.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("www.")) {
        return Some(format!("{}://{link}", if base.scheme() == "https" { "https" } else { "http" }));
    }
    base.join(link).ok().map(String::from)
}

/// True if a link begins with a scheme (RFC 3986, section 3.1).
fn has_scheme(link: &str) -> bool {
    let Some((scheme, _)) = link.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// A value for an attribute in quotation marks of either kind, or in none.
fn escaped(value: &str) -> Cow<'_, str> {
    if !value.contains(['&', '"', '\'', '<', '>']) {
        return Cow::Borrowed(value);
    }
    let mut escaped = String::with_capacity(value.len() + 16);
    for character in value.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

/// True for elements whose content is text whatever it looks like.
fn is_raw_text(name: &str) -> bool {
    ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"]
        .into_iter()
        .any(|raw| raw.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests;
