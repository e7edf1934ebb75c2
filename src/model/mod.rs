//! The nouns: source, source type, post, host, failure, settled poll.
//!
//! Nothing here decides or does anything, and nothing here uses another module of this crate.

mod access;
mod article;
mod audit;
mod entry;
mod event;
mod failure;
mod fleet;
mod full_text;
mod host;
mod host_request;
mod misspelling;
mod people;
mod poll_record;
mod post;
mod publishing;
mod quarantine;
mod rate_limit;
mod robots;
mod settled;
mod source;
mod source_requests;
mod source_type;
mod time;
mod web_url;
mod webhook;
mod websub;

pub use access::{SourceAccess, SourceToPoll};
pub use article::{Article, ArticleId, NewArticle};
pub use audit::{Actor, AuditFields, AuditFilter, AuditRecord, AuditValue, AuditedChange, NewAuditRecord};
pub use entry::{DOCUMENT_KEYS_MAX, DocumentKeys, EntryKey, EntryQuery, KnownEntries, KnownPost};
pub use event::{EventPage, EventSelection, EventSubject, EventType, NewEvent, StreamEvent, UnknownEventType};
pub use failure::{FailureCause, FailureClass, FailureKind, FailureReport, Severity, UnknownName};
pub use fleet::{
    FleetRecord, HandOver, HandOverReason, JoinOutcome, NewNode, NodeId, NodeMessage, NodeRecord, NodeRenewal,
    OwnedShard, Receiver, SHARDS, Shard, SlotCursor,
};
pub use full_text::{FetchedPage, PageEnd, QueuedPage, WantedPage};
pub use host::{Breaker, HostKey, HostState};
pub use host_request::{HostQueueStatus, HostRequest, RequestPurpose};
pub use misspelling::misspelling;
pub use people::{KeyProvider, Podcast, PodcastChanges, PodcastId, User, UserId};
pub use poll_record::{HistoryBounds, PollHour, PollSums, SettledPoll, StoredPoll};
pub use post::{ContentHash, Enclosure, NewPost, Post, PostContent, PostId, PostRevision, PostSource, TextOrigin};
pub use publishing::{PublishingCounts, PublishingHistory};
pub use quarantine::{QuarantinedRow, RowKey};
pub use rate_limit::RateLimit;
pub use robots::RobotsRecord;
pub use settled::{Cleaned, Cutoffs, EntryCounts, PollOutcome, PostEdit, RenamedPost, Settled, Settlement};
pub use source::{
    Backlog, FailureRun, FailureState, FullText, Hints, LastFailure, LastSeen, Moved, NewSource, Rest, RestCause,
    Source, SourceCounts, SourceId, SourceSettings, SourceState, Validators, Watermark,
};
pub use source_requests::{SourceProxy, check_user_agent, product_of};
pub use source_type::SourceType;
pub use time::{ClockStep, MovedPolls, Timestamp, TimestampError};
pub use web_url::{canonical_web_url, check_web_url};
pub use webhook::{
    DeliveryFormat, DeliveryRecord, NewWebhook, SecretChange, SigningSecrets, UnknownFormat, Webhook, WebhookChange,
    WebhookId, WebhookProgress, WebhookTarget,
};
pub use websub::{
    FeedLinks, HubLinks, HubOffer, NewSubscription, PushCount, PushFigures, PushState, PushUse, Subscription,
    SubscriptionState,
};
