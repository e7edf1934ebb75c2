//! Pure decisions: facts, `now` and the dice go in; a decision with its reason comes out.
//!
//! Uses `model` only. No I/O, no clock, no randomness, no logging; total over every input.

mod policy;

pub use policy::{Delays, Policy, RestRule, Rests, hours, minutes};
