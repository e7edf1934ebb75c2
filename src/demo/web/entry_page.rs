//! The pages that entries link to: most have the article, some are slow, broken or gone. What a page is follows from site
//! and number alone.

use super::prose::{Prose, spread};

/// How the page of an entry answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryPage {
    Whole,
    /// As late as [`WebSettings::slow`](super::WebSettings::slow) says.
    Slow,
    /// 500, always.
    Broken,
    /// 410.
    Gone,
}

impl EntryPage {
    pub fn of(site: usize, number: u64) -> EntryPage {
        match spread(site as u64, number ^ 0x9a9e) % 10 {
            0 => EntryPage::Broken,
            1 => EntryPage::Gone,
            2 => EntryPage::Slow,
            _ => EntryPage::Whole,
        }
    }

    /// Whether its article can be read.
    pub fn has_article(self) -> bool {
        matches!(self, EntryPage::Whole | EntryPage::Slow)
    }
}

/// The number of the entry whose page this path within a site is.
pub(super) fn number_in(path: &str) -> Option<u64> {
    let (_, number) = path.rsplit_once("entry/")?;
    let end = number.find(|character: char| !character.is_ascii_digit()).unwrap_or(number.len());
    number[..end].parse().ok()
}

/// The text of the article on the page of an entry, as plain text on one line.
pub(super) fn text(prose: &Prose, site: usize, number: u64) -> String {
    paragraphs(prose, site, number).join(" ")
}

/// The page of an entry.
pub(super) fn html(prose: &Prose, site: usize, number: u64) -> String {
    let title = format!("News {number} from site {site}");
    let article = paragraphs(prose, site, number).join("</p>\n<p>");
    format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{title}</title></head><body>\n\
         <nav><a href=\"/\">Home</a> <a href=\"/about\">About</a></nav>\n\
         <article><h1>{title}</h1>\n<p>{article}</p></article>\n<footer>Site {site}</footer></body></html>\n"
    )
}

fn paragraphs(prose: &Prose, site: usize, number: u64) -> [String; 4] {
    [
        format!(
            "This is the page of entry {number} of site {site}, and it tells all that is known about it, at length."
        ),
        prose.opening(site, number),
        prose.rest(site, number).trim().to_owned() + ".",
        format!("That is how entry {number} of site {site} ends, after everything that its feed has left out."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_entry_is_found_in_its_path_whatever_habits_make_of_it() {
        for (path, number) in [
            ("entry/17", Some(17)),
            ("9/entry/17?utm_source=rss&utm_campaign=2", Some(17)),
            ("feed", None),
            ("entry/", None),
        ] {
            assert_eq!(number_in(path), number, "{path}");
        }
    }

    #[test]
    fn pages_of_every_kind_occur() {
        for kind in [EntryPage::Whole, EntryPage::Slow, EntryPage::Broken, EntryPage::Gone] {
            assert!((0..100).any(|number| EntryPage::of(3, number) == kind), "{kind:?}");
        }
    }
}
