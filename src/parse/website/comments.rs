//! Takes the comments out of a page, so that neither the search for the article nor its text depends on them (s701,
//! s702).
//!
//! Comments are known by the names of their elements (`names`), else by the heading above them. What also holds the
//! article stays, whatever it is called.

use dom_query::{Document, NodeRef};

use super::comment_headings;
use super::names::{self, Claim};
use super::phrases::{self, CommentHeading};
use super::walk::{Visitor, short_text, visible_chars, walk, with_attribute};
use crate::parse::text::ElementKind;

/// Less text than this outside of the comments is no article.
pub(super) const PROSE_CHARS_MIN: usize = 20;
/// A heading or a link that only counts comments is shorter.
const LINE_CHARS_MAX: usize = 100;
/// What a wrapper must hold beside comments to be one.
const WRAPPED_CHARS_MIN: usize = 140;

/// Removes all comments, the forms for writing them, and the numbers that count them.
pub(super) fn remove(document: &Document) {
    let mut search = Search::default();
    walk(document.root(), &mut search);
    let removed = search.sections();
    let is_inside = |place: usize| {
        let before = removed.partition_point(|section| section.first <= place);
        before.checked_sub(1).is_some_and(|last| removed[last].holds(place))
    };
    for counter in search.counters.iter().filter(|(place, _)| !is_inside(*place)) {
        counter.1.remove_from_parent();
    }
    for section in &removed {
        section.node.remove_from_parent();
    }
    let headings = search.headings.iter().filter(|heading| !is_inside(heading.place));
    comment_headings::remove_below(headings.map(|heading| (heading.node, heading.heading)));
    for (place, node) in &search.innocents {
        if !is_inside(*place) {
            rename(node);
        }
    }
}

/// What was met up to a place in the page.
#[derive(Clone, Copy, Default)]
struct PageCounts {
    /// Visible characters outside of links, headings, navigation and the like.
    prose: usize,
    /// `<h1>` that is no heading of comments.
    titles: usize,
    /// `<article>` without a name of comments.
    articles: usize,
    /// Elements with a date or an author, or with input fields.
    marks: usize,
    headings: usize,
}

/// An element whose names say that it holds comments.
#[derive(Clone, Copy)]
struct Suspect<'a> {
    node: NodeRef<'a>,
    claim: Claim,
    /// Its place in the walk, and that of the last node in it.
    first: usize,
    last: usize,
    /// What was met before its end; until that is reached, before its beginning.
    counts: PageCounts,
}

impl Suspect<'_> {
    fn holds(&self, place: usize) -> bool {
        (self.first..=self.last).contains(&place)
    }
}

struct FoundHeading<'a> {
    place: usize,
    node: NodeRef<'a>,
    heading: CommentHeading,
}

#[derive(Default)]
struct Search<'a> {
    place: usize,
    counts: PageCounts,
    /// Open elements whose text is no prose.
    furniture: usize,
    /// Open elements that quote code, in which names are those of the code.
    code: usize,
    suspects: Vec<Suspect<'a>>,
    open: Vec<usize>,
    headings: Vec<FoundHeading<'a>>,
    counters: Vec<(usize, NodeRef<'a>)>,
    innocents: Vec<(usize, NodeRef<'a>)>,
}

impl<'a> Visitor<'a> for Search<'a> {
    fn enter(&mut self, node: &NodeRef<'a>) -> bool {
        self.place += 1;
        if node.is_text() {
            if self.furniture == 0 {
                self.counts.prose += visible_chars(node);
            }
            return false;
        }
        let Some(element) = node.element_ref() else { return node.is_document() };
        let tag = element.name.local.as_ref();
        if matches!(ElementKind::of(tag), ElementKind::Unseen | ElementKind::Template) || tag == "head" {
            return false;
        }
        if is_code(tag) {
            self.code += 1;
        }
        if is_furniture(tag) {
            self.furniture += 1;
        }
        let claim = if self.code == 0 { names::claim(node) } else { None };
        self.note(node, tag, claim);
        true
    }

    fn leave(&mut self, node: &NodeRef<'a>) {
        if let Some(&open) = self.open.last()
            && self.suspects[open].node.id == node.id
        {
            self.open.pop();
            let suspect = &mut self.suspects[open];
            suspect.last = self.place;
            suspect.counts = self.counts.since(suspect.counts);
        }
        let Some(element) = node.element_ref() else { return };
        let tag = element.name.local.as_ref();
        if matches!(ElementKind::of(tag), ElementKind::Unseen | ElementKind::Template) || tag == "head" {
            return;
        }
        if is_code(tag) {
            self.code -= 1;
        }
        if is_furniture(tag) {
            self.furniture -= 1;
        }
    }
}

impl<'a> Search<'a> {
    fn note(&mut self, node: &NodeRef<'a>, tag: &str, claim: Option<Claim>) {
        match claim {
            Some(Claim::Innocent) => self.innocents.push((self.place, *node)),
            Some(claim) if can_hold_comments(tag) => {
                let counts = self.counts;
                self.open.push(self.suspects.len());
                self.suspects.push(Suspect { node: *node, claim, first: self.place, last: self.place, counts });
            }
            _ => {}
        }
        match tag {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "summary" | "legend" => self.note_heading(node, tag),
            "article" if claim != Some(Claim::Certain) => self.counts.articles += 1,
            "time" | "textarea" => self.counts.marks += 1,
            "a" | "span" | "small" | "b" | "strong" | "p" | "em" | "i" => self.note_counter(node, tag, claim),
            _ => {}
        }
        let is_doubtful = self.open.iter().any(|open| self.suspects[*open].claim == Claim::Likely);
        if is_doubtful && with_attribute(node, "class", is_mark).unwrap_or(false) {
            self.counts.marks += 1;
        }
    }

    fn note_heading(&mut self, node: &NodeRef<'a>, tag: &str) {
        let heading = short_text(node, LINE_CHARS_MAX).and_then(|text| phrases::comment_heading(&text));
        match heading {
            Some(heading) => {
                self.counts.headings += 1;
                self.headings.push(FoundHeading { place: self.place, node: *node, heading });
            }
            None if tag == "h1" => self.counts.titles += 1,
            None => {}
        }
    }

    /// "12 comments" in the line above an article changes with every comment.
    fn note_counter(&mut self, node: &NodeRef<'a>, tag: &str, claim: Option<Claim>) {
        let is_link = || tag == "a" && with_attribute(node, "href", names::leads_to_comments).unwrap_or(false);
        if claim != Some(Claim::Certain) && !is_link() {
            return;
        }
        let is_counter = |text: String| {
            let is_number = || text.chars().all(|character| !character.is_alphabetic());
            phrases::comment_heading(&text).is_some() || is_number()
        };
        if short_text(node, LINE_CHARS_MAX).is_some_and(is_counter) {
            self.counters.push((self.place, *node));
        }
    }

    /// The outermost elements that hold comments and nothing else.
    fn sections(&mut self) -> Vec<Suspect<'a>> {
        let mut free = self.counts;
        let mut end = 0;
        for suspect in self.suspects.iter().filter(|suspect| suspect.claim == Claim::Certain) {
            if suspect.first > end {
                end = suspect.last;
                free = free.since(suspect.counts);
            }
        }
        let mut sections: Vec<Suspect<'a>> = Vec::new();
        for (number, suspect) in self.suspects.iter().enumerate() {
            if sections.last().is_some_and(|section| section.holds(suspect.first)) {
                continue;
            }
            if self.is_wrapper(number, free) {
                self.innocents.push((suspect.first, suspect.node));
            } else if suspect.claim == Claim::Certain || holds_contributions(suspect, free) {
                sections.push(*suspect);
            }
        }
        sections
    }

    /// Whether the article is in there as well. `free` is what stands outside of all comments.
    fn is_wrapper(&self, number: usize, free: PageCounts) -> bool {
        let suspect = &self.suspects[number];
        let is_all = free.prose < PROSE_CHARS_MIN && free.articles == 0;
        let mut inner = 0;
        let mut end = suspect.first;
        for below in self.suspects[number + 1..].iter().take_while(|below| suspect.holds(below.first)) {
            if below.first > end && below.claim == Claim::Certain {
                end = below.last;
                inner += below.counts.prose;
            }
        }
        let own_prose = suspect.counts.prose.saturating_sub(inner);
        let holds_article = suspect.counts.articles > 0 && free.articles == 0 && end > suspect.first;
        suspect.counts.titles > 0 || is_all || holds_article && own_prose >= WRAPPED_CHARS_MIN.max(free.prose)
    }
}

impl PageCounts {
    fn since(self, before: PageCounts) -> PageCounts {
        PageCounts {
            prose: self.prose - before.prose,
            titles: self.titles - before.titles,
            articles: self.articles - before.articles,
            marks: self.marks - before.marks,
            headings: self.headings - before.headings,
        }
    }
}

/// A chapter called "Discussion" is made of paragraphs, a discussion of contributions.
fn holds_contributions(suspect: &Suspect<'_>, free: PageCounts) -> bool {
    let PageCounts { marks, headings, articles, .. } = suspect.counts;
    let has_paragraphs = suspect.node.children_it(false).any(|child| child.has_name("p") || child.has_name("pre"));
    // An `<article>` called "reply" is counted itself.
    let holds_articles = articles > 0 && free.articles > articles;
    !has_paragraphs && (marks > 0 || headings > 0 || holds_articles)
}

fn can_hold_comments(tag: &str) -> bool {
    let containers = [
        "div",
        "section",
        "article",
        "aside",
        "ol",
        "ul",
        "li",
        "dl",
        "dt",
        "dd",
        "table",
        "details",
        "footer",
        "form",
        "fieldset",
        "iframe",
        "p",
        "blockquote",
    ];
    containers.contains(&tag) || tag.contains('-')
}

fn is_code(tag: &str) -> bool {
    matches!(tag, "pre" | "code")
}

fn is_furniture(tag: &str) -> bool {
    matches!(tag, "a" | "nav" | "header" | "footer" | "aside" | "button" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

fn is_mark(class: &str) -> bool {
    let marks = ["author", "avatar", "username", "vcard"];
    let mut words = class.split(|character: char| !character.is_ascii_alphanumeric());
    words.any(|word| marks.iter().any(|mark| word.eq_ignore_ascii_case(mark)))
}

/// dom_smoothie drops whatever has "comment" in its name.
fn rename(node: &NodeRef<'_>) {
    for attribute in ["class", "id"] {
        let renamed = with_attribute(node, attribute, |value| value.to_ascii_lowercase().replace("comment", "words"));
        if let Some(renamed) = renamed {
            node.set_attr(attribute, &renamed);
        }
    }
}
