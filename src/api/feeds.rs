//! Writes posts as Atom or JSON Feed.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::model::{Post, Timestamp};

/// Maximum length of a post's text in a feed, in bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The feed of these posts, the newest first, as Atom (RFC 4287).
pub fn atom(name: &str, posts: &[Post]) -> String {
    let mut feed = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    feed.push_str("<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
    element(&mut feed, "id", "", &feed_id(name));
    element(&mut feed, "title", "", &title(name));
    element(&mut feed, "updated", "", &updated(posts).unwrap_or(Timestamp::EPOCH).to_string());
    feed.push_str("<author><name>feedwarden</name></author>\n");
    for post in posts {
        feed.push_str("<entry>\n");
        element(&mut feed, "id", "", &post_id(post));
        element(&mut feed, "title", "", &post.content.title);
        element(&mut feed, "updated", "", &post.created_at.to_string());
        if let Some(published) = post.published_at {
            element(&mut feed, "published", "", &published.to_string());
        }
        if let Some(author) = post.content.author.as_ref().filter(|author| !author.trim().is_empty()) {
            let _ = writeln!(feed, "<author><name>{}</name></author>", escaped(author));
        }
        if let Some(url) = &post.content.url {
            let _ = writeln!(feed, "<link rel=\"alternate\" href=\"{}\"/>", escaped(url));
        }
        element(&mut feed, "content", " type=\"text\"", cut(&post.content.body()));
        feed.push_str("</entry>\n");
    }
    feed.push_str("</feed>\n");
    feed
}

/// The feed of these posts, the newest first, as JSON Feed 1.1.
pub fn json_feed(name: &str, posts: &[Post]) -> String {
    let items = posts.iter().map(|post| {
        let mut item = json!({
            "id": post_id(post),
            "title": post.content.title,
            "content_text": cut(&post.content.body()),
            "date_published": post.published_at.unwrap_or(post.created_at).to_string(),
        });
        if let Some(url) = &post.content.url {
            item["url"] = json!(url);
        }
        if let Some(author) = &post.content.author {
            item["authors"] = json!([{ "name": author }]);
        }
        item
    });
    let items: Vec<Value> = items.collect();
    json!({ "version": "https://jsonfeed.org/version/1.1", "title": title(name), "items": items }).to_string()
}

/// Time of the last change: when its newest post was stored.
pub(super) fn updated(posts: &[Post]) -> Option<Timestamp> {
    posts.iter().map(|post| post.created_at).max()
}

fn title(name: &str) -> String {
    format!("Feedwarden: {name}")
}

fn feed_id(name: &str) -> String {
    let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("urn:feedwarden:feed:{name}")
}

/// The hash distinguishes posts of two databases with the same id.
fn post_id(post: &Post) -> String {
    format!("urn:feedwarden:post:{}:{}", post.id, post.content_hash)
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn element(feed: &mut String, name: &str, attributes: &str, text: &str) {
    let _ = writeln!(feed, "<{name}{attributes}>{}</{name}>", escaped(text));
}

/// Escapes a text for XML, without characters that XML forbids.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' | '\n' => escaped.push(character),
            '\0'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => {}
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "ä".repeat(TEXT_BYTES_MAX);
        assert_eq!(cut(&long).len(), TEXT_BYTES_MAX);
        assert_eq!(cut(&format!("x{long}")).len(), TEXT_BYTES_MAX - 1);
    }
}
