//! Fields of a source that `PATCH /sources/{id}` rejects, and the endpoints that change them.

use serde_json::json;

use super::super::BASE;
use super::super::input::{JsonBody, snake_case};
use super::super::problem::Problem;
use super::super::views::SourceChanges;
use crate::model::SourceId;

/// Fields that one endpoint changes.
struct FieldEndpoint {
    fields: &'static [&'static str],
    method: &'static str,
    /// Path after `/sources/{id}`.
    path: &'static str,
    /// What the endpoint does, as the end of a sentence.
    does: &'static str,
}

const FIELD_ENDPOINTS: &[FieldEndpoint] = &[
    FieldEndpoint {
        fields: &["access", "login", "headers", "has_access"],
        method: "PUT",
        path: "/access",
        does: "keeps its login and headers",
    },
    FieldEndpoint {
        fields: &["disabled_reason", "reason"],
        method: "POST",
        path: "/disable",
        does: "disables it for a reason",
    },
    FieldEndpoint {
        fields: &["feed_disabled_at", "feed_disable_reason", "feed_disabled_by", "feed_disabled_until", "state"],
        method: "PATCH",
        path: "/feed-disable",
        does: "lets it rest for a reason (PATCH …/feed-enable ends the rest; `enabled` enables and disables it)",
    },
    FieldEndpoint { fields: &["feed_active"], method: "PATCH", path: "/feed-enable", does: "ends its rest" },
    FieldEndpoint {
        fields: &[
            "consecutive_failures",
            "consecutive_permanent_failures",
            "last_failure_type",
            "last_error_type",
            "last_error",
        ],
        method: "POST",
        path: "/reset",
        does: "forgets its failures",
    },
    FieldEndpoint {
        fields: &[
            "first_poll",
            "anyway",
            "first_polled_at",
            "last_polled",
            "poll_requested_at",
            "last_success_at",
            "last_read_at",
            "feed_title",
            "bodies_repeat",
            "gaps",
            "last_gap_at",
            "entries_per_day",
            "hubs",
            "hub_topic",
            "pushed_at",
            "push_streak",
            "subscription",
        ],
        method: "POST",
        path: "/poll",
        does: "polls it",
    },
    FieldEndpoint {
        fields: &["retry_after", "fresh_until"],
        method: "POST",
        path: "/poll?force=true",
        does: "polls it although the publisher asked to wait",
    },
    FieldEndpoint {
        fields: &["host", "moved_to"],
        method: "PATCH",
        path: "",
        does: "changes its place by `url`, from which this follows",
    },
];

/// Fields that no endpoint changes.
const FIXED: &[&str] = &["id", "version", "created_at", "updated_at"];

/// The changes of a body, or its error, which names the endpoint of a field that is changed elsewhere.
pub(super) fn changes(body: Result<JsonBody<SourceChanges>, Problem>, id: SourceId) -> Result<SourceChanges, Problem> {
    body.map(|JsonBody(changes)| changes).map_err(|problem| match problem.field() {
        Some(field) => refusal(field, id).unwrap_or(problem),
        None => problem,
    })
}

/// Error for a field of a source that cannot be changed here.
fn refusal(field: &str, id: SourceId) -> Option<Problem> {
    let known = snake_case(field);
    if FIXED.contains(&known.as_str()) {
        return Some(Problem::invalid(format!("{field} cannot be changed")).at(field));
    }
    let row = FIELD_ENDPOINTS.iter().find(|row| row.fields.contains(&known.as_str()))?;
    let FieldEndpoint { method, path, does, .. } = row;
    let path = format!("{BASE}/sources/{id}{path}");
    let detail = format!("{field} cannot be set here; {method} {path} {does}");
    Some(Problem::invalid(detail).at(field).with(json!({ "method": method, "path": path })))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use schemars::{JsonSchema, schema_for};

    use super::*;
    use crate::api::handlers::endpoints;
    use crate::api::views::{NewSourceBody, SourceView};

    fn fields<T: JsonSchema>() -> BTreeSet<String> {
        schema_for!(T).to_value()["properties"].as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn s406_every_field_of_a_source_is_taken_or_told_where_it_is_changed() {
        let rows = FIELD_ENDPOINTS.iter().map(|row| row.fields).chain([FIXED]);
        let all: Vec<String> = rows.flatten().map(ToString::to_string).collect();
        let told: BTreeSet<String> = all.iter().cloned().collect();
        assert_eq!(told.len(), all.len(), "each once");
        let taken = fields::<SourceChanges>();
        for field in fields::<SourceView>().union(&fields::<NewSourceBody>()) {
            assert_ne!(taken.contains(field), told.contains(field), "{field}");
        }
    }

    #[test]
    fn s406_every_endpoint_that_is_named_is_there() {
        let there: BTreeSet<String> =
            endpoints().iter().map(|endpoint| format!("{} {}", endpoint.method, endpoint.path)).collect();
        for row in FIELD_ENDPOINTS {
            let path = row.path.split('?').next().unwrap();
            let named = format!("{} /sources/{{id}}{path}", row.method);
            assert!(there.contains(&named), "{named}");
        }
    }
}
