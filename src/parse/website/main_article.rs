//! Which `<article>` of a page is the article (s701), once the comments are out.

use dom_query::{Document, NodeRef};

use super::walk::{Visitor, short_text, visible_chars, walk, with_attribute};
use crate::parse::text::ElementKind;

/// Less than this may be a teaser.
const PROSE_CHARS_MIN: usize = 140;
/// Less than this is a frame around other articles, or what is left of a header.
const OWN_PROSE_CHARS_MIN: usize = 60;
/// An article among others holds at least this share of their text, in percent.
const SHARE_MIN: usize = 60;
/// Names of sites and sections are shorter than the title of an article.
const TITLE_WORDS_MIN: usize = 4;
const TITLE_CHARS_MAX: usize = 300;
/// How a heading's rank is written if there is none.
const NO_HEADING: u8 = 7;

/// The main `<article>` with the visible characters of its prose; none if there is none, if it holds no prose, or if
/// the page is a list of teasers.
pub(super) fn find(document: &Document) -> Option<(NodeRef<'_>, usize)> {
    let mut survey = ArticleSurvey::default();
    walk(document.root(), &mut survey);
    let articles = &survey.articles;
    let outermost: Vec<&ArticleElement<'_>> =
        articles.iter().filter(|article| article.around.is_none() && !article.is_aside).collect();
    let main = choose(&outermost, survey.has_title)?;
    if !survey.is_usable(main) {
        return None;
    }
    let removed = if survey.is_live { 0 } else { remove_inner(articles, main) };
    Some((main.node, main.prose - removed))
}

/// Articles inside of an article are comments or teasers, unless they have headings like chapters, or the outer one is
/// only a frame. Returns how much prose goes with them.
fn remove_inner(articles: &[ArticleElement<'_>], main: &ArticleElement<'_>) -> usize {
    let inner: Vec<&ArticleElement<'_>> = articles.iter().filter(|inner| inner.around == Some(main.number)).collect();
    let is_frame = matches!(inner[..], [only] if only.prose > 4 * main.own_prose);
    if main.own_prose < OWN_PROSE_CHARS_MIN || is_frame {
        return 0;
    }
    let removed = inner.iter().filter(|inner| inner.rank > 2);
    removed.clone().for_each(|inner| inner.node.remove_from_parent());
    removed.map(|inner| inner.prose).sum()
}

/// The one with the page's heading, else the first if it alone has a heading of its rank, if the page's heading stands
/// above it and none has another, or if what follows looks like comments; else the longest, unless it is one of many
/// teasers.
fn choose<'s, 'a>(articles: &[&'s ArticleElement<'a>], has_title: bool) -> Option<&'s ArticleElement<'a>> {
    let with_title: Vec<_> = articles.iter().filter(|article| article.rank == 1).collect();
    if let [only] = with_title[..] {
        return Some(only);
    }
    let (first, others) = articles.split_first()?;
    let is_highest = others.iter().all(|other| other.rank > first.rank);
    let is_alone = first.rank <= 2 && is_highest;
    let is_below_title = has_title && articles.iter().all(|article| article.rank == NO_HEADING);
    if is_alone || is_below_title || is_followed_by_comments(first, others, is_highest) {
        return Some(first);
    }
    let total: usize = articles.iter().map(|article| article.prose).sum();
    let longest = articles.iter().rev().max_by_key(|article| article.prose)?;
    let is_by_far = longest.prose * 100 >= total * SHARE_MIN;
    // The headings of a list of teasers lead to the articles themselves.
    let is_teaser = longest.is_linked || longest.prose < PROSE_CHARS_MIN;
    (is_by_far || !is_teaser).then_some(longest)
}

/// Comments are often longer than their article. They have no headings, or low ones, such as the name of who wrote them,
/// and unlike those of teasers these are no links.
fn is_followed_by_comments(first: &ArticleElement<'_>, others: &[&ArticleElement<'_>], is_highest: bool) -> bool {
    let are_comments = others.iter().all(|other| other.rank > 2 && !other.is_linked);
    let has_prose = first.prose >= OWN_PROSE_CHARS_MIN && !first.is_linked;
    are_comments && has_prose && (is_highest || first.rank == NO_HEADING)
}

struct ArticleElement<'a> {
    number: usize,
    node: NodeRef<'a>,
    /// The one around it.
    around: Option<usize>,
    /// It stands beside, above or below the main part of the page.
    is_aside: bool,
    /// Visible characters of its prose, with those of inner ones and without.
    prose: usize,
    own_prose: usize,
    /// Of its highest heading.
    rank: u8,
    /// That heading leads elsewhere.
    is_linked: bool,
}

#[derive(Default)]
struct ArticleSurvey<'a> {
    articles: Vec<ArticleElement<'a>>,
    open: Vec<usize>,
    /// Open elements whose text is no prose.
    furniture: usize,
    /// Open elements that stand beside the main part of the page.
    asides: usize,
    /// Visible characters of prose outside of all articles.
    free_prose: usize,
    /// A heading of the page stands before all articles, and is long enough not to be the name of a site.
    has_title: bool,
    /// Articles inside of an article are its updates.
    is_live: bool,
}

impl ArticleSurvey<'_> {
    /// Whether the article is more than the header or a teaser of a text that stands elsewhere.
    fn is_usable(&self, article: &ArticleElement<'_>) -> bool {
        let is_elsewhere = self.free_prose >= PROSE_CHARS_MIN.max(4 * article.prose);
        let is_teaser = article.is_linked && article.rank > 1;
        article.prose > 0 && !(is_elsewhere && (article.prose < OWN_PROSE_CHARS_MIN || is_teaser))
    }

    fn note_heading(&mut self, node: &NodeRef<'_>, rank: u8) {
        let is_before_articles = self.articles.is_empty();
        let Some(article) = self.open.last().and_then(|open| self.articles.get_mut(*open)) else {
            let words = short_text(node, TITLE_CHARS_MAX).map_or(0, |text| text.split_whitespace().count());
            self.has_title |= rank == 1 && is_before_articles && words >= TITLE_WORDS_MIN;
            return;
        };
        if rank < article.rank {
            article.rank = rank;
            let is_link = |node: &NodeRef<'_>| node.has_name("a");
            article.is_linked = node.parent().is_some_and(|above| is_link(&above))
                || node.descendants_it().any(|below| is_link(&below));
        }
    }
}

impl<'a> Visitor<'a> for ArticleSurvey<'a> {
    fn enter(&mut self, node: &NodeRef<'a>) -> bool {
        if node.is_text() {
            if self.furniture == 0 {
                let chars = visible_chars(node);
                match self.open.last() {
                    Some(innermost) => self.articles[*innermost].own_prose += chars,
                    None => self.free_prose += chars,
                }
            }
            return false;
        }
        let Some(element) = node.element_ref() else { return node.is_document() };
        let tag = element.name.local.as_ref();
        if matches!(ElementKind::of(tag), ElementKind::Unseen | ElementKind::Template) || tag == "head" {
            return false;
        }
        self.furniture += usize::from(is_furniture(node, tag));
        self.asides += usize::from(is_aside(tag));
        self.is_live |= is_live(node);
        match tag {
            "article" => {
                let number = self.articles.len();
                let around = self.open.last().copied();
                let is_aside = self.asides > 0;
                self.open.push(number);
                self.articles.push(ArticleElement {
                    number,
                    node: *node,
                    around,
                    is_aside,
                    prose: 0,
                    own_prose: 0,
                    rank: NO_HEADING,
                    is_linked: false,
                });
            }
            "h1" => self.note_heading(node, 1),
            "h2" => self.note_heading(node, 2),
            "h3" => self.note_heading(node, 3),
            "h4" => self.note_heading(node, 4),
            _ => {}
        }
        true
    }

    fn leave(&mut self, node: &NodeRef<'a>) {
        let Some(element) = node.element_ref() else { return };
        let tag = element.name.local.as_ref();
        if matches!(ElementKind::of(tag), ElementKind::Unseen | ElementKind::Template) || tag == "head" {
            return;
        }
        self.furniture -= usize::from(is_furniture(node, tag));
        self.asides -= usize::from(is_aside(tag));
        if tag == "article"
            && let Some(number) = self.open.pop()
        {
            self.articles[number].prose += self.articles[number].own_prose;
            if let Some(around) = self.articles[number].around {
                self.articles[around].prose += self.articles[number].prose;
            }
        }
    }
}

fn is_furniture(node: &NodeRef<'_>, tag: &str) -> bool {
    is_aside(tag)
        || matches!(tag, "a" | "button" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
        || is_invisible(node)
        || is_gallery(node)
}

/// Hidden by its own attributes, as dom_smoothie sees it, which leaves such elements out.
fn is_invisible(node: &NodeRef<'_>) -> bool {
    let hides = |style: &str| {
        let style: String = style.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
        style.split(';').any(|rule| rule.starts_with("display:none") || rule.starts_with("visibility:hidden"))
    };
    with_attribute(node, "hidden", |_| ()).is_some() || with_attribute(node, "style", hides).unwrap_or(false)
}

/// A series of pictures, which tells a story of its own in its captions: `gallery`, `photo-slideshow`.
fn is_gallery(node: &NodeRef<'_>) -> bool {
    let names = |value: &str| {
        let mut words = value.split(|character: char| !character.is_ascii_alphanumeric());
        words.any(|word| ["gallery", "slideshow", "carousel"].iter().any(|name| word.eq_ignore_ascii_case(name)))
    };
    with_attribute(node, "class", names).unwrap_or(false)
}

fn is_aside(tag: &str) -> bool {
    matches!(tag, "nav" | "header" | "footer" | "aside")
}

/// `live-blog`, `liveblog-body`, schema.org's `LiveBlogPosting`.
fn is_live(node: &NodeRef<'_>) -> bool {
    let mentions = |value: &str| {
        let value = value.to_ascii_lowercase();
        value.contains("liveblog") || value.contains("live-blog")
    };
    ["class", "id", "itemtype"].iter().any(|name| with_attribute(node, name, mentions).unwrap_or(false))
}
