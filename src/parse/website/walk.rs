//! A walk over a tree without recursion.

use dom_query::{NodeData, NodeRef, TreeNode};

/// What happens at each node of a walk.
pub(super) trait Visitor<'a> {
    /// Before the children; says whether they are to be seen.
    fn enter(&mut self, node: &NodeRef<'a>) -> bool;
    /// Behind the children, or at once if they are not seen.
    fn leave(&mut self, node: &NodeRef<'a>);
}

/// Walks over a node and everything below it, in document order.
pub(super) fn walk<'a>(root: NodeRef<'a>, visitor: &mut impl Visitor<'a>) {
    let mut node = root;
    loop {
        if visitor.enter(&node)
            && let Some(child) = node.first_child()
        {
            node = child;
            continue;
        }
        loop {
            visitor.leave(&node);
            if node.id == root.id {
                return;
            }
            if let Some(sibling) = node.next_sibling() {
                node = sibling;
                break;
            }
            match node.parent() {
                Some(parent) => node = parent,
                None => return,
            }
        }
    }
}

/// The text of a line is in fewer nodes.
const LINE_NODES_MAX: usize = 200;

/// The text below a node, as written, unless it has more than so many visible characters.
pub(super) fn short_text(node: &NodeRef<'_>, chars_max: usize) -> Option<String> {
    let mut text = String::new();
    let mut chars = 0;
    for (number, below) in node.descendants_it().enumerate() {
        if number >= LINE_NODES_MAX {
            return None;
        }
        if !below.is_text() {
            continue;
        }
        let piece = below.text();
        chars += piece.chars().filter(|character| !character.is_whitespace()).take(chars_max + 1).count();
        if chars > chars_max {
            return None;
        }
        text.push_str(&piece);
        text.push(' ');
    }
    Some(text)
}

/// How many characters of a text node are no whitespace; ASCII alone is told apart, which is enough to compare lengths.
pub(super) fn visible_chars(node: &NodeRef<'_>) -> usize {
    let is_visible_start = |byte: &u8| !byte.is_ascii_whitespace() && *byte & 0xC0 != 0x80;
    let count = |node: &TreeNode| match &node.data {
        NodeData::Text { contents } => contents.as_bytes().iter().filter(|byte| is_visible_start(byte)).count(),
        _ => 0,
    };
    node.query_or(0, count)
}

/// The value of an attribute, without a copy of all attributes.
pub(super) fn with_attribute<T>(node: &NodeRef<'_>, name: &str, read: impl FnOnce(&str) -> T) -> Option<T> {
    let element = node.element_ref()?;
    let attribute = element.attrs.iter().find(|attribute| &*attribute.name.local == name)?;
    Some(read(&attribute.value))
}
