//! SQLite, embedded: one file, one thread that writes, a few that read beside it.

mod cleanup;
mod connect;
mod daemon;
mod hosts;
mod labels;
mod migrate;
mod people;
mod posts;
mod robots;
mod settle;
mod source_access;
mod sources;
mod threads;
mod values;
mod webhooks;

use async_trait::async_trait;
use rusqlite::TransactionBehavior;
use secrecy::SecretString;

use crate::model::{
    Article, ArticleId, Cleaned, Cutoffs, DeliveryRecord, HostKey, HostState, KeyProvider, NewArticle, NewSource,
    NewWebhook, Podcast, PodcastChanges, PodcastId, Post, PostId, RobotsRecord, Settled, Settlement, Source,
    SourceAccess, SourceCounts, SourceId, SourceToPoll, Timestamp, User, UserId, Webhook, WebhookChange, WebhookId,
    WebhookTarget,
};

use super::access;
use super::cipher::{Cipher, Owner};
use super::rows::{last_word_on_hosts, storable};
use super::settings::SqliteSettings;
use super::{About, Added, CHANGE_ROUNDS_MAX, Result, Saved, SourceSelection, Store, StoreError, changed_by_others};
use connect::{at, connect};
use threads::Threads;

/// How many verbs may wait for the writing thread, or for the reading ones: beyond that, callers wait to be let in.
const QUEUE_JOBS: usize = 256;

/// A store in one file.
pub struct SqliteStore {
    writer: Threads,
    readers: Threads,
    cipher: Cipher,
}

impl SqliteStore {
    /// Opens the file, creates it if it is not there, and brings its schema up to date.
    pub async fn open(settings: &SqliteSettings, cipher: Cipher, now: Timestamp) -> Result<SqliteStore> {
        let settings = settings.clone();
        let opened = tokio::task::spawn_blocking(move || -> Result<(Threads, Threads)> {
            let mut writer = connect(&settings)?;
            // A transaction that begins by reading and then finds another writer cannot wait for it; one that begins
            // as a writer can.
            writer.set_transaction_behavior(TransactionBehavior::Immediate);
            migrate::run(&mut writer, migrate::ALL, now).map_err(|error| at(&settings.path, error))?;
            sources::fill_hosts(&mut writer).map_err(|error| at(&settings.path, error))?;
            let readers = (0..settings.readers.max(1)).map(|_| connect(&settings)).collect::<Result<Vec<_>>>()?;
            for reader in &readers {
                reader.pragma_update(None, "query_only", true).map_err(values::error)?;
            }
            Ok((
                Threads::start("sqlite-writer", vec![writer], QUEUE_JOBS)?,
                Threads::start("sqlite-reader", readers, QUEUE_JOBS)?,
            ))
        });
        let (writer, readers) = opened.await.map_err(|error| StoreError::Internal(error.to_string()))??;
        Ok(SqliteStore { writer, readers, cipher })
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn about(&self) -> About {
        About { engine: "sqlite", schema_version: migrate::latest() }
    }

    async fn ping(&self) -> Result<()> {
        self.readers.run(|connection| sources::ping(connection)).await
    }

    async fn close(&self) {
        self.readers.stop().await;
        self.writer.stop().await;
    }

    async fn paused_since(&self) -> Result<Option<Timestamp>> {
        self.readers.run(|connection| daemon::paused_since(connection)).await
    }

    async fn pause_polling(&self, now: Timestamp) -> Result<Timestamp> {
        self.writer.run(move |connection| daemon::pause(connection, now)).await
    }

    async fn resume_polling(&self) -> Result<()> {
        self.writer.run(|connection| daemon::resume(connection)).await
    }

    async fn add_sources(&self, new: Vec<NewSource>) -> Result<Vec<Added>> {
        self.writer.run(move |connection| sources::add(connection, &new)).await
    }

    async fn source(&self, id: SourceId) -> Result<Option<Source>> {
        self.readers.run(move |connection| sources::one(connection, id)).await
    }

    async fn sources_to_poll(&self, ids: Vec<SourceId>) -> Result<Vec<SourceToPoll>> {
        let found = self.readers.run(move |connection| sources::to_poll(connection, &ids)).await?;
        Ok(found.into_iter().map(|one| access::to_poll(&self.cipher, one)).collect())
    }

    async fn sources_with_url(&self, url: &str) -> Result<Vec<Source>> {
        let url = storable(url).into_owned();
        self.readers.run(move |connection| sources::with_url(connection, &url)).await
    }

    async fn list_sources(&self, after: Option<SourceId>, limit: u32) -> Result<Vec<Source>> {
        self.readers.run(move |connection| sources::list(connection, after, limit)).await
    }

    async fn count_sources(&self) -> Result<SourceCounts> {
        self.readers.run(|connection| sources::count(connection)).await
    }

    async fn select_sources(
        &self,
        selection: SourceSelection,
        after: Option<SourceId>,
        limit: u32,
    ) -> Result<Vec<Source>> {
        self.readers.run(move |connection| sources::select(connection, &selection, after, limit)).await
    }

    async fn add_labels(&self, labels: Vec<(SourceId, Vec<String>)>, now: Timestamp) -> Result<()> {
        self.writer.run(move |connection| labels::add(connection, &labels, now)).await
    }

    async fn labels_of(&self, sources: Vec<SourceId>) -> Result<Vec<(SourceId, String)>> {
        self.readers.run(move |connection| labels::of(connection, &sources)).await
    }

    async fn list_labels(&self, after: Option<&str>, limit: u32) -> Result<Vec<(String, u64)>> {
        let after = storable(after.unwrap_or_default()).into_owned();
        self.readers.run(move |connection| labels::list(connection, &after, limit)).await
    }

    async fn save_source(&self, source: Source, now: Timestamp) -> Result<Saved> {
        self.writer.run(move |connection| sources::save(connection, &source, None, now)).await
    }

    async fn save_source_with_labels(&self, source: Source, labels: Vec<String>, now: Timestamp) -> Result<Saved> {
        self.writer.run(move |connection| sources::save(connection, &source, Some(&labels), now)).await
    }

    async fn remove_source(&self, id: SourceId) -> Result<bool> {
        self.writer.run(move |connection| sources::remove(connection, id)).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>> {
        self.writer.run(move |connection| settle::settle(connection, &settlements)).await
    }

    async fn post(&self, id: PostId) -> Result<Option<Post>> {
        self.readers.run(move |connection| posts::one(connection, id)).await
    }

    async fn list_posts(&self, source: Option<SourceId>, after: Option<PostId>, limit: u32) -> Result<Vec<Post>> {
        self.readers.run(move |connection| posts::list(connection, source, after, limit)).await
    }

    async fn list_posts_before(
        &self,
        source: Option<SourceId>,
        before: Option<PostId>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        self.readers.run(move |connection| posts::before(connection, source, before, limit)).await
    }

    async fn newest_posts_with_label(&self, label: &str, limit: u32) -> Result<Vec<Post>> {
        let label = storable(label).into_owned();
        self.readers.run(move |connection| posts::newest_with_label(connection, &label, limit)).await
    }

    async fn list_posts_between(
        &self,
        source: Option<SourceId>,
        since: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, PostId)>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        self.readers.run(move |connection| posts::between(connection, source, since, until, after, limit)).await
    }

    async fn clean(&self, cutoffs: Cutoffs, limit: u32) -> Result<Cleaned> {
        self.writer.run(move |connection| cleanup::step(connection, &cutoffs, limit)).await
    }

    async fn add_article(&self, new: NewArticle) -> Result<ArticleId> {
        self.writer.run(move |connection| posts::add_article(connection, &new)).await
    }

    async fn article(&self, id: ArticleId) -> Result<Option<Article>> {
        self.readers.run(move |connection| posts::article(connection, id)).await
    }

    async fn list_articles(&self, after: Option<ArticleId>, limit: u32) -> Result<Vec<Article>> {
        self.readers.run(move |connection| posts::list_articles(connection, after, limit)).await
    }

    async fn link_post(&self, article: ArticleId, post: PostId) -> Result<()> {
        self.writer.run(move |connection| posts::link(connection, article, post)).await
    }

    async fn posts_of_article(&self, article: ArticleId) -> Result<Vec<PostId>> {
        self.readers.run(move |connection| posts::of_article(connection, article)).await
    }

    async fn mark_processed(&self, article: ArticleId) -> Result<bool> {
        self.writer.run(move |connection| posts::mark_processed(connection, article)).await
    }

    async fn add_user(&self, name: &str, now: Timestamp) -> Result<UserId> {
        let name = storable(name).into_owned();
        self.writer.run(move |connection| people::add_user(connection, &name, now)).await
    }

    async fn user(&self, id: UserId) -> Result<Option<User>> {
        self.readers.run(move |connection| people::user(connection, id)).await
    }

    async fn user_named(&self, name: &str) -> Result<Option<User>> {
        let name = storable(name).into_owned();
        self.readers.run(move |connection| people::user_named(connection, &name)).await
    }

    async fn list_users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<User>> {
        self.readers.run(move |connection| people::list_users(connection, after, limit)).await
    }

    async fn rename_user(&self, id: UserId, name: &str) -> Result<bool> {
        let name = storable(name).into_owned();
        self.writer.run(move |connection| people::rename_user(connection, id, &name)).await
    }

    async fn remove_user(&self, id: UserId) -> Result<bool> {
        self.writer.run(move |connection| people::remove_user(connection, id)).await
    }

    async fn add_podcast(&self, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId> {
        let title = storable(title).into_owned();
        self.writer.run(move |connection| people::add_podcast(connection, owner, &title, now)).await
    }

    async fn podcast(&self, id: PodcastId) -> Result<Option<Podcast>> {
        self.readers.run(move |connection| people::podcast(connection, id)).await
    }

    async fn list_podcasts(&self, owner: Option<UserId>, after: Option<PodcastId>, limit: u32) -> Result<Vec<Podcast>> {
        self.readers.run(move |connection| people::list_podcasts(connection, owner, after, limit)).await
    }

    async fn change_podcast(&self, id: PodcastId, changes: PodcastChanges) -> Result<bool> {
        self.writer.run(move |connection| people::change_podcast(connection, id, &changes)).await
    }

    async fn remove_podcast(&self, id: PodcastId) -> Result<bool> {
        self.writer.run(move |connection| people::remove_podcast(connection, id)).await
    }

    async fn put_api_key(&self, user: UserId, provider: KeyProvider, key: &SecretString, now: Timestamp) -> Result<()> {
        let sealed = self.cipher.seal(Owner::ApiKey(user, provider), key)?;
        self.writer.run(move |connection| people::put_api_key(connection, user, provider, &sealed, now)).await
    }

    async fn renew_api_key(
        &self,
        user: UserId,
        provider: KeyProvider,
        used: &SecretString,
        renewed: &SecretString,
        now: Timestamp,
    ) -> Result<bool> {
        let kept = self.readers.run(move |connection| people::sealed_api_key(connection, user, provider)).await?;
        let Some(swap) = self.cipher.swap(Owner::ApiKey(user, provider), kept, used, renewed)? else {
            return Ok(false);
        };
        self.writer
            .run(move |connection| people::renew_api_key(connection, user, provider, (&swap.0, &swap.1), now))
            .await
    }

    async fn api_key(&self, user: UserId, provider: KeyProvider) -> Result<Option<SecretString>> {
        let sealed = self.readers.run(move |connection| people::sealed_api_key(connection, user, provider)).await?;
        sealed.map(|sealed| self.cipher.open(Owner::ApiKey(user, provider), &sealed)).transpose()
    }

    async fn request_x_polls(&self, user: UserId, now: Timestamp) -> Result<Vec<SourceId>> {
        self.writer.run(move |connection| people::request_x_polls(connection, user, now)).await
    }

    async fn remove_api_key(&self, user: UserId, provider: KeyProvider) -> Result<bool> {
        self.writer.run(move |connection| people::remove_api_key(connection, user, provider)).await
    }

    async fn add_source_with_access(&self, new: NewSource, access: &SourceAccess) -> Result<Added> {
        let (cipher, secret) = (self.cipher.clone(), access::to_secret(access));
        let seal = move |id| cipher.seal(Owner::SourceAccess(id), &secret);
        self.writer.run(move |connection| source_access::add(connection, &new, seal)).await
    }

    async fn save_source_access(
        &self,
        source: SourceId,
        access: Option<&SourceAccess>,
        expected_version: Option<i64>,
        now: Timestamp,
    ) -> Result<Saved> {
        let sealed = access::seal(&self.cipher, source, access)?;
        self.writer
            .run(move |connection| source_access::save(connection, source, sealed.as_deref(), expected_version, now))
            .await
    }

    async fn source_access(&self, source: SourceId) -> Result<Option<SourceAccess>> {
        let sealed = self.readers.run(move |connection| source_access::sealed(connection, source)).await?;
        let Some(sealed) = sealed else { return Ok(None) };
        access::from_secret(&self.cipher.open(Owner::SourceAccess(source), &sealed)?).map(Some)
    }

    async fn sources_with_access(&self, sources: Vec<SourceId>) -> Result<Vec<SourceId>> {
        self.readers.run(move |connection| source_access::among(connection, &sources)).await
    }

    async fn record_hosts(&self, states: Vec<HostState>) -> Result<()> {
        self.writer.run(move |connection| hosts::record(connection, &last_word_on_hosts(states))).await
    }

    async fn host(&self, key: &HostKey) -> Result<Option<HostState>> {
        let key = key.clone();
        self.readers.run(move |connection| hosts::one(connection, &key)).await
    }

    async fn hosts(&self, keys: Vec<HostKey>) -> Result<Vec<HostState>> {
        self.readers.run(move |connection| hosts::several(connection, &keys)).await
    }

    async fn list_hosts(&self, after: Option<&HostKey>, limit: u32) -> Result<Vec<HostState>> {
        let after = after.map_or_else(String::new, HostKey::to_string);
        self.readers.run(move |connection| hosts::list(connection, &after, limit)).await
    }

    async fn robots(&self, origin: &str) -> Result<Option<RobotsRecord>> {
        let origin = storable(origin).into_owned();
        self.readers.run(move |connection| robots::one(connection, &origin)).await
    }

    async fn put_robots(&self, record: RobotsRecord) -> Result<()> {
        self.writer.run(move |connection| robots::put(connection, &record)).await
    }

    async fn add_webhook(&self, new: NewWebhook) -> Result<WebhookId> {
        let sealed = self.cipher.seal(Owner::Webhook(&storable(&new.url)), &new.secret)?;
        self.writer.run(move |connection| webhooks::add(connection, &new, &sealed)).await
    }

    async fn list_webhooks(&self, after: Option<WebhookId>, limit: u32) -> Result<Vec<Webhook>> {
        self.readers.run(move |connection| webhooks::list(connection, after, limit)).await
    }

    async fn webhook(&self, id: WebhookId) -> Result<Option<Webhook>> {
        self.readers.run(move |connection| webhooks::read(connection, id)).await
    }

    async fn webhook_target(&self, id: WebhookId) -> Result<Option<WebhookTarget>> {
        let target = self.readers.run(move |connection| webhooks::sealed_target(connection, id)).await?;
        target.map(|(url, sealed)| self.cipher.open_target(url, &sealed)).transpose()
    }

    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<bool> {
        for _ in 0..CHANGE_ROUNDS_MAX {
            let found = self.readers.run(move |connection| webhooks::sealed_target(connection, id)).await?;
            let Some((url, old)) = found else { return Ok(false) };
            let (url, sealed) = self.cipher.reseal_target(&url, &old, &change)?;
            let label = change.label.clone();
            let changing = move |connection: &mut rusqlite::Connection| {
                let label = label.as_ref().map(Option::as_deref);
                webhooks::change(connection, id, &old, (&url, &sealed), label)
            };
            if self.writer.run(changing).await? {
                return Ok(true);
            }
        }
        Err(changed_by_others())
    }

    async fn record_delivery(&self, id: WebhookId, record: DeliveryRecord) -> Result<()> {
        self.writer.run(move |connection| webhooks::record(connection, id, &record)).await
    }

    async fn switch_webhook(&self, id: WebhookId, disabled_reason: Option<String>) -> Result<bool> {
        self.writer.run(move |connection| webhooks::switch(connection, id, disabled_reason.as_deref())).await
    }

    async fn remove_webhook(&self, id: WebhookId) -> Result<bool> {
        self.writer.run(move |connection| webhooks::remove(connection, id)).await
    }
}
