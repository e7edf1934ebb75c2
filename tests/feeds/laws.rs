//! Laws that hold for every document.

use std::fs;

use feedwarden::parse::feed::{Feed, FeedError, Limits, read};
use proptest::prelude::*;

use super::fixtures::{self, BASE_URL};

fn read_bytes(bytes: &[u8]) -> Result<Feed, FeedError> {
    read(bytes, None, Some(BASE_URL), &Limits::default())
}

/// A document and the places where its entries end.
struct Written {
    text: String,
    ends: Vec<usize>,
}

/// Writes a feed of entries with these titles and bodies.
fn write(head: &str, tail: &str, entries: &[(String, String)], entry: impl Fn(usize, &str, &str) -> String) -> Written {
    let mut text = head.to_owned();
    let mut ends = Vec::new();
    for (index, (title, body)) in entries.iter().enumerate() {
        text += &entry(index, title, body);
        ends.push(text.len());
    }
    Written { text: text + tail, ends }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn rss(entries: &[(String, String)]) -> Written {
    let head = r#"<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Größe</title>"#;
    write(head, "</channel></rss>", entries, |index, title, body| {
        let body = body.replace("]]>", "");
        format!(
            r#"<item a="x > y"><title>{}</title><guid isPermaLink="false">{index}</guid><!-- > --><description><![CDATA[{body}</item>]]></description></item>"#,
            escaped(title)
        )
    })
}

fn atom(entries: &[(String, String)]) -> Written {
    let head = r#"<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>日本</title><author><name>Ann</name></author>"#;
    write(head, "</feed>\n", entries, |index, title, body| {
        format!(
            r#"<entry><id>urn:{index}</id><title>{}</title><link href="/{index}"/><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p title='"'>{}</p></div></content></entry>"#,
            escaped(title),
            escaped(body)
        )
    })
}

fn json(entries: &[(String, String)]) -> Written {
    let head = r#"{"version":"https://jsonfeed.org/version/1.1","title":"Größe","items":["#;
    write(head, "]}", entries, |index, title, body| {
        let comma = if index == 0 { "" } else { "," };
        let quoted = |text: &str| serde_json::to_string(text).expect("a text is JSON");
        format!(r#"{comma}{{"id":"{index}","title":{},"content_html":{}}}"#, quoted(title), quoted(body))
    })
}

fn check_cut(written: &Written, part: f64) -> Result<(), TestCaseError> {
    let whole = read_bytes(written.text.as_bytes()).expect("a good feed");
    prop_assert_eq!(whole.entries.len(), written.ends.len());
    let cut = (written.text.len() as f64 * part) as usize;
    let complete = written.ends.iter().filter(|end| **end <= cut).count();
    match read_bytes(&written.text.as_bytes()[..cut]) {
        Ok(feed) => {
            prop_assert_eq!(&feed.entries[..complete], &whole.entries[..complete]);
            // An entry that was cut inside a section and said its id before is kept as far as it goes.
            prop_assert!(feed.entries.len() <= complete + 1);
            if let Some(cut) = feed.entries.get(complete) {
                prop_assert!(cut.id.is_some() && cut.id == whole.entries[complete].id);
            }
        }
        Err(error) => prop_assert!(complete == 0, "{} entries lost at byte {}: {}", complete, cut, error),
    }
    Ok(())
}

/// Removes one end tag of an entry: the entry may suffer, but no other one does.
fn check_missing_end_tag(written: &Written, place: usize) -> Result<(), TestCaseError> {
    let whole = read_bytes(written.text.as_bytes()).expect("a good feed");
    let last_end = written.ends.last().copied().unwrap_or(0);
    let first_start = written.text.find("<item").or_else(|| written.text.find("<entry")).unwrap_or(0);
    let tags: Vec<usize> =
        written.text[first_start..last_end].match_indices("</").map(|(place, _)| place + first_start).collect();
    let start = tags[place % tags.len()];
    let end = start + written.text[start..].find('>').expect("tags end") + 1;
    let damaged = [&written.text[..start], &written.text[end..]].concat();
    let hurt = written.ends.iter().filter(|end| **end <= start).count();
    let read = read_bytes(damaged.as_bytes()).expect("still a feed");
    prop_assert_eq!(read.entries.len(), whole.entries.len(), "without the tag at byte {}", start);
    for (index, (found, expected)) in read.entries.iter().zip(&whole.entries).enumerate() {
        prop_assert!(index == hurt || found == expected, "entry {} suffers from a tag of entry {}", index, hurt);
    }
    Ok(())
}

/// Changes a document a little: bytes replaced, left out, doubled or moved.
fn mutated(bytes: &[u8], changes: &[(u8, usize, usize, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (kind, place, length, byte) in changes {
        if bytes.is_empty() {
            return bytes;
        }
        let start = place % bytes.len();
        let end = (start + length % 40).min(bytes.len());
        match kind % 4 {
            0 => bytes[start] = *byte,
            1 => drop(bytes.drain(start..end)),
            2 => bytes.insert(start, *byte),
            _ => {
                let copy = bytes[start..end].to_vec();
                let place = (usize::from(*byte) * 31) % bytes.len();
                bytes.splice(place..place, copy);
            }
        }
    }
    bytes
}

fn entries() -> impl Strategy<Value = Vec<(String, String)>> {
    proptest::collection::vec(("[a-zé日😀&<>\"' ]{0,20}x", "\\PC{0,40}"), 1..6)
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_bytes(&bytes);
    }

    #[test]
    fn nothing_made_of_feed_like_pieces_makes_the_reader_panic(
        pieces in proptest::collection::vec(
            "<rss>|<channel>|<item>|</item>|<title>|</title>|<feed>|<entry>|</entry>|<link|href=|\"|'|>|/>|<content type='xhtml'>\
            |<div>|</div>|</content>|<!\\[CDATA\\[|\\]\\]>|<!--|-->|&amp;|&#|;|<\\?xml|\\?>|<!DOCTYPE|\\[|xmlns:a='b'|<a:b>|</a:b>\
            |<author>|<name>|</name>|xml:base='x/'|é|\u{feff}|<media:group>|<|>",
            0..60,
        )
    ) {
        let _ = read_bytes(pieces.concat().as_bytes());
    }

    #[test]
    fn a_cut_rss_feed_keeps_every_complete_entry(entries in entries(), part in 0.0..1.0) {
        check_cut(&rss(&entries), part)?;
    }

    #[test]
    fn a_cut_atom_feed_keeps_every_complete_entry(entries in entries(), part in 0.0..1.0) {
        check_cut(&atom(&entries), part)?;
    }

    #[test]
    fn a_cut_json_feed_keeps_every_complete_entry(entries in entries(), part in 0.0..1.0) {
        check_cut(&json(&entries), part)?;
    }

    #[test]
    fn a_forgotten_end_tag_in_rss_hurts_no_other_entry(entries in entries(), place in any::<usize>()) {
        check_missing_end_tag(&rss(&entries), place)?;
    }

    #[test]
    fn a_forgotten_end_tag_in_atom_hurts_no_other_entry(entries in entries(), place in any::<usize>()) {
        check_missing_end_tag(&atom(&entries), place)?;
    }

    #[test]
    fn no_change_to_a_fixture_makes_the_reader_panic(
        index in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<u8>(), any::<usize>(), any::<usize>(), any::<u8>()), 1..12)
    ) {
        let all = fixtures::all();
        let bytes = fs::read(index.get(&all)).expect("fixtures can be read");
        let _ = read_bytes(&mutated(&bytes, &changes));
    }
}

#[test]
fn every_fixture_survives_every_cut() {
    for path in fixtures::all() {
        let bytes = fs::read(&path).expect("fixtures can be read");
        let entries = read_bytes(&bytes).map(|feed| feed.entries.len()).unwrap_or(0);
        for cut in (0..bytes.len()).step_by(7) {
            let kept = read_bytes(&bytes[..cut]).map(|feed| feed.entries.len()).unwrap_or(0);
            assert!(kept <= entries, "{} cut at byte {cut} has {kept} entries", path.display());
        }
    }
}

/// Leaves out each markup character in turn: only the entry it belongs to and the one after it may suffer.
fn check_lost_characters(written: &Written) {
    let whole = read_bytes(written.text.as_bytes()).expect("a good feed");
    for (place, character) in written.text.char_indices().filter(|(_, character)| "<>/\"'=[]!-;".contains(*character)) {
        let hurt = written.ends.iter().filter(|end| **end <= place).count();
        let damaged = [&written.text[..place], &written.text[place + character.len_utf8()..]].concat();
        let entries = read_bytes(damaged.as_bytes()).map(|feed| feed.entries).unwrap_or_default();
        let first = written.text.find("<item").or_else(|| written.text.find("<entry")).unwrap_or(0);
        for (index, entry) in whole.entries.iter().enumerate() {
            let may_suffer = place < first || index == hurt || index == hurt + 1;
            assert!(
                may_suffer || entries.contains(entry),
                "entry {index} is lost without the {character:?} at byte {place} (entry {hurt})"
            );
        }
    }
}

#[test]
fn a_lost_character_hurts_no_entry_but_its_own_and_the_next() {
    let entries: Vec<(String, String)> = (0..6)
        .map(|number| (format!("Title & <{number}>"), format!("<p>Body \"{number}\"</p><a href='x'>y</a>")))
        .collect();
    check_lost_characters(&rss(&entries));
    check_lost_characters(&atom(&entries));
}
