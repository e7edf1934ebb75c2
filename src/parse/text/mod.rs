//! HTML to plain text, on tokens alone: what a browser would show, with whitespace folded.
//!
//! One pass, no tree and no recursion, so nesting costs nothing; time and memory are linear in the input. Where a
//! browser would drop the rest of a document because of one missing quote or one `<iframe/>`, this parser keeps the
//! text. Independent of feeds and pages.

mod element;
mod entity;
mod fold;
mod token;

pub(super) use element::ElementKind;
pub(super) use fold::Folded;
use token::{HtmlToken, HtmlTokens};

/// The plain text of a piece of HTML.
///
/// Blocks, cells and line breaks are separated by one space, inline elements do not break words, and what a browser
/// does not show (scripts, styles, templates, titles) is dropped. The result never starts or ends with a space, never
/// has two in a row, and is at most a fifth longer than the input.
pub fn from_html(html: &str) -> String {
    if !html.bytes().any(|byte| matches!(byte, b'<' | b'&')) {
        return fold(html);
    }
    let mut text = Folded::with_capacity(html.len() / 2);
    let mut tokens = HtmlTokens::new(html);
    // How many templates are open: markup that waits to be used, and can hold more of its kind.
    let mut templates: usize = 0;
    while let Some(token) = tokens.next() {
        match token {
            HtmlToken::Text(piece) if templates == 0 => entity::decode_into(piece, &mut text),
            HtmlToken::Text(_) => {}
            HtmlToken::Open { name, self_closed } => match ElementKind::of(name) {
                ElementKind::Inline => {}
                ElementKind::Block if templates > 0 => {}
                ElementKind::Block => text.break_word(),
                ElementKind::Unseen => tokens.skip_unseen(name, self_closed),
                ElementKind::Replaced => {
                    text.break_word();
                    tokens.skip_fallback(name, self_closed);
                }
                ElementKind::Template => templates += usize::from(!self_closed),
            },
            HtmlToken::Close { name } => match ElementKind::of(name) {
                ElementKind::Block if templates == 0 => text.break_word(),
                ElementKind::Template => templates = templates.saturating_sub(1),
                _ => {}
            },
        }
    }
    text.into_string()
}

/// Plain text with its whitespace folded and its invisible characters removed, for input that is not markup.
pub fn fold(text: &str) -> String {
    let mut folded = Folded::with_capacity(text.len());
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
