//! Order in which the children of a supervisor start and stop. Pure: phases in, steps out.

/// What happens to the siblings of a child that crashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Nothing.
    #[default]
    OneForOne,
    /// Those that were started after it are stopped, and started again after it.
    RestForOne,
}

/// Phase of a child, as its supervisor sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildPhase {
    /// Not running, and free to be started.
    Ready,
    /// Not running, and waiting out a delay.
    Delayed,
    Starting,
    Up,
    Stopping,
    /// Will never run again.
    Gone,
}

/// Next action of a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StrategyStep {
    Start(usize),
    Stop(usize),
}

/// A child, as the strategy sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) phase: ChildPhase,
    /// Whether it was up since its supervisor started.
    pub(super) has_run: bool,
}

/// The next steps of a supervisor whose children should all be running.
pub(super) fn steps_to_run(strategy: Strategy, children: &[Standing]) -> Vec<StrategyStep> {
    match strategy {
        Strategy::OneForOne => one_for_one(children),
        Strategy::RestForOne => rest_for_one(children).into_iter().collect(),
    }
}

/// The next step of a supervisor whose children should all end: the last one first, one at a time.
pub(super) fn step_to_stop(children: &[Standing]) -> Stopping {
    let last = children.iter().rposition(|child| is_alive(child.phase));
    match last {
        None => Stopping::Done,
        Some(last) if children[last].phase == ChildPhase::Stopping => Stopping::Wait,
        Some(last) => Stopping::Stop(last),
    }
}

/// How far the stopping of all children is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopping {
    Stop(usize),
    Wait,
    Done,
}

fn one_for_one(children: &[Standing]) -> Vec<StrategyStep> {
    let mut steps = Vec::new();
    for (index, child) in children.iter().enumerate() {
        match child.phase {
            ChildPhase::Gone => continue,
            ChildPhase::Ready => steps.push(StrategyStep::Start(index)),
            ChildPhase::Delayed | ChildPhase::Starting | ChildPhase::Up | ChildPhase::Stopping => {}
        }
        // The first start is in order: a child starts after those in front of it have been up once.
        if !child.has_run {
            break;
        }
    }
    steps
}

/// A child runs only while all in front of it do. This one law gives the order of the first start, too.
fn rest_for_one(children: &[Standing]) -> Option<StrategyStep> {
    let first = children.iter().position(|child| !matches!(child.phase, ChildPhase::Up | ChildPhase::Gone))?;
    match step_to_stop(&children[first + 1..]) {
        Stopping::Stop(later) => Some(StrategyStep::Stop(first + 1 + later)),
        Stopping::Wait => None,
        Stopping::Done => (children[first].phase == ChildPhase::Ready).then_some(StrategyStep::Start(first)),
    }
}

fn is_alive(phase: ChildPhase) -> bool {
    matches!(phase, ChildPhase::Starting | ChildPhase::Up | ChildPhase::Stopping)
}

#[cfg(test)]
mod tests {
    use super::ChildPhase::{Delayed, Gone, Ready, Starting, Stopping as BeingStopped, Up};
    use super::*;

    fn children(phases: &[ChildPhase]) -> Vec<Standing> {
        // What is or was up has run; `Ready` and `Starting` stand for the first start.
        let has_run = |phase| matches!(phase, Up | Delayed | BeingStopped);
        phases.iter().map(|&phase| Standing { phase, has_run: has_run(phase) }).collect()
    }

    #[test]
    fn the_first_start_is_in_order_whatever_the_strategy() {
        for strategy in [Strategy::OneForOne, Strategy::RestForOne] {
            let check = |phases: &[ChildPhase], wanted: &[StrategyStep]| {
                assert_eq!(steps_to_run(strategy, &children(phases)), wanted, "{strategy:?} {phases:?}");
            };
            check(&[Ready, Ready, Ready], &[StrategyStep::Start(0)]);
            check(&[Starting, Ready, Ready], &[]);
            check(&[Up, Ready, Ready], &[StrategyStep::Start(1)]);
            check(&[Up, Gone, Ready], &[StrategyStep::Start(2)]);
            check(&[Up, Up, Up], &[]);
            check(&[], &[]);
        }
    }

    #[test]
    fn one_for_one_leaves_the_siblings_alone() {
        let check = |phases: &[ChildPhase], wanted: &[StrategyStep]| {
            let mut children = children(phases);
            children.iter_mut().for_each(|child| child.has_run = true);
            assert_eq!(steps_to_run(Strategy::OneForOne, &children), wanted, "{phases:?}");
        };
        check(&[Up, Delayed, Up], &[]);
        check(&[Up, Ready, Up], &[StrategyStep::Start(1)]);
        check(&[Ready, Up, Ready], &[StrategyStep::Start(0), StrategyStep::Start(2)]);
    }

    #[test]
    fn rest_for_one_stops_the_later_ones_in_reverse_and_starts_them_again_in_order() {
        let check = |phases: &[ChildPhase], wanted: Option<StrategyStep>| {
            assert_eq!(rest_for_one(&children(phases)), wanted, "{phases:?}");
        };
        check(&[Up, Delayed, Up, Up], Some(StrategyStep::Stop(3)));
        check(&[Up, Delayed, Up, BeingStopped], None);
        check(&[Up, Delayed, Up, Ready], Some(StrategyStep::Stop(2)));
        check(&[Up, Delayed, Ready, Ready], None);
        check(&[Up, Ready, Ready, Ready], Some(StrategyStep::Start(1)));
        check(&[Up, Up, Ready, Ready], Some(StrategyStep::Start(2)));
        // An earlier one that crashes meanwhile takes over.
        check(&[Delayed, Starting, Ready, Ready], Some(StrategyStep::Stop(1)));
    }

    #[test]
    fn all_are_stopped_in_reverse_one_at_a_time() {
        let check = |phases: &[ChildPhase], wanted: Stopping| {
            assert_eq!(step_to_stop(&children(phases)), wanted, "{phases:?}");
        };
        check(&[Up, Up], Stopping::Stop(1));
        check(&[Up, BeingStopped], Stopping::Wait);
        check(&[Up, Ready], Stopping::Stop(0));
        check(&[Starting, Gone], Stopping::Stop(0));
        check(&[Delayed, Ready, Gone], Stopping::Done);
    }
}
