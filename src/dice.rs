//! The only module that generates random numbers; rules take them as arguments, and tests can fix them.

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

pub trait Dice: Send + Sync {
    /// Uniformly distributed in 0.0..1.0.
    fn roll(&self) -> f64;
}

/// Deterministic for a seed.
#[derive(Debug)]
pub struct SeededDice(Mutex<StdRng>);

impl SeededDice {
    pub fn new(seed: u64) -> SeededDice {
        SeededDice(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// With a random seed.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
    pub fn from_entropy() -> SeededDice {
        SeededDice::new(rand::random())
    }
}

/// 32 random bytes, for a key.
#[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
pub fn new_key() -> [u8; 32] {
    rand::random()
}

/// A random secret: 32 bytes in hexadecimal.
#[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
pub fn new_secret() -> String {
    rand::random::<[u8; 32]>().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Dice for SeededDice {
    fn roll(&self) -> f64 {
        self.0.lock().random()
    }
}

/// Always returns the same number.
#[derive(Clone, Copy, Debug)]
pub struct HeldDice(pub f64);

impl Dice for HeldDice {
    fn roll(&self) -> f64 {
        self.0
    }
}

/// A number that no other process has, such as the id of a node. It decides nothing, so tests need not hold it.
#[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
pub fn unique_number() -> u64 {
    // Positive also as a signed number, and never zero.
    (rand::random::<u64>() >> 1) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_rolls_and_another_seed_other_ones() {
        let rolls = |seed| {
            let dice = SeededDice::new(seed);
            std::iter::repeat_with(|| dice.roll()).take(8).collect::<Vec<_>>()
        };
        assert_eq!(rolls(1), rolls(1));
        assert_ne!(rolls(1), rolls(2));
        assert!(rolls(3).iter().all(|roll| (0.0..1.0).contains(roll)));
    }
}
