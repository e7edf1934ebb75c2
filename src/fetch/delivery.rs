//! Sends posts to a webhook: the JSON, the signature, and what its answer means.

use std::borrow::Cow;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use sha2::Sha256;

use super::Fetcher;
use crate::http::{Method, Request};
use crate::model::{FailureReport, Post, PostId, SourceId, Timestamp};

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
    source_id: SourceId,
    title: &'a str,
    body: Cow<'a, str>,
    url: Option<&'a str>,
    author: Option<&'a str>,
    byline: Option<&'a str>,
    published_at: Option<Timestamp>,
    created_at: Timestamp,
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

/// The first of these posts as a JSON array of at most so many bytes, and how many they are: one at least.
pub fn delivery_body(posts: &[&Post], bytes_max: usize) -> (String, usize) {
    let mut body = String::from("[");
    let mut count = 0;
    for post in posts {
        let one = serde_json::to_string(&SentPost::from(*post)).unwrap_or_default();
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

impl<'a> From<&'a Post> for SentPost<'a> {
    fn from(post: &'a Post) -> SentPost<'a> {
        SentPost {
            id: post.id,
            source_id: post.source_id,
            title: &post.content.title,
            body: post.content.body(),
            url: post.content.url.as_deref(),
            author: post.content.author.as_deref(),
            byline: post.content.byline.as_deref(),
            published_at: post.published_at,
            created_at: post.created_at,
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
        let (body, _) = delivery_body(&[&page, &post(2, "b")], 10_000);
        let sent: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!((&sent[0]["author"], &sent[0]["byline"]), (&serde_json::Value::Null, &"Ada Moss".into()));
        assert_eq!(sent[1]["byline"], serde_json::Value::Null);
    }

    #[test]
    fn a_body_holds_what_fits_and_one_post_at_least() {
        let posts = [post(1, &"a".repeat(500)), post(2, &"b".repeat(500)), post(3, &"c".repeat(5_000))];
        let posts: Vec<&Post> = posts.iter().collect();
        for (from, bytes_max, count) in [(0, 2_000, 2), (0, 100, 1), (2, 100, 1), (0, 100_000, 3), (3, 100, 0)] {
            let (body, taken) = delivery_body(&posts[from..], bytes_max);
            assert_eq!(taken, count);
            assert!(body.len() <= bytes_max || count == 1, "{}", body.len());
            let read: Vec<serde_json::Value> = serde_json::from_str(&body).unwrap();
            assert_eq!(read.len(), count);
        }
    }
}
