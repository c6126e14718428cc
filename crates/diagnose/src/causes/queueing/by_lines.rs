//! A queue as the periodic lines of a log show it, where nobody scraped the server.

use intriage_case::{Fact, Quantity, Requests, Seconds, Signal, Unit};

use intriage_engines::Observed;

use crate::evidence::Evidence;
use crate::lately::death;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

/// How sure lines make: they tell who runs and who waits, and nothing of how long anybody did.
const SURE: f64 = 0.7;

/// Judges by the scrapes, or where there are none by the lines of the log, each in place of a scrape.
pub(super) fn or_by_lines(e: &Evidence<'_>, weigh: fn(&Evidence<'_>, Weighing) -> Judgement) -> Judgement {
    // A server that was asked and did not answer has other troubles than the queue it once had.
    let asked = !e.observed.times.is_empty() || !e.observed.failed.is_empty();
    let Some(seen) = through_log(e).filter(|_| !asked) else {
        return weigh(e, Weighing::new());
    };
    let lines = Evidence::new(&seen, e.intent, e.thresholds);
    let mut w = Weighing::new().requires(enough(&lines)).at_most_likely(SURE);
    if let Some(death) = death(e) {
        let says = format!("the log says that the engine died: {}", death.excerpt);
        let fact = Fact { says, value: None, limit: None, signal: None, source: death.source() };
        w = w.refuted_by(Test::Holds(fact));
    }
    weigh(&lines, w)
}

/// What the lines of a log show of a server nobody scraped, in words.
pub(crate) fn lines_show(e: &Evidence<'_>) -> Option<String> {
    let seen = through_log(e)?;
    let lines = Evidence::new(&seen, e.intent, e.thresholds);
    let mean = |signal| lines.mean_busy(signal).map(Requests);
    let (running, waiting) = (mean(Signal::RequestsRunning)?, mean(Signal::RequestsWaiting)?);
    Some(format!(
        "its last {} lines under load, {} long, show {running} running and {waiting} waiting on average",
        lines.busy().len(),
        lines.elapsed()
    ))
}

/// What `of` makes of the lines of a log, each in place of a scrape, where nobody scraped the server.
pub(crate) fn through_lines<T>(e: &Evidence<'_>, of: fn(&Evidence<'_>) -> T) -> Option<T> {
    if !e.observed.failed.is_empty() {
        return None;
    }
    let seen = through_log(e)?;
    let lines = Evidence::new(&seen, e.intent, e.thresholds);
    (lines.busy().len() as f64 >= e.limit(Limit::LogLines)).then(|| of(&lines))
}

fn through_log(e: &Evidence<'_>) -> Option<Observed> {
    e.observed.through_log(Seconds(e.limit(Limit::LogWindow)), e.limit(Limit::LogLines) as usize)
}

/// One line is a moment; several are a state.
fn enough(e: &Evidence<'_>) -> Test {
    let count = e.busy().len() as f64;
    let idle = if e.observed.went_idle() { "; behind them it is idle" } else { "" };
    let says = format!(
        "nobody scraped the server: {count:.0} lines of its log over {} tell who runs and who waits{idle}",
        e.elapsed()
    );
    if count < e.limit(Limit::LogLines) {
        return Test::Unknown(format!("{says}, which is too few"));
    }
    let value = Some(Quantity::new(count, Unit::Count));
    let mut fact = e.fact(Signal::RequestsWaiting, says, count);
    (fact.value, fact.signal) = (value, None);
    Test::Holds(fact)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use intriage_case::Source;

    use crate::causes::find;
    use crate::diagnosis::{Outcome, Status};
    use crate::symptoms::Aspect;
    use crate::testing::Given;

    const ARGUMENTS: &str = "INFO non-default args: {'model': 'm', 'max_num_seqs': 4}\n";

    /// A log with lines every ten seconds: running, waiting, percent of the KV pool, tokens a second.
    fn logged(lines: &[(u32, u32, f64, f64)]) -> Given {
        let mut log = ARGUMENTS.to_owned();
        for (i, (running, waiting, pool, rate)) in lines.iter().enumerate() {
            let _ = writeln!(
                log,
                "INFO 11-15 02:{:02}:{:02} [loggers.py:259] Engine 000: Avg prompt throughput: {rate} tokens/s, Avg generation throughput: {rate} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: {pool}%, Prefix cache hit rate: 0.0%",
                i / 6,
                i % 6 * 10
            );
        }
        Given::vllm("0.28.0").without_scrapes().log(&log)
    }

    fn outcome(given: &Given, cause: &str) -> Outcome {
        given.judge(find(cause).expect("a cause of the catalogue")).outcome
    }

    const CAP: &str = "max-num-seqs-limited-queue";
    const POOL: &str = "kv-capacity-limited-queue";

    #[test]
    fn a_log_alone_shows_the_cap_that_binds() {
        let given = logged(&[(4, 60, 3.0, 100.0); 12]);
        let j = given.judge(find(CAP).expect("a cause of the catalogue"));
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.facts_for[0].says.contains("12 lines of its log over 110 s"), "{:?}", j.facts_for);
        assert!(j.facts_for.iter().any(|f| matches!(&f.source, Source::Log { line: 2, .. })), "{j:#?}");
        assert!(j.facts_for.iter().all(|f| !f.says.contains("scrapes")), "{:?}", j.facts_for);
        assert_eq!(outcome(&given, POOL), Outcome::RuledOut);
        let verdict = given.verdict();
        assert_eq!(verdict.verdict.status, Status::Finding);
        assert_eq!(verdict.verdict.primary.cause.as_deref(), Some(CAP));
    }

    #[test]
    fn a_log_alone_shows_the_pool_that_is_full() {
        let given = logged(&[(3, 60, 99.1, 100.0); 6]);
        assert_eq!(outcome(&given, POOL), Outcome::Likely);
        assert_eq!(outcome(&given, CAP), Outcome::RuledOut, "three run where four may");
        assert_eq!(given.verdict().verdict.primary.cause.as_deref(), Some(POOL));
        let told = given.flags("vllm serve m --max-num-seqs 4");
        assert_eq!(outcome(&told, POOL), Outcome::Likely);
        assert_eq!(outcome(&told, CAP), Outcome::RuledOut, "three run where four may");
    }

    #[test]
    fn a_small_pool_is_full_before_its_gauge_says_so() {
        let pool = |tokens: &str, usage: f64| {
            let size = format!("INFO [kv_cache_utils.py:2177] GPU KV cache size: {tokens} tokens\n");
            outcome(&logged(&[(4, 9, usage, 100.0); 6]).log(&size), POOL)
        };
        // 470 tokens each: less than half of that is left.
        assert_eq!(pool("2,000", 89.0), Outcome::Likely);
        assert_ne!(pool("2,000", 40.0), Outcome::Likely);
    }

    #[test]
    fn nobody_waiting_one_line_and_a_standstill_are_no_queue() {
        for lines in [&[(4, 0, 99.0, 100.0); 12][..], &[(4, 60, 3.0, 100.0)], &[(4, 60, 3.0, 0.0); 12]] {
            let given = logged(lines);
            let named = [CAP, POOL].map(|cause| outcome(&given, cause));
            assert!(named.iter().all(|o| !matches!(o, Outcome::Confirmed | Outcome::Likely)), "{lines:?}");
        }
        let verdicts =
            [&[(4, 0, 99.0, 100.0); 12][..], &[(4, 60, 3.0, 100.0)]].map(|l| logged(l).verdict().verdict);
        assert_eq!(verdicts.each_ref().map(|v| v.status), [Status::Healthy, Status::CannotTell]);
        assert!(verdicts.iter().all(|v| v.answer.contains("under load")), "{verdicts:#?}");
    }

    #[test]
    fn a_queue_without_a_token_is_a_hang() {
        let verdict = logged(&[(4, 60, 3.0, 0.0); 12]).verdict().verdict;
        assert_eq!(verdict.status, Status::Finding);
        assert_eq!(
            verdict.primary.cause.as_deref(),
            Some("engine-stalled-not-admitting"),
            "{}",
            verdict.answer
        );
        assert_eq!(verdict.primary.segment, Some(Aspect::Availability));
    }

    #[test]
    fn a_queue_before_a_death_is_not_what_ails_the_server() {
        let dead = logged(&[(4, 60, 3.0, 100.0); 12])
            .log("ERROR [core.py:1] EngineCore encountered a fatal error.\n");
        assert_eq!(outcome(&dead, CAP), Outcome::RuledOut);
    }
}
