//! How elements affect plain text.

use super::fold::Separator;

/// How an element shows in plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::parse) enum ElementKind {
    /// Stands inside a line: its tags leave no trace.
    Inline,
    /// Starts and ends a line or a cell: its tags separate words.
    Block,
    /// Its content is not text and not markup, and is never shown.
    Unseen,
    /// An embedded object; its content is a fallback for old browsers.
    Replaced,
    /// A template; can be nested.
    Template,
}

impl ElementKind {
    /// The kind of the element with this name, in any case. Unknown names are inline, as in a browser.
    pub(in crate::parse) fn of(name: &str) -> ElementKind {
        // Longer names than the longest known one need no look.
        let mut lower = [0; 18];
        let Some(lower) = lower.get_mut(..name.len()) else { return ElementKind::Inline };
        lower.copy_from_slice(name.as_bytes());
        lower.make_ascii_lowercase();
        match &*lower {
            b"a" | b"b" | b"i" | b"em" | b"strong" | b"span" | b"img" | b"u" | b"s" => ElementKind::Inline,
            b"p" | b"br" | b"div" | b"li" | b"ul" | b"ol" | b"tr" | b"td" | b"th" | b"hr" | b"h1" | b"h2" | b"h3"
            | b"h4" | b"h5" | b"h6" | b"table" | b"tbody" | b"thead" | b"tfoot" | b"caption" | b"blockquote"
            | b"pre" | b"figure" | b"figcaption" | b"section" | b"article" | b"aside" | b"header" | b"footer"
            | b"main" | b"nav" | b"dl" | b"dt" | b"dd" | b"details" | b"summary" | b"address" | b"center"
            | b"fieldset" | b"legend" | b"form" | b"hgroup" | b"menu" | b"dir" | b"dialog" | b"search" | b"option"
            | b"optgroup" | b"select" | b"html" | b"head" | b"body" | b"frameset" | b"listing" | b"xmp"
            | b"plaintext" | b"marquee" => ElementKind::Block,
            b"script" | b"style" | b"noscript" | b"title" | b"noembed" | b"noframes" => ElementKind::Unseen,
            b"iframe"
            | b"video"
            | b"audio"
            | b"canvas"
            | b"textarea"
            | b"datalist"
            | b"svg"
            | b"svg:svg"
            | b"annotation"
            | b"annotation-xml"
            | b"m:annotation"
            | b"m:annotation-xml"
            | b"mml:annotation"
            | b"mml:annotation-xml" => ElementKind::Replaced,
            b"template" => ElementKind::Template,
            _ => ElementKind::Inline,
        }
    }
}

/// What the tags of a block put between the text before and after them.
#[inline]
pub(super) fn separator(block: &str) -> Separator {
    match block.as_bytes() {
        [b't' | b'T', b'd' | b'D' | b'h' | b'H'] => Separator::Cell,
        // `tr`, `table`, `tbody`, `thead`, `tfoot`: no other block begins with this letter.
        [b't' | b'T', ..] => Separator::Row,
        [b'c' | b'C', b'a' | b'A', ..] => Separator::Row,
        _ => Separator::Line,
    }
}

/// True for the visible half of a formula by KaTeX. The other half is MathML with the same text.
pub(super) fn repeats_formula(name: &str, attributes: &str) -> bool {
    name.len() == "span".len() && attributes.len() > "katex-html".len() && attributes.contains("katex-html")
}

/// True for elements in which every line of the source is a line.
pub(in crate::parse) fn is_preformatted(block: &str) -> bool {
    matches!(block.as_bytes(), [b'p' | b'P' | b'l' | b'L' | b'x' | b'X', _, _, ..])
        && ["pre", "listing", "xmp", "plaintext"].into_iter().any(|name| block.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_rows_have_their_own_separators() {
        for (separator_of, names) in [
            (Separator::Cell, &["td", "TH"][..]),
            (Separator::Row, &["tr", "Table", "tbody", "thead", "tfoot", "caption"]),
            (Separator::Line, &["p", "br", "center", "li", "dt", "dd"]),
        ] {
            for name in names {
                assert_eq!((ElementKind::of(name), separator(name)), (ElementKind::Block, separator_of), "{name}");
            }
        }
    }

    #[test]
    fn names_are_known_in_any_case_and_length() {
        assert_eq!(ElementKind::of("BlockQuote"), ElementKind::Block);
        assert_eq!(ElementKind::of("ANNOTATION-XML"), ElementKind::Replaced);
        assert_eq!(ElementKind::of("annotation-xmls"), ElementKind::Inline);
        assert_eq!(ElementKind::of("mml:annotation-xml"), ElementKind::Replaced);
        assert_eq!(ElementKind::of("my-very-own-custom-element"), ElementKind::Inline);
        assert_eq!(ElementKind::of(""), ElementKind::Inline);
    }
}
