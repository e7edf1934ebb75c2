//! Where the article of a page is, and whether something stands before it.

use dom_query::{Document, NodeRef};
use dom_smoothie::{Config, Readability};

use super::blocks::{self, Block};
use super::{PageError, boilerplate, metadata};
use crate::parse::text;

/// Less than this is a wall, if the page looks like one.
const WALL_CHARS_MAX: usize = 600;
/// Less than this is nothing.
const TEXT_CHARS_MIN: usize = 10;
/// Longer headings are cut before the tree is read: they are compared with every heading of the page.
const TITLE_BYTES_MAX: usize = 1000;

/// A page has one main heading, or a few.
const HEADINGS_MAX: usize = 10;

/// The article.
pub(super) struct Found {
    /// By the page's `<title>` or headings.
    pub(super) title: Option<String>,
    /// By what stands near the article.
    pub(super) byline: Option<String>,
    /// Folded.
    pub(super) text: String,
}

/// The article as dom_smoothie sees it, without what is left around it.
pub(super) fn find(document: Document, author: Option<&str>) -> Option<Found> {
    // What a page says to browsers without scripts is not its article.
    document.select("noscript").remove();
    shorten_titles(&document);
    let headings: Vec<String> =
        document.select("h1").iter().take(HEADINGS_MAX).map(|heading| text::fold(&heading.text())).collect();
    // JSON-LD is read by us, and classes are needed to know captions.
    let config = Config { keep_classes: true, disable_json_ld: true, ..Config::default() };
    let mut readability = Readability::with_document(document, None, Some(config)).ok()?;
    let article = readability.parse().ok()?;
    let root = readability.doc.select_single("#readability-page-1");
    let text = text_of(root.nodes().first()?, author)?;
    let title = Some(article.title).filter(|title| !title.trim().is_empty());
    let title = title.map(|title| heading_in(&title, &headings).unwrap_or(title));
    Some(Found { title, byline: article.byline.as_deref().and_then(byline), text })
}

/// The `<article>` with the most text, else the block with the most text of its own.
pub(super) fn largest(document: &Document) -> Option<Found> {
    let found = |nodes: &[NodeRef<'_>]| {
        let texts = nodes.iter().filter_map(|node| text_of(node, None));
        texts.max_by_key(String::len).map(|text| Found { title: None, byline: None, text })
    };
    found(document.select("article").nodes()).or_else(|| {
        let children_text = |node: &&NodeRef<'_>| -> usize {
            let own = node.children_it(false).filter(|child| child.is_text() || child.has_name("p"));
            own.map(|child| child.normalized_char_count()).sum()
        };
        let nodes = document.select("main, section, div, td, body");
        let best = nodes.nodes().iter().max_by_key(children_text)?;
        found(&[*best])
    })
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

fn text_of(node: &NodeRef<'_>, author: Option<&str>) -> Option<String> {
    let blocks = boilerplate::without(blocks::cut(*node), author);
    let text = blocks.iter().map(|Block { text, .. }| text.as_str()).collect::<Vec<_>>().join(" ");
    (visible_chars(&text) >= TEXT_CHARS_MIN).then_some(text)
}

fn visible_chars(text: &str) -> usize {
    text.chars().filter(|character| character.is_alphanumeric()).count()
}

/// "By Ada Lovelace | 16 November" is Ada Lovelace.
fn byline(text: &str) -> Option<String> {
    let line = text.split(['|', '•', '·', '\n', '—', '–']).map(str::trim).find(|part| !part.is_empty())?;
    let starts = [
        "by ",
        "von ",
        "par ",
        "por ",
        "di ",
        "door ",
        "av ",
        "автор: ",
        "автор ",
        "written by ",
        "posted by ",
        "text: ",
        "文/",
        "記者 ",
        "记者 ",
        "بقلم: ",
        "بقلم ",
    ];
    let lower = line.to_lowercase();
    let start = starts.iter().find(|start| lower.starts_with(**start)).map_or(0, |start| start.len());
    // A name has no digits; a date or a number of comments does.
    metadata::person(line.get(start..)?).filter(|name| !name.chars().any(char::is_numeric))
}

/// Quadratic otherwise: a heading of a megabyte would be compared with each of a hundred thousand others.
fn shorten_titles(document: &Document) {
    for title in document.select("title").nodes() {
        let text = title.text();
        if text.len() > TITLE_BYTES_MAX {
            title.set_text(text.chars().take(TITLE_BYTES_MAX / 4).collect::<String>());
        }
    }
    for meta in document.select("meta[content]").nodes() {
        let content = meta.attr_or("content", "");
        if content.len() > 4 * TITLE_BYTES_MAX {
            meta.set_attr("content", &content.chars().take(TITLE_BYTES_MAX / 4).collect::<String>());
        }
    }
}

/// What can stand between a reader and an article.
pub(super) struct Walls {
    asks_for_password: bool,
    asks_for_scripts: bool,
}

impl Walls {
    /// Looks for walls.
    pub(super) fn of(document: &Document) -> Walls {
        let noscript = document.select("body noscript").text().to_lowercase();
        Walls {
            asks_for_password: document.select("input[type='password']").exists(),
            asks_for_scripts: SCRIPT_WORDS.iter().any(|word| noscript.contains(word)),
        }
    }

    /// Whether this text is the wall and not the article.
    pub(super) fn hide(&self, text: &str) -> bool {
        visible_chars(text) < WALL_CHARS_MAX && (self.asks_for_password || is_challenge(text))
    }

    /// The likeliest reason why there is no text.
    pub(super) fn error(&self) -> PageError {
        if self.asks_for_password {
            PageError::LoginRequired
        } else if self.asks_for_scripts {
            PageError::ScriptRequired
        } else {
            PageError::NoText
        }
    }
}

const SCRIPT_WORDS: [&str; 2] = ["javascript", "java script"];

/// The words of pages that check the browser instead of answering.
fn is_challenge(text: &str) -> bool {
    let text = text.to_lowercase();
    let checks = [
        "enable javascript and cookies to continue",
        "checking your browser",
        "checking if the site connection is secure",
        "verify you are human",
        "verifying you are human",
        "please enable javascript",
        "you need to enable javascript",
        "enable js and disable any ad blocker",
        "javascript is disabled",
        "requires javascript",
    ];
    checks.iter().any(|check| text.contains(check))
}
