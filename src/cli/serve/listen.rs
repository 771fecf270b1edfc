//! The socket: who is let in, for how long, and the end.
//!
//! Owns the order of the end: nobody new is let in, what runs comes to its end, everybody is told,
//! and then the connections are closed. A second signal ends it at once.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{interval, sleep, timeout};

use crate::actuator::signals::Signals;
use crate::ops::OpError;

/// How many connections there are at most; who comes then waits to be let in.
const CONNECTIONS_MAX: usize = 1024;
/// How long a connection may say nothing, or take for the head of a request.
const HEAD_WITHIN: Duration = Duration::from_mins(1);
/// How often it is looked whether to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long connections may take to close once everybody was told.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// What ends a server.
pub(super) struct Ends<'s> {
    pub(super) signals: &'s Signals,
    /// What has failed so that nothing more may be written.
    pub(super) fatal: mpsc::UnboundedReceiver<OpError>,
    /// Asks for the end of what runs.
    pub(super) drain: Box<dyn FnOnce() + 's>,
    /// Told, or dropped, once nothing runs any more.
    pub(super) drained: oneshot::Receiver<()>,
}

/// Serves until a signal comes, then ends as said above. An error is what has ended it otherwise.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    mut ends: Ends<'_>,
) -> Result<(), OpError> {
    let listener = tokio::net::TcpListener::from_std(listener)
        .map_err(|error| OpError::Internal { what: format!("the socket: {error}") })?;
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let mut look = interval(LOOK_EVERY);
    let mut failure;
    loop {
        tokio::select! {
            let_in = let_in(&listener, &room) => {
                let Some((stream, permit)) = let_in else { continue };
                let service = TowerToHyperService::new(router.clone());
                // Whoever hangs up has still asked: what was sent whole is carried out, also where
                // the end of the connection is read with it.
                let connection = http1::Builder::new()
                    .half_close(true)
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_WITHIN)
                    .serve_connection(TokioIo::new(stream), service);
                let connection = graceful.watch(connection);
                tokio::spawn(async move {
                    // How a client goes away is nobody's concern.
                    let _ = connection.await;
                    drop(permit);
                });
            }
            _ = look.tick() => {
                failure = ends.fatal.try_recv().ok();
                if failure.is_some() || ends.signals.count() > 0 {
                    break;
                }
            }
        }
    }
    drop(listener);
    (ends.drain)();
    let is_failed = failure.is_some();
    let closed = async {
        // What nobody can record any more is not waited for, only told to whoever asked.
        if !is_failed {
            let _ = ends.drained.await;
        }
        let _ = timeout(CLOSE_WITHIN, graceful.shutdown()).await;
    };
    tokio::pin!(closed);
    loop {
        tokio::select! {
            () = &mut closed => return failure.map_or(Ok(()), Err),
            _ = look.tick() => {
                failure = failure.or_else(|| ends.fatal.try_recv().ok());
                if ends.signals.count() > 1 {
                    let signal = ends.signals.first().unwrap_or_default();
                    return Err(OpError::Interrupted { signal, key: None });
                }
            }
        }
    }
}

/// The next connection, once there is room for it.
async fn let_in(
    listener: &tokio::net::TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    if let Ok((stream, _)) = listener.accept().await {
        // Answers are short, and nobody waits for more of them.
        let _ = stream.set_nodelay(true);
        return Some((stream, permit));
    }
    // Where no descriptor is left, others give some back soon.
    sleep(LOOK_EVERY).await;
    None
}
