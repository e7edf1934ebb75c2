//! `feedwarden source add`: adds sources by URL, by host name or by the name of an X account.

use hyper::Method;
use serde_json::{Value, json};

use super::client::{ApiClient, Done, read};
use super::error::CliError;
use super::hints::{FailedPoll, HintFor, hints};
use super::podcast_command::only_podcast;
use super::progress::Progress;
use super::sanitize::plain;
use super::source_access::read_access;
use super::source_arguments::AddSourceArguments;
use super::source_selection::worse;
use super::source_words::added;
use super::{Exit, complain, print_some};
use crate::api::ProblemView;
use crate::api::views::{CreatedSource, PollAnswer, PollRecord};
use crate::model::{FailureKind, SourceType};
use crate::sources::{detect_type, kind, owner_key};

/// What a person wrote for a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// As it was written.
    Url(String),
    /// Without a scheme: https first, http if https cannot be reached.
    WithoutScheme { https: String, http: String },
}

pub(super) async fn add(client: &ApiClient, add: &AddSourceArguments) -> Done {
    let access = read_access(&add.access)?;
    let [place] = add.places.as_slice() else { return add_several(client, add, access.as_ref()).await };
    let value = add_one(client, add, access.as_ref(), place).await?;
    note_if_unpolled(&value)?;
    client.show(value, |created: CreatedSource| added(&created))
}

/// One after the other: each is added or refused by itself.
async fn add_several(client: &ApiClient, add: &AddSourceArguments, access: Option<&Value>) -> Done {
    if add.settings.title.is_some() {
        return Err(CliError::Usage("--title is the title of one source; add the sources one by one".into()));
    }
    let (mut exit, mut failed) = (Exit::Success, 0);
    for place in &add.places {
        let (text, one_exit) = match add_one(client, add, access, place).await {
            Ok(value) if client.is_json => {
                (format!("{}\n", json!({ "url": place, "ok": true, "result": value })), Exit::Success)
            }
            Ok(value) => {
                note_if_unpolled(&value)?;
                (added(&read(value)?), Exit::Success)
            }
            Err(error) if client.is_json => {
                let line = json!({ "url": place, "ok": false, "problem": error.problem() });
                (format!("{line}\n"), error.exit())
            }
            Err(error) => {
                complain(&format_args!("{}: {error}", plain(place)));
                (String::new(), error.exit())
            }
        };
        failed += usize::from(one_exit != Exit::Success);
        exit = worse(exit, one_exit);
        if let Some(end) = print_some(&text) {
            exit = worse(exit, end);
        }
    }
    if failed > 0 {
        complain(&format_args!("{failed} of {} sources were not added", add.places.len()));
    }
    Ok(exit)
}

fn note_if_unpolled(value: &Value) -> Result<(), CliError> {
    let created: CreatedSource = read(value.clone())?;
    if let Some(PollAnswer::Requested { .. }) = created.first_poll {
        complain(&format_args!(
            "note: the source has not been polled yet; `feedwarden source history {}` shows the first poll",
            created.source.id
        ));
    }
    Ok(())
}

async fn add_one(
    client: &ApiClient,
    add: &AddSourceArguments,
    access: Option<&Value>,
    written: &str,
) -> Result<Value, CliError> {
    let source_type = add.settings.source_type.as_deref().and_then(|name| name.parse().ok());
    match place(written, source_type) {
        Place::Url(url) => post(client, add, access, &url).await.map_err(|error| explained(error, &url)),
        Place::WithoutScheme { https, http } => match post(client, add, access, &https).await {
            Ok(value) => {
                complain(&format_args!("{} is taken as {https}", plain(written)));
                Ok(value)
            }
            Err(CliError::Problem(problem)) if is_unreachable(&problem) => {
                let reason = plain(&problem.detail);
                let value = post(client, add, access, &http).await.map_err(|error| explained(error, &http))?;
                complain(&format_args!(
                    "{} is taken as {http}, unencrypted: https was tried first ({reason})",
                    plain(written)
                ));
                Ok(value)
            }
            Err(error) => Err(explained(error, &https)),
        },
    }
}

async fn post(
    client: &ApiClient,
    add: &AddSourceArguments,
    access: Option<&Value>,
    url: &str,
) -> Result<Value, CliError> {
    let mut body = add.settings.body();
    body.insert("url".into(), json!(url));
    let source_type = match &add.settings.source_type {
        Some(name) => name.parse().ok(),
        None => detect_type(url).ok(),
    };
    if source_type.is_some_and(|source_type| owner_key(source_type).is_some()) && add.settings.podcast.is_none() {
        body.insert("podcast_id".into(), json!(only_podcast(client).await?));
    }
    if let Some(access) = access {
        body.insert("access".into(), access.clone());
    }
    body.insert("first_poll".into(), json!(!add.unseen));
    body.insert("anyway".into(), json!(add.anyway));
    // A host that does not respond takes long to time out, so show what the command waits for.
    let progress = Progress::new();
    if !add.unseen {
        progress.say(&format!("fetching {} once …", plain(url)));
    }
    let answer = client.send(Method::POST, "/sources", &Value::Object(body)).await;
    progress.clear();
    answer
}

/// The URL that a text stands for. `@name` is an X account; a host name with or without a path gets a scheme.
fn place(written: &str, source_type: Option<SourceType>) -> Place {
    let text = written.trim();
    let is_account = source_type.is_some_and(|source_type| owner_key(source_type).is_some());
    if text.starts_with('@')
        && (is_account || source_type.is_none())
        && let Some(account) = account_url(text)
    {
        return Place::Url(account);
    }
    if is_account || text.contains("://") || !begins_with_host(text) {
        return Place::Url(text.to_owned());
    }
    let https = format!("https://{text}");
    // x.com/nasa without a scheme: there is no such account at http.
    if detect_type(&https).is_ok_and(|detected| owner_key(detected).is_some()) {
        return Place::Url(https);
    }
    Place::WithoutScheme { http: format!("http://{text}"), https }
}

/// The URL of the account of this name.
fn account_url(name: &str) -> Option<String> {
    let mut types = SourceType::ALL.into_iter().filter(|source_type| owner_key(*source_type).is_some());
    let found = types.find(|source_type| kind(*source_type).check_url(name).is_ok())?;
    Some(kind(found).canonical_url(name))
}

/// Whether a text without a scheme begins with a host name or an address, and perhaps a port.
fn begins_with_host(text: &str) -> bool {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let authority = &text[..end];
    if authority.starts_with('[') {
        return authority.contains(']');
    }
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let has_port = port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let is_name = host.contains('.') && !host.starts_with('.') || host == "localhost" || (has_port && !host.is_empty());
    is_name && (port.is_none() || has_port) && !host.contains(['@', ' '])
}

fn poll_of(problem: &ProblemView) -> Option<PollRecord> {
    serde_json::from_value(problem.context.as_ref()?.get("poll")?.clone()).ok()
}

/// Whether there is no https at all: no connection, or a server that does not speak TLS. An invalid certificate, or a
/// handshake that fails, is no reason to give up encryption.
fn is_unreachable(problem: &ProblemView) -> bool {
    poll_of(problem).is_some_and(|poll| {
        let error = poll.error.unwrap_or_default();
        let is_without_answer = poll.status_code.is_none() && poll.error_type == Some(FailureKind::Network);
        is_without_answer
            && (error.contains(" while connecting to ") || error.contains("does not speak TLS on this port"))
    })
}

/// Adds what can be done about a source that does not work.
fn explained(error: CliError, url: &str) -> CliError {
    match error {
        CliError::Problem(problem) if problem.status == 422 => {
            let poll = poll_of(&problem);
            let feeds = poll.as_ref().map(|poll| poll.linked_feeds.clone()).unwrap_or_default();
            let hints = poll.as_ref().map(|poll| hints(&failed(poll), HintFor::NewSource(url))).unwrap_or_default();
            CliError::Offer { refusal: Box::new(CliError::Problem(problem)), feeds, hints }
        }
        CliError::Problem(mut problem) if problem.status == 400 && problem.field.as_deref() == Some("url") => {
            if !url.contains("://") && !url.contains(['/', ':', ' ']) {
                problem.detail += ", example.org for a site, or @name for an X account";
            }
            CliError::Problem(problem)
        }
        error => error,
    }
}

pub(super) fn failed(poll: &PollRecord) -> FailedPoll<'_> {
    FailedPoll {
        kind: poll.error_type,
        status: poll.status_code,
        error: poll.error.as_deref().unwrap_or_default(),
        has_linked_feeds: !poll.linked_feeds.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_can_be_written_as_people_write_it() {
        let url = |text: &str| Place::Url(text.to_owned());
        let bare =
            |text: &str| Place::WithoutScheme { https: format!("https://{text}"), http: format!("http://{text}") };
        for (written, wanted) in [
            ("@nasa", url("https://x.com/nasa")),
            ("x.com/nasa", url("https://x.com/nasa")),
            ("http://a.example/", url("http://a.example/")),
            ("ftp://a.example/", url("ftp://a.example/")),
            (" example.org ", bare("example.org")),
            ("example.org/feed?a=b", bare("example.org/feed?a=b")),
            ("example.org:8080/feed", bare("example.org:8080/feed")),
            ("localhost", bare("localhost")),
            ("intranet:8080", bare("intranet:8080")),
            ("[::1]:8080/", bare("[::1]:8080/")),
            ("mailto:ann@a.example", url("mailto:ann@a.example")),
            ("ann:secret@a.example", url("ann:secret@a.example")),
            ("nasa", url("nasa")),
            ("", url("")),
        ] {
            assert_eq!(place(written, None), wanted, "{written}");
        }
        assert_eq!(place("nasa", "twitter".parse().ok()), url("nasa"));
        assert_eq!(place("@nasa", "rss".parse().ok()), url("@nasa"));
    }

    #[test]
    fn encryption_is_given_up_only_where_there_is_none() {
        let problem = |error: &str, status: Option<u16>| {
            let poll = json!({
                "at": "2026-11-16T07:56:06Z", "outcome": "failed", "status_code": status, "error_type": "network",
                "error": error, "new_posts": 0, "bytes": 0, "duration_ms": 1, "next": "", "linked_feeds": [],
            });
            ProblemView {
                kind: String::new(),
                title: String::new(),
                status: 422,
                detail: String::new(),
                field: None,
                context: Some(json!({ "poll": poll })),
            }
        };
        assert!(is_unreachable(&problem("connection refused while connecting to 192.0.2.1:443", None)));
        assert!(is_unreachable(&problem("the server does not speak TLS on this port", None)));
        assert!(!is_unreachable(&problem("connection refused while connecting to 192.0.2.1:443", Some(301))));
        for error in ["TLS certificate expired", "connection reset in the TLS handshake", "DNS: no such name"] {
            assert!(!is_unreachable(&problem(error, None)), "{error}");
        }
    }
}
