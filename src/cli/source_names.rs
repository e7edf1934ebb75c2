//! Finds the source that a person names: by id, by URL, or by a part of URL or title that no other source has.

use super::client::{ApiClient, query, read};
use super::complain;
use super::error::CliError;
use super::progress::Progress;
use super::sanitize::plain;
use crate::api::views::{Page, SourceView};
use crate::model::SourceId;

/// Candidates that are listed for an ambiguous name.
const CANDIDATES_MAX: usize = 10;
/// Sources that the daemon examines for each request.
const PAGE: &str = "1000";

/// A source that was named.
pub(super) struct NamedSource {
    pub(super) id: SourceId,
    /// The source, if it was found by a part of its URL or title.
    pub(super) found_by_part: Option<Box<SourceView>>,
}

/// A complete URL is never taken for a part: a command must not act on another source because the one that was meant is
/// gone.
pub(super) async fn find_source(client: &ApiClient, name: &str) -> Result<NamedSource, CliError> {
    let name = name.trim();
    if let Ok(id) = name.parse::<i64>() {
        return Ok(NamedSource { id: SourceId(id), found_by_part: None });
    }
    if name.is_empty() {
        return Err(CliError::Usage("name a source by its id, its URL, or a part of its URL or title".into()));
    }
    let found: Page<SourceView> = read(client.get(&format!("/sources?{}", query(&[("url", name)]))).await?)?;
    match found.items.as_slice() {
        [] if name.contains("://") => Err(CliError::NotFound(format!("there is no source at {}", name.escape_debug()))),
        [] => find_by_part(client, name).await,
        [one] => Ok(NamedSource { id: one.id, found_by_part: None }),
        several => Err(ambiguous(name, several, false)),
    }
}

/// The same for a command that changes the source: says which one it is unless that is clear from the name.
pub(super) async fn find_source_to_change(client: &ApiClient, name: &str) -> Result<SourceId, CliError> {
    let named = find_source(client, name).await?;
    if let Some(source) = &named.found_by_part {
        complain(&format_args!("{} is source {}", name.escape_debug(), described(source)));
    }
    Ok(named.id)
}

/// Id, URL and title.
pub(super) fn described(source: &SourceView) -> String {
    let title = source.title.as_ref().or(source.feed_title.as_ref());
    let title = title.map(|title| format!(" ({})", plain(title))).unwrap_or_default();
    format!("{}, {}{title}", source.id, plain(&source.url))
}

/// Every source has to be examined, because a second match makes the name ambiguous.
async fn find_by_part(client: &ApiClient, part: &str) -> Result<NamedSource, CliError> {
    let progress = Progress::new();
    let mut found: Vec<SourceView> = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut pairs = vec![("text", part), ("limit", PAGE)];
        pairs.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page: Page<SourceView> = read(client.get_patiently(&format!("/sources?{}", query(&pairs))).await?)?;
        found.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() || found.len() > CANDIDATES_MAX {
            break;
        }
        progress.say("looking for the source …");
    }
    progress.clear();
    match found.len() {
        0 => Err(CliError::NotFound(format!(
            "no source has {} in its URL or title; `feedwarden source list` lists them",
            part.escape_debug()
        ))),
        1 => Ok(NamedSource { id: found[0].id, found_by_part: found.pop().map(Box::new) }),
        _ => Err(ambiguous(part, &found, true)),
    }
}

fn ambiguous(name: &str, candidates: &[SourceView], is_part: bool) -> CliError {
    let what = if is_part { "is a part of several sources" } else { "is the URL of several sources" };
    let mut text = format!("{} {what}; name one by its id:", name.escape_debug());
    for source in candidates.iter().take(CANDIDATES_MAX) {
        text += &format!("\n  {}", described(source));
    }
    if candidates.len() > CANDIDATES_MAX {
        text += "\n  and more";
    }
    CliError::Usage(text)
}
