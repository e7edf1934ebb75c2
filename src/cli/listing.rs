//! Lists of the API, page by page, as tables or JSON.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::client::{ApiClient, Done, query, read};
use super::error::CliError;
use super::output_style::OutputStyle;
use super::progress::Progress;
use super::source_arguments::Paging;
use super::table::{Cell, Column, Table};
use super::{Exit, complain, print, print_some};
use crate::api::views::Page;
use crate::clock::{Clock, SystemClock};
use crate::model::Timestamp;

/// Page size for `--all`.
const PAGE: usize = 200;
/// Delay before a progress message.
const SILENT_FOR: Duration = Duration::from_secs(1);

pub(super) struct PageRequest {
    /// Maximum number of items; none for all.
    limit: Option<usize>,
    cursor: Option<String>,
}

pub(super) fn paging(paging: &Paging) -> PageRequest {
    let limit = (!paging.all).then(|| usize::try_from(paging.limit).unwrap_or(PAGE));
    PageRequest { limit, cursor: paging.cursor.clone() }
}

/// A list being fetched. A page can be short or empty and still have a next one, because the daemon examines a bounded
/// number of items for each page.
struct Pages<'a> {
    client: &'a ApiClient,
    path: &'a str,
    filters: &'a [(&'a str, &'a str)],
    cursor: Option<String>,
    is_over: bool,
    found: usize,
    begun_at: Timestamp,
    progress: Progress,
    /// Whether a progress message has to be erased before printing.
    is_heard: bool,
}

pub(super) async fn list_all<T: DeserializeOwned>(
    client: &ApiClient,
    path: &str,
    filters: &[(&str, &str)],
    wanted: &PageRequest,
    columns: &'static [Column],
    row: impl Fn(&T) -> Vec<Cell>,
) -> Done {
    let mut pages = Pages {
        client,
        path,
        filters,
        cursor: wanted.cursor.clone(),
        is_over: false,
        found: 0,
        begun_at: SystemClock.now(),
        progress: Progress::new(),
        is_heard: false,
    };
    let style = OutputStyle::of_output();
    let table = |items: Vec<Value>, is_first: bool| {
        let mut table = Table::new(columns);
        for item in items {
            table.row(row(&read(item)?));
        }
        Ok(table.render(style, is_first))
    };
    match wanted.limit {
        Some(limit) => print_first(&mut pages, limit, table).await,
        None => print_every(&mut pages, table).await,
    }
}

/// Prints up to `limit` items at once; continues over short pages until they are found or the list ends.
async fn print_first(
    pages: &mut Pages<'_>,
    limit: usize,
    table: impl Fn(Vec<Value>, bool) -> Result<String, CliError>,
) -> Done {
    let mut items = Vec::new();
    while items.len() < limit && !pages.is_over {
        items.extend(pages.next(limit - items.len()).await?);
    }
    pages.be_quiet();
    let next_cursor = pages.cursor.take();
    if pages.client.is_json {
        let page = serde_json::to_value(Page { items, next_cursor }).unwrap_or_default();
        return Ok(print(&format!("{page:#}\n")));
    }
    if let Some(exit) = print_some(&table(items, true)?) {
        return Ok(exit);
    }
    pages.explain_if_empty();
    if let Some(cursor) = next_cursor {
        complain(&format_args!("there may be more: use --all, or continue with --cursor {cursor}"));
    }
    Ok(Exit::Success)
}

/// Prints all items, page by page.
async fn print_every(pages: &mut Pages<'_>, table: impl Fn(Vec<Value>, bool) -> Result<String, CliError>) -> Done {
    let mut is_first = true;
    while !pages.is_over {
        let items = pages.next(PAGE).await?;
        // Print headings also for an empty list.
        if items.is_empty() && !(pages.is_over && is_first) {
            continue;
        }
        pages.be_quiet();
        let text = match pages.client.is_json {
            true => items.iter().map(|item| format!("{item}\n")).collect(),
            false => table(items, is_first)?,
        };
        if let Some(exit) = print_some(&text) {
            return Ok(exit);
        }
        is_first = false;
    }
    pages.be_quiet();
    pages.explain_if_empty();
    Ok(Exit::Success)
}

impl Pages<'_> {
    /// Tells a person whose list is empty what to do next.
    fn explain_if_empty(&self) {
        if self.found > 0 || !self.is_over || self.client.is_json {
            return;
        }
        match self.path {
            _ if self.filters.iter().any(|(name, _)| *name != "order") => complain(&"nothing matches these options"),
            "/sources" => complain(
                &"no sources yet: `feedwarden source add URL` adds one, `feedwarden import FILE` those of an OPML file",
            ),
            "/posts" => complain(&"no posts yet: `feedwarden source list` shows when each source was polled last"),
            _ => complain(&"none yet"),
        }
    }

    async fn next(&mut self, limit: usize) -> Result<Vec<Value>, CliError> {
        if SystemClock.now().since(self.begun_at) >= SILENT_FOR {
            self.progress.say(&format!("looking, {} found …", self.found));
            self.is_heard = true;
        }
        let limit = limit.to_string();
        let mut pairs = self.filters.to_vec();
        pairs.push(("limit", &limit));
        pairs.extend(self.cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let answer = self.client.get_patiently(&format!("{}?{}", self.path, query(&pairs))).await;
        let page: Page<Value> = read(answer.inspect_err(|_| self.be_quiet())?)?;
        self.found += page.items.len();
        self.is_over = page.next_cursor.is_none();
        self.cursor = page.next_cursor;
        Ok(page.items)
    }

    fn be_quiet(&mut self) {
        if std::mem::take(&mut self.is_heard) {
            self.progress.clear();
        }
    }
}
