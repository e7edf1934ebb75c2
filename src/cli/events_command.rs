//! `feedwarden events`: lists and follows events.

use clap::Args;
use serde::Deserialize;

use super::client::{ApiClient, Done, query, read, until_interrupted};
use super::error::CliError;
use super::listing::{list_all, paging};
use super::output_style::OutputStyle;
use super::source_arguments::Paging;
use super::stream::follow_stream;
use super::table::{Cell, Column, Table};
use super::times::{past_moment, second};
use crate::model::{EventType, PostSource, Timestamp};

const COLUMNS: &[Column] = &[
    Column::number("NUMBER"),
    Column::word("TIME").leaves(1),
    Column::word("EVENT"),
    Column::text("SUBJECT"),
    Column::text("DETAIL").leaves(2),
];

#[derive(Args, Debug)]
pub(super) struct EventsArguments {
    /// Print events as they happen, until interrupted; survives a restart of the daemon
    #[arg(long, conflicts_with_all = ["all", "cursor", "limit"])]
    follow: bool,
    /// Only events of this type; may be given several times
    #[arg(long = "type", value_name = "TYPE", value_parser = event_types())]
    types: Vec<String>,
    /// Only events of this source: id, URL, or a part of URL or title that only one source has
    #[arg(long)]
    source: Option<String>,
    /// Only events of sources with this label
    #[arg(long)]
    label: Option<String>,
    /// Only events at this time or later: 1h, "2 days ago", yesterday, 2026-11-01, 2026-11-01T14:30:00Z
    #[arg(long, value_name = "TIME", value_parser = past_moment, conflicts_with = "follow")]
    since: Option<Timestamp>,
    /// Only events with numbers above this one [default with --follow: only events from now on]
    #[arg(long, value_name = "NUMBER", conflicts_with = "since")]
    after: Option<i64>,
    /// Stop after this many events
    #[arg(long, value_name = "N", requires = "follow", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    #[command(flatten)]
    paging: Paging,
}

pub(super) fn event_types() -> clap::builder::PossibleValuesParser {
    EventType::ALL.map(EventType::name).into()
}

/// The parts of an event that are shown.
#[derive(Deserialize)]
struct ShownEvent {
    #[serde(rename = "type")]
    event_type: String,
    timestamp: Timestamp,
    data: ShownData,
}

#[derive(Deserialize)]
struct ShownData {
    number: i64,
    source: Option<PostSource>,
    source_id: Option<i64>,
    post: Option<ShownPost>,
    url: Option<String>,
    new_url: Option<String>,
    host: Option<String>,
    node: Option<String>,
    reason: Option<String>,
    until: Option<Timestamp>,
}

#[derive(Deserialize)]
struct ShownPost {
    title: String,
    url: Option<String>,
}

pub(super) async fn events(client: &ApiClient, list: &EventsArguments) -> Done {
    let source = match &list.source {
        Some(name) => Some(client.source(name).await?.to_string()),
        None => None,
    };
    let types = Some(list.types.join(",")).filter(|types| !types.is_empty());
    let (since, after) = (list.since.map(|time| time.to_string()), list.after.map(|number| number.to_string()));
    let mut filters: Vec<(&str, &str)> =
        [("type", types.as_deref()), ("source_id", source.as_deref()), ("label", list.label.as_deref())]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
    if list.follow {
        let path = format!("/events/stream?{}", query(&filters));
        return until_interrupted(follow_stream(client, &path, list.after, list.count, line)).await;
    }
    filters.extend(since.as_deref().map(|since| ("since", since)));
    filters.extend(after.as_deref().map(|after| ("after", after)));
    list_all(client, "/events", &filters, &paging(&list.paging), COLUMNS, row).await
}

fn line(data: &str) -> Result<String, CliError> {
    let value = serde_json::from_str(data).map_err(|error| CliError::Failed(error.to_string()))?;
    let mut table = Table::new(COLUMNS);
    table.row(row(&read(value)?));
    Ok(table.render(OutputStyle::of_output(), false))
}

fn row(event: &ShownEvent) -> Vec<Cell> {
    let data = &event.data;
    let source = data.source.as_ref().map(|source| source.title.as_ref().unwrap_or(&source.url));
    let source = source.or(data.url.as_ref()).cloned();
    let subject = match (data.source_id, source) {
        (Some(id), Some(name)) => Some(format!("{id} {name}")),
        (Some(id), None) => Some(id.to_string()),
        (None, _) => data.host.clone().or_else(|| data.node.clone()),
    };
    let detail = match &data.post {
        Some(post) => [Some(post.title.clone()), post.url.clone()],
        None => {
            let until = data.until.map(|until| format!("until {}", second(until)));
            [data.new_url.clone().or(until), data.reason.clone()]
        }
    };
    let detail: Vec<String> = detail.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    vec![
        Cell::new(data.number),
        Cell::new(second(event.timestamp)),
        Cell::new(&event.event_type),
        Cell::maybe(subject),
        Cell::new(detail.join("  ")),
    ]
}
