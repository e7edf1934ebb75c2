//! Follows a stream of the daemon, across its restarts.

use std::time::Duration;

use hyper::Method;

use super::client::{ApiClient, Done};
use super::connection::Sent;
use super::error::CliError;
use super::events::Events;
use super::sanitize::plain_lines;
use super::{Exit, complain, print_some};
use crate::api::views::{STREAM_END, StreamEnd};

/// Pause before reconnecting a broken stream.
const COME_BACK_AFTER: Duration = Duration::from_secs(1);

/// Where a stream stands.
struct Position {
    /// Id of the last event.
    last: Option<String>,
    /// Events that are still to be printed; without end if absent.
    left: Option<u64>,
    has_begun: bool,
}

/// Prints what a stream sends, without gaps or repeats. `line` writes the data of one event.
pub(super) async fn follow_stream(
    client: &ApiClient,
    path: &str,
    after: Option<i64>,
    count: Option<u64>,
    line: impl Fn(&str) -> Result<String, CliError>,
) -> Done {
    let mut position = Position { last: after.map(|id| id.to_string()), left: count, has_begun: false };
    loop {
        match follow_once(client, path, &mut position, &line).await {
            Ok(Some(exit)) => return Ok(exit),
            Ok(None) => {}
            // Reconnect to a daemon that has answered before; otherwise it is an error.
            Err(CliError::Broken { .. } | CliError::Unreachable { .. }) if position.has_begun => {}
            Err(refusal) => return Err(refusal),
        }
        tokio::time::sleep(COME_BACK_AFTER).await;
    }
}

/// Follows until the stream ends; returns an exit code if the command is done.
async fn follow_once(
    client: &ApiClient,
    path: &str,
    Position { last, left, has_begun }: &mut Position,
    line: &impl Fn(&str) -> Result<String, CliError>,
) -> Result<Option<Exit>, CliError> {
    let headers = last.iter().map(|last| ("Last-Event-ID", last.clone())).collect();
    let mut body = client.opened(Method::GET, path, Sent { body: None, headers }).await?.into_body();
    *has_begun = true;
    let mut events = Events::default();
    while let Some(piece) = client.piece(&mut body).await? {
        for event in events.take(&piece) {
            if event.event.as_deref() == Some(STREAM_END) {
                note_end(client, &event.data);
                return Ok(None);
            }
            if event.event.as_deref() == Some("missed") {
                complain(&"events were removed before they could be read (events.days, events.max)");
                continue;
            }
            if event.data.is_empty() {
                *last = event.id.or_else(|| last.take());
                continue;
            }
            let text = if client.is_json { format!("{}\n", event.data) } else { line(&event.data)? };
            if let Some(exit) = print_some(&text) {
                return Ok(Some(exit));
            }
            *last = event.id.or_else(|| last.take());
            *left = left.map(|left| left - 1);
            if *left == Some(0) {
                return Ok(Some(Exit::Success));
            }
        }
    }
    Ok(None)
}

/// Says that the token has to be replaced. Without a file the next request fails with the same reason.
fn note_end(client: &ApiClient, data: &str) {
    let Ok(end) = serde_json::from_str::<StreamEnd>(data) else { return };
    if let Some(file) = client.token_file().filter(|_| end.is_about_the_token()) {
        let file = file.display();
        complain(&format_args!("the daemon ended the stream: {}; reading {file} again", plain_lines(&end.detail)));
    }
}
