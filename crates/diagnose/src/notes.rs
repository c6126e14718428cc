//! What a reader should know of the window beside the verdict.

use intriage_case::{Requests, Seconds, Signal};

use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// Everything that makes the figures of this window less than they seem.
pub(crate) fn window_notes(e: &Evidence<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let o = e.observed;
    if o.times.len() >= 2 && e.busy().is_empty() {
        notes.push("nothing was running in the window; put load on the server and check again".into());
    }
    if let Some(quiet) = quiet_end(e) {
        notes.push(format!("nothing moved in the last {quiet} of the window: no traffic, or a paused engine (its log, or /is_paused in dev mode, tells)"));
    }
    match e.restarts() {
        0 => {}
        1 => notes.push("counters fell back: the process restarted inside the window".into()),
        n => notes.push(format!("counters fell back {n} times: the process restarted inside the window")),
    }
    match e.finished() {
        Some(Requests(n)) if !e.busy().is_empty() && n == 0.0 => {
            notes.push("no request finished in the window: phase times are unknown".into());
        }
        Some(Requests(n)) if !e.busy().is_empty() && n < e.limit(Limit::MeanSample) => {
            notes.push(format!("only {} finished in the window: means are rough", Requests(n)));
        }
        _ => {}
    }
    if let (Some(seen), Some(accounted)) = (e.mean(Signal::LatencyTtft), e.account.ttft)
        && (seen - accounted).abs() > e.limit(Limit::FigureDiffers) * seen
    {
        notes.push(format!(
            "all first tokens of the window came after {} on average; the account covers the requests whose queue and prefill times are known, those that finished ({})",
            Seconds(seen),
            Seconds(accounted)
        ));
    }
    if let Some(scope) = e.scope() {
        let engine = scope.engine.as_deref().unwrap_or("?");
        let model = scope.model.as_deref().unwrap_or("?");
        notes.push(format!(
            "{} engines answer here; limits were judged on the fullest one (engine {engine}, model {model})",
            o.instances().len()
        ));
    }
    for (limit, value) in e.thresholds.changed() {
        notes.push(format!(
            "threshold {} was set to {value} (default {})",
            limit.key(),
            limit.default_value()
        ));
    }
    notes
}

/// How long nothing moved at the end of a window that had traffic before, if that is long.
fn quiet_end(e: &Evidence<'_>) -> Option<Seconds> {
    let (last_busy, last) = (e.busy().last()?, e.observed.times.last()?);
    let quiet = last.since(e.observed.times[*last_busy]);
    let long = quiet.get() >= e.limit(Limit::StallSeconds)
        && quiet.get() >= e.limit(Limit::Quiet) * e.elapsed().get();
    long.then_some(quiet)
}
