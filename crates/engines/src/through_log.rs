//! A server as the periodic lines of its log show it, where nobody scraped it.

use std::collections::BTreeMap;

use intriage_case::{Millis, Seconds, Series, Signal};

use crate::log::LogSeries;
use crate::observed::{Instance, Observed, Track, TrackData};

/// Gauges that are taken as the lines tell them.
const GAUGES: [Signal; 3] = [Signal::RequestsRunning, Signal::RequestsWaiting, Signal::KvUsage];
/// Counters that are made of what the lines tell a second.
const RATES: [(Signal, Signal); 2] =
    [(Signal::TokenRateGenerated, Signal::TokensGenerated), (Signal::TokenRatePrompt, Signal::TokensPrompt)];

impl Observed {
    /// The same server with each line of its log that tells who runs and who waits in place of a scrape: those of the
    /// last `within` before the last one with a request in it, and of those only the last stretch in which requests wait
    /// where it has at least `stretch` lines: what happens now began there. Of several engines the one with the longest
    /// queue, as limits hold for each. `None` where there are scrapes, no such lines, or those of several servers.
    pub fn through_log(&self, within: Seconds, stretch: usize) -> Option<Self> {
        if !self.times.is_empty() || self.tells_of_several_queues() {
            return None;
        }
        let all = |signal: Signal| self.log.series.iter().filter(move |one| one.signal == signal);
        let like = |base: &LogSeries, signal| {
            all(signal)
                .find(|one| (one.chain, one.engine, one.clock) == (base.chain, base.engine, base.clock))
        };
        let load = |base: &LogSeries| {
            let sum = |one: &LogSeries| one.series.known().map(|(_, value)| value).sum::<f64>();
            (sum(base), like(base, Signal::RequestsRunning).map_or(0.0, sum))
        };
        let waiting = all(Signal::RequestsWaiting).max_by(|a, b| {
            let (a, b) = (load(a), load(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        })?;
        let running = by_time(like(waiting, Signal::RequestsRunning)?);
        let mut times = window(&waiting.series, &running, within)?;
        let waits = by_time(waiting);
        let lately = times.iter().rev().take_while(|at| waits.get(at).is_some_and(|n| *n > 0.0)).count();
        if lately >= stretch {
            times.drain(..times.len() - lately);
        }
        let told = |signal| like(waiting, signal).map(by_time);
        let mut tracks: Vec<Track> = Vec::new();
        for signal in GAUGES {
            let Some(values) = told(signal) else { continue };
            let series = Series::new(times.clone(), times.iter().map(|at| values.get(at).copied()).collect());
            tracks.push(track(signal, series));
        }
        for (rate, counter) in RATES {
            let Some(rates) = told(rate) else { continue };
            tracks.push(track(counter, added_up(&times, &rates)));
        }
        Some(Self { times, tracks, lines: Some(waiting.source()), ..self.clone() })
    }

    /// Whether logs side by side tell of who runs and who waits: they are of several servers, and the settings of one
    /// say nothing of another's queue.
    pub fn tells_of_several_queues(&self) -> bool {
        let mut chains =
            self.log.series.iter().filter(|one| one.signal == Signal::RequestsWaiting).map(|one| one.chain);
        let first = chains.next();
        chains.any(|chain| Some(chain) != first)
    }

    /// Whether lines of a log behind those in place of scrapes tell that nobody runs or waits any more.
    pub fn went_idle(&self) -> bool {
        let all = self.log.series.iter().filter(|one| one.signal == Signal::RequestsWaiting);
        let last = all.filter_map(|one| one.series.known().last().map(|(i, _)| one.series.times()[i])).max();
        last.zip(self.times.last().copied()).is_some_and(|(last, seen)| last > seen)
    }
}

fn track(signal: Signal, series: Series) -> Track {
    let data = TrackData::Values(series);
    Track { signal, instance: Instance::default(), key: None, metric: signal.name(), data }
}

fn by_time(one: &LogSeries) -> BTreeMap<Millis, f64> {
    one.series.known().map(|(i, value)| (one.series.times()[i], value)).collect()
}

/// The times of the lines from `within` before the last line with a request in it up to that one.
fn window(waiting: &Series, running: &BTreeMap<Millis, f64>, within: Seconds) -> Option<Vec<Millis>> {
    let has_requests = |(i, waits): &(usize, f64)| {
        *waits > 0.0 || running.get(&waiting.times()[*i]).is_some_and(|runs| *runs > 0.0)
    };
    let (last, _) = waiting.known().filter(has_requests).last()?;
    let end = waiting.times()[last];
    let mut times = Vec::new();
    let mut next = end;
    for at in waiting.times()[..=last].iter().rev() {
        // A clock that was set back ends the window, too.
        if *at > next || end.since(*at) > within {
            break;
        }
        times.push(*at);
        next = *at;
    }
    times.reverse();
    Some(times)
}

/// A counter that has gained at each time what the rate told there comes to since the one before.
fn added_up(times: &[Millis], rates: &BTreeMap<Millis, f64>) -> Series {
    let mut total = 0.0;
    let mut before = None;
    let mut values = Vec::with_capacity(times.len());
    for at in times {
        let since = before.map_or(0.0, |before| at.since(before).get());
        total += rates.get(at).copied().unwrap_or(0.0) * since;
        before = Some(*at);
        values.push(Some(total));
    }
    Series::new(times.to_vec(), values)
}

#[cfg(test)]
mod tests {
    use intriage_case::{Case, LogText};

    use super::*;

    fn line(at: &str, engine: u32, running: u32, waiting: u32) -> String {
        format!(
            "INFO 11-15 {at} [loggers.py:259] Engine {engine:03}: Avg prompt throughput: 8.0 tokens/s, Avg generation throughput: 10.5 tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: 92.5%\n"
        )
    }

    fn read(text: &str) -> Observed {
        let mut case = Case::default();
        case.add_log(LogText { name: "server.log".into(), text: text.into() });
        crate::read(&case)
    }

    fn values(o: &Observed, signal: Signal) -> Vec<f64> {
        o.series(signal, None, None).map_or(Vec::new(), |s| s.known().map(|(_, v)| v).collect())
    }

    #[test]
    fn lines_of_the_last_minutes_under_load_stand_for_scrapes() {
        let lines = [
            line("02:00:00", 0, 1, 0),
            line("02:20:00", 0, 4, 6),
            line("02:20:10", 0, 4, 7),
            line("02:20:20", 0, 0, 0),
        ];
        let seen = read(&lines.concat()).through_log(Seconds(600.0), 3).expect("there are lines");
        assert_eq!(seen.times.len(), 2);
        assert_eq!(values(&seen, Signal::RequestsWaiting), [6.0, 7.0]);
        assert_eq!(values(&seen, Signal::KvUsage), [0.925, 0.925]);
        assert_eq!(values(&seen, Signal::TokensGenerated), [0.0, 105.0]);
        assert!(seen.lines.is_some());
    }

    #[test]
    fn a_queue_of_the_last_minutes_is_not_averaged_with_the_calm_before_it() {
        let mut lines: Vec<String> = (0..9).map(|i| line(&format!("02:20:{i}0"), 0, 1, 0)).take(6).collect();
        lines.extend((0..4).map(|i| line(&format!("02:21:{i}0"), 0, 4, 9)));
        let seen = read(&lines.concat()).through_log(Seconds(600.0), 3).expect("there are lines");
        assert_eq!(values(&seen, Signal::RequestsWaiting), [9.0; 4]);
        assert!(!seen.went_idle());
        lines.push(line("02:21:40", 0, 0, 0));
        assert!(read(&lines.concat()).through_log(Seconds(600.0), 3).expect("there are lines").went_idle());
    }

    #[test]
    fn queues_of_several_servers_are_not_one() {
        let mut case = Case::default();
        for (name, waits) in [("a.log", 0), ("b.log", 20)] {
            let text = [line("02:20:00", 0, 4, waits), line("02:20:10", 0, 4, waits)].concat();
            case.add_log(LogText { name: name.into(), text });
        }
        let read = crate::read(&case);
        assert!(read.tells_of_several_queues() && read.through_log(Seconds(600.0), 3).is_none());
        assert!(read.notes.iter().any(|note| note.contains("several servers")), "{:?}", read.notes);
    }

    #[test]
    fn of_several_engines_the_one_with_the_longest_queue_is_looked_at() {
        let lines = [
            line("02:20:00", 0, 9, 1),
            line("02:20:01", 1, 4, 6),
            line("02:20:10", 0, 9, 1),
            line("02:20:11", 1, 4, 7),
        ];
        let seen = read(&lines.concat()).through_log(Seconds(600.0), 3).expect("there are lines");
        assert_eq!(values(&seen, Signal::RequestsRunning), [4.0, 4.0]);
    }

    #[test]
    fn an_idle_log_and_one_without_such_lines_show_nothing() {
        assert!(read(&line("02:20:00", 0, 0, 0)).through_log(Seconds(600.0), 3).is_none());
        assert!(read("INFO:     Application startup complete.\n").through_log(Seconds(600.0), 3).is_none());
    }

    #[test]
    fn lines_of_a_process_that_is_gone_are_not_the_running_ones() {
        let start = "INFO vLLM API server version 0.15.0\n";
        let queue = [line("02:20:00", 0, 4, 6), line("02:20:10", 0, 4, 7)].concat();
        assert!(read(&format!("{start}{queue}{start}")).through_log(Seconds(600.0), 3).is_none());
        assert!(read(&format!("{start}{start}{queue}")).through_log(Seconds(600.0), 3).is_some());
    }
}
