//! Numbers of posts in PostgreSQL. A dump that is restored has another place than the tables that it was made of.

use deadpool_postgres::GenericClient;

use crate::model::Timestamp;

use super::super::Result;
use super::super::numbers::{NumberFacts, NumberJump, jump};
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::session::{Lease, Session};
use super::values::{error, execute, number, one};

static ISSUED: Statement = Statement::new(include_str!("../../../sql/postgres/issued_number.sql"));
static SKIP: Statement = Statement::new(include_str!("../../../sql/postgres/skip_numbers.sql"));
static SERVER_IDENTITY: Statement = Statement::new(include_str!("../../../sql/postgres/identity.sql"));
static TABLE_IDENTITY: Statement = Statement::new(include_str!("../../../sql/postgres/table_identity.sql"));

/// The turn of those that store posts, as the trigger of the table takes it.
const TAKE_TURN: &str = "SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(7377267653211902)";

/// Skips numbers that may have been issued before.
pub(super) async fn resume(client: &mut Lease, now: Timestamp) -> Result<Option<NumberJump>> {
    let place = place(client).await?;
    let transaction = client.transaction().await?;
    transaction.inner().batch_execute(TAKE_TURN).await.map_err(error)?;
    let known =
        one(&transaction, &sql::STORE_IDENTITY, &[], |row| Ok((row.text()?, row.time()?.is_some(), row.time()?)));
    let (identity, is_backup, last_polled) = required(known.await?)?;
    let is_here = identity.as_ref() == Some(&place);
    let facts = NumberFacts {
        issued: issued(&transaction).await?,
        is_identified: identity.is_some(),
        is_here,
        is_backup,
        mark: None,
        last_polled,
    };
    let jump = jump(facts, now);
    if let Some(jump) = &jump {
        one(&transaction, &SKIP, &[&jump.to], number).await?;
    }
    if !is_here || is_backup {
        execute(&transaction, &sql::PUT_STORE_IDENTITY, &[&place]).await?;
    }
    transaction.commit().await?;
    Ok(jump)
}

/// What tells this database from all others.
pub(super) async fn place(client: &Lease) -> Result<String> {
    let place = match one(client, &SERVER_IDENTITY, &[], |row| required(row.text()?)).await {
        // Some services do not allow it, or have no such functions.
        Err(error) if !error.is_passing() => one(client, &TABLE_IDENTITY, &[], |row| required(row.text()?)).await?,
        found => found?,
    };
    required(place)
}

pub(super) async fn issued(client: &impl Session) -> Result<i64> {
    required(one(client, &ISSUED, &[], number).await?)
}
