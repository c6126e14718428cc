//! The ends of a connection as h2 sees them: memory. The loop does the reading, the writing and the stamping.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Debug, Default)]
struct Ends {
    /// What arrived, and how much of it h2 has read.
    input: Vec<u8>,
    read: usize,
    output: Vec<u8>,
}

/// Both ends of a connection; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Pipe(Rc<RefCell<Ends>>);

impl Pipe {
    /// Bytes that arrived.
    pub(super) fn arrived(&self, bytes: &[u8]) {
        let mut ends = self.0.borrow_mut();
        // h2 reads until there is nothing left, so this keeps the buffer from growing.
        if ends.read == ends.input.len() {
            ends.input.clear();
            ends.read = 0;
        }
        ends.input.extend_from_slice(bytes);
    }

    /// What h2 wants to have sent.
    pub(super) fn output(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.borrow_mut().output)
    }
}

impl AsyncRead for Pipe {
    // Without a waker: the loop polls h2 after everything that arrives.
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut ends = self.0.borrow_mut();
        let left = &ends.input[ends.read..];
        if left.is_empty() {
            return Poll::Pending;
        }
        let taken = left.len().min(into.remaining());
        into.put_slice(&left[..taken]);
        ends.read += taken;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().output.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut ends = self.0.borrow_mut();
        for part in parts {
            ends.output.extend_from_slice(part);
        }
        Poll::Ready(Ok(parts.iter().map(|p| p.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
