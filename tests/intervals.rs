//! How late entries are found for a number of requests, on a small simulation of `bench/intervals`.

#[path = "../bench/intervals/publishers.rs"]
mod publishers;
#[path = "../bench/intervals/simulation.rs"]
mod simulation;

use feedwarden::dice::SeededDice;

use publishers::{Habit, generated};
use simulation::{DAYS, adaptive, base, entry_frequency, fixed, optimum, requests_of};

/// Delays with adaptive intervals, as shares of those with fixed ones and of the optimum, for as many requests.
fn check(habits: &[Habit], budget_minutes: u32, of_fixed_max: f64, of_optimum_max: f64) {
    let publishers = generated(habits, 150, DAYS, &SeededDice::new(5));
    let dice = SeededDice::new(6);
    let ours = adaptive(&publishers, base(budget_minutes), &dice);
    let of_budget = ours.requests / requests_of(&publishers, base(budget_minutes));
    let of_fixed = ours.delay / fixed(&publishers, ours.requests, &dice).delay;
    let of_optimum = ours.delay / optimum(&publishers, ours.requests, &dice).delay;
    let found = format!(
        "{habits:?} every {budget_minutes} min: requests {of_budget:.3}, of fixed {of_fixed:.2}, of optimum {of_optimum:.2}"
    );
    println!("{found}");
    assert!((of_budget - 1.0).abs() <= 0.05, "{found}");
    assert!(of_fixed <= of_fixed_max && of_optimum <= of_optimum_max, "{found}");
}

#[test]
fn s512_s513_mixed_rates_are_found_in_six_tenths_of_the_time() {
    for budget_minutes in [60, 240] {
        check(&[Habit::Poisson], budget_minutes, 0.6, 1.15);
        check(&[Habit::Poisson, Habit::Bursty, Habit::Weekday], budget_minutes, 0.6, 1.25);
    }
}

#[test]
fn s517_working_hours_are_learned() {
    check(&[Habit::Weekday], 240, 0.6, 1.25);
}

#[test]
fn the_formula_of_entry_frequency_is_no_better() {
    let publishers = generated(&[Habit::Poisson, Habit::Bursty], 150, DAYS, &SeededDice::new(7));
    let dice = SeededDice::new(8);
    let ours = adaptive(&publishers, base(60), &dice);
    let other = entry_frequency(&publishers, ours.requests, &dice);
    assert!(ours.delay < other.delay, "{} s, {} s", ours.delay, other.delay);
}
