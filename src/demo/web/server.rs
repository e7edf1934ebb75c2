//! The thread that serves the simulated web.

use std::io;
use std::sync::{Arc, mpsc as answers};
use std::thread::JoinHandle;

use tokio::net::TcpSocket;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::listener::{self, HostListener, Order};
use super::web_state::WebState;

/// A running server; it ends when this is dropped.
pub(super) struct Server {
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves all hosts; returns once those that should listen do.
    pub(super) fn start(
        web_state: &Arc<WebState>,
        sockets: Vec<TcpSocket>,
        orders: Vec<mpsc::Receiver<Order>>,
    ) -> io::Result<Server> {
        let (stop, stopped) = oneshot::channel();
        let (started, outcome) = answers::sync_channel(1);
        let web_state = Arc::clone(web_state);
        let thread = std::thread::Builder::new().name("little-web".into()).spawn(move || {
            // Built and dropped here: within the runtime of a caller it could not be dropped.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let serving = runtime.and_then(|runtime| {
                let listeners = runtime.block_on(serve(&web_state, sockets, orders));
                listeners.map(|()| runtime)
            });
            let (outcome, runtime) = match serving {
                Ok(runtime) => (Ok(runtime.handle().clone()), Some(runtime)),
                Err(error) => (Err(error), None),
            };
            // The caller waits for this.
            let _ = started.send(outcome);
            if let Some(runtime) = runtime {
                // An error means that the handle was dropped, which is how we are told.
                let _ = runtime.block_on(stopped);
            }
        })?;
        let runtime =
            outcome.recv().map_err(|_| io::Error::other("the thread of the simulated web ended at once"))??;
        Ok(Server { runtime, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns when everything is written down whose last byte a client can have seen: between the two the only thread
    /// does nothing else, so that its next free moment is late enough.
    pub(super) fn catch_up(&self) {
        let (done, outcome) = answers::sync_channel(1);
        // Ignore a server that has ended.
        self.runtime.spawn(async move { done.send(()) });
        let _ = outcome.recv();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A thread that panicked has ended too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn serve(
    web_state: &Arc<WebState>,
    sockets: Vec<TcpSocket>,
    orders: Vec<mpsc::Receiver<Order>>,
) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(web_state.settings.connections_max.min(Semaphore::MAX_PERMITS)));
    let mut listeners = Vec::with_capacity(sockets.len());
    for (host, socket) in sockets.into_iter().enumerate() {
        listeners
            .push(HostListener::Shut(socket).turned(web_state.hosts[host].address, web_state.reaction(host)).await?);
    }
    for (host, (listener, orders)) in listeners.into_iter().zip(orders).enumerate() {
        tokio::spawn(listener::keep(Arc::clone(web_state), host, listener, orders, Arc::clone(&places)));
    }
    Ok(())
}
