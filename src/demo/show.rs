//! Runs the demo, shows it live, and checks the result.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Write};
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;

use super::counts::{HostsByState, SourcesByState};
use super::event_log::EventLog;
use super::host_outages::HostOutages;
use super::render::{number, render};
use super::scene::{Phase, Scene, WebLoad};
use super::screen::Screen;
use super::settings::{DELAY, DemoSettings};
use super::stop_signals::StopSignals;
use super::summary::DemoSummary;
use super::world::{DemoError, World, outcome};
use crate::actors::PipelineEvent;
use crate::clock::{Clock, Stopwatch};
use crate::model::{SourceId, Timestamp};
use crate::rules::change::{Change, apply};
use crate::store;
use crate::supervision::{Node, State};

const FRAME: Duration = Duration::from_millis(200);
/// Frames between two lines without a screen.
const FRAMES_A_LINE: u32 = 5;
/// How many frames the polls per second are an average of, and how many the pulse shows.
const PULSE_FRAMES: usize = 12;
/// How many events a scene holds.
const EVENTS: usize = 60;
/// Share of the time that counting may take.
const CENSUS_SHARE: u32 = 4;
/// Maximum time between two counts.
const CENSUS_PAUSE_MAX: Duration = Duration::from_secs(2);
/// Time limit for repeating polls that were lost in crashes.
const HEAL_WITHIN: Duration = Duration::from_secs(20);
/// Time limit for polls in flight: longer than the deadline of a request.
const DRAIN_WITHIN: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoOutput {
    /// On the whole terminal.
    Screen { with_colours: bool },
    /// A line a second on standard error.
    Lines,
}

/// Runs the demo; needs the thread of an actix system.
pub async fn run(settings: &DemoSettings, output: DemoOutput) -> Result<DemoSummary, DemoError> {
    let mut stop = StopSignals::listen()?;
    // Before the pipeline starts: the crashes that it catches are not for the screen's hook.
    let screen = match output {
        DemoOutput::Screen { .. } => Some(Screen::enter()?),
        DemoOutput::Lines => None,
    };
    if let Some(screen) = &screen {
        stop.add_quit_key(screen);
    }
    let mut show = Show::start(settings, output, screen).await?;
    let ended = tokio::select! {
        ended = show.play(settings.duration) => ended,
        () = stop.next() => Ok(()),
    };
    let ended = match ended {
        Ok(()) => tokio::select! {
            summary = show.finish() => summary,
            () = stop.next() => Err(DemoError::Hurried),
        },
        Err(error) => Err(error),
    };
    drop(show.screen.take());
    if ended.is_err() {
        show.world.pipeline.kill();
    }
    show.world.end().await?;
    ended
}

struct Show {
    world: World,
    output: DemoOutput,
    screen: Option<Screen>,
    speed: f64,
    watch: Stopwatch,
    started_at: Timestamp,
    events: Receiver<PipelineEvent>,
    event_log: EventLog,
    host_outages: HostOutages,
    phase: Phase,
    sources: SourcesByState,
    hosts: HostsByState,
    census_next: Duration,
    /// Time of each frame, and number of settled polls.
    frames: VecDeque<(Duration, u64)>,
    frame: u32,
}

impl Show {
    async fn start(settings: &DemoSettings, output: DemoOutput, screen: Option<Screen>) -> Result<Show, DemoError> {
        let world = World::start(settings).await?;
        let mut hosts = world.web.hosts();
        hosts.truncate(settings.hosts);
        Ok(Show {
            output,
            screen,
            speed: settings.speed,
            watch: Stopwatch::start(),
            started_at: world.clock.now(),
            events: world.pipeline.events().listen(),
            event_log: EventLog::default(),
            host_outages: HostOutages::new(settings.seed, hosts),
            phase: Phase::Running,
            sources: SourcesByState::default(),
            hosts: HostsByState::default(),
            census_next: Duration::ZERO,
            frames: VecDeque::new(),
            frame: 0,
            world,
        })
    }

    async fn play(&mut self, duration: Option<Duration>) -> Result<(), DemoError> {
        while duration.is_none_or(|duration| self.watch.elapsed() < duration) {
            let (elapsed, now) = (self.watch.elapsed(), self.world.clock.now());
            self.host_outages.act(elapsed, now, &self.world.web, &mut self.event_log)?;
            self.show().await?;
            let left = duration.map_or(FRAME, |duration| duration.saturating_sub(self.watch.elapsed()));
            tokio::select! {
                () = tokio::time::sleep(FRAME.min(left)) => {}
                end = &mut self.world.running => return outcome(end),
            }
        }
        Ok(())
    }

    /// Repeats lost polls, waits for polls in flight, and compares.
    async fn finish(&mut self) -> Result<DemoSummary, DemoError> {
        self.host_outages.end(&self.world.web)?;
        self.world.pipeline.cease_faults();
        // What a lost poll saw may be hidden now: a feed that is calm shows it again.
        (0..self.world.web.sites().len()).for_each(|site| self.world.web.calm(site));
        self.phase = Phase::Healing;
        let passed = self.world.clock.now().since(self.started_at);
        let elapsed = self.watch.elapsed();
        self.heal().await?;
        self.phase = Phase::Draining;
        self.show().await?;
        // The comparison finds polls that did not finish in time.
        let _ = tokio::time::timeout(DRAIN_WITHIN, self.world.pipeline.drain()).await;
        self.phase = Phase::Comparing;
        self.census_next = Duration::ZERO;
        self.show().await?;
        let audit = self.world.audit().await?;
        let tree = self.world.pipeline.tree(usize::MAX);
        Ok(DemoSummary {
            elapsed,
            passed,
            done: self.world.pipeline.statistics().view(),
            sources: self.sources,
            load: self.load(),
            audit,
            injected: self.world.pipeline.faults(),
            is_whole: tree.is_some_and(|tree| is_up(&tree.root)),
            rests: self.event_log.rests,
            disables: self.event_log.disables,
            holds: self.event_log.holds,
        })
    }

    /// Repeats polls whose entries were lost in a crash. The daemon would do so
    /// at the next interval.
    async fn heal(&mut self) -> Result<(), DemoError> {
        let healing = Stopwatch::start();
        let mut left = self.world.audit().await?.incomplete;
        while !left.is_empty() && healing.elapsed() < HEAL_WITHIN {
            self.show().await?;
            tokio::time::sleep(FRAME).await;
            // Keep only sources that were incomplete at every check, because polls may be in flight.
            let incomplete: HashSet<SourceId> = self.world.audit().await?.incomplete.into_iter().collect();
            left.retain(|id| incomplete.contains(id));
            self.ask_again(&left).await?;
        }
        Ok(())
    }

    async fn ask_again(&self, ids: &[SourceId]) -> store::Result<()> {
        for id in ids {
            if let Some(mut source) = self.world.store.source(*id).await? {
                let now = self.world.clock.now();
                apply(&mut source, Change::Poll, now);
                // A concurrent change means that it was polled.
                self.world.store.save_source(source, now).await?;
            }
        }
        self.world.pipeline.sources_changed(ids.to_vec());
        Ok(())
    }

    async fn show(&mut self) -> Result<(), DemoError> {
        self.record();
        self.count().await?;
        let scene = self.scene();
        self.frame = self.frame.wrapping_add(1);
        match (&self.screen, self.output) {
            (Some(screen), DemoOutput::Screen { with_colours }) => {
                screen.draw(&render(&scene, screen.size(), with_colours))?;
            }
            _ if (self.frame - 1).is_multiple_of(FRAMES_A_LINE) => {
                // Ignore a closed standard error.
                let _ = writeln!(io::stderr(), "{}", line(&scene));
            }
            _ => {}
        }
        Ok(())
    }

    fn record(&mut self) {
        let now = self.world.clock.now();
        loop {
            match self.events.try_recv() {
                Ok(event) => self.event_log.record(now, event),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    /// Counts sources and hosts, unless the last count was recent.
    async fn count(&mut self) -> store::Result<()> {
        if self.watch.elapsed() < self.census_next {
            return Ok(());
        }
        let counting = Stopwatch::start();
        let store = self.world.store.as_ref();
        self.sources = SourcesByState::take(store).await?;
        self.hosts = HostsByState::take(store, self.world.clock.now()).await?;
        self.census_next = self.watch.elapsed() + (counting.elapsed() * CENSUS_SHARE).min(CENSUS_PAUSE_MAX);
        Ok(())
    }

    fn load(&self) -> WebLoad {
        WebLoad::seen_by(&self.world.web, self.speed, DELAY)
    }

    fn scene(&mut self) -> Scene {
        let now = self.world.clock.now();
        let done = self.world.pipeline.statistics().view();
        self.frames.push_back((self.watch.elapsed(), done.settled()));
        while self.frames.len() > PULSE_FRAMES + 1 {
            self.frames.pop_front();
        }
        let per_second = |(earlier, before): (Duration, u64), (later, after): (Duration, u64)| {
            (after - before) as f64 / (later - earlier).as_secs_f64().max(0.001)
        };
        let pulse = self.frames.iter().zip(self.frames.iter().skip(1)).map(|(one, next)| per_second(*one, *next));
        let polls_per_second = match (self.frames.front(), self.frames.back()) {
            (Some(first), Some(last)) => per_second(*first, *last),
            _ => 0.0,
        };
        Scene {
            now,
            passed: now.since(self.started_at),
            speed: self.speed,
            phase: self.phase,
            sources: self.sources,
            hosts: self.hosts,
            polls_per_second,
            pulse: pulse.collect(),
            load: self.load(),
            injected: self.world.pipeline.faults(),
            events: self.event_log.last(EVENTS),
            done,
        }
    }
}

/// A scene in one line.
fn line(scene: &Scene) -> String {
    let (sources, done) = (scene.sources, &scene.done);
    let place = match scene.phase {
        Phase::Running => String::new(),
        phase => format!("; {}", phase.words()),
    };
    format!(
        "{:.1} h: {} polls ({:.0}/s), {} new posts, {} failed; {} active, {} backing off, {} resting, {} disabled; \
         {} overlaps; {} crashes, {} restarts{place}",
        scene.passed.as_secs_f64() / 3600.0,
        number(done.settled()),
        scene.polls_per_second,
        number(done.new_posts),
        number(done.failed_total()),
        sources.active,
        sources.backing_off,
        sources.resting,
        sources.disabled,
        scene.load.overlaps,
        done.crashes,
        done.restarts
    )
}

/// Whether a node and all of its descendants are up.
fn is_up(node: &Node) -> bool {
    node.state == State::Up && node.children.iter().all(is_up)
}
