//! Hosts: what is known of them, and a person's word about them.

use std::time::Duration;

use slog::info;

use super::{ControlError, HostView, PipelineHandle};
use crate::model::{Breaker, HostKey, HostState, SourceId, Timestamp};
use crate::rules::change::{Change, Changed};
use crate::rules::host_key::host_key;
use crate::sources::stored_host;
use crate::store::{SourceSelection, StoreError};

/// How many sources are looked at together when something is done to all sources of a host.
const PAGE: u32 = 500;

impl PipelineHandle {
    /// The host that a person means by this name.
    pub fn host_named(&self, name: &str) -> Option<HostKey> {
        host_key(&format!("http://{name}/"))
    }

    /// The hosts that follow this one in the order of their spellings.
    pub async fn hosts_after(&self, after: Option<&HostKey>, limit: u32) -> Result<Vec<HostView>, ControlError> {
        let known = self.context.store.list_hosts(after, limit).await?;
        let fresh = known.into_iter().map(|stored| self.table.state(&stored.host).unwrap_or(stored));
        Ok(fresh.map(|state| self.view_of_host(state)).collect())
    }

    /// One host; nothing if nobody ever asked it anything.
    pub async fn host_known(&self, key: &HostKey) -> Result<Option<HostView>, ControlError> {
        Ok(self.host_state(key).await?.map(|state| self.view_of_host(state)))
    }

    /// Whether anybody ever had to do with a host: it was asked or held, or a source is there.
    pub async fn is_host_known(&self, key: &HostKey) -> Result<bool, ControlError> {
        let sources = self.context.store.select_sources(self.at_host(key), None, 1);
        Ok(self.host_state(key).await?.is_some() || !sources.await?.is_empty())
    }

    /// The longest time that a person may hold a host for: no longer than its own `Retry-After` could.
    pub fn hold_max(&self) -> Duration {
        self.context.policy().retry_after_max
    }

    /// Leaves a host alone until this moment, whether or not anybody had to do with it before.
    pub async fn hold_host(&self, key: &HostKey, until: Timestamp, reason: &str) -> Result<HostView, ControlError> {
        let reason = format!("by a person: {reason}");
        info!(self.context.log, "host held"; "host" => %key, "until" => %until, "reason" => &reason);
        self.change_host(key, move |state| {
            (state.held_until, state.held_reason) = (Some(until), Some(reason));
        })
        .await
    }

    /// Ends the hold of a host; its sources that are due are polled as its pause allows.
    pub async fn release_host(&self, key: &HostKey) -> Result<HostView, ControlError> {
        info!(self.context.log, "host released"; "host" => %key);
        let view = self.change_host(key, |state| (state.held_until, state.held_reason) = (None, None)).await?;
        self.reconsider(key).await?;
        Ok(view)
    }

    /// Forgets that a host did not answer.
    pub async fn reset_breaker(&self, key: &HostKey) -> Result<HostView, ControlError> {
        info!(self.context.log, "host breaker closed"; "host" => %key);
        let view = self.change_host(key, |state| state.breaker = Breaker::default()).await?;
        self.reconsider(key).await?;
        Ok(view)
    }

    /// Enables every disabled source of a host; returns how many that were.
    pub async fn enable_host(&self, key: &HostKey) -> Result<usize, ControlError> {
        let (mut count, mut after) = (0, None);
        loop {
            let page = self.context.store.select_sources(self.at_host(key), after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(count) };
            after = Some(last.id);
            for source in page.iter().filter(|source| !source.state.enabled) {
                match self.change(source.id, None, |_| Change::Enable).await {
                    Ok((_, Changed::Enabled)) => count += 1,
                    Ok(_) | Err(ControlError::NoSuchSource(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }

    pub(super) async fn host_state(&self, key: &HostKey) -> Result<Option<HostState>, StoreError> {
        match self.table.state(key) {
            Some(state) => Ok(Some(state)),
            None => self.context.store.host(key).await,
        }
    }

    pub(super) fn at_host(&self, key: &HostKey) -> SourceSelection {
        SourceSelection::OfHost(stored_host(key, &self.context.type_settings))
    }

    fn view_of_host(&self, state: HostState) -> HostView {
        let pause = self.context.policy().delays.by_host.get(state.host.as_str()).copied().unwrap_or_default();
        self.host_view(state, pause)
    }

    async fn change_host(&self, key: &HostKey, change: impl FnOnce(&mut HostState)) -> Result<HostView, ControlError> {
        let state = match self.table.state(key) {
            Some(_) => None,
            None => self.context.store.host(key).await?,
        };
        self.table.open_with(key, state, self.context.clock.now());
        let changed = self.table.change(key, change);
        let state = changed.unwrap_or_else(|| HostState::new(key.clone()));
        self.context.store.record_hosts(vec![state.clone()]).await?;
        Ok(self.view_of_host(state))
    }

    /// Those who were sent away from a host are looked at again.
    async fn reconsider(&self, key: &HostKey) -> Result<(), ControlError> {
        let mut after: Option<SourceId> = None;
        loop {
            let page = self.context.store.select_sources(self.at_host(key), after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id);
            self.sources_changed(page.iter().map(|source| source.id).collect());
        }
    }
}
