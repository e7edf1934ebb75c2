//! Users, their podcasts and the keys that they lend. An invalid key is never stored, and a stored one never shown.

use secrecy::{ExposeSecret, SecretString};

use super::audit::HIDDEN_CHANGE;
use super::{Result, Service, ServiceError};
use crate::model::{
    AuditFields, AuditedChange, KeyProvider, Podcast, PodcastChanges, PodcastId, SourceSettings, SourceType, Timestamp,
    User, UserId,
};
use crate::sources::{check_x_key, owner_key};
use crate::store::StoreError;

const NAME_CHARS_MAX: usize = 100;
const TITLE_CHARS_MAX: usize = 500;
/// Far more than any token has.
const KEY_BYTES_MAX: usize = 16 * 1024;

impl Service {
    pub async fn users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<User>> {
        Ok(self.store.list_users(after, limit).await?)
    }

    pub async fn user_named(&self, name: &str) -> Result<Option<User>> {
        Ok(self.store.user_named(name).await?)
    }

    pub async fn user(&self, id: UserId) -> Result<User> {
        self.store.user(id).await?.ok_or_else(|| ServiceError::not_found("user", id))
    }

    pub async fn add_user(&self, name: &str) -> Result<User> {
        let name = valid_name(name)?;
        let (change, now) = (AuditedChange::new("user.add", "user", None).named(&name), self.now());
        let id = self.audited(change, async |store| store.add_user(&name, now).await).await.map_err(name_error)?;
        self.user(id).await
    }

    pub async fn rename_user(&self, id: UserId, name: &str) -> Result<User> {
        let (name, old) = (valid_name(name)?, self.user(id).await?);
        let change = of_user("user.rename", &old).before("name", old.name.as_str()).after("name", name.as_str());
        let renamed = self.audited(change, async |store| store.rename_user(id, &name).await).await;
        match renamed.map_err(name_error)? {
            true => self.user(id).await,
            false => Err(ServiceError::not_found("user", id)),
        }
    }

    /// Removes a user with their keys. A user who owns podcasts stays.
    pub async fn remove_user(&self, id: UserId) -> Result<()> {
        let user = self.user(id).await?;
        match self.audited(of_user("user.remove", &user), async |store| store.remove_user(id).await).await? {
            true => Ok(()),
            false => Err(ServiceError::not_found("user", id)),
        }
    }

    /// When the user's X key was given or last renewed.
    pub async fn x_key_at(&self, id: UserId) -> Result<Timestamp> {
        self.user(id).await?.x_key_at.ok_or(ServiceError::NoKey(id))
    }

    /// Stores or replaces a user's X key. Accounts that have waited for one are due at once (s113).
    pub async fn put_x_key(&self, id: UserId, key: &SecretString) -> Result<()> {
        if key.expose_secret().len() > KEY_BYTES_MAX {
            return Err(ServiceError::invalid("key", format!("a key has at most {KEY_BYTES_MAX} bytes")));
        }
        let user = self.user(id).await?;
        check_x_key(key).map_err(|error| ServiceError::invalid("key", format!("it {error}")))?;
        let (change, now) = (of_user("user.key", &user).after("x_key", HIDDEN_CHANGE), self.now());
        self.audited(change, async |store| store.put_api_key(id, KeyProvider::X, key, now).await).await?;
        self.poll_accounts_of(id).await
    }

    pub async fn remove_x_key(&self, id: UserId) -> Result<()> {
        let user = self.user(id).await.map_err(|error| match error {
            ServiceError::NotFound { .. } => ServiceError::NoKey(id),
            other => other,
        })?;
        let change = of_user("user.key-remove", &user).before("x_key", HIDDEN_CHANGE);
        match self.audited(change, async |store| store.remove_api_key(id, KeyProvider::X).await).await? {
            true => Ok(()),
            false => Err(ServiceError::NoKey(id)),
        }
    }

    pub async fn podcasts(&self, owner: Option<UserId>, after: Option<PodcastId>, limit: u32) -> Result<Vec<Podcast>> {
        Ok(self.store.list_podcasts(owner, after, limit).await?)
    }

    pub async fn podcast(&self, id: PodcastId) -> Result<Podcast> {
        self.store.podcast(id).await?.ok_or_else(|| ServiceError::not_found("podcast", id))
    }

    pub async fn add_podcast(&self, owner: UserId, title: &str) -> Result<Podcast> {
        let title = valid_text(title, "title", TITLE_CHARS_MAX)?;
        self.check_owner(owner).await?;
        let change = AuditedChange::new("podcast.add", "podcast", None).named(&title).after("user_id", owner.0);
        let now = self.now();
        let id = self.audited(change, async |store| store.add_podcast(owner, &title, now).await).await?;
        self.podcast(id).await
    }

    /// Changes the title or owner of a podcast. A new owner may have the key that its X accounts have waited for.
    pub async fn change_podcast(&self, id: PodcastId, changes: PodcastChanges) -> Result<Podcast> {
        let title = changes.title.as_deref().map(|title| valid_text(title, "title", TITLE_CHARS_MAX)).transpose()?;
        let owner = changes.user_id;
        if let Some(owner) = owner {
            self.check_owner(owner).await?;
        }
        let (old, changes) = (self.podcast(id).await?, PodcastChanges { title, ..changes });
        let after = AuditFields::default()
            .with("title", changes.title.as_deref().unwrap_or(&old.title))
            .with("user_id", owner.unwrap_or(old.user_id).0);
        let change = of_podcast("podcast.edit", &old).differences(podcast_fields(&old), after);
        if !self.audited(change, async |store| store.change_podcast(id, changes).await).await? {
            return Err(ServiceError::not_found("podcast", id));
        }
        if let Some(owner) = owner {
            self.poll_accounts_of(owner).await?;
        }
        self.podcast(id).await
    }

    /// Removes a podcast. One that has sources or articles stays.
    pub async fn remove_podcast(&self, id: PodcastId) -> Result<()> {
        let podcast = self.podcast(id).await?;
        let change = of_podcast("podcast.remove", &podcast);
        match self.audited(change, async |store| store.remove_podcast(id).await).await? {
            true => Ok(()),
            false => Err(ServiceError::not_found("podcast", id)),
        }
    }

    /// The store would reject a missing podcast as well, but not name the field.
    pub(super) async fn check_podcast(&self, podcast: Option<PodcastId>) -> Result<()> {
        let Some(id) = podcast else { return Ok(()) };
        let missing = || ServiceError::invalid("podcast_id", format!("there is no podcast {id}"));
        self.store.podcast(id).await?.map(|_| ()).ok_or_else(missing)
    }

    async fn check_owner(&self, owner: UserId) -> Result<()> {
        let missing = || ServiceError::invalid("user_id", format!("there is no user {owner}"));
        self.store.user(owner).await?.map(|_| ()).ok_or_else(missing)
    }

    /// Makes the sources due that have waited for a key of this user.
    async fn poll_accounts_of(&self, user: UserId) -> Result<()> {
        for source_type in SourceType::ALL.into_iter().filter(|source_type| owner_key(*source_type).is_some()) {
            let due = self.store.request_keyed_polls(user, source_type, self.now()).await?;
            self.pipeline.sources_changed(due);
        }
        Ok(())
    }

    /// The key that a source needs and does not have, and how to give it.
    pub(super) async fn missing_key(&self, settings: &SourceSettings) -> Result<Option<String>> {
        let Some(key) = owner_key(settings.source_type) else { return Ok(None) };
        let Some(podcast_id) = settings.podcast_id else { return Ok(Some((key.missing)(None))) };
        let owner = match self.store.podcast(podcast_id).await? {
            Some(podcast) => self.store.user(podcast.user_id).await?,
            None => None,
        };
        let has_key = owner.is_some_and(|owner| owner.x_key_at.is_some());
        Ok((!has_key).then(|| (key.missing)(Some(podcast_id))))
    }
}

fn of_user(action: &'static str, user: &User) -> AuditedChange {
    AuditedChange::new(action, "user", Some(user.id.to_string())).named(&user.name)
}

fn of_podcast(action: &'static str, podcast: &Podcast) -> AuditedChange {
    AuditedChange::new(action, "podcast", Some(podcast.id.to_string())).named(&podcast.title)
}

fn podcast_fields(podcast: &Podcast) -> AuditFields {
    AuditFields::default().with("title", podcast.title.as_str()).with("user_id", podcast.user_id.0)
}

/// A name that the command line cannot take for an id.
fn valid_name(name: &str) -> Result<String> {
    let name = valid_text(name, "name", NAME_CHARS_MAX)?;
    match name.bytes().all(|byte| byte.is_ascii_digit()) {
        true => {
            let detail = "a name must not consist of digits only, because it could be taken for an id";
            Err(ServiceError::invalid("name", detail))
        }
        false => Ok(name),
    }
}

/// A name or title without surrounding white space.
fn valid_text(given: &str, field: &str, characters_max: usize) -> Result<String> {
    let text = given.trim();
    if !(1..=characters_max).contains(&text.chars().count()) || text.chars().any(char::is_control) {
        let detail = format!("write 1 to {characters_max} characters, none of them a control character");
        return Err(ServiceError::invalid(field, detail));
    }
    Ok(text.to_owned())
}

fn name_error(error: ServiceError) -> ServiceError {
    match error {
        ServiceError::Store(taken @ StoreError::NameTaken(_)) => {
            ServiceError::Taken { field: "name", detail: taken.to_string() }
        }
        other => other,
    }
}
