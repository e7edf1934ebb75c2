//! Delivers events by HTTP: requests of each format, and what their answers mean.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::ExposeSecret;

use super::message::EventMessage;
use super::post::SentPost;
use super::{Batch, Delivered, DeliveryTransport, chat, signature};
use crate::clock::{Clock, Stopwatch};
use crate::http::{Client, Method, Request};
use crate::model::{DeliveryFormat, FailureCause, FailureReport, WebhookTarget};

/// Whatever a webhook answers, no more than this of it is read.
const ANSWER_BYTES_MAX: usize = 1024;
/// Formats with one event per request send no more of a batch after this time, so that what was taken is recorded.
const BATCH_TIME_MAX: Duration = Duration::from_secs(30);

pub(super) struct WebhookTransport {
    client: Client,
    clock: Arc<dyn Clock>,
}

impl WebhookTransport {
    pub(super) fn new(client: Client, clock: Arc<dyn Clock>) -> WebhookTransport {
        WebhookTransport { client, clock }
    }

    /// Sends one request. Any answer of the 2xx means that everything was taken; redirects are not followed.
    async fn send(&self, request: Request, timeout: Duration) -> Result<(), FailureReport> {
        let sending = async {
            match self.client.send(&request).await {
                Ok(_) => Ok(()),
                // The head of the answer counts: what follows it, or does not, changes nothing.
                Err(failure) => match failure.hops.last().and_then(|hop| hop.status) {
                    Some(200..=299) => Ok(()),
                    _ => Err(failure.report),
                },
            }
        };
        tokio::time::timeout(timeout, sending).await.unwrap_or_else(|_| {
            let error = format!("no answer within {} s", timeout.as_secs_f64());
            Err(FailureReport { cause: FailureCause::Connection, error, retry_after: None })
        })
    }

    /// Several posts in one request.
    async fn classic(&self, target: &WebhookTarget, batch: &Batch) -> Delivered {
        let (body, taken) = classic_body(batch);
        let name = match (batch.events.first(), taken.checked_sub(1).and_then(|last| batch.events.get(last))) {
            (Some(first), Some(last)) => format!("{}-{}-{}", batch.receiver, first.number, last.number),
            _ => format!("{}-test", batch.receiver),
        };
        let signature = signature::classic(&target.secrets.current, self.clock.now(), &body);
        let mut request = request(&target.url, Method::PostJson(body), batch.is_test);
        request.headers.push(("Feedwarden-Signature".into(), signature.into()));
        request.headers.push(("Feedwarden-Delivery".into(), name.into()));
        match self.send(request, batch.timeout).await {
            Ok(()) => Delivered { taken, failure: None },
            Err(failure) => Delivered { taken: 0, failure: Some(failure) },
        }
    }

    /// The request with one event.
    fn single(
        &self,
        target: &WebhookTarget,
        message: &EventMessage<'_>,
        is_test: bool,
    ) -> Result<Request, FailureReport> {
        let id = message.id();
        let (url, method) = match target.format {
            DeliveryFormat::Classic | DeliveryFormat::Standard => {
                (target.url.clone(), Method::PostJson(message.to_json()))
            }
            DeliveryFormat::CloudEvents => {
                let method = Method::PostCloudEvent(message.to_cloud_event().to_string());
                (target.url.clone(), method)
            }
            DeliveryFormat::Slack => (target.url.clone(), Method::PostJson(chat::slack(message).to_string())),
            DeliveryFormat::Discord => (target.url.clone(), Method::PostJson(chat::discord(message).to_string())),
            DeliveryFormat::Matrix => {
                // The id makes a repeat harmless.
                (chat::matrix_url(&target.url, &id), Method::PutJson(chat::matrix(message).to_string()))
            }
            DeliveryFormat::Ntfy => {
                let (url, topic) = chat::ntfy_topic(&target.url).ok_or_else(|| {
                    internal("the URL for ntfy has to end with a topic, such as https://ntfy.sh/my-topic".to_owned())
                })?;
                (url, Method::PostJson(chat::ntfy(message, &topic).to_string()))
            }
        };
        let (sent_at, body) = (self.clock.now(), method.text().to_owned());
        let mut request = request(&url, method, is_test);
        if target.format.has_standard_signature() {
            let signature = signature::standard(&target.secrets, &id, sent_at, &body).ok_or_else(|| {
                internal("the secret is not one of the Standard Webhooks specification: give it a new one".to_owned())
            })?;
            request.headers.push(("webhook-id".into(), id.into()));
            request.headers.push(("webhook-timestamp".into(), sent_at.as_seconds().to_string().into()));
            request.headers.push(("webhook-signature".into(), signature.into()));
        } else if matches!(target.format, DeliveryFormat::Matrix | DeliveryFormat::Ntfy)
            && !target.secrets.current.expose_secret().is_empty()
        {
            let token = format!("Bearer {}", target.secrets.current.expose_secret());
            request.headers.push(("Authorization".into(), token.into()));
        }
        Ok(request)
    }
}

#[async_trait]
impl DeliveryTransport for WebhookTransport {
    async fn deliver(&self, target: &WebhookTarget, batch: &Batch) -> Delivered {
        if target.format == DeliveryFormat::Classic {
            return self.classic(target, batch).await;
        }
        let watch = Stopwatch::start();
        let mut taken = 0;
        for message in batch.messages(&*self.clock) {
            let sent = match self.single(target, &message, batch.is_test) {
                Ok(request) => self.send(request, batch.timeout).await,
                Err(failure) => Err(failure),
            };
            if let Err(failure) = sent {
                return Delivered { taken, failure: Some(failure) };
            }
            taken += 1;
            if watch.elapsed() > BATCH_TIME_MAX {
                break;
            }
        }
        Delivered { taken, failure: None }
    }
}

fn request(url: &str, method: Method, is_test: bool) -> Request {
    let mut request = Request::new(url);
    if is_test {
        request.headers.push(("Feedwarden-Test".into(), "true".into()));
    }
    request.method = method;
    request.cut_at_bytes = Some(ANSWER_BYTES_MAX);
    request
}

fn internal(error: String) -> FailureReport {
    FailureReport { cause: FailureCause::Internal, error, retry_after: None }
}

/// The first posts of the batch, with their sources, as a JSON array within the bound, and how many they are: one at
/// least. A test has none: a receiver that does not know of tests does nothing with it.
fn classic_body(batch: &Batch) -> (String, usize) {
    let mut body = String::from("[");
    let mut count = 0;
    for event in batch.events.iter().filter(|_| !batch.is_test) {
        if let Some(post) = event.post() {
            let post = SentPost::classic(post, batch.sources.get(&post.source_id));
            let one = serde_json::to_string(&post).unwrap_or_default();
            if body.len() > 1 && body.len() + one.len() + 2 > batch.body_bytes_max {
                break;
            }
            if body.len() > 1 {
                body.push(',');
            }
            body.push_str(&one);
        }
        count += 1;
    }
    body.push(']');
    (body, count)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{
        ContentHash, EventSubject, Post, PostContent, PostId, PostSource, SourceId, StreamEvent, Timestamp, WebhookId,
    };

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

    fn batch(posts: Vec<Post>, body_bytes_max: usize) -> Batch {
        let event = |post: Post| match post.is_changed() {
            true => StreamEvent { number: post.change_number, what: EventSubject::Updated(Arc::new(post)) },
            false => StreamEvent { number: post.id.0, what: EventSubject::Created(Arc::new(post)) },
        };
        Batch {
            receiver: WebhookId(1),
            events: posts.into_iter().map(event).collect(),
            sources: Default::default(),
            timeout: Duration::ZERO,
            body_bytes_max,
            is_test: false,
        }
    }

    #[test]
    fn s703_a_byline_is_sent_beside_the_author() {
        let mut page = post(1, "a");
        page.content.byline = Some("Ada Moss".into());
        let (body, _) = classic_body(&batch(vec![page, post(2, "b")], 10_000));
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
        let mut batch = batch(vec![changed, post(2, "b")], 100_000);
        batch.sources.insert(SourceId(1), source);
        let sent: serde_json::Value = serde_json::from_str(&classic_body(&batch).0).unwrap();
        assert_eq!((&sent[0]["change"], &sent[1]["change"]), (&"updated".into(), &"new".into()));
        assert_eq!((&sent[0]["change_number"], &sent[0]["revision"]), (&9.into(), &2.into()));
        assert_eq!((&sent[0]["body"], &sent[0]["text"]), (&"one two".into(), &"one\ntwo".into()));
        assert_eq!(sent[0]["html"], "<p>one</p><p>two</p>");
        assert_eq!((&sent[0]["source"]["title"], &sent[0]["source"]["labels"][0]), (&"Feed".into(), &"news".into()));
        let message = EventMessage::new(&batch.events[0], batch.sources.get(&SourceId(1)));
        let sent: serde_json::Value = serde_json::from_str(&message.to_json()).unwrap();
        assert_eq!((&sent["type"], &sent["data"]["number"]), (&"post.updated".into(), &9.into()));
        assert_eq!(
            (&sent["data"]["post"]["html"], &sent["data"]["source"]["labels"][0]),
            (&"<p>one</p><p>two</p>".into(), &"news".into())
        );
        let event = message.to_cloud_event();
        assert_eq!((&event["id"], &event["type"]), (&"evt_9".into(), &"feedwarden.post.updated".into()));
        assert_eq!(event["subject"], "sources/1");
    }

    #[test]
    fn a_body_holds_what_fits_and_one_post_at_least() {
        let posts = [post(1, &"a".repeat(500)), post(2, &"b".repeat(500)), post(3, &"c".repeat(5_000))];
        for (from, bytes_max, count) in [(0, 4_500, 2), (0, 100, 1), (2, 100, 1), (0, 100_000, 3), (3, 100, 0)] {
            let (body, taken) = classic_body(&batch(posts[from..].to_vec(), bytes_max));
            assert_eq!(taken, count);
            assert!(body.len() <= bytes_max || count == 1, "{}", body.len());
            let read: Vec<serde_json::Value> = serde_json::from_str(&body).unwrap();
            assert_eq!(read.len(), count);
        }
    }
}
