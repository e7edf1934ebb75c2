//! Pausing all polling, and going on. What is in the store counts, so it is written before the scheduler is told.

use super::{ControlError, PipelineHandle};
use crate::actors::messages::{PausePolling, ResumePolling};
use crate::store::StoreError;

impl PipelineHandle {
    /// Hands out nothing until told otherwise, also after a restart. A pause that could not be kept is none.
    pub async fn pause(&self) -> Result<(), ControlError> {
        let handle = self.clone();
        self.in_turn(async move {
            let since = handle.context.store.pause_polling(handle.context.clock.now()).await?;
            handle.scheduler.do_send(PausePolling { since });
            Ok(())
        })
        .await
    }

    /// Goes on after a pause.
    pub async fn resume(&self) -> Result<(), ControlError> {
        let handle = self.clone();
        self.in_turn(async move {
            handle.context.store.resume_polling().await?;
            handle.scheduler.do_send(ResumePolling);
            Ok(())
        })
        .await
    }

    /// Of two people at once, the scheduler follows the one whose word is in the store; also if they stop waiting.
    async fn in_turn(
        &self,
        switching: impl Future<Output = Result<(), StoreError>> + Send + 'static,
    ) -> Result<(), ControlError> {
        let context = self.context.clone();
        let switching = tokio::spawn(async move {
            let _turn = context.pausing.lock().await;
            switching.await
        });
        switching.await.unwrap_or_else(|cause| Err(StoreError::Internal(cause.to_string()))).map_err(Into::into)
    }
}
