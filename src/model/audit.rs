//! Audit records: which caller changed what, with the changed fields before and after.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Timestamp;

/// Longest text of a field in an audit record, in characters.
const TEXT_CHARS_MAX: usize = 500;
/// The most items of a list in an audit record.
const ITEMS_MAX: usize = 20;

/// Who changes something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// `token:SUBJECT`, `uid:NUMBER` or `signal:NAME`.
    pub who: String,
    /// Name of the system's user with this uid, if it has one.
    pub user_name: Option<String>,
    /// IP address of a client over TCP.
    pub address: Option<String>,
}

/// A change, without who made it and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditedChange {
    /// What was done, as `noun.verb`.
    pub action: &'static str,
    /// Noun of the changed thing, such as `source`.
    pub target: &'static str,
    /// Id, or name of a thing without an id. For a thing that is being added, the store fills in its id.
    pub target_id: Option<String>,
    pub target_name: Option<String>,
    /// Changed fields only.
    pub before: AuditFields,
    pub after: AuditFields,
}

/// An audit record to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAuditRecord {
    pub at: Timestamp,
    pub actor: Actor,
    /// Node that made the change, in a fleet.
    pub node: Option<String>,
    pub change: AuditedChange,
}

/// A stored audit record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    pub id: i64,
    pub at: Timestamp,
    pub actor: Actor,
    pub node: Option<String>,
    pub action: String,
    pub target: String,
    pub target_id: Option<String>,
    pub target_name: Option<String>,
    pub before: AuditFields,
    pub after: AuditFields,
}

/// Which audit records are listed. An absent field selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub action: Option<String>,
    pub target: Option<String>,
    pub target_id: Option<String>,
    pub who: Option<String>,
    pub since: Option<Timestamp>,
}

/// Fields of a changed thing by name. Never contains a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AuditFields(BTreeMap<String, AuditValue>);

/// Value of a field: a flag, a number, a text, a list of texts, or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AuditValue {
    Flag(bool),
    Number(i64),
    Text(String),
    List(Vec<String>),
    Nothing,
}

impl AuditedChange {
    pub fn new(action: &'static str, target: &'static str, target_id: Option<String>) -> AuditedChange {
        AuditedChange { action, target, target_id, ..AuditedChange::default() }
    }

    /// With the id of its target.
    pub fn of(mut self, id: impl fmt::Display) -> AuditedChange {
        self.target_id = Some(id.to_string());
        self
    }

    pub fn named(mut self, name: &str) -> AuditedChange {
        self.target_name = Some(cut(name));
        self
    }

    pub fn before(mut self, field: &str, value: impl Into<AuditValue>) -> AuditedChange {
        self.before.put(field, value);
        self
    }

    pub fn after(mut self, field: &str, value: impl Into<AuditValue>) -> AuditedChange {
        self.after.put(field, value);
        self
    }

    /// Takes the fields that differ.
    pub fn differences(mut self, before: AuditFields, mut after: AuditFields) -> AuditedChange {
        for (name, value) in before.0 {
            match after.0.remove(&name) {
                Some(same) if same == value => {}
                other => {
                    self.after.put(&name, other.unwrap_or(AuditValue::Nothing));
                    self.before.put(&name, value);
                }
            }
        }
        self.after.0.extend(after.0);
        self
    }
}

impl AuditFields {
    pub fn put(&mut self, field: &str, value: impl Into<AuditValue>) {
        self.0.insert(field.to_owned(), value.into());
    }

    pub fn with(mut self, field: &str, value: impl Into<AuditValue>) -> AuditFields {
        self.put(field, value);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, field: &str) -> Option<&AuditValue> {
        self.0.get(field)
    }

    /// Names of the fields, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Without fields that have no value.
    pub fn given(mut self) -> AuditFields {
        self.0.retain(|_, value| *value != AuditValue::Nothing);
        self
    }
}

impl fmt::Display for AuditFields {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(formatter, "{comma}{name}: {value}")?;
        }
        Ok(())
    }
}

impl fmt::Display for AuditValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuditValue::Flag(flag) => write!(formatter, "{flag}"),
            AuditValue::Number(number) => write!(formatter, "{number}"),
            AuditValue::Text(text) => write!(formatter, "{text:?}"),
            AuditValue::List(items) => write!(formatter, "{items:?}"),
            AuditValue::Nothing => formatter.write_str("none"),
        }
    }
}

impl From<bool> for AuditValue {
    fn from(flag: bool) -> AuditValue {
        AuditValue::Flag(flag)
    }
}

impl From<i64> for AuditValue {
    fn from(number: i64) -> AuditValue {
        AuditValue::Number(number)
    }
}

impl From<u32> for AuditValue {
    fn from(number: u32) -> AuditValue {
        AuditValue::Number(number.into())
    }
}

impl From<usize> for AuditValue {
    fn from(number: usize) -> AuditValue {
        AuditValue::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<&str> for AuditValue {
    fn from(text: &str) -> AuditValue {
        AuditValue::Text(cut(text))
    }
}

impl From<String> for AuditValue {
    fn from(text: String) -> AuditValue {
        AuditValue::from(text.as_str())
    }
}

impl From<Timestamp> for AuditValue {
    fn from(time: Timestamp) -> AuditValue {
        AuditValue::Text(time.to_string())
    }
}

impl From<&[String]> for AuditValue {
    fn from(items: &[String]) -> AuditValue {
        let mut list: Vec<String> = items.iter().take(ITEMS_MAX).map(|item| cut(item)).collect();
        if items.len() > ITEMS_MAX {
            list.push(format!("… {} more", items.len() - ITEMS_MAX));
        }
        AuditValue::List(list)
    }
}

impl<T: Into<AuditValue>> From<Option<T>> for AuditValue {
    fn from(value: Option<T>) -> AuditValue {
        value.map_or(AuditValue::Nothing, Into::into)
    }
}

/// The beginning of a text, without characters that a store cannot keep.
fn cut(text: &str) -> String {
    let mut cut: String = text.chars().filter(|character| *character != '\0').take(TEXT_CHARS_MAX + 1).collect();
    if let Some((end, _)) = cut.char_indices().nth(TEXT_CHARS_MAX) {
        cut.truncate(end);
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_that_differ_are_kept() {
        let before = AuditFields::default().with("title", "Old").with("enabled", true).with("gone", 1_i64);
        let after = AuditFields::default().with("title", None::<&str>).with("enabled", true).with("new", 2_i64);
        let change = AuditedChange::new("source.edit", "source", None).differences(before, after);
        assert_eq!(change.before.to_string(), r#"gone: 1, title: "Old""#);
        assert_eq!(change.after.to_string(), "gone: none, new: 2, title: none");
    }

    #[test]
    fn values_are_bounded_and_survive_json() {
        let labels: Vec<String> = (0..30).map(|number| format!("label {number}")).collect();
        let fields = AuditFields::default()
            .with("text", "ä".repeat(600))
            .with("labels", labels.as_slice())
            .with("none", None::<bool>)
            .with("flag", false)
            .with("number", 7_usize);
        let Some(AuditValue::Text(text)) = fields.get("text") else { panic!("{fields}") };
        assert_eq!((text.chars().count(), text.ends_with('…')), (TEXT_CHARS_MAX + 1, true));
        let Some(AuditValue::List(list)) = fields.get("labels") else { panic!("{fields}") };
        assert_eq!((list.len(), list.last().unwrap().as_str()), (ITEMS_MAX + 1, "… 10 more"));
        let json = serde_json::to_string(&fields).unwrap();
        assert_eq!(serde_json::from_str::<AuditFields>(&json).unwrap(), fields, "{json}");
    }
}
