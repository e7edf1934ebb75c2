//! Tests of the due index: order, bounds, and counts that agree after any sequence of steps.

use std::time::Duration;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn host(name: &str) -> Option<HostKey> {
    Some(HostKey::from_canonical(name))
}

fn ids(taken: &[(SourceId, Timestamp)]) -> Vec<i64> {
    taken.iter().map(|(id, _)| id.0).collect()
}

#[test]
fn s504_sources_of_a_host_come_in_the_order_of_being_due_and_only_two_at_once() {
    let mut index = DueIndex::default();
    for (id, due) in [(1, 30), (2, 10), (3, 20), (4, 99)] {
        index.schedule(SourceId(id), host("a"), Demand::NONE, at(due));
    }
    assert_eq!(index.fall_due(at(50)), 3);
    assert_eq!(ids(&index.take_ready(10)), [2, 3]);
    assert_eq!(ids(&index.take_ready(10)), Vec::<i64>::new(), "the host has enough");
    index.reschedule(SourceId(2), at(70));
    assert_eq!(ids(&index.take_ready(10)), [1]);
    assert_eq!(index.next_at(), Some(at(70)));
    assert_eq!(index.counts(), (2, 0, 2));
}

#[test]
fn a_few_that_could_go_wait_only_while_others_could_join_them() {
    let mut index = DueIndex::default();
    for id in 0..3 {
        index.schedule(SourceId(id), host("busy"), Demand::NONE, at(id));
    }
    index.fall_due(at(10));
    assert!(!index.has_few_ready(5), "none is in flight that could come back");
    index.take_ready(10);
    index.schedule(SourceId(10), host("free"), Demand::NONE, at(10));
    index.fall_due(at(10));
    assert!(index.has_few_ready(5), "one is ready, one waits for the busy host");
    assert!(!index.has_few_ready(1), "one is enough");
    index.remove(SourceId(2));
    assert!(!index.has_few_ready(5), "none is left to join");
}

#[test]
fn s503_a_long_queue_at_one_host_delays_no_other_host() {
    let mut index = DueIndex::default();
    for id in 0..100 {
        index.schedule(SourceId(id), host("slow"), Demand::NONE, at(id));
    }
    index.schedule(SourceId(1000), host("quick"), Demand::NONE, at(200));
    index.fall_due(at(300));
    assert_eq!(ids(&index.take_ready(3)), [0, 1, 1000]);
}

#[test]
fn a_source_that_moved_takes_room_at_its_new_host_only() {
    let mut index = DueIndex::default();
    for id in 1..=3 {
        index.schedule(SourceId(id), host("a"), Demand::NONE, at(id));
    }
    index.fall_due(at(9));
    assert_eq!(ids(&index.take_ready(10)), [1, 2]);
    index.move_to_host(SourceId(1), host("b"));
    assert_eq!(ids(&index.take_ready(10)), [3]);
    index.reschedule(SourceId(1), at(20));
    index.fall_due(at(20));
    index.reschedule_waiting(&host("b"), |_, due| Some(due + Duration::from_secs(5)));
    assert_eq!(index.next_at(), Some(at(25)));
}

#[test]
fn the_queue_of_a_host_has_its_waiting_sources_and_those_in_flight() {
    let mut index = DueIndex::default();
    (1..=5).for_each(|id| index.schedule(SourceId(id), host("a"), Demand::NONE, at(id)));
    index.schedule(SourceId(6), host("b"), Demand::NONE, at(1));
    index.fall_due(at(4));
    index.take_ready(10);
    let queue = index.queue_of(&host("a"));
    assert_eq!(queue, HostQueueStatus { sources: 5, waiting: 2, in_flight: vec![SourceId(1), SourceId(2)] });
    assert_eq!(index.queue_of(&host("c")), HostQueueStatus::default());
}

#[test]
fn a_removed_or_rescheduled_source_is_nowhere_else() {
    let mut index = DueIndex::default();
    for id in 0..3 {
        index.schedule(SourceId(id), host("a"), Demand::NONE, at(1));
    }
    index.fall_due(at(1));
    index.take_ready(1);
    index.remove(SourceId(0));
    index.remove(SourceId(1));
    index.schedule(SourceId(2), host("b"), Demand::NONE, at(5));
    assert_eq!(index.counts(), (1, 0, 0));
    index.remove(SourceId(2));
    assert!(index.is_empty() && index.queues.is_empty() && index.ready.is_empty());
}

#[test]
fn p19_waiting_sources_are_rescheduled_for_different_moments() {
    let mut index = DueIndex::default();
    for id in 0..10 {
        index.schedule(SourceId(id), host("a"), Demand::NONE, at(id));
    }
    index.fall_due(at(10));
    let mut offset = 0;
    index.reschedule_waiting(&host("a"), |id, due| {
        offset += 7;
        (id != SourceId(3)).then(|| due + Duration::from_secs(100 + offset))
    });
    assert_eq!(index.counts(), (9, 1, 0));
    assert_eq!(ids(&index.take_ready(10)), [3], "a forced one keeps waiting");
    assert_eq!(index.next_at(), Some(at(107)));
}

#[test]
fn counts_agree_with_the_content_after_any_steps() {
    use proptest::prelude::*;
    proptest!(|(steps in prop::collection::vec((0_u8..7, 0_i64..20, 0_i64..100), 0..300))| {
        let mut index = DueIndex::default();
        for (step, id, time) in steps {
            let host = host(if id % 3 == 0 { "a" } else { "b" });
            match step {
                0 => index.schedule(SourceId(id), host, Demand::NONE, at(time)),
                1 => { index.reschedule(SourceId(id), at(time)); }
                2 => index.remove(SourceId(id)),
                3 => { index.fall_due(at(time)); }
                4 => { index.take_ready(3); }
                5 => index.move_to_host(SourceId(id), host),
                _ => index.reschedule_waiting(&host, |id, due| (id.0 % 5 > 0).then(|| due + Duration::from_secs(1))),
            }
            let (scheduled, waiting, in_flight) = index.counts();
            prop_assert_eq!(scheduled + waiting + in_flight, index.sources.len());
            let queued: usize = index.queues.values().map(|queue| queue.waiting.len()).sum();
            prop_assert_eq!(queued, waiting);
            prop_assert_eq!(index.hosts.sources.iter().sum::<u32>() as usize, index.sources.len());
            let at_hosts: u32 = index.queues.values().map(|queue| queue.in_flight).sum();
            prop_assert_eq!(at_hosts as usize, in_flight);
            for queue in index.queues.values() {
                prop_assert!(queue.in_flight <= IN_FLIGHT_PER_HOST_MAX && (queue.in_flight > 0 || !queue.waiting.is_empty()));
            }
            let open = index.queues.values().filter(|queue| queue.in_flight < IN_FLIGHT_PER_HOST_MAX && !queue.waiting.is_empty()).count();
            prop_assert_eq!(open, index.ready.len());
        }
    });
}
