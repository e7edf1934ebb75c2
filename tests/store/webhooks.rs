//! Webhooks: kept with their secrets sealed, and their progress.

use feedwarden::model::{
    DeliveryFormat, DeliveryRecord, NewWebhook, SecretChange, Webhook, WebhookChange, WebhookId, WebhookProgress,
};
use rstest::rstest;
use secrecy::ExposeSecret;

use super::*;

fn webhook(label: Option<&str>) -> NewWebhook {
    NewWebhook {
        url: "http://ann:word@hook.example/".into(),
        secret: "a secret to sign with".into(),
        label: label.map(str::to_owned),
        format: DeliveryFormat::Classic,
        event_types: Vec::new(),
        created_at: at(NOW),
    }
}

async fn read(store: &TestStore, id: WebhookId) -> Webhook {
    store.webhook(id).await.unwrap().unwrap()
}

#[rstest]
#[tokio::test]
async fn a_webhook_begins_behind_the_posts_that_are_there(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let early = store.add_webhook(webhook(None)).await.unwrap();
    assert_eq!(read(&store, early).await.progress.last_change_number, 0);
    let source = store.add(rss("http://a.example/")).await;
    let posts = store.find(source.id, vec![post("1"), post("2")]).await;
    let id = store.add_webhook(webhook(Some("news"))).await.unwrap();
    let progress = WebhookProgress { last_change_number: posts[1].0, failures: 0, retry_at: None, last_error: None };
    let expected = Webhook {
        id,
        url: "http://ann:word@hook.example/".into(),
        label: Some("news".into()),
        format: DeliveryFormat::Classic,
        event_types: Vec::new(),
        rotated_at: None,
        enabled: true,
        disabled_reason: None,
        progress,
        last_delivered_at: None,
        created_at: at(NOW),
    };
    assert_eq!(store.list_webhooks(Some(early), 9).await.unwrap(), [expected]);
}

#[rstest]
#[tokio::test]
async fn a_secret_is_sealed_and_opens_for_its_url_alone(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let id = store.add_webhook(webhook(None)).await.unwrap();
    let target = store.webhook_target(id).await.unwrap().unwrap();
    assert_eq!(target.url, "http://ann:word@hook.example/");
    assert_eq!(target.secrets.current.expose_secret(), "a secret to sign with");
    let hex = if engine == Sqlite { "hex(sealed)" } else { "upper(encode(sealed, 'hex'))" };
    let sealed = store.raw_text(&format!("SELECT {hex} FROM webhooks")).await.unwrap();
    assert!(!sealed.contains("736563726574"), "{sealed}");
    store.raw("UPDATE webhooks SET url = 'http://evil.example/'").await;
    let error = store.webhook_target(id).await.map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("the secret of a webhook cannot be opened"), "{error}");
    assert!(store.webhook_target(WebhookId(id.0 + 1)).await.unwrap().is_none());
}

#[rstest]
#[tokio::test]
async fn changes_of_different_things_never_lose_one_another(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let id = store.add_webhook(webhook(None)).await.unwrap();
    let failed = WebhookProgress { last_change_number: 3, failures: 2, retry_at: Some(at(NOW)), last_error: None };
    store
        .record_delivery(id, 0, DeliveryRecord { progress: failed, delivered_at: None, disabled_reason: None })
        .await
        .unwrap();
    // The secret is encrypted for its URL, so a change of one writes both.
    let changes = [
        WebhookChange { url: Some("http://new.example/".into()), ..WebhookChange::default() },
        WebhookChange { label: Some(Some("news".into())), ..WebhookChange::default() },
        WebhookChange {
            secret: Some(SecretChange::Replace("another secret to sign with".into())),
            ..WebhookChange::default()
        },
    ];
    let together = changes.iter().map(|change| store.change_webhook(id, change.clone()));
    assert!(futures_util::future::join_all(together).await.into_iter().all(Result::unwrap));
    let target = store.webhook_target(id).await.unwrap().unwrap();
    assert_eq!(
        (target.url.as_str(), target.secrets.current.expose_secret()),
        ("http://new.example/", "another secret to sign with")
    );
    let changed = read(&store, id).await;
    assert_eq!((changed.url.as_str(), changed.label.as_deref()), ("http://new.example/", Some("news")));
    assert_eq!((changed.progress.failures, changed.progress.retry_at), (0, None), "it is tried at once");
    assert_eq!(changed.progress.last_change_number, 3, "it goes on where it was");
    assert!(store.change_webhook(id, WebhookChange { label: Some(None), ..WebhookChange::default() }).await.unwrap());
    assert_eq!(read(&store, id).await.label, None);
    assert!(!store.change_webhook(WebhookId(id.0 + 1), WebhookChange::default()).await.unwrap());
}

#[rstest]
#[tokio::test]
async fn what_became_of_a_delivery_is_kept_and_never_enables(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let id = store.add_webhook(webhook(None)).await.unwrap();
    let retry_at = Some(at(NOW + 10));
    let failed = WebhookProgress { last_change_number: 3, failures: 2, retry_at, last_error: Some("no".into()) };
    let mut record = DeliveryRecord { progress: failed.clone(), delivered_at: None, disabled_reason: None };
    store.record_delivery(id, 0, record.clone()).await.unwrap();
    let kept = read(&store, id).await;
    assert_eq!((kept.progress, kept.enabled, kept.last_delivered_at), (failed.clone(), true, None));

    record.disabled_reason = Some("gone".into());
    store.record_delivery(id, 3, record.clone()).await.unwrap();
    (record.disabled_reason, record.delivered_at) = (None, Some(at(NOW + 20)));
    store.record_delivery(id, 3, record.clone()).await.unwrap();
    let kept = read(&store, id).await;
    assert_eq!((kept.enabled, kept.disabled_reason.as_deref()), (false, Some("gone")));
    assert_eq!(kept.last_delivered_at, Some(at(NOW + 20)));

    assert!(store.switch_webhook(id, None).await.unwrap());
    let kept = read(&store, id).await;
    assert_eq!((kept.enabled, kept.disabled_reason, kept.progress.failures), (true, None, 0));
    assert_eq!((kept.progress.retry_at, kept.progress.last_change_number), (None, 3));
    assert!(store.switch_webhook(id, Some("by an operator".into())).await.unwrap());
    assert_eq!(read(&store, id).await.disabled_reason.as_deref(), Some("by an operator"));
    assert!(store.remove_webhook(id).await.unwrap());
    assert!(!store.remove_webhook(id).await.unwrap());
    assert!(!store.switch_webhook(id, None).await.unwrap());
    assert!(!store.record_delivery(id, 3, record).await.unwrap());
    assert_eq!(store.list_webhooks(None, 9).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn p28_progress_moves_only_from_where_a_delivery_began(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let id = store.add_webhook(webhook(None)).await.unwrap();
    let reached = |last_change_number| DeliveryRecord {
        progress: WebhookProgress { last_change_number, failures: 0, retry_at: None, last_error: None },
        delivered_at: None,
        disabled_reason: None,
    };
    assert!(store.record_delivery(id, 0, reached(5)).await.unwrap());
    assert!(!store.record_delivery(id, 0, reached(3)).await.unwrap(), "another node was quicker");
    assert_eq!(read(&store, id).await.progress.last_change_number, 5);
    assert!(store.record_delivery(id, 5, reached(6)).await.unwrap());
}
