//! What happens in a run, and when: all of it follows from the seed.

use std::time::Duration;

use feedwarden::demo::web::{RetryAfter, SiteBehaviour};
use feedwarden::dice::{Dice, SeededDice};
use feedwarden::rules::hours;

/// Length of a run.
pub(super) const DAYS: u32 = 60;
/// Nothing happens in the last days, so that everything recovers.
const QUIET_DAYS: u32 = 6;
pub(super) const SITES: usize = 8;
pub(super) const HOSTS: usize = 5;

/// What happens to the daemon, its machine, its network or its publishers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    /// The system's time is set; the second one sets it right again.
    StepAhead(Duration),
    StepBack(Duration),
    /// The machine sleeps for this long.
    Suspend(Duration),
    NetworkDown,
    NetworkUp,
    HostDown(usize),
    HostUp(usize),
    Behave(usize, SiteBehaviour),
    Recover(usize),
    Restart,
    Kill,
    Backup,
    Restore,
    /// The configuration is reloaded with another pause between requests.
    Reconfigure(Duration),
    StoreOutage,
    Publish(usize, usize),
}

/// Events with the hour at which each happens, in order.
pub(super) fn plan(seed: u64) -> Vec<(u32, Event)> {
    let dice = SeededDice::new(seed);
    let pick = |count: usize| ((dice.roll() * count as f64) as usize).min(count - 1);
    let last = (DAYS - QUIET_DAYS) * 24;
    let hour = |from: u32, length: u32| from + pick((last - from - length) as usize) as u32;
    let mut events = Vec::new();
    // One step at a time: each is taken back before the next.
    for part in 0..5 {
        let (from, length) = (2 + part * last / 5, last / 5 - 4);
        let size = [Duration::from_secs(150), hours(6), hours(20), hours(3 * 24), hours(30 * 24)][pick(5)];
        let lasts = 1 + pick(length as usize - 2) as u32;
        let begins = from + pick((length - lasts) as usize) as u32;
        let (there, back) = match pick(2) {
            0 => (Event::StepAhead(size), Event::StepBack(size)),
            _ => (Event::StepBack(size), Event::StepAhead(size)),
        };
        events.extend([(begins, there), (begins + lasts, back)]);
    }
    for _ in 0..3 {
        events.push((hour(2, 0), Event::Suspend(hours(1 + pick(12) as u32))));
        let (begins, lasts) = (hour(2, 10), 1 + pick(9) as u32);
        events.extend([(begins, Event::NetworkDown), (begins + lasts, Event::NetworkUp)]);
        let (host, begins, lasts) = (pick(HOSTS), hour(2, 30), 1 + pick(29) as u32);
        events.extend([(begins, Event::HostDown(host)), (begins + lasts, Event::HostUp(host))]);
        let behaviour = [
            SiteBehaviour::RateLimited(RetryAfter::Seconds(5400)),
            SiteBehaviour::Unavailable(RetryAfter::Seconds(9000)),
            SiteBehaviour::Broken(500),
            SiteBehaviour::NotFound,
            SiteBehaviour::CacheFor(12 * 3600),
        ][pick(5)];
        let (site, begins, lasts) = (pick(SITES), hour(2, 40), 1 + pick(39) as u32);
        events.extend([(begins, Event::Behave(site, behaviour)), (begins + lasts, Event::Recover(site))]);
        events.extend([(hour(2, 0), Event::Restart), (hour(2, 0), Event::Kill), (hour(2, 0), Event::StoreOutage)]);
        events.push((hour(2, 0), Event::Reconfigure(Duration::from_secs(1 + pick(4) as u64))));
    }
    let (backed_up, later) = (hour(2, 90), 6 + pick(80) as u32);
    events.extend([(backed_up, Event::Backup), (backed_up + later, Event::Restore)]);
    for site in 0..SITES {
        for day in 0..DAYS - 2 {
            if dice.roll() < 0.7 {
                events.push((day * 24 + 2 + pick(21) as u32, Event::Publish(site, 1 + pick(2))));
            }
        }
    }
    events.sort_by_key(|(hour, _)| *hour);
    events
}
