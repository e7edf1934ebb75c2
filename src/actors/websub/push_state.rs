//! Changes what pushes have to do with a source. It is written on the version that was read, so that no poll overwrites it.

use crate::model::{PushState, SourceId, Timestamp};
use crate::store::{Saved, Store, StoreError};

/// How often a change is decided again because the source was changed meanwhile.
const ROUNDS_MAX: usize = 20;

/// Changes the pushes of a source; none from `change` leaves them as they are. False if the source is gone or nothing
/// was changed.
pub async fn change_push_state(
    store: &dyn Store,
    id: SourceId,
    now: Timestamp,
    change: impl Fn(&PushState) -> Option<PushState>,
) -> Result<bool, StoreError> {
    let Some(mut source) = store.source(id).await? else { return Ok(false) };
    for _ in 0..ROUNDS_MAX {
        let Some(push) = change(&source.state.push) else { return Ok(false) };
        source.state.push = push;
        match store.save_source(source, now).await? {
            Saved::Written(_) => return Ok(true),
            Saved::Stale(fresh) => source = *fresh,
            Saved::Duplicate(_) | Saved::Gone => return Ok(false),
        }
    }
    Err(StoreError::Unavailable(format!("source {id} is being changed by others all the time")))
}

/// Notes that no pushes can be expected for a source: its interval is the ordinary one again.
pub async fn forget_pushes(store: &dyn Store, id: SourceId, now: Timestamp) -> Result<bool, StoreError> {
    let without = |push: &PushState| {
        let is_known = push.streak > 0 || push.pushed_at.is_some();
        is_known.then(|| PushState { streak: 0, pushed_at: None, offer: push.offer.clone() })
    };
    change_push_state(store, id, now, without).await
}
