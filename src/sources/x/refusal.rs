//! What answers of X without posts mean: the cause of the failure and a text for people.

use crate::http::Failure;
use crate::model::{FailureCause, FailureReport};
use crate::parse::x_api::{self, ProblemKind, XApiError};

use super::key;

/// A request that was refused or never answered, with X's own words about it.
pub(super) fn report(failure: Failure) -> FailureReport {
    let said = x_api::refusal(&failure.body).map(|problem| format!(": {problem}")).unwrap_or_default();
    let advice = match failure.report.cause {
        FailureCause::Status(401) => {
            " (X does not take the key: it is wrong or was revoked; its owner has to store another)"
        }
        _ => "",
    };
    FailureReport { error: format!("{}{said}{advice}", failure.report.error), ..failure.report }
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
