//! What happened inside the window, and when: a mean over the window never hides a bad stretch of it.
#![allow(dead_code, unused_imports, reason = "symptoms and verdict read it from their next change on")]

mod intervals;

use intriage_case::{Millis, Quantity, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use intervals::{Interval, intervals};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    Standstill,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    pub kind: EventKind,
    pub start: Millis,
    pub seconds: Seconds,
    pub size: Option<Quantity>,
    pub says: String,
}

impl Event {
    pub(crate) fn end(&self) -> Millis {
        Millis(self.start.0 + (self.seconds.get() * 1000.0) as u64)
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Timeline {
    pub(crate) events: Vec<Event>,
    pub(crate) intervals: Vec<Interval>,
}

impl Timeline {
    pub(crate) fn of(e: &crate::evidence::Evidence<'_>) -> Self {
        Self { events: Vec::new(), intervals: intervals(e) }
    }

    pub(crate) fn standstills(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|e| e.kind == EventKind::Standstill)
    }
}
