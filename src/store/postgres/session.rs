//! Connections and transactions whose statements have a time limit on our side.
//!
//! The server's own limits say nothing of a connection that is frozen: a stalled server, a firewall that drops packets.
//! A connection with a statement that got no answer in time, or whose caller stopped waiting, is closed and never used
//! again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{Client, GenericClient, Pool};
use futures_util::future::BoxFuture;
use tokio::sync::OwnedRwLockReadGuard;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{IsolationLevel, Row};

use super::super::statement::Statement;
use super::super::{Result, StoreError, StoreHealth};
use super::values::{self, error};

type SqlParameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection for one method call.
pub(super) struct Lease {
    /// Taken when the lease ends.
    client: Option<Client>,
    guard: SessionGuard,
    _under_way: Option<OwnedRwLockReadGuard<()>>,
}

/// A transaction on a leased connection.
pub(super) struct Transaction<'a> {
    inner: deadpool_postgres::Transaction<'a>,
    guard: &'a SessionGuard,
}

/// A transaction whose commit is sent together with its last statements, so that locks taken by them are not held for
/// a round trip. Without [`PipelinedTransaction::end`] its connection is closed.
pub(super) struct PipelinedTransaction<'a> {
    lease: &'a Lease,
    is_over: bool,
}

/// Time limit of the statements of a connection, and whether one of them was left without an answer.
pub(super) struct SessionGuard {
    limit: Duration,
    is_abandoned: AtomicBool,
    health: Arc<StoreHealth>,
}

/// A statement without an answer so far.
struct Unanswered<'a>(Option<&'a SessionGuard>);

/// A connection or a transaction.
pub(super) trait Session: Sync {
    type Inner: GenericClient;

    fn inner(&self) -> &Self::Inner;

    fn guard(&self) -> &SessionGuard;

    /// Whether a statement takes effect only with a commit.
    fn is_transaction(&self) -> bool;

    fn query_typed<'a>(&'a self, text: &'a str, arrays: &'a [Array<'a>]) -> PendingResponse<'a, Vec<Row>>;
}

/// An array of values for a statement that takes no prepared plan.
pub(super) type Array<'a> = (&'a (dyn ToSql + Sync), Type);
type PendingResponse<'a, T> = BoxFuture<'a, std::result::Result<T, tokio_postgres::Error>>;

/// What the success of a call says of the store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Read,
    /// Something was written.
    Write,
    /// Something is written if its transaction is committed.
    PartOfWrite,
}

impl Effect {
    fn of(statement: &Statement, session: &impl Session) -> Effect {
        match (statement.is_write(), session.is_transaction()) {
            (false, _) => Effect::Read,
            (true, true) => Effect::PartOfWrite,
            (true, false) => Effect::Write,
        }
    }
}

impl Lease {
    /// Waits for a connection of this pool.
    pub(super) async fn take(
        pool: &Pool,
        limit: Duration,
        health: &Arc<StoreHealth>,
        under_way: OwnedRwLockReadGuard<()>,
    ) -> Result<Lease> {
        let client = pool.get().await.map_err(values::refused)?;
        let mut lease = Lease::of(client, limit, health);
        lease._under_way = Some(under_way);
        Ok(lease)
    }

    /// A connection that was taken before.
    pub(super) fn of(client: Client, limit: Duration, health: &Arc<StoreHealth>) -> Lease {
        let guard = SessionGuard { limit, is_abandoned: AtomicBool::new(false), health: health.clone() };
        Lease { client: Some(client), guard, _under_way: None }
    }

    pub(super) async fn transaction(&mut self) -> Result<Transaction<'_>> {
        let guard = &self.guard;
        let client = self.client.as_mut().ok_or_else(gone)?;
        let inner = guard.limited(Effect::PartOfWrite, client.transaction()).await?;
        Ok(Transaction { inner, guard })
    }

    pub(super) async fn pipelined_transaction(&self) -> Result<PipelinedTransaction<'_>> {
        self.guard.limited(Effect::PartOfWrite, self.inner().batch_execute("BEGIN")).await?;
        Ok(PipelinedTransaction { lease: self, is_over: false })
    }

    /// One view of the database for several statements.
    pub(super) async fn snapshot(&mut self) -> Result<Transaction<'_>> {
        let guard = &self.guard;
        let builder = self.client.as_mut().ok_or_else(gone)?.build_transaction();
        let builder = builder.isolation_level(IsolationLevel::RepeatableRead).read_only(true);
        let inner = guard.limited(Effect::Read, builder.start()).await?;
        Ok(Transaction { inner, guard })
    }

    /// The connection without our time limit, for migrations.
    pub(super) fn client(&mut self) -> Result<&mut Client> {
        self.client.as_mut().ok_or_else(gone)
    }
}

fn gone() -> StoreError {
    StoreError::Internal("a connection was used after its end".into())
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.guard.is_abandoned.load(Ordering::Acquire)
            && let Some(client) = self.client.take()
        {
            // Closes the connection.
            drop(Client::take(client));
        }
    }
}

impl Transaction<'_> {
    pub(super) async fn commit(self) -> Result<()> {
        self.guard.limited(Effect::Write, self.inner.commit()).await
    }

    pub(super) async fn rollback(self) -> Result<()> {
        self.guard.limited(Effect::Read, self.inner.rollback()).await
    }
}

impl PipelinedTransaction<'_> {
    /// Prepares a statement, so that its execution keeps its place among others that are sent with it.
    pub(super) async fn prepare(&self, statement: &Statement) -> Result<()> {
        let preparing = self.inner().prepare_cached(statement.postgres());
        self.guard().limited(Effect::Read, preparing).await.map(|_| ())
    }

    /// Sends the commit. The transaction is over when it is answered; after a failed statement, without effect.
    pub(super) async fn commit(&self) -> Result<()> {
        self.guard().limited(Effect::Write, self.inner().batch_execute("COMMIT")).await
    }

    pub(super) async fn rollback(self) -> Result<()> {
        self.guard().limited(Effect::Read, self.inner().batch_execute("ROLLBACK")).await?;
        self.end();
        Ok(())
    }

    /// Commit or rollback was answered.
    pub(super) fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for PipelinedTransaction<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.lease.guard.is_abandoned.store(true, Ordering::Release);
        }
    }
}

impl Session for PipelinedTransaction<'_> {
    type Inner = Client;

    fn inner(&self) -> &Client {
        self.lease.inner()
    }

    fn guard(&self) -> &SessionGuard {
        &self.lease.guard
    }

    fn is_transaction(&self) -> bool {
        true
    }

    fn query_typed<'a>(&'a self, text: &'a str, arrays: &'a [Array<'a>]) -> PendingResponse<'a, Vec<Row>> {
        self.lease.query_typed(text, arrays)
    }
}

impl Session for Lease {
    type Inner = Client;

    fn inner(&self) -> &Client {
        self.client.as_ref().expect("only the end of the lease takes it")
    }

    fn guard(&self) -> &SessionGuard {
        &self.guard
    }

    fn is_transaction(&self) -> bool {
        false
    }

    fn query_typed<'a>(&'a self, text: &'a str, arrays: &'a [Array<'a>]) -> PendingResponse<'a, Vec<Row>> {
        Box::pin(tokio_postgres::Client::query_typed(self.inner(), text, arrays))
    }
}

impl<'a> Session for Transaction<'a> {
    type Inner = deadpool_postgres::Transaction<'a>;

    fn inner(&self) -> &deadpool_postgres::Transaction<'a> {
        &self.inner
    }

    fn guard(&self) -> &SessionGuard {
        self.guard
    }

    fn is_transaction(&self) -> bool {
        true
    }

    fn query_typed<'b>(&'b self, text: &'b str, arrays: &'b [Array<'b>]) -> PendingResponse<'b, Vec<Row>> {
        Box::pin(self.inner.query_typed(text, arrays))
    }
}

/// Rows of a statement.
pub(super) async fn query(
    session: &impl Session,
    statement: &Statement,
    parameters: SqlParameters<'_>,
) -> Result<Vec<Row>> {
    let inner = session.inner();
    let answer = async {
        let prepared = inner.prepare_cached(statement.postgres()).await?;
        inner.query(&prepared, parameters).await
    };
    let effect = Effect::of(statement, session);
    session.guard().limited(effect, answer).await.map_err(|error| of_table(error, effect, session))
}

/// Rows of a statement that the server plans each time.
pub(super) async fn query_planned_anew(
    session: &impl Session,
    statement: &Statement,
    arrays: &[Array<'_>],
) -> Result<Vec<Row>> {
    let answer = session.query_typed(statement.postgres(), arrays);
    let effect = Effect::of(statement, session);
    session.guard().limited(effect, answer).await.map_err(|error| of_table(error, effect, session))
}

/// Executes a statement and returns the number of affected rows.
pub(super) async fn execute(
    session: &impl Session,
    statement: &Statement,
    parameters: SqlParameters<'_>,
) -> Result<u64> {
    let inner = session.inner();
    let answer = async {
        let prepared = inner.prepare_cached(statement.postgres()).await?;
        inner.execute(&prepared, parameters).await
    };
    let effect = Effect::of(statement, session);
    session.guard().limited(effect, answer).await.map_err(|error| of_table(error, effect, session))
}

/// Rows are never locked against readers: a read that waits for a lock waits for a whole table.
fn of_table(error: StoreError, effect: Effect, session: &impl Session) -> StoreError {
    match error {
        StoreError::Locked(text) if effect == Effect::Read && !session.is_transaction() => {
            StoreError::Unavailable(format!("another session locks a whole table: {text}"))
        }
        other => other,
    }
}

impl SessionGuard {
    /// Waits for an answer of the server, for a limited time.
    async fn limited<T>(
        &self,
        effect: Effect,
        answer: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        let mut unanswered = Unanswered(Some(self));
        let result = match tokio::time::timeout(self.limit, answer).await {
            Ok(answer) => {
                unanswered.0 = None;
                answer.map_err(error)
            }
            Err(_) => Err(StoreError::Unavailable(format!(
                "the server did not answer within {} s; the connection was closed",
                self.limit.as_secs_f64()
            ))),
        };
        match effect {
            Effect::Read => self.health.note_read(&result),
            Effect::PartOfWrite if result.is_ok() => {}
            Effect::Write | Effect::PartOfWrite => self.health.note_write(&result),
        }
        result
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(guard) = self.0 {
            guard.is_abandoned.store(true, Ordering::Release);
        }
    }
}
