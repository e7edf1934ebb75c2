//! The only place that rolls dice; rules take the roll as an argument, and tests can hold it.

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Rolls dice.
pub trait Dice: Send + Sync {
    /// A number from 0 up to, but never reaching, 1; evenly spread.
    fn roll(&self) -> f64;
}

/// Dice that fall the same way whenever the seed is the same.
#[derive(Debug)]
pub struct SeededDice(Mutex<StdRng>);

impl SeededDice {
    /// Dice for this seed.
    pub fn new(seed: u64) -> SeededDice {
        SeededDice(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// Dice for a seed nobody knows.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
    pub fn from_entropy() -> SeededDice {
        SeededDice::new(rand::random())
    }
}

/// A secret that nobody can guess: 32 bytes, in hexadecimal.
#[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
pub fn new_secret() -> String {
    rand::random::<[u8; 32]>().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Dice for SeededDice {
    fn roll(&self) -> f64 {
        // A crash elsewhere while the lock was held leaves the generator usable: never spread the crash.
        self.0.lock().random()
    }
}

/// Dice that always show the same number.
#[derive(Clone, Copy, Debug)]
pub struct HeldDice(pub f64);

impl Dice for HeldDice {
    fn roll(&self) -> f64 {
        self.0
    }
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
