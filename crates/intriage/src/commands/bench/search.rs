//! `--search slo` and `--sweep`: runs one after the other, judged together.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use intriage_case::{Nanos, PerSecond, Requests};
use intriage_load::arrivals::Shape;
use intriage_load::search::{Boundary, Holds, Probe, highest_rate, judge, knee};
use intriage_load::{Clock, Handle, Load, Spec};
use intriage_record::Summary;

use super::args::{BenchArgs, BenchFormat};
use super::{plan, print, progress};
use crate::failure::{Failure, Outcome};

/// How long one probe takes unless `--duration` says otherwise.
const PROBE: Duration = Duration::from_secs(15);
/// Requests of the look at the idle server before a search.
const LOOK: u64 = 5;
/// A probe of fewer requests says nothing about a percentile, so it lasts until so many have been sent.
const LEAST_REQUESTS: f64 = 20.0;
/// But no longer than this.
const LONGEST: Duration = Duration::from_mins(2);
/// Requests in flight a sweep goes up to unless `--max-concurrency` says otherwise.
const MOST: u32 = 256;

/// Finds the highest rate that holds the objectives.
pub(super) fn slo(args: &BenchArgs, spec: &Spec) -> Result<Outcome, Failure> {
    if spec.objectives.is_empty() {
        return Err(Failure::Usage(
            "--search slo needs at least one objective, such as --slo ttft.p95=500ms".into(),
        ));
    }
    let handle = Handle::default();
    progress::end_on_interrupt(&handle);
    let time = args.load.duration.unwrap_or(PROBE);
    let idle = measure(&idle_look(spec), &handle)?;
    super::outcome_of_answers(&idle)?;
    // One request at a time is surely not too much: the search starts there.
    let first = idle.all.e2e.mean.map_or(1.0, |mean| 1.0 / mean.0.max(1e-3));
    let alone = judge(0.0, idle, &spec.objectives);
    if matches!(alone.holds, Holds::No | Holds::Hardly) {
        anstream::eprintln!("one request at a time does not hold them");
        return told(args, &Boundary::of(vec![alone]));
    }
    let mut done: Vec<Probe> = Vec::new();
    let mut number = 0;
    let found = highest_rate(first, |rate| {
        // New words for every probe: one that is tried again must not find its prompts in the server's cache.
        number += 1;
        let probe = probe_at(rate, time, spec, spec.salt.wrapping_add(number));
        let tried = judge(rate, measure(&probe, &handle)?, &spec.objectives);
        say(&format!("{rate:.2} req/s"), &tried);
        done.push(tried.clone());
        Ok::<_, Failure>(tried)
    });
    match found {
        Ok(found) => told(args, &found),
        Err(why) if handle.stop.load(Ordering::Relaxed) && !done.is_empty() => {
            anstream::eprintln!("{why}: this is what was found before");
            told(args, &Boundary::of(done)).map(|_| Outcome::Open)
        }
        Err(why) => Err(why),
    }
}

/// A few requests, one after the other.
fn idle_look(spec: &Spec) -> Spec {
    Spec {
        load: Load::Closed { concurrency: 1 },
        sessions: Some(LOOK),
        duration: None,
        warmup_sessions: 1,
        ..spec.clone()
    }
}

fn probe_at(rate: f64, time: Duration, spec: &Spec, salt: u64) -> Spec {
    let least = Duration::from_secs_f64((LEAST_REQUESTS / rate).min(LONGEST.as_secs_f64()));
    let time = plan::nanos(time.max(least));
    let shape = Shape::Poisson { rate: PerSecond(Requests(rate)) };
    Spec {
        load: Load::Open { shape, max_in_flight: None },
        sessions: None,
        duration: Some(time),
        warmup_time: Nanos(time.0 / 5),
        // A rate far beyond the server's would take for ever to drain.
        drain: Nanos(time.0 * 2),
        salt,
        ..spec.clone()
    }
}

/// Prints what was found.
fn told(args: &BenchArgs, found: &Boundary) -> Result<Outcome, Failure> {
    match args.output.format {
        BenchFormat::Json => print::value(found)?,
        _ => print::text(&intriage_report::boundary_text(
            &intriage_report::BoundaryFacts {
                rate: found.rate,
                interval: found.interval,
                binding: found.binding,
                client: found.limited_by_client.as_deref(),
                doubts: &found.doubts,
            },
            &rows(&found.probes),
        ))?,
    }
    let sure = found.limited_by_client.is_none() && found.doubts.is_empty();
    Ok(match (sure, found.rate) {
        (false, _) => Outcome::Open,
        (true, Some(_)) => Outcome::Fine,
        (true, None) => Outcome::Wrong,
    })
}

/// Finds the knee.
pub(super) fn sweep(args: &BenchArgs, spec: &Spec) -> Result<Outcome, Failure> {
    let handle = Handle::default();
    progress::end_on_interrupt(&handle);
    let time = args.load.duration.unwrap_or(PROBE);
    let most = args.load.max_concurrency.unwrap_or(MOST);
    let found = knee(most, |concurrency| {
        let probe = Spec {
            load: Load::Closed { concurrency },
            sessions: args.load.num_prompts,
            duration: Some(plan::nanos(time)),
            warmup_sessions: u64::from(concurrency),
            drain: Nanos(plan::nanos(time).0 * 4),
            salt: spec.salt.wrapping_add(u64::from(concurrency)),
            ..spec.clone()
        };
        let point = judge(f64::from(concurrency), measure(&probe, &handle)?, &spec.objectives);
        super::outcome_of_answers(&point.summary)?;
        say(&format!("{concurrency} in flight"), &point);
        Ok::<_, Failure>(point)
    })?;
    match args.output.format {
        BenchFormat::Json => print::value(&found)?,
        _ => print::text(&intriage_report::sweep_text(
            found.knee,
            found.most_tokens_per_second,
            found.still_growing,
            found.limited_by_client.as_deref(),
            &rows(&found.points),
        ))?,
    }
    Ok(if found.limited_by_client.is_some() { Outcome::Open } else { Outcome::Fine })
}

fn measure(spec: &Spec, handle: &Handle) -> Result<Summary, Failure> {
    *handle.progress.lock().unwrap_or_else(PoisonError::into_inner) = intriage_load::Progress::default();
    let ready = spec.prepare(Clock::start(), handle)?;
    let shown = progress::show(handle, spec);
    let ran = ready.run(None, Vec::new(), handle);
    shown.end();
    // What was cut short must not be taken for the server's doing.
    if handle.stop.load(Ordering::Relaxed) {
        return Err(Failure::Load("stopped".into()));
    }
    let (header, ran) = ran?;
    Ok(Summary::of(&header, &ran.tally, Some(&ran.client)))
}

fn say(load: &str, probe: &Probe) {
    let tokens = probe.summary.all.throughput.output_tokens_per_second.unwrap_or(0.0);
    let verdict = match probe.holds {
        _ if probe.binding.is_none() => &format!("{tokens:.0} tokens/s"),
        Holds::Yes => "holds",
        Holds::Barely => "holds, within the error",
        Holds::Hardly => "does not hold, within the error",
        Holds::No => "does not hold",
        Holds::Untold => "cannot be told, for the client's sake",
    };
    let ttft = probe.summary.all.planned.ttft.p99.map_or_else(|| "–".to_owned(), |t| t.to_string());
    anstream::eprintln!("{load}: {verdict} (TTFT p99 {ttft}, {} answered)", probe.summary.all.requests.ok);
}

fn rows(probes: &[Probe]) -> Vec<intriage_report::ProbeRow<'_>> {
    probes
        .iter()
        .map(|p| intriage_report::ProbeRow {
            load: p.load,
            held: match p.holds {
                Holds::Untold => None,
                holds => Some(matches!(holds, Holds::Yes | Holds::Barely)),
            },
            sure: matches!(p.holds, Holds::Yes | Holds::No),
            summary: &p.summary,
        })
        .collect()
}
