//! What an answer states about the rate limit of its host.

use super::{ClockStep, Timestamp};

/// A rate limit that refuses the next request, or may refuse it. A limit with requests left is not a value of this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Whether the answer states that no request is left; otherwise it does not state how many are left.
    pub is_used_up: bool,
    /// Time at which requests are allowed again. Later than the answer.
    pub resets_at: Timestamp,
}

impl RateLimit {
    /// The same limit after a step of the clock.
    pub fn moved(self, step: ClockStep) -> RateLimit {
        RateLimit { resets_at: step.moved(self.resets_at), ..self }
    }
}
