//! Nodes that share one database, and the shards of its hosts.

use sha2::{Digest, Sha256};

use super::HostKey;

/// Number of shards. Every host belongs to one of them, and every shard to one node at a time.
pub const SHARDS: u16 = 256;

/// One run of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub i64);

/// A part of all hosts, from 0 to [`SHARDS`] - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(pub u16);

impl Shard {
    /// Shard of cleanup and other work that one node does for all.
    pub const COMMON: Shard = Shard(0);

    pub fn all() -> impl Iterator<Item = Shard> {
        (0..SHARDS).map(Shard)
    }

    /// Shard of a host. Sources without a host share one.
    pub fn of_host(host: Option<&HostKey>) -> Shard {
        let name = host.map_or("", HostKey::as_str);
        // The commonest redirect then stays on one node.
        Shard::of_name(name.strip_prefix("www.").unwrap_or(name))
    }

    /// Shard of something that is no host, by its name.
    pub fn of_name(name: &str) -> Shard {
        let hash = Sha256::digest(name.as_bytes());
        let slot = u32::from(u16::from_be_bytes([hash[0], hash[1]]));
        Shard(((slot * u32::from(SHARDS)) >> 16) as u16)
    }
}

/// A shard that a node owns, and the number of times that the shard has changed hands until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnedShard {
    pub shard: Shard,
    pub epoch: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p28_a_host_and_its_www_are_in_one_shard() {
        let shard = |name: &str| Shard::of_host(Some(&HostKey::from_canonical(name)));
        assert_eq!(shard("example.org"), shard("www.example.org"));
        assert_ne!(shard("example.org"), shard("example.com"));
        assert_eq!(Shard::of_host(None), Shard::of_name(""));
        // The first byte of the hash, with 256 shards.
        assert_eq!(Shard::of_name(""), Shard(0xe3));
    }

    #[test]
    fn p28_hosts_are_spread_over_all_shards() {
        let mut counts = [0; SHARDS as usize];
        for number in 0..100_000 {
            counts[usize::from(Shard::of_name(&format!("host-{number}.example")).0)] += 1;
        }
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert!(least > Some(&300) && most < Some(&490), "{least:?} to {most:?}, 390 on average");
    }
}
