//! One walk over a page that notes where everything is that is said about it, so that nothing else has to search.

use dom_query::{Document, NodeRef};

use super::byline;

/// The elements that speak about a page, in order.
#[derive(Default)]
pub(super) struct Survey<'a> {
    /// `<meta>`.
    pub(super) metas: Vec<NodeRef<'a>>,
    /// `<link>`.
    pub(super) links: Vec<NodeRef<'a>>,
    /// `<title>`, of the page and of its pictures.
    pub(super) titles: Vec<NodeRef<'a>>,
    /// `<h1>`.
    pub(super) headings: Vec<NodeRef<'a>>,
    /// `<time>`.
    pub(super) times: Vec<NodeRef<'a>>,
    /// Anything marked as the date of publication.
    pub(super) dates: Vec<NodeRef<'a>>,
    /// `<script>` with linked data.
    pub(super) descriptions: Vec<NodeRef<'a>>,
    /// `<noscript>`.
    pub(super) noscripts: Vec<NodeRef<'a>>,
    /// The first name in an element that is marked as the author.
    pub(super) byline: Option<String>,
    /// Whether there is a field for a password.
    pub(super) asks_for_password: bool,
}

impl<'a> Survey<'a> {
    /// Walks over the page.
    pub(super) fn of(document: &'a Document) -> Survey<'a> {
        let mut survey = Survey::default();
        for node in document.root().descendants_it() {
            survey.note(node);
        }
        survey
    }

    fn note(&mut self, node: NodeRef<'a>) {
        let Some(element) = node.element_ref() else { return };
        if self.byline.is_none() {
            self.byline = byline::read(&node);
        }
        let value = |name: &str| {
            let attribute = element.attrs.iter().find(|attribute| &*attribute.name.local == name);
            attribute.map(|attribute| attribute.value.as_ref())
        };
        let has_class =
            |name: &str| value("class").is_some_and(|class| class.split_ascii_whitespace().any(|word| word == name));
        match element.name.local.as_ref() {
            "meta" => return self.metas.push(node),
            "link" => self.links.push(node),
            "title" => self.titles.push(node),
            "h1" => self.headings.push(node),
            "noscript" => self.noscripts.push(node),
            "script" if value("type") == Some("application/ld+json") => self.descriptions.push(node),
            "input" if value("type") == Some("password") => self.asks_for_password = true,
            "time" => {
                self.times.push(node);
                if value("pubdate").is_some() || has_class("published") || has_class("entry-date") {
                    self.dates.push(node);
                }
            }
            _ => {}
        }
        if value("itemprop") == Some("datePublished") || has_class("dt-published") {
            self.dates.push(node);
        }
    }
}
