//! Summary of the demo, with its checks.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::audit::Audit;
use super::counts::SourcesByState;
use super::render::number;
use super::scene::WebLoad;
use crate::actors::StatisticsView;
use crate::model::FailureKind;

#[derive(Clone, Debug)]
pub struct DemoSummary {
    /// Real time.
    pub(super) elapsed: Duration,
    /// Time by the fast clock.
    pub(super) passed: Duration,
    pub(super) done: StatisticsView,
    pub(super) sources: SourcesByState,
    pub(super) load: WebLoad,
    pub(super) audit: Audit,
    pub(super) injected: u64,
    /// Whether every actor was up at the end.
    pub(super) is_whole: bool,
    pub(super) rests: u64,
    pub(super) disables: u64,
    pub(super) holds: u64,
}

impl DemoSummary {
    /// Whether all checks passed.
    pub fn holds_true(&self) -> bool {
        self.truths().iter().all(|(is_true, _)| *is_true)
    }

    /// The checks with their results.
    fn truths(&self) -> [(bool, String); 4] {
        let DemoSummary { audit, load, done, .. } = self;
        let mut stored = format!(
            "every served entry is stored exactly once ({} of {}; {} duplicates, {} outdated, {} of unknown origin)",
            number(audit.stored_once as u64),
            number(audit.served as u64),
            audit.doubled,
            audit.outdated,
            audit.unknown
        );
        if audit.replaced > 0 {
            let words = "articles were lost in a crash and replaced on their page before the next poll";
            stored.push_str(&format!(", except that {} {words}", audit.replaced));
        }
        let overlaps = format!("no host got two requests at once ({} overlaps)", load.overlaps);
        let gap = match load.gap_min {
            Some(gap) => format!("the shortest was {:.1} s", gap.as_secs_f64()),
            None => "no host got two requests".to_owned(),
        };
        let gaps = format!("at least {} s between two requests to one host ({gap})", load.gap_wanted.as_secs());
        let crashes =
            format!("every crash was injected and followed by a restart ({} of {})", done.restarts, self.injected);
        [
            (audit.is_right(self.injected), stored),
            (load.overlaps == 0, overlaps),
            (load.gap_min.is_none_or(|gap| gap >= load.gap_wanted), gaps),
            (done.crashes == self.injected && done.restarts == done.crashes && self.is_whole, crashes),
        ]
    }

    pub fn for_people(&self) -> String {
        let mut text = String::new();
        self.write_for_people(&mut text).expect("a String takes every write");
        text
    }

    fn write_for_people(&self, text: &mut String) -> std::fmt::Result {
        let DemoSummary { done, sources, .. } = self;
        let hours = self.passed.as_secs_f64() / 3600.0;
        writeln!(text, "{hours:.1} hours of polling in {:.1} seconds", self.elapsed.as_secs_f64())?;
        let share = 100.0 * done.unchanged as f64 / done.settled().max(1) as f64;
        writeln!(text, "polls       {} ({share:.0} % unchanged)", number(done.settled()))?;
        writeln!(text, "new posts   {}", number(done.new_posts))?;
        let kinds: Vec<String> = self.kinds().map(|(kind, count)| format!("{kind} {}", number(count))).collect();
        match kinds.is_empty() {
            true => writeln!(text, "failures    0")?,
            false => writeln!(text, "failures    {} ({})", number(done.failed_total()), kinds.join(", "))?,
        }
        writeln!(
            text,
            "sources     {} active, {} backing off, {} resting, {} disabled, {} new",
            sources.active, sources.backing_off, sources.resting, sources.disabled, sources.fresh
        )?;
        writeln!(text, "events      {} rests, {} disabled, {} holds of hosts", self.rests, self.disables, self.holds)?;
        for (is_true, words) in self.truths() {
            writeln!(text, "{:<12}{words}", if is_true { "yes" } else { "NO" })?;
        }
        Ok(())
    }

    fn kinds(&self) -> impl Iterator<Item = (FailureKind, u64)> {
        FailureKind::ALL.into_iter().zip(self.done.failed).filter(|(_, count)| *count > 0)
    }

    pub fn for_programs(&self) -> Value {
        let DemoSummary { done, sources, load, audit, .. } = self;
        let failed_by_kind: Map<String, Value> =
            self.kinds().map(|(kind, count)| (kind.name().to_owned(), json!(count))).collect();
        let milliseconds = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        json!({
            "elapsed_ms": milliseconds(self.elapsed),
            "simulated_seconds": self.passed.as_secs(),
            "polled": done.settled(),
            "read": done.read,
            "unchanged": done.unchanged,
            "failed": done.failed_total(),
            "failed_by_kind": failed_by_kind,
            "new_posts": done.new_posts,
            "sources": {
                "new": sources.fresh,
                "active": sources.active,
                "backing_off": sources.backing_off,
                "resting": sources.resting,
                "disabled": sources.disabled,
            },
            "rests": self.rests,
            "disables": self.disables,
            "holds": self.holds,
            "requests": load.requests,
            "overlaps": load.overlaps,
            "gap_min_ms": load.gap_min.map(milliseconds),
            "gap_wanted_ms": milliseconds(load.gap_wanted),
            "entries_served": audit.served,
            "entries_stored_once": audit.stored_once,
            "posts_doubled": audit.doubled,
            "posts_outdated": audit.outdated,
            "posts_unknown": audit.unknown,
            "articles_replaced": audit.replaced,
            "crashes_injected": self.injected,
            "crashes": done.crashes,
            "crashes_healed": done.restarts,
            "actors_all_up": self.is_whole,
            "holds_true": self.holds_true(),
        })
    }
}
