//! Record of all requests: the last exchanges, and totals for each host.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::served::EntryVersion;
use crate::model::Timestamp;

/// One request and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The address of the host that was asked.
    pub host: Arc<str>,
    /// Which site was asked for, if the path names one.
    pub site: Option<usize>,
    /// The path that was asked for.
    pub path: String,
    /// When the head of the request was read, in microseconds since the web was started.
    pub began_micros: u64,
    /// When the last byte of the answer was handed to the socket, or the connection was broken off.
    pub ended_micros: u64,
    /// When the head of the request was read, by the clock that was handed in.
    pub began_at: Timestamp,
    /// When it ended, by the same clock.
    pub ended_at: Timestamp,
    /// Whether the same host was serving another request at some moment in between.
    pub overlapped: bool,
    /// Whether the client was sent here by a redirect that was served just before.
    pub is_hop: bool,
    /// `If-None-Match` as received.
    pub if_none_match: Option<String>,
    /// `If-Modified-Since` as received.
    pub if_modified_since: Option<String>,
    /// `User-Agent` as received.
    pub user_agent: Option<String>,
    pub deed: Deed,
    /// The entries in the answer, if it was sent whole, in the order of the document.
    pub entries: Arc<[EntryVersion]>,
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deed {
    /// A whole answer with this status.
    Answered(u16),
    /// An answer with this status that ended early, as it was meant to.
    Cut(u16),
    /// The connection was reset.
    Reset,
    /// Nothing, until the client hung up.
    Hung,
    /// The client hung up in the middle of an answer.
    Abandoned,
}

/// How a host was treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLoadView {
    pub host: String,
    pub requests: u64,
    /// Requests that began while another one was being served.
    pub overlaps: u64,
    /// The shortest time between the end of a request and the beginning of the next. The second half of a redirect
    /// within a host belongs to its first half, so that the time between them is not looked at; nor is the time after a
    /// client hung up.
    pub gap_min: Option<Duration>,
}

/// State of a host for the journal.
#[derive(Debug, Default)]
pub(super) struct HostLoad {
    pub(super) requests: u64,
    pub(super) overlaps: u64,
    pub(super) gap_min_micros: Option<u64>,
    serving: usize,
    last_ended_micros: Option<u64>,
}

/// A request that is being served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    /// Which one it is, in the order of their beginnings.
    order: u64,
    met_another: bool,
}

impl HostLoad {
    pub(super) fn begin(&mut self, now_micros: u64, continues: bool) -> Visit {
        self.requests += 1;
        let met_another = self.serving > 0;
        self.serving += 1;
        if met_another {
            self.overlaps += 1;
        } else if let Some(ended) = self.last_ended_micros.filter(|_| !continues) {
            let gap = now_micros.saturating_sub(ended);
            self.gap_min_micros = Some(self.gap_min_micros.map_or(gap, |least| least.min(gap)));
        }
        Visit { order: self.requests, met_another }
    }

    /// Ends a visit; whether another one was going on at some moment of it. When a client hung up is not known, since
    /// it is noticed later: then the time until the next visit is not looked at.
    pub(super) fn end(&mut self, visit: Visit, ended_micros: Option<u64>) -> bool {
        self.serving = self.serving.saturating_sub(1);
        self.last_ended_micros = ended_micros.map(|ended| self.last_ended_micros.map_or(ended, |last| last.max(ended)));
        visit.met_another || visit.order != self.requests
    }
}

/// The last exchanges, up to a number.
#[derive(Debug)]
pub(super) struct Journal {
    exchanges: VecDeque<Exchange>,
    exchanges_max: usize,
}

impl Journal {
    pub(super) fn new(exchanges_max: usize) -> Journal {
        Journal { exchanges: VecDeque::new(), exchanges_max }
    }

    pub(super) fn push(&mut self, exchange: Exchange) {
        self.exchanges.push_back(exchange);
        while self.exchanges.len() > self.exchanges_max {
            self.exchanges.pop_front();
        }
    }

    pub(super) fn all(&self) -> Vec<Exchange> {
        self.exchanges.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_measured_from_the_end_of_one_request_to_the_beginning_of_the_next() {
        let mut load = HostLoad::default();
        for (begins, ends) in [(0, 10), (100, 110), (150, 160), (300, 301)] {
            let visit = load.begin(begins, false);
            assert!(!load.end(visit, Some(ends)));
        }
        assert_eq!((load.requests, load.overlaps, load.gap_min_micros), (4, 0, Some(40)));
    }

    #[test]
    fn both_sides_of_an_overlap_know_of_it_and_it_counts_once() {
        let mut load = HostLoad::default();
        let first = load.begin(0, false);
        let second = load.begin(5, false);
        assert!(load.end(first, Some(10)));
        assert!(load.end(second, Some(20)));
        let third = load.begin(50, false);
        assert!(!load.end(third, Some(60)));
        assert_eq!((load.overlaps, load.gap_min_micros), (1, Some(30)));
    }

    #[test]
    fn the_time_after_a_client_hung_up_is_not_looked_at() {
        let mut load = HostLoad::default();
        for (begins, ends) in [(0, Some(10)), (50, None), (61, Some(70)), (130, Some(140))] {
            let visit = load.begin(begins, false);
            load.end(visit, ends);
        }
        assert_eq!(load.gap_min_micros, Some(40));
    }

    #[test]
    fn the_second_half_of_a_redirect_leaves_no_gap() {
        let mut load = HostLoad::default();
        for (begins, continues) in [(0, false), (10, true), (100, false)] {
            let visit = load.begin(begins, continues);
            load.end(visit, Some(begins + 5));
        }
        assert_eq!(load.gap_min_micros, Some(85));
    }
}
