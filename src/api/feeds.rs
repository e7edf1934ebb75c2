//! Writes posts as Atom or JSON Feed.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::model::{Enclosure, Post, Timestamp};
use crate::parse::safe_html::sanitized;

/// Maximum length of a post's text in a feed, in bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The feed of these posts, the newest first, as Atom (RFC 4287). What Atom cannot say of podcasts and images has the
/// names that podcast apps know (`itunes`).
pub fn atom(name: &str, posts: &[Post]) -> String {
    let mut feed = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    feed.push_str("<feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:itunes=\"");
    feed.push_str("http://www.itunes.com/dtds/podcast-1.0.dtd\">\n");
    element(&mut feed, "id", "", &feed_id(name));
    element(&mut feed, "title", "", &title(name));
    element(&mut feed, "updated", "", &updated(posts).unwrap_or(Timestamp::EPOCH).to_string());
    feed.push_str("<author><name>feedwarden</name></author>\n");
    for post in posts {
        atom_entry(&mut feed, post);
    }
    feed.push_str("</feed>\n");
    feed
}

fn atom_entry(feed: &mut String, post: &Post) {
    let content = &post.content;
    match &content.language {
        Some(language) => _ = writeln!(feed, "<entry xml:lang=\"{}\">", escaped(language)),
        None => feed.push_str("<entry>\n"),
    }
    element(feed, "id", "", &post_id(post));
    element(feed, "title", "", &content.title);
    element(feed, "updated", "", &post_updated(post).to_string());
    if let Some(published) = post.published_at {
        element(feed, "published", "", &published.to_string());
    }
    for author in content.all_authors().filter(|author| !author.trim().is_empty()) {
        let _ = writeln!(feed, "<author><name>{}</name></author>", escaped(author));
    }
    for category in &content.categories {
        let _ = writeln!(feed, "<category term=\"{}\"/>", escaped(category));
    }
    if let Some(url) = &content.url {
        let _ = writeln!(feed, "<link rel=\"alternate\" href=\"{}\"/>", escaped(url));
    }
    for enclosure in &content.enclosures {
        let _ = write!(feed, "<link rel=\"enclosure\" href=\"{}\"", escaped(&enclosure.url));
        attribute(feed, "type", enclosure.media_type.as_deref());
        attribute(feed, "length", enclosure.length.map(|length| length.to_string()).as_deref());
        attribute(feed, "title", enclosure.title.as_deref());
        feed.push_str("/>\n");
    }
    if let Some(seconds) = content.enclosures.iter().find_map(|enclosure| enclosure.duration_seconds) {
        element(feed, "itunes:duration", "", &seconds.to_string());
    }
    if let Some(url) = &content.image_url {
        let _ = writeln!(feed, "<itunes:image href=\"{}\"/>", escaped(url));
    }
    if let Some(summary) = &content.summary {
        element(feed, "summary", " type=\"text\"", cut(summary));
    }
    match &content.html {
        Some(html) => element(feed, "content", " type=\"html\"", &sanitized(cut(html))),
        None => element(feed, "content", " type=\"text\"", cut(&content.text)),
    }
    feed.push_str("</entry>\n");
}

/// The feed of these posts, the newest first, as JSON Feed 1.1.
pub fn json_feed(name: &str, posts: &[Post]) -> String {
    let items: Vec<Value> = posts.iter().map(json_item).collect();
    json!({ "version": "https://jsonfeed.org/version/1.1", "title": title(name), "items": items }).to_string()
}

fn json_item(post: &Post) -> Value {
    let content = &post.content;
    let mut item = json!({
        "id": post_id(post),
        "title": content.title,
        "content_text": cut(&content.text),
        "date_published": post.published_at.unwrap_or(post.created_at).to_string(),
        "date_modified": post_updated(post).to_string(),
    });
    let authors: Vec<Value> = content.all_authors().map(|author| json!({ "name": author })).collect();
    let attachments: Vec<Value> = content.enclosures.iter().map(attachment).collect();
    let optional = [
        ("url", content.url.as_ref().map(|url| json!(url))),
        ("content_html", content.html.as_ref().map(|html| json!(sanitized(cut(html))))),
        ("summary", content.summary.as_ref().map(|summary| json!(cut(summary)))),
        ("image", content.image_url.as_ref().map(|url| json!(url))),
        ("language", content.language.as_ref().map(|language| json!(language))),
        ("authors", (!authors.is_empty()).then_some(json!(authors))),
        ("tags", (!content.categories.is_empty()).then(|| json!(content.categories))),
        ("attachments", (!attachments.is_empty()).then_some(json!(attachments))),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            item[name] = value;
        }
    }
    item
}

fn attachment(enclosure: &Enclosure) -> Value {
    // JSON Feed requires a media type.
    let media_type = enclosure.media_type.as_deref().unwrap_or("application/octet-stream");
    let mut attachment = json!({ "url": enclosure.url, "mime_type": media_type });
    let optional = [
        ("title", enclosure.title.as_ref().map(|title| json!(title))),
        ("size_in_bytes", enclosure.length.map(|length| json!(length))),
        ("duration_in_seconds", enclosure.duration_seconds.map(|seconds| json!(seconds))),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            attachment[name] = value;
        }
    }
    attachment
}

/// Time of the last change: when one of its posts was stored or changed.
pub(super) fn updated(posts: &[Post]) -> Option<Timestamp> {
    posts.iter().map(|post| post.changed_at.unwrap_or(post.created_at)).max()
}

/// Time of the last change of a post: ours, because publishers change texts without changing their dates; else the
/// publisher's.
fn post_updated(post: &Post) -> Timestamp {
    post.changed_at.or(post.content.updated_at).unwrap_or(post.created_at)
}

fn title(name: &str) -> String {
    format!("Feedwarden: {name}")
}

fn feed_id(name: &str) -> String {
    let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("urn:feedwarden:feed:{name}")
}

/// The time distinguishes posts of two databases with the same id, and stays when the post changes.
fn post_id(post: &Post) -> String {
    format!("urn:feedwarden:post:{}:{}", post.id, post.created_at.as_micros())
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

fn attribute(feed: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        let _ = write!(feed, " {name}=\"{}\"", escaped(value));
    }
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
