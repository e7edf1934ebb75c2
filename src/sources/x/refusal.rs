//! What answers of X without posts mean: the cause of the failure and a text for people.

use crate::http::{Failure, Headers};
use crate::model::{FailureCause, FailureReport, Timestamp};
use crate::parse::x_api::{self, ProblemKind, XApiError};

use super::key;

/// The limits that X counts, each with what is left of it and when it starts anew (Unix seconds).
const LIMITS: [(&str, &str); 3] = [
    ("x-rate-limit-remaining", "x-rate-limit-reset"),
    ("x-app-limit-24hour-remaining", "x-app-limit-24hour-reset"),
    ("x-user-limit-24hour-remaining", "x-user-limit-24hour-reset"),
];

/// A request that was refused or never answered, with X's own words about it.
pub(super) fn report(failure: Failure) -> FailureReport {
    let retry_after = failure.report.retry_after.max(limit_reset(&failure));
    let said = x_api::refusal(&failure.body).map(|problem| format!(": {problem}")).unwrap_or_default();
    let advice = match failure.report.cause {
        FailureCause::Status(401) => {
            " (X does not take the key: it is wrong or was revoked; its owner has to store another)"
        }
        _ => "",
    };
    FailureReport { error: format!("{}{said}{advice}", failure.report.error), retry_after, ..failure.report }
}

/// A key that was not renewed. X answers 400 to tokens that it does not know or no longer takes.
pub(super) fn not_renewed(failure: Failure) -> FailureReport {
    let report = report(failure);
    match report.cause {
        FailureCause::Status(400 | 401 | 403) => key::refused(format!(
            "X does not renew the key any more ({}); its owner has to log in again and store another",
            report.error
        )),
        _ => FailureReport { error: format!("renewing the X key: {}", report.error), ..report },
    }
}

/// An answer of 200 that gives nothing, or nothing that can be read.
pub(super) fn nothing_given(error: &XApiError, name: &str) -> FailureReport {
    let (cause, error) = match error {
        XApiError::Unknown(_) => (FailureCause::Unreadable, error.to_string()),
        XApiError::Refused(problem) => match problem.kind {
            ProblemKind::NotFound => (FailureCause::Status(404), format!("X has no account @{name}: {problem}")),
            ProblemKind::Forbidden => (FailureCause::Status(403), format!("X does not show @{name}: {problem}")),
            ProblemKind::Other => (FailureCause::Other, format!("X gives nothing of @{name}: {problem}")),
        },
    };
    FailureReport { cause, error, retry_after: None }
}

/// When the last of the limits that were reached starts anew. One of which something is left is not the reason.
fn limit_reset(failure: &Failure) -> Option<Timestamp> {
    if failure.report.cause != FailureCause::Status(429) {
        return None;
    }
    let reached = |remaining: &str| number(&failure.headers, remaining).is_none_or(|left| left <= 0);
    let reset = |(remaining, reset): (&str, &str)| {
        number(&failure.headers, reset).filter(|_| reached(remaining)).map(Timestamp::from_seconds)
    };
    LIMITS.into_iter().filter_map(reset).max()
}

fn number(headers: &Headers, name: &str) -> Option<i64> {
    headers.get(name)?.trim().parse().ok()
}
