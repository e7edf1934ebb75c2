//! Removes what is no part of an article from its tree, with the elements that are empty without it.

use std::collections::HashSet;

use dom_query::{NodeId, NodeRef};

use super::walk::{Visitor, walk};
use crate::parse::text::ElementKind;

/// Elements that show something without text.
const MEDIA: [&str; 13] =
    ["img", "picture", "video", "audio", "source", "iframe", "embed", "object", "canvas", "svg", "math", "hr", "input"];

/// Removes these text nodes below a node, then what is left empty by that, and what a browser never shows. Elements that
/// were empty before stay. Takes one walk.
pub(super) fn remove(root: NodeRef<'_>, dropped: HashSet<NodeId>) {
    let mut pruner = Pruner { root: root.id, dropped, open: vec![OpenElement::default()], removed: Vec::new() };
    walk(root, &mut pruner);
    pruner.removed.iter().for_each(NodeRef::remove_from_parent);
}

struct Pruner<'a> {
    root: NodeId,
    dropped: HashSet<NodeId>,
    open: Vec<OpenElement>,
    removed: Vec<NodeRef<'a>>,
}

/// What the walk found so far below an element.
#[derive(Clone, Copy, Default)]
struct OpenElement {
    has_content: bool,
    lost_content: bool,
}

impl<'a> Visitor<'a> for Pruner<'a> {
    fn enter(&mut self, node: &NodeRef<'a>) -> bool {
        if node.is_text() {
            let is_dropped = self.dropped.contains(&node.id);
            if is_dropped {
                self.removed.push(*node);
            }
            let has_content = !is_dropped && !node.text().trim().is_empty();
            self.note(OpenElement { has_content, lost_content: is_dropped });
            return false;
        }
        let Some(element) = node.element_ref() else { return node.is_document() || node.is_fragment() };
        let name = element.name.local.as_ref();
        if matches!(ElementKind::of(name), ElementKind::Unseen | ElementKind::Template) && node.id != self.root {
            self.removed.push(*node);
            return false;
        }
        self.open.push(OpenElement { has_content: MEDIA.contains(&name), lost_content: false });
        true
    }

    fn leave(&mut self, node: &NodeRef<'a>) {
        let is_open = node.element_ref().is_some_and(|element| {
            let kind = ElementKind::of(element.name.local.as_ref());
            !matches!(kind, ElementKind::Unseen | ElementKind::Template) || node.id == self.root
        });
        let Some(frame) = is_open.then(|| self.open.pop()).flatten() else { return };
        if frame.lost_content && !frame.has_content && node.id != self.root {
            self.removed.push(*node);
        }
        self.note(frame);
    }
}

impl Pruner<'_> {
    fn note(&mut self, found: OpenElement) {
        if let Some(frame) = self.open.last_mut() {
            frame.has_content |= found.has_content;
            frame.lost_content |= found.lost_content;
        }
    }
}

#[cfg(test)]
mod tests {
    use dom_query::Document;

    use super::super::blocks;
    use super::*;

    #[test]
    fn what_is_dropped_goes_with_the_elements_that_it_leaves_empty() {
        let check = |html: &str, pruned: &str| {
            let document = Document::from(html);
            let body = document.body().unwrap();
            let blocks = blocks::cut(body);
            let dropped = blocks.iter().filter(|block| block.text.starts_with('x')).flat_map(|block| &block.nodes);
            remove(body, dropped.copied().collect());
            assert_eq!(&*body.inner_html(), pruned, "{html}");
        };
        check("<p>a</p><div><p>x <a href=x>b</a></p> </div><p>c</p>", "<p>a</p><p>c</p>");
        check("<ul><li>a<li>x</ul>", "<ul><li>a</li></ul>");
        check("<div>x<img src=a></div>", "<div><img src=\"a\"></div>");
        check("<p>a<script>b()</script></p><p></p>", "<p>a</p><p></p>");
        check("x", "");
    }
}
