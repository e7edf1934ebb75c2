//! Counts sources and hosts by state.

use futures_util::TryStreamExt;

use crate::model::{HostKey, Source, Timestamp};
use crate::store::{self, Store};

/// How many rows are read at once.
const PAGE: u32 = 1000;

/// Number of sources by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourcesByState {
    pub fresh: usize,
    pub active: usize,
    pub backing_off: usize,
    pub resting: usize,
    pub disabled: usize,
}

/// Number of hosts by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostsByState {
    pub asked: usize,
    pub held: usize,
    pub breaker_open: usize,
}

impl SourcesByState {
    pub(super) async fn take(store: &dyn Store) -> store::Result<SourcesByState> {
        let count = |mut counts: SourcesByState, source: Source| async move {
            counts.add(&source);
            Ok(counts)
        };
        store::stream_sources(store, PAGE).try_fold(SourcesByState::default(), count).await
    }

    pub fn total(&self) -> usize {
        self.fresh + self.active + self.backing_off + self.resting + self.disabled
    }

    fn add(&mut self, source: &Source) {
        let state = &source.state;
        let place = match () {
            () if !state.enabled => &mut self.disabled,
            () if state.rest.is_some() => &mut self.resting,
            () if state.failures.consecutive > 0 => &mut self.backing_off,
            () if state.last_success_at.is_none() => &mut self.fresh,
            () => &mut self.active,
        };
        *place += 1;
    }
}

impl HostsByState {
    pub(super) async fn take(store: &dyn Store, now: Timestamp) -> store::Result<HostsByState> {
        let mut counts = HostsByState::default();
        let mut after: Option<HostKey> = None;
        loop {
            let hosts = store.list_hosts(after.as_ref(), PAGE).await?;
            let Some(last) = hosts.last() else { return Ok(counts) };
            after = Some(last.host.clone());
            counts.asked += hosts.len();
            let is_ahead = |moment: Option<Timestamp>| moment.is_some_and(|moment| moment > now);
            counts.breaker_open += hosts.iter().filter(|host| is_ahead(host.breaker.open_until)).count();
            let is_held = hosts.iter().filter(|host| is_ahead(host.held_until) && !is_ahead(host.breaker.open_until));
            counts.held += is_held.count();
        }
    }
}
