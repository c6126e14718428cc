//! A connection that remembers how much each read brought.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Reads remembered at most: an answer that comes byte by byte must not fill the memory.
const MOST_READS: usize = 1 << 16;

/// The sizes in bytes of the reads of a connection, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Reads(Arc<Mutex<Vec<u32>>>);

impl Reads {
    /// How many there were.
    pub(super) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// All of them.
    pub(super) fn sizes(&self) -> Vec<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, bytes: usize) {
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reads.len() < MOST_READS {
            reads.push(u32::try_from(bytes).unwrap_or(u32::MAX));
        }
    }
}

/// A connection with its [`Reads`].
pub(super) struct Tap<S> {
    inner: S,
    reads: Reads,
}

impl<S> Tap<S> {
    /// Counts the reads of `inner`.
    pub(super) fn new(inner: S, reads: Reads) -> Self {
        Self { inner, reads }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tap<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, into);
        let brought = into.filled().len() - before;
        if polled.is_ready() && brought > 0 {
            self.reads.add(brought);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tap<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
