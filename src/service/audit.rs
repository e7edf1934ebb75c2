//! Audit records. Every use case that changes something for a user or program goes through [`Service::audited`], or
//! through [`Service::note_change`] if the change is no write of the store.

use std::sync::atomic::Ordering;

use slog::{error, info};

use super::{Result, Service};
use crate::model::{
    Actor, AuditFields, AuditFilter, AuditRecord, AuditedChange, NewAuditRecord, RestCause, Source, SourceSettings,
    Timestamp, Webhook,
};
use crate::rules::change::Changed;
use crate::rules::shown_url::{shown_url, shown_webhook_url};
use crate::store::{self, ChangeOutcome, Store};

/// Stands for a value that an audit record does not show.
pub(super) const HIDDEN_CHANGE: &str = "changed";

impl Service {
    /// The same use cases, with their changes recorded as those of this actor.
    pub fn acting_for(&self, actor: Actor) -> Service {
        Service { actor: actor.into(), ..self.clone() }
    }

    /// Records with ids below this one, newest first.
    pub async fn audit_records(
        &self,
        filter: AuditFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>> {
        Ok(self.store.list_audit_records(filter, before, limit).await?)
    }

    /// Makes a change with one method of the store, which stores the record in the same transaction. A change without
    /// effect leaves no record.
    pub(super) async fn audited<T: ChangeOutcome>(
        &self,
        change: AuditedChange,
        write: impl AsyncFnOnce(&dyn Store) -> store::Result<T>,
    ) -> Result<T> {
        let mut record = self.record_of(change);
        let outcome = write(self.store.audited(record.clone()).as_ref()).await?;
        if let Some(effect) = outcome.effect() {
            effect.complete(&mut record);
            self.log_change(&record);
        }
        Ok(outcome)
    }

    /// Records a change that was made elsewhere than in the store. The change is done, so a store that does not take
    /// the record is logged and no error.
    pub async fn note_change(&self, change: AuditedChange) {
        let record = self.record_of(change);
        self.log_change(&record);
        if let Err(cause) = self.store.add_audit_record(record).await {
            error!(self.pipeline.log(), "audit record not stored"; "error" => %cause);
        }
    }

    /// Records that the configuration was reloaded. Values of keys may be secret.
    pub async fn note_reload(&self, changed: &[String], needs_restart: &[String]) {
        let change = AuditedChange::new("settings.reload", "daemon", None).after("changed", changed);
        self.note_change(change.after("needs_restart", needs_restart)).await;
    }

    pub(super) fn record_of(&self, change: AuditedChange) -> NewAuditRecord {
        let node = self.pipeline.fleet().name().map(str::to_owned);
        NewAuditRecord { at: self.now(), actor: self.actor.as_ref().clone(), node, change }
    }

    /// Number of changes by users and programs through this daemon since its start.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(super) fn log_change(&self, record: &NewAuditRecord) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        let NewAuditRecord { actor, change, .. } = record;
        let fields = |fields: &AuditFields| (!fields.is_empty()).then(|| fields.to_string());
        info!(self.pipeline.log(), "change"; "who" => &actor.who, "user_name" => &actor.user_name,
            "address" => &actor.address, "action" => change.action, "target" => change.target,
            "target_id" => &change.target_id, "target_name" => &change.target_name,
            "before" => fields(&change.before), "after" => fields(&change.after));
    }
}

/// A user of this system.
pub fn user_of(uid: u32) -> Actor {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    Actor { who: format!("uid:{uid}"), user_name: user_name(&users, uid), address: None }
}

/// The user of this process.
pub fn own_user() -> Actor {
    user_of(rustix::process::getuid().as_raw())
}

/// The record of a change that a command makes without a daemon.
pub fn own_record(change: AuditedChange, at: Timestamp) -> NewAuditRecord {
    NewAuditRecord { at, actor: own_user(), node: None, change }
}

fn user_name(users: &str, uid: u32) -> Option<String> {
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let mut found = fields.filter(|fields| fields.get(2).is_some_and(|field| field.parse() == Ok(uid)));
    found.next().and_then(|fields| fields.first().map(|name| (*name).to_owned()))
}

/// A change of this source, with the fields that differ.
pub(super) fn source_change(
    changed: Changed,
    before: (&Source, Option<&[String]>),
    after: (&Source, Option<&[String]>),
) -> AuditedChange {
    let action = match changed {
        Changed::Nothing | Changed::Settings | Changed::StartedAfresh => "source.edit",
        Changed::Enabled => "source.enable",
        Changed::Disabled => "source.disable",
        Changed::Resting => "source.rest",
        Changed::Awake => "source.wake",
        Changed::PollRequested => "source.poll",
        Changed::FailuresReset => "source.reset",
    };
    let mut change = of_source(action, after.0).differences(source_fields(before), source_fields(after));
    if before.0.settings.url != after.0.settings.url && change.after.get("url").is_none() {
        change.after.put("url", HIDDEN_CHANGE);
    }
    change
}

pub(super) fn of_source(action: &'static str, source: &Source) -> AuditedChange {
    AuditedChange::new(action, "source", Some(source.id.to_string())).named(&shown_url(&source.settings.url))
}

fn rest_reason(cause: &RestCause) -> String {
    match cause {
        RestCause::Failures(kind) | RestCause::Reported(kind) => kind.to_string(),
        RestCause::Person(reason) => reason.clone(),
    }
}

fn source_fields((source, labels): (&Source, Option<&[String]>)) -> AuditFields {
    let state = &source.state;
    let mut fields = settings_fields(&source.settings)
        .with("enabled", state.enabled)
        .with("disabled_reason", state.disabled_reason.as_deref())
        .with("rest", state.rest.as_ref().map(|rest| rest_reason(&rest.cause)))
        .with("failures", state.failures.consecutive);
    if let Some(labels) = labels {
        fields.put("labels", labels);
    }
    fields
}

/// Settings of a source as a client that may not see credentials sees them.
pub(super) fn settings_fields(settings: &SourceSettings) -> AuditFields {
    AuditFields::default()
        .with("url", shown_url(&settings.url))
        .with("type", settings.source_type.name())
        .with("title", settings.title.as_deref())
        .with("podcast_id", settings.podcast_id.map(|podcast| podcast.0))
        .with("poll_interval_minutes", settings.poll_interval_minutes)
        .with("poll_delay_seconds", settings.poll_delay_seconds)
        .with("max_failures", settings.max_failures)
        .with("max_backoff_hours", settings.max_backoff_hours)
        .with("backlog", settings.backlog.map(<&str>::from))
        .with("full_text", settings.full_text.map(<&str>::from))
        .with("websub", settings.websub.map(<&str>::from))
        .with("user_agent", settings.user_agent.as_deref())
        .with("proxy", settings.proxy.as_ref().map(ToString::to_string))
}

pub(super) fn of_webhook(action: &'static str, webhook: &Webhook) -> AuditedChange {
    AuditedChange::new(action, "webhook", Some(webhook.id.to_string())).named(&shown_webhook_url(&webhook.url))
}

pub(super) fn webhook_fields(webhook: &Webhook) -> AuditFields {
    AuditFields::default()
        .with("url", shown_webhook_url(&webhook.url))
        .with("label", webhook.label.as_deref())
        .with("format", webhook.format.name())
        .with("event_types", webhook.event_types.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice())
        .with("enabled", webhook.enabled)
        .with("disabled_reason", webhook.disabled_reason.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_name_that_the_system_gives() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(user_name(users, 1000).as_deref(), Some("ann"));
        assert_eq!((user_name(users, 0).as_deref(), user_name(users, 7)), (Some("root"), None));
    }
}
