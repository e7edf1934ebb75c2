//! HTML to plain text, on tokens alone: what a browser would show, with whitespace folded.
//!
//! One pass, no tree and no recursion, so nesting costs nothing; time and memory are linear in the input. Where a
//! browser would drop the rest of a document because of one missing quote or one `<iframe/>`, this parser keeps the
//! text. Independent of feeds and pages.

mod element;
mod entity;
mod fold;
mod image;
mod token;

use memchr::memchr2;

pub(super) use element::{ElementKind, is_preformatted};
pub(super) use fold::Folded;
pub(super) use token::{HtmlToken, HtmlTokens, attributes};

/// The plain text of a piece of HTML.
///
/// Blocks, cells and line breaks are separated by one space, inline elements do not break words, and what a browser
/// does not show (scripts, styles, templates, titles) is dropped. HTML that shows nothing but images becomes their
/// texts (`alt` and `title`). The result never starts or ends with a space, never has two in a row, and is at most a
/// fifth longer than the input.
pub fn from_html(html: &str) -> String {
    convert(html, Folded::with_capacity)
}

/// The same words as [`from_html`], with each paragraph, heading, list item, quote, table row and line of code on a line
/// of its own. With every line feed replaced by a space it is what [`from_html`] returns.
pub fn lines_from_html(html: &str) -> String {
    convert(html, |bytes| Folded::with_capacity(bytes).with_lines())
}

fn convert(html: &str, folded: fn(usize) -> Folded) -> String {
    if memchr2(b'<', b'&', html.as_bytes()).is_none() {
        return fold(html);
    }
    let mut text = folded(html.len());
    read(html, &mut text, TextSource::Text);
    if text.is_empty() {
        read(html, &mut text, TextSource::ImageTexts);
    }
    text.into_string()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextSource {
    Text,
    ImageTexts,
}

fn read(html: &str, text: &mut Folded, wanted: TextSource) {
    let mut tokens = HtmlTokens::new(html);
    // How many templates are open: markup that waits to be used, and can hold more of its kind.
    let mut templates: usize = 0;
    let mut preformatted: usize = 0;
    // Open `<span>` elements of a formula whose text is there as MathML already.
    let mut repeated: usize = 0;
    while let Some(token) = tokens.next() {
        match token {
            HtmlToken::Text(piece) if templates == 0 && repeated == 0 && wanted == TextSource::Text => {
                entity::decode_into(piece, text)
            }
            HtmlToken::Text(_) => {}
            HtmlToken::Open { name, attributes, self_closed } => match ElementKind::of(name) {
                ElementKind::Inline => {
                    if repeated > 0 || element::repeats_formula(name, attributes) {
                        repeated += usize::from(!self_closed && name.eq_ignore_ascii_case("span"));
                    }
                    if wanted == TextSource::ImageTexts && templates == 0 && name.eq_ignore_ascii_case("img") {
                        image::push_texts(attributes, text);
                    }
                }
                ElementKind::Block if templates > 0 => {}
                ElementKind::Block => {
                    // No block stands inside a formula: an end tag is missing.
                    repeated = 0;
                    text.separate(element::separator(name));
                    if is_preformatted(name) && !self_closed {
                        preformatted += 1;
                        text.is_preformatted = true;
                    }
                }
                ElementKind::Unseen => tokens.skip_unseen(name, self_closed),
                ElementKind::Replaced => {
                    text.break_word();
                    tokens.skip_fallback(name, self_closed);
                }
                ElementKind::Template => templates += usize::from(!self_closed),
            },
            HtmlToken::Close { name } => match ElementKind::of(name) {
                ElementKind::Block if templates == 0 => {
                    text.separate(element::separator(name));
                    if preformatted > 0 && is_preformatted(name) {
                        preformatted -= 1;
                        text.is_preformatted = preformatted > 0;
                    }
                }
                ElementKind::Template => templates = templates.saturating_sub(1),
                ElementKind::Inline if repeated > 0 && name.eq_ignore_ascii_case("span") => repeated -= 1,
                _ => {}
            },
        }
    }
}

/// Plain text with its whitespace folded and its invisible characters removed, for input that is not markup.
pub fn fold(text: &str) -> String {
    let mut folded = Folded::with_capacity(text.len());
    folded.push(text);
    folded.into_string()
}

/// The same words as [`fold`], with the line breaks of the input kept, one between two lines.
pub fn lines(text: &str) -> String {
    let mut folded = Folded::with_capacity(text.len()).with_lines();
    folded.is_preformatted = true;
    folded.push(text);
    folded.into_string()
}

/// Plain text in which character references are still to be decoded, folded: attribute values that were escaped twice.
pub fn unescape(text: &str) -> String {
    let mut folded = Folded::with_capacity(text.len());
    entity::decode_into(text, &mut folded);
    folded.into_string()
}

#[cfg(test)]
mod tests;
