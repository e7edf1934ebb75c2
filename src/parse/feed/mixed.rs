//! Descriptions in which a part of the HTML is escaped and a part is not.

use super::field::has_tags;
use crate::parse::entity;
use crate::parse::text::{HtmlToken, HtmlTokens};

/// Decodes the text outside of all elements if it holds escaped tags; what stands inside an element is meant as it is
/// written. Nothing comes back if no tag is escaped.
pub(super) fn decoded(markup: &str) -> Option<String> {
    let mut whole = String::with_capacity(markup.len());
    let mut tokens = HtmlTokens::new(markup);
    let (mut depth, mut copied, mut is_mixed) = (0_usize, 0, false);
    loop {
        let start = tokens.position();
        let Some(token) = tokens.next() else { break };
        let end = tokens.position();
        match token {
            HtmlToken::Text(text) if depth == 0 && text.contains('&') => {
                // What stands between the last token and this one is no token: a comment.
                whole.push_str(&markup[copied..end - text.len()]);
                let text = entity::decode(text);
                is_mixed |= has_tags(&text);
                whole.push_str(&text);
                copied = end;
            }
            HtmlToken::Text(_) => {}
            HtmlToken::Open { name, self_closed, .. } => depth += usize::from(!self_closed && !is_void(name)),
            HtmlToken::Close { .. } => depth = depth.saturating_sub(1),
        }
        debug_assert!(start < end);
    }
    whole.push_str(&markup[copied..]);
    is_mixed.then_some(whole)
}

/// True for elements without an end tag.
fn is_void(name: &str) -> bool {
    ["br", "hr", "img", "input", "wbr", "embed", "source"].into_iter().any(|void| void.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_outside_of_elements_is_decoded() {
        for (markup, expected) in [
            (
                "&lt;p&gt;a<br>b&lt;/p&gt;<!-- &lt;c --><i>&lt;/d&gt;</i>",
                Some("<p>a<br>b</p><!-- &lt;c --><i>&lt;/d&gt;</i>"),
            ),
            ("&lt;p&gt;a&lt;/p&gt;<b>c</b> &amp;lt; d &amp;amp; e", Some("<p>a</p><b>c</b> &lt; d &amp; e")),
            ("a &lt; b<i>c</i>", None),
            ("<i>&lt;/d&gt;</i>", None),
            ("</i>&lt;/d&gt;", Some("</i></d>")),
            ("é&lt;/d&gt;é<x", Some("é</d>é<x")),
        ] {
            assert_eq!(decoded(markup).as_deref(), expected, "for {markup:?}");
        }
    }
}
