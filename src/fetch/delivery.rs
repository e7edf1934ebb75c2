//! Sends posts to a webhook: the JSON, the signature, and what its answer means.

use std::borrow::Cow;
use std::collections::HashMap;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use sha2::Sha256;

use super::Fetcher;
use crate::http::{Method, Request};
use crate::model::{Enclosure, FailureReport, Post, PostId, PostSource, SourceId, TextOrigin, Timestamp};
use crate::parse::safe_html::sanitized;

/// Whatever a webhook answers, no more than this of it is read.
const ANSWER_BYTES_MAX: usize = 1024;

/// One request to a webhook.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub url: String,
    /// What it is signed with.
    pub secret: SecretString,
    /// Names the delivery; the same one when it is tried again with the same posts.
    pub id: String,
    pub body: String,
    /// When it is sent, as the signature says.
    pub sent_at: Timestamp,
    /// Whether it is a test delivery.
    pub is_test: bool,
}

/// A post as webhooks get it.
#[derive(Serialize)]
struct SentPost<'a> {
    id: PostId,
    /// `new`, or `updated` after a change of its content.
    change: &'static str,
    change_number: i64,
    revision: u32,
    source_id: SourceId,
    source: Option<&'a PostSource>,
    guid: Option<&'a str>,
    title: &'a str,
    body: Cow<'a, str>,
    text: &'a str,
    /// Sanitised.
    html: Option<String>,
    summary: Option<&'a str>,
    url: Option<&'a str>,
    author: Option<&'a str>,
    authors: Vec<&'a str>,
    byline: Option<&'a str>,
    language: Option<&'a str>,
    categories: &'a [String],
    enclosures: &'a [Enclosure],
    image_url: Option<&'a str>,
    comments_url: Option<&'a str>,
    published_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    created_at: Timestamp,
    changed_at: Option<Timestamp>,
    text_origin: TextOrigin,
    full_text_error: Option<&'a str>,
    is_backfill: bool,
    content_hash: String,
}

impl Fetcher {
    /// Delivers once. Any answer of the 2xx means that everything was taken; redirects are not followed.
    pub async fn deliver(&self, delivery: Delivery) -> Result<(), FailureReport> {
        let signature = signature(&delivery.secret, delivery.sent_at, &delivery.body);
        let mut request = Request::new(delivery.url);
        request.headers =
            vec![("Feedwarden-Signature".into(), signature.into()), ("Feedwarden-Delivery".into(), delivery.id.into())];
        if delivery.is_test {
            request.headers.push(("Feedwarden-Test".into(), "true".into()));
        }
        request.method = Method::PostJson(delivery.body);
        request.cut_at_bytes = Some(ANSWER_BYTES_MAX);
        match self.client.send(&request).await {
            Ok(_) => Ok(()),
            // The head of the answer counts: what follows it, or does not, changes nothing.
            Err(failure) => match failure.hops.last().and_then(|hop| hop.status) {
                Some(200..=299) => Ok(()),
                _ => Err(failure.report),
            },
        }
    }
}

/// The first of these posts, with their sources, as a JSON array of at most so many bytes, and how many they are: one at
/// least.
pub fn delivery_body(posts: &[&Post], sources: &HashMap<SourceId, PostSource>, bytes_max: usize) -> (String, usize) {
    let mut body = String::from("[");
    let mut count = 0;
    for post in posts {
        let one = serde_json::to_string(&SentPost::new(post, sources.get(&post.source_id))).unwrap_or_default();
        if count > 0 && body.len() + one.len() + 2 > bytes_max {
            break;
        }
        if count > 0 {
            body.push(',');
        }
        body.push_str(&one);
        count += 1;
    }
    body.push(']');
    (body, count)
}

/// `t=SECONDS,v1=HEX`: HMAC-SHA256 of the seconds, a dot and the body. The time lets the receiver refuse a
/// delivery that was recorded and is sent again.
fn signature(secret: &SecretString, sent_at: Timestamp, body: &str) -> String {
    let seconds = sent_at.as_seconds();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).expect("keys have any length");
    mac.update(format!("{seconds}.").as_bytes());
    mac.update(body.as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={seconds},v1={hex}")
}

impl<'a> SentPost<'a> {
    fn new(post: &'a Post, source: Option<&'a PostSource>) -> SentPost<'a> {
        let content = &post.content;
        SentPost {
            id: post.id,
            change: if post.is_changed() { "updated" } else { "new" },
            change_number: post.change_number,
            revision: post.revision,
            source_id: post.source_id,
            source,
            guid: content.guid.as_deref(),
            title: &content.title,
            body: content.body(),
            text: &content.text,
            html: content.html.as_deref().map(sanitized),
            summary: content.summary.as_deref(),
            url: content.url.as_deref(),
            author: content.author.as_deref(),
            authors: content.all_authors().collect(),
            byline: content.byline.as_deref(),
            language: content.language.as_deref(),
            categories: &content.categories,
            enclosures: &content.enclosures,
            image_url: content.image_url.as_deref(),
            comments_url: content.comments_url.as_deref(),
            published_at: post.published_at,
            updated_at: content.updated_at,
            created_at: post.created_at,
            changed_at: post.changed_at,
            text_origin: content.text_origin,
            full_text_error: content.full_text_error.as_deref(),
            is_backfill: post.is_backfill,
            content_hash: post.content_hash.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentHash, PostContent};

    fn post(id: i64, body: &str) -> Post {
        Post {
            id: PostId(id),
            source_id: SourceId(1),
            content: PostContent { title: "Title".into(), text: body.into(), ..PostContent::default() },
            published_at: None,
            created_at: Timestamp::EPOCH,
            changed_at: None,
            revision: 0,
            change_number: id,
            content_hash: ContentHash([0; 32]),
            is_backfill: false,
        }
    }

    /// Computed with `printf '1800000000.[]' | openssl dgst -sha256 -hmac key`.
    #[test]
    fn a_signature_is_what_other_programs_compute() {
        assert_eq!(
            signature(&"key".into(), Timestamp::from_seconds(1_800_000_000), "[]"),
            "t=1800000000,v1=b216c608669675eea1cddf90d057897d7bc07712dbae5158406d99d76b93128e"
        );
    }

    #[test]
    fn s703_a_byline_is_sent_beside_the_author() {
        let mut page = post(1, "a");
        page.content.byline = Some("Ada Moss".into());
        let (body, _) = delivery_body(&[&page, &post(2, "b")], &HashMap::new(), 10_000);
        let sent: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!((&sent[0]["author"], &sent[0]["byline"]), (&serde_json::Value::Null, &"Ada Moss".into()));
        assert_eq!(sent[1]["byline"], serde_json::Value::Null);
    }

    #[test]
    fn a_post_says_its_source_and_whether_it_is_new_and_its_html_is_sanitised() {
        let mut changed = Post { revision: 2, change_number: 9, ..post(1, "one\ntwo") };
        changed.content.html = Some("<p onclick=x>one</p><script>x</script><p>two".into());
        let source = PostSource {
            id: SourceId(1),
            title: Some("Feed".into()),
            url: "http://a.example/".into(),
            labels: vec!["news".into()],
        };
        let sources = HashMap::from([(SourceId(1), source)]);
        let (body, _) = delivery_body(&[&changed, &post(2, "b")], &sources, 100_000);
        let sent: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!((&sent[0]["change"], &sent[1]["change"]), (&"updated".into(), &"new".into()));
        assert_eq!((&sent[0]["change_number"], &sent[0]["revision"]), (&9.into(), &2.into()));
        assert_eq!((&sent[0]["body"], &sent[0]["text"]), (&"one two".into(), &"one\ntwo".into()));
        assert_eq!(sent[0]["html"], "<p>one</p><p>two</p>");
        assert_eq!((&sent[0]["source"]["title"], &sent[0]["source"]["labels"][0]), (&"Feed".into(), &"news".into()));
    }

    #[test]
    fn a_body_holds_what_fits_and_one_post_at_least() {
        let posts = [post(1, &"a".repeat(500)), post(2, &"b".repeat(500)), post(3, &"c".repeat(5_000))];
        let posts: Vec<&Post> = posts.iter().collect();
        for (from, bytes_max, count) in [(0, 4_500, 2), (0, 100, 1), (2, 100, 1), (0, 100_000, 3), (3, 100, 0)] {
            let (body, taken) = delivery_body(&posts[from..], &HashMap::new(), bytes_max);
            assert_eq!(taken, count);
            assert!(body.len() <= bytes_max || count == 1, "{}", body.len());
            let read: Vec<serde_json::Value> = serde_json::from_str(&body).unwrap();
            assert_eq!(read.len(), count);
        }
    }
}
