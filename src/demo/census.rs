//! How sources and hosts are, counted from the store.

use futures_util::TryStreamExt;

use crate::model::{HostKey, Source, Timestamp};
use crate::store::{self, Store};

/// How many rows are read at once.
const PAGE: u32 = 1000;

/// How many sources are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceCensus {
    /// Not polled yet.
    pub fresh: usize,
    /// The last poll was answered.
    pub active: usize,
    /// Failing, and polled less often.
    pub backing_off: usize,
    /// Left alone for some hours.
    pub resting: usize,
    /// Left alone until a person says otherwise.
    pub disabled: usize,
}

/// How many hosts are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCensus {
    /// All that were asked.
    pub asked: usize,
    /// Those that asked us to wait.
    pub held: usize,
    /// Those that do not answer.
    pub breaker_open: usize,
}

impl SourceCensus {
    /// Counts all sources.
    pub(super) async fn take(store: &dyn Store) -> store::Result<SourceCensus> {
        let count = |mut census: SourceCensus, source: Source| async move {
            census.add(&source);
            Ok(census)
        };
        store::stream_sources(store, PAGE).try_fold(SourceCensus::default(), count).await
    }

    /// All of them.
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

impl HostCensus {
    /// Counts all hosts.
    pub(super) async fn take(store: &dyn Store, now: Timestamp) -> store::Result<HostCensus> {
        let mut census = HostCensus::default();
        let mut after: Option<HostKey> = None;
        loop {
            let hosts = store.list_hosts(after.as_ref(), PAGE).await?;
            let Some(last) = hosts.last() else { return Ok(census) };
            after = Some(last.host.clone());
            census.asked += hosts.len();
            let is_ahead = |moment: Option<Timestamp>| moment.is_some_and(|moment| moment > now);
            census.breaker_open += hosts.iter().filter(|host| is_ahead(host.breaker.open_until)).count();
            let is_held = hosts.iter().filter(|host| is_ahead(host.held_until) && !is_ahead(host.breaker.open_until));
            census.held += is_held.count();
        }
    }
}
