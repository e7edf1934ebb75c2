//! Lists to sources: fit to be polled, shown and written again, however the bytes come.

use std::io::BufReader;

use feedwarden::opml::{BadOutline, Outline, Reader, write};
use feedwarden::parse::text::fold;
use url::Url;

/// What no list may give, however deep and long it is.
const LABELS_MAX: usize = 16;
const LABEL_CHARS_MAX: usize = 100;
const TITLE_CHARS_MAX: usize = 500;

/// Holds the laws against one list.
pub(crate) fn check(input: &[u8]) {
    let Ok(reader) = Reader::new(input) else { return };
    let entries: Vec<Result<Outline, BadOutline>> = reader.collect();
    let lines = input.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    for entry in &entries {
        match entry {
            Ok(outline) => check_outline(outline, lines),
            Err(bad) => {
                assert!((1..=lines).contains(&bad.line), "line {} of {lines}", bad.line);
                assert!(!bad.to_string().contains(char::is_control), "{bad}");
            }
        }
    }
    let piecemeal = Reader::new(BufReader::with_capacity(7, input)).expect("the same bytes");
    assert_eq!(piecemeal.collect::<Vec<_>>(), entries, "how the bytes come changes what they say");

    let outlines: Vec<&Outline> = entries.iter().flatten().collect();
    let mut written = Vec::new();
    write(&mut written, "T", outlines.iter().copied()).expect("a Vec takes every byte");
    let again: Vec<_> = Reader::new(written.as_slice()).expect("a written list is a list").collect();
    assert_eq!(again.len(), outlines.len(), "what was read cannot be written");
    for (again, outline) in again.into_iter().zip(outlines) {
        assert_eq!(again.map(|again| Outline { line: outline.line, ..again }).as_ref(), Ok(outline));
    }
}

fn check_outline(outline: &Outline, lines: u64) {
    let Outline { title, feed_url, site_url, labels, line } = outline;
    assert!((1..=lines).contains(line), "line {line} of {lines}");
    for url in [Some(feed_url), site_url.as_ref()].into_iter().flatten() {
        super::check_link(url);
        assert!(matches!(Url::parse(url).expect("a URL").scheme(), "http" | "https"), "{url}");
    }
    assert!(labels.len() <= LABELS_MAX, "{} labels", labels.len());
    let labels = labels.iter().map(|label| (label, LABEL_CHARS_MAX));
    for (text, chars_max) in labels.chain(title.iter().map(|title| (title, TITLE_CHARS_MAX))) {
        assert!(!text.is_empty() && text.chars().count() <= chars_max, "{text:?}");
        assert_eq!(fold(text), *text, "{text:?} is not folded");
    }
}
