//! The robots.txt files of a host as they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{RobotsRecord, Timestamp};

/// The most bytes of a file that are returned.
const RULES_BYTES_MAX: usize = 64 << 10;

/// Stored robots.txt of an origin.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RobotsView {
    /// Scheme, host and port.
    pub origin: String,
    /// When it was fetched; it is used for 24 hours.
    pub fetched_at: Timestamp,
    /// Its text, at most 64 KiB; null if the origin has none, so that everything is allowed.
    pub rules: Option<String>,
    /// Whether the text is longer.
    pub is_cut: bool,
}

impl From<RobotsRecord> for RobotsView {
    fn from(record: RobotsRecord) -> RobotsView {
        let RobotsRecord { origin, fetched_at, mut rules } = record;
        let is_cut = rules.as_ref().is_some_and(|rules| rules.len() > RULES_BYTES_MAX);
        if let Some(rules) = rules.as_mut().filter(|_| is_cut) {
            let end = (0..=RULES_BYTES_MAX).rev().find(|end| rules.is_char_boundary(*end));
            rules.truncate(end.unwrap_or(0));
        }
        RobotsView { origin, fetched_at, rules, is_cut }
    }
}
