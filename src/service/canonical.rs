//! One URL for one source, however it is written. A source that was stored under another spelling keeps it.

use super::{Result, Service};
use crate::model::{Source, SourceSettings, SourceType};
use crate::sources::kind;
use crate::store::{Store, StoreError};

/// The settings with the canonical URL, unless a source is stored under the URL as given.
pub(super) async fn canonicalize(
    store: &dyn Store,
    settings: SourceSettings,
) -> std::result::Result<SourceSettings, StoreError> {
    let url = kind(settings.source_type).canonical_url(&settings.url);
    if url == settings.url {
        return Ok(settings);
    }
    let is_same = |source: &Source| {
        source.settings.source_type == settings.source_type && source.settings.podcast_id == settings.podcast_id
    };
    if store.sources_with_url(&settings.url).await?.iter().any(is_same) {
        return Ok(settings);
    }
    Ok(SourceSettings { url, ..settings })
}

impl Service {
    /// The sources stored under this URL, as given or in canonical form, in the order of their ids.
    pub async fn sources_with_url(&self, url: &str) -> Result<Vec<Source>> {
        let mut urls = vec![url.to_owned()];
        urls.extend(SourceType::ALL.map(|source_type| kind(source_type).canonical_url(url)));
        urls.sort();
        urls.dedup();
        let mut found = Vec::new();
        for url in urls {
            found.extend(self.store.sources_with_url(&url).await?);
        }
        found.sort_by_key(|source| source.id);
        Ok(found)
    }
}
