//! Finding a boundary by probing: the highest rate that holds the objectives, and the knee of throughput.

use intriage_case::Objective;
use intriage_record::{Group, Summary};
use schemars::JsonSchema;
use serde::Serialize;

/// Whether a load holds an objective, as far as the number of samples lets one say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// Yes, with 95 % confidence.
    Yes,
    /// No, with 95 % confidence.
    No,
    /// By the figure itself, but its interval crosses the limit.
    Barely,
    /// Not by the figure itself, but its interval crosses the limit.
    Hardly,
    /// The client could not make this load or not see its answers in time: whose limit it is cannot be told.
    Untold,
}

impl Holds {
    const fn good(self) -> bool {
        matches!(self, Self::Yes | Self::Barely)
    }
}

/// One load that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Probe {
    /// Requests a second, or requests in flight.
    pub load: f64,
    /// Whether it holds.
    pub holds: Holds,
    /// The objective that is nearest to its limit or farthest beyond, and its figure as a share of the limit.
    pub binding: Option<(Objective, f64)>,
    /// Its figures.
    pub summary: Summary,
}

impl Probe {
    fn client_fault(&self) -> Option<String> {
        self.summary.certificate.client_fault().map(str::to_owned)
    }
}

/// The boundary.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Boundary {
    /// Always `intriage.bench-search/1`.
    pub schema: String,
    /// The highest rate that holds: by interpolation between the probes around it. Absent where none holds.
    pub rate: Option<f64>,
    /// It lies between these with 95 % confidence; open above where nothing tried was too much.
    pub interval: (Option<f64>, Option<f64>),
    /// The objective that stops it.
    pub binding: Option<Objective>,
    /// What was wrong with the client at the first load that did not hold: the server may well take more.
    pub limited_by_client: Option<String>,
    /// Why the rate is one of another load than declared: lengths or cache hits came out otherwise.
    pub doubts: Vec<String>,
    /// All that was tried, in order.
    pub probes: Vec<Probe>,
}

/// Probes that narrow the boundary once it is bracketed.
const NARROWING: usize = 6;
/// The bracket is narrow enough.
const NARROW: f64 = 1.05;
/// Doublings at most before it is taken for unbounded.
const DOUBLINGS: usize = 16;

/// Judges a run by objectives.
pub fn judge(load: f64, summary: Summary, objectives: &[Objective]) -> Probe {
    let mut holds = Holds::Yes;
    let mut binding: Option<(Objective, f64)> = None;
    for objective in objectives {
        let (share, one) = measure(&summary.all, objective);
        if binding.is_none_or(|(_, worst)| share > worst) {
            binding = Some((*objective, share));
        }
        holds = worse(holds, one);
    }
    // A server that refuses is not faster.
    let requests = summary.all.requests;
    if requests.failed * 100 > requests.planned {
        holds = Holds::No;
    }
    // What the client does late adds to the figures, so a load that holds all the same does hold.
    if !holds.good() && summary.certificate.client_fault().is_some() {
        holds = Holds::Untold;
    }
    Probe { load, holds, binding, summary }
}

const fn worse(a: Holds, b: Holds) -> Holds {
    match (a, b) {
        (Holds::Untold, _) | (_, Holds::Untold) => Holds::Untold,
        (Holds::No, _) | (_, Holds::No) => Holds::No,
        (Holds::Hardly, _) | (_, Holds::Hardly) => Holds::Hardly,
        (Holds::Barely, _) | (_, Holds::Barely) => Holds::Barely,
        _ => Holds::Yes,
    }
}

/// The figure as a share of the limit, and whether it holds.
fn measure(group: &Group, objective: &Objective) -> (f64, Holds) {
    let Some(held) = group.goodput.iter().flat_map(|g| &g.objectives).find(|h| h.objective == *objective)
    else {
        return (0.0, Holds::Yes);
    };
    let Some(measured) = held.measured else { return (f64::INFINITY, Holds::No) };
    let holds = match (measured <= objective.limit, held.is_sure()) {
        (true, true) => Holds::Yes,
        (true, false) => Holds::Barely,
        (false, false) => Holds::Hardly,
        (false, true) => Holds::No,
    };
    (measured / objective.limit, holds)
}

/// Finds the highest rate that holds, from a first guess: doubles or halves until it is bracketed, then narrows.
pub fn highest_rate<E>(first: f64, mut probe: impl FnMut(f64) -> Result<Probe, E>) -> Result<Boundary, E> {
    let mut probes: Vec<Probe> = Vec::new();
    let (mut low, mut high) = (None, None);
    let mut rate = first.max(1e-3);
    // A hiccup of this machine must not decide: what cannot be told is tried once more.
    let mut probe = |rate| match probe(rate) {
        Ok(tried) if tried.holds == Holds::Untold => probe(rate),
        done => done,
    };
    for _ in 0..DOUBLINGS {
        let tried = probe(rate)?;
        let good = tried.holds.good();
        probes.push(tried);
        if good {
            low = Some(rate);
        } else {
            high = Some(rate);
        }
        if low.is_some() && high.is_some() {
            break;
        }
        rate = if good { rate * 2.0 } else { rate / 2.0 };
    }
    if let (Some(mut good), Some(mut bad)) = (low, high) {
        for _ in 0..NARROWING {
            if bad / good <= NARROW {
                break;
            }
            let middle = (good * bad).sqrt();
            let tried = probe(middle)?;
            if tried.holds.good() {
                good = middle;
            } else {
                bad = middle;
            }
            probes.push(tried);
        }
    }
    Ok(Boundary::of(probes))
}

impl Boundary {
    /// What the probes made so far say.
    pub fn of(probes: Vec<Probe>) -> Self {
        let highest = |which: &dyn Fn(&&Probe) -> bool| {
            probes.iter().filter(which).max_by(|a, b| a.load.total_cmp(&b.load))
        };
        let surely_bad =
            probes.iter().filter(|p| p.holds == Holds::No).min_by(|a, b| a.load.total_cmp(&b.load));
        let ceiling = surely_bad.map_or(f64::INFINITY, |p| p.load);
        let surely_good = highest(&|p| p.holds == Holds::Yes && p.load < ceiling);
        let good = highest(&|p| p.holds.good() && p.load < ceiling);
        let above = good.and_then(|g| {
            probes
                .iter()
                .filter(|p| !p.holds.good() && p.load > g.load)
                .min_by(|a, b| a.load.total_cmp(&b.load))
        });
        let ended_by = match good {
            Some(_) => above,
            None => probes.last(),
        };
        let other_load = |p: &Probe| {
            let checks = p.summary.certificate.checks.iter();
            let failed = checks.filter(|c| c.passed == Some(false) && c.name.is_of_load());
            failed.map(|c| c.seen.clone()).collect()
        };
        let doubts = good.map(other_load).unwrap_or_default();
        let limited_by_client = ended_by.filter(|p| p.holds == Holds::Untold).and_then(Probe::client_fault);
        Self {
            schema: "intriage.bench-search/1".to_owned(),
            rate: good.map(|g| interpolate(g, above)),
            interval: (surely_good.map(|p| p.load), surely_bad.map(|p| p.load)),
            binding: above.or(surely_bad).and_then(|p| p.binding).map(|(objective, _)| objective),
            limited_by_client,
            doubts,
            probes,
        }
    }
}

/// Where the binding figure crosses its limit between two probes, on logarithmic scales.
fn interpolate(good: &Probe, bad: Option<&Probe>) -> f64 {
    let (Some(bad), Some((_, under))) = (bad, good.binding) else { return good.load };
    let Some((_, over)) = bad.binding else { return good.load };
    if !(under > 0.0 && over.is_finite() && over > under) {
        return good.load;
    }
    let share = ((1.0 / under).ln() / (over / under).ln()).clamp(0.0, 1.0);
    good.load * (bad.load / good.load).powf(share)
}

/// A sweep and its knee.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sweep {
    /// Always `intriage.bench-sweep/1`.
    pub schema: String,
    /// The fewest requests in flight that reach nine tenths of the most throughput seen.
    pub knee: Option<f64>,
    /// The most answer tokens a second seen.
    pub most_tokens_per_second: Option<f64>,
    /// It still grew at the last point.
    pub still_growing: bool,
    /// What was wrong with the client at the point with the most throughput: the server may well do more.
    pub limited_by_client: Option<String>,
    /// All points, in order.
    pub points: Vec<Probe>,
}

/// Throughput that grows by less with twice the requests has stopped growing.
const GROWS: f64 = 1.05;
/// The knee reaches this share of the most.
const KNEE: f64 = 0.9;

/// Doubles the requests in flight from 1 to `most`, until throughput stops growing twice in a row.
pub fn knee<E>(most: u32, mut probe: impl FnMut(u32) -> Result<Probe, E>) -> Result<Sweep, E> {
    let mut points: Vec<Probe> = Vec::new();
    let (mut at, mut flat) = (1u32, 0);
    let tokens = |p: &Probe| p.summary.all.throughput.output_tokens_per_second.unwrap_or(0.0);
    loop {
        let point = probe(at)?;
        let best = points.iter().map(tokens).fold(0.0, f64::max);
        flat = if tokens(&point) < best * GROWS { flat + 1 } else { 0 };
        points.push(point);
        if flat >= 2 || at >= most {
            break;
        }
        at = at.saturating_mul(2).min(most);
    }
    let best = points.iter().map(tokens).fold(0.0, f64::max);
    let knee = points.iter().find(|p| tokens(p) >= KNEE * best && best > 0.0).map(|p| p.load);
    let limited_by_client = points.iter().find(|p| tokens(p) >= best).and_then(Probe::client_fault);
    Ok(Sweep {
        schema: "intriage.bench-sweep/1".to_owned(),
        knee,
        most_tokens_per_second: (best > 0.0).then_some(best),
        still_growing: flat == 0,
        limited_by_client,
        points,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use intriage_case::Nanos;
    use intriage_record::{
        CheckName, Chunk, ChunkKind, ClientFacts, Declared, Finished, Header, Outcome, Request, Tally,
    };

    /// A server whose first tokens take 100 ms up to 40 requests a second and grow steeply beyond.
    fn served(rate: f64, seed: u64, objective: Objective) -> Summary {
        let declared = Declared { objectives: vec![objective], ..Declared::default() };
        let mut tally = Tally::new(declared.clone());
        for i in 0..400u64 {
            let noise = 0.5 + ((i * 7919 + seed * 104_729) % 1000) as f64 / 1000.0;
            let ttft = (0.1 + (rate / 40.0).powi(6) * 0.4) * noise;
            let at = Nanos((ttft * 1e9) as u64);
            let mut request = Request::planned(i, Nanos(0));
            (request.outcome, request.ended) = (Outcome::Ok, at);
            let chunk = Chunk { at, lag: 0, bytes: 1, kind: ChunkKind::Content, tokens: 0 };
            tally.add(&Finished { request, chunks: vec![chunk] });
        }
        let header = Header { declared, ..Header::default() };
        Summary::of(&header, &tally, Some(&ClientFacts::default()))
    }

    #[test]
    fn the_boundary_is_found_and_what_binds_is_named() {
        let objective: Objective = "ttft.p95=500ms".parse().unwrap();
        let mut asked = 0;
        let found = highest_rate(1.0, |rate| {
            asked += 1;
            Ok::<_, ()>(judge(rate, served(rate, asked, objective), &[objective]))
        })
        .unwrap();
        // 0.1 + 0.4 x^6 = 0.5 / 1.45 at x = 0.92, so about 37 a second.
        let rate = found.rate.unwrap();
        assert!((34.0..40.0).contains(&rate), "{rate}");
        assert!(
            found.interval.0.unwrap() <= rate && rate <= found.interval.1.unwrap(),
            "{:?}",
            found.interval
        );
        assert_eq!(found.binding, Some(objective));
        assert!(asked <= 14, "{asked} probes");
    }

    #[test]
    fn a_client_out_of_breath_is_no_limit_of_the_server() {
        let objective: Objective = "ttft.p95=500ms".parse().unwrap();
        let mut asked = Vec::new();
        let found = highest_rate(8.0, |rate| {
            asked.push(rate);
            let mut summary = served(rate, 1, objective);
            for check in &mut summary.certificate.checks {
                if check.name == CheckName::Receives && rate > 20.0 {
                    (check.passed, check.seen) = (Some(false), "read late".to_owned());
                }
            }
            Ok::<_, ()>(judge(rate, summary, &[objective]))
        })
        .unwrap();
        // It held 32 a second although it read late, and nobody knows about 64.
        assert!(found.rate.unwrap() >= 32.0, "{:?}", found.rate);
        assert_eq!(found.interval.1, None);
        assert_eq!(found.limited_by_client.as_deref(), Some("read late"));
        assert_eq!(asked.iter().filter(|rate| **rate == 64.0).count(), 2, "{asked:?}");
    }

    #[test]
    fn nothing_holds_and_everything_holds() {
        let objective: Objective = "ttft.p95=1ms".parse().unwrap();
        let none =
            highest_rate(8.0, |rate| Ok::<_, ()>(judge(rate, served(0.1, 1, objective), &[objective])))
                .unwrap();
        assert_eq!(none.rate, None);
        let loose: Objective = "ttft.p95=500ms".parse().unwrap();
        let all =
            highest_rate(8.0, |rate| Ok::<_, ()>(judge(rate, served(0.1, 1, loose), &[loose]))).unwrap();
        assert_eq!(all.interval.1, None);
        assert!(all.rate.unwrap() > 1000.0);
    }
}
