//! Whether the names that an element carries say that it holds comments: its classes, its id, what tests and microdata
//! call it, what it is called for screen readers.
//!
//! A name is taken word by word (`name_words`), so that `commentary` is no comment.

use dom_query::NodeRef;

use super::name_words::{is_comment, is_foreign_singular, is_innocent, is_kind, is_likely, is_state};
use super::phrases;

/// What the names of an element say about comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    /// The letters are there, but they mean something else: `commentary`, `has-comments`.
    Innocent,
    /// It may hold comments, or be a chapter called "Discussion".
    Likely,
    /// It holds comments, one or all of them.
    Certain,
}

/// Words of names are shorter. What is longer is made by a machine, and its end does not matter.
const WORD_BYTES_MAX: usize = 32;
/// Where pages write names, beside `class`.
const NAME_ATTRIBUTES: [&str; 8] =
    ["id", "data-testid", "data-component", "data-area", "data-module", "data-qa", "data-name", "slot"];

/// What the names of this element claim; nothing if they do not mention comments.
pub(super) fn claim(node: &NodeRef<'_>) -> Option<Claim> {
    let element = node.element_ref()?;
    let tag: &str = element.name.local.as_ref();
    let mut claim = if tag.contains('-') { claim_of_name(tag, false) } else { None };
    let is_item = tag == "li";
    for attribute in &element.attrs {
        let value = attribute.value.trim();
        let found = match attribute.name.local.as_ref() {
            "class" => value.split_ascii_whitespace().filter_map(|name| claim_of_name(name, is_item)).max(),
            "itemprop" => value.split_ascii_whitespace().any(|word| word == "comment").then_some(Claim::Certain),
            "itemtype" => (value.ends_with("/Comment") || value.ends_with("/UserComments")).then_some(Claim::Certain),
            "role" => (value == "comment").then_some(Claim::Certain),
            "aria-label" => phrases::comment_heading(value).map(|heading| match heading.is_certain {
                true => Claim::Certain,
                false => Claim::Likely,
            }),
            name if NAME_ATTRIBUTES.contains(&name) => claim_of_name(value, is_item),
            _ => None,
        };
        claim = claim.max(found);
    }
    claim
}

/// Whether a link leads to the comments of a page: `#comments`, `/news/1#respond`, `#disqus_thread`.
pub(super) fn leads_to_comments(href: &str) -> bool {
    let fragment = href.rsplit_once('#').map(|(_, fragment)| fragment);
    fragment.is_some_and(|fragment| claim_of_name(fragment, false) > Some(Claim::Innocent))
}

/// A foreign singular is enough on an item of a list, or beside another word such as the number of the comment.
fn claim_of_name(name: &str, is_item: bool) -> Option<Claim> {
    let (mut claim, mut count) = (None, 0);
    let (mut tells_state, mut tells_kind, mut is_foreign) = (false, false, false);
    for word in words(name) {
        let mut lower = [0; WORD_BYTES_MAX];
        let word = lower_case(word, &mut lower);
        count += 1;
        tells_state |= is_state(word);
        tells_kind |= is_kind(word);
        is_foreign |= is_foreign_singular(word);
        claim = claim.max(claim_of_word(word));
    }
    if is_foreign && (is_item || count > 1 && !tells_kind) {
        claim = Some(Claim::Certain);
    }
    match claim {
        Some(Claim::Certain) if tells_state => Some(Claim::Innocent),
        claim => claim,
    }
}

fn claim_of_word(word: &str) -> Option<Claim> {
    if is_innocent(word) {
        Some(Claim::Innocent)
    } else if is_comment(word) && !is_foreign_singular(word) {
        Some(Claim::Certain)
    } else {
        is_likely(word).then_some(Claim::Likely)
    }
}

/// The beginning of a word in lower case, as far as it is ASCII.
fn lower_case<'a>(word: &str, buffer: &'a mut [u8; WORD_BYTES_MAX]) -> &'a str {
    let end = (0..=word.len().min(WORD_BYTES_MAX)).rev().find(|end| word.is_char_boundary(*end)).unwrap_or(0);
    let lower = &mut buffer[..end];
    lower.copy_from_slice(&word.as_bytes()[..end]);
    lower.make_ascii_lowercase();
    std::str::from_utf8(lower).unwrap_or_default()
}

/// The words of a name: parted by anything but letters and digits, and where a capital follows a small letter.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|character: char| !character.is_alphanumeric());
        let mut is_behind_small = false;
        let end = rest.char_indices().find(|(_, character)| {
            let is_end = !character.is_alphanumeric() || is_behind_small && character.is_uppercase();
            is_behind_small = character.is_lowercase();
            is_end
        });
        let (word, behind) = rest.split_at(end.map_or(rest.len(), |(place, _)| place));
        rest = behind;
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dom_query::Document;
    use rstest::rstest;

    fn claim_in(tag: &str) -> Option<Claim> {
        let document = Document::from(format!("<body><{tag}>x</body>"));
        let node = document.select("body > *");
        claim(node.nodes().first().unwrap())
    }

    #[rstest]
    #[case("div id=comments")]
    #[case("div class='entry comments-area'")]
    #[case("ol class=commentlist")]
    #[case("section class=article-comments")]
    #[case("ul id=commentlisting")]
    #[case("div class=CommentsSection")]
    #[case("div class=c-comments__item")]
    #[case("div id=disqus_thread")]
    #[case("section id=isso-thread")]
    #[case("div class=fb-comments")]
    #[case("section class=leserkommentare")]
    #[case("div class=kommentar-liste")]
    #[case("div id=kommentar-17")]
    #[case("li class=commentaire")]
    #[case("div class=caja-comentarios")]
    #[case("li class='u-comment h-cite'")]
    #[case("div itemprop=comment")]
    #[case("div itemtype='https://schema.org/Comment'")]
    #[case("div role=comment")]
    #[case("section aria-label='12 Comments'")]
    #[case("div data-testid=comments-section")]
    #[case("shreddit-comment-tree")]
    fn s701_comments_are_known_by_name(#[case] tag: &str) {
        assert_eq!(claim_in(tag), Some(Claim::Certain), "{tag}");
    }

    #[rstest]
    #[case("div class=commentary", Some(Claim::Innocent))]
    #[case("div class=commentator", Some(Claim::Innocent))]
    #[case("div class=has-comments", Some(Claim::Innocent))]
    #[case("div id=comments-open", Some(Claim::Innocent))]
    #[case("article class=tone-comment", Some(Claim::Innocent))]
    #[case("article class='category-comments'", Some(Claim::Innocent))]
    #[case("article class=kommentar", None)]
    #[case("article class=artikel-kommentar", None)]
    #[case("div class=recommended", None)]
    #[case("section id=discussion", Some(Claim::Likely))]
    #[case("article class='h-entry reply'", Some(Claim::Likely))]
    #[case("div class=commit-list", None)]
    #[case("p", None)]
    fn s701_other_names_are_not(#[case] tag: &str, #[case] expected: Option<Claim>) {
        assert_eq!(claim_in(tag), expected, "{tag}");
    }

    #[test]
    fn a_link_to_the_comments_is_known_by_its_fragment() {
        assert!(
            leads_to_comments("#comments") && leads_to_comments("/a#respond") && leads_to_comments("#disqus_thread")
        );
        assert!(!leads_to_comments("/comments") && !leads_to_comments("#commentary") && !leads_to_comments("#top"));
    }
}
