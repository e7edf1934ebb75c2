//! Threads with a connection each that execute jobs from one bounded queue, so that no caller blocks on
//! the disk.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use async_channel::{Receiver, Sender};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::super::{Result, StoreError, StoreHealth};

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A queue and the threads behind it.
pub(super) struct Threads {
    jobs: Sender<Job>,
    handles: Mutex<Vec<JoinHandle<()>>>,
    role: Role,
    health: Arc<StoreHealth>,
}

/// What the jobs of a queue do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Writer,
    Reader,
}

impl Role {
    fn thread_name(self) -> String {
        match self {
            Role::Writer => "sqlite-writer".to_owned(),
            Role::Reader => "sqlite-reader".to_owned(),
        }
    }
}

impl Threads {
    pub(super) fn start(
        role: Role,
        connections: Vec<Connection>,
        queue: usize,
        health: Arc<StoreHealth>,
    ) -> Result<Threads> {
        let (jobs, waiting) = async_channel::bounded(queue);
        let start = |connection| {
            let waiting = waiting.clone();
            std::thread::Builder::new()
                .name(role.thread_name())
                .spawn(move || work(connection, &waiting))
                .map_err(|error| StoreError::Unavailable(format!("no thread can be started: {error}")))
        };
        let handles = connections.into_iter().map(start).collect::<Result<Vec<_>>>()?;
        Ok(Threads { jobs, handles: Mutex::new(handles), role, health })
    }

    /// Runs a job on one of the threads. A queued job is executed even if the caller stops
    /// waiting for it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let (role, health) = (self.role, self.health.clone());
        let job: Job = Box::new(move |connection| {
            let result = work(connection);
            match role {
                Role::Writer => health.note_write(&result),
                Role::Reader => health.note_read(&result),
            }
            // Ignore a caller that stopped waiting.
            let _ = reply.send(result);
        });
        self.jobs.send(job).await.map_err(|_| closed())?;
        // The job drops its end without an answer only if it panicked.
        answer.await.map_err(|_| StoreError::Internal("a piece of work on the database panicked".into()))?
    }

    /// Accepts no more jobs, and waits until queued jobs are done and connections are closed.
    pub(super) async fn stop(&self) {
        self.jobs.close();
        let handles = std::mem::take(&mut *self.handles.lock());
        let joined = tokio::task::spawn_blocking(move || {
            for handle in handles {
                // A thread that panicked has closed its connection, too.
                let _ = handle.join();
            }
        });
        let _ = joined.await;
    }
}

fn work(mut connection: Connection, waiting: &Receiver<Job>) {
    while let Ok(job) = waiting.recv_blocking() {
        // A panic ends the job, whose transaction rolls back when it is dropped; the thread goes on.
        let _ = catch_unwind(AssertUnwindSafe(|| job(&mut connection)));
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("it is closed".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(count: usize) -> Threads {
        let connections = (0..count).map(|_| Connection::open_in_memory().unwrap()).collect();
        Threads::start(Role::Writer, connections, 4, Arc::default()).unwrap()
    }

    async fn create_table(threads: &Threads) {
        let create = |connection: &mut Connection| connection.execute_batch("CREATE TABLE one (x)");
        threads.run(move |connection| create(connection).map_err(super::super::values::error)).await.unwrap();
    }

    #[tokio::test]
    async fn work_is_done_elsewhere_and_in_order() {
        let threads = threads(1);
        let elsewhere = threads.run(|_| Ok(std::thread::current().id())).await.unwrap();
        assert_ne!(elsewhere, std::thread::current().id());
        create_table(&threads).await;
        let count: i64 = threads
            .run(|connection| Ok(connection.query_row("SELECT count(*) FROM one", [], |row| row.get(0)).unwrap()))
            .await
            .unwrap();
        assert_eq!(count, 0);
    }

    #[tokio::test]
    async fn a_panic_rolls_back_and_leaves_the_thread_usable() {
        let threads = threads(1);
        create_table(&threads).await;
        let panicked = threads
            .run(|connection| -> Result<()> {
                let transaction = connection.transaction().unwrap();
                transaction.execute_batch("INSERT INTO one VALUES (1)").unwrap();
                panic!("on purpose");
            })
            .await;
        assert!(matches!(panicked, Err(StoreError::Internal(_))));
        let count: i64 = threads
            .run(|connection| Ok(connection.query_row("SELECT count(*) FROM one", [], |row| row.get(0)).unwrap()))
            .await
            .unwrap();
        assert_eq!(count, 0);
    }

    #[tokio::test]
    async fn after_stopping_work_is_refused_as_unavailable() {
        let threads = threads(2);
        threads.stop().await;
        assert!(threads.run(|_| Ok(())).await.unwrap_err().is_passing());
    }
}
