//! The kinds of actors that the pipeline has. Metrics count restarts by kind.

/// The name of the group of all host actors.
pub(super) const HOSTS: &str = "hosts";
/// The name of the supervisor of all fetch actors.
pub(super) const FETCHERS: &str = "fetchers";

/// The kind of an actor. Its text is the label in metrics, the name in the keys of `faults.rules`, and the
/// name of an actor that is the only one of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ActorKind {
    /// Hands out what is due.
    Scheduler,
    /// One for each host; named after its host, so the name alone does not tell its kind.
    Host,
    /// One for each thread that fetches.
    Fetch,
    /// Settles polls that succeeded.
    PostSink,
    /// Settles polls that failed.
    FailureTracker,
    /// Delivers posts to webhooks.
    Webhooks,
    /// Fetches the pages of entries.
    FullText,
    /// Subscribes to the hubs of feeds.
    Websub,
    /// Renews the lease of this node of a fleet.
    Fleet,
}

impl ActorKind {
    /// The kind of a child of this supervisor or group. The supervisors below the root count as what they supervise.
    pub(super) fn of(supervisor: &str, name: &str) -> Option<ActorKind> {
        match (supervisor, name) {
            (HOSTS, _) | (_, HOSTS) => Some(ActorKind::Host),
            (FETCHERS, _) | (_, FETCHERS) => Some(ActorKind::Fetch),
            _ => name.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_in_the_tree_decides_and_not_the_name_of_a_host() {
        let check = |supervisor, name, kind| assert_eq!(ActorKind::of(supervisor, name), kind, "{supervisor}/{name}");
        check("feedwarden", "scheduler", Some(ActorKind::Scheduler));
        check("feedwarden", "post-sink", Some(ActorKind::PostSink));
        check("feedwarden", FETCHERS, Some(ActorKind::Fetch));
        check(FETCHERS, "fetch-1", Some(ActorKind::Fetch));
        check(HOSTS, "scheduler", Some(ActorKind::Host));
        check(HOSTS, FETCHERS, Some(ActorKind::Host));
        check("feedwarden", "unknown", None);
    }
}
