//! Comments in elements without telling names, known by the heading above them.

use dom_query::NodeRef;

use super::comments::PROSE_CHARS_MIN;
use super::phrases::{self, CommentHeading};
use super::walk::short_text;

/// A page has few such headings; a hostile one may have thousands.
const HEADINGS_MAX: usize = 8;
/// How far above its heading a section begins.
const LEVELS_MAX: usize = 4;

/// Removes what stands below these headings, if it is made of contributions, with the headings.
pub(super) fn remove_below<'a>(headings: impl Iterator<Item = (NodeRef<'a>, CommentHeading)>) {
    for (node, heading) in headings.take(HEADINGS_MAX) {
        let start = beginning(node);
        let section: Vec<NodeRef<'_>> = match start.id == node.id || is_alone(&start) {
            true => std::iter::once(start).chain(following(start, level(&node))).collect(),
            false => vec![start],
        };
        let is_section = !section.iter().any(holds_title)
            && (heading.has_number && heading.is_certain || holds_contributions(&node, &section, heading));
        if is_section && leaves_prose(&section) {
            section.iter().for_each(NodeRef::remove_from_parent);
        }
    }
}

/// The outermost element that begins with this heading.
fn beginning(heading: NodeRef<'_>) -> NodeRef<'_> {
    let mut node = heading;
    for _ in 0..LEVELS_MAX {
        let is_first = siblings_before(node).all(|before| !has_text(&before));
        let above = node.parent().filter(|above| {
            is_first && !["article", "main", "body", "html", "td"].iter().any(|name| above.has_name(name))
        });
        match above {
            Some(above) => node = above,
            None => break,
        }
    }
    node
}

fn siblings_before(node: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    std::iter::successors(node.prev_sibling(), NodeRef::prev_sibling)
}

/// Everything behind a node up to the next heading of its level that is no heading of comments.
fn following(node: NodeRef<'_>, level: u8) -> impl Iterator<Item = NodeRef<'_>> {
    let ends = move |node: &NodeRef<'_>| {
        let is_heading = level_of(node).is_some_and(|found| found <= level);
        is_heading && short_text(node, 100).is_none_or(|text| phrases::comment_heading(&text).is_none())
    };
    std::iter::successors(node.next_sibling(), NodeRef::next_sibling).take_while(move |node| !ends(node))
}

fn level(node: &NodeRef<'_>) -> u8 {
    level_of(node).unwrap_or(6)
}

fn level_of(node: &NodeRef<'_>) -> Option<u8> {
    let element = node.element_ref()?;
    let digit = element.name.local.strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&digit).then_some(digit)
}

/// Whether there is nothing but the heading in it.
fn is_alone(node: &NodeRef<'_>) -> bool {
    short_text(node, 100).is_some_and(|text| phrases::comment_heading(&text).is_some())
}

/// A chapter called "Comments" is made of paragraphs. Contributions are boxes, and have no paragraphs between them.
fn holds_contributions(heading: &NodeRef<'_>, section: &[NodeRef<'_>], kind: CommentHeading) -> bool {
    let is_prose = |node: &NodeRef<'_>| {
        ["p", "pre", "blockquote", "table", "figure"].iter().any(|name| node.has_name(name))
            || node.is_text() && has_text(node)
    };
    let level = heading.parent().map(|above| above.children_it(false).collect::<Vec<_>>()).unwrap_or_default();
    let behind = level.iter().skip_while(|node| node.id != heading.id);
    let has_prose = section.iter().any(is_prose) || section.len() == 1 && behind.clone().any(is_prose);
    let mut below = section.iter().flat_map(|node| node.descendants_it());
    let mut has_marks = || below.any(|node| ["time", "textarea"].iter().any(|name| node.has_name(name)));
    match kind.is_certain {
        true => !has_prose || has_marks(),
        false => !has_prose && has_marks(),
    }
}

fn holds_title(node: &NodeRef<'_>) -> bool {
    let is_title = |node: &NodeRef<'_>| {
        node.has_name("h1") && short_text(node, 100).is_none_or(|text| phrases::comment_heading(&text).is_none())
    };
    is_title(node) || node.descendants_it().any(|node| is_title(&node))
}

/// Whether something is left to read without these.
fn leaves_prose(section: &[NodeRef<'_>]) -> bool {
    let Some(first) = section.first() else { return false };
    let Some(root) = first.ancestors_it(None).find(|above| above.has_name("body")) else { return false };
    let mut chars = 0;
    let mut node = Some(root);
    // Document order, without what is inside of the section.
    while let Some(current) = node {
        if current.is_text() {
            chars += current.text().chars().filter(|character| !character.is_whitespace()).count();
            if chars >= PROSE_CHARS_MIN {
                return true;
            }
        }
        let is_hidden = section.iter().any(|part| part.id == current.id)
            || ["script", "style", "nav", "header", "footer", "h1", "h2", "h3"]
                .iter()
                .any(|name| current.has_name(name));
        let child = current.first_child().filter(|_| !is_hidden);
        node = child.or_else(|| behind(current, &root));
    }
    false
}

/// The next node in document order that is not inside of this one.
fn behind<'a>(node: NodeRef<'a>, root: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let mut node = node;
    while node.id != root.id {
        if let Some(sibling) = node.next_sibling() {
            return Some(sibling);
        }
        node = node.parent()?;
    }
    None
}

fn has_text(node: &NodeRef<'_>) -> bool {
    let is_text = |node: &NodeRef<'_>| node.is_text() && !node.text().trim().is_empty();
    is_text(node) || node.descendants_it().any(|node| is_text(&node))
}
