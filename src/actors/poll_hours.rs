//! Sums of the polls of this process by hour and outcome, for charts over days. They are stored at every tick and at the
//! end; a process that is killed loses those since its last tick.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::dice::unique_number;
use crate::model::{FailureKind, PollHour, PollOutcome, PollSums, SettledPoll, Timestamp};
use crate::store::{Store, StoreError};

const HOUR_MICROS: i64 = 3_600_000_000;
/// Hours that stay in memory after they are stored: a poll may count for an earlier hour if the clock is set back.
const HOURS_KEPT: i64 = 48;

pub(super) struct PollHours {
    /// Tells the rows of this process from those of others.
    run: i64,
    hours: Mutex<BTreeMap<HourKey, HourSums>>,
}

type HourKey = (Timestamp, PollOutcome, Option<FailureKind>);

#[derive(Default)]
struct HourSums {
    sums: PollSums,
    /// What the store has of them.
    stored: PollSums,
}

impl Default for PollHours {
    fn default() -> PollHours {
        PollHours { run: unique_number().cast_signed(), hours: Mutex::default() }
    }
}

impl PollHours {
    pub(super) fn add(&self, poll: &SettledPoll, now: Timestamp) {
        let key = (hour_of(now), poll.outcome(), poll.error_type);
        self.hours.lock().entry(key).or_default().sums.add(&PollSums::of(poll));
    }

    /// Stores what has changed.
    pub(super) async fn store(&self, store: &dyn Store, now: Timestamp) -> Result<(), StoreError> {
        let changed: Vec<PollHour> = {
            let hours = self.hours.lock();
            let changed = hours.iter().filter(|(_, hour)| hour.sums != hour.stored);
            let row = |(key, hour): (&HourKey, &HourSums)| PollHour {
                hour: key.0,
                outcome: key.1,
                error_type: key.2,
                sums: hour.sums,
            };
            changed.map(row).collect()
        };
        if changed.is_empty() {
            return Ok(());
        }
        store.put_poll_hours(self.run, changed.clone()).await?;
        let mut hours = self.hours.lock();
        for row in changed {
            if let Some(hour) = hours.get_mut(&(row.hour, row.outcome, row.error_type)) {
                hour.stored = row.sums;
            }
        }
        let oldest = Timestamp::from_micros(hour_of(now).as_micros() - HOURS_KEPT * HOUR_MICROS);
        hours.retain(|(start, ..), hour| *start >= oldest || hour.sums != hour.stored);
        Ok(())
    }
}

fn hour_of(moment: Timestamp) -> Timestamp {
    let micros = moment.as_micros();
    Timestamp::from_micros(micros - micros.rem_euclid(HOUR_MICROS))
}
