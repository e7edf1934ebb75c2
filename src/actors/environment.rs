//! The environment of the supervisors: clock, dice and log of the pipeline.

use std::sync::Arc;
use std::time::Duration;

use slog::{debug, error, info, warn};

use super::actor_kind::ActorKind;
use super::context::PipelineContext;
use super::events::PipelineEvent;
use crate::model::Timestamp;
use crate::supervision::{Crash, Environment, Event};

pub(super) struct PipelineEnvironment(Arc<PipelineContext>);

impl PipelineEnvironment {
    pub(super) fn new(context: Arc<PipelineContext>) -> PipelineEnvironment {
        PipelineEnvironment(context)
    }

    fn crashed(&self, name: &str, crash: &Crash) {
        self.0.statistics.count_crash();
        error!(self.0.log, "actor crashed";
            "actor" => name,
            "error" => &crash.message,
            "location" => crash.place.as_ref().map(ToString::to_string));
        // Resolving the names takes time and memory, so the log does it, and only if it writes the record.
        let backtrace = slog::FnValue(|_| crash.backtrace.as_ref().map(ToString::to_string));
        debug!(self.0.log, "actor crash backtrace"; "actor" => name, "backtrace" => backtrace);
        self.0.events.emit(|| PipelineEvent::Crashed { name: name.to_owned(), message: crash.message.clone() });
    }
}

impl Environment for PipelineEnvironment {
    fn now(&self) -> Duration {
        self.0.clock.now().since(Timestamp::EPOCH)
    }

    fn roll(&self) -> f64 {
        self.0.dice.roll()
    }

    fn observe(&self, event: &Event<'_>) {
        let log = &self.0.log;
        match event {
            Event::Crashed { name, crash } => self.crashed(name, crash),
            Event::Restarting { supervisor, name, after, nth } => {
                self.0.statistics.count_restart(ActorKind::of(supervisor, name));
                warn!(log, "actor restarting"; "actor" => name, "after_ms" => after.as_millis() as u64, "restarts" => nth);
                self.0.events.emit(|| PipelineEvent::Restarted { name: (*name).to_owned() });
            }
            Event::Overran { name, limit } => {
                warn!(log, "actor did not stop in time"; "actor" => name, "limit_ms" => limit.as_millis() as u64);
            }
            Event::GaveUp { name, crash } => {
                error!(log, "actor not restarted"; "actor" => name, "error" => &crash.message);
            }
            Event::ThreadBlocked { name, silent } => {
                error!(log, "thread blocked"; "thread" => name, "unresponsive_seconds" => silent.as_secs());
            }
            Event::ThreadRecovered { name } => info!(log, "thread recovered"; "thread" => name),
            Event::ThreadGone { name } => error!(log, "thread ended"; "thread" => name),
            _ => {}
        }
    }
}
