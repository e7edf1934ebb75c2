//! One place, one source, however it is spelled. What was stored under another spelling before stays as it is.

use super::PipelineHandle;
use crate::model::{Source, SourceSettings, SourceType, one_spelling};
use crate::store::{Store, StoreError};

/// The settings with the spelling that this place is stored under: the one of a source that is there as it was given,
/// or else the only one.
pub(super) async fn spelled(store: &dyn Store, settings: SourceSettings) -> Result<SourceSettings, StoreError> {
    let url = one_spelling(&settings.url, settings.source_type);
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
    /// The sources at this place: those stored as it is written here, and those stored under its only spelling.
    pub async fn sources_at(&self, place: &str) -> Result<Vec<Source>, StoreError> {
        let mut spellings = vec![place.to_owned()];
        spellings.extend(SourceType::ALL.map(|source_type| one_spelling(place, source_type)));
        spellings.sort();
        spellings.dedup();
        let mut found = Vec::new();
        for spelling in spellings {
            found.extend(self.context.store.sources_with_url(&spelling).await?);
        }
        found.sort_by_key(|source| source.id);
        Ok(found)
    }
}
