//! All sources, page by page: the way the scheduler learns of them without holding them all.

use futures_util::stream::{self, Stream, TryStreamExt};

use crate::model::{Source, SourceId};

use super::{Result, Store};

/// Streams every source in the order of their numbers, reading `page` of them at a time.
pub fn stream_sources(store: &dyn Store, page: u32) -> impl Stream<Item = Result<Source>> + '_ {
    let start = Some(None::<SourceId>);
    stream::try_unfold(start, move |cursor| async move {
        let Some(after) = cursor else { return Ok(None) };
        let sources = store.list_sources(after, page).await?;
        // A page that is not full is not the end by itself: only an empty one proves that nobody follows.
        let next = sources.last().map(|last| Some(last.id));
        Ok(Some((stream::iter(sources.into_iter().map(Ok)), next)))
    })
    .try_flatten()
}
