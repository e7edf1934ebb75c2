//! Rows of the database that cannot be read.

use super::Service;
use crate::model::QuarantinedRow;
use crate::rules::shown_url::shown_row_url;

/// Rows that cannot be read, as far as they have been met.
#[derive(Clone, Debug, Default)]
pub struct QuarantinedRows {
    /// The first ones, by table and key; URLs without credentials.
    pub rows: Vec<QuarantinedRow>,
    /// Number of all.
    pub total: usize,
    /// Number of sources among them.
    pub sources: usize,
}

impl Service {
    /// Rows that are skipped because they cannot be read, at most so many of them.
    pub fn quarantined_rows(&self, limit: usize) -> QuarantinedRows {
        let quarantine = self.store.quarantine();
        let shown = |row: QuarantinedRow| {
            let url = row.url.as_deref().map(|url| shown_row_url(row.table, url));
            QuarantinedRow { url, ..row }
        };
        QuarantinedRows {
            rows: quarantine.list(limit).into_iter().map(shown).collect(),
            total: quarantine.count(),
            sources: quarantine.count_sources(),
        }
    }
}
