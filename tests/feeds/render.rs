//! Feeds as text, for people to review.

use std::fmt::Write;

use feedwarden::parse::feed::{Feed, FeedError, Text, TextKind};

use super::fixtures::BASE_URL;

/// Writes down everything that was read.
pub(super) fn render(outcome: &Result<Feed, FeedError>) -> String {
    let feed = match outcome {
        Ok(feed) => feed,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut out = format!("{} in {}\n", feed.format, feed.charset);
    line(&mut out, "title", feed.title.as_ref().map(text));
    line(&mut out, "link", feed.link.as_deref());
    line(&mut out, "language", feed.language.as_deref());
    line(&mut out, "next archive", feed.next_archive.as_deref());
    line(&mut out, "update period in minutes", feed.update_period_minutes);
    line(&mut out, "skip hours", bits(feed.skip_hours));
    line(&mut out, "skip days", bits(u32::from(feed.skip_days)));
    for note in &feed.notes {
        line(&mut out, "note", Some(note));
    }
    for (index, entry) in feed.entries.iter().enumerate() {
        writeln!(out, "entry {}", index + 1).expect("a text takes everything");
        line(&mut out, "  id", entry.id.as_deref());
        line(&mut out, "  title", entry.title.as_ref().map(text));
        line(&mut out, "  url", entry.url.as_deref());
        line(&mut out, "  published", entry.published);
        line(&mut out, "  updated", entry.updated);
        line(&mut out, "  author", entry.author.as_deref());
        for other in entry.authors.iter().skip(1) {
            line(&mut out, "  other author", Some(other));
        }
        line(&mut out, "  language", entry.language.as_deref().filter(|_| entry.language != feed.language));
        line(&mut out, "  base", entry.base.as_deref().filter(|base| *base != BASE_URL));
        for category in &entry.categories {
            line(&mut out, "  category", Some(category));
        }
        for enclosure in &entry.enclosures {
            line(&mut out, "  enclosure", Some(&enclosure.url));
            line(&mut out, "    type", enclosure.media_type.as_deref());
            line(&mut out, "    length in bytes", enclosure.length);
            line(&mut out, "    duration in seconds", enclosure.duration_seconds);
            line(&mut out, "    title", enclosure.title.as_deref());
        }
        line(&mut out, "  image", entry.image_url.as_deref());
        line(&mut out, "  comments", entry.comments_url.as_deref());
        line(&mut out, "  summary", entry.summary.as_ref().map(text));
        line(&mut out, "  content", entry.content.as_ref().map(text));
    }
    out
}

fn line(out: &mut String, name: &str, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        writeln!(out, "{name}: {value}").expect("a text takes everything");
    }
}

fn text(text: &Text) -> String {
    let kind = match text.kind {
        TextKind::Plain => "plain",
        TextKind::Html => "html",
    };
    format!("{kind} {:?}", text.value)
}

fn bits(mask: u32) -> Option<String> {
    let set: Vec<String> = (0..32).filter(|bit| mask & 1 << bit != 0).map(|bit| bit.to_string()).collect();
    (!set.is_empty()).then(|| set.join(" "))
}
