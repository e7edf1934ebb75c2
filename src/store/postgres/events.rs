//! Events in PostgreSQL.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_postgres::types::{ToSql, Type};

use crate::model::{EventPage, EventSelection, NewEvent, Source, Timestamp};

use super::super::event_row::{EventPlaces, event_values, read_event, read_place, wanted_kinds};
use super::super::post_row::read_post;
use super::super::rows::Columns;
use super::super::shared_sql as sql;
use super::super::source_row::read_silent;
use super::super::statement::Statement;
use super::super::{EventStore, PageBounds, Result, Store};
use super::PostgresStore;
use super::posts::BY_ID;
use super::session::{Array, Session};
use super::sources::SILENT;
use super::values::{all, by_column, execute, number, one, readable, readable_planned_anew};

pub(super) static ADD: Statement = Statement::new(include_str!("../../../sql/postgres/add_events.sql"));

#[async_trait]
impl EventStore for PostgresStore {
    fn telling(&self, events: Vec<NewEvent>) -> Arc<dyn Store> {
        Arc::new(PostgresStore { events: events.into(), ..self.clone() })
    }

    async fn add_events(&self, events: Vec<NewEvent>) -> Result<()> {
        add(&self.client().await?, &events).await
    }

    async fn events_page(&self, selection: EventSelection, bounds: PageBounds) -> Result<EventPage> {
        let wanted = wanted_kinds(&selection);
        let mut client = self.client().await?;
        let transaction = client.snapshot().await?;
        let (after, rows) = (selection.after, i64::from(bounds.rows));
        let found = match selection.source {
            None => {
                let parameters: [&(dyn ToSql + Sync); 5] =
                    [&after, &rows, &wanted.created, &wanted.updated, &wanted.others];
                all(&transaction, &sql::LIST_EVENTS, &parameters, |row| read_place(row)).await?
            }
            Some(source) => {
                let parameters: [&(dyn ToSql + Sync); 6] =
                    [&after, &rows, &wanted.created, &wanted.updated, &wanted.others, &source.0];
                all(&transaction, &sql::LIST_EVENTS_OF_SOURCE, &parameters, |row| read_place(row)).await?
            }
        };
        let places = EventPlaces::new(found, bounds);
        let ids = places.posts();
        let array: Array<'_> = (&ids, Type::INT8_ARRAY);
        let posts = match ids.is_empty() {
            true => Vec::new(),
            false => readable_planned_anew(&transaction, &BY_ID, array, |row| read_post(row)).await?,
        };
        let others = match places.others() {
            Some((first, last)) => {
                all(&transaction, &sql::EVENTS_BETWEEN, &[&first, &last], |row| read_event(row)).await?
            }
            None => Vec::new(),
        };
        let removed_to = match wanted.others {
            true => one(&transaction, &sql::EVENTS_REMOVED_TO, &[], |row| row.integer()).await?.flatten(),
            false => None,
        };
        transaction.rollback().await?;
        let posts = self.quarantine.sift_posts(posts);
        Ok(places.page(&selection, posts, others.into_iter().flatten().collect(), removed_to))
    }

    async fn first_event_since(&self, since: Timestamp) -> Result<Option<i64>> {
        let client = self.client().await?;
        Ok(one(&client, &sql::FIRST_EVENT_SINCE, &[&since], |row| row.integer()).await?.flatten())
    }

    async fn new_silent_sources(&self, before: Timestamp, limit: u32) -> Result<Vec<(Source, Timestamp)>> {
        let row: [&(dyn ToSql + Sync); 3] = [&before, &i64::from(limit), &true];
        let read = readable(&self.client().await?, &SILENT, &row, |row| read_silent(row)).await?;
        Ok(read.into_iter().flatten().map(|silent| (silent.source, silent.since)).collect())
    }

    async fn note_silences(&self, events: Vec<NewEvent>, now: Timestamp) -> Result<()> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        execute(&transaction, &sql::END_SILENCES, &[]).await?;
        let mut noted = Vec::new();
        for event in events {
            let source = event.source_id.map(|id| id.0);
            if execute(&transaction, &sql::NOTE_SILENCE, &[&source, &now]).await? > 0 {
                noted.push(event);
            }
        }
        add(&transaction, &noted).await?;
        transaction.commit().await
    }
}

/// Stores events with the next numbers, in their order, once those that store posts or events have had their turn.
pub(super) async fn add(session: &impl Session, events: &[NewEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let columns = by_column(events.iter().map(event_values));
    let arrays: Vec<&(dyn ToSql + Sync)> = columns.iter().map(|column| column as _).collect();
    all(session, &ADD, &arrays, number).await.map(|_| ())
}
