//! Subscriptions at hubs, in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, params};

use crate::model::{HubOffer, NewSubscription, PushCount, SourceId, Subscription, SubscriptionState, Timestamp};

use super::super::rows::storable;
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::subscription_row::{
    KeptSecret, SubscriptionRow, lease_seconds, read_next_at, read_state_count, read_subscription, read_to_subscribe,
};
use super::super::{Result, WebSubStore};
use super::SqliteStore;
use super::values::{all, execute, one};

#[async_trait]
impl WebSubStore for SqliteStore {
    async fn add_subscription(&self, new: NewSubscription) -> Result<bool> {
        let KeptSecret(secret, is_sealed) = KeptSecret::of(&new, &self.cipher)?;
        let adding = move |connection: &mut Connection| {
            let (hub, topic) = (storable(&new.hub), storable(&new.topic));
            let row =
                params![new.token, new.source_id.0, hub, topic, new.public_url, secret, is_sealed, new.created_at];
            Ok(execute(connection, &sql::ADD_SUBSCRIPTION, row)? > 0)
        };
        self.writer.run(adding).await
    }

    async fn subscription(&self, token: &str) -> Result<Option<Subscription>> {
        let token = storable(token).into_owned();
        let found = self.subscriptions(&sql::SUBSCRIPTION, params_of([Box::new(token)])).await?;
        Ok(found.into_iter().next())
    }

    async fn subscriptions_of_source(&self, source: SourceId, limit: u32) -> Result<Vec<Subscription>> {
        let row = params_of([Box::new(source.0), Box::new(limit)]);
        self.subscriptions(&sql::SUBSCRIPTIONS_OF_SOURCE, row).await
    }

    async fn subscriptions_due(
        &self,
        now: Timestamp,
        unknown: (Timestamp, Timestamp),
        after: &str,
        limit: u32,
    ) -> Result<Vec<Subscription>> {
        let row = params_of([
            Box::new(now),
            Box::new(unknown.0),
            Box::new(unknown.1),
            Box::new(after.to_owned()),
            Box::new(limit),
        ]);
        self.subscriptions(&sql::SUBSCRIPTIONS_DUE, row).await
    }

    async fn next_subscription_at(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        let reading = move |connection: &mut Connection| {
            one(connection, &sql::NEXT_SUBSCRIPTION_AT, [now], |row| read_next_at(row))
        };
        Ok(self.readers.run(reading).await?.flatten())
    }

    async fn save_subscription(&self, subscription: &Subscription) -> Result<bool> {
        let subscription = subscription.clone();
        let saving = move |connection: &mut Connection| {
            let error = subscription.last_error.as_deref().map(storable);
            let row = params![
                subscription.token,
                subscription.version,
                storable(&subscription.hub),
                subscription.state.name(),
                subscription.asked_at,
                subscription.verified_at,
                lease_seconds(&subscription),
                subscription.next_attempt_at,
                subscription.attempts,
                error
            ];
            Ok(execute(connection, &sql::SAVE_SUBSCRIPTION, row)? > 0)
        };
        self.writer.run(saving).await
    }

    async fn remove_subscription(&self, token: &str) -> Result<()> {
        let token = token.to_owned();
        self.writer.run(move |connection| execute(connection, &sql::REMOVE_SUBSCRIPTION, [token])).await.map(|_| ())
    }

    async fn count_pushes(&self, token: &str, count: PushCount) -> Result<()> {
        let token = storable(token).into_owned();
        let counting = move |connection: &mut Connection| {
            execute(connection, &sql::COUNT_PUSHES, params![token, count.pushes, count.rejected, count.pushed_at])
        };
        self.writer.run(counting).await.map(|_| ())
    }

    async fn count_finds(&self, source: SourceId, count: PushCount) -> Result<()> {
        let counting = move |connection: &mut Connection| {
            execute(connection, &sql::COUNT_FINDS, params![source.0, count.useful, count.missed])
        };
        self.writer.run(counting).await.map(|_| ())
    }

    async fn count_subscriptions(&self) -> Result<Vec<(SubscriptionState, u64)>> {
        let counting =
            |connection: &mut Connection| all(connection, &sql::COUNT_SUBSCRIPTIONS, [], |row| read_state_count(row));
        Ok(self.readers.run(counting).await?.into_iter().flatten().collect())
    }

    async fn sources_to_subscribe(&self, after: SourceId, limit: u32) -> Result<Vec<(SourceId, HubOffer)>> {
        let reading = move |connection: &mut Connection| {
            all(connection, &sql::SOURCES_TO_SUBSCRIBE, params![after.0, limit], |row| read_to_subscribe(row))
        };
        self.readers.run(reading).await
    }

    async fn subscriptions_to_end(
        &self,
        public_url: &str,
        followed_max: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Subscription>> {
        let row = params_of([
            Box::new(public_url.to_owned()),
            Box::new(followed_max),
            Box::new(after.to_owned()),
            Box::new(limit),
        ]);
        self.subscriptions(&sql::SUBSCRIPTIONS_TO_END, row).await
    }
}

type SubscriptionParameters = Vec<Box<dyn rusqlite::ToSql + Send>>;

fn params_of<const COUNT: usize>(parameters: [Box<dyn rusqlite::ToSql + Send>; COUNT]) -> SubscriptionParameters {
    parameters.into()
}

impl SqliteStore {
    async fn subscriptions(
        &self,
        statement: &'static Statement,
        row: SubscriptionParameters,
    ) -> Result<Vec<Subscription>> {
        let reading = move |connection: &mut Connection| {
            all(connection, statement, rusqlite::params_from_iter(row), |row| read_subscription(row))
        };
        let found = self.readers.run(reading).await?;
        Ok(found.into_iter().map(|row: SubscriptionRow| row.open(&self.cipher)).collect())
    }
}
