//! A token bucket for each peer, in bounded memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;

use crate::model::Timestamp;

/// How many peers are told apart; beyond that, new ones share a bucket.
const PEERS_MAX: usize = 4096;

/// Keeps peers from asking too often.
pub(super) struct Rate {
    per_second: f64,
    buckets: Mutex<HashMap<Option<IpAddr>, Bucket>>,
}

struct Bucket {
    tokens: f64,
    at: Timestamp,
}

impl Rate {
    /// So many requests a second in the long run, and twice as many at once.
    pub(super) fn new(per_second: u32) -> Rate {
        Rate { per_second: f64::from(per_second.max(1)), buckets: Mutex::default() }
    }

    /// Whether this peer may ask now.
    pub(super) fn admits(&self, peer: IpAddr, now: Timestamp) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let most = 2.0 * self.per_second;
        if buckets.len() >= PEERS_MAX && !buckets.contains_key(&Some(peer)) {
            // Those who have not asked for a while are like those who never did.
            buckets.retain(|_, bucket| now.since(bucket.at).as_secs_f64() * self.per_second < most);
        }
        let key = (buckets.len() < PEERS_MAX || buckets.contains_key(&Some(peer))).then_some(peer);
        let bucket = buckets.entry(key).or_insert(Bucket { tokens: most, at: now });
        bucket.tokens = (bucket.tokens + now.since(bucket.at).as_secs_f64() * self.per_second).min(most);
        bucket.at = now;
        let is_admitted = bucket.tokens >= 1.0;
        if is_admitted {
            bucket.tokens -= 1.0;
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn peer(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from(number).into()
    }

    #[test]
    fn twice_the_rate_at_once_and_the_rate_afterwards() {
        let rate = Rate::new(10);
        let count = |now| (0..100).filter(|_| rate.admits(peer(1), now)).count();
        assert_eq!(count(NOW), 20);
        assert_eq!(count(NOW + Duration::from_secs(1)), 10);
        assert!(rate.admits(peer(2), NOW), "peers do not disturb each other");
    }

    #[test]
    fn many_peers_take_bounded_memory() {
        let rate = Rate::new(1);
        for number in 0..3 * PEERS_MAX as u32 {
            rate.admits(peer(number), NOW);
        }
        assert!(rate.buckets.lock().unwrap().len() <= PEERS_MAX + 1);
        assert!(rate.admits(peer(u32::MAX), NOW + Duration::from_secs(9)), "room is made for new ones");
    }
}
