//! What both engines share about audit records: when a change takes effect, and the values of a row.

use std::borrow::Cow;

use crate::model::{
    Actor, ArticleId, AuditFields, AuditRecord, NewAuditRecord, PodcastId, Timestamp, UserId, WebhookId,
};

use super::rows::{Columns, Value, required};
use super::{Added, Result, Saved, StoreError};

/// What a change did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeEffect {
    /// Id of the thing that was added.
    pub id: Option<i64>,
    /// Number of things that were added, if several could be.
    pub added: Option<usize>,
}

/// The result of a change, which tells whether the change took effect.
pub trait ChangeOutcome {
    /// None if nothing was changed.
    fn effect(&self) -> Option<ChangeEffect>;
}

impl ChangeEffect {
    /// Completes a record with what is known after the change.
    pub fn complete(self, record: &mut NewAuditRecord) {
        if let (None, Some(id)) = (&record.change.target_id, self.id) {
            record.change.target_id = Some(id.to_string());
        }
        if let Some(added) = self.added {
            record.change.after.put("added", added);
        }
    }

    fn of_new(id: i64) -> Option<ChangeEffect> {
        Some(ChangeEffect { id: Some(id), added: None })
    }
}

impl ChangeOutcome for () {
    fn effect(&self) -> Option<ChangeEffect> {
        Some(ChangeEffect::default())
    }
}

impl ChangeOutcome for bool {
    fn effect(&self) -> Option<ChangeEffect> {
        self.then(ChangeEffect::default)
    }
}

impl ChangeOutcome for Timestamp {
    fn effect(&self) -> Option<ChangeEffect> {
        Some(ChangeEffect::default())
    }
}

impl ChangeOutcome for Saved {
    fn effect(&self) -> Option<ChangeEffect> {
        matches!(self, Saved::Written(_)).then(ChangeEffect::default)
    }
}

impl ChangeOutcome for Added {
    fn effect(&self) -> Option<ChangeEffect> {
        match self {
            Added::New(id) => ChangeEffect::of_new(id.0),
            Added::Duplicate(_) => None,
        }
    }
}

/// Several sources have no id in common, so their number is the effect.
impl ChangeOutcome for Vec<Added> {
    fn effect(&self) -> Option<ChangeEffect> {
        if let [one] = self.as_slice() {
            return one.effect();
        }
        let added = self.iter().filter(|added| matches!(added, Added::New(_))).count();
        (added > 0).then_some(ChangeEffect { id: None, added: Some(added) })
    }
}

impl ChangeOutcome for UserId {
    fn effect(&self) -> Option<ChangeEffect> {
        ChangeEffect::of_new(self.0)
    }
}

impl ChangeOutcome for PodcastId {
    fn effect(&self) -> Option<ChangeEffect> {
        ChangeEffect::of_new(self.0)
    }
}

impl ChangeOutcome for WebhookId {
    fn effect(&self) -> Option<ChangeEffect> {
        ChangeEffect::of_new(self.0)
    }
}

impl ChangeOutcome for ArticleId {
    fn effect(&self) -> Option<ChangeEffect> {
        ChangeEffect::of_new(self.0)
    }
}

/// The record of a change with this outcome, if it took effect.
pub(super) fn completed(record: Option<&NewAuditRecord>, outcome: &impl ChangeOutcome) -> Option<NewAuditRecord> {
    let (mut record, effect) = (record?.clone(), outcome.effect()?);
    effect.complete(&mut record);
    Some(record)
}

/// Values in the order of `add_audit_record.sql`.
pub(super) fn audit_values(record: &NewAuditRecord) -> [Value<'_>; 11] {
    let NewAuditRecord { at, actor, node, change } = record;
    [
        Value::Time(Some(*at)),
        Value::text(Some(&actor.who)),
        Value::text(actor.user_name.as_deref()),
        Value::text(actor.address.as_deref()),
        Value::text(node.as_deref()),
        Value::text(Some(change.action)),
        Value::text(Some(change.target)),
        Value::text(change.target_id.as_deref()),
        Value::text(change.target_name.as_deref()),
        fields_value(&change.before),
        fields_value(&change.after),
    ]
}

fn fields_value(fields: &AuditFields) -> Value<'static> {
    let text = Some(fields).filter(|fields| !fields.is_empty()).and_then(|fields| serde_json::to_string(fields).ok());
    Value::Text(text.map(Cow::Owned))
}

pub(super) fn read_audit_record(row: &mut impl Columns) -> Result<AuditRecord> {
    read_audit_columns(row).map_err(|error| error.of_table("audit"))
}

fn read_audit_columns(row: &mut impl Columns) -> Result<AuditRecord> {
    Ok(AuditRecord {
        id: required(row.integer()?)?,
        at: required(row.time()?)?,
        actor: Actor { who: required(row.text()?)?, user_name: row.text()?, address: row.text()? },
        node: row.text()?,
        action: required(row.text()?)?,
        target: required(row.text()?)?,
        target_id: row.text()?,
        target_name: row.text()?,
        before: read_fields(row.text()?)?,
        after: read_fields(row.text()?)?,
    })
}

fn read_fields(text: Option<String>) -> Result<AuditFields> {
    let Some(text) = text else { return Ok(AuditFields::default()) };
    serde_json::from_str(&text).map_err(|error| StoreError::damaged(error.to_string()))
}
