//! Round-trip times of the connections a server holds, as the kernel measures them and `ss -tin` prints them.

use intriage_case::Seconds;

use super::window::Window;

/// The connections to one port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundTrip {
    /// The server's port.
    pub port: u16,
    /// Connections that had a time.
    pub connections: usize,
    /// The shortest.
    pub least: Seconds,
    /// The one in the middle.
    pub median: Seconds,
    /// The longest.
    pub most: Seconds,
}

/// The times of each of these ports in the output of `ss -tinH state established`: a line of addresses, then one of
/// figures that begins with a blank. Who is connected is not kept.
pub fn round_trips(ss: &str, ports: &[u16]) -> Vec<RoundTrip> {
    let mut found: Vec<(u16, Vec<f64>)> = Vec::new();
    let mut port = None;
    for line in ss.lines() {
        if !line.starts_with([' ', '\t']) {
            // `0 0 10.0.0.1:8000 10.0.0.9:51324`, with the state before them in some releases.
            let local = line.split_whitespace().find(|word| word.contains(':'));
            port = local.and_then(|a| a.rsplit_once(':')?.1.parse().ok()).filter(|p| ports.contains(p));
        }
        let (Some(port), Some(millis)) = (port, time(line)) else { continue };
        match found.iter_mut().find(|(known, _)| *known == port) {
            Some((_, times)) => times.push(millis),
            None => found.push((port, vec![millis])),
        }
    }
    found.sort_by_key(|(port, _)| *port);
    found.into_iter().filter_map(|(port, times)| summary(port, times)).collect()
}

/// `rtt:0.031/0.012`: mean and spread in milliseconds.
fn time(line: &str) -> Option<f64> {
    let word = line.split_whitespace().find_map(|word| word.strip_prefix("rtt:"))?;
    word.split('/').next()?.parse::<f64>().ok().filter(|t| t.is_finite() && *t >= 0.0)
}

fn summary(port: u16, mut times: Vec<f64>) -> Option<RoundTrip> {
    times.sort_by(f64::total_cmp);
    let seconds = |millis: &f64| Seconds(millis / 1e3);
    Some(RoundTrip {
        port,
        connections: times.len(),
        least: times.first().map(seconds)?,
        median: times.get(times.len() / 2).map(seconds)?,
        most: times.last().map(seconds)?,
    })
}

/// As the text a snapshot keeps: `port connections least median most`, times in microseconds.
pub fn round_trips_text(all: &[RoundTrip]) -> String {
    let micros = |t: Seconds| (t.get() * 1e6).round();
    let line = |r: &RoundTrip| {
        let [least, median, most] = [r.least, r.median, r.most].map(micros);
        format!("{} {} {least} {median} {most}\n", r.port, r.connections)
    };
    all.iter().map(line).collect()
}

pub(super) fn read(window: Window<'_>) -> Vec<RoundTrip> {
    let text = window.last("tcp_rtt").unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [port, connections, times @ ..] = &words[..] else { return None };
            let [least, median, most] = times else { return None };
            let seconds = |t: &str| t.parse::<u64>().ok().map(|micros| Seconds(micros as f64 / 1e6));
            Some(RoundTrip {
                port: port.parse().ok()?,
                connections: connections.parse().ok()?,
                least: seconds(least)?,
                median: seconds(median)?,
                most: seconds(most)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::moment;
    use super::*;

    const SS: &str = "0      0          10.0.0.1:8000      10.0.0.9:51324\n\t cubic wscale:7,7 rto:201 rtt:0.250/0.125 mss:1448 cwnd:10\n0      0      [::ffff:10.0.0.1]:8000      [::ffff:10.0.0.7]:40000\n\t cubic rto:330 rtt:128.5/12 ato:40\n0      0          10.0.0.1:22        10.0.0.9:50000\n\t cubic rto:201 rtt:3/1\n0      0          10.0.0.1:8000      10.0.0.8:51326\n\t cubic rto:201 rtt:0.5/0.2\n";

    #[test]
    fn a_ports_connections_are_summed_up_and_others_left_alone() {
        let all = round_trips(SS, &[8000]);
        assert_eq!(
            all,
            [RoundTrip {
                port: 8000,
                connections: 3,
                least: Seconds(0.000_25),
                median: Seconds(0.000_5),
                most: Seconds(0.128_5)
            }]
        );
        let kept = round_trips_text(&all);
        assert_eq!(kept, "8000 3 250 500 128500\n");
        assert_eq!(read(Window::new(&moment(&[("tcp_rtt", &kept)]))), all);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "([0-9 ]{0,6}[a-z0-9.:\\[\\]]{0,12}|\t| rtt:|[0-9./-]{1,9}|\n){0,40}") {
            for found in round_trips(&text, &[22, 8000]) {
                prop_assert!(found.least <= found.median && found.median <= found.most);
            }
        }
    }
}
