//! Takes hosts of the simulated web down from time to time.

use std::io;
use std::time::Duration;

use super::event_log::EventLog;
use super::web::Web;
use crate::dice::{Dice, SeededDice};
use crate::model::Timestamp;

/// A host goes down this often, by the machine's clock.
const EVERY: Duration = Duration::from_secs(10);
/// The first one goes down after this.
const FIRST: Duration = Duration::from_secs(4);
/// It comes back after this.
const DOWN_FOR: Duration = Duration::from_secs(4);

/// Takes hosts down and brings them back.
pub(super) struct HostOutages {
    dice: SeededDice,
    hosts: Vec<String>,
    down: Option<(String, Duration)>,
    next: Duration,
}

impl HostOutages {
    /// For the hosts that are up at the start.
    pub(super) fn new(seed: u64, hosts: Vec<String>) -> HostOutages {
        HostOutages { dice: SeededDice::new(seed), hosts, down: None, next: FIRST }
    }

    pub(super) fn act(
        &mut self,
        elapsed: Duration,
        now: Timestamp,
        web: &Web,
        event_log: &mut EventLog,
    ) -> io::Result<()> {
        if let Some((host, _)) = self.down.take_if(|(_, until)| *until <= elapsed) {
            web.set_down(&host, false)?;
            event_log.note(now, &host, "is switched on again");
        }
        if elapsed >= self.next && self.hosts.len() > 1 {
            self.next = elapsed + EVERY;
            let host = &self.hosts[(self.dice.roll() * self.hosts.len() as f64) as usize];
            web.set_down(host, true)?;
            event_log.note(now, host, "is switched off on purpose");
            self.down = Some((host.clone(), elapsed + DOWN_FOR));
        }
        Ok(())
    }

    /// Brings all hosts back.
    pub(super) fn end(&mut self, web: &Web) -> io::Result<()> {
        match self.down.take() {
            Some((host, _)) => web.set_down(&host, false),
            None => Ok(()),
        }
    }
}
