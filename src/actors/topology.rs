//! The supervision tree of the pipeline.

use std::sync::Arc;
use std::time::Duration;

use slog::o;
use tokio::sync::Notify;

use super::actor_kind::{ActorKind, FETCHERS, HOSTS};
use super::context::{Addresses, Parts, PipelineContext};
use super::deliveries::DeliveryActor;
use super::environment::PipelineEnvironment;
use super::fetch::FetchActor;
use super::fleet::FleetActor;
use super::full_text::FullTextActor;
use super::handle::PipelineHandle;
use super::host::{DocumentFetcher, HostTable};
use super::in_flight::InFlightPolls;
use super::scheduler::SchedulerActor;
use super::settling::{FailureTrackerActor, PostSinkActor};
use super::websub::WebSubActor;
use crate::delivery::Transports;
use crate::model::RequestPurpose;
use crate::supervision::{ChildSpec, Group, GroupSettings, Inbox, Root, RootEnd, SupervisorSpec, Thread};

/// Mailbox capacity of the single actors. `do_send` ignores it; the number of polls in flight bounds those messages.
const MAILBOX_CAPACITY: usize = 1024;
/// The least pause between two requests of a backfill: many in a row, they are not like the polls of a feed.
const ARCHIVE_PAUSE_MIN: Duration = Duration::from_secs(1);
/// Time limit for an actor to stop.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Which sources a run polls, and whether it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All sources, until the pipeline is stopped.
    Daemon,
    /// Sources that are due, once.
    Once {
        /// All enabled sources, whether or not they are due.
        ignores_due_times: bool,
    },
}

/// A pipeline that is ready to run.
pub struct Pipeline {
    root: Root,
    handle: PipelineHandle,
}

impl Pipeline {
    /// Builds the tree; no actor starts before `run`.
    pub fn new(parts: Parts, scope: Scope) -> Pipeline {
        let scheduler = Inbox::<SchedulerActor>::new(MAILBOX_CAPACITY);
        let post_sink = Inbox::<PostSinkActor>::new(MAILBOX_CAPACITY);
        let failure_tracker = Inbox::<FailureTrackerActor>::new(MAILBOX_CAPACITY);
        let webhooks = Inbox::<DeliveryActor>::new(MAILBOX_CAPACITY);
        let full_text = Inbox::<FullTextActor>::new(MAILBOX_CAPACITY);
        let websub = Inbox::<WebSubActor>::new(MAILBOX_CAPACITY);
        let fleet = Inbox::<FleetActor>::new(MAILBOX_CAPACITY);
        let (fleet_thread, is_shared) = (Thread::new("fleet"), parts.fleet.is_shared());
        let deadline = parts.fetcher.client().deadline();
        let threads: Vec<Thread> =
            (1..=parts.settings.fetch.threads()).map(|number| Thread::new(&format!("fetch-{number}"))).collect();
        let fetchers: Vec<Inbox<FetchActor>> = threads.iter().map(|_| Inbox::new(MAILBOX_CAPACITY)).collect();
        let intensity = parts.settings.intensity;
        let hosts = Group::new(HOSTS, GroupSettings { intensity, ..GroupSettings::default() });

        let fetcher = parts.fetcher.clone();
        let transports =
            Transports::new(parts.fetcher.client().clone(), parts.settings.sinks.clone(), parts.clock.clone());
        let probe_fetcher = parts.fetcher.clone();
        let document_fetcher = parts.fetcher.clone();
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
        let documents = DocumentFetcher {
            context: context.clone(),
            table: table.clone(),
            fetcher: document_fetcher,
            pause_min: Duration::ZERO,
            purpose: RequestPurpose::EntryPage,
            log: context.log.new(o!("actor" => "full-text")),
        };
        let hub_documents = DocumentFetcher {
            purpose: RequestPurpose::Hub,
            log: context.log.new(o!("actor" => "websub")),
            ..documents.clone()
        };
        let archives = DocumentFetcher {
            pause_min: ARCHIVE_PAUSE_MIN,
            purpose: RequestPurpose::Backfill,
            log: context.log.clone(),
            ..documents.clone()
        };
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
                let (transports, probe_fetcher) = (transports.clone(), probe_fetcher.clone());
                let (documents, hub_documents) = (documents.clone(), hub_documents.clone());
                let (of_fleet, fleet_table) = (context.clone(), table.clone());
                let (of_scheduler, table, in_flight_polls, finished) =
                    (context.clone(), table.clone(), in_flight_polls.clone(), finished.clone());
                let fetch = fetch_supervisor.take().expect("the children are listed once");
                let mut children = vec![
                    ChildSpec::actor(ActorKind::PostSink.into(), &post_sink, move || {
                        PostSinkActor::new(of_sink.clone())
                    }),
                    ChildSpec::actor(ActorKind::FailureTracker.into(), &failure_tracker, move || {
                        FailureTrackerActor::new(of_tracker.clone(), probe_fetcher.clone())
                    }),
                    ChildSpec::actor(ActorKind::Webhooks.into(), &webhooks, move || {
                        DeliveryActor::new(of_webhooks.clone(), transports.clone())
                    }),
                    ChildSpec::actor(ActorKind::FullText.into(), &full_text, move || {
                        FullTextActor::new(documents.clone())
                    }),
                    ChildSpec::actor(ActorKind::Websub.into(), &websub, move || {
                        WebSubActor::new(hub_documents.clone(), scope)
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
                ];
                if is_shared {
                    let make = move || FleetActor::new(of_fleet.clone(), fleet_table.clone(), deadline);
                    children.push(ChildSpec::actor(ActorKind::Fleet.into(), &fleet, make).on(&fleet_thread));
                }
                children
            }
        };
        let spec = SupervisorSpec::new("feedwarden", children).intensity(intensity);
        let root = Root::new(spec, Arc::new(environment));
        let handle = PipelineHandle::new(
            root.handle(),
            context,
            scheduler_address,
            webhooks_address,
            archives,
            in_flight_polls,
            finished,
        );
        Pipeline { root, handle }
    }

    /// Handle of the pipeline, for the API.
    pub fn handle(&self) -> PipelineHandle {
        self.handle.clone()
    }

    /// Runs on the thread of an actix system until the pipeline is stopped or fails for good.
    pub async fn run(self) -> RootEnd {
        let following = actix_rt::spawn(self.handle.clone().follow_store_health());
        let end = self.root.run().await;
        following.abort();
        end
    }
}
