//! Errors of commands for the daemon, with their messages and exit codes.

use std::fmt;

use super::Exit;
use super::sanitize::plain;
use crate::api::{ProblemView, TYPE_PREFIX};

#[derive(Debug)]
pub(super) enum CliError {
    Unreachable {
        place: String,
        is_socket: bool,
        cause: String,
    },
    /// The system denies access to the socket.
    Forbidden {
        place: String,
        /// User id of the socket's owner, if known.
        owner: Option<u32>,
        cause: String,
    },
    /// The response is incomplete or not from Feedwarden.
    Broken {
        place: String,
        cause: String,
    },
    /// Error response of the daemon.
    Problem(Box<ProblemView>),
    /// A new source does not work; suggests alternatives.
    Offer {
        refusal: Box<CliError>,
        /// Feeds that the page links to.
        feeds: Vec<String>,
        /// What else can be tried, as sentences.
        hints: Vec<String>,
    },
    NotFound(String),
    Usage(String),
    /// Failure of the client: a file, the runtime, an unexpected response.
    Failed(String),
}

impl CliError {
    /// The daemon's problem, or the client's own error in the same form.
    pub(super) fn problem(&self) -> ProblemView {
        let (status, name, title) = match self {
            CliError::Problem(problem) => return (**problem).clone(),
            CliError::Offer { refusal, .. } => return refusal.problem(),
            CliError::Unreachable { .. } => (503, "unreachable", "No daemon answers"),
            CliError::Forbidden { .. } => (403, "forbidden", "Forbidden"),
            CliError::Broken { .. } => (502, "incomplete-response", "Incomplete response"),
            CliError::NotFound(_) => (404, "not-found", "Not found"),
            CliError::Usage(_) => (400, "invalid", "Invalid request"),
            CliError::Failed(_) => (500, "failed", "Client failure"),
        };
        let (kind, title) = (format!("{TYPE_PREFIX}{name}"), title.to_owned());
        ProblemView { kind, title, status, detail: self.to_string(), field: None, context: None }
    }

    /// The same error with one more line.
    pub(super) fn and_then_said(self, line: &str) -> CliError {
        match self {
            CliError::NotFound(text) => CliError::NotFound(format!("{text}\n{line}")),
            CliError::Usage(text) => CliError::Usage(format!("{text}\n{line}")),
            other => other,
        }
    }

    pub(super) fn exit(&self) -> Exit {
        match self {
            CliError::Unreachable { .. } => Exit::Unreachable,
            CliError::Broken { .. } | CliError::Failed(_) => Exit::Failure,
            CliError::Offer { refusal, .. } => refusal.exit(),
            CliError::Forbidden { .. } => Exit::Refused,
            CliError::NotFound(_) => Exit::NotFound,
            CliError::Usage(_) => Exit::Usage,
            CliError::Problem(problem) => match (problem.status, name(problem)) {
                (400, _) => Exit::Usage,
                (404, _) => Exit::NotFound,
                (409, "refused") => Exit::Refused,
                (409 | 412, _) => Exit::Conflict,
                (401 | 403 | 422, _) => Exit::Refused,
                _ => Exit::Failure,
            },
        }
    }
}

/// Problem type without its prefix.
fn name(problem: &ProblemView) -> &str {
    problem.kind.strip_prefix(TYPE_PREFIX).unwrap_or(&problem.kind)
}

impl fmt::Display for CliError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CliError::Unreachable { place, is_socket: true, cause } => write!(
                formatter,
                "no daemon answers at {place}: {cause}\n\
                 Start it with `feedwarden run`, or select another daemon with --socket PATH or --url URL."
            ),
            CliError::Unreachable { place, is_socket: false, cause } => write!(
                formatter,
                "no daemon answers at {place}: {cause}\n\
                 It listens on TCP only if api.listen and a key for tokens, such as api.jwt-secret-file, are configured."
            ),
            CliError::Forbidden { place, owner, cause } => {
                let user = owner.map_or_else(|| "-u USER".to_owned(), |owner| format!("-u '#{owner}'"));
                write!(
                    formatter,
                    "access to the daemon's socket {place} is denied: {cause}\n\
                     Only the daemon's own user and root have access: `sudo {user} feedwarden …`. Other users need --url and a token."
                )
            }
            CliError::Broken { place, cause } => write!(formatter, "the response from {place} was cut off: {cause}"),
            CliError::Problem(problem) => write_problem(formatter, problem),
            CliError::Offer { refusal, feeds, hints } => {
                write!(formatter, "{refusal}")?;
                if !feeds.is_empty() {
                    formatter.write_str("\nAdd a linked feed instead:")?;
                }
                feeds.iter().try_for_each(|feed| write!(formatter, "\n  feedwarden source add {}", quoted(feed)))?;
                hints.iter().try_for_each(|hint| write!(formatter, "\n{hint}"))?;
                formatter.write_str("\nUse --anyway to add it nevertheless.")
            }
            CliError::NotFound(text) | CliError::Usage(text) | CliError::Failed(text) => formatter.write_str(text),
        }
    }
}

fn write_problem(formatter: &mut fmt::Formatter<'_>, problem: &ProblemView) -> fmt::Result {
    let detail = plain(&problem.detail);
    match (name(problem), &problem.field) {
        ("source-does-not-work", _) => write!(formatter, "the source does not work: {detail}"),
        ("invalid", Some(field)) => write!(formatter, "{field}: {detail}"),
        ("unauthorized", _) => {
            write!(formatter, "{detail}\nIssue a token with `feedwarden token` and put it into FEEDWARDEN_TOKEN.")
        }
        _ => formatter.write_str(&detail),
    }
}

/// Quotes an untrusted URL for a shell.
pub(super) fn quoted(url: &str) -> String {
    let is_harmless = |letter: char| letter.is_ascii_alphanumeric() || "-._~:/%+=@,".contains(letter);
    if url.chars().all(is_harmless) { url.to_owned() } else { format!("'{}'", plain(url).replace('\'', "%27")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(status: u16, name: &str, field: Option<&str>) -> CliError {
        CliError::Problem(Box::new(ProblemView {
            kind: format!("{TYPE_PREFIX}{name}"),
            title: "Title".into(),
            status,
            detail: "detail".into(),
            field: field.map(str::to_owned),
            context: None,
        }))
    }

    #[test]
    fn every_kind_of_problem_has_its_exit() {
        for (status, name, exit) in [
            (400, "invalid", Exit::Usage),
            (401, "unauthorized", Exit::Refused),
            (403, "forbidden", Exit::Refused),
            (404, "not-found", Exit::NotFound),
            (409, "duplicate", Exit::Conflict),
            (409, "refused", Exit::Refused),
            (412, "conflict", Exit::Conflict),
            (422, "source-does-not-work", Exit::Refused),
            (429, "too-fast", Exit::Failure),
            (500, "internal", Exit::Failure),
            (503, "unavailable", Exit::Failure),
        ] {
            assert_eq!(problem(status, name, None).exit(), exit, "{status} {name}");
        }
    }

    #[test]
    fn what_a_page_links_to_is_no_command_of_a_shell() {
        assert_eq!(quoted("http://a.example/feed.xml"), "http://a.example/feed.xml");
        assert_eq!(quoted("http://a.example/?a=1&b='$(x)"), "'http://a.example/?a=1&b=%27$(x)'");
    }

    #[test]
    fn programs_get_our_own_refusals_as_problems_too() {
        let missing = CliError::NotFound("there is no user zed".into());
        let problem = missing.problem();
        assert_eq!((problem.status, problem.detail.as_str()), (404, "there is no user zed"));
        assert_eq!(CliError::Problem(Box::new(problem)).exit(), missing.exit());
    }

    #[test]
    fn a_field_is_named_where_it_is_wrong() {
        assert_eq!(problem(400, "invalid", Some("title")).to_string(), "title: detail");
        assert_eq!(problem(409, "duplicate", Some("url")).to_string(), "detail");
    }
}
