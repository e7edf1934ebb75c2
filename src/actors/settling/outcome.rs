//! What a finished poll changes: the rules, applied in their order.

use std::time::Duration;

use crate::fetch::{Answer, Fetched, Trace};
use crate::model::{
    ClockStep, EntryCounts, EntryQuery, EventType, FailureReport, FeedLinks, HostState, HubOffer, KnownEntries,
    NewEvent, PublishingHistory, SettledPoll, Settlement, Source, SourceId, SourceState, Timestamp, Watermark,
};
use crate::rules::classify::Classified;
use crate::rules::due::{NextPoll, next_poll};
use crate::rules::events::{of_source, source_events};
use crate::rules::failure::{FailureStep, after_failure};
use crate::rules::interval::after_gap;
use crate::rules::publishing;
use crate::rules::reading::{self, ReadingDecision};
use crate::rules::success::{ReadAnswer, SourceAnswer, after_success};
use crate::rules::{Policy, full_text, moved, push};
use crate::sources::kind;

/// The most linked feeds that are kept for a page.
const LINKED_FEEDS_MAX: usize = 20;

pub(super) enum PollResult {
    Answered(Box<Fetched>),
    Failed {
        report: FailureReport,
        trace: Box<Trace>,
        /// Whether the cause has a log record of its own, such as an outage of our own network.
        is_explained: bool,
    },
}

/// The times of a poll.
#[derive(Clone, Copy)]
pub(super) struct PollTimes {
    /// What ages are judged by.
    pub(super) ages_at: Timestamp,
    /// When its first request began.
    pub(super) began_at: Timestamp,
    pub(super) ended_at: Timestamp,
    /// Duration of all its requests.
    pub(super) request_time: Duration,
}

/// What follows from a poll: computed once for each row of the source, with the moment at which the poll ended. What is
/// stored, logged and emitted comes from here.
pub(super) struct Decision {
    /// The source with its new state.
    pub(super) source: Source,
    /// When the source is polled next, by its new state and the host's that is stored with it.
    pub(super) next: NextPoll,
    pub(super) failure: Option<(Classified, FailureStep)>,
    /// The URL that the source has moved to for good (p22).
    pub(super) believed_url: Option<String>,
    /// What became of the entries.
    pub(super) counts: EntryCounts,
    /// Whether entries may have come and gone between two readings.
    pub(super) is_gap: bool,
    /// Whether what was known of how often the source publishes made no sense, and is learned again.
    pub(super) is_publishing_lost: bool,
    /// Number of posts that wait for their page (full text).
    pub(super) pages: usize,
    pub(super) poll: SettledPoll,
}

impl PollResult {
    pub(super) fn trace(&self) -> &Trace {
        match self {
            PollResult::Answered(fetched) => &fetched.trace,
            PollResult::Failed { trace, .. } => trace,
        }
    }

    /// Whether a document was read.
    pub(super) fn is_read(&self) -> bool {
        matches!(self, PollResult::Answered(fetched) if matches!(fetched.answer, Answer::Read(_)))
    }

    /// Moves times of a result that came before a step of the clock.
    pub(super) fn follow(&mut self, step: ClockStep) {
        match self {
            PollResult::Answered(fetched) => fetched.follow(step),
            PollResult::Failed { report, .. } => {
                report.retry_after = report.retry_after.map(|until| step.moved(until));
            }
        }
    }

    /// What the store is asked about the entries; nothing if there are none.
    pub(super) fn entry_query(&self, source: SourceId) -> Option<EntryQuery> {
        let PollResult::Answered(fetched) = self else { return None };
        let Answer::Read(reading) = &fetched.answer else { return None };
        let entries = reading.entries.iter().map(|post| (post.key(), post.content_hash()));
        Some(EntryQuery { source_id: source, entries: entries.collect() }).filter(|query| !query.entries.is_empty())
    }

    /// About how many bytes it takes in memory and in a transaction.
    pub(super) fn bytes(&self) -> usize {
        match self {
            PollResult::Answered(fetched) => fetched.trace.body_bytes,
            PollResult::Failed { report, .. } => report.error.len(),
        }
    }
}

/// What follows from a poll of this source that ended with this result, if the store knows this of its entries.
pub(super) fn decide(
    source: &Source,
    result: &PollResult,
    known: &KnownEntries,
    host: Option<HostState>,
    policy: &Policy,
    times: PollTimes,
) -> (Settlement, Decision) {
    let PollTimes { ages_at, began_at, ended_at, request_time } = times;
    let mut entries = ReadingDecision::default();
    let mut pages = Vec::new();
    let (mut state, failure, believed_url) = match result {
        PollResult::Failed { report, .. } => {
            let decision = after_failure(source, report, policy, ended_at);
            (decision.state, Some((decision.classified, decision.step)), None)
        }
        PollResult::Answered(fetched) => {
            let answer = match &fetched.answer {
                Answer::Read(reading) => {
                    let kind = kind(source.settings.source_type).watermark();
                    entries = reading::decide(source, kind, &reading.entries, known, policy, ages_at, ended_at);
                    entries.counts.blank = reading.blank as u64;
                    if kind == Watermark::Published {
                        let mode = source.settings.full_text.unwrap_or(policy.posts.full_text);
                        pages = full_text::want_pages(mode, &mut entries.posts, &mut entries.edits);
                    }
                    let last_seen = source.state.last_seen;
                    SourceAnswer::Read(ReadAnswer {
                        validators: reading.validators.clone(),
                        hints: reading.hints.clone(),
                        last_seen: entries.watermark(
                            kind,
                            last_seen,
                            &reading.entries,
                            reading.newest_number,
                            ended_at,
                        ),
                        bodies_repeat: entries.bodies_repeat,
                        is_gap: entries.is_gap,
                        title: reading.title.clone(),
                        has_new: entries.counts.new > 0,
                        offer: offer_of(source, fetched, &reading.links).filter(|_| kind == Watermark::Published),
                    })
                }
                Answer::NotModified { validators, fresh_until } => {
                    SourceAnswer::NotModified { validators: validators.clone(), fresh_until: *fresh_until }
                }
                Answer::Failed(_) | Answer::PendingRedirect(_) => {
                    unreachable!("the host sends no failure and no redirect to the post sink")
                }
            };
            let publishing = match &fetched.answer {
                Answer::Read(reading) => {
                    let known = publishing::after_reading(source, &reading.entries, &entries, ages_at, ended_at);
                    if entries.is_gap { after_gap(source, &known, policy, ages_at) } else { known }
                }
                _ => publishing::after_no_change(source, ages_at),
            };
            let state = after_success(&source.state, answer, began_at, ended_at);
            let mut state = SourceState { publishing, ..state };
            let believed_url = follow_move(source, &mut state, &fetched.trace, policy, ended_at);
            (state, None, believed_url)
        }
    };
    if let PollResult::Answered(fetched) = result
        && let Some(account_id) = &fetched.learned.account_id
    {
        state.account_id = Some(account_id.clone());
    }
    // The damaged value is replaced by whatever is stored now.
    let is_publishing_lost = source.state.publishing == PublishingHistory::Damaged;
    if state.publishing == PublishingHistory::Damaged {
        state.publishing = PublishingHistory::Unknown;
    }
    let before = source;
    let source = Source { state, updated_at: ended_at, ..before.clone() };
    let next = next_poll(&source, host.as_ref(), policy, ended_at);
    let mut events = source_events(before, &source, policy, ended_at);
    if entries.is_gap {
        let reason = "no entry of the feed is known: more were published since the last poll than the feed holds";
        events.push(NewEvent { reason: Some(reason.to_owned()), ..of_source(&source, EventType::SourceGap, ended_at) });
    }
    let ReadingDecision { posts, edits, renamed, still_seen, document, counts, is_gap, .. } = entries;
    let pages_count = pages.len();
    let trace = result.trace();
    let error = match result {
        PollResult::Failed { report, .. } => Some(report.error.clone()),
        PollResult::Answered(_) => None,
    };
    let poll = SettledPoll {
        status_code: trace.status,
        error_type: failure.as_ref().map(|(classified, _)| classified.kind),
        error,
        entries: result.is_read().then_some(counts),
        is_gap,
        full_texts_wanted: pages_count,
        bytes: trace.wire_bytes,
        duration_ms: u64::try_from(request_time.as_millis()).unwrap_or(u64::MAX),
        next: next.to_string(),
        linked_feeds: trace.linked_feeds.iter().take(LINKED_FEEDS_MAX).map(|feed| feed.url.to_string()).collect(),
        ..SettledPoll::unchanged(ended_at)
    };
    let settlement = Settlement {
        posts,
        edits,
        pages,
        renamed,
        still_seen,
        document,
        host,
        events,
        poll: policy.history.is_kept().then(|| Box::new(poll.clone())),
        ..Settlement::of_state(&source, ended_at)
    };
    let pages = pages_count;
    (settlement, Decision { source, next, failure, believed_url, counts, is_gap, is_publishing_lost, pages, poll })
}

/// The hubs that the feed names.
fn offer_of(source: &Source, fetched: &Fetched, links: &FeedLinks) -> Option<HubOffer> {
    let Trace { moved_to, hops, .. } = &fetched.trace;
    let known_as = moved_to.as_ref().map_or(source.settings.url.as_str(), url::Url::as_str);
    let answered = hops.last().map_or(known_as, |hop| hop.url.as_str());
    push::offer(links, known_as, answered)
}

/// Notes the target of permanent redirects in the state; returns it once it is believed.
fn follow_move(
    source: &Source,
    state: &mut SourceState,
    trace: &Trace,
    policy: &Policy,
    now: Timestamp,
) -> Option<String> {
    let moved_to = trace.moved_to.as_ref().map(url::Url::as_str);
    let decision = moved::after(state.moved.as_ref(), moved_to, &source.settings.url, now, policy.moved_after_days);
    state.moved = decision.moved;
    decision.believed
}
