//! What probes saw of the ways to the server: straight, and through each hop.

use intriage_case::{AddressSeen, Family, PathProbe, Route, Seconds, StreamSeen};

use crate::thresholds::{Limit, Thresholds};

/// The ways, each hop beside the direct one; times in seconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Paths {
    /// Straight to the server.
    pub(crate) direct: Flow,
    /// Hops that answered, in the order in which they were given: from the server outwards.
    pub(crate) hops: Vec<Flow>,
    /// Hops that did not answer, and why.
    pub(crate) silent: Vec<(String, String)>,
}

/// How answers flow on one way: medians over its streams.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Flow {
    /// The address probed.
    pub(crate) url: String,
    /// Straight to the server.
    pub(crate) direct: bool,
    /// Until the first text.
    pub(crate) first: f64,
    /// Until the last text.
    pub(crate) last: f64,
    /// Until the head of the answer.
    pub(crate) head: f64,
    /// Median gap between pieces.
    pub(crate) gap: f64,
    /// Pieces with text.
    pub(crate) pieces: f64,
    /// Reads that brought them.
    pub(crate) reads: f64,
    /// How answers are packed.
    pub(crate) encoding: Option<String>,
    /// Name, connection and handshake.
    pub(crate) set_up: f64,
    /// Until the head of a small answer on a warm connection.
    pub(crate) first_byte: Option<f64>,
    /// How streams asked for at once fared.
    pub(crate) held: Vec<StreamSeen>,
}

impl Paths {
    /// The ways, or what is missing.
    pub(crate) fn of(probes: &[PathProbe], thresholds: &Thresholds) -> Result<Self, String> {
        let Some(direct) = probes.iter().find(|p| p.route == Route::Direct) else {
            return Err("no way to the server was probed (--via URL)".into());
        };
        let direct = Flow::of(direct, thresholds)
            .map_err(|why| format!("no stream straight from the server to compare with: {why}"))?;
        let mut paths = Self { direct, hops: Vec::new(), silent: Vec::new() };
        for hop in probes.iter().filter(|p| p.route == Route::Via) {
            match Flow::of(hop, thresholds) {
                Ok(flow) => paths.hops.push(flow),
                Err(why) => paths.silent.push((hop.url.clone(), why)),
            }
        }
        match paths.silent.first() {
            Some((url, why)) if paths.hops.is_empty() => Err(format!("no stream came through {url}: {why}")),
            None if paths.hops.is_empty() => Err("no hop was probed (--via URL)".into()),
            _ => Ok(paths),
        }
    }

    /// How much later the first text comes through a hop, the connection included.
    pub(crate) fn later(&self, hop: &Flow) -> f64 {
        (hop.first + hop.set_up - self.direct.first - self.direct.set_up).max(0.0)
    }

    /// The first hop from the server outwards at which answers are held back; those behind it only pass that on.
    pub(crate) fn holding_back(&self, thresholds: &Thresholds) -> Option<&Flow> {
        let limit = |l| thresholds.get(l);
        if self.direct.is_clumped(thresholds) {
            return None;
        }
        self.hops.iter().find(|hop| {
            let together = hop.gap < limit(Limit::Compressed) * self.direct.gap;
            let late = hop.first - self.direct.first >= limit(Limit::ClientGap);
            let at_once = hop.reads <= limit(Limit::AtOnce);
            // A stream of two reads may begin on time; all of it waited for the buffer to fill.
            together && (late || at_once)
        })
    }
}

impl Flow {
    fn of(probe: &PathProbe, thresholds: &Thresholds) -> Result<Self, String> {
        let few = thresholds.get(Limit::FewestPieces);
        let good: Vec<&StreamSeen> =
            probe.streams.iter().filter(|s| s.error.is_none() && f64::from(s.chunks) >= few).collect();
        let of = |get: fn(&StreamSeen) -> Option<f64>| median(good.iter().filter_map(|s| get(s)).collect());
        let (Some(first), Some(last), Some(gap)) = (
            of(|s| s.first.map(Seconds::get)),
            of(|s| s.last.map(Seconds::get)),
            of(|s| s.gap_p50.map(Seconds::get)),
        ) else {
            let told =
                probe.streams.iter().rev().find_map(|s| s.error.clone()).or_else(|| probe.error.clone());
            return Err(told.unwrap_or_else(|| format!("no answer had {few} pieces")));
        };
        let connect = probe.addresses.iter().find_map(|a| a.connect).map_or(0.0, Seconds::get);
        Ok(Self {
            url: probe.url.clone(),
            direct: probe.route == Route::Direct,
            first,
            last,
            head: of(|s| s.headers.map(Seconds::get)).unwrap_or(0.0),
            gap,
            pieces: of(|s| Some(f64::from(s.chunks))).unwrap_or(0.0),
            reads: of(|s| Some(f64::from(s.reads))).unwrap_or(0.0),
            encoding: good.iter().find_map(|s| s.encoding.clone()),
            set_up: probe.resolved.took.get() + connect + probe.tls.map_or(0.0, Seconds::get),
            first_byte: probe.first_byte.map(Seconds::get),
            held: probe.held.clone(),
        })
    }

    /// Whether several pieces share a read even here.
    pub(crate) fn is_clumped(&self, thresholds: &Thresholds) -> bool {
        self.reads < thresholds.get(Limit::Flowing) * self.pieces
    }

    /// Streams asked for at once whose text began only when another had ended, and that then took their time: how many
    /// waited for their turn, and the longest wait. `None` where too few answered.
    ///
    /// The text is looked at and not the head: some engines send the head before they take a request up, some proxies
    /// hold it until there is text.
    pub(crate) fn waited_for_turn(&self, thresholds: &Thresholds) -> Option<(usize, f64)> {
        let good: Vec<(f64, f64)> = self
            .held
            .iter()
            .filter(|s| s.error.is_none())
            .filter_map(|s| Some((s.first?.get(), s.last?.get())))
            .collect();
        if good.len() < 2 {
            return None;
        }
        let first_end = good.iter().map(|(_, last)| *last).fold(f64::INFINITY, f64::min);
        // A buffer holds text back until the end as well, but then all of it comes at once.
        let own = thresholds.get(Limit::OwnTurn) * first_end;
        let waited = good.iter().filter(|(first, last)| *first >= first_end && last - first >= own);
        Some((waited.clone().count(), waited.map(|(first, _)| *first).fold(0.0, f64::max)))
    }
}

/// An address that does not connect and stands before one that does: whoever tries them in order loses this time.
pub(crate) fn dead_before_alive(probe: &PathProbe) -> Option<(Family, Seconds)> {
    let alive = probe.addresses.iter().position(|a| a.connect.is_some())?;
    let lost = |a: &AddressSeen| Some((a.family, a.failed?));
    probe.addresses[..alive].iter().filter_map(lost).max_by(|a, b| a.1.get().total_cmp(&b.1.get()))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
