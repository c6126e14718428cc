//! The client's own condition during a run: what the certificate judges.

use intriage_case::{Bytes, Nanos, Ratio, Seconds};
use serde::{Deserialize, Serialize};

/// How the client fared: the foot of a run's file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClientFacts {
    /// From start to end.
    pub elapsed: Seconds,
    /// Each event loop.
    pub threads: Vec<ThreadFacts>,
    /// Arrivals carry the kernel's receive stamp.
    pub kernel_stamps: bool,
    /// Most files this process may open.
    pub file_limit: u64,
    /// Most memory it held.
    pub peak_memory: Bytes,
    /// CPU time of the whole process.
    pub cpu: Seconds,
    /// Share of the machine's CPU time taken by the hypervisor for others.
    pub stolen: Option<Ratio>,
    /// The user ended it before its time.
    pub interrupted: bool,
    /// Shortest time in which a connection stood: the network there and back.
    pub round_trip: Option<Nanos>,
    /// Prefix-cache hits and queries in tokens, as the server's own counters say.
    pub server_hits: Option<(f64, f64)>,
    /// What the server's front end took for small questions beside the load.
    #[serde(default)]
    pub front_end: Option<FrontEnd>,
}

/// What a server's front end took for requests that need no model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontEnd {
    /// How many were asked.
    pub questions: u64,
    /// On average, to the first byte of the answer.
    pub mean: Nanos,
    /// At most.
    pub most: Nanos,
}

/// How one event loop fared.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadFacts {
    /// From its first request to its last.
    pub busy_window: Seconds,
    /// CPU time it used in that window.
    pub cpu: Seconds,
    /// Time it was ready to run but did not get a core.
    pub waited: Option<Seconds>,
    /// Longest time between two looks at its sockets.
    pub longest_turn: Nanos,
}
