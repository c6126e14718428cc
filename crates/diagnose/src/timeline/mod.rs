//! What happened inside the window, and when: a mean over the window never hides a bad stretch of it.
#![allow(dead_code, unused_imports, reason = "symptoms and verdict read it from their next change on")]

mod intervals;

pub(crate) use intervals::{Interval, intervals};
