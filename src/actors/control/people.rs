//! Keys that users lend: what is no key is never stored, and what a source lacks for want of one is said in words.

use secrecy::SecretString;

use super::{ControlError, PipelineHandle};
use crate::fetch::{check_x_key, x_key_missing};
use crate::model::{KeyProvider, SourceSettings, SourceType, UserId};

impl PipelineHandle {
    /// Keeps a user's X key in the place of an earlier one, if it is a key. Accounts that waited for one are due at once
    /// (s113).
    pub async fn put_x_key(&self, user: UserId, key: &SecretString) -> Result<(), ControlError> {
        check_x_key(key)?;
        self.context.store.put_api_key(user, KeyProvider::X, key, self.context.clock.now()).await?;
        self.poll_accounts_of(user).await
    }

    /// Makes the X accounts due that have waited for this user's key, now that there may be one.
    pub async fn poll_accounts_of(&self, user: UserId) -> Result<(), ControlError> {
        let due = self.context.store.request_x_polls(user, self.context.clock.now()).await?;
        self.sources_changed(due);
        Ok(())
    }

    /// What a source needs to be read and does not have, and how to give it; nothing if nothing is known to be missing.
    pub async fn lacks(&self, settings: &SourceSettings) -> Result<Option<String>, ControlError> {
        if settings.source_type != SourceType::Twitter {
            return Ok(None);
        }
        let store = &self.context.store;
        let Some(podcast_id) = settings.podcast_id else { return Ok(Some(x_key_missing(None))) };
        let podcast = store.podcast(podcast_id).await?;
        let owner = match podcast {
            Some(podcast) => store.user(podcast.user_id).await?,
            None => None,
        };
        let has_key = owner.is_some_and(|owner| owner.x_key_at.is_some());
        Ok((!has_key).then(|| x_key_missing(Some(podcast_id))))
    }
}
