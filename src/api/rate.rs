//! Token buckets per client, in bounded memory.

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::model::Timestamp;

/// Maximum number of buckets; further clients share one.
const PAYERS_MAX: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Payer {
    /// Requests of an address without a verified token.
    Address(IpAddr),
    /// Requests with the token of this hash.
    Token([u8; 32]),
}

impl Payer {
    pub(super) fn token(token: &str) -> Payer {
        Payer::Token(Sha256::digest(token.as_bytes()).into())
    }
}

#[derive(Default)]
pub(super) struct Rate {
    buckets: Mutex<HashMap<Option<Payer>, Bucket>>,
}

struct Bucket {
    requests: f64,
    at: Timestamp,
}

impl Rate {
    pub(super) fn knows(&self, payer: Payer) -> bool {
        self.buckets.lock().contains_key(&Some(payer))
    }

    /// Whether a request is allowed now: `rate` per second, with bursts of twice as many.
    pub(super) fn admits(&self, payer: Payer, per_second: u32, now: Timestamp) -> bool {
        let per_second = f64::from(per_second.max(1));
        let mut buckets = self.buckets.lock();
        let most = 2.0 * per_second;
        if buckets.len() >= PAYERS_MAX && !buckets.contains_key(&Some(payer)) {
            // A client without recent requests has its full rate again.
            buckets.retain(|_, bucket| now.since(bucket.at).as_secs_f64() * per_second < most);
        }
        let key = (buckets.len() < PAYERS_MAX || buckets.contains_key(&Some(payer))).then_some(payer);
        let bucket = buckets.entry(key).or_insert(Bucket { requests: most, at: now });
        bucket.requests = (bucket.requests + now.since(bucket.at).as_secs_f64() * per_second).min(most);
        bucket.at = now;
        let is_admitted = bucket.requests >= 1.0;
        if is_admitted {
            bucket.requests -= 1.0;
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn payer(number: u32) -> Payer {
        Payer::Address(std::net::Ipv4Addr::from(number).into())
    }

    #[test]
    fn twice_the_rate_at_once_and_the_rate_afterwards() {
        let rate = Rate::default();
        let count = |now| (0..100).filter(|_| rate.admits(payer(1), 10, now)).count();
        assert_eq!(count(NOW), 20);
        assert_eq!(count(NOW + Duration::from_secs(1)), 10);
        assert!(rate.admits(payer(2), 10, NOW), "payers do not disturb each other");
    }

    #[test]
    fn many_payers_take_bounded_memory() {
        let rate = Rate::default();
        for number in 0..3 * PAYERS_MAX as u32 {
            rate.admits(payer(number), 1, NOW);
        }
        assert!(rate.buckets.lock().len() <= PAYERS_MAX + 1);
        assert!(!rate.knows(payer(u32::MAX)));
        assert!(rate.admits(payer(u32::MAX), 1, NOW + Duration::from_secs(9)), "room is made for new ones");
        assert!(rate.knows(payer(u32::MAX)));
    }
}
