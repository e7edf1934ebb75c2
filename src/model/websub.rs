//! WebSub: hubs that say that a feed has changed, and the subscriptions at them.

use std::time::Duration;

use secrecy::SecretString;

use super::{SourceId, Timestamp};

/// Links of relation `hub` and `self` from one place, absolute, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubLinks {
    pub hubs: Vec<String>,
    pub own: Option<String>,
}

/// What an answer says about its hubs: in its `Link` headers, and in the feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedLinks {
    pub header: HubLinks,
    pub document: HubLinks,
}

/// The hubs of a feed, in the order in which they are tried, and the topic to subscribe to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubOffer {
    pub hubs: Vec<String>,
    pub topic: String,
}

/// Whether pushes of hubs are used for a source.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::IntoStaticStr,
    strum::EnumString,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PushUse {
    On,
    Off,
}

/// What pushes have to do with a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushState {
    /// What the feed offered when it was last read.
    pub offer: Option<HubOffer>,
    /// The last verified push that no poll has followed.
    pub pushed_at: Option<Timestamp>,
    /// Polls in a row that found something new and were made due by a push.
    pub streak: u32,
}

/// How far a subscription is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum SubscriptionState {
    /// The hub is to be asked, for the first time or again.
    Waiting,
    /// The hub has taken the request and has not verified it.
    Requested,
    /// Verified; the hub pushes until the lease ends.
    Active,
    /// The hub refused for good; asked again after a long time.
    Denied,
    /// To be ended; the callback lives until the hub has confirmed it.
    Leaving,
}

impl SubscriptionState {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A subscription of a source at a hub.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// Last part of the callback URL. Who knows it may write to the callback.
    pub token: String,
    /// Incremented by every change of what the hub and this program have agreed on.
    pub version: i64,
    pub source_id: SourceId,
    pub hub: String,
    pub topic: String,
    /// The URL under which hubs reach this program, as it was configured then.
    pub public_url: String,
    /// What pushes are signed with; none if the key of the store does not open it.
    pub secret: Option<SecretString>,
    pub state: SubscriptionState,
    /// When the hub was last asked for something that it has not verified.
    pub asked_at: Option<Timestamp>,
    pub verified_at: Option<Timestamp>,
    pub lease: Option<Duration>,
    pub next_attempt_at: Timestamp,
    /// Requests since the last verification.
    pub attempts: u32,
    pub last_error: Option<String>,
    pub created_at: Timestamp,
    pub figures: PushFigures,
}

impl Subscription {
    pub fn callback(&self) -> String {
        format!("{}/{}", self.public_url, self.token)
    }

    pub fn lease_end(&self) -> Option<Timestamp> {
        Some(self.verified_at? + self.lease?)
    }
}

/// What came of the pushes of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushFigures {
    /// With the right signature.
    pub pushes: u64,
    /// With a wrong signature, or without one.
    pub rejected: u64,
    /// Polls that were made due by a push and found something new.
    pub useful: u64,
    /// Polls that found something new of which no push told.
    pub missed: u64,
    pub last_push_at: Option<Timestamp>,
}

/// A subscription that is about to be added.
#[derive(Clone, Debug)]
pub struct NewSubscription {
    pub token: String,
    pub secret: SecretString,
    pub source_id: SourceId,
    pub hub: String,
    pub topic: String,
    pub public_url: String,
    pub created_at: Timestamp,
}

/// Pushes to a callback that are to be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushCount {
    pub pushes: u32,
    pub rejected: u32,
    pub useful: u32,
    pub missed: u32,
    pub pushed_at: Option<Timestamp>,
}
