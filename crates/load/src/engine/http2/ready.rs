//! Which streams h2 has news for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Which streams h2 has news for, and whether the connection itself wants to be polled.
#[derive(Debug, Default)]
pub(super) struct Ready {
    streams: Mutex<Vec<usize>>,
    connection: AtomicBool,
}

impl Ready {
    /// Wakes the connection.
    pub(super) fn connection(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    /// Wakes the stream in this place.
    pub(super) fn stream(self: &Arc<Self>, place: usize) -> Waker {
        Waker::from(Arc::new(Stream { place, ready: Arc::clone(self) }))
    }

    /// Whether the connection was woken since the last call.
    pub(super) fn take_connection(&self) -> bool {
        self.connection.swap(false, Ordering::Relaxed)
    }

    /// Swaps the streams that were woken since the last call into `into`, which must be empty.
    pub(super) fn take_streams(&self, into: &mut Vec<usize>) {
        std::mem::swap(into, &mut self.streams.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.connection.store(true, Ordering::Relaxed);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.connection.store(true, Ordering::Relaxed);
    }
}

struct Stream {
    place: usize,
    ready: Arc<Ready>,
}

impl Wake for Stream {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.streams.lock().unwrap_or_else(PoisonError::into_inner).push(self.place);
    }
}
