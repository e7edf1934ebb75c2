//! Hosts: their state, and what an operator does about them.

use std::time::Duration;

use slog::info;

use super::sources::valid_reason;
use super::{Result, Service, ServiceError};
use crate::model::{AuditFields, AuditedChange, Breaker, HostKey, HostState, SourceId, Timestamp};
use crate::rules::change::{Change, Changed};
use crate::rules::events::host_held;
use crate::rules::host_key::host_key;
use crate::rules::stored_times::correct_host;
use crate::rules::turn;
use crate::sources::stored_host;
use crate::store::{SourceSelection, StoreError};

/// How many sources are read together when all sources of a host are changed.
const PAGE: u32 = 500;
const HOST_BYTES_MAX: usize = 300;

/// Whether requests to a host are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCondition {
    Available,
    Held,
    /// No request is made but probes.
    BreakerOpen,
}

/// A host with its current state.
#[derive(Clone, Debug)]
pub struct HostStatus {
    pub host: HostKey,
    pub condition: HostCondition,
    /// When the last request to it ended.
    pub last_asked_at: Option<Timestamp>,
    pub held_until: Option<Timestamp>,
    pub held_reason: Option<String>,
    /// Requests without an answer since the last answer.
    pub unanswered_requests: u32,
    pub breaker_open_until: Option<Timestamp>,
    /// Whether it may be asked now, in words.
    pub turn: String,
}

/// When a hold ends.
#[derive(Clone, Copy, Debug)]
pub enum HoldEnd {
    At(Timestamp),
    In(Duration),
}

impl HostCondition {
    pub fn name(self) -> &'static str {
        match self {
            HostCondition::Available => "available",
            HostCondition::Held => "held",
            HostCondition::BreakerOpen => "breaker_open",
        }
    }
}

impl Service {
    /// The host of this name, with its port if it has one of its own.
    pub fn host_key(&self, name: &str) -> Option<HostKey> {
        // What would be more than a host in a URL is no host.
        let is_plain = !name.contains(['/', '?', '#', '@', '\\']) && name.len() <= HOST_BYTES_MAX;
        is_plain.then(|| host_key(&format!("http://{name}/"))).flatten()
    }

    /// The hosts after this one in alphabetical order.
    pub async fn hosts(&self, after: Option<&HostKey>, limit: u32) -> Result<Vec<HostStatus>> {
        let stored = self.store.list_hosts(after, limit).await?;
        let fresh = stored.into_iter().map(|stored| self.pipeline.host(&stored.host).unwrap_or(stored));
        Ok(fresh.map(|state| self.status_of(state)).collect())
    }

    pub async fn host(&self, name: &str) -> Result<HostStatus> {
        let key = self.named(name)?;
        let state = self.host_state(&key).await?.ok_or(ServiceError::UnknownHost(key))?;
        Ok(self.status_of(state))
    }

    /// Makes no request to a host until the hold ends, whether or not the host is known.
    pub async fn hold_host(&self, name: &str, end: HoldEnd, reason: &str) -> Result<HostStatus> {
        let key = self.named(name)?;
        let reason = format!("by an operator: {}", valid_reason(reason)?.trim());
        let until = self.hold_until(end)?;
        info!(self.pipeline.log(), "host held"; "host" => %key, "until" => %until, "reason" => &reason);
        self.change_host("host.hold", &key, move |state| {
            (state.held_until, state.held_reason) = (Some(until), Some(reason));
        })
        .await
    }

    /// No hold lasts longer than a host's own `Retry-After` could.
    fn hold_until(&self, end: HoldEnd) -> Result<Timestamp> {
        let (now, longest) = (self.now(), self.pipeline.policy().retry_after_max);
        let (until, field) = match end {
            HoldEnd::At(until) => (until, "until"),
            HoldEnd::In(duration) => (now + duration, "seconds"),
        };
        if until <= now {
            return Err(ServiceError::invalid(field, "this time is in the past"));
        }
        if until > now + longest {
            let detail = format!(
                "a host is held for {} seconds, until {}, at the longest (source.retry-after-ceiling-days)",
                longest.as_secs(),
                now + longest
            );
            return Err(ServiceError::invalid(field, detail));
        }
        Ok(until)
    }

    /// Ends the hold of a host; its due sources are polled as its pause allows.
    pub async fn release_host(&self, name: &str) -> Result<HostStatus> {
        let key = self.known(name).await?;
        info!(self.pipeline.log(), "host released"; "host" => %key);
        let release = |state: &mut HostState| (state.held_until, state.held_reason) = (None, None);
        let status = self.change_host("host.release", &key, release).await?;
        self.reconsider(&key).await?;
        Ok(status)
    }

    /// Closes the breaker of a host.
    pub async fn reset_breaker(&self, name: &str) -> Result<HostStatus> {
        let key = self.known(name).await?;
        info!(self.pipeline.log(), "host breaker closed"; "host" => %key);
        let reset = |state: &mut HostState| state.breaker = Breaker::default();
        let status = self.change_host("host.reset-breaker", &key, reset).await?;
        self.reconsider(&key).await?;
        Ok(status)
    }

    /// Enables every disabled source of a host; returns their number.
    pub async fn enable_sources_of_host(&self, name: &str) -> Result<usize> {
        let key = self.known(name).await?;
        let (mut count, mut after) = (0, None);
        loop {
            let page = self.store.select_sources(self.at_host(&key), after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            for source in page.iter().filter(|source| !source.state.enabled) {
                match self.change_unrecorded(source.id, |_| Ok(Change::Enable)).await {
                    Ok((_, Changed::Enabled)) => count += 1,
                    Ok(_) | Err(ServiceError::NotFound { .. }) => {}
                    Err(error) => {
                        self.note_change(enabled_sources(&key, count)).await;
                        return Err(error);
                    }
                }
            }
        }
        self.note_change(enabled_sources(&key, count)).await;
        Ok(count)
    }

    /// The state of a host in the pipeline, or else in the store.
    pub(super) async fn host_state(&self, key: &HostKey) -> std::result::Result<Option<HostState>, StoreError> {
        match self.pipeline.host(key) {
            Some(state) => Ok(Some(state)),
            None => self.store.host(key).await,
        }
    }

    pub(super) fn host_status(&self, mut host: HostState, pause: Duration) -> HostStatus {
        let (now, policy) = (self.now(), self.pipeline.policy());
        correct_host(&mut host, &policy, now, self.pipeline.last_clock_step());
        let turn = turn::turn(&host, pause, self.pipeline.started_at(), &policy, now);
        let held_until = host.held_until.filter(|until| *until > now);
        let breaker_open_until = host.breaker.open_until.filter(|until| *until > now);
        let condition = match (held_until, breaker_open_until) {
            (_, Some(_)) => HostCondition::BreakerOpen,
            (Some(_), None) => HostCondition::Held,
            (None, None) => HostCondition::Available,
        };
        HostStatus {
            condition,
            last_asked_at: host.last_asked_at,
            held_until,
            held_reason: held_until.and(host.held_reason),
            unanswered_requests: host.breaker.failures,
            breaker_open_until,
            turn: turn.to_string(),
            host: host.host,
        }
    }

    pub(super) fn at_host(&self, key: &HostKey) -> SourceSelection {
        SourceSelection::OfHost(stored_host(key, self.pipeline.type_settings()))
    }

    pub(super) fn named(&self, name: &str) -> Result<HostKey> {
        self.host_key(name).ok_or(ServiceError::NoHostName)
    }

    /// A host that was asked or held, or that has a source: another one has nothing to release, reset or enable.
    pub(super) async fn known(&self, name: &str) -> Result<HostKey> {
        let key = self.named(name)?;
        let is_known = self.host_state(&key).await?.is_some()
            || !self.store.select_sources(self.at_host(&key), None, 1).await?.is_empty();
        if is_known { Ok(key) } else { Err(ServiceError::UnknownHost(key)) }
    }

    pub(super) fn status_of(&self, state: HostState) -> HostStatus {
        let pause = self.pipeline.policy().delays.by_host.get(state.host.as_str()).copied().unwrap_or_default();
        self.host_status(state, pause)
    }

    /// The state in the pipeline changes first, so the record follows the write.
    async fn change_host(
        &self,
        action: &'static str,
        key: &HostKey,
        change: impl FnOnce(&mut HostState),
    ) -> Result<HostStatus> {
        let before = self.host_state(key).await?.unwrap_or_else(|| HostState::new(key.clone()));
        let stored = match self.pipeline.host(key) {
            Some(_) => None,
            None => self.store.host(key).await?,
        };
        let state = self.pipeline.change_host(key, stored, change);
        let held = host_held(Some(&before), &state, self.now());
        let has_event = held.is_some();
        self.store.telling(Vec::from_iter(held)).record_hosts(vec![state.clone()]).await?;
        if has_event {
            self.pipeline.events().note_arrival();
        }
        let change = AuditedChange::new(action, "host", Some(key.to_string()));
        self.note_change(change.differences(host_fields(&before), host_fields(&state))).await;
        Ok(self.status_of(state))
    }

    /// Makes the scheduler look again at the sources that a host sent away.
    async fn reconsider(&self, key: &HostKey) -> Result<()> {
        let mut after: Option<SourceId> = None;
        loop {
            let page = self.store.select_sources(self.at_host(key), after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id);
            self.pipeline.sources_changed(page.iter().map(|source| source.id).collect());
        }
    }
}

/// One record for all of them.
fn enabled_sources(key: &HostKey, count: usize) -> AuditedChange {
    AuditedChange::new("host.enable-sources", "host", Some(key.to_string())).after("enabled_sources", count)
}

fn host_fields(host: &HostState) -> AuditFields {
    AuditFields::default()
        .with("held_until", host.held_until)
        .with("held_reason", host.held_reason.as_deref())
        .with("breaker_failures", host.breaker.failures)
        .with("breaker_open_until", host.breaker.open_until)
}
