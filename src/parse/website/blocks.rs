//! An article cut into blocks: the paragraphs, headings, items and cells, with what is needed to judge them.

use dom_query::{NodeId, NodeRef, local_name};

use super::walk::{Visitor, walk};
use crate::parse::text::{ElementKind, Folded, is_preformatted};

/// One run of text between two edges of block elements. Never empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Line breaks and lines of code are kept.
    pub(super) text: String,
    pub(super) chars: usize,
    /// Visible characters inside of links.
    pub(super) link_chars: usize,
    /// What it stands in.
    pub(super) place: BlockPosition,
    /// The nodes of its text.
    pub(super) nodes: Vec<NodeId>,
}

/// Which elements a block stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockPosition {
    pub(super) heading: bool,
    pub(super) list: bool,
    pub(super) table: bool,
    pub(super) quote: bool,
    /// A caption, by its elements or by what their classes say, for nine tenths of it.
    pub(super) caption: bool,
    /// The beginning of a cell behind the first one of its row.
    pub(super) further_cell: bool,
}

/// Cuts the tree below a node into blocks, in order.
pub(super) fn cut(root: NodeRef<'_>) -> Vec<Block> {
    let mut cutter = Cutter { text: Folded::default().with_lines(), ..Cutter::default() };
    walk(root, &mut cutter);
    cutter.finish_block();
    cutter.blocks
}

/// The text of blocks, with a line for each of them; cells of one row share a line.
pub(super) fn joined<'b>(blocks: impl Iterator<Item = &'b Block>) -> String {
    let mut joined = String::new();
    for block in blocks {
        if !joined.is_empty() {
            joined.push(if block.place.further_cell { ' ' } else { '\n' });
        }
        joined.push_str(&block.text);
    }
    joined
}

/// How many of each are open around the walk.
#[derive(Default)]
struct Open {
    links: usize,
    headings: usize,
    lists: usize,
    tables: usize,
    quotes: usize,
    captions: usize,
    preformatted: usize,
}

#[derive(Default)]
struct Cutter {
    blocks: Vec<Block>,
    open: Open,
    row: Row,
    text: Folded,
    nodes: Vec<NodeId>,
    chars: usize,
    link_chars: usize,
    caption_chars: usize,
}

/// Where the walk is in a row of a table.
#[derive(Default)]
struct Row {
    /// Whether a cell of the row has text.
    has_text: bool,
    /// Whether the walk is at the beginning of a cell.
    starts_cell: bool,
}

impl<'a> Visitor<'a> for Cutter {
    fn enter(&mut self, node: &NodeRef<'a>) -> bool {
        if node.is_text() {
            self.push(node);
            return false;
        }
        let Some(element) = node.element_ref() else { return node.is_document() || node.is_fragment() };
        let name = element.name.local.as_ref();
        match ElementKind::of(name) {
            ElementKind::Unseen | ElementKind::Replaced | ElementKind::Template => return false,
            ElementKind::Block if name == "br" => self.text.break_line(),
            ElementKind::Block => {
                self.finish_block();
                self.row.enter(name);
            }
            ElementKind::Inline => {}
        }
        if let Some(count) = self.count_of(node, name) {
            *count += 1;
        }
        self.text.is_preformatted = self.open.preformatted > 0;
        true
    }

    fn leave(&mut self, node: &NodeRef<'a>) {
        let Some(element) = node.element_ref() else { return };
        let name = element.name.local.as_ref();
        match ElementKind::of(name) {
            ElementKind::Unseen | ElementKind::Replaced | ElementKind::Template => return,
            ElementKind::Block if name != "br" => self.finish_block(),
            ElementKind::Block | ElementKind::Inline => {}
        }
        if let Some(count) = self.count_of(node, name) {
            *count -= 1;
        }
        self.text.is_preformatted = self.open.preformatted > 0;
    }
}

impl Row {
    fn enter(&mut self, block: &str) {
        match block {
            "tr" => *self = Row::default(),
            "td" | "th" => self.starts_cell = true,
            _ => {}
        }
    }

    /// Notes a block, and says whether it begins a cell behind another one.
    fn takes_further_cell(&mut self) -> bool {
        let is_further = self.starts_cell && self.has_text;
        *self = Row { has_text: true, starts_cell: false };
        is_further
    }
}

impl Cutter {
    fn count_of(&mut self, node: &NodeRef<'_>, name: &str) -> Option<&mut usize> {
        match name {
            "a" => Some(&mut self.open.links),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => Some(&mut self.open.headings),
            "ul" | "ol" | "dl" => Some(&mut self.open.lists),
            "table" => Some(&mut self.open.tables),
            "blockquote" => Some(&mut self.open.quotes),
            "figcaption" => Some(&mut self.open.captions),
            _ if is_preformatted(name) => Some(&mut self.open.preformatted),
            _ if is_caption(node) => Some(&mut self.open.captions),
            _ => None,
        }
    }

    fn push(&mut self, node: &NodeRef<'_>) {
        let text = &node.text();
        self.nodes.push(node.id);
        let chars = text.chars().filter(|character| !character.is_whitespace()).count();
        self.chars += chars;
        if self.open.links > 0 {
            self.link_chars += chars;
        }
        if self.open.captions > 0 {
            self.caption_chars += chars;
        }
        self.text.push(text);
    }

    fn finish_block(&mut self) {
        let mut next = Folded::default().with_lines();
        next.is_preformatted = self.open.preformatted > 0;
        let text = std::mem::replace(&mut self.text, next).into_string();
        let nodes = std::mem::take(&mut self.nodes);
        let (chars, link_chars) = (std::mem::take(&mut self.chars), std::mem::take(&mut self.link_chars));
        let caption_chars = std::mem::take(&mut self.caption_chars);
        if !text.is_empty() {
            let Open { headings, lists, tables, quotes, .. } = self.open;
            let place = BlockPosition {
                heading: headings > 0,
                list: lists > 0,
                table: tables > 0,
                quote: quotes > 0,
                caption: caption_chars * 10 >= chars * 9,
                further_cell: tables > 0 && self.row.takes_further_cell(),
            };
            self.blocks.push(Block { text, chars, link_chars, place, nodes });
        }
    }
}

/// Whether the class says so: `wp-caption-text`, `photo-credit`, `image__caption`, but not `accredited`.
fn is_caption(node: &NodeRef<'_>) -> bool {
    let Some(element) = node.element_ref() else { return false };
    let class = element.attrs.iter().find(|attribute| attribute.name.local == local_name!("class"));
    let names = ["caption", "credit", "credits", "figcaption"];
    class.is_some_and(|class| {
        let mut words = class.value.split(|character: char| !character.is_alphanumeric());
        words.any(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dom_query::Document;

    fn blocks(html: &str) -> Vec<Block> {
        cut(Document::from(html).root())
    }

    fn texts(html: &str) -> Vec<String> {
        blocks(html).into_iter().map(|block| block.text).collect()
    }

    #[test]
    fn blocks_end_where_block_elements_do() {
        assert_eq!(
            texts("<div>a<b>b</b> c<p>d<br>e</p>f<script>x</script></div><ul><li>g<li>h</ul><pre>i\n j</pre>"),
            ["ab c", "d\ne", "f", "g", "h", "i\nj"]
        );
    }

    #[test]
    fn lines_of_code_stay_apart_and_cells_of_a_row_together() {
        let table =
            "<table><tr><th>Year</th><th></th><th><p>Sum</p></th></tr><tr><td>2025</td><td>a<p>b</td></tr></table>";
        let html = format!("<p>One.</p><pre><code>let a = 1;\n\n  let b;</code></pre>{table}<p>Two.</p>");
        let joined = joined(blocks(&html).iter());
        assert_eq!(joined, "One.\nlet a = 1;\nlet b;\nYear Sum\n2025 a\nb\nTwo.");
    }

    #[test]
    fn a_block_knows_its_place_and_its_links() {
        let blocks = blocks("<h2>A</h2><ul><li><a href=x>B b</a> c</li></ul><blockquote><p>D</p></blockquote><p>E</p>");
        let places: Vec<_> =
            blocks.iter().map(|block| (block.place.heading, block.place.list, block.place.quote)).collect();
        assert_eq!(places, [(true, false, false), (false, true, false), (false, false, true), (false, false, false)]);
        assert_eq!((blocks[1].chars, blocks[1].link_chars), (3, 2));
    }

    #[test]
    fn captions_are_known_by_element_and_by_class() {
        let blocks = blocks(
            "<figcaption>A</figcaption><p class='wp-caption-text'>B</p><p class='accredited'>C</p><p><span class=credit>D</span></p>",
        );
        let captions: Vec<_> = blocks.iter().map(|block| block.place.caption).collect();
        assert_eq!(captions, [true, true, false, true]);
    }
}
