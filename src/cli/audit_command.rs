//! `feedwarden audit`: lists changes by users and programs.

use clap::Args;

use super::client::{ApiClient, Done};
use super::listing::{list_all, paging};
use super::source_arguments::Paging;
use super::table::{Cell, Column};
use super::times::{past_moment, second};
use crate::api::views::AuditView;
use crate::model::Timestamp;

const COLUMNS: &[Column] = &[
    Column::word("TIME"),
    Column::name("WHO"),
    Column::word("ACTION"),
    Column::text("TARGET").leaves(2),
    Column::text("CHANGE").leaves(1),
];

#[derive(Args, Debug)]
pub(super) struct AuditArguments {
    /// Only changes of this source: id (also of one that was removed), URL, or a part of URL or title
    #[arg(long, conflicts_with = "target")]
    source: Option<String>,
    /// Only changes of things of this kind, such as source, host or webhook
    #[arg(long, value_name = "KIND")]
    target: Option<String>,
    /// Only this action, such as source.edit
    #[arg(long)]
    action: Option<String>,
    /// Only changes by this caller, such as token:ann or uid:1000
    #[arg(long)]
    who: Option<String>,
    /// Only changes at this time or later: 1h, "2 days ago", yesterday, 2026-11-01, 2026-11-01T14:30:00Z
    #[arg(long, value_name = "TIME", value_parser = past_moment)]
    since: Option<Timestamp>,
    #[command(flatten)]
    paging: Paging,
}

pub(super) async fn audit(client: &ApiClient, list: &AuditArguments) -> Done {
    let id = match &list.source {
        Some(name) => Some(client.source(name).await?.to_string()),
        None => None,
    };
    let since = list.since.map(|time| time.to_string());
    let target = id.as_ref().map(|_| "source").or(list.target.as_deref());
    let filters = [
        ("target", target),
        ("target_id", id.as_deref()),
        ("action", list.action.as_deref()),
        ("who", list.who.as_deref()),
        ("since", since.as_deref()),
    ];
    let given: Vec<(&str, &str)> = filters.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
    list_all(client, "/audit", &given, &paging(&list.paging), COLUMNS, row).await
}

fn row(record: &AuditView) -> Vec<Cell> {
    let who = match (&record.user_name, &record.address) {
        (Some(name), _) => format!("{} ({name})", record.who),
        (None, Some(address)) => format!("{} ({address})", record.who),
        (None, None) => record.who.clone(),
    };
    let target = match (&record.target_id, &record.target_name) {
        (Some(id), Some(name)) => format!("{} {id} {name}", record.target),
        (Some(text), None) | (None, Some(text)) => format!("{} {text}", record.target),
        (None, None) => record.target.clone(),
    };
    let change = match (record.before.is_empty(), record.after.is_empty()) {
        (true, true) => String::new(),
        (true, false) => record.after.to_string(),
        (false, true) => format!("was {}", record.before),
        (false, false) => format!("{}, was {}", record.after, record.before),
    };
    vec![Cell::new(second(record.at)), Cell::new(who), Cell::new(&record.action), Cell::new(target), Cell::new(change)]
}
