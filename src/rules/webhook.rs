//! Retry or disabling of a webhook after a failed delivery.

use std::time::Duration;

use crate::model::{FailureReport, Timestamp};

use super::backoff::backoff;
use super::jitter::share;

/// Parameters of deliveries to webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookPolicy {
    /// Time limit of one delivery.
    pub timeout: Duration,
    /// The most posts in one delivery.
    pub posts_max: u32,
    /// The largest body of a delivery, unless a single post is larger.
    pub body_bytes_max: usize,
    /// Wait after the first failure; it doubles with every further one.
    pub retry_first: Duration,
    /// The longest wait, whatever the webhook asks for.
    pub retry_max: Duration,
    /// Failures in a row that disable a webhook.
    pub failures_max: u32,
}

impl Default for WebhookPolicy {
    /// About a day of trying.
    fn default() -> WebhookPolicy {
        WebhookPolicy {
            timeout: Duration::from_secs(10),
            posts_max: 50,
            body_bytes_max: 1024 * 1024,
            retry_first: Duration::from_secs(10),
            retry_max: Duration::from_secs(3 * 3600),
            failures_max: 20,
        }
    }
}

/// Decision after a failed delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// The same posts are sent again, not before this moment.
    Retry(Timestamp),
    /// The webhook is disabled until a person enables it.
    Disable(String),
}

/// Decides after this many failures in a row. The roll, from 0 to 1, takes up to half of the wait away, so that
/// webhooks that failed together are not retried together.
pub fn after_failure(
    failures: u32,
    report: &FailureReport,
    policy: &WebhookPolicy,
    now: Timestamp,
    roll: f64,
) -> AfterFailure {
    if report.status_code() == Some(410) {
        return AfterFailure::Disable("it answered 410: gone for good".into());
    }
    if failures >= policy.failures_max {
        return AfterFailure::Disable(format!("{failures} deliveries in a row failed, the last one: {}", report.error));
    }
    let wait = backoff(policy.retry_first, failures.saturating_sub(1), policy.retry_max).delay;
    let spread = now + (wait - share(wait / 2, roll));
    let asked = report.retry_after.map(|moment| moment.min(now + policy.retry_max));
    AfterFailure::Retry(asked.map_or(spread, |asked| asked.max(spread)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FailureCause;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn report(status: u16, retry_after: Option<u64>) -> FailureReport {
        let retry_after = retry_after.map(|seconds| NOW + Duration::from_secs(seconds));
        FailureReport { cause: FailureCause::Status(status), error: format!("HTTP {status}"), retry_after }
    }

    fn wait(failures: u32, retry_after: Option<u64>, roll: f64) -> u64 {
        match after_failure(failures, &report(503, retry_after), &WebhookPolicy::default(), NOW, roll) {
            AfterFailure::Retry(at) => at.since(NOW).as_secs(),
            AfterFailure::Disable(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits: Vec<u64> = (1..=4).map(|failures| wait(failures, None, 0.0)).collect();
        assert_eq!(waits, [10, 20, 40, 80]);
        assert_eq!(wait(19, None, 0.0), 3 * 3600);
        assert_eq!(wait(3, None, 1.0), 20, "the dice take half of it away at the most");
    }

    #[test]
    fn a_webhook_may_ask_for_more_time_but_not_for_ever() {
        assert_eq!(wait(1, Some(300), 0.5), 300);
        assert_eq!(wait(4, Some(1), 0.0), 80);
        assert_eq!(wait(1, Some(1_000_000), 0.0), 3 * 3600);
    }

    #[test]
    fn too_many_failures_and_410_disable_it_with_the_reason() {
        let policy = WebhookPolicy { failures_max: 3, ..WebhookPolicy::default() };
        let after = |failures, status| after_failure(failures, &report(status, None), &policy, NOW, 0.0);
        assert!(matches!(after(2, 500), AfterFailure::Retry(_)));
        let words = "3 deliveries in a row failed, the last one: HTTP 500";
        assert_eq!(after(3, 500), AfterFailure::Disable(words.into()));
        assert!(matches!(after(1, 410), AfterFailure::Disable(reason) if reason.contains("410")));
    }

    proptest! {
        #[test]
        fn a_retry_is_never_in_the_past_nor_beyond_the_longest_wait(
            failures in 0u32..19, asked in proptest::option::of(0u64..10_000_000), roll in -1.0f64..2.0
        ) {
            let seconds = wait(failures, asked, roll);
            prop_assert!((5..=3 * 3600).contains(&seconds), "{}", seconds);
        }
    }
}
