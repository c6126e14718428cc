//! The checks: what was looked at, and what was seen.

use intriage_case::{Ratio, Seconds};

use super::limits::{
    ANSWERED, BUSY, HITS, IDLE, LAG, LATE, LATE_MOST, LATE_SHARE, LENGTH, OWN_LEAST, OWN_SHARE, PILED, RATE,
    STOLEN, WAITED,
};
use super::{Check, CheckName};
use crate::client::ClientFacts;
use crate::event::Outcome;
use crate::header::Arrival;
use crate::steady::Steady;
use crate::tally::{GroupTally, Tally};

pub(super) fn check(name: CheckName, passed: impl Into<Option<bool>>, seen: String) -> Check {
    Check { name, passed: passed.into(), seen }
}

pub(super) fn answers(all: &GroupTally) -> Check {
    let ok = all.outcomes.get(&Outcome::Ok).copied().unwrap_or(0);
    let total: u64 = all.outcomes.values().sum();
    let planned_otherwise = all.outcomes.get(&Outcome::Aborted).copied().unwrap_or(0);
    // What the minority of the requests saw is not how the server serves.
    let enough = ok > 0 && (ok + planned_otherwise) as f64 >= ANSWERED * total as f64;
    check(CheckName::Answers, enough, format!("{ok} of {total} requests were answered"))
}

pub(super) fn client_cpu(client: &ClientFacts) -> Check {
    let window = |f: f64, of: Seconds| Ratio::of(f, of.0).map_or(0.0, Ratio::get);
    let worst = |share: &dyn Fn(&crate::client::ThreadFacts) -> f64| {
        client.threads.iter().map(share).fold(0.0, f64::max)
    };
    let busy = worst(&|t| window(t.cpu.0, t.busy_window));
    let waited = worst(&|t| window(t.waited.unwrap_or(Seconds(0.0)).0, t.busy_window));
    let stolen = client.stolen.map_or(0.0, Ratio::get);
    let name = CheckName::ClientCpu;
    let percent = |share: f64| Ratio(share).to_string();
    if waited > WAITED {
        let seen = format!(
            "the client was ready but had no core for {} of the time: other work runs there",
            percent(waited)
        );
        check(name, false, seen)
    } else if stolen > STOLEN {
        check(
            name,
            false,
            format!("the hypervisor gave {} of this machine's CPU time to others", percent(stolen)),
        )
    } else if busy > BUSY {
        check(
            name,
            false,
            format!("the client's CPU is saturated: its event loop was busy {} of the time", percent(busy)),
        )
    } else {
        check(
            name,
            true,
            format!("busy {} of the time, waited for a core {}", percent(busy), percent(waited)),
        )
    }
}

pub(super) fn sends(tally: &Tally, all: &GroupTally) -> Check {
    let Some(late) = all.begun_late.quantile(0.99) else {
        return check(CheckName::Sends, None, "nothing was sent".to_owned());
    };
    let rate = match &tally.declared.arrival {
        Arrival::Open { rate, max_concurrency: None, .. } => *rate,
        // Behind a limit of the user's own, waiting is the plan; it shows in the planned-time figures.
        Arrival::Open { .. } => {
            return check(
                CheckName::Sends,
                None,
                format!("sends wait for the limit on requests in flight: p99 {late} late"),
            );
        }
        Arrival::Closed { concurrency } => return occupancy(all, *concurrency),
    };
    let limit = rate.map_or(LATE, |rate| LATE.max(LATE_SHARE / rate.max(f64::MIN_POSITIVE)).min(LATE_MOST));
    let shards = tally.declared.shard.map_or(1.0, |(_, of)| f64::from(of.max(1)));
    let sent: u64 = all.outcomes.iter().filter(|(o, _)| **o != Outcome::NeverSent).map(|(_, n)| n).sum();
    let achieved = match (all.first_sent, all.last_sent) {
        (Some(from), Some(to)) if sent > 1 && to > from => {
            Some((sent - 1) as f64 / to.since(from).seconds().0)
        }
        _ => None,
    };
    let constant = matches!(&tally.declared.arrival, Arrival::Open { shape, .. } if shape == "constant");
    if late.0 > limit {
        return check(
            CheckName::Sends,
            false,
            format!("requests left late: p99 {late} after the plan (limit {})", Seconds(limit)),
        );
    }
    if let (Some(rate), Some(achieved), true) = (rate, achieved, constant && shards == 1.0 && sent > 20)
        && (achieved / rate - 1.0).abs() > RATE
    {
        return check(
            CheckName::Sends,
            false,
            format!("{achieved:.2} requests a second were sent where {rate} were planned"),
        );
    }
    check(CheckName::Sends, true, format!("p99 {late} after the plan"))
}

/// In a closed loop nothing is planned; what is late is the next request after an answer, and it costs occupancy.
fn occupancy(all: &GroupTally, concurrency: u32) -> Check {
    if all.e2e.is_empty() {
        return check(CheckName::Sends, None, "no answer, so no place was ever held".to_owned());
    }
    let mean = |spread: &crate::spread::Spread| spread.mean().map_or(0.0, Seconds::get);
    let (late, busy) = (mean(&all.begun_late), mean(&all.e2e));
    let held = Ratio::of(busy, busy + late).unwrap_or(Ratio(1.0));
    let seen = format!(
        "{held} of {concurrency} places were held by a request: the next one left {} after an answer on average",
        Seconds(late)
    );
    check(CheckName::Sends, 1.0 - held.0 <= IDLE, seen)
}

/// The client's own part in the first-token times.
pub(super) fn precision(tally: &Tally, all: &GroupTally, client: &ClientFacts) -> Check {
    let (Some(own), Some(ttft)) = (tally.own.quantile(0.99), all.ttft.quantile(0.5)) else {
        return check(CheckName::Precision, None, "no first token came".to_owned());
    };
    let limit = OWN_LEAST.max(OWN_SHARE * ttft.0);
    let blind = if tally.path.len() * 2 > tally.own.len() || client.front_end.is_some() {
        ""
    } else {
        "; the server sends its head with the first token, so what it needs to take a request up is not in the error"
    };
    let seen = format!("sending took up to {own} (p99) of the time to first token{blind}");
    check(CheckName::Precision, own.0 <= limit, seen)
}

pub(super) fn receives(tally: &Tally) -> Check {
    let Some(lag) = tally.lag.quantile(0.99) else {
        return check(CheckName::Receives, None, "nothing arrived".to_owned());
    };
    let piled = Ratio::of(tally.late_merges as f64, tally.generated_chunks as f64).unwrap_or(Ratio(0.0));
    if lag.0 > LAG {
        return check(
            CheckName::Receives,
            false,
            format!("what arrived waited to be read: p99 {lag} (limit {})", Seconds(LAG)),
        );
    }
    if piled.0 > PILED {
        return check(
            CheckName::Receives,
            false,
            format!("{piled} of the chunks piled up before they were read"),
        );
    }
    check(CheckName::Receives, true, format!("read within {lag} of arrival (p99)"))
}

pub(super) fn shortage(all: &GroupTally, outcome: Outcome, name: CheckName, words: &str) -> Check {
    match all.outcomes.get(&outcome).copied().unwrap_or(0) {
        0 => check(name, true, "never short".to_owned()),
        n => check(name, false, format!("{words}: {n} requests failed for it")),
    }
}

pub(super) fn steady(tally: &Tally) -> Check {
    let name = CheckName::SteadyState;
    if !tally.declared.arrival.is_level() || tally.declared.stages.len() > 1 {
        return check(name, None, "the load is not meant to hold one level".to_owned());
    }
    match Steady::of(&tally.seconds) {
        Steady::TooShort { seconds } => {
            check(name, None, format!("{seconds} s at full load are too short to judge"))
        }
        Steady::Held { from, to, .. } => check(name, true, format!("held one level from {from} to {to}")),
        Steady::Grew { first, last } => check(
            name,
            false,
            format!(
                "no steady state: requests in flight grew from {first:.0} to {last:.0}, so the figures depend on how long it ran"
            ),
        ),
        Steady::Drifted { first, last } => check(
            name,
            false,
            format!("no steady state: {first:.0} chunks a second in the first half, {last:.0} in the second"),
        ),
    }
}

pub(super) fn hit_ratio(tally: &Tally, all: &GroupTally, client: &ClientFacts) -> Check {
    let name = CheckName::HitRatio;
    let from_usage = Ratio::of(all.cached_tokens as f64, all.cached_known as f64);
    let from_server = client.server_hits.and_then(|(hits, queries)| Ratio::of(hits, queries));
    let (Some(declared), Some(seen)) = (tally.declared.hit_ratio, from_usage.or(from_server)) else {
        let why =
            if tally.declared.hit_ratio.is_none() { "none was declared" } else { "the server does not tell" };
        return check(name, None, format!("prefix-cache hit ratio: {why}"));
    };
    // A chat template is a shared beginning that nobody declared.
    let template = tally.lengths.most_extra.map_or(0.0, |extra| extra.max(0) as f64);
    let mean_prompt = tally.lengths.counted_input as f64 / tally.lengths.requests.max(1) as f64;
    let allowed = HITS + Ratio::of(template, mean_prompt).map_or(0.0, Ratio::get);
    let words = format!("prefix-cache hit ratio {seen}, declared {declared}");
    check(name, seen.0 >= declared.0 - HITS && seen.0 <= declared.0 + allowed, words)
}

pub(super) fn lengths(tally: &Tally) -> Check {
    let name = CheckName::Lengths;
    let l = &tally.lengths;
    if tally.declared.ignore_eos && l.outputs > 0 && l.short_outputs as f64 > LENGTH * l.outputs as f64 {
        return check(
            name,
            false,
            format!("{} of {} answers do not have the length asked for", l.short_outputs, l.outputs),
        );
    }
    if l.requests == 0 {
        return check(name, None, "the server does not tell how long the prompts were".to_owned());
    }
    let n = l.requests as f64;
    let (declared, counted) = (l.declared_input as f64 / n, l.counted_input as f64 / n);
    // What every prompt has on top alike is the chat template, not a wrong length.
    let (least, most) = (l.least_extra.unwrap_or(0), l.most_extra.unwrap_or(0));
    let template = tally.declared.template_tokens.map_or(least.max(0) as f64, f64::from);
    let miss = (counted - template - declared).abs();
    let words = format!(
        "prompts of {:.1} tokens planned ({template:.0} of them around the text), {counted:.1} counted by the server, spread {}",
        declared + template,
        most - least
    );
    let right = miss <= (LENGTH * declared).max(1.0);
    check(name, right, if right { words } else { format!("sent lengths are not as declared: {words}") })
}
