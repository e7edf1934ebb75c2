//! The shards of sources and hosts: their owner is the node that answers questions about them.

use super::Service;
use crate::model::{Shard, SourceId, SourceSettings};
use crate::sources::{detect_type, kind};

impl Service {
    /// The shard of a source; none if there is no such source.
    pub async fn shard_of_source(&self, id: SourceId) -> Option<Shard> {
        self.source(id).await.ok().map(|source| Shard::of_source(&source.settings))
    }

    /// The shard of a source that is to be added.
    pub fn shard_of_new_source(&self, url: &str, type_name: Option<&str>) -> Option<Shard> {
        let given = type_name.and_then(|name| name.parse().ok());
        let source_type = given.or_else(|| detect_type(url).ok())?;
        Some(Shard::of_source(&SourceSettings::new(source_type, kind(source_type).canonical_url(url))))
    }

    /// The shard of a host; none if this is no name of a host.
    pub fn shard_of_host(&self, name: &str) -> Option<Shard> {
        Some(self.pipeline.host_shard(&self.host_key(name)?))
    }
}
