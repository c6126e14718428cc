//! Round-trip times of a server's connections: the kernel tells them to `ss`.

use std::time::Duration;

use intriage_engines::host::{listening_ports, round_trips, round_trips_text};

use super::gather::Gather;
use crate::command;

/// Thousands of connections are some hundred kilobytes and some tenths of a second.
const TIME: Duration = Duration::from_secs(2);
const BYTES: usize = 8 << 20;

/// Takes the times of connections to ports that somebody listens on here; who is at their other end is not kept.
pub(super) fn take(gather: &mut Gather<'_>) {
    // A tree recorded elsewhere has no connections.
    if !gather.root.is_live() {
        return;
    }
    let ports: Vec<u16> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|f| gather.kept(f))
        .flat_map(listening_ports)
        .collect();
    let Some(ss) = command::find("ss") else {
        gather
            .deny("tcp_rtt", "ss (iproute2) is not installed; it would add round-trip times of connections");
        return;
    };
    let asked =
        gather.root.visit("tcp_rtt", || command::run(&ss, &["-tinH", "state", "established"], TIME, BYTES));
    match asked {
        Ok(said) if said.well => {
            let found = round_trips(&said.text, &ports);
            if !found.is_empty() {
                gather.put("tcp_rtt", round_trips_text(&found));
            }
        }
        Ok(said) => gather.deny("tcp_rtt", &format!("ss: {}", said.why)),
        Err(error) => gather.deny("tcp_rtt", &format!("ss: {error}")),
    }
}
