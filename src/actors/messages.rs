//! Messages between the actors, and from the API to them: facts (`PollCompleted`) and requests (`PollSource`). Messages
//! own their data.

use std::time::Duration;

use actix::Message;

use super::in_flight::InFlightPoll;
use super::poll::Poll;
use super::scheduler::ForcedPoll;
use crate::fetch::{Fetched, RobotsFetched, Trace};
use crate::model::{ClockStep, FailureReport, HostKey, HostQueueStatus, Shard, SourceId, Timestamp};
use crate::rules::budget::Demand;
use crate::rules::due::NextPoll;

/// To the scheduler: these sources are new or were changed. The scheduler reads them from the store.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct SourcesChanged(pub Vec<SourceId>);

/// To the scheduler: force the next poll of a source. Not bounded by the mailbox, but by the number of sources.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct ForcePoll(pub(super) ForcedPoll);

/// To the scheduler: hand out nothing until `ResumePolling`. The pause is in the store already.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct PausePolling {
    /// Beginning of the pause.
    pub since: Timestamp,
}

/// To the scheduler: end the pause. Its end is in the store already.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct ResumePolling;

/// To the scheduler: read all sources again, because the rules for due times have changed.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct ReadSourcesAgain;

/// To the scheduler: this node works on other shards from now on.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub(super) struct ShardsChanged {
    pub(super) gained: Vec<Shard>,
    /// Lost, or to be released.
    pub(super) left: Vec<Shard>,
}

/// To the scheduler: state of this source in the schedule.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Option<ScheduledSource>")]
pub struct AskSource(pub SourceId);

/// Where the scheduler has a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledSource {
    /// When it is or was due.
    pub at: Timestamp,
    pub state: ScheduleState,
}

/// How far the scheduler is with a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleState {
    /// Due later.
    Scheduled,
    /// Due, and waiting for its host.
    Waiting,
    /// Handed to its host.
    InFlight,
}

impl ScheduleState {
    pub fn name(self) -> &'static str {
        match self {
            ScheduleState::Scheduled => "scheduled",
            ScheduleState::Waiting => "waiting",
            ScheduleState::InFlight => "under_way",
        }
    }
}

/// To the scheduler: what it has of this host.
#[derive(Clone, Debug, Message)]
#[rtype(result = "HostQueueStatus")]
pub(super) struct AskHost(pub(super) HostKey);

/// To the scheduler: its status.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "SchedulerStatus")]
pub struct AskScheduler;

/// Status of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, actix::MessageResponse)]
pub struct SchedulerStatus {
    /// Whether the scheduler has read all sources since its start.
    pub is_loaded: bool,
    /// Why nothing can be handed out yet: the last error, while not all sources are read or the pause is not known.
    pub not_loaded_because: Option<String>,
    /// Beginning of the pause of all polling, if there is one.
    pub paused_since: Option<Timestamp>,
    /// Sources that are scheduled for a moment to come.
    pub scheduled: usize,
    /// Sources that are due and wait for their host or for the end of a pause.
    pub waiting: usize,
    /// Sources that are in flight.
    pub under_way: usize,
    /// Moment at which the source that waits longest fell due.
    pub oldest_due_at: Option<Timestamp>,
    /// Time of the last tick.
    pub last_tick_at: Option<Timestamp>,
    /// How long the first source of a host that has room for it has been due, if one is.
    pub overdue: Option<Duration>,
    /// Time since the last tick, by the monotonic clock.
    pub since_last_tick: Option<Duration>,
}

/// To the failure tracker: the system's time was set.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(super) struct ClockStepped(pub(super) ClockStep);

/// To the scheduler: a poll in flight is over.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct PollCompleted {
    pub(super) source_id: SourceId,
    pub(super) what: Completion,
    /// The order that the poll was made by, if it was forced.
    pub(super) forced: Option<ForcedPoll>,
}

/// To the scheduler: a poll in flight waits for a lock of the database, and its host can be asked for other sources.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(super) struct PollHeldByLock(pub(super) SourceId);

/// How a poll in flight ended.
#[derive(Debug)]
pub(super) enum Completion {
    /// The poll is settled; the next one is due then.
    Settled { next: NextPoll, demand: Demand },
    /// The source was removed.
    Gone,
    /// Another node polls the source from now on.
    OtherNode,
    /// No request was made.
    Deferred(Deferral),
    /// The source changed while it was polled and the answer is not its: read the source again.
    Superseded,
    /// An actor crashed with the poll before its first request.
    Lost { url: String, interval: Duration },
}

/// Why a source was not polled.
#[derive(Clone, Debug)]
pub(super) struct Deferral {
    /// The source is polled no sooner.
    pub(super) until: Timestamp,
    /// The host, if it takes no requests for any source, and until when.
    pub(super) closed: Option<(HostKey, Timestamp)>,
}

/// To a host: make the next request of this poll. From the scheduler, or from a host that redirects here.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct PollSource(pub(super) Box<Poll>);

/// To a fetcher: make the next request of this poll.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct FetchSource {
    pub(super) poll: Box<Poll>,
    pub(super) host: actix::Addr<super::host::HostActor>,
}

/// To a host: a request is over.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct FetchFinished {
    pub(super) poll: Box<Poll>,
    pub(super) outcome: FetchOutcome,
}

/// What a request returned.
pub(super) enum FetchOutcome {
    Document(Box<Fetched>),
    /// The robots.txt that governs it.
    Robots(Box<RobotsFetched>),
}

/// To the post sink: the publisher answered.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct PollSucceeded {
    pub(super) poll: Box<Poll>,
    pub(super) fetched: Box<Fetched>,
}

/// To the failure tracker: the poll failed.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct PollFailed {
    pub(super) poll: Box<Poll>,
    pub(super) report: FailureReport,
    pub(super) trace: Box<Trace>,
    /// Whether the cause has a log record of its own.
    pub(super) is_explained: bool,
}

/// To the failure tracker: an actor crashed with this poll after its first request.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct PollLost {
    pub(super) in_flight: InFlightPoll,
}

/// To the failure tracker: a host has answered, so our own network works.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub(super) struct HostAnswered {
    pub(super) host: HostKey,
    pub(super) at: Timestamp,
}

/// To the failure tracker: the rules have other parameters from now on.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(super) struct PolicyChanged;

/// To the post sink: remove old posts before the sources of this tick are polled.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(super) struct CleanUp;
