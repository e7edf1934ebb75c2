//! Tests of the rules of a fleet.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const LEASE: Duration = Duration::from_secs(30);
const WINDOWS: Windows = Windows { lease: LEASE };
const US: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const NO_OFFSET: Duration = Duration::ZERO;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn owned(shards: std::ops::Range<u16>) -> Vec<OwnedShard> {
    shards.map(|shard| OwnedShard { shard: Shard(shard), epoch: 1 }).collect()
}

/// A renewal of this node alone, which owns these shards; the others are free.
fn renewal(beat: i64, shards: std::ops::Range<u16>) -> Renewal {
    Renewal {
        beat: Some(beat),
        free: usize::from(SHARDS) - shards.len(),
        shards: owned(shards),
        nodes: vec![(US, beat - 1)],
        taking: 1,
        timeline: "00000001".into(),
        is_new_timeline: false,
        quiet_for: Duration::ZERO,
    }
}

/// A renewal that also shows another node with this beat.
fn renewal_with_other(beat: i64, other: i64) -> Renewal {
    Renewal { nodes: vec![(US, beat - 1), (OTHER, other)], taking: 2, ..renewal(beat, 0..0) }
}

fn joined() -> Membership {
    Membership::new(US, WINDOWS, seconds(100.0))
}

/// Sent at this second and answered a tenth later.
fn renew(membership: &mut Membership, second: f64, renewal: &Renewal) -> Plan {
    membership.renewed(seconds(second), seconds(second + 0.1), renewal, NO_OFFSET, 0)
}

#[test]
fn p28_the_window_counts_from_before_the_renewal_was_sent() {
    let mut membership = joined();
    assert_eq!(membership.window().dial_until, Duration::ZERO, "a join shows neither shards nor quiet times");
    membership.renewed(seconds(101.0), seconds(109.0), &renewal(1, 0..256), NO_OFFSET, 0);
    let window = Window { dial_until: seconds(111.0), cut_at: seconds(126.0), lost_at: seconds(131.0) };
    assert_eq!(membership.window(), window);
}

#[test]
fn a_late_or_repeated_answer_changes_nothing() {
    let mut membership = joined();
    renew(&mut membership, 101.0, &renewal(1, 0..10));
    renew(&mut membership, 111.0, &renewal(3, 0..10));
    let window = membership.window();
    for second in [106.0, 111.0] {
        let plan = membership.renewed(seconds(second), seconds(112.0), &renewal(2, 0..20), NO_OFFSET, 0);
        assert_eq!(plan, Plan::default());
    }
    assert_eq!((membership.window(), membership.shards().count()), (window, 10));
}

#[test]
fn two_renewals_under_way_at_once_may_be_executed_in_either_order() {
    let mut membership = joined();
    membership.renewed(seconds(101.0), seconds(107.0), &renewal(2, 0..10), NO_OFFSET, 0);
    let plan = membership.renewed(seconds(106.0), seconds(107.1), &renewal(1, 0..10), NO_OFFSET, 0);
    assert!(!plan.rejoin, "beats have not gone backwards");
    assert_eq!(membership.window().dial_until, seconds(116.0));
}

#[test]
fn an_ended_node_gives_everything_up_and_joins_anew() {
    let mut membership = joined();
    renew(&mut membership, 101.0, &renewal(1, 0..2));
    let ended = Renewal { beat: None, ..renewal(2, 0..2) };
    let plan = renew(&mut membership, 500.0, &ended);
    assert!(plan.rejoin && !plan.is_new_timeline && plan.should_own);
    assert_eq!((plan.lost, plan.take, plan.expire), (owned(0..2), 0, Vec::new()));
    assert_eq!(membership.window(), Window::default(), "requests are cut at once");
    assert_eq!(membership.took(seconds(501.0), &owned(5..6)), [], "a late answer to a taking");
    assert!(renew(&mut membership, 505.0, &renewal(3, 0..2)).rejoin, "and stays ended");
    let mut next = membership.rejoin(NodeId(9), seconds(506.0));
    let plan = renew(&mut next, 506.5, &renewal(1, 0..0));
    assert_eq!((plan.rejoin, plan.take), (false, 256));
}

#[test]
fn an_ended_node_is_told_so_by_a_late_answer_too() {
    let mut membership = joined();
    renew(&mut membership, 106.0, &renewal(1, 0..2));
    assert!(renew(&mut membership, 101.0, &Renewal { beat: None, ..renewal(2, 0..2) }).rejoin);
}

#[test]
fn lost_commits_are_noticed_in_three_ways() {
    for (what, changed) in [
        ("the first to see a new timeline", Renewal { is_new_timeline: true, ..renewal(2, 0..2) }),
        ("another node has stored it", Renewal { timeline: "00000002".into(), ..renewal(2, 0..2) }),
        ("a restored backup", renewal(1, 0..2)),
    ] {
        let mut membership = joined();
        renew(&mut membership, 101.0, &renewal(1, 0..2));
        let plan = renew(&mut membership, 106.0, &changed);
        assert!(plan.rejoin && plan.is_new_timeline, "{what}");
        assert_eq!(membership.window(), Window::default(), "{what}");
        let mut next = membership.rejoin(NodeId(9), seconds(107.0));
        let now = Renewal { is_new_timeline: false, ..changed };
        let plan = renew(&mut next, 136.0, &Renewal { beat: Some(1), ..now.clone() });
        assert_eq!((plan.take, next.window().dial_until), (0, Duration::ZERO), "{what}: quiet for a lease");
        let plan = renew(&mut next, 136.2, &Renewal { beat: Some(2), ..now });
        assert_eq!((plan.take, next.window().dial_until), (254, seconds(146.2)), "{what}");
    }
}

#[test]
fn a_jump_of_the_database_clock_does_not_move_the_end_of_the_quiet_time() {
    for later in [Duration::ZERO, seconds(4000.0)] {
        let mut membership = joined();
        let quiet = |beat, quiet_for| Renewal { quiet_for, ..renewal(beat, 0..2) };
        let plan = renew(&mut membership, 101.0, &quiet(1, seconds(20.0)));
        assert_eq!((plan.take, membership.window().dial_until), (0, Duration::ZERO));
        assert_eq!(renew(&mut membership, 121.0, &quiet(2, later)).take, 0);
        let plan = renew(&mut membership, 121.2, &quiet(3, later));
        assert_eq!((plan.take, membership.window().dial_until), (254, seconds(131.2)));
    }
    let mut membership = joined();
    let plan = renew(&mut membership, 101.0, &Renewal { quiet_for: seconds(4000.0), ..renewal(1, 0..2) });
    assert_eq!((plan.take, membership.quiet_until()), (0, seconds(131.1)), "never more than a lease");
}

#[test]
fn a_node_expires_after_a_whole_lease_of_standing_still() {
    let mut membership = joined();
    let expired = |membership: &mut Membership, second: f64, other| {
        renew(membership, second, &renewal_with_other((second * 10.0) as i64, other)).expire
    };
    for second in [101.0, 106.0, 111.0, 116.0, 121.0, 126.0, 131.0] {
        assert_eq!(expired(&mut membership, second, 7), [], "{second}");
    }
    assert_eq!(expired(&mut membership, 131.2, 7), [(OTHER, 7)], "a lease after the first answer");
    assert_eq!(expired(&mut membership, 136.0, 7), [(OTHER, 7)], "until it is done");
    assert_eq!(expired(&mut membership, 141.0, 8), [], "alive");
}

#[test]
fn the_watch_begins_anew_after_a_restart_of_the_database() {
    let mut membership = joined();
    let mut at = |second: f64| renew(&mut membership, second, &renewal_with_other(second as i64, 7)).expire;
    for second in [101.0, 106.0, 111.0, 116.0] {
        assert_eq!(at(second), []);
    }
    // For 44 s neither this node nor the other one could renew.
    for second in [160.0, 165.0, 170.0, 175.0, 180.0, 185.0, 190.0] {
        assert_eq!(at(second), [], "{second}");
    }
    assert_eq!(at(195.0), [(OTHER, 7)]);
}

#[test]
fn a_node_with_a_wrong_clock_takes_nothing() {
    for (offset, take) in [(0.0, 256), (10.0, 256), (10.1, 0)] {
        let plan = joined().renewed(seconds(101.0), seconds(101.1), &renewal(1, 0..0), seconds(offset), 0);
        assert_eq!((plan.take, plan.should_own), (take, true), "{offset}");
    }
}

#[test]
fn shards_are_drained_after_two_stable_rounds_and_in_batches() {
    let mut membership = joined();
    let all =
        |beat, nodes: &[(NodeId, i64)]| Renewal { nodes: nodes.to_vec(), taking: nodes.len(), ..renewal(beat, 0..256) };
    let two = [(US, 0), (OTHER, 0)];
    let mut drain = |second: f64, nodes: &[(NodeId, i64)], draining| {
        let renewal = all(second as i64, nodes);
        membership.renewed(seconds(second), seconds(second + 0.1), &renewal, NO_OFFSET, draining).drain
    };
    assert_eq!(drain(101.0, &two[..1], 0), 0);
    assert_eq!(drain(106.0, &two, 0), 0, "seen once");
    assert_eq!(drain(111.0, &two, 0), 32);
    assert_eq!(drain(116.0, &two, 30), 2);
    assert_eq!(drain(121.0, &two, 32), 0);
    assert_eq!(drain(126.0, &[(US, 0), (NodeId(3), 0)], 0), 0, "as many, but others");
    assert_eq!(drain(131.0, &[(US, 0), (NodeId(3), 0)], 0), 32);
    assert_eq!(drain(180.0, &[(US, 0), (NodeId(3), 0)], 0), 0, "after a gap");
}

#[test]
fn one_shard_more_than_the_share_is_kept() {
    for (ours, drain) in [(129, 0), (130, 1), (140, 11), (256, 32)] {
        let mut membership = joined();
        let renewal = |beat| Renewal { nodes: vec![(US, 0), (OTHER, 0)], taking: 2, ..renewal(beat, 0..ours) };
        renew(&mut membership, 101.0, &renewal(1));
        let plan = renew(&mut membership, 106.0, &renewal(2));
        assert_eq!((plan.drain, plan.take), (drain, 0), "{ours}");
    }
}

#[test]
fn a_node_without_shards_is_surplus_only_if_the_others_may_keep_all() {
    for (nodes, free, should_own) in
        [(1, 0, true), (2, 0, true), (16, 0, true), (17, 0, false), (17, 1, true), (300, 0, false)]
    {
        let renewal = Renewal { taking: nodes, free, ..renewal(1, 0..0) };
        assert_eq!(renew(&mut joined(), 101.0, &renewal).should_own, should_own, "{nodes} nodes, {free} free");
    }
    assert!(!renew(&mut joined(), 101.0, &renewal(1, 0..1)).should_own);
}

#[test]
fn a_shard_that_was_given_up_is_not_used_again_until_it_is_taken_again() {
    let mut membership = joined();
    renew(&mut membership, 101.0, &renewal(1, 0..2));
    assert_eq!(membership.give_up(Shard(1)), Some(OwnedShard { shard: Shard(1), epoch: 1 }));
    assert_eq!(membership.give_up(Shard(1)), None);
    let plan = renew(&mut membership, 106.0, &renewal(2, 0..2));
    assert_eq!((plan.release, plan.gained, plan.lost), (owned(1..2), vec![], vec![]), "the release is not done yet");
    assert_eq!(membership.took(seconds(107.0), &owned(1..2)), [], "a late answer to the taking before");
    assert_eq!(membership.owned(Shard(1)), None);
    let again = OwnedShard { shard: Shard(1), epoch: 2 };
    assert_eq!(membership.took(seconds(108.0), &[again]), [again]);
    assert_eq!(membership.owned(Shard(1)), Some(again));
}

#[test]
fn a_renewal_that_is_older_than_a_taking_does_not_undo_it() {
    let mut membership = joined();
    renew(&mut membership, 101.0, &renewal(1, 0..2));
    assert_eq!(membership.took(seconds(107.0), &owned(2..3)), owned(2..3));
    let plan = membership.renewed(seconds(106.0), seconds(108.0), &renewal(2, 0..2), NO_OFFSET, 0);
    assert_eq!((plan.lost, membership.shards().count()), (vec![], 3));
    let plan = renew(&mut membership, 111.0, &renewal(3, 0..2));
    assert_eq!((plan.lost, membership.shards().count()), (owned(2..3), 2), "a later one does");
}

#[test]
fn a_shard_with_another_epoch_is_lost_and_gained() {
    let mut membership = joined();
    renew(&mut membership, 101.0, &renewal(1, 0..1));
    let again = OwnedShard { shard: Shard(0), epoch: 4 };
    let plan = renew(&mut membership, 106.0, &Renewal { shards: vec![again], ..renewal(2, 0..1) });
    assert_eq!((plan.lost, plan.gained), (owned(0..1), vec![again]));
}

/// Gap to the renewal before, its answer's delay (both in tenths of a second), and what the other node's beat shows.
fn any_round() -> impl Strategy<Value = (u32, u32, bool)> {
    (prop_oneof![4 => 40u32..60, 1 => 1u32..400], prop_oneof![4 => 0u32..5, 1 => 0u32..300], prop::bool::weighted(0.1))
}

proptest! {
    #[test]
    fn shares_cover_all_shards_and_not_one_more_than_needed(nodes in 1usize..2000) {
        prop_assert!(share(nodes) * nodes >= usize::from(SHARDS));
        prop_assert!((share(nodes) - 1) * nodes < usize::from(SHARDS));
        prop_assert!(share(nodes) >= 1 && share(nodes + 1) <= share(nodes));
    }

    #[test]
    fn p28_requests_end_before_a_watcher_may_end_the_node(
        lease_millis in 3000u64..=600_000,
        node_ppm in -90_000i64..=90_000,
        watcher_ppm in -90_000i64..=90_000,
    ) {
        let windows = Windows { lease: Duration::from_millis(lease_millis) };
        prop_assert!(windows.renew_every() * 2 <= windows.dial() && windows.dial() < windows.cut());
        prop_assert!(windows.watch_gap() + windows.renew_every() * 2 < windows.lease);
        // True time that passes while a clock that runs fast or slow counts this.
        let passes = |duration: Duration, ppm: i64| duration.as_secs_f64() / (1.0 + ppm as f64 / 1e6);
        prop_assert!(passes(windows.cut(), node_ppm) < passes(windows.lease, watcher_ppm));
    }

    #[test]
    fn only_beats_that_stood_still_in_every_renewal_of_a_lease_expire(rounds in vec(any_round(), 1..60)) {
        let mut membership = joined();
        let (mut sent, mut other) = (1000u32, 0i64);
        let mut history: Vec<(Duration, Duration, i64)> = Vec::new();
        for (beat, (gap, delay, is_alive)) in rounds.into_iter().enumerate() {
            sent += gap;
            other += i64::from(is_alive);
            let tenths = |count: u32| Duration::from_millis(u64::from(count) * 100);
            let (sent_at, answered_at) = (tenths(sent), tenths(sent + delay));
            sent += delay;
            let renewal = renewal_with_other(beat as i64 + 1, other);
            let plan = membership.renewed(sent_at, answered_at, &renewal, NO_OFFSET, 0);
            history.push((sent_at, answered_at, other));
            // Backwards while the beat is the same and the renewals are close: the earliest is far enough back.
            let mut earliest = history.len() - 1;
            while earliest > 0
                && history[earliest - 1].2 == other
                && history[earliest].0 - history[earliest - 1].0 <= LEASE / 2
            {
                earliest -= 1;
            }
            let is_still = sent_at.saturating_sub(history[earliest].1) >= LEASE;
            let expected = if is_still { vec![(OTHER, other)] } else { vec![] };
            prop_assert_eq!(plan.expire, expected);
        }
    }

    #[test]
    fn plans_are_within_their_bounds_for_every_renewal(
        renewals in vec((any::<i64>(), 0u16..=256, 0usize..400, 0usize..400, 0u64..60, 0u64..60), 1..20),
        draining in 0usize..300,
        offset in 0u64..20,
    ) {
        let mut membership = joined();
        for (beat, shards, free, taking, sent, answered) in renewals {
            let renewal = Renewal {
                free,
                taking,
                nodes: vec![(US, beat), (OTHER, beat)],
                beat: Some(beat),
                ..renewal(1, 0..shards)
            };
            let (sent_at, answered_at) = (Duration::from_secs(sent), Duration::from_secs(answered));
            let clock_offset = Duration::from_secs(offset);
            let plan = membership.renewed(sent_at, answered_at, &renewal, clock_offset, draining);
            let ours = membership.shards().count();
            prop_assert!(plan.take <= free && (plan.take == 0 || ours + plan.take <= share(taking)));
            prop_assert!(plan.take == 0 || clock_offset <= CLOCK_OFFSET_MAX);
            prop_assert!(plan.take == 0 || plan.drain == 0);
            prop_assert!(plan.drain == 0 || plan.drain + draining <= DRAINING_MAX);
            prop_assert!(plan.drain == 0 || ours >= share(taking) + 1 + plan.drain + draining);
            prop_assert!(plan.expire.iter().all(|(node, _)| *node == OTHER));
            let window = membership.window();
            prop_assert!(window.dial_until <= window.cut_at && window.cut_at <= window.lost_at);
            prop_assert!(!plan.rejoin || (window == Window::default() && ours == 0));
        }
    }

    #[test]
    fn a_given_up_epoch_is_never_owned_again(steps in vec((0u8..3, 0u16..3, 1i64..6, 0u64..40), 1..60)) {
        let mut ownership = Ownership::default();
        let mut given_up = BTreeMap::new();
        for (kind, shard, epoch, second) in steps {
            let (shard, at) = (Shard(shard), Duration::from_secs(second));
            match kind {
                0 => {
                    ownership.renewed(at, at, &[OwnedShard { shard, epoch }]);
                }
                1 => {
                    ownership.took(at, &[OwnedShard { shard, epoch }]);
                }
                _ => {
                    if let Some(owned) = ownership.give_up(shard) {
                        given_up.insert(shard, owned.epoch);
                    }
                }
            }
            for owned in ownership.iter() {
                prop_assert!(given_up.get(&owned.shard).is_none_or(|&epoch| owned.epoch > epoch));
            }
        }
    }
}
