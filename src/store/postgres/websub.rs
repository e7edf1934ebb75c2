//! Subscriptions at hubs, in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::ToSql;

use crate::model::{HubOffer, NewSubscription, PushCount, SourceId, Subscription, SubscriptionState, Timestamp};

use super::super::rows::storable;
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::subscription_row::{
    KeptSecret, lease_seconds, read_next_at, read_state_count, read_subscription, read_to_subscribe,
};
use super::super::{Result, WebSubStore};
use super::PostgresStore;
use super::values::{all, execute, one};

#[async_trait]
impl WebSubStore for PostgresStore {
    async fn add_subscription(&self, new: NewSubscription) -> Result<bool> {
        let KeptSecret(secret, is_sealed) = KeptSecret::of(&new, &self.cipher)?;
        let (hub, topic) = (storable(&new.hub), storable(&new.topic));
        let row: [&(dyn ToSql + Sync); 8] =
            [&new.token, &new.source_id.0, &hub, &topic, &new.public_url, &secret, &is_sealed, &new.created_at];
        Ok(execute(&self.client().await?, &sql::ADD_SUBSCRIPTION, &row).await? > 0)
    }

    async fn subscription(&self, token: &str) -> Result<Option<Subscription>> {
        Ok(self.subscriptions(&sql::SUBSCRIPTION, &[&storable(token)]).await?.into_iter().next())
    }

    async fn subscriptions_of_source(&self, source: SourceId, limit: u32) -> Result<Vec<Subscription>> {
        self.subscriptions(&sql::SUBSCRIPTIONS_OF_SOURCE, &[&source.0, &i64::from(limit)]).await
    }

    async fn subscriptions_due(
        &self,
        now: Timestamp,
        unknown: (Timestamp, Timestamp),
        after: &str,
        limit: u32,
    ) -> Result<Vec<Subscription>> {
        let row: [&(dyn ToSql + Sync); 5] = [&now, &unknown.0, &unknown.1, &after, &i64::from(limit)];
        self.subscriptions(&sql::SUBSCRIPTIONS_DUE, &row).await
    }

    async fn next_subscription_at(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        let read = one(&self.client().await?, &sql::NEXT_SUBSCRIPTION_AT, &[&now], |row| read_next_at(row)).await?;
        Ok(read.flatten())
    }

    async fn save_subscription(&self, subscription: &Subscription) -> Result<bool> {
        let Subscription { token, version, state, asked_at, verified_at, next_attempt_at, .. } = subscription;
        let (hub, error) = (storable(&subscription.hub), subscription.last_error.as_deref().map(storable));
        let (lease, attempts) = (lease_seconds(subscription), i64::from(subscription.attempts));
        let row: [&(dyn ToSql + Sync); 10] =
            [token, version, &hub, &state.name(), asked_at, verified_at, &lease, next_attempt_at, &attempts, &error];
        Ok(execute(&self.client().await?, &sql::SAVE_SUBSCRIPTION, &row).await? > 0)
    }

    async fn remove_subscription(&self, token: &str) -> Result<()> {
        execute(&self.client().await?, &sql::REMOVE_SUBSCRIPTION, &[&token]).await.map(|_| ())
    }

    async fn count_pushes(&self, token: &str, count: PushCount) -> Result<()> {
        let (pushes, rejected) = (i64::from(count.pushes), i64::from(count.rejected));
        let row: [&(dyn ToSql + Sync); 4] = [&storable(token), &pushes, &rejected, &count.pushed_at];
        execute(&self.client().await?, &sql::COUNT_PUSHES, &row).await.map(|_| ())
    }

    async fn count_finds(&self, source: SourceId, count: PushCount) -> Result<()> {
        let row: [&(dyn ToSql + Sync); 3] = [&source.0, &i64::from(count.useful), &i64::from(count.missed)];
        execute(&self.client().await?, &sql::COUNT_FINDS, &row).await.map(|_| ())
    }

    async fn count_subscriptions(&self) -> Result<Vec<(SubscriptionState, u64)>> {
        let counts = all(&self.client().await?, &sql::COUNT_SUBSCRIPTIONS, &[], |row| read_state_count(row)).await?;
        Ok(counts.into_iter().flatten().collect())
    }

    async fn sources_to_subscribe(&self, after: SourceId, limit: u32) -> Result<Vec<(SourceId, HubOffer)>> {
        let row: [&(dyn ToSql + Sync); 2] = [&after.0, &i64::from(limit)];
        all(&self.client().await?, &sql::SOURCES_TO_SUBSCRIBE, &row, |row| read_to_subscribe(row)).await
    }

    async fn subscriptions_to_end(
        &self,
        public_url: &str,
        followed_max: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Subscription>> {
        let row: [&(dyn ToSql + Sync); 4] = [&public_url, &followed_max, &after, &i64::from(limit)];
        self.subscriptions(&sql::SUBSCRIPTIONS_TO_END, &row).await
    }
}

impl PostgresStore {
    async fn subscriptions(&self, statement: &Statement, row: &[&(dyn ToSql + Sync)]) -> Result<Vec<Subscription>> {
        let found = all(&self.client().await?, statement, row, |row| read_subscription(row)).await?;
        Ok(found.into_iter().map(|row| row.open(&self.cipher)).collect())
    }
}
