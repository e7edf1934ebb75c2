//! Error responses: `application/problem+json` (RFC 9457) with a stable `type`.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, ETAG, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, ResponseError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::views::PollRecord;
use crate::service::ServiceError;
use crate::store::StoreError;

/// Prefix of all problem types.
pub const TYPE_PREFIX: &str = "urn:feedwarden:problem:";

/// Problem details (RFC 9457).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProblemView {
    /// Stable type of the problem: `urn:feedwarden:problem:` followed by a name.
    #[serde(rename = "type")]
    pub kind: String,
    /// Short name of the problem type.
    pub title: String,
    /// HTTP status code.
    pub status: u16,
    /// Explanation of this occurrence.
    pub detail: String,
    /// Invalid field, parameter or header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Further data: the duplicate, the current version, the failed poll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<serde_json::Value>,
}

#[derive(Debug)]
pub(crate) struct Problem(Box<ProblemContent>);

#[derive(Debug)]
struct ProblemContent {
    status: StatusCode,
    name: &'static str,
    title: &'static str,
    detail: String,
    field: Option<String>,
    context: Option<serde_json::Value>,
    header: Option<(actix_web::http::header::HeaderName, String)>,
}

impl Problem {
    fn new(status: StatusCode, name: &'static str, title: &'static str, detail: impl fmt::Display) -> Problem {
        let detail = detail.to_string();
        Problem(Box::new(ProblemContent { status, name, title, detail, field: None, context: None, header: None }))
    }

    pub(crate) fn at(mut self, field: impl Into<String>) -> Problem {
        self.0.field = Some(field.into());
        self
    }

    /// Type of the problem without its prefix.
    pub(crate) fn name(&self) -> &'static str {
        self.0.name
    }

    pub(crate) fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    pub(crate) fn with(mut self, context: serde_json::Value) -> Problem {
        self.0.context = Some(context);
        self
    }

    pub(crate) fn invalid(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "invalid", "Invalid request", detail)
    }

    pub(crate) fn not_found(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    pub(crate) fn wrong_method(allowed: &str) -> Problem {
        let detail = format!("this path allows {allowed}");
        let mut problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", "Method not allowed", detail);
        problem.0.header = Some((ALLOW, allowed.to_owned()));
        problem
    }

    /// The token is missing or invalid.
    pub(crate) fn unauthorized(detail: impl fmt::Display) -> Problem {
        let mut problem = Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "Unauthorized", detail);
        problem.0.header = Some((WWW_AUTHENTICATE, "Bearer, Basic realm=\"feedwarden\"".to_owned()));
        problem
    }

    /// The token lacks the scope.
    pub(crate) fn forbidden(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "forbidden", "Forbidden", detail)
    }

    /// The request names a host that this listener does not answer for.
    pub(crate) fn misdirected(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::MISDIRECTED_REQUEST, "misdirected", "Unknown host", detail)
    }

    pub(crate) fn duplicate(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::CONFLICT, "duplicate", "Already exists", detail)
    }

    pub(crate) fn refused(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::CONFLICT, "refused", "Refused in the current state", detail)
    }

    /// The version does not match.
    pub(crate) fn conflict(detail: impl fmt::Display, version: i64) -> Problem {
        let title = "Version mismatch";
        let mut problem = Problem::new(StatusCode::PRECONDITION_FAILED, "conflict", title, detail);
        problem.0.header = Some((ETAG, format!("\"{version}\"")));
        problem.with(serde_json::json!({ "version": version }))
    }

    /// The first poll of a new source failed.
    pub(crate) fn does_not_work(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "source-does-not-work", "Source does not work", detail)
    }

    pub(crate) fn too_large(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Body too large", detail)
    }

    pub(crate) fn too_slow(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "Request timed out", detail)
    }

    pub(crate) fn wrong_type(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "wrong-content-type", "Wrong content type", detail)
    }

    pub(crate) fn too_fast(seconds: u64) -> Problem {
        let title = "Too many requests";
        let mut problem =
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-fast", title, "the rate limit is exceeded; retry later");
        problem.0.header = Some((RETRY_AFTER, seconds.to_string()));
        problem
    }

    /// The row cannot be read.
    pub(crate) fn quarantined(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::CONFLICT, "quarantined", "Row cannot be read", detail)
    }

    pub(crate) fn unavailable(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Temporarily unavailable", detail)
    }

    pub(crate) fn internal(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error", detail)
    }

    pub(crate) fn answer(&self) -> HttpResponse {
        self.error_response()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::to_value(self.view()).unwrap_or_default()
    }

    pub(crate) fn view(&self) -> ProblemView {
        ProblemView {
            kind: format!("{TYPE_PREFIX}{}", self.0.name),
            title: self.0.title.to_owned(),
            status: self.0.status.as_u16(),
            detail: self.0.detail.clone(),
            field: self.0.field.clone(),
            context: self.0.context.clone(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.0.name, self.0.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.0.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut answer = HttpResponse::build(self.0.status);
        if let Some((name, value)) = &self.0.header {
            answer.insert_header((name.clone(), value.as_str()));
        }
        let view = self.view();
        let body = serde_json::to_string(&view).unwrap_or_default();
        let mut answer = answer.content_type("application/problem+json").body(body);
        // For pages, which show it in another form.
        answer.extensions_mut().insert(view);
        answer
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Problem {
        let detail = error.to_string();
        match error {
            ServiceError::NotFound { .. }
            | ServiceError::NoAccess(_)
            | ServiceError::NoKey(_)
            | ServiceError::UnknownHost(_)
            | ServiceError::NoHostName
            | ServiceError::UnknownLabel => Problem::not_found(detail),
            ServiceError::Invalid { field, .. } => Problem::invalid(detail).at(field),
            ServiceError::Conflict { version } => Problem::conflict(detail, version),
            ServiceError::Duplicate(other) => {
                Problem::duplicate(detail).at("url").with(serde_json::json!({ "source_id": other.0 }))
            }
            ServiceError::Taken { field, .. } => Problem::duplicate(detail).at(field),
            ServiceError::Refused(_) => Problem::refused(detail),
            ServiceError::DoesNotWork { field, poll, .. } => {
                let problem = Problem::does_not_work(detail).at(field);
                match poll {
                    Some(poll) => problem.with(serde_json::json!({ "poll": PollRecord::from(*poll) })),
                    None => problem,
                }
            }
            ServiceError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        match error {
            StoreError::Unavailable(_) | StoreError::Locked(_) | StoreError::Corrupt(_) => Problem::unavailable(error),
            StoreError::BadRow(_) => Problem::quarantined(error),
            StoreError::NoSuchReference(_) => Problem::invalid(error),
            StoreError::NameTaken(_) => Problem::duplicate(error),
            StoreError::StillInUse(_) | StoreError::Encryption(_) => Problem::refused(error),
            StoreError::Newer { .. } | StoreError::Unusable(_) | StoreError::Internal(_) => Problem::internal(error),
        }
    }
}
