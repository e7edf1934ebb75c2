//! Text output for sources and polls.

use super::output_style::{OutputStyle, TextStyle, facts, state_style};
use super::sanitize::{cut_url, plain_lines};
use super::table::{Cell, Column, Table, span};
use super::times::{localized, second};
use crate::api::views::{CreatedSource, Explanation, PollAnswer, PollRecord, SourceView};
use crate::model::PollOutcome;

pub(super) const COLUMNS: &[Column] = &[
    Column::number("ID"),
    Column::word("STATE").leaves(1),
    Column::word("TYPE").leaves(5),
    Column::word("LAST POLL").leaves(3),
    Column::number("FAILED").leaves(4),
    Column::url("URL"),
    Column::text("TITLE").leaves(2),
];

/// Columns of reasons to wait.
const TERMS: &[Column] = &[Column::word("WAITS UNTIL").leaves(2), Column::word("").leaves(1), Column::name("BECAUSE")];

const POLLS: &[Column] = &[
    Column::word("POLLED"),
    Column::word("OUTCOME"),
    Column::number("STATUS").leaves(2),
    Column::number("NEW").leaves(3),
    Column::number("BYTES").leaves(4),
    Column::number("MS").leaves(5),
    Column::text("WHAT").leaves(1),
];

const HAS_ACCESS: &str = "requests carry a login or headers";

pub(super) fn row(source: &SourceView) -> Vec<Cell> {
    vec![
        Cell::new(source.id),
        Cell::styled(&source.state, state_style(&source.state)),
        Cell::new(source.source_type),
        Cell::maybe_time(source.last_polled),
        Cell::new(source.consecutive_failures),
        Cell::new(&source.url),
        Cell::maybe(source.title.as_ref().or(source.feed_title.as_ref())),
    ]
}

pub(super) fn standing(source: &SourceView) -> String {
    let end = if source.state == "resting" { format!(" {}", rest_end(source)) } else { String::new() };
    format!("source {} is {}{end}\n", source.id, source.state)
}

fn rest_end(source: &SourceView) -> String {
    match (source.feed_disabled_until, source.feed_disabled_by.as_deref()) {
        (Some(until), _) => format!("until {}", second(until)),
        (None, Some("failures")) => "until the next poll".to_owned(),
        (None, _) => "until it is woken".to_owned(),
    }
}

pub(super) fn one(source: &SourceView) -> String {
    let with_unit = |count: Option<u32>, unit: &str| count.map(|count| format!("{count} {unit}"));
    let failure = source.last_error.as_ref().map(|error| {
        let kind = source.last_error_type.map(|kind| format!("{kind}: ")).unwrap_or_default();
        format!("{kind}{error}")
    });
    let rests = source.feed_disabled_at.map(|since| {
        let reason = source.feed_disable_reason.as_deref().unwrap_or("no reason given");
        format!("since {}, {}: {reason}", second(since), rest_end(source))
    });
    let gaps =
        source.last_gap_at.map(|at| format!("{}, the last one at {}: entries may be missing", source.gaps, second(at)));
    let failed = source.consecutive_failures;
    facts(
        OutputStyle::of_output(),
        &[
            ("source", Some(source.id.to_string())),
            ("url", Some(source.url.clone())),
            ("title", source.title.clone()),
            ("feed title", source.feed_title.clone()),
            ("type", Some(source.source_type.to_string())),
            ("state", Some(source.state.clone())),
            ("disabled", source.disabled_reason.clone()),
            ("rests", rests),
            ("host", source.host.clone()),
            ("labels", (!source.labels.is_empty()).then(|| source.labels.join(", "))),
            ("access", source.has_access.then(|| HAS_ACCESS.to_owned())),
            ("podcast", source.podcast_id.map(|id| id.to_string())),
            ("interval", with_unit(source.poll_interval_minutes, "min")),
            ("delay", with_unit(source.poll_delay_seconds, "s")),
            ("max failures", source.max_failures.map(|count| count.to_string())),
            ("max backoff", with_unit(source.max_backoff_hours, "h")),
            ("backlog", source.backlog.map(|backlog| <&str>::from(backlog).to_owned())),
            ("full text", source.full_text.map(|full_text| <&str>::from(full_text).to_owned())),
            ("user agent", source.user_agent.clone()),
            ("proxy", source.proxy.clone()),
            ("websub", source.websub.map(|websub| <&str>::from(websub).to_owned())),
            ("hub", hub(source)),
            ("added", Some(second(source.created_at))),
            ("last poll", source.last_polled.map(second)),
            ("last success", source.last_success_at.map(second)),
            ("last entries", source.last_read_at.map(second)),
            ("not before", source.retry_after.map(second)),
            ("fresh until", source.fresh_until.map(second)),
            ("failures", (failed > 0).then(|| format!("{failed} in a row"))),
            ("last failure", failure),
            ("moves to", source.moved_to.clone()),
            ("gaps", gaps),
            ("publishes", source.entries_per_day.map(|entries| format!("about {entries:.2} new entries a day"))),
            ("bodies", source.bodies_repeat.then(|| "different entries have the same body".to_owned())),
            ("version", Some(source.version.to_string())),
        ],
    )
}

/// The hub of a source, and how far its subscription is.
pub(crate) fn hub(source: &SourceView) -> Option<String> {
    let Some(subscription) = &source.subscription else {
        return source.hubs.first().map(|hub| format!("{hub}, not subscribed"));
    };
    let until = subscription.lease_end.map(|end| format!(" until {}", second(end)));
    let end = until.filter(|_| subscription.state == "active").unwrap_or_default();
    let pushes =
        format!("pushes {}, useful {}, missed {}", subscription.pushes, subscription.useful, subscription.missed);
    let error = subscription.last_error.as_ref().map(|error| format!("; {error}")).unwrap_or_default();
    Some(format!("{}, {}{end}; {pushes}{error}", subscription.hub, subscription.state))
}

pub(super) fn added(created: &CreatedSource) -> String {
    let source = &created.source;
    let polled = created.first_poll.as_ref().map(polled).unwrap_or_default();
    let lacks = created.lacks.as_ref().map(|lacks| format!("it cannot be polled yet: {lacks}\n")).unwrap_or_default();
    plain_lines(&format!("source {} is added: {}\n{polled}{lacks}", source.id, source.url))
}

pub(super) fn polled(answer: &PollAnswer) -> String {
    plain_lines(&match answer {
        PollAnswer::Done { poll } => match poll.outcome {
            PollOutcome::Read => format!("read, {}\n{}\n", read_words(poll), localized(&poll.next)),
            PollOutcome::Unchanged => format!("nothing new\n{}\n", localized(&poll.next)),
            PollOutcome::Failed => {
                format!("failed: {}\n{}\n", poll.error.as_deref().unwrap_or_default(), localized(&poll.next))
            }
        },
        PollAnswer::Requested { not_before: Some(at), reason } => {
            format!("will be polled, not before {}: {}\n", second(*at), localized(reason))
        }
        PollAnswer::Requested { not_before: None, reason } => format!("will be polled later: {}\n", localized(reason)),
        PollAnswer::Refused { reason } => format!("will not be polled: {}\n", localized(reason)),
    })
}

/// What a poll found.
fn read_words(poll: &PollRecord) -> String {
    let found = poll.entries_text.clone().unwrap_or_else(|| format!("new posts: {}", poll.new_posts));
    let gap = poll.is_gap.then_some("entries may be missing since the last poll".to_owned());
    let wanted = (poll.full_texts_wanted > 0).then(|| format!("pages for full text: {}", poll.full_texts_wanted));
    let pages = (poll.full_texts > 0).then(|| format!("fetched: {}", poll.full_texts));
    let failures = (poll.full_text_failures > 0).then(|| {
        let error = poll.full_text_error.as_deref().unwrap_or_default();
        format!("failed attempts: {} ({error})", poll.full_text_failures)
    });
    [Some(found), gap, wanted, pages, failures].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

pub(super) fn explanation(explained: Explanation, source: Option<&SourceView>) -> String {
    let style = OutputStyle::of_output();
    let title = format!("source {} is {}: {}", explained.source_id, explained.state, localized(&explained.summary));
    let host = explained.host.as_ref().map(|host| format!("{}, {}; {}", host.host, host.state, localized(&host.turn)));
    let delay = format!("{} s ({})", explained.delay.seconds, explained.delay.layer);
    let scheduled =
        explained.scheduled.as_ref().map(|found| format!("{} for {}", found.place.replace('_', " "), second(found.at)));
    let url_columns = style.columns.map_or(usize::MAX, |columns| columns.saturating_sub("held up by  ".len()));
    let is_due = if explained.is_due { " (now)" } else { "" };
    let mut text = style.headline(&title) + "\n";
    text += &facts(
        style,
        &[
            ("url", source.map(|source| cut_url(&source.url, url_columns))),
            ("title", source.and_then(|source| source.title.clone().or(source.feed_title.clone()))),
            ("node", explained.node.clone()),
            ("next poll", explained.next_poll_at.map(|at| format!("{}{is_due}", second(at)))),
            ("interval", Some(span(explained.interval_seconds))),
            ("pause", Some(delay)),
            ("host", host),
            ("scheduler", scheduled),
            ("held up by", (!explained.held_up_by.is_empty()).then(|| explained.held_up_by.join("; "))),
            ("access", explained.has_access.then(|| HAS_ACCESS.to_owned())),
            ("lacks", explained.lacks.clone()),
            ("failures", Some(format!("{} in a row", explained.consecutive_failures))),
        ],
    );
    if !explained.terms.is_empty() {
        let mut table = Table::new(TERMS);
        for term in &explained.terms {
            let mark = if term.decides { Cell::styled("decides", TextStyle::Bold) } else { Cell::default() };
            table.row(vec![Cell::new(second(term.until)), mark, Cell::new(localized(&term.reason))]);
        }
        text += &format!("\n{}", table.render(style, true));
    }
    if !explained.last_polls.is_empty() {
        text += &format!("\n{}", history(&explained.last_polls));
    }
    text
}

pub(super) fn history(polls: &[PollRecord]) -> String {
    let mut table = Table::new(POLLS);
    for poll in polls {
        let (outcome, text_style) = match poll.outcome {
            PollOutcome::Read => ("read", TextStyle::Good),
            PollOutcome::Unchanged => ("unchanged", TextStyle::Plain),
            PollOutcome::Failed => ("failed", TextStyle::Bad),
        };
        let what = match (&poll.error, poll.outcome) {
            (Some(error), _) => error.clone(),
            (None, PollOutcome::Read) => format!("{}; {}", read_words(poll), localized(&poll.next)),
            (None, _) => localized(&poll.next),
        };
        table.row(vec![
            Cell::new(second(poll.at)),
            Cell::styled(outcome, text_style),
            Cell::maybe(poll.status_code),
            Cell::new(poll.new_posts),
            Cell::new(poll.bytes),
            Cell::new(poll.duration_ms),
            Cell::new(what),
        ]);
    }
    match polls.is_empty() {
        true => "no polls are stored\n".to_owned(),
        false => table.render(OutputStyle::of_output(), true),
    }
}
