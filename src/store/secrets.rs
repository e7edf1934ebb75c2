//! All sealed secrets of a store: which key opens them, and sealing them again with the current one.

use std::fmt;

use crate::model::{KeyProvider, SourceId, UserId};

use super::cipher::{Cipher, OpenedBy, Owner};
use super::rows::{Columns, required};
use super::{Result, Store};

/// Rows that are read at once.
const ROWS_AT_ONCE: u32 = 500;
/// The most rows that are named.
const NAMED_MAX: usize = 20;

/// A table with sealed secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretTable {
    /// Logins and headers of sources.
    SourceAccess,
    /// Keys that users gave for sources of a type.
    ApiKeys,
    Webhooks,
}

impl SecretTable {
    pub const ALL: [SecretTable; 3] = [SecretTable::SourceAccess, SecretTable::ApiKeys, SecretTable::Webhooks];

    /// Name of the table in the database.
    pub const fn name(self) -> &'static str {
        match self {
            SecretTable::SourceAccess => "source_access",
            SecretTable::ApiKeys => "api_keys",
            SecretTable::Webhooks => "webhooks",
        }
    }
}

/// Position in a table: the id of source, user or webhook, and the provider of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretPlace {
    pub id: i64,
    /// Empty but for keys.
    pub provider: String,
}

/// A sealed secret.
#[derive(Clone, Debug)]
pub struct SealedRow {
    pub place: SecretPlace,
    /// URL of a webhook, which its secret is sealed for; empty elsewhere.
    pub url: String,
    pub sealed: Vec<u8>,
}

/// Number of secrets in a table by the key that opens them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretCounts {
    pub current: u64,
    pub previous: u64,
    /// No configured key opens them.
    pub closed: u64,
    /// The first of these.
    pub closed_ids: Vec<i64>,
}

/// Counts of all tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretCheck(pub Vec<(SecretTable, SecretCounts)>);

/// What [`reseal`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// Sealed again with the current key.
    pub resealed: u64,
    /// Sealed with the current key before.
    pub unchanged: u64,
    /// No configured key opens them; they are unchanged.
    pub closed: u64,
}

impl SecretCheck {
    pub fn closed(&self) -> u64 {
        self.0.iter().map(|(_, counts)| counts.closed).sum()
    }

    pub fn previous(&self) -> u64 {
        self.0.iter().map(|(_, counts)| counts.previous).sum()
    }
}

/// Secrets that no key opens, by table: `2 of 5 in source_access (source 3, 9)`.
impl fmt::Display for SecretCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let closed = self.0.iter().filter(|(_, counts)| counts.closed > 0);
        for (index, (table, counts)) in closed.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let all = counts.current + counts.previous + counts.closed;
            let ids: Vec<String> = counts.closed_ids.iter().map(i64::to_string).collect();
            let more = if counts.closed > ids.len() as u64 { ", …" } else { "" };
            let noun = match table {
                SecretTable::SourceAccess => "source",
                SecretTable::ApiKeys => "user",
                SecretTable::Webhooks => "webhook",
            };
            write!(
                formatter,
                "{comma}{} of {all} in {} ({noun} {}{more})",
                counts.closed,
                table.name(),
                ids.join(", ")
            )?;
        }
        Ok(())
    }
}

pub(super) fn read_sealed_login(row: &mut impl Columns) -> Result<SealedRow> {
    let place = SecretPlace { id: required(row.integer()?)?, provider: String::new() };
    Ok(SealedRow { place, url: String::new(), sealed: row.bytes()? })
}

pub(super) fn read_sealed_webhook(row: &mut impl Columns) -> Result<SealedRow> {
    let place = SecretPlace { id: required(row.integer()?)?, provider: String::new() };
    Ok(SealedRow { place, url: required(row.text()?)?, sealed: row.bytes()? })
}

pub(super) fn read_sealed_api_key(row: &mut impl Columns) -> Result<SealedRow> {
    let place = SecretPlace { id: required(row.integer()?)?, provider: required(row.text()?)? };
    Ok(SealedRow { place, url: String::new(), sealed: row.bytes()? })
}

/// The key that opens a sealed row; none if no configured key does.
pub(super) fn opened_by(cipher: &Cipher, table: SecretTable, row: &SealedRow) -> Option<OpenedBy> {
    with_owner(table, row, |owner| cipher.open_with(owner, &row.sealed).ok().map(|(_, by)| by))
}

/// The row sealed with the current key.
pub(super) fn sealed_again(cipher: &Cipher, table: SecretTable, row: &SealedRow) -> Result<Vec<u8>> {
    let sealed = with_owner(table, row, |owner| {
        let (secret, _) = cipher.open_with(owner, &row.sealed).ok()?;
        Some(cipher.seal(owner, &secret))
    });
    sealed.unwrap_or_else(|| Ok(row.sealed.clone()))
}

fn with_owner<T>(table: SecretTable, row: &SealedRow, act: impl FnOnce(Owner<'_>) -> Option<T>) -> Option<T> {
    match table {
        SecretTable::SourceAccess => act(Owner::SourceAccess(SourceId(row.place.id))),
        // A provider of a later version: the row cannot be used.
        SecretTable::ApiKeys => {
            let provider: KeyProvider = row.place.provider.parse().ok()?;
            act(Owner::ApiKey(UserId(row.place.id), provider))
        }
        SecretTable::Webhooks => act(Owner::Webhook(&row.url)),
    }
}

/// Adds one row to the counts of its table.
pub(super) fn count(counts: &mut SecretCounts, row: &SealedRow, opened_by: Option<OpenedBy>) {
    match opened_by {
        Some(OpenedBy::Current) => counts.current += 1,
        Some(OpenedBy::Previous) => counts.previous += 1,
        None => {
            counts.closed += 1;
            if counts.closed_ids.len() < NAMED_MAX {
                counts.closed_ids.push(row.place.id);
            }
        }
    }
}

/// Opens every secret of a store, in bounded pages.
pub async fn check_secrets(store: &dyn Store) -> Result<SecretCheck> {
    let mut all = Vec::new();
    for table in SecretTable::ALL {
        let mut counts = SecretCounts::default();
        let mut after = SecretPlace::default();
        loop {
            let rows = store.sealed_rows(table, after.clone(), ROWS_AT_ONCE).await?;
            let Some(last) = rows.last() else { break };
            after = last.place.clone();
            for row in &rows {
                count(&mut counts, row, opened_by(store.cipher(), table, row));
            }
        }
        all.push((table, counts));
    }
    Ok(SecretCheck(all))
}

/// Seals every secret with the current key that another key opens. May be interrupted and repeated at any point; a
/// secret that is stored anew meanwhile stays as it is.
pub async fn reseal(store: &dyn Store) -> Result<Resealed> {
    let mut done = Resealed::default();
    for table in SecretTable::ALL {
        let mut after = SecretPlace::default();
        loop {
            let rows = store.sealed_rows(table, after.clone(), ROWS_AT_ONCE).await?;
            let Some(last) = rows.last() else { break };
            after = last.place.clone();
            for row in rows {
                match opened_by(store.cipher(), table, &row) {
                    Some(OpenedBy::Current) => done.unchanged += 1,
                    None => done.closed += 1,
                    Some(OpenedBy::Previous) => {
                        let sealed = sealed_again(store.cipher(), table, &row)?;
                        match store.replace_sealed(table, row, sealed).await? {
                            true => done.resealed += 1,
                            // Stored anew meanwhile, with the current key.
                            false => done.unchanged += 1,
                        }
                    }
                }
            }
        }
    }
    if let Some(fleet) = store.fleet() {
        fleet.reseal_key_check().await?;
    }
    Ok(done)
}
