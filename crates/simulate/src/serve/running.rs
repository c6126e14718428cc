//! Something that serves on a thread of its own until it is told to stop.

use std::future::Future;
use std::net::SocketAddr;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

/// A server at work. Dropping it stops it.
#[derive(Debug)]
pub struct Running<T> {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Running<T> {
    /// Runs `serve` on a thread and event loop of its own; it ends when its argument resolves.
    pub(super) fn start<F>(
        listener: std::net::TcpListener,
        serve: impl FnOnce(tokio::net::TcpListener, oneshot::Receiver<()>) -> F + Send + 'static,
    ) -> std::io::Result<Self>
    where
        F: Future<Output = T>,
    {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = event_loop()?;
        let (stop, stopped) = oneshot::channel();
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let thread = std::thread::Builder::new()
            .name("simulate".into())
            .spawn(move || runtime.block_on(serve(listener, stopped)))?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }
}

/// An event loop for one thread.
pub(super) fn event_loop() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

impl<T> Running<T> {
    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops it and returns what it has to say; `None` if it fell over.
    pub fn stop(mut self) -> Option<T> {
        self.end()
    }

    fn end(&mut self) -> Option<T> {
        // Without a receiver it has ended already.
        let _ = self.stop.take().map(|stop| stop.send(()));
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.end();
    }
}
