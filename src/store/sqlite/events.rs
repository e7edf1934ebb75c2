//! Events in SQLite.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, params, params_from_iter};

use crate::model::{EventPage, EventSelection, NewEvent, Source, Timestamp};

use super::super::event_row::{EventPlaces, event_values, read_event, read_place, wanted_kinds};
use super::super::post_row::read_post;
use super::super::rows::{Columns, Value};
use super::super::shared_sql as sql;
use super::super::source_row::read_silent;
use super::super::statement::Statement;
use super::super::{EventStore, PageBounds, Result, Store};
use super::SqliteStore;
use super::numbers::{self, NumberFile};
use super::posts::BY_ID;
use super::settle::NEXT_NUMBER;
use super::sources::SILENT;
use super::values::{all, error, execute, number, one, readable};

static ADD: Statement = Statement::new(include_str!("../../../sql/sqlite/add_events.sql"));

#[async_trait]
impl EventStore for SqliteStore {
    fn telling(&self, events: Vec<NewEvent>) -> Arc<dyn Store> {
        Arc::new(SqliteStore { events: events.into(), ..self.clone() })
    }

    async fn add_events(&self, events: Vec<NewEvent>) -> Result<()> {
        let numbers = self.numbers.clone();
        let adding = move |connection: &mut Connection| {
            let transaction = connection.transaction().map_err(error)?;
            add(&transaction, &events, &numbers)?;
            transaction.commit().map_err(error)
        };
        self.writer.run(adding).await
    }

    async fn events_page(&self, selection: EventSelection, bounds: PageBounds) -> Result<EventPage> {
        let reading = move |connection: &mut Connection| {
            let wanted = wanted_kinds(&selection);
            let transaction = connection.transaction().map_err(error)?;
            let (after, rows) = (selection.after, bounds.rows);
            let found = match selection.source {
                None => {
                    let parameters = params![after, rows, wanted.created, wanted.updated, wanted.others];
                    all(&transaction, &sql::LIST_EVENTS, parameters, |row| read_place(row))?
                }
                Some(source) => {
                    let parameters = params![after, rows, wanted.created, wanted.updated, wanted.others, source.0];
                    all(&transaction, &sql::LIST_EVENTS_OF_SOURCE, parameters, |row| read_place(row))?
                }
            };
            let places = EventPlaces::new(found, bounds);
            let list = serde_json::Value::from_iter(places.posts()).to_string();
            let posts = readable(&transaction, &BY_ID, [list], |row| read_post(row))?;
            let others = match places.others() {
                Some((first, last)) => all(&transaction, &sql::EVENTS_BETWEEN, [first, last], |row| read_event(row))?,
                None => Vec::new(),
            };
            let removed_to = match wanted.others {
                true => one(&transaction, &sql::EVENTS_REMOVED_TO, [], |row| row.integer())?.flatten(),
                false => None,
            };
            Ok((selection, places, posts, others, removed_to))
        };
        let (selection, places, posts, others, removed_to) = self.readers.run(reading).await?;
        let posts = self.quarantine.sift_posts(posts);
        Ok(places.page(&selection, posts, others.into_iter().flatten().collect(), removed_to))
    }

    async fn first_event_since(&self, since: Timestamp) -> Result<Option<i64>> {
        let reading =
            move |connection: &mut Connection| one(connection, &sql::FIRST_EVENT_SINCE, [since], |row| row.integer());
        Ok(self.readers.run(reading).await?.flatten())
    }

    async fn new_silent_sources(&self, before: Timestamp, limit: u32) -> Result<Vec<(Source, Timestamp)>> {
        let reading = move |connection: &mut Connection| {
            readable(connection, &SILENT, params![before, limit, true], |row| read_silent(row))
        };
        let silent = self.readers.run(reading).await?.into_iter().flatten();
        Ok(silent.map(|silent| (silent.source, silent.since)).collect())
    }

    async fn note_silences(&self, events: Vec<NewEvent>, now: Timestamp) -> Result<()> {
        let numbers = self.numbers.clone();
        let noting = move |connection: &mut Connection| {
            let transaction = connection.transaction().map_err(error)?;
            execute(&transaction, &sql::END_SILENCES, [])?;
            let mut noted = Vec::new();
            for event in events {
                let source = event.source_id.map(|id| id.0);
                if execute(&transaction, &sql::NOTE_SILENCE, params![source, now])? > 0 {
                    noted.push(event);
                }
            }
            add(&transaction, &noted, &numbers)?;
            transaction.commit().map_err(error)
        };
        self.writer.run(noting).await
    }
}

/// Stores events with the next numbers, in their order.
pub(super) fn add(connection: &Connection, events: &[NewEvent], numbers: &NumberFile) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    // The sequence has no row before its first use.
    execute(connection, &numbers::BEGIN, [])?;
    for event in events {
        let next = one(connection, &NEXT_NUMBER, [], number)?;
        let row = std::iter::once(Value::Integer(next)).chain(event_values(event));
        execute(connection, &ADD, params_from_iter(row))?;
    }
    numbers.cover(connection)
}
