//! Crashes and kills without end: a daemon polls a web that misbehaves in every way while its parts are crashed, or the
//! process is killed, at random. At the end nothing is lost or duplicate, and every pause was kept.
//!
//! The short runs are part of every test run. The long ones: `tests/endure [SEED]`.

mod oracle;
mod plan;
mod publishers;
mod receiver;
mod run;

use rstest::rstest;

use crate::store::Engine::{self, Postgres, Sqlite};
use run::{Size, endure_crashes, endure_kills, seed};

#[rstest]
fn s509_nothing_is_lost_or_doubled_and_nobody_hammered_while_actors_crash(#[values(Sqlite, Postgres)] engine: Engine) {
    endure_crashes(engine, &Size::from_environment(), seed());
}

#[rstest]
fn nothing_is_lost_or_doubled_and_nobody_hammered_while_the_process_is_killed(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    endure_kills(engine, &Size::from_environment(), seed());
}
