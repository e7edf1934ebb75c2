//! A parse that stops before a page becomes expensive.
//!
//! html5ever's time is quadratic in nesting, its reconstruction of `<font>` and the like multiplies nodes, and the
//! readers of the tree recurse. So the page is fed in small pieces, and the tree is looked at after each.

use dom_query::Document;
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};

use super::attributes;
use super::sink::{DEPTH_MAX, Guard};

/// How much is fed between two looks. A piece can add some 340 levels before the next one.
const PIECE_BYTES: usize = 1024;

/// A tree that is safe to walk and to recurse into.
pub(super) struct Parsed {
    pub(super) document: Document,
    /// Whether a limit was met, and the rest of the page is missing.
    pub(super) is_cut: bool,
}

/// Parses a page, or the part of it before a limit: what comes first is what people read.
pub(super) fn parse(html: &str) -> Parsed {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() },
        ..ParseOpts::default()
    };
    let mut parser = parse_document(Guard::default(), options);
    let html = attributes::limit(html);
    let mut rest = html.as_ref();
    let mut is_cut = false;
    while !rest.is_empty() && !is_cut {
        let (piece, behind) = rest.split_at(piece_end(rest));
        rest = behind;
        parser.process(StrTendril::from(piece));
        is_cut = parser.tokenizer.sink.sink.is_over_the_limits(piece.len());
    }
    let document = parser.finish();
    if deepest(&document) > 2 * DEPTH_MAX {
        // No way to get here is known. If there is one, the stack overflow behind it would end the process.
        return Parsed { document: Document::default(), is_cut: true };
    }
    Parsed { document, is_cut }
}

fn piece_end(rest: &str) -> usize {
    (PIECE_BYTES..rest.len()).find(|&end| rest.is_char_boundary(end)).unwrap_or(rest.len())
}

/// The depth of the deepest node, by walking all of them.
fn deepest(document: &Document) -> usize {
    let (mut depth, mut deepest) = (0, 0);
    let mut node = document.root();
    loop {
        if let Some(child) = node.first_child() {
            depth += 1;
            deepest = deepest.max(depth);
            node = child;
            continue;
        }
        while node.next_sibling().is_none() {
            match node.parent() {
                Some(parent) => node = parent,
                None => return deepest,
            }
            depth -= 1;
        }
        if let Some(sibling) = node.next_sibling() {
            node = sibling;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sink::{NODES_MAX, TEXT_NODE_BYTES_MAX};
    use super::*;
    use dom_query::NodeRef;
    use rstest::rstest;

    /// What one piece can add on top of a limit before the next look at the tree.
    const SLACK_NODES: usize = 300_000;

    #[rstest]
    #[case::divisions("<div>".repeat(100_000))]
    #[case::in_a_table("<table>".to_owned() + &"<div>".repeat(100_000))]
    #[case::behind_the_body("<div></body><!---->".repeat(100_000))]
    #[case::templates("<template>".repeat(100_000))]
    #[case::templates_with_content("<template><div><b>".repeat(50_000))]
    #[case::formatting((0..20_000).map(|number| format!("<b id={number}>")).collect())]
    #[case::foreign("<svg>".to_owned() + &"<g>".repeat(100_000))]
    #[case::fonts((0..1_000).map(|number| format!("<p><font size={number}>")).collect::<String>() + &"<p>x".repeat(10_000))]
    #[case::many("<p>x".repeat(300_000))]
    #[case::many_and_deep("<div>".repeat(380) + &"<p>x".repeat(60_000))]
    #[case::long_and_deep("<div>".repeat(380) + &"x, y ".repeat(400_000))]
    fn a_hostile_page_is_cut_where_it_gets_expensive(#[case] html: String) {
        let Parsed { document, is_cut } = parse(&html);
        assert!(is_cut);
        assert!(document.tree.len() < NODES_MAX + SLACK_NODES, "{} nodes", document.tree.len());
        assert!(deepest(&document) <= DEPTH_MAX + PIECE_BYTES / 3, "{} levels", deepest(&document));
    }

    #[rstest]
    #[case::one_tag("<p ".to_owned() + &(0..200_000).map(|number| format!("a{number} ")).collect::<String>())]
    #[case::many_bodies((0..100_000).map(|number| format!("<body a{number}>")).collect())]
    fn a_million_bytes_of_attributes_take_no_minutes(#[case] html: String) {
        let Parsed { document, .. } = parse(&html);
        assert!(document.select("*").nodes().iter().all(|node| node.attrs().len() <= 257));
    }

    #[rstest]
    #[case::text("&amp;".repeat(200_000))]
    #[case::text_before_a_table("<table>".to_owned() + &"&amp;".repeat(200_000))]
    #[case::attribute(format!("<p title='{}'>", "&amp;".repeat(200_000)))]
    fn no_text_grows_so_long_that_writing_it_is_quadratic(#[case] html: String) {
        let Parsed { document, .. } = parse(&html);
        let longest_text =
            document.root().descendants_it().filter(NodeRef::is_text).map(|node| node.text().len()).max();
        assert!(longest_text.unwrap_or(0) < TEXT_NODE_BYTES_MAX + PIECE_BYTES, "{longest_text:?}");
        assert!(document.html().len() <= html.len() + 100);
    }

    #[test]
    fn a_page_is_the_same_tree_in_pieces_and_at_once() {
        let html =
            "<!DOCTYPE html><title>é漢</title><p class='x'>Zwölf Boxkämpfer<table><b>x<tr><td>漢字</table>".repeat(60);
        let Parsed { document, is_cut } = parse(&html);
        assert!(!is_cut);
        assert_eq!(document.html(), Document::from(html).html());
    }

    #[test]
    fn the_depth_is_that_of_the_deepest_node() {
        assert_eq!(deepest(&Document::from("<body><p>a</p><div><ul><li>b</li></ul></div><p>c</p>")), 6);
    }
}
