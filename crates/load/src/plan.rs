//! What a run will send, when, and where it stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use intriage_case::Nanos;

use crate::api::Common;
use crate::arrivals::Schedule;
use crate::prompts::Source;

/// How requests come.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// So many sessions at once; the next begins when one ends.
    Closed {
        /// Sessions at once.
        concurrency: u32,
    },
    /// By the clock.
    Open {
        /// The instants, counted from the start of the plan.
        schedule: Schedule,
        /// Requests in flight at most; more wait, and their waiting is counted.
        max_in_flight: Option<u32>,
    },
}

/// What a run will send, when, and where it stops.
#[derive(Debug)]
pub struct Plan {
    /// What the requests say.
    pub source: Source,
    /// What they have in common.
    pub common: Common,
    /// Header lines of every request, each with its line end; the path and lengths come on top.
    pub headers: String,
    /// The path requests go to.
    pub path: String,
    /// The server's name and port.
    pub host: String,
    /// Begins every request's id.
    pub id_prefix: String,
    /// Keep connections open between requests.
    pub keep_alive: bool,
    /// Make the connections of a closed loop before its first request.
    pub opens_ahead: bool,
    /// How they come.
    pub pattern: Pattern,
    /// Sessions to send after the warm-up; without it, until the time is over.
    pub sessions: Option<u64>,
    /// Sessions that warm up: the first so many.
    pub warmup_sessions: u64,
    /// Sessions planned before this much time has passed warm up too.
    pub warmup_time: Nanos,
    /// No session begins later than this after the start.
    pub duration: Option<Nanos>,
    /// Where each stage ends, counted from the start; one stage where empty.
    pub stage_ends: Vec<Nanos>,
    /// Sessions have several turns.
    pub several_turns: bool,
    /// This is shard j of n.
    pub shard: (u32, u32),
    /// When the plan starts, on the run's clock.
    pub start: Nanos,
    next: AtomicU64,
}

/// The parts of a plan that every plan needs.
#[derive(Debug)]
pub struct Basics {
    /// What the requests say.
    pub source: Source,
    /// What they have in common.
    pub common: Common,
    /// The server's name and port.
    pub host: String,
    /// How requests come.
    pub pattern: Pattern,
}

impl Plan {
    /// A plan without an end, a warm-up or anything special.
    pub fn new(basics: Basics) -> Self {
        Self {
            path: basics.common.api.path().to_owned(),
            source: basics.source,
            common: basics.common,
            headers: String::new(),
            host: basics.host,
            id_prefix: "intriage".to_owned(),
            keep_alive: true,
            opens_ahead: true,
            pattern: basics.pattern,
            sessions: None,
            warmup_sessions: 0,
            warmup_time: Nanos::ZERO,
            duration: None,
            stage_ends: Vec::new(),
            several_turns: false,
            shard: (0, 1),
            start: Nanos::ZERO,
            next: AtomicU64::new(0),
        }
    }

    /// One feed for each of `threads` loops.
    pub fn feeds(self: &Arc<Self>, threads: u32) -> Vec<crate::feed::PlannedFeed> {
        (0..threads.max(1))
            .map(|index| crate::feed::PlannedFeed::new(Arc::clone(self), index, threads.max(1)))
            .collect()
    }

    /// The number of the next session of a closed loop; `None` when all are given out.
    pub(crate) fn claim(&self) -> Option<u64> {
        let (shard, of) = (u64::from(self.shard.0), u64::from(self.shard.1.max(1)));
        let index = self.next.fetch_add(1, Ordering::Relaxed) * of + shard;
        self.has(index).then_some(index)
    }

    /// Whether a session of this number belongs to the plan.
    pub(crate) fn has(&self, index: u64) -> bool {
        self.sessions.is_none_or(|n| index < n.saturating_add(self.warmup_sessions))
    }

    /// Whether this session warms up.
    pub(crate) fn warms_up(&self, index: u64, at: Nanos) -> bool {
        index < self.warmup_sessions || at.since(self.start) < self.warmup_time
    }

    /// The stage of an instant.
    pub(crate) fn stage(&self, at: Nanos) -> u16 {
        let at = at.since(self.start);
        let last = self.stage_ends.len().saturating_sub(1);
        let stage = self.stage_ends.iter().position(|end| at < *end).unwrap_or(last);
        u16::try_from(stage).unwrap_or(u16::MAX)
    }

    /// The last instant at which a session may begin.
    pub(crate) fn ends(&self) -> Nanos {
        self.duration.map_or(Nanos::NEVER, |d| self.start + d + self.warmup_time)
    }
}
