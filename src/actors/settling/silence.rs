//! Events of sources that have fallen silent.

use slog::{Logger, error, info};

use crate::actors::context::PipelineContext;
use crate::model::{EventType, NewEvent};
use crate::rules::events::of_source;

/// The most sources whose silence is noted in one tick; the others wait for the next one.
const NOTED_AT_ONCE: u32 = 200;

/// Notes the silence of sources that are polled without failures and of which nothing new came for
/// `source.silent-days`, with an event for each.
pub(super) async fn note_silences(context: &PipelineContext, log: &Logger) {
    let Some(silent_after) = context.policy().silent_after else { return };
    let (store, now) = (&context.store, context.timeline.ages_at(context.clock.now()));
    let noting = async {
        let silent = store.new_silent_sources(now - silent_after, NOTED_AT_ONCE).await?;
        let events: Vec<NewEvent> = silent
            .iter()
            .map(|(source, since)| NewEvent {
                reason: Some(format!("nothing new since {since}, although its polls succeed")),
                ..of_source(source, EventType::SourceSilent, now)
            })
            .collect();
        store.note_silences(events, now).await?;
        Ok::<usize, crate::store::StoreError>(silent.len())
    };
    match noting.await {
        Ok(0) => {}
        Ok(sources) => {
            info!(log, "sources silent"; "sources" => sources,
                "reason" => "polled without failures, and nothing new for source.silent-days");
            context.events.note_arrival();
        }
        // The parts that cannot do without the store report it.
        Err(cause) if cause.is_passing() => {}
        Err(cause) => error!(log, "silence of sources not noted"; "error" => %cause),
    }
}
