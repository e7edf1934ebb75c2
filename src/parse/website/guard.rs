//! A parse that stops before a page becomes expensive.
//!
//! html5ever's time is quadratic in nesting, its reconstruction of `<font>` and the like multiplies nodes, and the
//! readers of the tree recurse. So the page is fed in small pieces, and the tree is looked at after each.

use std::borrow::Cow;
use std::cell::{Cell, Ref};

use dom_query::{Document, NodeId, NodeRef};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::{TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, ParseOpts, QualName, local_name, parse_document};

use super::attributes;

/// Real pages reach 52.
pub(super) const DEPTH_MAX: usize = 400;
/// Real pages reach 24,000.
pub(super) const NODES_MAX: usize = 400_000;
/// A page has one `<html>` and one `<body>`, or a few by mistake.
const LATE_ATTRIBUTES_MAX: usize = 256;
/// How much is fed between two looks. A piece can add some 340 levels before the next one.
const PIECE_BYTES: usize = 1024;

/// A tree that is safe to walk and to recurse into.
pub(super) struct Parsed {
    /// The tree.
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
        is_cut = parser.tokenizer.sink.sink.is_over_the_limits();
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

/// dom_query's tree, which remembers where the parser works.
#[derive(Default)]
struct Guard {
    document: Document,
    newest_element: Cell<Option<NodeId>>,
    open_templates: Cell<usize>,
    late_attributes: Cell<usize>,
}

impl Guard {
    fn is_over_the_limits(&self) -> bool {
        let tree = &self.document.tree;
        let depth = self.newest_element.get().map_or(0, |id| NodeRef::new(id, tree).ancestors_it(None).count());
        // The content of a template hangs on no parent, so nested ones are counted by themselves.
        tree.len() > NODES_MAX || depth + self.open_templates.get() > DEPTH_MAX
    }
}

impl TreeSink for Guard {
    type Handle = NodeId;
    type Output = Document;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Document {
        self.document
    }

    /// Not kept: a page can hold as many errors as bytes.
    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> NodeId {
        if flags.template {
            self.open_templates.set(self.open_templates.get() + 1);
        }
        let element = self.document.create_element(name, attributes, flags);
        self.newest_element.set(Some(element));
        element
    }

    fn pop(&self, node: &NodeId) {
        if self.document.elem_name(node).local == local_name!("template") {
            self.open_templates.set(self.open_templates.get().saturating_sub(1));
        }
    }

    fn get_document(&self) -> NodeId {
        self.document.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Ref<'a, QualName> {
        self.document.elem_name(target)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.document.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.document.create_pi(target, data)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.document.append(parent, child);
    }

    fn append_based_on_parent_node(&self, element: &NodeId, previous: &NodeId, child: NodeOrText<NodeId>) {
        self.document.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public_id: StrTendril, system_id: StrTendril) {
        self.document.append_doctype_to_document(name, public_id, system_id);
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        self.document.get_template_contents(target)
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        self.document.same_node(one, other)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.document.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        self.document.append_before_sibling(sibling, child);
    }

    /// What a second `<html>` or `<body>` adds to the first. Each is compared with all that are there.
    fn add_attrs_if_missing(&self, target: &NodeId, attributes: Vec<Attribute>) {
        self.late_attributes.set(self.late_attributes.get().saturating_add(attributes.len()));
        if self.late_attributes.get() <= LATE_ATTRIBUTES_MAX {
            self.document.add_attrs_if_missing(target, attributes);
        }
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.document.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        self.document.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &NodeId) -> bool {
        self.document.is_mathml_annotation_xml_integration_point(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
