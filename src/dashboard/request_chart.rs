//! The last requests to a host on a time axis and as a table, with the pauses between them.

use maud::{Markup, html};

use super::chart::{axis_time, swatch};
use super::elements::{empty, grouped, number, source_link, time};
use crate::api::views::HostRequestView;

/// Requests on the axis; the table has all.
const DRAWN_MAX: usize = 12;
const WIDTH: f64 = 960.0;
const SIDE: f64 = 12.0;
const TOP: f64 = 30.0;
const BAR: f64 = 34.0;
const HEIGHT: f64 = 96.0;
/// The shortest bar that can be seen.
const BAR_WIDTH_MIN: f64 = 3.0;
/// Room that the label of a pause takes.
const LABEL_WIDTH: f64 = 46.0;
/// A pause longer than this many times the usual one is drawn shorter.
const LONG: i64 = 4;

/// A request with the pause before it; both in microseconds.
struct Step<'a> {
    request: &'a HostRequestView,
    pause: i64,
    /// The pause as it is drawn.
    drawn_pause: i64,
    length: i64,
}

pub(super) fn requests_section(requests: &[HostRequestView]) -> Markup {
    let newest = &requests[..requests.len().min(DRAWN_MAX)];
    html! {
        section.panel {
            h2 { "Last requests" }
            @if requests.is_empty() {
                (empty("No request to this host is known since the start of the daemon, and no poll of its sources is stored."))
            } @else {
                (axis(&steps(newest)))
                (table(&steps(requests)))
            }
        }
    }
}

/// The requests, oldest first.
fn steps(newest_first: &[HostRequestView]) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut end: Option<i64> = None;
    for request in newest_first.iter().rev() {
        let length = i64::try_from(request.duration_ms).unwrap_or(i64::MAX / 2_000).saturating_mul(1_000);
        let start = request.started_at.as_micros();
        let pause = end.map_or(0, |end| start.saturating_sub(end).max(0));
        end = Some(start.saturating_add(length));
        steps.push(Step { request, pause, drawn_pause: pause, length });
    }
    let mut pauses: Vec<i64> = steps.iter().skip(1).map(|step| step.pause).collect();
    pauses.sort_unstable();
    let usual = pauses.get(pauses.len() / 2).copied().unwrap_or(0).max(1_000_000);
    for step in &mut steps {
        step.drawn_pause = step.pause.min(usual.saturating_mul(LONG));
    }
    steps
}

fn axis(steps: &[Step<'_>]) -> Markup {
    let total: i64 = steps.iter().map(|step| step.drawn_pause + step.length).sum();
    let room = WIDTH - 2.0 * SIDE - BAR_WIDTH_MIN * steps.len() as f64;
    let wide = |micros: i64| micros as f64 / total.max(1) as f64 * room;
    let failed = steps.iter().filter(|step| step.request.error_type.is_some()).count();
    let shortest = steps.iter().skip(1).map(|step| step.pause).min();
    let label = match shortest {
        Some(pause) => format!(
            "The last {} requests, {failed} failed; the shortest pause between two was {}",
            steps.len(),
            seconds(pause)
        ),
        None => format!("The last request{}", if failed > 0 { ", which failed" } else { "" }),
    };
    // End of the request before, start and width of each request.
    let mut end = SIDE;
    let places = steps.iter().enumerate().map(|(place, step)| {
        let before = end;
        let start = before + if place > 0 { wide(step.drawn_pause) } else { 0.0 };
        let width = wide(step.length) + BAR_WIDTH_MIN;
        end = start + width;
        (before, start, width)
    });
    let places: Vec<(f64, f64, f64)> = places.collect();
    let middle = TOP + BAR / 2.0;
    html! {
        figure {
            div.timeline role="region" aria-label="Requests on a time axis" tabindex="0" {
            svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) {
                @for (place, (step, (from, to, width))) in steps.iter().zip(places).enumerate() {
                    @if place > 0 {
                        line class=(if step.drawn_pause < step.pause { "axis broken" } else { "axis" })
                            x1=(round(from)) x2=(round(to)) y1=(middle) y2=(middle) {}
                        @if to - from >= LABEL_WIDTH {
                            text x=(round((from + to) / 2.0)) y=(middle - 6.0) text-anchor="middle" { (seconds(step.pause)) }
                        }
                    }
                    rect class=(if step.request.error_type.is_some() { "failed" } else { "read" })
                        x=(round(to)) width=(round(width)) y=(TOP) height=(BAR) {
                        title { (step.request.started_at) ": " (purpose(step.request)) ", " (result(step.request)) ", "
                            (grouped(step.request.duration_ms)) " ms" }
                    }
                }
                @if let (Some(first), Some(last)) = (steps.first(), steps.last()) {
                    text x=(SIDE) y=(HEIGHT - 8.0) { (axis_time(first.request.started_at)) }
                    @if steps.len() > 1 {
                        text x=(WIDTH - SIDE) y=(HEIGHT - 8.0) text-anchor="end" { (axis_time(last.request.started_at)) }
                    }
                }
            }
            }
            ul.legend {
                li { (swatch("read")) "answered" }
                li { (swatch("failed")) "failed" }
                li { "width: duration; between bars: the pause in seconds (a dashed one is drawn shorter)" }
            }
        }
    }
}

fn table(steps: &[Step<'_>]) -> Markup {
    html! {
        details #request-table {
            summary { "All " (number(steps.len())) " as a table" }
            div.scroll { table.cards {
                caption { "Requests, newest first" }
                thead { tr {
                    th scope="col" { "Start" }
                    th.number scope="col" { "Pause before" }
                    th.number scope="col" { "Duration" }
                    th scope="col" { "Purpose" }
                    th scope="col" { "Source" }
                    th scope="col" { "Result" }
                } }
                tbody {
                    @for (place, step) in steps.iter().enumerate().rev() {
                        tr.bad-row[step.request.error_type.is_some()] {
                            td data-label="Start" { (time(step.request.started_at)) }
                            td.number data-label="Pause before" {
                                @if place > 0 { (seconds(step.pause)) } @else { span.none { "–" } }
                            }
                            td.number data-label="Duration" { (number(step.request.duration_ms)) " ms" }
                            td data-label="Purpose" { (purpose(step.request)) }
                            td data-label="Source" {
                                @match step.request.source_id {
                                    Some(id) => (source_link(id, &format!("source {id}"))),
                                    None => span.none { "none" },
                                }
                            }
                            td data-label="Result" { (result(step.request)) }
                        }
                    }
                }
            } }
        }
    }
}

fn purpose(request: &HostRequestView) -> String {
    match request.purpose.as_str() {
        "robots_txt" => "robots.txt".to_owned(),
        purpose => purpose.replace('_', " "),
    }
}

fn result(request: &HostRequestView) -> String {
    let status = request.status_code.map_or_else(|| "no response".to_owned(), |status| format!("status {status}"));
    match request.error_type {
        Some(kind) => format!("{status}, {}", kind.to_string().replace('_', " ")),
        None => status,
    }
}

fn seconds(micros: i64) -> String {
    let tenths = u64::try_from(micros).unwrap_or(0) / 100_000;
    if tenths >= 1_000 { format!("{} s", grouped(tenths / 10)) } else { format!("{}.{} s", tenths / 10, tenths % 10) }
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    fn request(second: i64, duration_ms: u64) -> HostRequestView {
        HostRequestView {
            started_at: Timestamp::from_seconds(1_800_000_000 + second),
            duration_ms,
            purpose: "poll".to_owned(),
            source_id: None,
            status_code: Some(200),
            error_type: None,
        }
    }

    #[test]
    fn a_pause_runs_from_the_end_of_a_request_to_the_start_of_the_next() {
        let requests = [request(7_200, 100), request(19, 100), request(12, 2_000), request(0, 2_000)];
        let steps = steps(&requests);
        let pauses: Vec<i64> = steps.iter().map(|step| step.pause / 100_000).collect();
        assert_eq!(pauses, [0, 100, 50, 71_809]);
        assert_eq!(steps[3].drawn_pause, 40_000_000, "a long pause leaves room for the others");
        assert_eq!((seconds(5_040_000), seconds(7_180_900_000)), ("5.0 s".to_owned(), "7,180 s".to_owned()));
    }

    #[test]
    fn everything_fits_on_the_axis() {
        let many: Vec<HostRequestView> = (0..12).rev().map(|place| request(place * 10, 9_999)).collect();
        let overlapping = [request(1, u64::MAX), request(0, u64::MAX)];
        for requests in [&many[..], &overlapping, &many[..1]] {
            let shown = axis(&steps(requests)).into_string();
            let last = shown.rmatch_indices("<rect").nth(2).map_or("", |(place, _)| &shown[place..]);
            let value = |name: &str| {
                let text = last.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
                text.and_then(|(value, _)| value.parse::<f64>().ok()).unwrap_or(f64::MAX)
            };
            assert!(value(" x") + value("width") <= WIDTH, "{shown}");
        }
    }
}
