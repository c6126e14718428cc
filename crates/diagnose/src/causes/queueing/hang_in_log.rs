//! A hang as a log alone tells of it: a worker that does not answer, again and again, or a watchdog that gave up.

use intriage_case::{Fact, Ratio, Requests, Series, Signal};
use intriage_engines::{LogSeries, Meaning};

use crate::causes::shared::told_by_log;
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::{death, lately};
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

/// How sure lines make: a very slow step writes them, too.
const SURE: f64 = 0.7;

/// The verdict of the log, where nobody asked the server and a line tells of a worker that does not answer, or its statistics
/// tell of requests and no token.
pub(super) fn hang_in_log(e: &Evidence<'_>, explains: &[&'static str]) -> Option<Judgement> {
    let asked = !e.observed.times.is_empty() || !e.observed.failed.is_empty();
    let fired = lately(e, Meaning::WatchdogFired);
    let line = fired.or_else(|| lately(e, Meaning::WorkerSilent)).filter(|_| !asked);
    let still = (!asked).then(|| still_lines(e)).flatten();
    let mut w = Weighing::new().explains(explains).explains(&["host-oom-kill", "collective-init-failure"]);
    let says = match (line, &still) {
        (Some(line), _) => {
            // Once is a slow load; a watchdog speaks once, after minutes.
            let again = f64::from(line.count) >= e.limit(Limit::HangLines);
            let fact = told_by_log(line, format!("{} lines say so, such as {:?}", line.count, line.excerpt));
            w = if again || fired.is_some() || still.is_some() {
                w.requires(Test::Holds(fact))
            } else {
                w.requires(Test::Unknown(format!(
                    "one line tells of a worker that does not answer, as a slow load does: {:?}",
                    line.excerpt
                )))
            };
            if let Some(moving) = goes_on(e).filter(|_| still.is_none() && fired.is_none()) {
                w = w.refuted_by(Test::Holds(moving));
            }
            if let Some(ready) = e.observed.log.ready_after(line).filter(|_| still.is_none()) {
                let says = format!("the server came up after that: {:?}", ready.excerpt);
                w = w.refuted_by(Test::Holds(told_by_log(ready, says)));
            }
            format!("a worker of the engine does not answer: it hangs ({})", line.excerpt)
        }
        (None, Some(still)) => {
            if let Some(death) = death(e) {
                let says = format!("the log says that the engine died: {}", death.excerpt);
                w = w.refuted_by(Test::Holds(told_by_log(death, says)));
            }
            still.says.clone()
        }
        (None, None) => return None,
    };
    // Who waits for a rank that hangs ends with an error of its own.
    if fired.is_some() {
        w = w.explains(&["engine-crash-5xx"]);
    }
    w = still.into_iter().fold(w, |w, fact| {
        if line.is_some() { w.supports(Test::Holds(fact)) } else { w.requires(Test::Holds(fact)) }
    });
    let impact = Impact {
        on: ImpactOn::Availability,
        share: Ratio(1.0),
        time: None,
        says: "requests hang until it is started again".into(),
    };
    Some(w.at_most_likely(SURE).conclude(says, impact))
}

/// The statistics go on to the end of the log: the engine writes them as it works, and one that hangs writes none.
fn goes_on(e: &Evidence<'_>) -> Option<Fact> {
    let log = &e.observed.log;
    let (end, series) = (log.span.ended?, log.signal(Signal::KvUsage)?);
    let last = series.times().last()?;
    let silent = end.at.since(*last);
    let values: Vec<f64> =
        (0..series.times().len()).rev().filter_map(|i| series.at(i)).take(WORKING).collect();
    let changes = values.windows(2).any(|pair| pair[0] != pair[1]);
    (changes && values.len() == WORKING && silent.get() <= e.limit(Limit::StallSeconds)).then(|| {
        let says =
            format!("the engine's own lines go on to the end of the log, the last one {silent} before it");
        e.derived(says, silent, "statistics lines of the log")
    })
}

/// So many lines of statistics that are not all alike show an engine at work.
const WORKING: usize = 4;

/// The last lines of the statistics tell of requests and of no token, for longer than a step takes.
fn still_lines(e: &Evidence<'_>) -> Option<Fact> {
    let log = &e.observed.log;
    let rates = log.signal(Signal::TokenRateGenerated)?;
    let others =
        [Signal::TokenRatePrompt, Signal::RequestsRunning, Signal::RequestsWaiting].map(|s| log.signal(s));
    let [prompts, running, waiting] = others;
    // Some engines tell of each in lines of its own: the last word up to then counts.
    let at = |series: &Option<Series>, i: usize| {
        let series = series.as_ref()?;
        let upto = series.times().partition_point(|time| *time <= rates.times()[i]);
        series.at(upto.checked_sub(1)?)
    };
    let held = |i: usize| at(&running, i).unwrap_or(0.0) + at(&waiting, i).unwrap_or(0.0);
    let moves = |i: usize| {
        rates.at(i).is_none_or(|rate| rate > 0.0) || at(&prompts, i).is_some_and(|rate| rate > 0.0)
    };
    let last = rates.times().len().checked_sub(1)?;
    let first = (0..=last).rev().take_while(|i| !moves(*i) && held(*i) >= 1.0).last()?;
    let seconds = rates.times()[last].since(rates.times()[first]);
    let enough = ((last - first + 1) as f64) >= e.limit(Limit::HangLines);
    if !enough || seconds.get() < e.limit(Limit::StallSeconds) {
        return None;
    }
    let says = format!(
        "the last {} lines of its statistics, {seconds} long, tell of {} and of no token: it hangs",
        last - first + 1,
        Requests(held(last))
    );
    let mut fact = e.derived(says, seconds, "statistics lines of the log");
    let of_rates = log.series.iter().find(|one| one.signal == Signal::TokenRateGenerated);
    fact.source = of_rates.map_or(fact.source, LogSeries::source);
    Some(fact)
}

#[cfg(test)]
mod tests {
    use crate::causes::find;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    const SILENT: &str = "INFO 05-28 14:44:28 [shm_broadcast.py:681] No available shared memory broadcast block found in 60 seconds.\n";

    #[test]
    fn a_silent_worker_hangs_if_it_is_told_again_and_nobody_came_up() {
        let outcome = |log: &str| {
            let cause = find("engine-stalled-not-admitting").expect("a cause of the catalogue");
            Given::vllm("0.32.0").without_scrapes().log(log).judge(cause).outcome
        };
        assert_eq!(outcome(&SILENT.repeat(4)), Outcome::Likely);
        assert_eq!(outcome(SILENT), Outcome::CannotTell);
        let ready = "INFO:     Application startup complete.\n";
        assert_eq!(outcome(&format!("{}{ready}", SILENT.repeat(4))), Outcome::RuledOut);
        assert_eq!(
            outcome("[2025-03-09 00:57:15 TP4] Watchdog timeout (self.watchdog_timeout=300)\n"),
            Outcome::Likely
        );
    }

    /// A log with lines of statistics every ten seconds: running, waiting, tokens a second.
    fn statistics(lines: &[(u32, u32, f64)]) -> String {
        let line = |(i, (running, waiting, rate)): (usize, &(u32, u32, f64))| {
            format!(
                "INFO 11-15 02:{:02}:{:02} [loggers.py:259] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {rate} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: 3.0%, Prefix cache hit rate: 0.0%\n",
                i / 6,
                i % 6 * 10
            )
        };
        lines.iter().enumerate().map(line).collect()
    }

    #[test]
    fn requests_without_a_token_in_line_after_line_are_a_hang() {
        let cause = find("engine-stalled-not-admitting").expect("a cause of the catalogue");
        let judge = |log: &str| Given::vllm("0.32.0").without_scrapes().log(log).judge(cause);
        let hung = statistics(&[&[(4, 0, 120.0); 4][..], &[(4, 2, 0.0); 8]].concat());
        let j = judge(&hung);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("the last 8 lines of its statistics"), "{}", j.says);
        // Nobody is admitted.
        assert_eq!(judge(&statistics(&[(0, 3, 0.0); 8])).outcome, Outcome::Likely);
        // An idle server, one long step, and one that goes on.
        for calm in [
            statistics(&[(0, 0, 0.0); 8]),
            statistics(&[&[(4, 0, 120.0); 4][..], &[(4, 2, 0.0); 2]].concat()),
            statistics(&[&[(4, 2, 0.0); 8][..], &[(4, 0, 120.0); 2]].concat()),
        ] {
            assert!(!matches!(judge(&calm).outcome, Outcome::Likely | Outcome::Confirmed), "{calm}");
        }
    }

    #[test]
    fn a_watchdog_that_ends_the_process_tells_of_a_hang_first() {
        let log = "[rank1]:[E203 10:15:10.123456789 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\nterminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [Rank 1] Watchdog caught collective operation timeout\n";
        let verdict = Given::vllm("0.32.0").without_scrapes().log(log).verdict().verdict;
        assert_eq!(verdict.primary.cause.as_deref(), Some("engine-stalled-not-admitting"), "{verdict:#?}");
    }
}
