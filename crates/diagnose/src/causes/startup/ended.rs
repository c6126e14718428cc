//! Which line ended a start: what every cause of this class asks.

use intriage_case::{Fact, Ratio, Source};
use intriage_engines::{Behaviour, LogEvent, Meaning};

use crate::causes::shared::told_by_log;
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::stops_starts;
use crate::weighing::{Judgement, Test, Weighing};

/// What ends a start, and says why. The first such line counts: the others follow from it.
const REASONS: &[Meaning] = &[
    Meaning::DriverTooOld,
    Meaning::FabricNotReady,
    Meaning::NoGpu,
    Meaning::NotBuiltForGpu,
    Meaning::NoKernelImage,
    Meaning::DtypeUnsupported,
    Meaning::QuantizationUnsupported,
    Meaning::AttentionUnsupported,
    Meaning::CpuInstruction,
    Meaning::ModelUnknown,
    Meaning::RemoteCode,
    Meaning::HubAuth,
    Meaning::HubUnreachable,
    Meaning::ModelFiles,
    Meaning::LoraRank,
    Meaning::PortInUse,
    Meaning::DiskFull,
    Meaning::SharedMemoryShort,
    Meaning::PermissionDenied,
    Meaning::BadArgument,
    Meaning::ContextBeyondModel,
    Meaning::ParallelismUnfit,
    Meaning::EnvironmentBroken,
    Meaning::ForkedCuda,
    Meaning::GpuEcc,
    Meaning::CoordinationUnreachable,
    Meaning::EngineFileUnfit,
    Meaning::KernelBuild,
    // Causes of other classes that end starts, too.
    Meaning::NoRoomForKv,
    Meaning::MemoryTaken,
    Meaning::GpuOutOfMemory,
    Meaning::WarmupOutOfMemory,
    Meaning::OomKilled,
    Meaning::HostKilled,
    Meaning::ProbeKilled,
];

/// Headings and echoes: where any other reason is told in the same start, that one counts.
const GENERAL: &[Meaning] = &[
    Meaning::ConfigurationRefused,
    Meaning::CollectiveFailed,
    Meaning::CppException,
    Meaning::ExitedKilled,
    Meaning::ProbeFailed,
    // A cluster tries again: what the container itself says later counts.
    Meaning::NotScheduled,
    Meaning::ImageNotPulled,
];

/// What the cause says for itself if its line is not the one that ended the start.
const ECHO: f64 = 0.4;

/// How long a line can still end a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The server says that it is ready.
    Ready,
    /// It answers its first request.
    Answers,
    /// Whatever it has served.
    Forever,
}

/// The line of a cause that ended a start, if there is one.
pub(super) struct Ended<'a> {
    line: Option<&'a LogEvent>,
    /// A line of another cause that stands before it.
    before: Option<&'a LogEvent>,
    /// Whether the server had come up before it.
    ran: bool,
    test: Test,
}

impl<'a> Ended<'a> {
    /// A start ended by one of these lines. A server that came up before or after it, or answers, refutes that.
    pub(super) fn by(e: &Evidence<'a>, meanings: &[Meaning]) -> Self {
        Self::find(e, meanings, Until::Ready)
    }

    /// A start ended by one of these lines, which may stand behind the word of being ready: servers say that before they bind
    /// their port.
    pub(super) fn until_it_answers(e: &Evidence<'a>, meanings: &[Meaning]) -> Self {
        Self::find(e, meanings, Until::Answers)
    }

    /// A start, or a server that ran, ended by one of these lines.
    pub(super) fn at_any_time(e: &Evidence<'a>, meanings: &[Meaning]) -> Self {
        Self::find(e, meanings, Until::Forever)
    }

    fn find(e: &Evidence<'a>, meanings: &[Meaning], until: Until) -> Self {
        let log = &e.observed.log;
        let of_now = || log.events.iter().filter(|l| stops_starts(e, l));
        let own = |l: &&LogEvent| meanings.contains(&l.meaning);
        let special = |l: &&LogEvent| own(l) && !GENERAL.contains(&l.meaning);
        let Some(line) = of_now().find(special).or_else(|| of_now().find(own)) else {
            let why =
                if log.present { "no line of the log tells of it" } else { "there is no log: give --log" };
            return Self { line: None, before: None, ran: false, test: Test::Unknown(why.into()) };
        };
        let before = of_now().find(|l| {
            let first = line.begins_after(l);
            // Signal 9 is what a kubelet sends once its probe has failed often enough.
            let sent = line.meaning == Meaning::ExitedKilled && l.meaning == Meaning::ProbeFailed;
            // A library that cannot be opened is the environment's fault, unless its name says more.
            let says_more = line.meaning == Meaning::EnvironmentBroken && l.is_at(line);
            let reason =
                REASONS.contains(&l.meaning) && (first || says_more || GENERAL.contains(&line.meaning));
            !own(l) && (reason || sent)
        });
        let on_request = e.observed.identity.works_by(Behaviour::LoadsOnRequest).is_some();
        let ready = had_come_up(e, line).filter(|_| !(on_request && until == Until::Ready));
        let had_come_up = ready.filter(|_| until != Until::Answers || !log.answers.is_empty());
        let ran = had_come_up.is_some();
        let over = came_up(e, line).or(had_come_up.filter(|_| until != Until::Forever));
        let by = line.writer.as_ref().map_or(String::new(), |writer| format!(" ({writer})"));
        let test = match over {
            Some(fact) => Test::Fails(fact),
            None => Test::Holds(told_by_log(line, format!("the log says {:?}{by}", line.excerpt))),
        };
        Self { line: Some(line), before, ran, test }
    }

    /// The line.
    pub(super) fn line(&self) -> Option<&'a LogEvent> {
        self.line
    }

    /// Whether no line of another cause stands before it.
    pub(super) fn is_first(&self) -> bool {
        self.before.is_none()
    }

    /// The number behind a text in that line.
    pub(super) fn number_behind(&self, text: &str) -> Option<f64> {
        self.line?.number_behind(text)
    }

    /// The evidence so far: the line, and whether another one came first.
    pub(super) fn weigh(&self, explains: &[&'static str]) -> Weighing {
        let w = Weighing::new().requires(self.test.clone()).explains(explains);
        match self.before {
            Some(other) => {
                let says = format!("another line stands before it: {:?}", other.excerpt);
                w.supports(Test::Fails(told_by_log(other, says))).at_most_likely(ECHO)
            }
            None => w,
        }
    }

    /// The verdict in words: what stopped the server, and its own words for it.
    pub(super) fn conclude(&self, weighing: Weighing, why: &str) -> Judgement {
        let quoted = self.line.map_or(String::new(), |line| format!(" ({})", line.excerpt));
        let impact = Impact {
            on: ImpactOn::Availability,
            share: Ratio(1.0),
            time: None,
            says: "nothing is served".into(),
        };
        let what = if self.ran { "the server had started and ended" } else { "the server does not start" };
        weighing.conclude(format!("{what}: {why}{quoted}"), impact)
    }
}

/// The server came up after the line, or answers now.
fn came_up(e: &Evidence<'_>, line: &LogEvent) -> Option<Fact> {
    let o = e.observed;
    let answers = o.times.last().is_some_and(|last| o.failed.last().is_none_or(|(at, _)| at < last));
    if answers {
        return Some(Fact {
            says: "the server answers".into(),
            value: None,
            limit: None,
            signal: None,
            source: Source::Scrape,
        });
    }
    let ready = o.log.ready_after(line)?;
    Some(told_by_log(ready, format!("the server came up after that line: {:?}", ready.excerpt)))
}

/// The server had come up before the line: it ended no start.
fn had_come_up(e: &Evidence<'_>, line: &LogEvent) -> Option<Fact> {
    let mut ready = e.observed.log.events.iter().filter(|l| l.meaning == Meaning::Ready);
    let ready = ready.find(|l| l.starts_since == line.starts_since && line.is_after(l))?;
    Some(told_by_log(ready, format!("the server had come up before that line: {:?}", ready.excerpt)))
}

#[cfg(test)]
mod tests {
    use crate::causes::find;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    const PORT: &str = "OSError: [Errno 98] Address already in use\n";
    const GATED: &str = "OSError: You are trying to access a gated repo.\n";
    const READY: &str = "INFO:     Application startup complete.\n";

    fn outcome(cause: &str, log: &str) -> Outcome {
        let cause = find(cause).expect("a cause of the catalogue");
        Given::vllm("0.32.0").without_scrapes().log(log).judge(cause).outcome
    }

    #[test]
    fn the_first_line_ends_the_start_and_the_others_follow_from_it() {
        let both = format!("{GATED}{PORT}");
        assert_eq!(outcome("model-hub-auth", &both), Outcome::Confirmed);
        assert_eq!(outcome("port-in-use", &both), Outcome::Likely);
        assert_eq!(outcome("port-in-use", PORT), Outcome::Confirmed);
    }

    #[test]
    fn a_server_that_ran_and_was_killed_is_not_said_to_have_failed_its_start() {
        let cause = find("host-oom-kill").expect("a cause of the catalogue");
        let says = |log: &str| Given::vllm("0.32.0").without_scrapes().log(log).judge(cause).says;
        assert!(says("Killed\n").starts_with("the server does not start"));
        assert!(says(&format!("{READY}Killed\n")).starts_with("the server had started and ended"));
    }

    #[test]
    fn what_stands_below_a_heading_is_the_reason() {
        let refused = "pydantic_core.ValidationError: 1 validation error for ModelConfig\n";
        let window = "  Value error, User-specified max_model_len (9) is greater than the derived max_model_len (x=8).\n";
        assert_eq!(outcome("bad-launch-argument", refused), Outcome::Confirmed);
        assert_eq!(outcome("bad-launch-argument", &[refused, window].concat()), Outcome::Likely);
        assert_eq!(outcome("context-window-exceeds-model", &[refused, window].concat()), Outcome::Confirmed);
    }

    #[test]
    fn a_server_that_came_up_was_not_stopped() {
        assert_eq!(outcome("port-in-use", &format!("{PORT}{READY}")), Outcome::RuledOut);
        assert_eq!(outcome("port-in-use", READY), Outcome::CannotTell);
        let hub = |log: &str| outcome("model-hub-auth", log);
        assert_eq!(hub(&format!("{READY}{GATED}")), Outcome::RuledOut);
    }

    #[test]
    fn uvicorn_says_that_it_is_ready_before_it_binds_its_port() {
        assert_eq!(outcome("port-in-use", &format!("{READY}{PORT}")), Outcome::Confirmed);
        let answered = "INFO:     10.0.0.1:1 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n";
        assert_eq!(outcome("port-in-use", &format!("{READY}{answered}{PORT}")), Outcome::RuledOut);
    }

    #[test]
    fn a_server_that_answers_was_not_stopped() {
        let cause = find("port-in-use").expect("a cause of the catalogue");
        let j =
            Given::vllm("0.32.0").gauge(intriage_case::Signal::RequestsRunning, 1.0).log(PORT).judge(cause);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_start_that_may_have_been_mended_is_not_judged_by_the_one_before() {
        let start = "INFO non-default args: {'model': 'm'}\n";
        assert_eq!(outcome("port-in-use", &format!("{start}{PORT}{start}")), Outcome::CannotTell);
        assert_eq!(outcome("port-in-use", &format!("{start}{PORT}{start}{PORT}")), Outcome::Confirmed);
    }
}
