//! Feeds as text, for people to review.

use std::fmt::Write;

use feedwarden::parse::feed::{Feed, FeedError, Text, TextKind};

/// Writes down everything that was read.
pub(super) fn render(outcome: &Result<Feed, FeedError>) -> String {
    let feed = match outcome {
        Ok(feed) => feed,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut out = format!("{} in {}\n", feed.format, feed.charset);
    line(&mut out, "title", feed.title.as_ref().map(text));
    line(&mut out, "link", feed.link.as_deref());
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
