//! Which blocks of an article are not part of it.
//!
//! Captions, credits, link-only blocks and short labels go because dropping them raised the share of right words on
//! public corpora from 0.952 to 0.970; trimming date lines lowered it, so dates stay. The rules on edges, bylines and
//! lists below a label came with the page layouts under `tests/fixtures/pages`.

use super::blocks::Block;
use super::phrases::{self, AGENCIES, APPEALS, CREDITS, LABELS, POINTERS};

/// What is longer says something.
const LINE_CHARS_MAX: usize = 90;
/// A credit that ends with the name of an agency is shorter than a sentence that does.
const AGENCY_CHARS_MAX: usize = 50;

/// Which blocks are the article, which is known to be by the author with these names. If the rules leave nothing, they
/// do not understand this page, and all of it stays.
pub(super) fn verdicts(blocks: &[Block], names: &[&str]) -> Vec<bool> {
    let names: Vec<String> = names.iter().map(|name| bare(name)).collect();
    let mut is_below_label = false;
    let judge = |block: &Block| {
        let line = line_of(block);
        // A list of links below "Related" belongs to it; the first block of another kind ends it.
        is_below_label = line.as_deref().is_some_and(is_label) || is_below_label && is_mostly_links(block);
        let is_furniture = |line: &str| {
            is_credit(block, line) || is_pointer(block, line) || names.iter().any(|name| name == without_by(line))
        };
        let is_dropped = is_below_label || block.place.caption || is_navigation(block);
        !is_dropped && !line.as_deref().is_some_and(is_furniture)
    };
    let mut verdicts: Vec<bool> = blocks.iter().map(judge).collect();
    drop_edges(blocks, &mut verdicts);
    if !verdicts.contains(&true) {
        verdicts.fill(true);
    }
    verdicts
}

/// An article does not start with links, which are where the page hangs in its site, nor end with a heading, which
/// belongs to what was dropped behind it.
fn drop_edges(blocks: &[Block], verdicts: &mut [bool]) {
    for (block, verdict) in blocks.iter().zip(verdicts.iter_mut()) {
        if *verdict && !(is_mostly_links(block) && block.chars <= LINE_CHARS_MAX) {
            break;
        }
        *verdict = false;
    }
    for (block, verdict) in blocks.iter().zip(verdicts.iter_mut()).rev() {
        if *verdict && !block.place.heading {
            break;
        }
        *verdict = false;
    }
}

fn is_mostly_links(block: &Block) -> bool {
    block.link_chars * 10 >= block.chars * 9
}

/// Nine tenths link text; lists, tables, quotes and headings may be made of links.
fn is_navigation(block: &Block) -> bool {
    let place = block.place;
    is_mostly_links(block) && !(place.list || place.table || place.quote || place.heading)
}

/// The bare text of a block that is short enough to be furniture, and stands where furniture does.
fn line_of(block: &Block) -> Option<String> {
    let is_line = block.chars <= LINE_CHARS_MAX && !block.place.table && !block.place.quote;
    is_line.then(|| bare(&block.text))
}

/// A line of its own such as "Related", or one that counts comments and changes with each of them (s702).
fn is_label(line: &str) -> bool {
    LABELS.contains(line) || phrases::comment_heading(line).is_some_and(|heading| heading.is_certain)
}

/// Points at something else to read, with a colon or with a link, or asks for something other than reading.
fn is_pointer(block: &Block, line: &str) -> bool {
    let is_half_link = block.link_chars * 2 >= block.chars;
    let points = |rest: &str| begins_with_colon(rest) || is_half_link && is_word_end(rest);
    APPEALS.iter().any(|start| line.starts_with(start))
        || POINTERS.iter().any(|start| line.strip_prefix(start).is_some_and(points))
}

/// Says who took the picture above it.
fn is_credit(block: &Block, line: &str) -> bool {
    if block.place.heading || block.place.list {
        return false;
    }
    let is_sentence = block.text.ends_with(['.', '!', '?', '"', '”']);
    let names_agency = || AGENCIES.iter().any(|agency| line.ends_with(agency));
    line.starts_with('©')
        || line.starts_with("photo by ")
        || CREDITS.iter().any(|start| line.strip_prefix(start).is_some_and(begins_with_colon))
        || block.chars <= AGENCY_CHARS_MAX && !is_sentence && names_agency()
}

fn without_by(line: &str) -> &str {
    let words = ["by ", "von ", "par ", "por ", "di ", "door ", "av "];
    words.iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line)
}

fn begins_with_colon(rest: &str) -> bool {
    rest.trim_start().starts_with([':', '：', '/', '|', '»', '›', '→'])
}

fn is_word_end(rest: &str) -> bool {
    rest.chars().next().is_none_or(|next| !next.is_alphanumeric())
}

/// In lower case, with straight apostrophes, without what stands around it. Signs of Devanagari are part of a word.
fn bare(text: &str) -> String {
    let is_edge = |character: char| !character.is_alphanumeric() && !matches!(character, '©' | '\u{900}'..='\u{97F}');
    text.trim_matches(is_edge).to_lowercase().replace('’', "'").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::super::blocks;
    use super::*;
    use dom_query::Document;
    use rstest::rstest;

    fn without(blocks: Vec<Block>, names: &[&str]) -> Vec<Block> {
        let verdicts = verdicts(&blocks, names);
        blocks.into_iter().zip(verdicts).filter_map(|(block, is_kept)| is_kept.then_some(block)).collect()
    }

    fn kept(html: &str) -> Vec<String> {
        let html = format!("<p>It begins with a sentence.</p>{html}<p>It ends with a sentence.</p>");
        let kept = without(blocks::cut(Document::from(html).root()), &["Ada Lovelace"]);
        kept[1..kept.len() - 1].iter().map(|block| block.text.clone()).collect()
    }

    #[rstest]
    #[case::caption("<figure><img src=x><figcaption>A bridge</figcaption></figure>")]
    #[case::advertisement("<p>ADVERTISEMENT</p>")]
    #[case::german("<p>Lesen Sie auch: Die Brücke von unten</p>")]
    #[case::french("<p>À lire aussi <a href=x>Le pont vu d’en bas</a></p>")]
    #[case::russian("<div>Читайте также: <a href=x>Мост</a></div>")]
    #[case::chinese("<p>相关阅读：<a href=x>桥</a></p>")]
    #[case::hindi("<p>यह भी पढ़ें: पुल</p>")]
    #[case::related_list("<h3>Related</h3><ul><li><a href=x>One</a></li><li><a href=y>Two</a></li></ul>")]
    #[case::link_only("<p><a href=x>The bridge from below, in pictures</a></p>")]
    #[case::credit("<p>Photo: Bob Miller</p>")]
    #[case::agency("<p>A bridge in spring. Bob Miller/Getty Images</p>")]
    #[case::copyright("<p>© 2026 Herald</p>")]
    #[case::byline("<p>By Ada Lovelace</p>")]
    #[case::comments("<p>12 Kommentare</p>")]
    #[case::appeal("<p>Subscribe to our newsletter for more.</p>")]
    fn furniture_is_dropped(#[case] html: &str) {
        assert_eq!(kept(html), [""; 0]);
    }

    #[rstest]
    #[case::date("<p>16 November 2026</p>", &["16 November 2026"])]
    #[case::list_of_links("<ul><li><a href=x>One</a></li></ul>", &["One"])]
    #[case::heading_link("<h2><a href=x>Chapter</a></h2>", &["Chapter"])]
    #[case::quote("<blockquote>Read more: it helps.</blockquote>", &["Read more: it helps."])]
    #[case::table("<table><tr><td>Related</td><td>3</td></tr></table>", &["Related", "3"])]
    #[case::sentence("<p>Related work is scarce.</p>", &["Related work is scarce."])]
    #[case::report("<p>The minister told Reuters.</p>", &["The minister told Reuters."])]
    #[case::long("<p>Read more: this is a sentence that goes on and on for so long that no page would ever use it as a mere label for a link.</p>",
        &["Read more: this is a sentence that goes on and on for so long that no page would ever use it as a mere label for a link."])]
    fn the_article_stays(#[case] html: &str, #[case] wanted: &[&str]) {
        assert_eq!(kept(html), wanted);
    }

    #[test]
    fn an_article_neither_starts_with_links_nor_ends_with_a_heading() {
        let html = "<ul><li><a href=x>Home</a></li></ul><p>Text.</p><h2>Comments follow</h2>";
        let kept = without(blocks::cut(Document::from(html).root()), &[]);
        assert_eq!(kept.iter().map(|block| block.text.as_str()).collect::<Vec<_>>(), ["Text."]);
    }

    #[test]
    fn a_page_of_nothing_but_links_stays_as_it_is() {
        let html = "<p><a href=x>One</a></p><p><a href=y>Two</a></p>";
        assert_eq!(without(blocks::cut(Document::from(html).root()), &[]).len(), 2);
    }
}
