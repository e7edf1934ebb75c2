//! The counts of the status. Counting reads every source, so the counts of a large store are kept for a while: the longer
//! they took, the longer, so that they never take more than a two-hundredth of a core.

use std::time::Duration;

use actix_web::web;
use parking_lot::Mutex;

use super::Api;
use crate::clock::Stopwatch;
use crate::service::Overview;

/// Counts are kept for this many times the time that they took, and at most for `AGE_MAX`.
const AGE_FACTOR: u32 = 200;
const AGE_MAX: Duration = Duration::from_secs(15 * 60);
/// A store with at most this many sources and posts is counted more often: it takes a few milliseconds.
const SMALL_MAX: u64 = 10_000;
const SMALL_AGE_FACTOR: u32 = 20;
/// How long a request waits for new counts; after that it gets the previous ones, and the counting goes on.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// The last counts, and the right to count.
#[derive(Default)]
pub(super) struct OverviewCache {
    last: Mutex<Option<CachedOverview>>,
    counting: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct CachedOverview {
    counted: Stopwatch,
    took: Duration,
    overview: Overview,
}

impl CachedOverview {
    fn is_small(&self) -> bool {
        self.overview.sources.total + self.overview.posts <= SMALL_MAX
    }

    fn is_fresh(&self) -> bool {
        let factor = if self.is_small() { SMALL_AGE_FACTOR } else { AGE_FACTOR };
        self.counted.elapsed() < (self.took * factor).min(AGE_MAX)
    }
}

/// None if nothing could be counted yet. A request waits for the first counts, and for new ones of a small store; a
/// large one is counted in the background.
pub(super) async fn overview(api: &web::Data<Api>) -> Option<Overview> {
    let last = api.overview.last.lock().clone();
    let (is_fresh, waits) = last.as_ref().map_or((false, true), |last| (last.is_fresh(), last.is_small()));
    if is_fresh || (!waits && api.overview.counting.try_lock().is_err()) {
        return last.map(|last| last.overview);
    }
    let task = api.clone();
    // A task of its own, because a count that a client gave up would begin anew with the next request.
    let counting = actix_rt::spawn(async move { refresh(&task).await });
    if waits {
        let _ = tokio::time::timeout(WAIT_MAX, counting).await;
    }
    api.overview.last.lock().as_ref().map(|cached| cached.overview.clone())
}

async fn refresh(api: &Api) {
    let _right = api.overview.counting.lock().await;
    let is_fresh = api.overview.last.lock().as_ref().is_some_and(CachedOverview::is_fresh);
    if is_fresh {
        return;
    }
    let begun = Stopwatch::start();
    if let Ok(overview) = api.service.overview().await {
        let cached = CachedOverview { took: begun.elapsed(), counted: Stopwatch::start(), overview };
        *api.overview.last.lock() = Some(cached);
    }
}
