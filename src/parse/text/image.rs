//! The texts of images.

use super::entity;
use super::fold::{Folded, Separator};
use super::token::attributes;

/// Appends the `alt` and `title` of an image, each on a line of its own, and only one of them if they are the same.
pub(super) fn push_texts(image: &str, text: &mut Folded) {
    let value =
        |name: &str| attributes(image).find(|found| found.name.eq_ignore_ascii_case(name)).map(|found| found.value);
    let (alt, title) = (value("alt"), value("title"));
    for words in [alt, title.filter(|title| Some(*title) != alt)].into_iter().flatten() {
        text.separate(Separator::Line);
        entity::decode_into(words, text);
        text.separate(Separator::Line);
    }
}
