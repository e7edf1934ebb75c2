//! Charts as SVG, from the stored history of polls. Each has its numbers as a table besides.

use maud::{Markup, html};

use super::elements::{grouped, number, time};
use crate::api::views::PollHourView;
use crate::model::{PollOutcome, Timestamp};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 150.0;
/// Room for the numbers of the axis.
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 18.0;
const TOP: f64 = 8.0;

/// A kind of value that is stacked in each bar.
#[derive(Clone, Copy)]
pub(super) struct Series {
    pub(super) name: &'static str,
    /// Class of the stylesheet that colours it.
    pub(super) class: &'static str,
}

/// One bar.
pub(super) struct Bar {
    pub(super) start: Timestamp,
    /// One value for each series.
    pub(super) values: Vec<u64>,
}

/// Bars of stacked values over time, with a legend and a table.
pub(super) fn bars(id: &str, title: &str, series: &[Series], bars: &[Bar]) -> Markup {
    let highest = bars.iter().map(|bar| bar.values.iter().sum::<u64>()).max().unwrap_or(0).max(1);
    let top = nice(highest);
    let width = (WIDTH - LEFT) / bars.len().max(1) as f64;
    let height = HEIGHT - TOP - BOTTOM;
    let scale = |value: u64| value as f64 / top as f64 * height;
    let sum = |place: usize| bars.iter().map(|bar| bar.values.get(place).copied().unwrap_or(0)).sum::<u64>();
    let sums: Vec<String> =
        series.iter().enumerate().map(|(place, one)| format!("{} {}", grouped(sum(place)), one.name)).collect();
    html! {
        figure {
            svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
                aria-label=(format!("{title}: {}", sums.join(", "))) {
                @for part in [0, top.div_ceil(2), top] {
                    @let y = HEIGHT - BOTTOM - scale(part);
                    line.axis x1=(LEFT) x2=(WIDTH) y1=(y) y2=(y) {}
                    text x=(LEFT - 4.0) y=(y + 4.0) text-anchor="end" { (grouped(part)) }
                }
                @for (place, bar) in bars.iter().enumerate() {
                    @let x = LEFT + place as f64 * width;
                    @for (rank, value) in bar.values.iter().enumerate().filter(|(_, value)| **value > 0) {
                        @let below: u64 = bar.values[..rank].iter().sum();
                        rect class=(series[rank].class) x=(round(x + 0.5)) width=(round((width - 1.0).max(0.5)))
                            y=(round(HEIGHT - BOTTOM - scale(below + value))) height=(round(scale(*value).max(0.8))) {
                            title { (bar.start) ": " (grouped(*value)) " " (series[rank].name) }
                        }
                    }
                    @if place % (bars.len() / 6).max(1) == 0 {
                        text x=(round(x)) y=(HEIGHT - 4.0) { (axis_label(bar.start, bars)) }
                    }
                }
            }
            ul.legend {
                @for (place, one) in series.iter().enumerate() {
                    li { (swatch(one.class)) (one.name) " " (number(sum(place))) }
                }
            }
            details id=(format!("{id}-table")) {
                summary { "Numbers" }
                div.scroll role="region" aria-label=(title) tabindex="0" {
                    table {
                        caption { (title) }
                        thead { tr {
                            th scope="col" { "From" }
                            @for one in series { th.number scope="col" { (one.name) } }
                        } }
                        tbody {
                            @for bar in bars.iter().rev() {
                                tr {
                                    th scope="row" { (time(bar.start)) }
                                    @for value in &bar.values { td.number { (number(*value)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A time on an axis: UTC here, the reader's locale with JavaScript.
pub(super) fn axis_time(at: Timestamp) -> Markup {
    html! { tspan data-at=(at) data-form="minute" { (at.to_string().get(..16).unwrap_or_default().replace('T', " ")) " UTC" } }
}

/// A square in the colour of a series.
pub(super) fn swatch(class: &str) -> Markup {
    html! { svg viewBox="0 0 10 10" aria-hidden="true" { rect class=(class) width="10" height="10" {} } }
}

/// Sums of hours in equal steps until now, the last step being the current one.
pub(super) fn by_step(
    hours: &[PollHourView],
    now: Timestamp,
    step_hours: i64,
    steps: i64,
    values: impl Fn(&PollHourView) -> Vec<u64>,
    width: usize,
) -> Vec<Bar> {
    const HOUR: i64 = 3_600_000_000;
    let step = step_hours * HOUR;
    let last = now.as_micros().div_euclid(step);
    let mut bars: Vec<Bar> = (0..steps)
        .map(|place| Bar { start: Timestamp::from_micros((last - steps + 1 + place) * step), values: vec![0; width] })
        .collect();
    for hour in hours {
        let place = hour.hour.as_micros().div_euclid(step) - (last - steps + 1);
        let Some(bar) = usize::try_from(place).ok().and_then(|place| bars.get_mut(place)) else { continue };
        for (sum, value) in bar.values.iter_mut().zip(values(hour)) {
            *sum += value;
        }
    }
    bars
}

/// Polls by outcome.
pub(super) const OUTCOMES: [Series; 3] = [
    Series { name: "read", class: "read" },
    Series { name: "unchanged", class: "unchanged" },
    Series { name: "failed", class: "failed" },
];
pub(super) const NEW_POSTS: [Series; 1] = [Series { name: "new posts", class: "posts" }];

pub(super) fn outcomes(hour: &PollHourView) -> Vec<u64> {
    let of = |outcome: PollOutcome| if hour.outcome == outcome { hour.polls } else { 0 };
    vec![of(PollOutcome::Read), of(PollOutcome::Unchanged), of(PollOutcome::Failed)]
}

pub(super) fn new_posts(hour: &PollHourView) -> Vec<u64> {
    vec![hour.new_posts]
}

/// The next number of the form 1, 2 or 5 times a power of ten.
fn nice(value: u64) -> u64 {
    let mut unit = 1_u64;
    loop {
        for factor in [1, 2, 5] {
            if unit.saturating_mul(factor) >= value {
                return unit.saturating_mul(factor).max(2);
            }
        }
        unit = unit.saturating_mul(10);
    }
}

fn axis_label(start: Timestamp, bars: &[Bar]) -> Markup {
    let text = start.to_string();
    let length =
        bars.last().map_or(0, |last| last.start.as_micros()) - bars.first().map_or(0, |first| first.start.as_micros());
    let (form, range) = if length <= 2 * 86_400_000_000 { ("hour", 11..16) } else { ("day", 5..10) };
    html! { tspan data-at=(start) data-form=(form) { (text.get(range).unwrap_or_default()) } }
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, end) in [(1, 2), (3, 5), (7, 10), (11, 20), (501, 1000), (1_000_000, 1_000_000)] {
            assert_eq!(nice(value), end, "{value}");
        }
    }

    #[test]
    fn hours_are_summed_in_steps_that_end_now() {
        let hour = |hours: i64, polls| PollHourView {
            hour: Timestamp::from_micros(hours * 3_600_000_000),
            outcome: PollOutcome::Read,
            error_type: None,
            polls,
            new_posts: 1,
            updated_posts: 0,
            bytes: 0,
            duration_ms: 0,
        };
        let now = Timestamp::from_micros(100 * 3_600_000_000 + 1);
        let hours = [hour(1, 9), hour(96, 1), hour(97, 2), hour(100, 4)];
        let bars = by_step(&hours, now, 2, 3, outcomes, 3);
        let read: Vec<u64> = bars.iter().map(|bar| bar.values[0]).collect();
        assert_eq!(read, [3, 0, 4]);
        assert_eq!(bars[2].start, Timestamp::from_micros(100 * 3_600_000_000));
    }
}
