//! The counts of the status. Counting reads every source, so the counts are kept for a while: the longer they took, the
//! longer, so that they never take more than a twentieth of the time.

use std::time::Duration;

use actix_web::web;
use parking_lot::Mutex;

use super::Api;
use crate::clock::Stopwatch;
use crate::service::Overview;

/// Counts are kept for this many times the time that they took, and at most for `AGE_MAX`.
const AGE_FACTOR: u32 = 20;
const AGE_MAX: Duration = Duration::from_secs(60);
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

/// None if nothing could be counted yet.
pub(super) async fn overview(api: &web::Data<Api>) -> Option<Overview> {
    let task = api.clone();
    // A task of its own, because a count that a client gave up would begin anew with the next request.
    let counting = actix_rt::spawn(async move { refresh(&task).await });
    let _ = tokio::time::timeout(WAIT_MAX, counting).await;
    api.overview.last.lock().as_ref().map(|cached| cached.overview.clone())
}

async fn refresh(api: &Api) {
    let _right = api.overview.counting.lock().await;
    let is_fresh = api.overview.last.lock().as_ref().is_some_and(|cached| {
        let age_max = (cached.took * AGE_FACTOR).min(AGE_MAX);
        cached.counted.elapsed() < age_max
    });
    if is_fresh {
        return;
    }
    let begun = Stopwatch::start();
    if let Ok(overview) = api.service.overview().await {
        let cached = CachedOverview { took: begun.elapsed(), counted: Stopwatch::start(), overview };
        *api.overview.last.lock() = Some(cached);
    }
}
