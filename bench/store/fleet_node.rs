//! A node of the fleet without a daemon: it has joined, and owns shards.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::model::{JoinOutcome, NewNode, NodeId, OwnedShard, SHARDS, Settlement, Shard, Source, SourceId};
use feedwarden::store::{FleetStore, Store};

use crate::load::POLLS;
use crate::writers::monotonic_seconds;

pub(crate) struct FleetNode {
    fleet: Arc<dyn FleetStore>,
    id: NodeId,
    claims: HashMap<SourceId, OwnedShard>,
    /// The sources of its shards.
    pub(crate) sources: Vec<Source>,
}

impl FleetNode {
    /// Joins, and takes one of so many parts of the shards.
    pub(crate) async fn join(store: &dyn Store, name: &str, parts: usize) -> FleetNode {
        let fleet = store.fleet().expect("PostgreSQL has nodes");
        let id = NodeId(feedwarden::dice::unique_number().cast_signed());
        let new = NewNode {
            id,
            name: name.to_owned(),
            boot: "bench".to_owned(),
            // A later run of the same name ends an earlier one.
            booted_for: Duration::from_secs_f64(monotonic_seconds()),
            version: "bench".to_owned(),
            settings: String::new(),
            lease: Duration::from_secs(3_600),
        };
        let joined = fleet.join(&new).await.unwrap();
        assert!(matches!(joined, JoinOutcome::Joined { .. }), "the name is free");
        let (_, timeline) = fleet.renew(id, "{}", true).await.unwrap().timeline;
        let taken = fleet.take_shards(id, usize::from(SHARDS).div_ceil(parts), &timeline).await.unwrap();
        let taken: HashMap<Shard, OwnedShard> = taken.into_iter().map(|owned| (owned.shard, owned)).collect();
        let mut sources = store.list_sources(None, POLLS as u32).await.unwrap();
        sources.retain(|source| taken.contains_key(&Shard::of_source(&source.settings)));
        let claim = |source: &Source| (source.id, taken[&Shard::of_source(&source.settings)]);
        FleetNode { fleet, id, claims: sources.iter().map(claim).collect(), sources }
    }

    /// The same poll, made by the right of its shard.
    pub(crate) fn claimed(&self, settlement: Settlement) -> Settlement {
        Settlement { claim: Some(self.claims[&settlement.source_id]), ..settlement }
    }

    pub(crate) async fn renew(&self) {
        let renewal = self.fleet.renew(self.id, "{}", true).await.unwrap();
        assert!(renewal.beat.is_some(), "the node is live");
    }

    pub(crate) async fn leave(&self) {
        self.fleet.leave(self.id).await.unwrap();
    }
}
