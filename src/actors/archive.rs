//! Pages of older entries, fetched for a backfill at the turns of their hosts.

use std::time::Duration;

use super::handle::PipelineHandle;
use crate::fetch::{Answer, Reading, Task};

/// Result of a request for a page of older entries.
pub enum ArchivePage {
    Read(Box<Reading>),
    Failed { status: Option<u16>, error: String },
}

impl PipelineHandle {
    /// Fetches a page of older entries, at the turn of its host.
    pub async fn fetch_archive_page(&self, task: Task, within: Duration) -> ArchivePage {
        let failed = |error| ArchivePage::Failed { status: None, error };
        let fetching = async {
            let turn = self.documents.turn(&task).await?;
            self.documents.fetch(turn, task).await
        };
        let fetched = match tokio::time::timeout(within, fetching).await {
            Err(_) => return failed(format!("no result within {} s", within.as_secs())),
            Ok(Err(no_turn)) => {
                return failed(format!("no request before {}: {}", no_turn.until, no_turn.because));
            }
            Ok(Ok(fetched)) => fetched,
        };
        self.statistics().count_wire_bytes(fetched.trace.wire_bytes);
        match fetched.answer {
            Answer::Read(reading) => ArchivePage::Read(reading),
            Answer::Failed(report) => ArchivePage::Failed { status: fetched.trace.status, error: report.error },
            Answer::NotModified { .. } | Answer::PendingRedirect(_) => {
                failed("the server answered a request that was not made".to_owned())
            }
        }
    }
}
