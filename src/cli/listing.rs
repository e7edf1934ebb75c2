//! Lists of the API, page by page: as a table for people, as JSON for programs.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::client::{Client, Done, query, read};
use super::source_arguments::Portion;
use super::table::{Cell, Paper, Table};
use super::{Exit, complain, print_some};
use crate::api::views::Page;

/// How many a page holds when all are wanted.
const PAGE: &str = "200";

/// How much of a list is wanted.
pub(super) struct Wanted {
    limit: String,
    cursor: Option<String>,
    all: bool,
}

/// As it was said on the command line.
pub(super) fn portion(portion: &Portion) -> Wanted {
    let limit = if portion.all { PAGE.to_owned() } else { portion.limit.to_string() };
    Wanted { limit, cursor: portion.cursor.clone(), all: portion.all }
}

/// Prints a list.
pub(super) async fn list_all<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    filters: &[(&str, &str)],
    wanted: &Wanted,
    headings: &'static [&'static str],
    row: impl Fn(&T) -> Vec<Cell>,
) -> Done {
    let paper = Paper::of_output();
    let mut cursor = wanted.cursor.clone();
    let mut is_first = true;
    loop {
        let mut pairs = filters.to_vec();
        pairs.push(("limit", &wanted.limit));
        pairs.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let value = client.get(&format!("{path}?{}", query(&pairs))).await?;
        let page: Page<Value> = read(value.clone())?;
        let text = match (client.is_json, wanted.all) {
            (true, true) => page.items.iter().map(|item| format!("{item}\n")).collect(),
            (true, false) => format!("{value:#}\n"),
            (false, _) => {
                let mut table = Table::new(headings);
                for item in page.items {
                    table.row(row(&read(item)?));
                }
                table.render(paper, is_first)
            }
        };
        if let Some(exit) = print_some(&text) {
            return Ok(exit);
        }
        is_first = false;
        cursor = page.next_cursor;
        match &cursor {
            Some(_) if wanted.all => {}
            Some(cursor) if !client.is_json => {
                complain(&format_args!("there may be more: --all, or go on with --cursor {cursor}"));
                return Ok(Exit::Success);
            }
            _ => return Ok(Exit::Success),
        }
    }
}
