//! What a store does, by noun. Each trait is implemented for an engine in the file that uses its SQL.

use async_trait::async_trait;
use secrecy::SecretString;

use crate::model::{
    Article, ArticleId, DeliveryRecord, HostKey, HostState, KeyProvider, NewArticle, NewSource, NewWebhook, Podcast,
    PodcastChanges, PodcastId, Post, PostId, RobotsRecord, Settled, Settlement, Source, SourceAccess, SourceCounts,
    SourceId, SourceToPoll, SourceType, Timestamp, User, UserId, Webhook, WebhookChange, WebhookId, WebhookTarget,
};

use super::{Added, Result, Saved, SourceSelection};

/// What the daemon must know of itself after a restart.
#[async_trait]
pub trait DaemonStore: Send + Sync {
    /// Since when polling is paused, if it is.
    async fn paused_since(&self) -> Result<Option<Timestamp>>;

    /// Keeps polling paused from now on, across restarts, and says since when it is: a second pause begins nothing anew.
    async fn pause_polling(&self, now: Timestamp) -> Result<Timestamp>;

    /// Ends the pause, if there is one.
    async fn resume_polling(&self) -> Result<()>;
}

/// Sources and what polling finds out about them.
#[async_trait]
pub trait SourceStore: Send + Sync {
    /// Adds sources; each is new, or is there already. All or none are added.
    async fn add_sources(&self, new: Vec<NewSource>) -> Result<Vec<Added>>;

    /// One source.
    async fn source(&self, id: SourceId) -> Result<Option<Source>>;

    /// These sources with what they need to be let in, in any order; those that are not there are left out.
    async fn sources_to_poll(&self, ids: Vec<SourceId>) -> Result<Vec<SourceToPoll>>;

    /// All sources at a URL: one for each podcast and type at the most.
    async fn sources_with_url(&self, url: &str) -> Result<Vec<Source>>;

    /// The sources that follow this one in the order of their numbers.
    async fn list_sources(&self, after: Option<SourceId>, limit: u32) -> Result<Vec<Source>>;

    /// The sources of this selection that follow this one in the order of their numbers.
    async fn select_sources(
        &self,
        selection: SourceSelection,
        after: Option<SourceId>,
        limit: u32,
    ) -> Result<Vec<Source>>;

    /// How many sources there are. Looks at all of them, so it is not for every moment.
    async fn count_sources(&self) -> Result<SourceCounts>;

    /// Writes the settings and state of a source that was read before and then changed.
    async fn save_source(&self, source: Source, now: Timestamp) -> Result<Saved>;

    /// The same, and gives it these labels and no others, in this order.
    async fn save_source_with_labels(&self, source: Source, labels: Vec<String>, now: Timestamp) -> Result<Saved>;

    /// Removes a source with its posts; false if it is not there.
    async fn remove_source(&self, id: SourceId) -> Result<bool>;

    /// Writes what polls left behind, all in one transaction; each is written whole or not at all. The answers come in
    /// the order of the settlements.
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>>;
}

/// Labels of sources.
#[async_trait]
pub trait LabelStore: Send + Sync {
    /// Gives sources labels beside those that they have. Those that had not all of them before have a new version.
    async fn add_labels(&self, labels: Vec<(SourceId, Vec<String>)>, now: Timestamp) -> Result<()>;

    /// The labels of these sources, source by source, each in its order.
    async fn labels_of(&self, sources: Vec<SourceId>) -> Result<Vec<(SourceId, String)>>;

    /// The labels that follow this one in the order of their spellings, each with the number of its sources.
    async fn list_labels(&self, after: Option<&str>, limit: u32) -> Result<Vec<(String, u64)>>;
}

/// Headers and logins of sources, encrypted.
#[async_trait]
pub trait SourceAccessStore: Send + Sync {
    /// Adds a source with what it needs to be let in, encrypted: both or neither.
    async fn add_source_with_access(&self, new: NewSource, access: &SourceAccess) -> Result<Added>;

    /// Keeps what a source needs to be let in, encrypted, in the place of what was kept before, or nothing at all; if a
    /// version is named, only if the source still has it. The source has another version then, and no validators.
    async fn save_source_access(
        &self,
        source: SourceId,
        access: Option<&SourceAccess>,
        expected_version: Option<i64>,
        now: Timestamp,
    ) -> Result<Saved>;

    /// What a source needs to be let in.
    async fn source_access(&self, source: SourceId) -> Result<Option<SourceAccess>>;

    /// Those of these sources for which something is kept, in any order.
    async fn sources_with_access(&self, sources: Vec<SourceId>) -> Result<Vec<SourceId>>;
}

/// Posts. They are added by [`SourceStore::settle`] and removed by [`Store::clean`](super::Store::clean).
#[async_trait]
pub trait PostStore: Send + Sync {
    /// One post.
    async fn post(&self, id: PostId) -> Result<Option<Post>>;

    /// The posts that follow this one in the order of their numbers, of one source or of all.
    async fn list_posts(&self, source: Option<SourceId>, after: Option<PostId>, limit: u32) -> Result<Vec<Post>>;

    /// The posts before this one, the newest first; from the newest of all without one.
    async fn list_posts_before(
        &self,
        source: Option<SourceId>,
        before: Option<PostId>,
        limit: u32,
    ) -> Result<Vec<Post>>;

    /// The newest posts of sources with this label, the newest first, as far as they are among the last 20,000 of all.
    async fn newest_posts_with_label(&self, label: &str, limit: u32) -> Result<Vec<Post>>;

    /// The posts, of one source or of all, that were stored from one moment on and before another, in that order, after
    /// this one.
    async fn list_posts_between(
        &self,
        source: Option<SourceId>,
        since: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, PostId)>,
        limit: u32,
    ) -> Result<Vec<Post>>;
}

/// Articles and the posts that they were made of.
#[async_trait]
pub trait ArticleStore: Send + Sync {
    /// Adds an article.
    async fn add_article(&self, new: NewArticle) -> Result<ArticleId>;

    /// One article.
    async fn article(&self, id: ArticleId) -> Result<Option<Article>>;

    /// The articles that follow this one in the order of their numbers.
    async fn list_articles(&self, after: Option<ArticleId>, limit: u32) -> Result<Vec<Article>>;

    /// Says that an article was made of a post; saying it twice does nothing.
    async fn link_post(&self, article: ArticleId, post: PostId) -> Result<()>;

    /// The posts that an article was made of.
    async fn posts_of_article(&self, article: ArticleId) -> Result<Vec<PostId>>;

    /// Makes an article part of history; false if it is not there.
    async fn mark_processed(&self, article: ArticleId) -> Result<bool>;
}

/// Users with their podcasts and API keys.
#[async_trait]
pub trait UserStore: Send + Sync {
    /// Adds a user.
    async fn add_user(&self, name: &str, now: Timestamp) -> Result<UserId>;

    /// One user.
    async fn user(&self, id: UserId) -> Result<Option<User>>;

    /// The user of this name.
    async fn user_named(&self, name: &str) -> Result<Option<User>>;

    /// The users that follow this one in the order of their numbers.
    async fn list_users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<User>>;

    /// Gives a user another name; false if there is no such user.
    async fn rename_user(&self, id: UserId, name: &str) -> Result<bool>;

    /// Removes a user with their keys; false if there is none. Whoever owns podcasts stays.
    async fn remove_user(&self, id: UserId) -> Result<bool>;

    /// Adds a podcast.
    async fn add_podcast(&self, owner: UserId, title: &str, now: Timestamp) -> Result<PodcastId>;

    /// One podcast, and with it its owner.
    async fn podcast(&self, id: PodcastId) -> Result<Option<Podcast>>;

    /// The podcasts that follow this one in the order of their numbers, of one user or of all.
    async fn list_podcasts(&self, owner: Option<UserId>, after: Option<PodcastId>, limit: u32) -> Result<Vec<Podcast>>;

    /// Changes a podcast; false if it is not there.
    async fn change_podcast(&self, id: PodcastId, changes: PodcastChanges) -> Result<bool>;

    /// Removes a podcast; false if it is not there. One that sources or articles belong to stays.
    async fn remove_podcast(&self, id: PodcastId) -> Result<bool>;

    /// Keeps a user's key, encrypted, in the place of an earlier one.
    async fn put_api_key(&self, user: UserId, provider: KeyProvider, key: &SecretString, now: Timestamp) -> Result<()>;

    /// Keeps what a user's key was renewed to, encrypted; false, and nothing is kept, if the one that was used has been
    /// replaced or removed meanwhile.
    async fn renew_api_key(
        &self,
        user: UserId,
        provider: KeyProvider,
        used: &SecretString,
        renewed: &SecretString,
        now: Timestamp,
    ) -> Result<bool>;

    /// A user's key.
    async fn api_key(&self, user: UserId, provider: KeyProvider) -> Result<Option<SecretString>>;

    /// Makes the sources of this type due that were refused, or not asked for, for want of this user's key.
    async fn request_keyed_polls(&self, user: UserId, source_type: SourceType, now: Timestamp)
    -> Result<Vec<SourceId>>;

    /// Removes a user's key; false if there is none.
    async fn remove_api_key(&self, user: UserId, provider: KeyProvider) -> Result<bool>;
}

/// Hosts, and what their `robots.txt` files said.
#[async_trait]
pub trait HostStore: Send + Sync {
    /// Remembers when hosts were asked last and until when they are held.
    async fn record_hosts(&self, hosts: Vec<HostState>) -> Result<()>;

    /// One host.
    async fn host(&self, key: &HostKey) -> Result<Option<HostState>>;

    /// These hosts, in any order; those that nobody has recorded are left out.
    async fn hosts(&self, keys: Vec<HostKey>) -> Result<Vec<HostState>>;

    /// The hosts that follow this one in the order of their spellings.
    async fn list_hosts(&self, after: Option<&HostKey>, limit: u32) -> Result<Vec<HostState>>;

    /// What the `robots.txt` of an origin said last, however long ago.
    async fn robots(&self, origin: &str) -> Result<Option<RobotsRecord>>;

    /// Keeps what a `robots.txt` said, in the place of what it said before. Cleaning forgets it.
    async fn put_robots(&self, record: RobotsRecord) -> Result<()>;
}

/// Webhooks and their deliveries.
#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Adds a webhook, its secret encrypted. It gets what is stored from now on.
    async fn add_webhook(&self, new: NewWebhook) -> Result<WebhookId>;

    /// The webhooks that follow this one in the order of their numbers.
    async fn list_webhooks(&self, after: Option<WebhookId>, limit: u32) -> Result<Vec<Webhook>>;

    /// One webhook.
    async fn webhook(&self, id: WebhookId) -> Result<Option<Webhook>>;

    /// Where the deliveries of a webhook go and what they are signed with, as they belong together.
    async fn webhook_target(&self, id: WebhookId) -> Result<Option<WebhookTarget>>;

    /// Changes what is named and nothing else, so that changes of different things never lose one another, and tries the
    /// webhook anew; false if it is not there.
    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<bool>;

    /// Remembers what became of a delivery; nothing happens if the webhook is not there.
    async fn record_delivery(&self, id: WebhookId, record: DeliveryRecord) -> Result<()>;

    /// Enables a webhook with a clean slate, or disables it for this reason; false if it is not there.
    async fn switch_webhook(&self, id: WebhookId, disabled_reason: Option<String>) -> Result<bool>;

    /// Removes a webhook; false if it is not there.
    async fn remove_webhook(&self, id: WebhookId) -> Result<bool>;
}
