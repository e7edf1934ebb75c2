//! What a person can try after a poll failed. The daemon says what happened; this says which command helps.

use super::error::quoted;
use crate::model::{FailureKind, SourceId};

/// What failed.
pub(super) struct FailedPoll<'a> {
    pub(super) kind: Option<FailureKind>,
    pub(super) status: Option<u16>,
    pub(super) error: &'a str,
    /// Whether the response links to feeds, which are offered by themselves.
    pub(super) has_linked_feeds: bool,
}

/// The command that has to be changed.
#[derive(Clone, Copy)]
pub(super) enum HintFor<'a> {
    /// `source add` or `check` of this URL.
    NewSource(&'a str),
    Source(SourceId),
}

/// Sentences, the most likely help first.
pub(super) fn hints(poll: &FailedPoll<'_>, hint_for: HintFor<'_>) -> Vec<String> {
    let error = poll.error;
    let with = |options: &str| match hint_for {
        HintFor::NewSource(url) => format!("`feedwarden source add {} {options}`", quoted(url)),
        HintFor::Source(id) if options.starts_with("--type") => format!("`feedwarden source edit {id} {options}`"),
        HintFor::Source(id) => format!("`feedwarden source access {id} {options}`"),
    };
    let hint = match poll.kind {
        _ if error.contains("challenge page") => {
            "The site admits only browsers. Ask its publisher to admit feed readers, or look for another feed of it.".into()
        }
        Some(FailureKind::Unauthorized) if poll.status.is_some() => format!(
            "If the feed needs a login: {}; the file has NAME:PASSWORD on one line.",
            with("--login-file FILE")
        ),
        Some(FailureKind::Forbidden) if poll.status.is_some() => format!(
            "If the feed needs a login or a token: {} or --header-file FILE. Some sites refuse programs whatever they send.",
            with("--login-file FILE")
        ),
        Some(FailureKind::ParseError) if error.contains("web page, not a feed") && !poll.has_linked_feeds => {
            format!("To follow the page itself: {}.", with("--type website"))
        }
        Some(FailureKind::Network) if error.starts_with("DNS: ") => {
            "Check the spelling of the host name, and whether this machine can resolve names.".into()
        }
        Some(FailureKind::Network) if error.contains("does not speak TLS") => {
            "The server may speak http on this port: write http:// if unencrypted requests are acceptable.".into()
        }
        Some(FailureKind::Network) if error.contains("certificate") => {
            "The certificate was not accepted, so nothing was read. For a certificate authority of your own, set http.tls-ca-file."
                .into()
        }
        Some(FailureKind::Network) if error.contains(" while connecting to ") => {
            "Check the host name and the port, and whether a firewall or a proxy (http.proxy) is in the way.".into()
        }
        _ if error.contains("speaks TLS on this port") => "Write https:// instead of http://.".into(),
        Some(FailureKind::NotFound | FailureKind::Gone) if matches!(hint_for, HintFor::NewSource(_)) => {
            "Feeds move: `feedwarden source add` with the address of the site's home page finds the feeds it links to.".into()
        }
        Some(FailureKind::RateLimited) => {
            "The site limits requests; a source that is added with --anyway is polled when it admits them again.".into()
        }
        _ => return Vec::new(),
    };
    match (hint_for, poll.kind) {
        // A known source is polled again by itself.
        (HintFor::Source(_), Some(FailureKind::RateLimited)) => Vec::new(),
        _ => vec![hint],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_command_that_helps() {
        use FailureKind::{Forbidden, Network, NotFound, ParseError, Unauthorized, UpstreamFailure};
        let page = "the document is a web page, not a feed";
        for (kind, status, error, wanted) in [
            (Unauthorized, Some(401), "HTTP 401 Unauthorized", Some("source add http://a.example/ --login-file FILE`")),
            (Forbidden, Some(403), "HTTP 403 Forbidden", Some("--header-file FILE")),
            (
                Forbidden,
                Some(403),
                "HTTP 403: the publisher's guard asks for a browser (challenge page)",
                Some("browsers"),
            ),
            (Forbidden, None, "address 10.0.0.1 is refused", None),
            (ParseError, Some(200), page, Some("source add http://a.example/ --type website`")),
            (Network, None, "DNS: the name does not exist", Some("spelling")),
            (Network, None, "connection refused while connecting to 192.0.2.1:443", Some("port")),
            (Network, None, "TLS certificate expired", Some("tls-ca-file")),
            (NotFound, Some(404), "HTTP 404 Not Found", Some("home page")),
            (UpstreamFailure, Some(500), "HTTP 500", None),
        ] {
            let poll = FailedPoll { kind: Some(kind), status, error, has_linked_feeds: false };
            let said = hints(&poll, HintFor::NewSource("http://a.example/")).concat();
            match wanted {
                Some(wanted) => assert!(said.contains(wanted), "{error}: {said}"),
                None => assert_eq!(said, "", "{error}"),
            }
        }
        let poll =
            FailedPoll { kind: Some(Unauthorized), status: Some(401), error: "HTTP 401", has_linked_feeds: false };
        assert!(hints(&poll, HintFor::Source(SourceId(7))).concat().contains("source access 7 --login-file FILE`"));
        let page = FailedPoll { kind: Some(ParseError), status: Some(200), error: page, has_linked_feeds: true };
        assert!(hints(&page, HintFor::NewSource("http://a.example/")).is_empty(), "linked feeds are offered instead");
    }
}
