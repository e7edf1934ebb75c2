//! Keys that users lend: what is no key is never stored, and what a source lacks for want of one is said in words.

use secrecy::SecretString;

use super::{ControlError, PipelineHandle};
use crate::model::{KeyProvider, SourceSettings, SourceType, UserId};
use crate::sources::{check_x_key, owner_key};

impl PipelineHandle {
    /// Keeps a user's X key in the place of an earlier one, if it is a key. Accounts that waited for one are due at once
    /// (s113).
    pub async fn put_x_key(&self, user: UserId, key: &SecretString) -> Result<(), ControlError> {
        check_x_key(key)?;
        self.context.store.put_api_key(user, KeyProvider::X, key, self.context.clock.now()).await?;
        self.poll_accounts_of(user).await
    }

    /// Makes the sources due that have waited for this user's key, now that there may be one.
    pub async fn poll_accounts_of(&self, user: UserId) -> Result<(), ControlError> {
        let now = self.context.clock.now();
        for source_type in SourceType::ALL.into_iter().filter(|source_type| owner_key(*source_type).is_some()) {
            let due = self.context.store.request_keyed_polls(user, source_type, now).await?;
            self.sources_changed(due);
        }
        Ok(())
    }

    /// What a source needs to be read and does not have, and how to give it; nothing if nothing is known to be missing.
    pub async fn lacks(&self, settings: &SourceSettings) -> Result<Option<String>, ControlError> {
        let Some(key) = owner_key(settings.source_type) else { return Ok(None) };
        let store = &self.context.store;
        let Some(podcast_id) = settings.podcast_id else { return Ok(Some((key.missing)(None))) };
        let podcast = store.podcast(podcast_id).await?;
        let owner = match podcast {
            Some(podcast) => store.user(podcast.user_id).await?,
            None => None,
        };
        let has_key = owner.is_some_and(|owner| owner.x_key_at.is_some());
        Ok((!has_key).then(|| (key.missing)(Some(podcast_id))))
    }
}
