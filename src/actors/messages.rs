//! What the actors say to each other, and what the API says to them: facts (`PollCompleted`) and requests
//! (`PollSource`). Messages own their data.

use std::time::Duration;

use actix::Message;

use super::in_flight::InFlightPoll;
use super::poll::Poll;
use super::scheduler::ForcedPoll;
use crate::fetch::{Fetched, RobotsFetched, Trace};
use crate::model::{FailureReport, HostKey, SourceId, Timestamp};
use crate::rules::due::NextPoll;

/// To the scheduler: something about these sources changed, or they are new. What is in the store counts.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct SourcesChanged(pub Vec<SourceId>);

/// To the scheduler: force the next poll of a source. Not bounded by the mailbox, but by the number of sources.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct ForcePoll(pub(super) ForcedPoll);

/// To the scheduler: hand out nothing until told otherwise. It is in the store already.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct PausePolling {
    /// When the pause began.
    pub since: Timestamp,
}

/// To the scheduler: go on. It is in the store already.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct ResumePolling;

/// To the scheduler: what is due when may have changed for everybody; read all sources again.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct ReadSourcesAgain;

/// To the scheduler: where do you have this source?
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
    UnderWay,
}

impl ScheduleState {
    pub fn name(self) -> &'static str {
        match self {
            ScheduleState::Scheduled => "scheduled",
            ScheduleState::Waiting => "waiting",
            ScheduleState::UnderWay => "under_way",
        }
    }
}

/// To the scheduler: how do you do?
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "SchedulerStatus")]
pub struct AskScheduler;

/// Status of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, actix::MessageResponse)]
pub struct SchedulerStatus {
    /// Whether all sources have been read since its start.
    pub is_loaded: bool,
    /// Since when it is paused by a person, if it is.
    pub paused_since: Option<Timestamp>,
    /// Sources that have a time to be polled at.
    pub scheduled: usize,
    /// Sources that are due and wait: for their host, or for the end of a pause.
    pub waiting: usize,
    /// Sources that are under way.
    pub under_way: usize,
    /// When the one that waits longest was due.
    pub oldest_due_at: Option<Timestamp>,
    /// Time of the last tick.
    pub last_tick_at: Option<Timestamp>,
}

/// To the scheduler: a poll in flight is over.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct PollCompleted {
    pub(super) source_id: SourceId,
    pub(super) what: Completion,
    /// The order that the poll was made by, if it was forced.
    pub(super) forced: Option<ForcedPoll>,
}

/// What became of a poll in flight.
#[derive(Debug)]
pub(super) enum Completion {
    /// The poll is settled; this is when the next one is due.
    Settled(NextPoll),
    /// The source is no longer there.
    Gone,
    /// Nobody was asked, or nobody could be: not before this moment.
    Deferred(Deferral),
    /// The source changed while it was polled, so that what was found is not its: look at it again.
    Superseded,
    /// The part of the program that held it crashed before the publisher was asked.
    Lost {
        url: String,
        /// How often the source is polled.
        interval: Duration,
    },
}

/// Why a source was sent back unpolled.
#[derive(Clone, Debug)]
pub(super) struct Deferral {
    /// Not before this.
    pub(super) until: Timestamp,
    /// The host that is closed for all of its sources, and until when.
    pub(super) closed: Option<(HostKey, Timestamp)>,
}

/// To a host: poll this when it is your turn to be asked. From the scheduler, or from a host that was redirected here.
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

/// To a host: the request that was made is over.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct FetchFinished {
    pub(super) poll: Box<Poll>,
    pub(super) found: Found,
}

/// What a request found.
pub(super) enum Found {
    /// Of the source itself.
    Document(Box<Fetched>),
    /// Of the robots.txt that governs it.
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
    /// Whether what led to it was told already.
    pub(super) is_explained: bool,
}

/// To the failure tracker: the poll of this source was lost after its publisher was asked.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct PollLost {
    pub(super) in_flight: InFlightPoll,
}

/// To the failure tracker: a host answered something, so our own network works.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub(super) struct HostAnswered {
    pub(super) host: HostKey,
    pub(super) at: Timestamp,
}

/// To the post sink: clean up before the sources of this tick are polled.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(super) struct CleanUp;
