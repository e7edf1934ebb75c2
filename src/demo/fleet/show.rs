//! Runs the demo of a fleet, shows it live, and checks the result.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Write};
use std::time::Duration;

use futures_util::TryStreamExt;

use super::disturbances::{Disturbance, DisturbanceStep, Disturbances};
use super::node_process::NodeProcessState;
use super::observer::{FleetDemoEventKind, FleetObserver, node_of};
use super::poll_requests::{PollRequests, request_polls};
use super::render::{line, render_fleet};
use super::scene::{FleetDemoNode, FleetDemoPhase, FleetDemoScene};
use super::settings::{FleetDemoSettings, HOST_PAUSE, LEASE};
use super::summary::{FleetDemoSummary, NodeVisits};
use super::world::FleetWorld;
use crate::actors::NodeReport;
use crate::clock::Stopwatch;
use crate::demo::audit::Audit;
use crate::demo::scene::WebLoad;
use crate::demo::screen::Screen;
use crate::demo::show::DemoOutput;
use crate::demo::stop_signals::StopSignals;
use crate::demo::world::DemoError;
use crate::model::{NodeRecord, SourceId};
use crate::store;

const FRAME: Duration = Duration::from_millis(200);
/// Frames between two lines without a screen.
const FRAMES_A_LINE: u32 = 5;
/// How many frames the requests per second are an average of.
const RATE_FRAMES: usize = 15;
/// How many events a scene holds.
const EVENTS: usize = 60;
/// How many sources are read at once.
const PAGE: u32 = 1000;
/// Frames between two looks for sources that are incomplete at the end.
const FRAMES_A_LOOK: u32 = 5;
/// Time limit for the nodes to take all shards at the start and at the end.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Runs the demo; needs the thread of an actix system.
pub async fn run_fleet(settings: &FleetDemoSettings, output: DemoOutput) -> Result<FleetDemoSummary, DemoError> {
    let mut stop = StopSignals::listen()?;
    let screen = match output {
        DemoOutput::Screen { .. } => Some(Screen::enter()?),
        DemoOutput::Lines => None,
    };
    if let Some(screen) = &screen {
        stop.add_quit_key(screen);
    }
    if let Some(screen) = &screen {
        screen.draw(&["Feedwarden demo".to_owned(), String::new(), "starting PostgreSQL …".to_owned()])?;
    }
    let mut show = FleetShow::start(settings, output, screen).await?;
    let ended = tokio::select! {
        ended = show.play(settings.duration) => ended,
        () = stop.next() => Ok(()),
    };
    let ended = match ended {
        Ok(()) => tokio::select! {
            summary = show.finish(settings) => summary,
            () = stop.next() => Err(DemoError::Hurried),
        },
        Err(error) => Err(error),
    };
    drop(show.screen.take());
    show.world.end().await?;
    ended
}

struct FleetShow {
    world: FleetWorld,
    output: DemoOutput,
    screen: Option<Screen>,
    watch: Stopwatch,
    observer: FleetObserver,
    disturbances: Disturbances,
    poll_requests: PollRequests,
    phase: FleetDemoPhase,
    posts: u64,
    kills: u64,
    suspensions: u64,
    takeovers: Vec<Option<Duration>>,
    /// Time of each frame, and number of requests.
    frames: VecDeque<(Duration, u64)>,
    frame: u32,
}

impl FleetShow {
    async fn start(
        settings: &FleetDemoSettings,
        output: DemoOutput,
        screen: Option<Screen>,
    ) -> Result<FleetShow, DemoError> {
        let world = FleetWorld::start(settings).await?;
        Ok(FleetShow {
            output,
            screen,
            watch: Stopwatch::start(),
            observer: FleetObserver::default(),
            disturbances: Disturbances::new(settings.seed),
            poll_requests: PollRequests::new(world.sources.clone(), settings.polls_per_second(), settings.seed),
            phase: FleetDemoPhase::Starting,
            posts: 0,
            kills: 0,
            suspensions: 0,
            takeovers: Vec::new(),
            frames: VecDeque::new(),
            frame: 0,
            world,
        })
    }

    async fn play(&mut self, duration: Option<Duration>) -> Result<(), DemoError> {
        self.until_ready().await?;
        self.watch = Stopwatch::start();
        self.frames.clear();
        self.phase = FleetDemoPhase::Running;
        while duration.is_none_or(|duration| self.watch.elapsed() < duration) {
            self.disturb()?;
            self.poll_requests.make(self.watch.elapsed(), self.world.store.as_ref()).await?;
            self.show().await?;
            let left = duration.map_or(FRAME, |duration| duration.saturating_sub(self.watch.elapsed()));
            tokio::time::sleep(FRAME.min(left)).await;
        }
        Ok(())
    }

    /// Waits until every node is live and every shard has an owner.
    async fn until_ready(&mut self) -> Result<(), DemoError> {
        let waiting = Stopwatch::start();
        loop {
            self.show().await?;
            let is_ready = self.observer.record().is_some_and(|record| {
                let live = record.nodes.iter().filter(|node| node.ended_at.is_none() && node.shards > 0).count();
                live == self.world.nodes.len() && record.free_shards == 0
            });
            if is_ready {
                return Ok(());
            }
            if waiting.elapsed() > READY_WITHIN {
                return Err(DemoError::NotReady(READY_WITHIN));
            }
            tokio::time::sleep(FRAME).await;
        }
    }

    /// Kills and suspends nodes, and brings them back.
    fn disturb(&mut self) -> Result<(), DemoError> {
        let elapsed = self.watch.elapsed();
        match self.disturbances.step(elapsed, self.world.nodes.len()) {
            Some(DisturbanceStep::Begin(disturbance, node)) => {
                let node = &mut self.world.nodes[node];
                let (kind, words) = match disturbance {
                    Disturbance::Kill => {
                        node.kill()?;
                        self.kills += 1;
                        (FleetDemoEventKind::Killed, "on purpose (SIGKILL)")
                    }
                    Disturbance::Suspend => {
                        node.suspend()?;
                        self.suspensions += 1;
                        (FleetDemoEventKind::Suspended, "on purpose, for longer than its lease (SIGSTOP)")
                    }
                };
                self.observer.push(elapsed, kind, &node.name, words);
                Ok(())
            }
            Some(DisturbanceStep::End(..)) => self.bring_back(),
            None => Ok(()),
        }
    }

    /// Starts or resumes the node that is away.
    fn bring_back(&mut self) -> Result<(), DemoError> {
        let Some(away) = self.disturbances.away.take() else { return Ok(()) };
        let node = &mut self.world.nodes[away.node];
        let (kind, words) = match away.disturbance {
            Disturbance::Kill => {
                node.start_again()?;
                (FleetDemoEventKind::Started, "again")
            }
            Disturbance::Suspend => {
                node.resume()?;
                (FleetDemoEventKind::Resumed, "(SIGCONT)")
            }
        };
        self.takeovers.push(away.taken_after);
        self.observer.push(self.watch.elapsed(), kind, &node.name, words);
        Ok(())
    }

    /// Brings all nodes back, repeats lost polls, has the nodes leave, and compares.
    async fn finish(&mut self, settings: &FleetDemoSettings) -> Result<FleetDemoSummary, DemoError> {
        let elapsed = self.watch.elapsed();
        self.phase = FleetDemoPhase::Healing;
        // What a lost poll saw may be hidden now: a feed that is calm shows it again.
        (0..self.world.web.sites().len()).for_each(|site| self.world.web.calm(site));
        // Others take over first, if that has not happened yet.
        let taking = Stopwatch::start();
        while self.disturbances.away.is_some_and(|away| away.taken_after.is_none()) && taking.elapsed() < READY_WITHIN {
            self.show().await?;
            tokio::time::sleep(FRAME).await;
        }
        self.bring_back()?;
        self.until_ready().await?;
        self.heal(settings.heal_within()).await?;
        self.phase = FleetDemoPhase::Leaving;
        self.show().await?;
        let left = self.world.leave().await?;
        self.phase = FleetDemoPhase::Comparing;
        self.show().await?;
        let audit = self.world.audit().await?;
        let unpolled = self.unpolled().await?;
        let load = self.load();
        let names = self.world.nodes.iter().map(|node| node.name.as_str());
        Ok(FleetDemoSummary {
            elapsed,
            nodes: settings.nodes,
            sources: self.world.sources.len(),
            polled: self.world.sources.len() - unpolled.len(),
            load,
            visits: NodeVisits::seen_by(&self.world.web, names, load.gap_min),
            audit,
            kills: self.kills,
            suspensions: self.suspensions,
            takeovers: self.takeovers.clone(),
            expired: self.observer.expired,
            taken: self.observer.taken,
            fenced: self.observer.fenced,
            left,
        })
    }

    /// Repeats polls whose entries were lost with a node, and polls sources that had no turn yet. The nodes would do so
    /// at the next interval.
    async fn heal(&mut self, within: Duration) -> Result<(), DemoError> {
        let healing = Stopwatch::start();
        loop {
            let Audit { incomplete, .. } = self.world.audit().await?;
            let mut left: HashSet<SourceId> = incomplete.into_iter().collect();
            left.extend(self.unpolled().await?);
            if left.is_empty() || healing.elapsed() >= within {
                return Ok(());
            }
            request_polls(self.world.store.as_ref(), &left.into_iter().collect::<Vec<_>>()).await?;
            for _ in 0..FRAMES_A_LOOK {
                self.show().await?;
                tokio::time::sleep(FRAME).await;
            }
        }
    }

    /// Sources that no node has polled.
    async fn unpolled(&self) -> store::Result<Vec<SourceId>> {
        let sources = store::stream_sources(self.world.store.as_ref(), PAGE);
        let unpolled = sources.try_filter(|source| std::future::ready(source.state.first_polled_at.is_none()));
        unpolled.map_ok(|source| source.id).try_collect().await
    }

    async fn show(&mut self) -> Result<(), DemoError> {
        if !matches!(self.phase, FleetDemoPhase::Leaving | FleetDemoPhase::Comparing) {
            self.world.check_processes()?;
        }
        let record = self.world.fleet().await?;
        self.observer.look(self.watch.elapsed(), record);
        self.note_takeover();
        self.posts = self.world.store.count_posts().await?;
        let scene = self.scene();
        self.frame = self.frame.wrapping_add(1);
        match (&self.screen, self.output) {
            (Some(screen), DemoOutput::Screen { with_colours }) => {
                screen.draw(&render_fleet(&scene, screen.size(), with_colours))?;
            }
            _ if (self.frame - 1).is_multiple_of(FRAMES_A_LINE) => {
                // Ignore a closed standard error.
                let _ = writeln!(io::stderr(), "{}", line(&scene));
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes when other nodes have all shards of the one that is away.
    fn note_takeover(&mut self) {
        let (Some(away), Some(record)) = (&mut self.disturbances.away, self.observer.record()) else { return };
        let name = &self.world.nodes[away.node].name;
        let is_of_others = |owner: &Option<_>| {
            let node = owner.and_then(|id| node_of(record, id));
            node.is_some_and(|node| node.ended_at.is_none() && node.name != *name)
        };
        if away.taken_after.is_none() && record.owners.iter().all(is_of_others) {
            away.taken_after = Some(self.watch.elapsed().saturating_sub(away.since));
        }
    }

    fn load(&self) -> WebLoad {
        WebLoad::seen_by(&self.world.web, 1.0, HOST_PAUSE)
    }

    fn scene(&mut self) -> FleetDemoScene {
        let load = self.load();
        self.frames.push_back((self.watch.elapsed(), load.requests));
        while self.frames.len() > RATE_FRAMES + 1 {
            self.frames.pop_front();
        }
        let requests_per_second = match (self.frames.front(), self.frames.back()) {
            (Some((earlier, before)), Some((later, after))) => {
                after.saturating_sub(*before) as f64 / later.saturating_sub(*earlier).as_secs_f64().max(0.001)
            }
            _ => 0.0,
        };
        let record = self.observer.record();
        let live = |name: &str| {
            let is_it = |node: &&NodeRecord| node.name == name && node.ended_at.is_none();
            record.and_then(|record| record.nodes.iter().find(is_it))
        };
        let nodes: Vec<FleetDemoNode> =
            self.world.nodes.iter().map(|node| node_view(&node.name, node.state, live(&node.name))).collect();
        let place = |name: &str| nodes.iter().position(|node| node.name == name);
        let owner = |owner: &Option<_>| {
            let node = owner.and_then(|id| node_of(record?, id)).filter(|node| node.ended_at.is_none())?;
            place(&node.name)
        };
        let owners = record.map_or_else(Vec::new, |record| record.owners.iter().map(owner).collect());
        let takeover = self.disturbances.away.and_then(|away| away.taken_after);
        FleetDemoScene {
            elapsed: self.watch.elapsed(),
            lease: LEASE,
            phase: self.phase,
            sources: self.world.sources.len(),
            nodes,
            owners,
            load,
            requests_per_second,
            posts: self.posts,
            kills: self.kills,
            suspensions: self.suspensions,
            takeover_max: self.takeovers.iter().copied().flatten().chain(takeover).max(),
            events: self.observer.events(EVENTS),
        }
    }
}

fn node_view(name: &str, process: NodeProcessState, live: Option<&NodeRecord>) -> FleetDemoNode {
    let report = live.map_or_else(NodeReport::default, |node| NodeReport::read(&node.report));
    FleetDemoNode {
        name: name.to_owned(),
        process,
        is_live: live.is_some(),
        shards: live.map_or(0, |node| node.shards),
        sources: report.sources,
        polls_per_second: report.polls_per_second,
        fenced: report.fenced,
    }
}
