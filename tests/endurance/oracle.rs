//! What must be true after an endurance run, computed from what the publishers served and what the log told.

use std::collections::BTreeMap;

use feedwarden::demo::web::{Deed, RetryAfter, SiteBehaviour};
use feedwarden::model::{
    FailureCause, FailureReport, FailureState, NewSource, Rest, RestCause, Source, SourceId, Timestamp,
};
use feedwarden::rules::failure::after_failure;
use feedwarden::rules::success::{SourceAnswer, after_success};
use serde_json::Value;

use super::plan::Plan;

/// The settled polls of each source, as the log told them, in order.
pub(super) fn told(log: &str) -> BTreeMap<SourceId, Vec<Value>> {
    let mut polls = BTreeMap::<SourceId, Vec<Value>>::new();
    for line in log.lines() {
        // A kill can cut the last line.
        let Ok(record) = serde_json::from_str::<Value>(line) else { continue };
        if record["msg"] == "source polled" || record["msg"] == "feed poll failed" {
            polls.entry(SourceId(record["source_id"].as_i64().unwrap())).or_default().push(record);
        }
    }
    polls
}

/// The state that the pure rules compute from the polls that were told: as far as failures go.
pub(super) fn replay(source: &Source, polls: &[Value], behaviour: SiteBehaviour, plan: &Plan) -> Judged {
    let new = NewSource { settings: source.settings.clone(), created_at: source.created_at };
    let mut replayed = Source::fresh(source.id, new);
    let (policy, now) = (plan.policy(), Timestamp::EPOCH);
    for record in polls {
        replayed.state = match record["msg"].as_str() {
            Some("source polled") => {
                let answer = SourceAnswer::NotModified { validators: Default::default(), fresh_until: None };
                after_success(&replayed.state, answer, now, now)
            }
            _ => after_failure(&replayed, &report(record, behaviour), &policy, now).state,
        };
    }
    Judged::of(&replayed)
}

/// What failures have made of a source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    failures: FailureState,
    enabled: bool,
    disabled_reason: Option<String>,
    rests_for: Option<RestCause>,
}

impl Judged {
    pub(super) fn of(source: &Source) -> Judged {
        let state = source.state.clone();
        let rests_for = state.rest.map(|Rest { cause, .. }| cause);
        Judged { failures: state.failures, enabled: state.enabled, disabled_reason: state.disabled_reason, rests_for }
    }
}

/// Whether the polls that were told are the answers that were served, in the same order; returns how many served
/// answers were not logged, except those whose poll was lost and logged as an internal fault.
pub(super) fn unexplained(polls: &[Value], served: &[Deed]) -> Result<usize, String> {
    let mut left = served.iter();
    let mut skipped = 0;
    for record in polls.iter().filter(|record| record["error_type"] != "internal") {
        loop {
            match left.next() {
                None => return Err(format!("no response matches the record: {record}")),
                Some(deed) if is_told_by(*deed, record) => break,
                Some(_) => skipped += 1,
            }
        }
    }
    let lost = polls.iter().filter(|record| record["error_type"] == "internal").count();
    Ok((skipped + left.count()).saturating_sub(lost))
}

fn is_told_by(deed: Deed, record: &Value) -> bool {
    match (record["status_code"].as_u64().unwrap(), record["error_type"].as_str()) {
        (0, Some("network")) => matches!(deed, Deed::Reset | Deed::Hung | Deed::Cut(_) | Deed::Abandoned),
        // Too large: we hung up, or it was all sent by then.
        (0 | 200, Some("unexpected")) => matches!(deed, Deed::Answered(200) | Deed::Abandoned),
        (status, _) => deed == Deed::Answered(u16::try_from(status).unwrap()),
    }
}

fn report(record: &Value, behaviour: SiteBehaviour) -> FailureReport {
    let status = record["status_code"].as_u64().map(|code| u16::try_from(code).unwrap()).unwrap();
    let cause = match (record["error_type"].as_str().unwrap(), status) {
        ("network", _) => FailureCause::Connection,
        ("parse_error", _) => FailureCause::Unreadable,
        ("internal", _) => FailureCause::Internal,
        ("unexpected", 0 | 200) => FailureCause::Other,
        ("forbidden", 0 | 200) => FailureCause::Robots,
        ("upstream_failure", 300..=399) => FailureCause::Redirect,
        (_, status) => FailureCause::Status(status),
    };
    let says_when = matches!(
        behaviour,
        SiteBehaviour::Unavailable(RetryAfter::Seconds(_) | RetryAfter::Date(_))
            | SiteBehaviour::RateLimited(RetryAfter::Seconds(_) | RetryAfter::Date(_))
    );
    let retry_after = (says_when && status != 0).then_some(Timestamp::EPOCH);
    FailureReport { cause, error: record["error"].as_str().unwrap().to_owned(), retry_after }
}
