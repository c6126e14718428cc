//! Sockets: accepts connections, holds them to limits, ends in order.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::serve::api::{self, State};
use crate::serve::driver::Driver;
use crate::serve::running::{Running, event_loop};
use crate::serve::{Lag, ServeConfig, ServeError, clock};

/// Connections at once; more wait in the system's queue.
const CONNECTIONS: usize = 1000;
/// Longest a client may take to send a request's head, and to stay without sending one.
const HEAD: Duration = Duration::from_secs(30);
/// Largest head of a request, in bytes.
const HEAD_BYTES: usize = 64 * 1024;
/// Pause after an accept that failed, most likely for want of file descriptors.
const BREATH: Duration = Duration::from_millis(50);

/// Serves on a thread of its own; port 0 takes any.
pub fn start(config: ServeConfig, address: SocketAddr) -> Result<Running<Lag>, ServeError> {
    let listener = listen(&config, address)?;
    Ok(Running::start(listener, move |listener, stop| async move {
        // A dropped handle stops it as well.
        serve(config, listener, async move { drop(stop.await) }).await
    })?)
}

/// Serves on this thread until Ctrl-C or for so long; `ready` is told the URL and says whether to go on.
pub fn run(
    config: ServeConfig,
    address: SocketAddr,
    limit: Option<Duration>,
    ready: impl FnOnce(&str) -> bool,
) -> Result<Lag, ServeError> {
    let listener = listen(&config, address)?;
    listener.set_nonblocking(true)?;
    let url = format!("http://{}", listener.local_addr()?);
    event_loop()?.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        if !ready(&url) {
            return Ok(Lag::default());
        }
        let stop = async move {
            let over = async {
                match limit {
                    Some(limit) => tokio::time::sleep(limit).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over => {}
                // Without signals there is still the limit, and the terminal's own way to end a program.
                Ok(()) = tokio::signal::ctrl_c() => {}
            }
        };
        Ok(serve(config, listener, stop).await)
    })
}

fn listen(config: &ServeConfig, address: SocketAddr) -> Result<TcpListener, ServeError> {
    config.check()?;
    TcpListener::bind(address).map_err(|why| ServeError::Listen { address: address.to_string(), why })
}

async fn serve(
    config: ServeConfig,
    listener: tokio::net::TcpListener,
    stop: impl Future<Output = ()>,
) -> Lag {
    let (commands, inbox) = mpsc::unbounded_channel();
    let mut driver = tokio::spawn(Driver::new(&config, clock::now().unix()).run(inbox));
    let state = Arc::new(State::new(config, commands));
    let mut died = None;
    let stop = async {
        tokio::select! {
            () = stop => {}
            lag = &mut driver => died = Some(lag),
        }
    };
    accept(&listener, stop, |tcp| {
        let state = Arc::clone(&state);
        async move {
            let service = service_fn(move |request| api::answer(Arc::clone(&state), request));
            // A client that breaks off or talks nonsense ends its own connection only.
            let _ = builder().serve_connection(TokioIo::new(tcp), service).await;
        }
    })
    .await;
    // The last sender: the driver returns.
    drop((state, listener));
    let ended = match died {
        Some(ended) => ended,
        None => driver.await,
    };
    // A driver that fell over is a fault of this program and must not look like an end.
    ended.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Lag::default(),
    })
}

/// HTTP/1.1 with the limits of this file.
pub(super) fn builder() -> hyper::server::conn::http1::Builder {
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES);
    builder
}

/// Gives every connection to `handle` until `stop`; then open ones are cut.
pub(super) async fn accept<F>(
    listener: &tokio::net::TcpListener,
    stop: impl Future<Output = ()>,
    handle: impl Fn(TcpStream) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut open = JoinSet::new();
    let accepting = async {
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
            while open.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((tcp, _)) => {
                    // Tokens are small and must not wait for company.
                    let _ = tcp.set_nodelay(true);
                    let connection = handle(tcp);
                    open.spawn(async move {
                        connection.await;
                        drop(place);
                    });
                }
                Err(_) => tokio::time::sleep(BREATH).await,
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop => {}
    }
    open.shutdown().await;
}
