//! Polls of one source on a time axis and as a table.

use maud::{Markup, html};

use super::chart::{axis_time, swatch};
use super::elements::{foreign, grouped, number, relative_time, words};
use crate::api::views::PollRecord;
use crate::model::{PollOutcome, Timestamp};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 120.0;
const BASE: f64 = 96.0;

/// Each poll is a bar where it ended: its height is the duration, its colour the outcome; a dot has the new posts.
pub(super) fn chart(polls: &[PollRecord]) -> Markup {
    let times = || polls.iter().map(|poll| poll.at.as_micros());
    let (first, last) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    let range = (last - first).max(1) as f64;
    let x = |at: Timestamp| 12.0 + (at.as_micros() - first) as f64 / range * (WIDTH - 24.0);
    let slowest = polls.iter().map(|poll| poll.duration_ms).max().unwrap_or(1).max(1);
    // By its logarithm: one slow poll does not flatten all others.
    let height = |ms: u64| 20.0 + (1.0 + ms as f64).ln() / (1.0 + slowest as f64).ln() * 52.0;
    let failed = polls.iter().filter(|poll| poll.outcome == PollOutcome::Failed).count();
    let new_posts: usize = polls.iter().map(|poll| poll.new_posts).sum();
    let label = format!("{} polls, {failed} failed, {new_posts} new posts", polls.len());
    html! {
        figure {
            div.timeline role="region" aria-label="Polls on a time axis" tabindex="0" {
            svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) {
                line.axis x1="0" x2=(WIDTH) y1=(BASE) y2=(BASE) {}
                @for poll in polls {
                    @let (at, tall) = (round(x(poll.at)), round(height(poll.duration_ms)));
                    rect class=(class(poll)) x=(at - 3.0) width="6" y=(BASE - tall) height=(tall) {
                        title { (poll.at) ": " (in_words(poll)) ", " (grouped(poll.duration_ms)) " ms" }
                    }
                    @if poll.new_posts > 0 {
                        text x=(at) y=(BASE - tall - 4.0) text-anchor="middle" { "+" (poll.new_posts) }
                    }
                    @if poll.is_gap { rect.gap x=(at - 5.0) width="10" y=(BASE + 2.0) height="5" { title { "gap" } } }
                }
                text x="0" y=(HEIGHT - 4.0) { (axis_time(Timestamp::from_micros(first))) }
                text x=(WIDTH) y=(HEIGHT - 4.0) text-anchor="end" { (axis_time(Timestamp::from_micros(last))) }
            }
            }
            ul.legend {
                li { (swatch("read")) "read" } li { (swatch("unchanged")) "unchanged" } li { (swatch("failed")) "failed" }
                li { (swatch("gap")) "gap: entries may be missing" } li { "height: duration, +N: new posts" }
            }
        }
    }
}

pub(super) fn poll_table(polls: &[PollRecord], now: Timestamp) -> Markup {
    html! {
        div.scroll { table.cards {
            caption { "Polls, newest first" }
            thead { tr {
                th scope="col" { "When" } th scope="col" { "Outcome" } th.number scope="col" { "Duration" }
                th.number scope="col" { "Bytes" } th.number scope="col" { "New" } th scope="col" { "Entries and skips" }
                th scope="col" { "Then" }
            } }
            tbody { @for poll in polls { tr.bad-row[poll.outcome == PollOutcome::Failed] {
                td.short data-label="When" { (relative_time(poll.at, now)) }
                td data-label="Outcome" {
                    (super::elements::state(&outcome_name(poll.outcome))) " "
                    @if let Some(code) = poll.status_code { (code) " " }
                    @if let Some(kind) = poll.error_type { (kind) " " }
                    @if let Some(error) = &poll.error { div.soft { (foreign(error)) } }
                }
                td.number data-label="Duration" { (number(poll.duration_ms)) " ms" }
                td.number data-label="Bytes" { (number(poll.bytes)) }
                td.number data-label="New" { (number(poll.new_posts)) }
                td data-label="Entries" {
                    @if let Some(entries) = &poll.entries_text { (entries) } @else { span.none { "none read" } }
                    @if poll.is_gap { " " (super::elements::state("gap")) }
                    @if poll.full_texts_wanted > 0 {
                        div.soft { (number(poll.full_texts)) " of " (number(poll.full_texts_wanted)) " full texts" }
                    }
                }
                td data-label="Then" { (words(&poll.next)) }
            } } }
        } }
    }
}

fn outcome_name(outcome: PollOutcome) -> String {
    match outcome {
        PollOutcome::Read => "read",
        PollOutcome::Unchanged => "unchanged",
        PollOutcome::Failed => "failed",
    }
    .to_owned()
}

fn class(poll: &PollRecord) -> &'static str {
    match poll.outcome {
        PollOutcome::Read => "read",
        PollOutcome::Unchanged => "unchanged",
        PollOutcome::Failed => "failed",
    }
}

fn in_words(poll: &PollRecord) -> String {
    let code = poll.status_code.map(|code| format!(" {code}")).unwrap_or_default();
    let detail = poll.error.as_ref().or(poll.entries_text.as_ref()).cloned().unwrap_or_default();
    format!("{}{code} {}", outcome_name(poll.outcome), super::elements::cut(&detail, 200).0)
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
