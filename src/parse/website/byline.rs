//! Who wrote an article, by a line of the page itself.

use dom_query::NodeRef;

use super::metadata;
use super::walk::{short_text, with_attribute};
use crate::parse::text;

/// What is longer is more than a name.
const LINE_CHARS_MAX: usize = 99;

/// What precedes a name.
const STARTS: [&str; 17] = [
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

/// The name in an element that is marked as the author or as a byline; none if it is not, or holds something else.
pub(super) fn read(node: &NodeRef<'_>) -> Option<String> {
    if !is_marked(node) {
        return None;
    }
    let line = short_text(node, LINE_CHARS_MAX).filter(|line| !line.trim().is_empty())?;
    let is_name =
        |below: &NodeRef<'_>| with_attribute(below, "itemprop", |property| property == "name").unwrap_or(false);
    let name = node.descendants_it().find(is_name).and_then(|name| short_text(&name, LINE_CHARS_MAX));
    name_in(&name.unwrap_or(line))
}

fn is_marked(node: &NodeRef<'_>) -> bool {
    let Some(element) = node.element_ref() else { return false };
    if matches!(element.name.local.as_ref(), "html" | "head" | "body") {
        return false;
    }
    element.attrs.iter().any(|attribute| match attribute.name.local.as_ref() {
        "rel" => &*attribute.value == "author",
        "itemprop" => attribute.value.contains("author"),
        "class" | "id" => names_an_author(attribute.value.as_bytes()),
        _ => false,
    })
}

fn names_an_author(names: &[u8]) -> bool {
    let marks = ["byline", "author", "dateline", "writtenby"];
    let is_at = |start: usize, mark: &&str| {
        names.get(start..start + mark.len()).is_some_and(|found| found.eq_ignore_ascii_case(mark.as_bytes()))
    };
    (0..names.len()).any(|start| marks.iter().any(|mark| is_at(start, mark)))
}

/// "By Ada Lovelace | 16 November" is Ada Lovelace.
fn name_in(text: &str) -> Option<String> {
    let text = text::fold(text);
    let line = text.split(['|', '•', '·', '—', '–']).map(str::trim).find(|part| !part.is_empty())?;
    let lower = line.to_lowercase();
    let start = STARTS.iter().find(|start| lower.starts_with(**start)).map_or(0, |start| start.len());
    // A name has no digits, as dates and numbers of comments have, and is no sentence, as what is said about authors
    // is.
    let is_name = |name: &String| !name.chars().any(char::is_numeric) && !name.ends_with('.') && !has_sentence(name);
    metadata::person(line.get(start..)?).filter(is_name)
}

/// Whether a word of more than an initial or a title ends with a full stop, and more follows.
fn has_sentence(name: &str) -> bool {
    name.split_once(". ")
        .is_some_and(|(before, _)| before.split_whitespace().next_back().is_some_and(|word| word.chars().count() > 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dom_query::Document;
    use rstest::rstest;

    #[rstest]
    #[case::class("<p class=byline>By Ada Lovelace | 16 November</p>", Some("Ada Lovelace"))]
    #[case::link("<a rel=author href=x>Ada</a>", Some("Ada"))]
    #[case::microdata("<div itemprop=author>Posted by <b itemprop=name>Ada</b> today</div>", Some("Ada"))]
    #[case::german("<span class='article-author'>Von Jonas Behrens</span>", Some("Jonas Behrens"))]
    #[case::initials("<span class=author>Dr. J. R. Hale</span>", Some("Dr. J. R. Hale"))]
    #[case::about("<div class=author>Ada Moss Recovering analyst. Bicycles. Follow</div>", None)]
    #[case::number("<span class=author>12 articles</span>", None)]
    #[case::empty("<span class=author> </span>", None)]
    #[case::unmarked("<p>By Ada</p>", None)]
    fn s703_a_byline_gives_a_name(#[case] html: &str, #[case] name: Option<&str>) {
        let document = Document::from(format!("<body>{html}</body>"));
        assert_eq!(read(document.select("body > *").nodes().first().unwrap()).as_deref(), name);
    }
}
