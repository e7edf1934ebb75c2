//! Checks a store without changing it, whether or not a daemon uses it: integrity, rows that cannot be read, secrets
//! that cannot be opened, numbers of posts, counts.

use crate::model::Timestamp;

use super::cipher::Cipher;
use super::poll_row::{NEW_POLL, POLL_ID, POLL_PAGES};
use super::post_row::{CONTENT, POST_ID, RECORD};
use super::rows::{ColumnSpec, HOST, WEBHOOK};
use super::secrets::SecretCheck;
use super::settings::{EngineSettings, StoreSettings};
use super::source_row::{IDENTITY, SETTINGS, STATE};
use super::{Result, StoreError, postgres, sqlite};

/// Problems that are described; all are counted.
const DESCRIBED_MAX: usize = 100;
/// Rows that are read at once.
pub(super) const ROWS_AT_ONCE: u32 = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum StoreProblemKind {
    /// The engine finds its own structures damaged.
    Integrity,
    /// A row refers to a row that is not there.
    Reference,
    /// A row has a value that this program cannot read.
    UnreadableRow,
    /// No configured key opens a secret.
    ClosedSecret,
    /// A number of a post could be issued again.
    Numbers,
    /// The schema is of another version.
    Schema,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreProblem {
    pub kind: StoreProblemKind,
    pub table: Option<&'static str>,
    /// Id of the row, or its key where that is a text.
    pub row: Option<String>,
    pub column: Option<&'static str>,
    pub reason: String,
}

/// Number of rows of a table.
pub type TableCount = (&'static str, u64);

#[derive(Clone, Debug)]
pub struct CheckReport {
    pub engine: &'static str,
    /// None for a database that this program never used.
    pub schema_version: Option<i64>,
    pub known_schema_version: i64,
    pub counts: Vec<TableCount>,
    /// None if the schema is of another version.
    pub secrets: Option<SecretCheck>,
    /// Since when polling is paused.
    pub paused_since: Option<Timestamp>,
    /// Size of the database.
    pub bytes: u64,
    /// Bytes of the file that are not used.
    pub free_bytes: u64,
    pub wal_bytes: u64,
    /// Whether the file gives free pages back by itself.
    pub can_shrink: bool,
    /// The first problems.
    pub problems: Vec<StoreProblem>,
    /// Number of all problems.
    pub problem_count: u64,
}

impl CheckReport {
    pub(super) fn new(engine: &'static str, known_schema_version: i64) -> CheckReport {
        CheckReport {
            engine,
            schema_version: None,
            known_schema_version,
            counts: Vec::new(),
            secrets: None,
            paused_since: None,
            bytes: 0,
            free_bytes: 0,
            wal_bytes: 0,
            can_shrink: true,
            problems: Vec::new(),
            problem_count: 0,
        }
    }

    pub(super) fn add(&mut self, problem: StoreProblem) {
        self.problem_count += 1;
        if self.problems.len() < DESCRIBED_MAX {
            self.problems.push(problem);
        }
    }

    pub(super) fn note(&mut self, kind: StoreProblemKind, table: Option<&'static str>, reason: impl Into<String>) {
        self.add(StoreProblem { kind, table, row: None, column: None, reason: reason.into() });
    }

    /// Notes the version of the schema; false if its rows are not those of this program.
    pub(super) fn is_known(&mut self, version: Option<i64>) -> bool {
        self.schema_version = version;
        let known = self.known_schema_version;
        let reason = match version {
            Some(version) if version == known => return true,
            Some(version) if version < known => format!(
                "its schema version is {version}, and this feedwarden's is {known}: rows are not checked; start the \
                 daemon once, which brings the schema up to date"
            ),
            Some(version) => StoreError::Newer { found: version, known }.to_string(),
            None => "it was never used by feedwarden".to_owned(),
        };
        self.note(StoreProblemKind::Schema, None, reason);
        false
    }

    /// Notes a row that cannot be read, after so many of its columns.
    pub(super) fn unreadable(&mut self, table: CheckedTable, row: Option<String>, taken: usize, error: &StoreError) {
        let column = table.columns().get(taken.saturating_sub(1)).map(|(name, _)| *name);
        // Table, row and column stand beside the reason.
        let reason = match error {
            StoreError::BadRow(bad) => bad.reason.clone(),
            other => other.to_string(),
        };
        self.add(StoreProblem {
            kind: StoreProblemKind::UnreadableRow,
            table: Some(table.name()),
            row,
            column,
            reason,
        });
    }

    pub(super) fn numbers(&mut self, issued: i64, used: i64) {
        if used > issued {
            let reason = format!("the next number is {}, but {used} is in use", issued + 1);
            self.note(StoreProblemKind::Numbers, Some("posts"), reason);
        }
    }

    pub(super) fn secrets(&mut self, cipher: &Cipher, check: SecretCheck) {
        for (table, counts) in &check.0 {
            if counts.closed > 0 {
                let why = if cipher.has_key() { "no configured key opens it" } else { "no key is configured" };
                for id in &counts.closed_ids {
                    let (kind, table) = (StoreProblemKind::ClosedSecret, Some(table.name()));
                    let (row, column) = (Some(id.to_string()), Some("sealed"));
                    self.add(StoreProblem { kind, table, row, column, reason: why.to_owned() });
                }
                self.problem_count += counts.closed - counts.closed_ids.len() as u64;
            }
        }
        self.secrets = Some(check);
    }
}

/// A table whose rows are read one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckedTable {
    Sources,
    Posts,
    Webhooks,
    Hosts,
    Polls,
}

impl CheckedTable {
    pub(super) const fn name(self) -> &'static str {
        match self {
            CheckedTable::Sources => "sources",
            CheckedTable::Posts => "posts",
            CheckedTable::Webhooks => "webhooks",
            CheckedTable::Hosts => "hosts",
            CheckedTable::Polls => "polls",
        }
    }

    fn columns(self) -> Vec<ColumnSpec> {
        match self {
            CheckedTable::Sources => [IDENTITY.as_slice(), &SETTINGS, &STATE].concat(),
            CheckedTable::Posts => [POST_ID.as_slice(), &CONTENT, &RECORD].concat(),
            CheckedTable::Webhooks => WEBHOOK.to_vec(),
            CheckedTable::Hosts => HOST.to_vec(),
            CheckedTable::Polls => [POLL_ID.as_slice(), &NEW_POLL, &POLL_PAGES].concat(),
        }
    }
}

/// The tables whose rows are counted.
pub(super) const COUNTED: [&str; 10] = [
    "sources",
    "posts",
    "post_revisions",
    "articles",
    "hosts",
    "webhooks",
    "users",
    "podcasts",
    "full_text_queue",
    "polls",
];

/// Checks a store. An error means that it cannot be reached or read at all; what is wrong with it is in the report.
pub async fn check(settings: &StoreSettings) -> Result<CheckReport> {
    let cipher = Cipher::new(settings.encryption_key.as_ref())?;
    match &settings.engine {
        EngineSettings::Sqlite(engine) => {
            let engine = engine.clone();
            let checking = tokio::task::spawn_blocking(move || sqlite::check(&engine, &cipher));
            checking.await.map_err(|error| StoreError::Internal(error.to_string()))?
        }
        EngineSettings::Postgres(engine) => postgres::check(engine, &cipher).await,
    }
}
