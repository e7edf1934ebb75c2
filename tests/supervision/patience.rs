//! How many crashes are borne, how long a restart is delayed, and what happens when patience ends.

use std::time::Duration;

use feedwarden::supervision::{ChildSpec, Intensity, RootEnd, State, SupervisorSpec};

use super::probe::{Cast, Fail, Generation};
use super::world::{AT_ONCE, DAWN, Stage, World, on_stage, once, until};

const SECOND: Duration = Duration::from_secs(1);

/// Crashes the probe and waits until it is back.
async fn crash_and_return(cast: &Cast, generation: u32) {
    cast.inbox.address().do_send(Fail::InHandler);
    assert_eq!(cast.inbox.address().send(Generation).await, Ok(generation + 1));
}

#[test]
fn five_restarts_in_sixty_seconds_are_borne_and_the_sixth_crash_is_not() {
    on_stage(async {
        let cast = Cast::new("probe");
        let stage = Stage::of_one(&World::new(), cast.spec());
        for generation in 1..=5 {
            crash_and_return(&cast, generation).await;
        }
        stage.world.advance(59 * SECOND);
        cast.inbox.address().do_send(Fail::InHandler);
        let RootEnd::Escalated(crash) = stage.running.await.unwrap() else { panic!("it ended well") };
        assert_eq!(crash.message, "more than 5 restarts within 60s, the last of probe: in the handler");
        assert!(crash.place.unwrap().contains("probe.rs"));
        assert_eq!(crash.at, DAWN + 59 * SECOND);
        assert!(!cast.inbox.address().connected());
    });
}

#[test]
fn crashes_that_leave_the_window_are_forgotten() {
    on_stage(async {
        let cast = Cast::new("probe");
        let stage = Stage::of_one(&World::new(), cast.spec());
        for generation in 1..=30 {
            crash_and_return(&cast, generation).await;
            stage.world.advance(12 * SECOND);
        }
        assert_eq!(stage.node("probe").restarts, 30);
    });
}

#[test]
fn the_delay_doubles_within_the_window_and_starts_anew_after_it() {
    on_stage(async {
        let world = World::with_roll(0.5);
        let cast = Cast::new("probe");
        let intensity = Intensity {
            restarts_max: 10,
            within: 60 * SECOND,
            delay_first: SECOND,
            delay_max: 5 * SECOND,
            jitter: 0.2,
        };
        let root = SupervisorSpec::new("root", once(vec![cast.spec()])).intensity(intensity);
        let stage = Stage::start(&world, root);
        let mut generation = 1;
        // Half a roll takes half of the fifth that is left to the dice.
        for (nth, delay) in [(1, "900ms"), (2, "1.8s"), (3, "3.6s"), (4, "4.5s"), (5, "4.5s")] {
            cast.inbox.address().do_send(Fail::InHandler);
            stage.until_saw(&format!("probe restarts after {delay}, crash {nth}")).await;
            world.advance(5 * SECOND);
            generation += 1;
            assert_eq!(cast.inbox.address().send(Generation).await, Ok(generation));
        }
        world.advance(61 * SECOND);
        let seen_before = world.events().len();
        cast.inbox.address().do_send(Fail::InHandler);
        let again = "probe restarts after 900ms, crash 1".to_owned();
        until("a short delay", || world.events()[seen_before..].contains(&again)).await;
    });
}

#[test]
fn a_failure_escalates_two_levels_up_and_ends_the_root_with_seventy() {
    on_stage(async {
        let (poisonous, neighbour, distant) = (Cast::new("poisonous"), Cast::new("neighbour"), Cast::new("distant"));
        let twice = Intensity { restarts_max: 2, ..AT_ONCE };
        let inner = SupervisorSpec::new("inner", once(vec![poisonous.spec(), neighbour.spec()])).intensity(twice);
        let children = vec![ChildSpec::supervisor(inner), distant.spec()];
        let middle = SupervisorSpec::new("middle", once(children)).intensity(Intensity { restarts_max: 1, ..AT_ONCE });
        let nothing = Intensity { restarts_max: 0, ..AT_ONCE };
        let root = SupervisorSpec::new("root", once(vec![ChildSpec::supervisor(middle)])).intensity(nothing);
        let stage = Stage::start(&World::new(), root);
        // Two restarts are borne by the inner supervisor; the third crash is its own, and the middle one restarts it,
        // children and all.
        for generation in 1..=3 {
            crash_and_return(&poisonous, generation).await;
        }
        assert_eq!(neighbour.inbox.address().send(Generation).await, Ok(2));
        assert_eq!(distant.inbox.address().send(Generation).await, Ok(1));
        assert_eq!(stage.node("inner").restarts, 1);
        // After two more the inner one fails again, which is one too many for the middle one, and for the root.
        for generation in 4..=5 {
            crash_and_return(&poisonous, generation).await;
        }
        poisonous.inbox.address().do_send(Fail::InHandler);
        let end = stage.running.await.unwrap();
        let RootEnd::Escalated(crash) = end else { panic!("it ended well") };
        let wanted = "more than 0 restarts within 60s, the last of middle: \
                      more than 1 restarts within 60s, the last of inner: \
                      more than 2 restarts within 60s, the last of poisonous: in the handler";
        assert_eq!(crash.message, wanted);
        let gave_up: Vec<String> = stage.world.events().into_iter().filter(|event| event.contains("gave up")).collect();
        assert_eq!(
            gave_up.iter().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
            ["inner", "inner", "middle", "root"]
        );
        assert_eq!(distant.diary(), ["distant started", "distant stopped"], "all were stopped in good order");
        let tree = stage.handle.tree(10).unwrap();
        assert_eq!(tree.root.state, State::GivenUp);
    });
}

#[test]
fn a_permanent_child_that_ends_is_started_again() {
    on_stage(async {
        let cast = Cast::new("probe");
        let stage = Stage::of_one(&World::new(), cast.spec());
        cast.inbox.address().do_send(Fail::Stop);
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(2));
        assert!(stage.world.saw("probe crashed: it ended, though it is permanent"));
    });
}
