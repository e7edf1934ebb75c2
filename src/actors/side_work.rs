//! Work that goes on while its owner waits for something else.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

/// Awaits a future while the other work goes on, and collects what of that ends meanwhile.
///
/// Work that is not polled keeps its place in queues, such as that for connections of the store: a future that waits in the
/// same queue would wait for ever.
pub(super) async fn while_working<W: Future, T>(
    work: &mut FuturesUnordered<W>,
    ended: &mut Vec<W::Output>,
    awaited: impl Future<Output = T>,
) -> T {
    let mut awaited = std::pin::pin!(awaited);
    loop {
        tokio::select! {
            done = &mut awaited => return done,
            Some(end) = work.next(), if !work.is_empty() => ended.push(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn work_that_holds_a_place_in_a_queue_does_not_block_its_owner() {
        let connections = Semaphore::new(1);
        let first = connections.acquire().await;
        let mut work = FuturesUnordered::new();
        work.push(async { drop(connections.acquire().await) });
        // It waits in the queue, before its owner.
        assert!(tokio::time::timeout(Duration::from_millis(1), work.next()).await.is_err());
        drop(first);
        let mut ended = Vec::new();
        let waiting = while_working(&mut work, &mut ended, connections.acquire());
        let got = tokio::time::timeout(Duration::from_secs(5), waiting).await;
        assert!(got.is_ok(), "the permit went to work that was not polled");
    }
}
