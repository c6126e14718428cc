//! The collector: full snapshots and snapshots of counters.

use std::collections::BTreeSet;

use intriage_case::{HostSnapshot, Millis};
use thiserror::Error;

use super::gather::Gather;
use super::process::{self, Watched};
use super::root::{Root, UNANSWERED};
use super::{amdgpu, round_trip, system};
use crate::clock;

/// Snapshots of counters between two searches for processes, busy threads and listeners: a search looks at every process
/// and every socket of the machine.
const SEARCH_EVERY: u32 = 10;

/// Why a machine cannot be looked at.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum HostError {
    /// Another system.
    #[error("the host can be looked at on Linux only, and this is {0}")]
    NotLinux(&'static str),
    /// No `/proc` there.
    #[error("{0} holds no proc folder: is /proc mounted?")]
    NoProc(String),
    /// The thread that looks could not be started.
    #[error("cannot look at the machine: {0}")]
    Thread(String),
    /// Not even the first look ended in time.
    #[error("the kernel did not answer in time")]
    Unanswered,
}

/// Takes snapshots of a machine.
#[derive(Debug)]
pub struct Collector {
    root: Root,
    named: BTreeSet<u32>,
    watched: Vec<Watched>,
    amd_cards: Vec<String>,
    missing: BTreeSet<String>,
    since_search: u32,
    looked: Option<Millis>,
    buffer: Vec<u8>,
}

impl Collector {
    /// A collector for the machine under `root`. Processes are found by what they are; see [`Collector::watch`] for others.
    pub fn new(root: Root) -> Result<Self, HostError> {
        if root.is_live() && !cfg!(target_os = "linux") {
            return Err(HostError::NotLinux(std::env::consts::OS));
        }
        if !root.path("proc").is_dir() {
            return Err(HostError::NoProc(root.path("").display().to_string()));
        }
        Ok(Self {
            root,
            named: BTreeSet::new(),
            watched: Vec::new(),
            amd_cards: Vec::new(),
            missing: BTreeSet::new(),
            since_search: 0,
            looked: None,
            buffer: Vec::new(),
        })
    }

    /// Watches a process that no table knows, from the next search on.
    pub fn watch(&mut self, pid: u32) {
        self.named.insert(pid);
        self.since_search = SEARCH_EVERY;
    }

    /// The processes watched since the last snapshot.
    pub fn processes(&self) -> Vec<u32> {
        self.watched.iter().map(|w| w.pid).collect()
    }

    /// Everything. Takes some milliseconds, and on machines of several NUMA nodes up to 0.2 s a serving process.
    pub fn snapshot_full(&mut self) -> HostSnapshot {
        // The last look of a window may come right after one that was due.
        let at = clock::after(self.looked);
        self.looked = Some(at);
        let mut gather = Gather::new(&self.root, std::mem::take(&mut self.buffer));
        for path in self.root.avoided() {
            gather.deny(path, UNANSWERED);
        }
        process::refresh(&gather, &mut self.watched, &self.named);
        self.since_search = 0;
        system::counters(&mut gather, |_| false);
        system::facts(&mut gather);
        self.amd_cards = amdgpu::facts(&mut gather);
        round_trip::take(&mut gather);
        let mut groups = BTreeSet::new();
        for process in &mut self.watched {
            process::take_full(&mut gather, process, &mut groups);
        }
        self.missing = gather.missing().cloned().collect();
        let (snapshot, buffer) = gather.finish(at);
        self.buffer = buffer;
        snapshot
    }

    /// What changes. A process that appeared since is taken whole.
    pub fn snapshot_counters(&mut self) -> HostSnapshot {
        // The last look of a window may come right after one that was due.
        let at = clock::after(self.looked);
        self.looked = Some(at);
        let mut gather = Gather::new(&self.root, std::mem::take(&mut self.buffer));
        let mut new = Vec::new();
        self.since_search += 1;
        if self.since_search >= SEARCH_EVERY {
            self.since_search = 0;
            new = process::refresh(&gather, &mut self.watched, &self.named);
            for process in self.watched.iter_mut().filter(|w| !new.contains(&w.pid)) {
                process::choose_threads(&gather, process);
            }
            system::listeners(&mut gather, "/proc/net");
        }
        system::counters(&mut gather, |name| self.missing.contains(name));
        amdgpu::moves(&mut gather, &self.amd_cards);
        let (count, mut groups) = (self.watched.len(), BTreeSet::new());
        for process in &mut self.watched {
            if new.contains(&process.pid) {
                process::take_full(&mut gather, process, &mut groups);
            } else {
                process::take_counters(&mut gather, process, count, &mut groups);
            }
        }
        gather.forget(&self.missing);
        self.missing.extend(gather.missing().cloned());
        let (snapshot, buffer) = gather.finish(at);
        self.buffer = buffer;
        snapshot
    }
}
