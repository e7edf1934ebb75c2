//! What changed between two texts, word by word, for two columns.

use std::time::{Duration, Instant};

use maud::{Markup, html};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// Longer texts are shown without marks.
const WORDS_MAX: usize = 5_000;
/// After this time the rest of the texts counts as replaced.
const TIME_MAX: Duration = Duration::from_millis(200);

/// Two texts as columns: removed words are marked in the first, added ones in the second.
pub(super) struct Sides {
    pub(super) left: Markup,
    pub(super) right: Markup,
    /// Whether the differences are marked; texts that are too long are shown plain.
    pub(super) is_marked: bool,
}

pub(super) fn sides(left: &str, right: &str) -> Sides {
    let (old, new) = (words(left), words(right));
    let (Some(old), Some(new)) = (old, new) else {
        return Sides { left: html! { (left) }, right: html! { (right) }, is_marked: false };
    };
    #[expect(clippy::disallowed_methods, reason = "a bound of the work, not a time that anybody sees")]
    let deadline = Instant::now() + TIME_MAX;
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline));
    let is_same = |operation: &DiffOp| matches!(operation, DiffOp::Equal { .. });
    Sides {
        left: html! {
            @for operation in &operations {
                @let text = old.get(operation.old_range()).unwrap_or_default().concat();
                @if is_same(operation) { (text) } @else if !text.is_empty() { del { (text) } }
            }
        },
        right: html! {
            @for operation in &operations {
                @let text = new.get(operation.new_range()).unwrap_or_default().concat();
                @if is_same(operation) { (text) } @else if !text.is_empty() { ins { (text) } }
            }
        },
        is_marked: true,
    }
}

/// The words of a text and the white space between them; none if there are too many.
fn words(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if parts.len() == 2 * WORDS_MAX {
            return None;
        }
        let is_space = first.is_whitespace();
        let end = rest.find(|character: char| character.is_whitespace() != is_space).unwrap_or(rest.len());
        let (part, next) = rest.split_at(end);
        parts.push(part);
        rest = next;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Stopwatch;

    #[test]
    fn words_that_differ_are_marked_and_escaped() {
        let sides = sides("one two <b>three", "one 2 <b>three four");
        assert_eq!(sides.left.into_string(), "one <del>two</del> &lt;b&gt;three");
        assert_eq!(sides.right.into_string(), "one <ins>2</ins> &lt;b&gt;three<ins> four</ins>");
    }

    #[test]
    fn every_word_is_shown_once() {
        for text in ["", " ", " a\n b  c ", "\u{a0}\u{2003}x"] {
            assert_eq!(words(text).unwrap().concat(), text);
            let sides = sides(text, "");
            assert_eq!(sides.right.into_string(), "");
            assert!(sides.is_marked);
        }
    }

    #[test]
    fn texts_that_are_too_long_are_shown_without_marks() {
        let long = "word ".repeat(WORDS_MAX + 1);
        assert!(!sides(&long, "x").is_marked);
        let (old, new) = ("a ".repeat(WORDS_MAX), "b ".repeat(WORDS_MAX));
        let began = Stopwatch::start();
        assert!(sides(&old, &new).is_marked);
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}
