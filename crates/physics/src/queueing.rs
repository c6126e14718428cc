//! Queues: how many are inside, how long they wait, how many instances are needed.

use intriage_case::{PerSecond, Ratio, Requests, Seconds, Tokens};

/// Little's law: requests inside = rate × time inside.
///
/// It holds for any system in balance, so it also checks telemetry: where measured concurrency and
/// this disagree by a quarter, one of the three numbers is wrong.
pub fn inside(rate: PerSecond<Requests>, time_inside: Seconds) -> Requests {
    Requests(rate.0.get() * time_inside.get())
}

/// Little's law for the time inside; `None` without a rate.
pub fn time_inside(inside: Requests, rate: PerSecond<Requests>) -> Option<Seconds> {
    finite(inside.get() / rate.0.get()).map(Seconds)
}

/// Load against capacity: arrivals over what could be served. Above 0.8 at peak is asking for a queue.
pub fn utilisation(arrivals: PerSecond<Requests>, capacity: PerSecond<Requests>) -> Option<Ratio> {
    Ratio::of(arrivals.0.get(), capacity.0.get())
}

/// Mean wait before service with one server, random arrivals and random lengths (M/M/1): ρ/(1−ρ)·S.
///
/// `None` from ρ = 1 on: the queue grows without end.
pub fn wait_one_server(utilisation: Ratio, service: Seconds) -> Option<Seconds> {
    let rho = utilisation.get();
    ((0.0..1.0).contains(&rho)).then(|| Seconds(rho / (1.0 - rho) * service.get()))
}

/// Probability that an arrival finds all `servers` busy (Erlang C), for an offered load of
/// arrivals × service time. `None` where the load is not below the servers.
pub fn wait_probability(servers: u32, offered: Requests) -> Option<Ratio> {
    let load = offered.get();
    let n = f64::from(servers);
    if !(0.0..n).contains(&load) {
        return None;
    }
    // Erlang B by its recurrence, which neither overflows nor cancels.
    let blocked = (1..=servers).fold(1.0, |blocked, k| load * blocked / (f64::from(k) + load * blocked));
    Some(Ratio(blocked / (1.0 - load / n * (1.0 - blocked))))
}

/// Mean wait before service with `servers` alike (M/M/c); `None` where load is not below capacity.
pub fn wait_many_servers(arrivals: PerSecond<Requests>, service: Seconds, servers: u32) -> Option<Seconds> {
    let offered = inside(arrivals, service);
    let waits = wait_probability(servers, offered)?;
    finite(waits.get() * service.get() / (f64::from(servers) - offered.get())).map(Seconds)
}

/// Context of the requests that are running at a moment, in tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveContext {
    /// The mean over those running: long outputs stay longer, so they count more,
    /// `E[(isl + osl/2)·osl] / E[osl]`.
    pub mean: Tokens,
    /// The mean over requests, `E[isl + osl/2]`: what a naive plan would use.
    pub naive: Tokens,
    /// 95th percentile of isl + osl, the safe value for a plan.
    pub safe: Tokens,
}

/// Live context from pairs of input and output length; `None` without a request that has output.
pub fn live_context(lengths: &[(Tokens, Tokens)]) -> Option<LiveContext> {
    let pairs: Vec<(f64, f64)> = lengths
        .iter()
        .map(|(input, output)| (input.get(), output.get()))
        .filter(|(input, output)| input.is_finite() && output.is_finite() && *input >= 0.0 && *output >= 0.0)
        .collect();
    let outputs: f64 = pairs.iter().map(|(_, output)| output).sum();
    let weighted: f64 = pairs.iter().map(|(input, output)| (input + output / 2.0) * output).sum();
    let naive: f64 = pairs.iter().map(|(input, output)| input + output / 2.0).sum();
    let mut totals: Vec<f64> = pairs.iter().map(|(input, output)| input + output).collect();
    totals.sort_by(f64::total_cmp);
    let rank = (totals.len() as f64 * 0.95).ceil() as usize;
    Some(LiveContext {
        mean: Tokens(finite(weighted / outputs)?),
        naive: Tokens(naive / pairs.len() as f64),
        safe: Tokens(*totals.get(rank.saturating_sub(1))?),
    })
}

/// One load of a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepPoint {
    /// What was varied: concurrency or offered rate.
    pub load: f64,
    /// What came out.
    pub throughput: PerSecond<Requests>,
    /// What it cost each request.
    pub latency: Seconds,
}

/// The knee of a sweep: the load with the most throughput for its latency (Kleinrock's power).
pub fn knee(sweep: &[SweepPoint]) -> Option<SweepPoint> {
    let power = |point: &SweepPoint| finite(point.throughput.0.get() / point.latency.get());
    let rated = sweep.iter().filter_map(|point| Some((power(point)?, *point)));
    rated.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, point)| point)
}

/// The largest load of a sweep up to which every latency stays within `limit`.
pub fn last_within(sweep: &[SweepPoint], limit: Seconds) -> Option<SweepPoint> {
    let mut sorted = sweep.to_vec();
    sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
    sorted.into_iter().take_while(|point| point.latency <= limit).last()
}

/// What the plan should leave room for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Headroom {
    /// Nothing beyond the stated peak.
    None,
    /// Demand may grow by this share.
    Demand(Ratio),
    /// This share of the capacity stays spare at peak.
    Spare(Ratio),
}

/// Instances for a peak, each able to serve `each` within its objective.
///
/// `None` where an instance serves nothing, a share makes no sense, or the answer is no number.
pub fn instances(peak: PerSecond<Requests>, each: PerSecond<Requests>, headroom: Headroom) -> Option<u64> {
    let (demand, capacity) = match headroom {
        Headroom::None => (peak.0.get(), each.0.get()),
        Headroom::Demand(growth) => (peak.0.get() * (1.0 + growth.get()), each.0.get()),
        Headroom::Spare(share) => (peak.0.get(), each.0.get() * (1.0 - share.get())),
    };
    if demand.is_nan() || demand < 0.0 || capacity.is_nan() || capacity <= 0.0 {
        return None;
    }
    // 7 × 14 against 98 must stay 7 whatever the last bit says.
    let exact = demand / capacity;
    let needed = (exact * (1.0 - 1e-12)).ceil();
    (needed <= 1e15).then_some(needed as u64)
}

/// The formula of a founding document, «GPUs = QPS × latency / QPS per GPU», kept to be shown beside
/// [`instances`]: its unit is seconds, so it counts no machines.
pub fn misread_gpu_formula(
    peak: PerSecond<Requests>,
    latency: Seconds,
    each: PerSecond<Requests>,
) -> Option<Seconds> {
    finite(peak.0.get() * latency.get() / each.0.get()).map(Seconds)
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_second(requests: f64) -> PerSecond<Requests> {
        PerSecond(Requests(requests))
    }

    #[test]
    fn littles_law_reads_both_ways() {
        assert_eq!(inside(per_second(4.0), Seconds(2.5)), Requests(10.0));
        assert_eq!(time_inside(Requests(10.0), per_second(4.0)), Some(Seconds(2.5)));
        assert_eq!(time_inside(Requests(10.0), per_second(0.0)), None);
    }

    #[test]
    fn a_queue_explodes_towards_full_load() {
        let wait = |rho| wait_one_server(Ratio(rho), Seconds(1.0)).unwrap().get();
        assert!((wait(0.5) - 1.0).abs() < 1e-12 && (wait(0.9) - 9.0).abs() < 1e-9);
        assert_eq!(wait_one_server(Ratio(1.0), Seconds(1.0)), None);
        assert_eq!(wait_one_server(Ratio(f64::NAN), Seconds(1.0)), None);
    }

    #[test]
    fn erlang_c_agrees_with_known_values() {
        // One server is M/M/1: the probability to wait is the utilisation.
        assert!((wait_probability(1, Requests(0.8)).unwrap().get() - 0.8).abs() < 1e-12);
        // Two servers at a load of 1: 1/3, from the closed form.
        assert!((wait_probability(2, Requests(1.0)).unwrap().get() - 1.0 / 3.0).abs() < 1e-12);
        let one = wait_many_servers(per_second(0.8), Seconds(1.0), 1).unwrap();
        assert!((one.get() - 4.0).abs() < 1e-9);
        assert_eq!(wait_probability(4, Requests(4.0)), None);
        assert!(wait_probability(5000, Requests(4900.0)).unwrap().get() > 0.0);
    }

    #[test]
    fn long_outputs_weigh_more_among_the_living() {
        let lengths = [(Tokens(100.0), Tokens(10.0)), (Tokens(100.0), Tokens(1000.0))];
        let live = live_context(&lengths).unwrap();
        assert!((live.mean.get() - (105.0 * 10.0 + 600.0 * 1000.0) / 1010.0).abs() < 1e-9);
        assert!((live.naive.get() - 352.5).abs() < 1e-9);
        assert_eq!(live.safe, Tokens(1100.0));
        assert_eq!(live_context(&[]), None);
        assert_eq!(live_context(&[(Tokens(1.0), Tokens(0.0))]), None);
    }

    #[test]
    fn the_knee_is_where_power_peaks_and_not_where_throughput_does() {
        let point = |load, rate, latency| SweepPoint {
            load,
            throughput: per_second(rate),
            latency: Seconds(latency),
        };
        let sweep = [point(1.0, 1.0, 1.0), point(4.0, 3.8, 1.1), point(8.0, 5.0, 1.6), point(16.0, 5.2, 3.1)];
        assert_eq!(knee(&sweep).unwrap().load, 4.0);
        assert_eq!(last_within(&sweep, Seconds(2.0)).unwrap().load, 8.0);
        assert_eq!(last_within(&sweep, Seconds(0.5)), None);
        assert_eq!(knee(&[]), None);
    }

    #[test]
    fn a_hundred_a_second_at_fourteen_each_take_eight_nine_or_ten() {
        let needed = |headroom| instances(per_second(100.0), per_second(14.0), headroom);
        assert_eq!(needed(Headroom::None), Some(8));
        assert_eq!(needed(Headroom::Demand(Ratio(0.25))), Some(9));
        assert_eq!(needed(Headroom::Spare(Ratio(0.25))), Some(10));
        // The founding document's formula gives 21.4 seconds for a latency of 3 s: no number of GPUs.
        let shown = misread_gpu_formula(per_second(100.0), Seconds(3.0), per_second(14.0)).unwrap();
        assert!((shown.get() - 21.43).abs() < 0.01);
    }

    #[test]
    fn plans_without_sense_are_refused() {
        assert_eq!(instances(per_second(98.0), per_second(14.0), Headroom::None), Some(7));
        assert_eq!(instances(per_second(1.0), per_second(0.0), Headroom::None), None);
        assert_eq!(instances(per_second(1.0), per_second(1.0), Headroom::Spare(Ratio(1.0))), None);
        assert_eq!(instances(per_second(f64::NAN), per_second(1.0), Headroom::None), None);
        assert_eq!(instances(per_second(1e300), per_second(1e-300), Headroom::None), None);
    }
}
