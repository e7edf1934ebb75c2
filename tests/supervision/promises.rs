//! What a restart keeps and what it loses, seen by those who send messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use actix::dev::SendError;
use actix::{Actor, AsyncContext, Context, Handler, MailboxError, Message};
use feedwarden::supervision::{ChildSpec, Inbox, Intensity, MailboxView, State, SupervisorSpec};

use super::probe::{Cast, Fail, Generation, Note, Respond};
use super::world::{Stage, World, on_stage, once, until};

const SECOND: Duration = Duration::from_secs(1);

/// A root that waits a second before the first restart of its only child.
fn delayed(world: &Arc<World>, cast: &Cast) -> Stage {
    let intensity = Intensity { delay_first: SECOND, jitter: 0.0, ..Intensity::default() };
    Stage::start(world, SupervisorSpec::new("root", once(vec![cast.spec()])).intensity(intensity))
}

#[test]
fn queued_messages_survive_in_order_and_only_the_one_in_hand_is_lost() {
    on_stage(async {
        let cast = Cast::new("probe");
        let _stage = Stage::of_one(&World::new(), cast.spec());
        let address = cast.inbox.address();
        let mut wanted = vec!["probe started".to_owned()];
        for round in 0..5 {
            for number in 0..20 {
                address.do_send(Note(round * 100 + number));
                wanted.push(format!("probe got {}", round * 100 + number));
            }
            address.do_send(Fail::InHandler);
            wanted.push("probe started".to_owned());
        }
        assert_eq!(address.send(Generation).await, Ok(6));
        assert_eq!(cast.diary(), wanted);
    });
}

#[test]
fn the_sender_of_a_lost_message_is_told_at_once() {
    on_stage(async {
        let world = World::new();
        let cast = Cast::new("probe");
        let stage = delayed(&world, &cast);
        let address = cast.inbox.address();
        let under_way = actix_rt::spawn(address.send(Respond::Never));
        assert_eq!(address.send(Generation).await, Ok(1));
        // Time stands still, so neither sender waits for the restart.
        assert_eq!(address.send(Fail::InHandler).await, Err(MailboxError::Closed));
        assert_eq!(under_way.await.unwrap(), Err(MailboxError::Closed));
        until("the delay", || stage.node("probe").state == State::Delayed).await;
    });
}

#[test]
fn messages_wait_out_the_delay_and_are_counted() {
    on_stage(async {
        let world = World::new();
        let cast = Cast::new("probe");
        let stage = delayed(&world, &cast);
        let address = cast.inbox.address();
        address.do_send(Fail::InHandler);
        stage.until_saw("probe restarts after 1s, crash 1").await;
        (1..=10).for_each(|number| address.do_send(Note(number)));
        let depth = || stage.node("probe").mailbox;
        assert_eq!(depth(), Some(MailboxView { depth: 10, capacity: 16 }));
        world.advance(SECOND - Duration::from_nanos(1));
        actix_rt::task::yield_now().await;
        assert_eq!((cast.made(), depth().unwrap().depth), (1, 10));
        // Those that come after the counting stay behind those that were counted.
        (11..=14).for_each(|number| address.do_send(Note(number)));
        world.advance(Duration::from_nanos(1));
        assert_eq!(address.send(Generation).await, Ok(2));
        let wanted: Vec<String> = (1..=14).map(|number| format!("probe got {number}")).collect();
        assert_eq!(cast.diary()[2..], wanted);
        assert_eq!(depth(), Some(MailboxView { depth: 0, capacity: 16 }));
    });
}

#[test]
fn the_capacity_binds_try_send_but_not_do_send_and_counting_does_not_widen_it_for_ever() {
    on_stage(async {
        let world = World::new();
        let cast = Cast::new("probe");
        let stage = delayed(&world, &cast);
        let address = cast.inbox.address();
        address.do_send(Fail::InHandler);
        stage.until_saw("probe restarts after 1s, crash 1").await;
        let fill = || {
            // Every address may have one message more than the capacity in the mailbox, so the same one is used.
            let accepted = |_: &u32| !matches!(address.try_send(Note(0)), Err(SendError::Full(_)));
            (0..100).take_while(accepted).count()
        };
        assert_eq!(fill(), 16);
        // Counting moves them aside once, so that as many fit again, and then no more.
        assert_eq!(stage.node("probe").mailbox.unwrap().depth, 16);
        assert_eq!(fill(), 16);
        for _ in 0..5 {
            assert_eq!(stage.node("probe").mailbox.unwrap().depth, 16);
            assert_eq!(fill(), 0);
        }
        (0..100).for_each(|_| address.do_send(Note(1)));
        world.advance(SECOND);
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(2));
        assert_eq!(cast.diary().iter().filter(|line| line.contains("got")).count(), 132);
    });
}

#[test]
fn an_inbox_takes_messages_before_its_actor_exists() {
    on_stage(async {
        let cast = Cast::new("probe");
        cast.inbox.address().do_send(Note(7));
        let _stage = Stage::of_one(&World::new(), cast.spec());
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(1));
        assert_eq!(cast.diary(), ["probe started", "probe got 7"]);
    });
}

/// Sends itself messages through the address that its context gives it.
struct Echo {
    heard: Arc<AtomicU32>,
}

struct Ring(u32);

impl Message for Ring {
    type Result = ();
}

impl Actor for Echo {
    type Context = Context<Echo>;

    fn started(&mut self, ctx: &mut Context<Echo>) {
        ctx.address().do_send(Ring(99_999));
        // A timer that a mailbox which never empties must not hold up.
        ctx.run_later(Duration::from_millis(1), |echo, _| {
            echo.heard.fetch_add(1_000_000, Ordering::SeqCst);
        });
    }
}

impl Handler<Ring> for Echo {
    type Result = ();

    fn handle(&mut self, ring: Ring, ctx: &mut Context<Echo>) {
        if self.heard.fetch_add(1, Ordering::SeqCst) < 1_000_000 {
            ctx.address().do_send(Ring(ring.0.wrapping_add(1)));
        }
    }
}

#[test]
fn a_mailbox_that_never_empties_lets_timers_run_and_the_contexts_own_address_is_the_inboxs() {
    on_stage(async {
        let inbox = Inbox::new(4);
        let heard = Arc::new(AtomicU32::new(0));
        let factory = {
            let heard = heard.clone();
            move || Echo { heard: heard.clone() }
        };
        let _stage = Stage::of_one(&World::new(), ChildSpec::actor("echo", &inbox, factory));
        // It rings until the timer has run; plain actix would ring for ever.
        until("the timer", || heard.load(Ordering::SeqCst) >= 1_000_000).await;
        assert!(inbox.address().connected());
    });
}
