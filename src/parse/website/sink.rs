//! The tree that the parser fills, with its limits.
//!
//! It is dom_query's tree; what is added is to know how deep the parser works and how much the readers of the tree will
//! have to do. Writing a tree out is quadratic in the length of one text that is full of `&`, so no text and no
//! attribute grows that long.

use std::borrow::Cow;
use std::cell::{Cell, Ref};

use dom_query::{Document, NodeData, NodeId, NodeRef, TreeNode};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode};
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::TreeSink;
use html5ever::{Attribute, QualName, local_name};

/// Real pages reach 52.
pub(super) const DEPTH_MAX: usize = 400;
/// Real pages reach 24,000.
pub(super) const NODES_MAX: usize = 400_000;
/// The text below an element is looked at for each element around it, so what is deep costs more: bytes times levels,
/// where a node counts as some bytes. The largest page that is allowed, at the depth of the deepest real one, is below.
const WORK_MAX: usize = 640_000_000;
const NODE_BYTES: usize = 32;
/// A page has one `<html>` and one `<body>`, or a few by mistake.
const LATE_ATTRIBUTES_MAX: usize = 256;
/// Longer attributes are emptied: they hold pictures and data, and nothing that is read here.
const ATTRIBUTE_BYTES_MAX: usize = 4096;
/// A text that has grown to this length is not added to: its continuation is a node of its own.
pub(super) const TEXT_NODE_BYTES_MAX: usize = 4096;

/// dom_query's tree, which remembers where the parser works.
#[derive(Default)]
pub(super) struct Guard {
    pub(super) document: Document,
    newest_element: Cell<Option<NodeId>>,
    open_templates: Cell<usize>,
    late_attributes: Cell<usize>,
    nodes_seen: Cell<usize>,
    work: Cell<usize>,
}

impl Guard {
    /// Whether enough is read, after a piece of this size.
    pub(super) fn is_over_the_limits(&self, piece_bytes: usize) -> bool {
        let tree = &self.document.tree;
        let ancestors = self.newest_element.get().map_or(0, |id| NodeRef::new(id, tree).ancestors_it(None).count());
        // The content of a template hangs on no parent, so nested ones are counted by themselves.
        let depth = ancestors + self.open_templates.get();
        let new_nodes = tree.len() - self.nodes_seen.replace(tree.len());
        let work = self.work.get().saturating_add(depth * (piece_bytes + new_nodes * NODE_BYTES));
        self.work.set(work);
        depth > DEPTH_MAX || tree.len() > NODES_MAX || work > WORK_MAX
    }

    /// The continuation of a text that is long enough, as a node; anything else as it is.
    fn split(&self, child: NodeOrText<NodeId>, before: Option<NodeRef<'_>>) -> NodeOrText<NodeId> {
        let text_bytes = |node: &TreeNode| match &node.data {
            NodeData::Text { contents } => contents.len(),
            _ => 0,
        };
        let bytes_before = before.and_then(|node| self.document.tree.query_node(&node.id, text_bytes)).unwrap_or(0);
        match child {
            NodeOrText::AppendText(text) if bytes_before >= TEXT_NODE_BYTES_MAX => {
                NodeOrText::AppendNode(self.document.tree.new_text(text).id)
            }
            child => child,
        }
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

    fn create_element(&self, name: QualName, mut attributes: Vec<Attribute>, flags: ElementFlags) -> NodeId {
        for attribute in &mut attributes {
            if attribute.value.len() > ATTRIBUTE_BYTES_MAX {
                attribute.value.clear();
            }
        }
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
        let child = self.split(child, self.document.tree.last_child_of(parent));
        self.document.append(parent, child);
    }

    fn append_based_on_parent_node(&self, element: &NodeId, previous: &NodeId, child: NodeOrText<NodeId>) {
        if self.document.tree.parent_of(element).is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
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
        let child = self.split(child, self.document.tree.prev_sibling_of(sibling));
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
