//! The tree of the pipeline: who is there, and who watches over whom.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::actor_kind::{ActorKind, FETCHERS, HOSTS};
use super::context::{Addresses, Parts, PipelineContext};
use super::environment::PipelineEnvironment;
use super::failure_tracker::FailureTrackerActor;
use super::fetch::FetchActor;
use super::handle::PipelineHandle;
use super::host_table::HostTable;
use super::in_flight::InFlightPolls;
use super::post_sink::PostSinkActor;
use super::scheduler::SchedulerActor;
use super::webhooks::WebhookActor;
use crate::supervision::{ChildSpec, Group, GroupSettings, Inbox, Root, RootEnd, SupervisorSpec, Thread};

/// Messages that may wait for one of the few. `do_send` is not bound by it; what can be sent is bounded by the polls under
/// way.
const MAILBOX_CAPACITY: usize = 1024;
/// How long an actor may take to stop.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// What is polled, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything, for ever.
    Daemon,
    /// What is due, once.
    Once {
        /// Everything that is enabled, whether it is due or not.
        ignores_due_times: bool,
    },
}

/// A pipeline that can be run.
pub struct Pipeline {
    root: Root,
    handle: PipelineHandle,
}

impl Pipeline {
    /// A pipeline of these parts. Nothing happens before it is run.
    pub fn new(parts: Parts, scope: Scope) -> Pipeline {
        let scheduler = Inbox::<SchedulerActor>::new(MAILBOX_CAPACITY);
        let post_sink = Inbox::<PostSinkActor>::new(MAILBOX_CAPACITY);
        let failure_tracker = Inbox::<FailureTrackerActor>::new(MAILBOX_CAPACITY);
        let webhooks = Inbox::<WebhookActor>::new(MAILBOX_CAPACITY);
        let threads: Vec<Thread> =
            (1..=parts.settings.fetch.threads()).map(|number| Thread::new(&format!("fetch {number}"))).collect();
        let fetchers: Vec<Inbox<FetchActor>> = threads.iter().map(|_| Inbox::new(MAILBOX_CAPACITY)).collect();
        let intensity = parts.settings.intensity;
        let hosts = Group::new(HOSTS, GroupSettings { intensity, ..GroupSettings::default() });

        let fetcher = parts.fetcher.clone();
        let courier = parts.fetcher.clone();
        let addresses = Addresses {
            post_sink: post_sink.address(),
            failure_tracker: failure_tracker.address(),
            scheduler: scheduler.address(),
            fetchers: fetchers.iter().map(Inbox::address).collect(),
        };
        let context = Arc::new(PipelineContext::new(parts, addresses));
        let environment = PipelineEnvironment::new(context.clone());
        let table = HostTable::new(hosts.clone());
        let in_flight_polls =
            InFlightPolls::new(scheduler.address().recipient(), failure_tracker.address().recipient());
        let finished = Arc::new(Notify::new());
        let (scheduler_address, webhooks_address) = (scheduler.address(), webhooks.address());

        let fetch_supervisor = {
            let context = context.clone();
            move || {
                let children = fetchers.iter().zip(&threads).map(|(inbox, thread)| {
                    let (context, fetcher) = (context.clone(), fetcher.clone());
                    let make = move || FetchActor::new(context.clone(), fetcher.clone());
                    ChildSpec::actor(thread.name(), inbox, make).on(thread).stop_within(STOP_WITHIN)
                });
                children.collect()
            }
        };
        let mut fetch_supervisor = Some(fetch_supervisor);
        let children = {
            let (context, table, in_flight_polls, finished) =
                (context.clone(), table.clone(), in_flight_polls.clone(), finished.clone());
            move || {
                let (of_sink, of_tracker, of_webhooks) = (context.clone(), context.clone(), context.clone());
                let courier = courier.clone();
                let (of_scheduler, table, in_flight_polls, finished) =
                    (context.clone(), table.clone(), in_flight_polls.clone(), finished.clone());
                let fetch = fetch_supervisor.take().expect("the children are listed once");
                vec![
                    ChildSpec::actor(ActorKind::PostSink.into(), &post_sink, move || {
                        PostSinkActor::new(of_sink.clone())
                    }),
                    ChildSpec::actor(ActorKind::FailureTracker.into(), &failure_tracker, move || {
                        FailureTrackerActor::new(of_tracker.clone())
                    }),
                    ChildSpec::actor(ActorKind::Webhooks.into(), &webhooks, move || {
                        WebhookActor::new(of_webhooks.clone(), courier.clone())
                    }),
                    ChildSpec::supervisor(SupervisorSpec::new(FETCHERS, fetch).intensity(intensity)),
                    ChildSpec::group(&hosts),
                    ChildSpec::actor(ActorKind::Scheduler.into(), &scheduler, move || {
                        let finished = finished.clone();
                        SchedulerActor::new(
                            of_scheduler.clone(),
                            scope,
                            table.clone(),
                            in_flight_polls.clone(),
                            finished,
                        )
                    }),
                ]
            }
        };
        let spec = SupervisorSpec::new("feedwarden", children).intensity(intensity);
        let root = Root::new(spec, Arc::new(environment));
        let handle = PipelineHandle::new(
            root.handle(),
            context,
            scheduler_address,
            webhooks_address,
            table,
            in_flight_polls,
            finished,
        );
        Pipeline { root, handle }
    }

    /// To steer it.
    pub fn handle(&self) -> PipelineHandle {
        self.handle.clone()
    }

    /// Runs until it is stopped, or fails for good; on the thread of an actix system.
    pub async fn run(self) -> RootEnd {
        self.root.run().await
    }
}
