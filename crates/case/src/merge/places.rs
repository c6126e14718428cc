//! Whether two cases tell of the same server.
//!
//! | first | second | they are |
//! |---|---|---|
//! | seen on one machine | seen on another | apart |
//! | names a server | names another | apart |
//! | names a server | names it, too | the same, unless both were scraped at one time and nothing shows one process; behind a loopback address logs must agree as well |
//! | names a server | names none | the second completes the first, unless it has another log of the same name |
//! | names none | names none | the same where machine or log show it or only one has a server's log; else apart |
//!
//! A URL names a server, and so does a folder's name where a server's evidence lies in it. "This machine" names none.

use crate::{Case, HostSnapshot, LogText, Target};

/// How two cases stand to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Relation {
    /// The same server.
    Same,
    /// One of them names no server, and nothing says that it belongs elsewhere.
    Completes,
    /// Different servers, with the reason as the end of a sentence.
    Apart(String),
}

pub(super) fn relation(a: &Case, b: &Case) -> Relation {
    let machines = machines(a, b);
    if machines == Machines::Others {
        return Relation::Apart("it was collected on another machine".into());
    }
    let logs = logs(a, b);
    match (server(a), server(b)) {
        (Some(first), Some(second)) if first != second => {
            Relation::Apart(format!("it is about {second}, not {first}"))
        }
        // Two machines can both be called 127.0.0.1.
        (Some(name), Some(_)) => match (scraped(a), scraped(b)) {
            (Some(first), Some(second)) => {
                let overlap = first.0 <= second.1 && second.0 <= first.1;
                let starts = (started(a), started(b));
                if overlap && (starts.0.is_none() || starts.0 != starts.1) {
                    Relation::Apart("it was scraped at the same time, and not from the same process".into())
                } else {
                    Relation::Same
                }
            }
            _ if is_loopback(name) && logs.are_others() && machines != Machines::Same => {
                Relation::Apart(format!("{name} is another server on every machine, and its log is another"))
            }
            _ => Relation::Same,
        },
        _ if machines == Machines::Same || logs == Logs::Continued => Relation::Same,
        (None, None) if logs.are_others() => {
            Relation::Apart("it has a log of its own, and nothing shows that it is the same server's".into())
        }
        (None, None) => Relation::Completes,
        _ if logs == Logs::OthersOfOneName => {
            Relation::Apart("it names no server, and its log of the same name is another".into())
        }
        _ => Relation::Completes,
    }
}

/// The server a case is about, where it names one.
pub(super) fn server(case: &Case) -> Option<&str> {
    let name = case.target.name.as_str();
    // What was scraped is a server, whatever it is called.
    if name.contains("://") || !case.scrapes.is_empty() {
        return Some(name);
    }
    let of_a_server =
        !case.endpoints.is_empty() || case.command_line.is_some() || server_logs(case).next().is_some();
    (of_a_server && !name.is_empty() && name != Target::THIS_MACHINE).then_some(name)
}

/// First and last time in a case, in Unix milliseconds.
pub(super) fn span(case: &Case) -> Option<(u64, u64)> {
    let times = case.scrapes.iter().map(|s| s.at.0);
    let times = times.chain(case.host.iter().map(|s| s.at.0)).chain(case.client.iter().map(|c| c.sent.0));
    times.fold(None, |span, t| Some(span.map_or((t, t), |(a, b): (u64, u64)| (a.min(t), b.max(t)))))
}

fn scraped(case: &Case) -> Option<(u64, u64)> {
    Some((case.scrapes.first()?.at.0, case.scrapes.last()?.at.0))
}

/// When the server's process started, in Unix seconds, as Prometheus' client libraries tell.
fn started(case: &Case) -> Option<u64> {
    let page = case.scrapes.iter().find_map(|s| s.body())?;
    let text = String::from_utf8_lossy(page);
    let value = text.lines().find_map(|line| line.strip_prefix("process_start_time_seconds "))?;
    let seconds: f64 = value.split_whitespace().next()?.parse().ok()?;
    Some(seconds.round() as u64)
}

fn is_loopback(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["127.", "localhost", "[::1]", "0.0.0.0"].iter().any(|own| host.starts_with(own))
}

/// How the logs of two servers stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Logs {
    /// One of the cases has none.
    Missing,
    /// One goes on where another was.
    Continued,
    /// Two of the same name, and neither goes on from the other.
    OthersOfOneName,
    /// Two that have nothing in common.
    Others,
}

impl Logs {
    fn are_others(self) -> bool {
        matches!(self, Self::Others | Self::OthersOfOneName)
    }
}

fn logs(a: &Case, b: &Case) -> Logs {
    let pairs = || server_logs(a).flat_map(|ours| server_logs(b).map(move |theirs| (ours, theirs)));
    let continued = |(ours, theirs): (&LogText, &LogText)| {
        let (short, long) = if ours.text.len() < theirs.text.len() { (ours, theirs) } else { (theirs, ours) };
        !short.text.is_empty() && long.text.starts_with(&short.text)
    };
    if pairs().next().is_none() {
        Logs::Missing
    } else if pairs().any(continued) {
        Logs::Continued
    } else if pairs().any(|(ours, theirs)| ours.name == theirs.name) {
        Logs::OthersOfOneName
    } else {
        Logs::Others
    }
}

/// All but the kernel's, which is the machine's.
fn server_logs(case: &Case) -> impl Iterator<Item = &LogText> {
    case.logs.iter().filter(|log| log.name != LogText::KERNEL)
}

/// What two cases show of their machines.
#[derive(Debug, PartialEq, Eq)]
enum Machines {
    Same,
    Others,
    /// One of them shows none.
    Unseen,
}

fn machines(a: &Case, b: &Case) -> Machines {
    let cards = |case: &Case| -> Vec<String> {
        let cards = case.gpu.survey.iter().flat_map(|s| &s.cards);
        cards.filter_map(|card| card.uuid.clone()).collect()
    };
    let (ours, theirs) = (cards(a), cards(b));
    let both = !ours.is_empty() && !theirs.is_empty();
    let shared = ours.iter().any(|card| theirs.contains(card));
    if both && !shared {
        return Machines::Others;
    }
    match (machine(a), machine(b)) {
        // The kernel computes its start from the clock, which is set now and then. A machine that was started again is
        // taken for another one: what was measured before does not hold for it.
        (Some(ours), Some(theirs))
            if ours.memory != theirs.memory || ours.booted.abs_diff(theirs.booted) > 2 =>
        {
            Machines::Others
        }
        (Some(_), Some(_)) => Machines::Same,
        _ if shared => Machines::Same,
        _ => Machines::Unseen,
    }
}

struct Machine {
    /// Unix seconds.
    booted: u64,
    /// The line as the kernel writes it.
    memory: String,
}

fn machine(case: &Case) -> Option<Machine> {
    let first = case.host.first()?;
    let line = |file: &str, key: &str| -> Option<String> {
        let line = HostSnapshot::text(first, file)?.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().to_owned())
    };
    Some(Machine {
        booted: line("proc/stat", "btime ")?.parse().ok()?,
        memory: line("proc/meminfo", "MemTotal:")?,
    })
}
