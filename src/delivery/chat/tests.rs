//! Hostile texts in messages for chat services.

use std::sync::Arc;

use super::*;
use crate::model::{
    ContentHash, EventSubject, EventType, NewEvent, Post, PostContent, PostId, PostSource, SourceId, StreamEvent,
    Timestamp,
};

fn source(title: &str) -> PostSource {
    PostSource { id: SourceId(1), title: Some(title.into()), url: "http://a.example/".into(), labels: Vec::new() }
}

fn event(title: &str, text: &str, url: &str) -> StreamEvent {
    let post = Post {
        id: PostId(7),
        source_id: SourceId(1),
        content: PostContent {
            title: title.into(),
            text: text.into(),
            url: Some(url.into()),
            ..PostContent::default()
        },
        published_at: None,
        created_at: Timestamp::EPOCH,
        changed_at: None,
        revision: 0,
        change_number: 7,
        content_hash: ContentHash([0; 32]),
        is_backfill: false,
    };
    StreamEvent { number: 7, what: EventSubject::Created(Arc::new(post)) }
}

fn check<T>(title: &str, text: &str, url: &str, write: impl Fn(&EventMessage<'_>) -> T) -> T {
    let (event, source) = (event(title, text, url), source("News"));
    write(&EventMessage::new(&event, Some(&source)))
}

#[test]
fn a_post_is_title_text_and_link() {
    let all = |write: fn(&EventMessage<'_>) -> Value| check("One", "Two words", "http://a.example/1?a=1&b=2", write);
    assert_eq!(all(slack)["text"], "*News: One*\nTwo words\n<http://a.example/1?a=1&amp;b=2>");
    assert_eq!(all(discord)["content"], "**News\\: One**\nTwo words\n<http://a.example/1?a=1&b=2>");
    assert_eq!(all(matrix)["body"], "News: One\nTwo words\nhttp://a.example/1?a=1&b=2");
    let sent = all(|message| ntfy(message, "news"));
    assert_eq!(
        (&sent["topic"], &sent["title"], &sent["message"]),
        (&"news".into(), &"News: One".into(), &"Two words".into())
    );
    assert_eq!(sent["click"], "http://a.example/1?a=1&b=2");
}

#[test]
fn mentions_links_and_marks_of_a_publisher_are_text() {
    let hostile = "<!channel> <@U1> *bold* `code` <http://evil.example|click> @everyone [x](http://evil.example) <b>";
    let url = "https://a.example/<!here>|x(y)";
    let sent = check(hostile, hostile, url, slack).to_string();
    assert!(!sent.contains("<!") && !sent.contains("<@") && !sent.contains("<http://evil"), "{sent}");
    assert!(sent.contains("<https://a.example/%3C!here%3E%7Cx%28y%29>"), "{sent}");
    let sent = check(hostile, hostile, url, discord);
    assert_eq!(sent["allowed_mentions"], json!({ "parse": [] }));
    let content = sent["content"].as_str().unwrap();
    assert!(content.contains("\\@everyone") && content.contains("\\[x\\]\\(http\\://"), "{content}");
    let sent = check(hostile, hostile, url, matrix);
    let formatted = sent["formatted_body"].as_str().unwrap();
    assert!(!formatted.contains("<@U1>") && formatted.contains("&lt;b&gt;"), "{formatted}");
    assert_eq!(sent["m.mentions"], json!({}));
    for url in
        ["javascript:alert(1)", "file:///etc/passwd", "not a url", &format!("http://a.example/{}", "x".repeat(2000))]
    {
        let sent = check("One", "Two", url, slack);
        assert_eq!(sent["text"], "*News: One*\nTwo", "{url}");
    }
}

#[test]
fn a_message_stays_within_the_limits_of_its_service() {
    for letter in ["a", "*", "\u{1f980}", "&", "<", "\n", "\u{0}"] {
        let long = letter.repeat(100_000);
        let url = format!("https://a.example/{}", "%28".repeat(300));
        let content = check(&long, &long, &url, discord)["content"].as_str().unwrap().to_owned();
        assert!(content.encode_utf16().count() <= 2000, "{letter:?}: {}", content.len());
        assert!(content.contains("https://a.example/"), "the link stays");
        assert!(check(&long, &long, &url, slack)["text"].as_str().unwrap().chars().count() <= 8000);
        let sent = check(&long, &long, &url, |message| ntfy(message, "t"));
        assert!(sent["message"].as_str().unwrap().len() <= 4096, "{letter:?}");
        assert!(check(&long, &long, &url, matrix).to_string().len() < 32_000);
    }
}

#[test]
fn every_type_of_event_has_words() {
    let mut titles = std::collections::HashSet::new();
    for event_type in EventType::ALL.into_iter().skip(2) {
        let new = NewEvent {
            source_id: Some(SourceId(1)),
            url: Some("http://a.example/".into()),
            host: Some("a.example".into()),
            reason: Some("because".into()),
            ..NewEvent::new(event_type, Timestamp::EPOCH)
        };
        let event = StreamEvent { number: 1, what: EventSubject::Other(Box::new(new)) };
        let words = words(&EventMessage::new(&event, None));
        assert_eq!(words.text, "because", "{event_type}");
        assert!(!words.title.contains("test") && titles.insert(words.title), "{event_type}");
    }
}

#[test]
fn addresses_of_requests_follow_from_those_of_webhooks() {
    let room = "https://m.example/_matrix/client/v3/rooms/!a:m.example/send/m.room.message";
    assert_eq!(matrix_url(room, "evt_7"), format!("{room}/evt_7"));
    assert_eq!(ntfy_topic("https://n.example/sub/news"), Some(("https://n.example/sub/".into(), "news".into())));
    assert_eq!(ntfy_topic("https://n.example/"), None);
}
