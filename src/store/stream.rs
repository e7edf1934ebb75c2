//! Streams all sources page by page, in bounded memory.

use futures_util::stream::{self, Stream, TryStreamExt};

use crate::model::{Source, SourceId};

use super::{Result, Store};

/// Streams all sources in the order of their ids, `page` at a time.
pub fn stream_sources(store: &dyn Store, page: u32) -> impl Stream<Item = Result<Source>> + '_ {
    let start = Some(None::<SourceId>);
    stream::try_unfold(start, move |cursor| async move {
        let Some(after) = cursor else { return Ok(None) };
        let sources = store.list_sources(after, page).await?;
        // A short page is not necessarily the last one; an empty page is.
        let next = sources.last().map(|last| Some(last.id));
        Ok(Some((stream::iter(sources.into_iter().map(Ok)), next)))
    })
    .try_flatten()
}
