//! PostgreSQL, for servers and for several nodes that share one database.

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
mod values;
mod webhooks;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use async_trait::async_trait;
use deadpool_postgres::{Client, Pool};
use secrecy::SecretString;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use crate::model::{
    Article, ArticleId, Cleaned, Cutoffs, DeliveryRecord, HostKey, HostState, KeyProvider, NewArticle, NewSource,
    NewWebhook, Podcast, PodcastChanges, PodcastId, Post, PostId, RobotsRecord, Settled, Settlement, Source,
    SourceAccess, SourceCounts, SourceId, SourceToPoll, Timestamp, User, UserId, Webhook, WebhookChange, WebhookId,
    WebhookTarget,
};

use super::access;
use super::cipher::{Cipher, Owner};
use super::rows::{last_word_on_hosts, storable};
use super::settings::PostgresSettings;
use super::{About, Added, CHANGE_ROUNDS_MAX, Result, Saved, SourceSelection, Store, changed_by_others};

/// A store on a server.
pub struct PostgresStore {
    pool: Pool,
    /// Held for reading by every verb that is under way, so that closing can wait for them.
    under_way: Arc<RwLock<()>>,
    cipher: Cipher,
}

/// A connection, for the time of one verb.
struct Lease {
    client: Client,
    _under_way: OwnedRwLockReadGuard<()>,
}

impl PostgresStore {
    /// Connects to the server and brings the database's schema up to date.
    pub async fn open(settings: &PostgresSettings, cipher: Cipher, now: Timestamp) -> Result<PostgresStore> {
        let pool = connect::pool(settings)?;
        let mut client = pool.get().await.map_err(values::pool_error)?;
        connect::check_server(&client).await?;
        migrate::run(&mut client, migrate::ALL, now).await?;
        sources::fill_hosts(&client).await?;
        drop(client);
        Ok(PostgresStore { pool, under_way: Arc::default(), cipher })
    }

    async fn client(&self) -> Result<Lease> {
        let under_way = self.under_way.clone().read_owned().await;
        Ok(Lease { client: self.pool.get().await.map_err(values::pool_error)?, _under_way: under_way })
    }
}

impl Deref for Lease {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn about(&self) -> About {
        About { engine: "postgres", schema_version: migrate::latest() }
    }

    async fn ping(&self) -> Result<()> {
        sources::ping(&*self.client().await?).await
    }

    async fn close(&self) {
        self.pool.close();
        let _nothing_is_under_way = self.under_way.write().await;
    }

    async fn paused_since(&self) -> Result<Option<Timestamp>> {
        daemon::paused_since(&*self.client().await?).await
    }

    async fn pause_polling(&self, now: Timestamp) -> Result<Timestamp> {
        daemon::pause(&*self.client().await?, now).await
    }

    async fn resume_polling(&self) -> Result<()> {
        daemon::resume(&*self.client().await?).await
    }

    async fn add_sources(&self, new: Vec<NewSource>) -> Result<Vec<Added>> {
        sources::add(&mut *self.client().await?, &new).await
    }

    async fn source(&self, id: SourceId) -> Result<Option<Source>> {
        sources::one(&*self.client().await?, id).await
    }

    async fn sources_to_poll(&self, ids: Vec<SourceId>) -> Result<Vec<SourceToPoll>> {
        let found = sources::to_poll(&*self.client().await?, &ids).await?;
        Ok(found.into_iter().map(|one| access::to_poll(&self.cipher, one)).collect())
    }

    async fn sources_with_url(&self, url: &str) -> Result<Vec<Source>> {
        sources::with_url(&*self.client().await?, &storable(url)).await
    }

    async fn list_sources(&self, after: Option<SourceId>, limit: u32) -> Result<Vec<Source>> {
        sources::list(&*self.client().await?, after, limit).await
    }

    async fn count_sources(&self) -> Result<SourceCounts> {
        sources::count(&*self.client().await?).await
    }

    async fn select_sources(
        &self,
        selection: SourceSelection,
        after: Option<SourceId>,
        limit: u32,
    ) -> Result<Vec<Source>> {
        sources::select(&*self.client().await?, &selection, after, limit).await
    }

    async fn add_labels(&self, labels: Vec<(SourceId, Vec<String>)>, now: Timestamp) -> Result<()> {
        labels::add(&mut *self.client().await?, &labels, now).await
    }

    async fn labels_of(&self, sources: Vec<SourceId>) -> Result<Vec<(SourceId, String)>> {
        labels::of(&*self.client().await?, &sources).await
    }

    async fn list_labels(&self, after: Option<&str>, limit: u32) -> Result<Vec<(String, u64)>> {
        labels::list(&*self.client().await?, &storable(after.unwrap_or_default()), limit).await
    }

    async fn save_source(&self, source: Source, now: Timestamp) -> Result<Saved> {
        sources::save(&mut *self.client().await?, &source, None, now).await
    }

    async fn save_source_with_labels(&self, source: Source, labels: Vec<String>, now: Timestamp) -> Result<Saved> {
        sources::save(&mut *self.client().await?, &source, Some(&labels), now).await
    }

    async fn remove_source(&self, id: SourceId) -> Result<bool> {
        sources::remove(&*self.client().await?, id).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>> {
        settle::settle(&mut *self.client().await?, &settlements).await
    }

    async fn post(&self, id: PostId) -> Result<Option<Post>> {
        posts::one(&*self.client().await?, id).await
    }

    async fn list_posts(&self, source: Option<SourceId>, after: Option<PostId>, limit: u32) -> Result<Vec<Post>> {
        posts::list(&*self.client().await?, source, after, limit).await
    }

    async fn list_posts_before(
        &self,
        source: Option<SourceId>,
        before: Option<PostId>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        posts::before(&*self.client().await?, source, before, limit).await
    }

    async fn newest_posts_with_label(&self, label: &str, limit: u32) -> Result<Vec<Post>> {
        posts::newest_with_label(&*self.client().await?, &storable(label), limit).await
    }

    async fn list_posts_between(
        &self,
        source: Option<SourceId>,
        since: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, PostId)>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        posts::between(&*self.client().await?, source, since, until, after, limit).await
    }

    async fn clean(&self, cutoffs: Cutoffs, limit: u32) -> Result<Cleaned> {
        cleanup::step(&mut *self.client().await?, &cutoffs, limit).await
    }

    async fn add_article(&self, new: NewArticle) -> Result<ArticleId> {
        posts::add_article(&*self.client().await?, &new).await
    }

    async fn article(&self, id: ArticleId) -> Result<Option<Article>> {
        posts::article(&*self.client().await?, id).await
    }

    async fn list_articles(&self, after: Option<ArticleId>, limit: u32) -> Result<Vec<Article>> {
        posts::list_articles(&*self.client().await?, after, limit).await
    }

    async fn link_post(&self, article: ArticleId, post: PostId) -> Result<()> {
        posts::link(&*self.client().await?, article, post).await
    }

    async fn posts_of_article(&self, article: ArticleId) -> Result<Vec<PostId>> {
        posts::of_article(&*self.client().await?, article).await
    }

    async fn mark_processed(&self, article: ArticleId) -> Result<bool> {
        posts::mark_processed(&*self.client().await?, article).await
    }

    async fn add_user(&self, name: &str, now: Timestamp) -> Result<UserId> {
        people::add_user(&*self.client().await?, &storable(name), now).await
    }

    async fn user(&self, id: UserId) -> Result<Option<User>> {
        people::user(&*self.client().await?, id).await
    }

    async fn user_named(&self, name: &str) -> Result<Option<User>> {
        people::user_named(&*self.client().await?, &storable(name)).await
    }

    async fn list_users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<User>> {
        people::list_users(&*self.client().await?, after, limit).await
    }

    async fn rename_user(&self, id: UserId, name: &str) -> Result<bool> {
        people::rename_user(&*self.client().await?, id, &storable(name)).await
    }

    async fn remove_user(&self, id: UserId) -> Result<bool> {
        people::remove_user(&*self.client().await?, id).await
    }

    async fn add_podcast(&self, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId> {
        people::add_podcast(&*self.client().await?, owner, &storable(title), now).await
    }

    async fn podcast(&self, id: PodcastId) -> Result<Option<Podcast>> {
        people::podcast(&*self.client().await?, id).await
    }

    async fn list_podcasts(&self, owner: Option<UserId>, after: Option<PodcastId>, limit: u32) -> Result<Vec<Podcast>> {
        people::list_podcasts(&*self.client().await?, owner, after, limit).await
    }

    async fn change_podcast(&self, id: PodcastId, changes: PodcastChanges) -> Result<bool> {
        people::change_podcast(&*self.client().await?, id, &changes).await
    }

    async fn remove_podcast(&self, id: PodcastId) -> Result<bool> {
        people::remove_podcast(&*self.client().await?, id).await
    }

    async fn put_api_key(&self, user: UserId, provider: KeyProvider, key: &SecretString, now: Timestamp) -> Result<()> {
        let sealed = self.cipher.seal(Owner::ApiKey(user, provider), key)?;
        people::put_api_key(&*self.client().await?, user, provider, &sealed, now).await
    }

    async fn renew_api_key(
        &self,
        user: UserId,
        provider: KeyProvider,
        used: &SecretString,
        renewed: &SecretString,
        now: Timestamp,
    ) -> Result<bool> {
        let client = self.client().await?;
        let kept = people::sealed_api_key(&client, user, provider).await?;
        match self.cipher.swap(Owner::ApiKey(user, provider), kept, used, renewed)? {
            Some(swap) => people::renew_api_key(&client, user, provider, (&swap.0, &swap.1), now).await,
            None => Ok(false),
        }
    }

    async fn api_key(&self, user: UserId, provider: KeyProvider) -> Result<Option<SecretString>> {
        let sealed = people::sealed_api_key(&*self.client().await?, user, provider).await?;
        sealed.map(|sealed| self.cipher.open(Owner::ApiKey(user, provider), &sealed)).transpose()
    }

    async fn request_x_polls(&self, user: UserId, now: Timestamp) -> Result<Vec<SourceId>> {
        people::request_x_polls(&*self.client().await?, user, now).await
    }

    async fn remove_api_key(&self, user: UserId, provider: KeyProvider) -> Result<bool> {
        people::remove_api_key(&*self.client().await?, user, provider).await
    }

    async fn add_source_with_access(&self, new: NewSource, access: &SourceAccess) -> Result<Added> {
        let secret = access::to_secret(access);
        let seal = |id| self.cipher.seal(Owner::SourceAccess(id), &secret);
        source_access::add(&mut *self.client().await?, &new, seal).await
    }

    async fn save_source_access(
        &self,
        source: SourceId,
        access: Option<&SourceAccess>,
        expected_version: Option<i64>,
        now: Timestamp,
    ) -> Result<Saved> {
        let sealed = access::seal(&self.cipher, source, access)?;
        source_access::save(&mut *self.client().await?, source, sealed.as_deref(), expected_version, now).await
    }

    async fn source_access(&self, source: SourceId) -> Result<Option<SourceAccess>> {
        let Some(sealed) = source_access::sealed(&*self.client().await?, source).await? else { return Ok(None) };
        access::from_secret(&self.cipher.open(Owner::SourceAccess(source), &sealed)?).map(Some)
    }

    async fn sources_with_access(&self, sources: Vec<SourceId>) -> Result<Vec<SourceId>> {
        source_access::among(&*self.client().await?, &sources).await
    }

    async fn record_hosts(&self, states: Vec<HostState>) -> Result<()> {
        hosts::record(&*self.client().await?, &last_word_on_hosts(states)).await
    }

    async fn host(&self, key: &HostKey) -> Result<Option<HostState>> {
        hosts::one(&*self.client().await?, key).await
    }

    async fn hosts(&self, keys: Vec<HostKey>) -> Result<Vec<HostState>> {
        hosts::several(&*self.client().await?, &keys).await
    }

    async fn list_hosts(&self, after: Option<&HostKey>, limit: u32) -> Result<Vec<HostState>> {
        hosts::list(&*self.client().await?, after.map_or("", HostKey::as_str), limit).await
    }

    async fn robots(&self, origin: &str) -> Result<Option<RobotsRecord>> {
        robots::one(&*self.client().await?, &storable(origin)).await
    }

    async fn put_robots(&self, record: RobotsRecord) -> Result<()> {
        robots::put(&*self.client().await?, &record).await
    }

    async fn add_webhook(&self, new: NewWebhook) -> Result<WebhookId> {
        let sealed = self.cipher.seal(Owner::Webhook(&storable(&new.url)), &new.secret)?;
        webhooks::add(&*self.client().await?, &new, &sealed).await
    }

    async fn list_webhooks(&self, after: Option<WebhookId>, limit: u32) -> Result<Vec<Webhook>> {
        webhooks::list(&*self.client().await?, after, limit).await
    }

    async fn webhook(&self, id: WebhookId) -> Result<Option<Webhook>> {
        webhooks::read(&*self.client().await?, id).await
    }

    async fn webhook_target(&self, id: WebhookId) -> Result<Option<WebhookTarget>> {
        let target = webhooks::sealed_target(&*self.client().await?, id).await?;
        target.map(|(url, sealed)| self.cipher.open_target(url, &sealed)).transpose()
    }

    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<bool> {
        let client = &*self.client().await?;
        let label = change.label.as_ref().map(Option::as_deref);
        for _ in 0..CHANGE_ROUNDS_MAX {
            let Some((url, old)) = webhooks::sealed_target(client, id).await? else { return Ok(false) };
            let (url, sealed) = self.cipher.reseal_target(&url, &old, &change)?;
            if webhooks::change(client, id, &old, (&url, &sealed), label).await? {
                return Ok(true);
            }
        }
        Err(changed_by_others())
    }

    async fn record_delivery(&self, id: WebhookId, record: DeliveryRecord) -> Result<()> {
        webhooks::record(&*self.client().await?, id, &record).await
    }

    async fn switch_webhook(&self, id: WebhookId, disabled_reason: Option<String>) -> Result<bool> {
        webhooks::switch(&*self.client().await?, id, disabled_reason.as_deref()).await
    }

    async fn remove_webhook(&self, id: WebhookId) -> Result<bool> {
        webhooks::remove(&*self.client().await?, id).await
    }
}
