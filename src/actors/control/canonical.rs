//! One source, one URL, however it is written. A URL that was stored in another form before stays as it is.

use super::PipelineHandle;
use crate::model::{Source, SourceSettings, SourceType};
use crate::sources::kind;
use crate::store::{Store, StoreError};

/// The settings with the URL that the source is stored under: the given one if a source has it already, or else the
/// canonical one.
pub(super) async fn canonicalize(store: &dyn Store, settings: SourceSettings) -> Result<SourceSettings, StoreError> {
    let url = kind(settings.source_type).canonical_url(&settings.url);
    if url == settings.url {
        return Ok(settings);
    }
    let alike = |source: &Source| {
        source.settings.source_type == settings.source_type && source.settings.podcast_id == settings.podcast_id
    };
    if store.sources_with_url(&settings.url).await?.iter().any(alike) {
        return Ok(settings);
    }
    Ok(SourceSettings { url, ..settings })
}

impl PipelineHandle {
    /// The sources with this URL: as it is written here, or as its type makes it canonical.
    pub async fn sources_with_url(&self, url: &str) -> Result<Vec<Source>, StoreError> {
        let mut urls = vec![url.to_owned()];
        urls.extend(SourceType::ALL.map(|source_type| kind(source_type).canonical_url(url)));
        urls.sort();
        urls.dedup();
        let mut found = Vec::new();
        for url in urls {
            found.extend(self.context.store.sources_with_url(&url).await?);
        }
        found.sort_by_key(|source| source.id);
        Ok(found)
    }
}
