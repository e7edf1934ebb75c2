//! Where the article of a page is: its text and its HTML.

use std::sync::LazyLock;

use dom_query::{Document, Matcher, NodeRef};
use dom_smoothie::{Config, Readability};

use super::blocks;
use super::survey::Survey;
use super::{boilerplate, comments, main_article, prune, thread};
use crate::parse::text;

/// Less than this may be the navigation of a page that was cut before its article.
const NAVIGATION_CHARS_MAX: usize = 100;
/// Less than this is nothing.
const TEXT_CHARS_MIN: usize = 10;
/// Longer titles are cut before the article is searched for: they are compared with every heading of the page.
const TITLE_CHARS_MAX: usize = 1000;
/// If dom_smoothie finds a smaller share of an `<article>`, in percent, it has taken a part for the whole.
const WHOLE_SHARE_MIN: usize = 60;
/// A page has one main heading, or a few.
const HEADINGS_MAX: usize = 10;

/// Where dom_smoothie leaves what it found.
static ARTICLE: LazyLock<Matcher> =
    LazyLock::new(|| Matcher::new("#readability-page-1").expect("a name with a number sign is a selector"));

pub(super) struct FoundArticle {
    /// By the page's `<title>` or headings.
    pub(super) title: Option<String>,
    pub(super) text: ArticleText,
}

pub(super) struct ArticleText {
    /// A line for each block.
    pub(super) lines: String,
    /// The same with its elements, and with images and their captions.
    pub(super) html: String,
}

/// Takes out what would mislead or burden the search for the article, and returns the main headings.
pub(super) fn prepare(survey: &Survey<'_>) -> Vec<String> {
    // What a page says to browsers without scripts is not its article.
    survey.noscripts.iter().for_each(NodeRef::remove_from_parent);
    shorten_titles(survey);
    survey.headings.iter().take(HEADINGS_MAX).map(|heading| text::fold(&heading.text())).collect()
}

/// Where the article is.
#[derive(Clone, Copy)]
pub(super) enum ArticleScope<'a> {
    /// In the opening post of a thread, which is nothing but text.
    Post(NodeRef<'a>),
    /// In the main `<article>`, with whatever else its page puts there, and with so many visible characters of prose.
    Article(NodeRef<'a>, usize),
    Page,
}

/// What the text of a scope must be.
pub(super) enum Bound {
    Exactly(ArticleText),
    /// At least so many visible characters: less is a part that was taken for the whole.
    AtLeast(usize),
}

impl<'a> ArticleScope<'a> {
    /// Finds the scope, and takes the comments out of the page.
    pub(super) fn of(document: &'a Document) -> ArticleScope<'a> {
        if let Some(post) = thread::opening_post(document) {
            return ArticleScope::Post(post);
        }
        comments::remove(document);
        main_article::find(document).map_or(ArticleScope::Page, |(node, prose)| ArticleScope::Article(node, prose))
    }

    /// Leaves nothing but the scope in the body.
    pub(super) fn narrow(self, document: &Document, names: &[&str]) -> Bound {
        let (ArticleScope::Post(node) | ArticleScope::Article(node, _)) = self else { return Bound::AtLeast(0) };
        if let Some(body) = document.body() {
            node.remove_from_parent();
            body.remove_children();
            body.append_child(&node);
        }
        match self {
            ArticleScope::Post(_) => text_of(&node, names).map_or(Bound::AtLeast(0), Bound::Exactly),
            ArticleScope::Article(_, prose) => Bound::AtLeast(prose * WHOLE_SHARE_MIN / 100),
            ArticleScope::Page => Bound::AtLeast(0),
        }
    }
}

/// The article as dom_smoothie sees it, without what is left around it.
pub(super) fn find(document: Document, bound: Bound, headings: &[String], names: &[&str]) -> Option<FoundArticle> {
    // JSON-LD is read by us, and classes are needed to know captions.
    let config = Config { keep_classes: true, disable_json_ld: true, ..Config::default() };
    let mut readability = Readability::with_document(document, None, Some(config)).ok()?;
    let article = readability.parse().ok()?;
    let text = match bound {
        Bound::Exactly(text) => text,
        Bound::AtLeast(chars_min) => {
            let root = readability.doc.select_single_matcher(&ARTICLE);
            let text = text_of(root.nodes().first()?, names)?;
            let chars = text.lines.chars().filter(|character| !character.is_whitespace());
            (chars_min == 0 || chars.count() >= chars_min).then_some(text)?
        }
    };
    let title = Some(text::fold(&article.title)).filter(|title| !title.is_empty());
    let title = title.map(|title| heading_in(&title, headings).unwrap_or(title));
    Some(FoundArticle { title, text })
}

/// All of the scope, else of the block with the most text of its own: for pages in which dom_smoothie finds nothing, or
/// too little.
pub(super) fn whole(document: &Document, names: &[&str]) -> Option<FoundArticle> {
    let found = |node: &NodeRef<'_>| text_of(node, names).map(|text| FoundArticle { title: None, text });
    if let ArticleScope::Post(node) | ArticleScope::Article(node, _) = ArticleScope::of(document)
        && let Some(found) = found(&node)
    {
        return Some(found);
    }
    let children_text = |node: &&NodeRef<'_>| -> usize {
        let own = node.children_it(false).filter(|child| child.is_text() || child.has_name("p"));
        own.map(|child| child.normalized_char_count()).sum()
    };
    let nodes = document.select("article, main, section, div, td, body");
    found(nodes.nodes().iter().max_by_key(children_text)?)
}

/// `<title>` is often the heading with the name of the site behind or before it.
fn heading_in(title: &str, headings: &[String]) -> Option<String> {
    let separators = [" | ", " - ", " – ", " — ", " · ", " » ", " :: ", ": ", "｜", "_"];
    let is_first = |heading: &str| {
        title.strip_prefix(heading).is_some_and(|rest| separators.iter().any(|edge| rest.starts_with(edge)))
    };
    let is_last = |heading: &str| {
        title.strip_suffix(heading).is_some_and(|rest| separators.iter().any(|edge| rest.ends_with(edge)))
    };
    let headings = headings.iter().map(|heading| heading.trim_end_matches(['¶', '#', ' ']));
    let headings: Vec<&str> = headings.filter(|heading| !heading.is_empty()).collect();
    let first = headings.iter().find(|heading| is_first(heading));
    first.or_else(|| headings.iter().find(|heading| is_last(heading))).map(|heading| String::from(*heading))
}

/// The text below a node, and its HTML: what is no part of the article is removed from the tree.
fn text_of(node: &NodeRef<'_>, names: &[&str]) -> Option<ArticleText> {
    let blocks = blocks::cut(*node);
    let verdicts = boilerplate::verdicts(&blocks, names);
    let judged = || blocks.iter().zip(&verdicts);
    let lines = blocks::joined(judged().filter_map(|(block, is_kept)| is_kept.then_some(block)));
    if !has_chars(&lines, TEXT_CHARS_MIN) {
        return None;
    }
    // A caption is no part of the text, but tells what the image above it shows.
    let dropped = judged().filter(|(block, is_kept)| !**is_kept && !block.place.caption);
    prune::remove(*node, dropped.flat_map(|(block, _)| &block.nodes).copied().collect());
    let html = node.try_inner_html().map(String::from).unwrap_or_default();
    Some(ArticleText { lines, html })
}

/// Whether a text is too short to be more than the navigation before an article.
pub(super) fn is_navigation(text: &str) -> bool {
    !has_chars(text, NAVIGATION_CHARS_MAX)
}

/// Whether there are at least this many letters and digits.
pub(super) fn has_chars(text: &str, count: usize) -> bool {
    text.chars().filter(|character| character.is_alphanumeric()).nth(count - 1).is_some()
}

/// Quadratic otherwise: a heading of a megabyte would be compared with each of a hundred thousand others.
fn shorten_titles(survey: &Survey<'_>) {
    let shortened = |text: &str| text.chars().take(TITLE_CHARS_MAX).collect::<String>();
    for title in &survey.titles {
        let text = title.text();
        if text.len() > TITLE_CHARS_MAX {
            title.set_text(shortened(&text));
        }
    }
    for meta in &survey.metas {
        let content = meta.attr_or("content", "");
        if content.len() > TITLE_CHARS_MAX {
            meta.set_attr("content", &shortened(&content));
        }
    }
}
