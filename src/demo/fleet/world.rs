//! The simulated web, a temporary PostgreSQL server and the nodes.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::node_process::NodeProcess;
use super::settings::FleetDemoSettings;
use super::temporary_postgres::{ServerUser, TemporaryPostgres, make_directory};
use crate::clock::{Clock, Stopwatch, SystemClock};
use crate::demo::audit::Audit;
use crate::demo::web::Web;
use crate::demo::world::{DemoError, add_all};
use crate::model::{FleetRecord, SourceId};
use crate::store::settings::{EngineSettings, PostgresSettings, StoreSettings};
use crate::store::{self, Store, StoreError};

/// Time limit for the nodes to settle their polls and leave.
const LEAVE_WITHIN: Duration = Duration::from_secs(30);
/// How often processes are looked at that should end.
const LOOK: Duration = Duration::from_millis(50);

/// All parts of the demo. Dropping it ends all processes and removes everything; the order of the fields matters.
pub(super) struct FleetWorld {
    pub(super) nodes: Vec<NodeProcess>,
    pub(super) web: Web,
    pub(super) store: Arc<dyn Store>,
    /// The source of each site.
    pub(super) sources: Vec<SourceId>,
    server: TemporaryPostgres,
    directory: TempDir,
}

impl FleetWorld {
    /// Builds the web, starts the server, fills the store, and starts the nodes.
    pub(super) async fn start(settings: &FleetDemoSettings) -> Result<FleetWorld, DemoError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let web = Web::start(settings.web(), clock.clone()).map_err(DemoError::Web)?;
        let user = ServerUser::choose()?;
        let directory = make_directory(user)?;
        let server = TemporaryPostgres::start(directory.path(), user)?;
        let postgres = PostgresSettings { pool_size: 4, ..PostgresSettings::new(server.url().into()) };
        let engine = EngineSettings::Postgres(postgres);
        let store = store::open(&StoreSettings { engine, encryption_key: None }, clock.now()).await?;
        let sources = add_all(&web, store.as_ref(), clock.as_ref()).await?;
        let mut world = FleetWorld { nodes: Vec::new(), web, store, sources, server, directory };
        for number in 1..=settings.nodes {
            let node = world.start_node(settings, format!("node-{number}"))?;
            world.nodes.push(node);
        }
        Ok(world)
    }

    fn start_node(&self, settings: &FleetDemoSettings, name: String) -> Result<NodeProcess, DemoError> {
        let directory = self.directory.path();
        let file = directory.join(format!("{name}.yaml"));
        fs::write(&file, settings.node_configuration(directory, &name, &self.server.url()))?;
        let output = directory.join(format!("{name}.out"));
        NodeProcess::start(name, file, output)
    }

    pub(super) async fn fleet(&self) -> store::Result<FleetRecord> {
        match self.store.fleet() {
            Some(fleet) => fleet.fleet().await,
            None => Err(StoreError::Unavailable("the store has no fleet".to_owned())),
        }
    }

    pub(super) async fn audit(&self) -> store::Result<Audit> {
        Audit::take(self.store.as_ref(), &self.web, &self.sources).await
    }

    /// Fails if a node has ended by itself.
    pub(super) fn check_processes(&mut self) -> Result<(), DemoError> {
        for node in &mut self.nodes {
            if let Some(status) = node.ended()? {
                return Err(DemoError::NodeEnded { name: node.name.clone(), status, words: node.last_words() });
            }
        }
        Ok(())
    }

    /// Asks all nodes to leave, and waits for their ends; how many have ended with exit code 0.
    pub(super) async fn leave(&mut self) -> Result<usize, DemoError> {
        for node in &mut self.nodes {
            node.terminate()?;
        }
        let (watch, mut in_order, mut waiting) = (Stopwatch::start(), 0, self.nodes.len());
        while waiting > 0 && watch.elapsed() < LEAVE_WITHIN {
            for node in &mut self.nodes {
                if let Some(status) = node.ended()? {
                    waiting -= 1;
                    in_order += usize::from(status.success());
                }
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(in_order)
    }

    /// Ends everything and removes it.
    pub(super) async fn end(self) -> Result<(), DemoError> {
        let FleetWorld { nodes, web, store, server, directory, .. } = self;
        drop((nodes, web));
        store.close().await;
        drop((store, server));
        Ok(directory.close()?)
    }
}
