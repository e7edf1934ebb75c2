//! The opening post of a forum's thread. Every reply looks like it, so it is known by the software that made the page.

use dom_query::{Document, Element, NodeRef};

use super::walk::{short_text, with_attribute};

/// How an element is known.
#[derive(Clone, Copy)]
enum Mark {
    Class(&'static str),
    IdStart(&'static str),
    Attribute(&'static str, &'static str),
}

use Mark::{Attribute, Class, IdStart};

/// What holds the text of a post, and what stands around it.
const POSTS: [(Mark, Option<Mark>); 13] = [
    // Discourse, for readers without scripts and with them.
    (Class("post"), Some(Class("crawler-post"))),
    (Class("cooked"), Some(Class("topic-body"))),
    // phpBB, vBulletin.
    (Class("content"), Some(Class("postbody"))),
    (IdStart("post_message_"), None),
    // XenForo 2 and 1.
    (Class("bbWrapper"), Some(Class("message--post"))),
    (Class("messageText"), Some(Class("message"))),
    // MyBB, SMF, Flarum, NodeBB.
    (Class("post_body"), Some(IdStart("post_"))),
    (IdStart("msg_"), Some(Class("post"))),
    (Class("Post-body"), Some(Class("CommentPost"))),
    (Attribute("component", "post/content"), None),
    // Issues of GitHub, Hacker News, Reddit.
    (Class("js-comment-body"), Some(Class("timeline-comment"))),
    (Class("toptext"), Some(Class("fatitem"))),
    (Class("usertext-body"), Some(Class("expando"))),
];

/// The text of the first post, if the page is a thread of a known forum.
pub(super) fn opening_post(document: &Document) -> Option<NodeRef<'_>> {
    let is_post = |node: &NodeRef<'_>| {
        let has_marks = |element: &Element| {
            let marks = ["class", "id", "component"];
            element.attrs.iter().any(|attribute| marks.contains(&&*attribute.name.local))
        };
        if !node.element_ref().is_some_and(|element| has_marks(&element)) {
            return false;
        }
        let fits = |(mark, around): &(Mark, Option<Mark>)| {
            mark.is_on(node) && around.is_none_or(|around| node.ancestors_it(None).any(|above| around.is_on(&above)))
        };
        POSTS.iter().any(fits)
    };
    let has_text = |node: &NodeRef<'_>| short_text(node, 0).is_none();
    document.root().descendants_it().find(|node| is_post(node) && has_text(node))
}

impl Mark {
    fn is_on(self, node: &NodeRef<'_>) -> bool {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_on = match self {
            Class(name) => {
                with_attribute(node, "class", |class| class.split_ascii_whitespace().any(|word| word == name))
            }
            IdStart(start) => with_attribute(node, "id", |id| id.strip_prefix(start).is_some_and(is_number)),
            Attribute(name, value) => with_attribute(node, name, |found| found == value),
        };
        is_on.unwrap_or(false)
    }
}
