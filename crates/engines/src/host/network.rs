//! The network: what TCP had to send again, connections that found no room, and the interfaces.

use intriage_case::{Bytes, Events, PerSecond, Ratio};

use super::pci::NodeOf;
use super::round_trip::{self, RoundTrip};
use super::text::{self, table_cell};
use super::window::{Increase, Window};

/// The network over the window, of the serving processes' own network where they have one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Network {
    /// Share of TCP segments that were sent again.
    pub retransmitted: Option<Ratio>,
    /// TCP segments sent.
    pub segments_out: Option<PerSecond<Events>>,
    /// Retransmission timeouts, each a stall of 200 ms or more.
    pub timeouts: Option<Events>,
    /// Connections refused because a listener's queue was full.
    pub listen_overflows: Option<Events>,
    /// Connection attempts dropped by listeners for any reason.
    pub listen_drops: Option<Events>,
    /// Segments dropped because a socket's backlog was full.
    pub backlog_drops: Option<Events>,
    /// TCP sockets in use.
    pub sockets: Option<u32>,
    /// TCP sockets waiting out their time.
    pub time_wait: Option<u32>,
    /// Longest listen queue the kernel allows.
    pub listen_queue_limit: Option<u32>,
    /// Listening sockets.
    pub listeners: Vec<Listener>,
    /// Round-trip times of the connections to them, by port.
    pub round_trips: Vec<RoundTrip>,
    /// Interfaces, by name.
    pub interfaces: Vec<Interface>,
    /// InfiniBand ports, by device.
    pub infiniband: Vec<InfinibandPort>,
}

/// A port of an InfiniBand or RoCE card.
#[derive(Debug, Clone, PartialEq)]
pub struct InfinibandPort {
    /// The device, such as `mlx5_0`.
    pub device: String,
    /// The port on it, from 1.
    pub port: u32,
    /// Whether it carries traffic.
    pub active: Option<bool>,
    /// Its speed in bits a second.
    pub bits_per_second: Option<f64>,
}

/// A socket that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listener {
    /// Its port.
    pub port: u16,
    /// Most connections seen waiting to be accepted, over the snapshots that looked.
    pub queued: u32,
}

/// A network interface over the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Received.
    pub received: Option<PerSecond<Bytes>>,
    /// Sent.
    pub sent: Option<PerSecond<Bytes>>,
    /// Packets dropped, both ways.
    pub drops: Option<Events>,
    /// Packets with errors, both ways.
    pub errors: Option<Events>,
    /// Its speed in bits a second; `None` for virtual ones and those that are down.
    pub bits_per_second: Option<f64>,
    /// Whether it is up.
    pub up: Option<bool>,
    /// The NUMA node its card hangs on.
    pub node: Option<NodeOf>,
}

pub(super) fn read(window: Window<'_>) -> Network {
    // A container has a network of its own; the collector keeps it beside its own when they differ.
    let base = window
        .folders("proc/")
        .into_iter()
        .filter(|f| f.bytes().all(|b| b.is_ascii_digit()))
        .map(|pid| format!("proc/{pid}/net"))
        .find(|base| window.last(&format!("{base}/snmp")).is_some())
        .unwrap_or_else(|| "proc/net".to_owned());
    let (snmp, netstat) = (format!("{base}/snmp"), format!("{base}/netstat"));
    let tcp = |column: &str| window.increase(&snmp, |t| table_cell(t, "Tcp", column));
    let extended =
        |column: &str| window.increase(&netstat, |t| table_cell(t, "TcpExt", column)).map(|i| Events(i.by));
    let sockets = |column: &str| socket_count(window.last(&format!("{base}/sockstat"))?, column);
    Network {
        retransmitted: tcp("RetransSegs").zip(tcp("OutSegs")).and_then(|(r, o)| Ratio::of(r.by, o.by)),
        segments_out: tcp("OutSegs").map(Increase::events),
        timeouts: extended("TCPTimeouts"),
        listen_overflows: extended("ListenOverflows"),
        listen_drops: extended("ListenDrops"),
        backlog_drops: extended("TCPBacklogDrop"),
        sockets: sockets("inuse"),
        time_wait: sockets("tw"),
        listen_queue_limit: window
            .last("proc/sys/net/core/somaxconn")
            .and_then(text::single)
            .map(|n| n as u32),
        listeners: listeners(window, &base),
        round_trips: round_trip::read(window),
        interfaces: interfaces(window, &format!("{base}/dev")),
        infiniband: infiniband(window),
    }
}

/// `state` reads `4: ACTIVE`, `rate` reads `400 Gb/sec (4X NDR)`.
fn infiniband(window: Window<'_>) -> Vec<InfinibandPort> {
    let base = "sys/class/infiniband/";
    let mut ports = Vec::new();
    for device in window.folders(base) {
        let below = format!("{base}{device}/ports/");
        for port in window.folders(&below) {
            let Ok(number) = port.parse() else { continue };
            let file = |name: &str| window.last(&format!("{below}{port}/{name}"));
            let gigabits = file("rate").and_then(|t| t.split_whitespace().next()?.parse::<f64>().ok());
            ports.push(InfinibandPort {
                device: device.to_owned(),
                port: number,
                active: file("state").map(|t| t.contains("ACTIVE")),
                bits_per_second: gigabits.filter(|g| g.is_finite()).map(|g| g * 1e9),
            });
        }
    }
    ports
}

/// `TCP: inuse 27 orphan 0 tw 3 alloc 30 mem 3`.
fn socket_count(text: &str, column: &str) -> Option<u32> {
    let line = text::value(text, "TCP")?;
    line.split_whitespace().skip_while(|w| *w != column).nth(1)?.parse().ok()
}

/// Lines such as `0: 0100007F:1F40 00000000:0000 0A 00000000:00000003 …`: for a listener the receive queue counts
/// connections not yet accepted.
fn listeners(window: Window<'_>, base: &str) -> Vec<Listener> {
    let mut found: Vec<Listener> = Vec::new();
    for file in ["tcp", "tcp6"] {
        for (_, text) in window.all(&format!("{base}/{file}")) {
            for listener in text.lines().filter_map(listener) {
                match found.iter_mut().find(|l| l.port == listener.port) {
                    Some(known) => known.queued = known.queued.max(listener.queued),
                    None => found.push(listener),
                }
            }
        }
    }
    found.sort_by_key(|l| l.port);
    found
}

/// The ports somebody listens on, by a text such as `/proc/net/tcp`.
pub fn listening_ports(text: &str) -> impl Iterator<Item = u16> {
    text.lines().filter_map(listener).map(|listener| listener.port)
}

fn listener(line: &str) -> Option<Listener> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, local, _, "0A", both, ..] = words[..] else { return None };
    let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
    let queued = u32::from_str_radix(both.split_once(':')?.1, 16).ok()?;
    Some(Listener { port, queued })
}

fn interfaces(window: Window<'_>, dev: &str) -> Vec<Interface> {
    let names = window.last(dev).unwrap_or_default().lines().filter_map(|l| l.split_once(':'));
    names.map(|(name, _)| interface(window, dev, name.trim())).collect()
}

fn interface(window: Window<'_>, dev: &str, name: &str) -> Interface {
    let cell = |columns: &'static [usize]| {
        window.increase(dev, |text| {
            let line = text.lines().filter_map(|l| l.split_once(':')).find(|(n, _)| n.trim() == name)?.1;
            let cells: Vec<f64> = line.split_whitespace().map(text::single).collect::<Option<_>>()?;
            columns.iter().map(|c| cells.get(*c).copied()).sum::<Option<f64>>()
        })
    };
    let bytes = |i: Increase| PerSecond(Bytes(i.rate()));
    let sys = |file: &str| window.last(&format!("sys/class/net/{name}/{file}")).map(str::trim);
    Interface {
        name: name.to_owned(),
        received: cell(&[0]).map(bytes),
        sent: cell(&[8]).map(bytes),
        drops: cell(&[3, 11]).map(|i| Events(i.by)),
        errors: cell(&[2, 10]).map(|i| Events(i.by)),
        // In Mbit/s; a link that is down says -1, which is not a number here.
        bits_per_second: sys("speed").and_then(text::single).map(|mbit| mbit * 1e6),
        up: sys("operstate").and_then(|s| match s {
            "up" => Some(true),
            "down" | "lowerlayerdown" => Some(false),
            _ => None,
        }),
        node: sys("device/numa_node").and_then(super::pci::node),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::host;
    use super::*;

    #[test]
    fn segments_sent_again_are_a_share_of_those_sent() {
        let at = |out: u32, again: u32, overflows: u32| {
            (
                format!("Tcp: OutSegs RetransSegs\nTcp: {out} {again}\n"),
                format!("TcpExt: ListenOverflows ListenDrops\nTcpExt: {overflows} {overflows}\n"),
            )
        };
        let ((a, b), (c, d)) = (at(1000, 10, 0), at(3000, 30, 4));
        let host = host(&[
            (0, &[("proc/net/snmp", &a), ("proc/net/netstat", &b)]),
            (
                1000,
                &[
                    ("proc/net/snmp", &c),
                    ("proc/net/netstat", &d),
                    ("proc/net/sockstat", "sockets: used 9\nTCP: inuse 27 orphan 0 tw 3 alloc 30 mem 3\n"),
                ],
            ),
        ]);
        let network = read(Window::new(&host));
        assert_eq!(network.retransmitted, Some(Ratio(0.01)));
        assert_eq!((network.listen_overflows, network.timeouts), (Some(Events(4.0)), None));
        assert_eq!((network.sockets, network.time_wait), (Some(27), Some(3)));
    }

    #[test]
    fn a_containers_own_network_comes_first() {
        let tcp = |again| format!("Tcp: OutSegs RetransSegs\nTcp: 100 {again}\n");
        let (zero, five, mine) = (tcp(0), tcp(5), "Tcp: OutSegs RetransSegs\nTcp: 200 5\n");
        let host = host(&[
            (0, &[("proc/7/net/snmp", &zero), ("proc/net/snmp", &zero)]),
            (1000, &[("proc/7/net/snmp", mine), ("proc/net/snmp", &five)]),
        ]);
        assert_eq!(read(Window::new(&host)).retransmitted, Some(Ratio(0.05)));
    }

    #[test]
    fn infiniband_ports_have_a_state_and_a_speed() {
        let host = host(&[(
            0,
            &[
                ("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"),
                ("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n"),
                ("sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n"),
            ],
        )]);
        let ports = read(Window::new(&host)).infiniband;
        assert_eq!((ports[0].active, ports[0].bits_per_second), (Some(true), Some(400e9)));
        assert_eq!((ports[1].device.as_str(), ports[1].active), ("mlx5_1", Some(false)));
    }

    #[test]
    fn listeners_show_who_waits_and_interfaces_what_they_lost() {
        let tcp = "  sl  local_address rem_address   st tx_queue rx_queue\n   0: 0100007F:1F40 00000000:0000 0A 00000000:00000081 00:00000000\n   1: 0100007F:1F40 0100007F:9999 01 00000000:00000000\n";
        let dev = |drops: u32| {
            format!(
                "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop\n  eth0: 1000 5 0 {drops} 0 0 0 0 2000 6 0 1 0 0 0 0\n"
            )
        };
        let (a, b) = (dev(0), dev(3));
        let host = host(&[
            (0, &[("proc/net/tcp", tcp), ("proc/net/dev", &a)]),
            (
                1000,
                &[
                    ("proc/net/dev", &b),
                    ("sys/class/net/eth0/speed", "25000\n"),
                    ("sys/class/net/eth0/operstate", "up\n"),
                ],
            ),
        ]);
        let network = read(Window::new(&host));
        assert_eq!(network.listeners, [Listener { port: 8000, queued: 129 }]);
        let [eth0] = &network.interfaces[..] else { panic!("one interface: {:?}", network.interfaces) };
        assert_eq!((eth0.drops, eth0.errors), (Some(Events(3.0)), Some(Events(0.0))));
        assert_eq!((eth0.bits_per_second, eth0.up, eth0.node), (Some(25e9), Some(true), None));
    }
}
