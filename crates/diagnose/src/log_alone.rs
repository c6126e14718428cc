//! What a log proves where it is all there is: that the server came up and works, or that what scares in it means nothing.

use intriage_case::Signal;
use intriage_engines::{LogEvent, Meaning};

use crate::causes::{lines_show, through_lines};
use crate::evidence::Evidence;
use crate::lately::is_death;
use crate::thresholds::Limit;

/// The sentence for a log without a fault, where nobody asked the server anything. `None` where it holds an error, or
/// nothing that shows a server at work.
pub(crate) fn nothing_in_this_log(e: &Evidence<'_>) -> Option<String> {
    let o = e.observed;
    let asked = !o.times.is_empty() || !o.failed.is_empty();
    let of_now = || o.log.events.iter().filter(|l| !l.is_earlier());
    if asked
        || !o.log.present
        || of_now().any(|l| speaks_of_a_fault(e, l))
        || o.log.root().is_some()
        || o.log.answers.keys().any(|s| *s >= 500)
    {
        return None;
    }
    let waiting = o.log.signal(Signal::RequestsWaiting);
    let waits = waiting.is_some_and(|s| s.known().any(|(_, n)| n >= 1.0));
    let still = through_lines(e, |lines| lines.delta(Signal::TokensGenerated)).flatten() == Some(0.0);
    if still || waits {
        return None;
    }
    let harmless: Vec<&LogEvent> = of_now().filter(|l| l.meaning == Meaning::Harmless).collect();
    if !o.log.is_up() && harmless.is_empty() {
        return None;
    }
    let mut seen = Vec::new();
    if o.log.is_up() {
        seen.push("the server came up".to_owned());
    }
    let answers: u64 = o.log.answers.range(..400).map(|(_, count)| count).sum();
    if answers > 0 {
        seen.push(format!("answered {answers} requests"));
    }
    seen.extend(lines_show(e));
    if let Some(slow) = of_now().find(|l| was_a_slow_load(e, l)) {
        let times = if slow.count == 1 { "one line".to_owned() } else { format!("{} lines", slow.count) };
        seen.push(format!("{times} such as {:?} are what a slow load or a compilation writes", slow.excerpt));
    }
    seen.extend(
        harmless.iter().take(MOST_QUOTED).map(|l| format!("{:?} is harmless: {}", l.excerpt, l.reason)),
    );
    Some(format!(
        "Nothing in this log is a fault: {}. How long requests take it does not show.",
        seen.join(", ")
    ))
}

/// How many harmless lines are quoted.
const MOST_QUOTED: usize = 2;

/// A worker that did not answer for a minute while something was loaded or compiled: the server came up after it.
fn was_a_slow_load(e: &Evidence<'_>, line: &LogEvent) -> bool {
    let few = f64::from(line.count) < e.limit(Limit::HangLines);
    line.meaning == Meaning::WorkerSilent && (few || e.observed.log.ready_after(line).is_some())
}

/// Lines that are no part of a server's quiet life.
fn speaks_of_a_fault(e: &Evidence<'_>, line: &LogEvent) -> bool {
    if was_a_slow_load(e, line) {
        return false;
    }
    is_death(line.meaning)
        || matches!(
            line.meaning,
            Meaning::ErrorTold
                | Meaning::CudaError
                | Meaning::CrashDump
                | Meaning::WorkerSilent
                | Meaning::WatchdogFired
                | Meaning::GpuOutOfMemory
                | Meaning::KvExhausted
                | Meaning::Xid
                | Meaning::GpuLost
                | Meaning::GpuEcc
        )
}

#[cfg(test)]
mod tests {
    use crate::diagnosis::Status;
    use crate::testing::Given;

    const READY: &str = "INFO:     Application startup complete.\n";

    fn verdict(log: &str) -> (Status, String) {
        let verdict = Given::vllm("0.32.0").without_scrapes().log(log).verdict().verdict;
        (verdict.status, verdict.answer)
    }

    #[test]
    fn a_log_of_a_server_at_work_has_no_fault() {
        let line = |second: u32| {
            format!(
                "INFO 11-15 02:00:{second:02} [loggers.py:259] Engine 000: Avg prompt throughput: 400.0 tokens/s, Avg generation throughput: 900.0 tokens/s, Running: 39 reqs, Waiting: 0 reqs, GPU KV cache usage: 68.9%, Prefix cache hit rate: 29.7%\n"
            )
        };
        let log: String = (0..6).map(|i| line(i * 10)).collect();
        let (status, answer) = verdict(&format!("{READY}{log}"));
        assert_eq!(status, Status::Healthy, "{answer}");
        assert!(answer.starts_with("Nothing in this log is a fault: the server came up"), "{answer}");
        assert!(
            answer.contains("39.0 requests running") || answer.contains("39 requests running"),
            "{answer}"
        );
    }

    #[test]
    fn a_worker_that_was_silent_once_while_loading_is_no_fault() {
        let silent = "INFO 05-28 14:44:28 [shm_broadcast.py:681] No available shared memory broadcast block found in 60 seconds.\n";
        for log in [format!("{}{READY}", silent.repeat(4)), format!("{READY}{silent}")] {
            let (status, answer) = verdict(&log);
            assert_eq!(status, Status::Healthy, "{answer}");
            assert!(answer.contains("slow load"), "{answer}");
        }
        assert_eq!(verdict(&format!("{READY}{}", silent.repeat(4))).0, Status::Finding);
    }

    #[test]
    fn an_error_or_an_empty_log_is_not_called_calm() {
        assert_eq!(verdict(&format!("{READY}RuntimeError: something broke\n")).0, Status::CannotTell);
        assert_eq!(verdict("INFO loading\n").0, Status::CannotTell);
    }
}
