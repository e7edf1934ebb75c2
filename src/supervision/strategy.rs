//! Order in which the children of a supervisor start and stop. Pure: phases in, steps out.

/// Where a child stands, as its supervisor sees it.
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

/// One child in the eyes of the strategy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) phase: ChildPhase,
    /// Whether it was up since its supervisor started.
    pub(super) has_run: bool,
}

/// The children to start now, if all should be running. A crash of one leaves its siblings alone (one for one).
pub(super) fn children_to_start(children: &[Standing]) -> Vec<usize> {
    let mut ready = Vec::new();
    for (index, child) in children.iter().enumerate() {
        match child.phase {
            ChildPhase::Gone => continue,
            ChildPhase::Ready => ready.push(index),
            ChildPhase::Delayed | ChildPhase::Starting | ChildPhase::Up | ChildPhase::Stopping => {}
        }
        // The first start is in order: a child starts after all in front of it have been up once.
        if !child.has_run {
            break;
        }
    }
    ready
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
    fn the_first_start_is_in_order() {
        let check = |phases: &[ChildPhase], wanted: &[usize]| {
            assert_eq!(children_to_start(&children(phases)), wanted, "{phases:?}");
        };
        check(&[Ready, Ready, Ready], &[0]);
        check(&[Starting, Ready, Ready], &[]);
        check(&[Up, Ready, Ready], &[1]);
        check(&[Up, Gone, Ready], &[2]);
        check(&[Up, Up, Up], &[]);
        check(&[], &[]);
    }

    #[test]
    fn one_for_one_leaves_the_siblings_alone() {
        let check = |phases: &[ChildPhase], wanted: &[usize]| {
            let mut children = children(phases);
            children.iter_mut().for_each(|child| child.has_run = true);
            assert_eq!(children_to_start(&children), wanted, "{phases:?}");
        };
        check(&[Up, Delayed, Up], &[]);
        check(&[Up, Ready, Up], &[1]);
        check(&[Ready, Up, Ready], &[0, 2]);
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
