//! Pausing and resuming all polling. The store decides after a restart, so it is written before the scheduler is told.

use super::{Result, Service};
use crate::model::AuditedChange;
use crate::store::StoreError;

impl Service {
    /// Suspends all polling until it is resumed, also across restarts.
    /// Returns the nodes of the fleet that have not followed yet.
    pub async fn pause_polling(&self) -> Result<Vec<String>> {
        let service = self.clone();
        self.in_turn(async move {
            let record = service.record_of(AuditedChange::new("polling.pause", "polling", None).after("paused", true));
            let since = service.store.audited(record.clone()).pause_polling(service.now()).await?;
            service.log_change(&record);
            service.pipeline.set_paused(Some(since));
            Ok(())
        })
        .await?;
        Ok(self.pipeline.fleet().until_paused(true).await)
    }

    /// Returns the nodes of the fleet that have not followed yet.
    pub async fn resume_polling(&self) -> Result<Vec<String>> {
        let service = self.clone();
        self.in_turn(async move {
            let record =
                service.record_of(AuditedChange::new("polling.resume", "polling", None).after("paused", false));
            service.store.audited(record.clone()).resume_polling().await?;
            service.log_change(&record);
            service.pipeline.set_paused(None);
            Ok(())
        })
        .await?;
        Ok(self.pipeline.fleet().until_paused(false).await)
    }

    /// Runs one switch after the other, to its end even if its caller stops waiting: the scheduler follows the store.
    async fn in_turn(
        &self,
        switch: impl Future<Output = std::result::Result<(), StoreError>> + Send + 'static,
    ) -> Result<()> {
        let pausing = self.pausing.clone();
        let switch = tokio::spawn(async move {
            let _turn = pausing.lock().await;
            switch.await
        });
        Ok(switch.await.unwrap_or_else(|cause| Err(StoreError::Internal(cause.to_string())))?)
    }
}
