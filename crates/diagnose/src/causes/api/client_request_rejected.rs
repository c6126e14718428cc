//! Requests are refused as invalid.

use intriage_case::{Quantity, Ratio, Requests, Signal, Tokens, Unit};
use intriage_engines::{Engine, Meaning, Setting};

use crate::causes::shared::{told_by_log, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::lately;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "client-request-rejected",
    class: Class::Api,
    layer: Layer::Application,
    hurts: &[Aspect::Errors],
    summary: "Requests fail validation: the prompt is longer than the context window, a parameter is not supported, the model name or the key is wrong.",
    symptoms: &["4xx answers while latency is fine", "one client or one version of it is affected"],
    confirmed_by: &["a share of the answers is 4xx other than 429", "the log or the answer names the reason"],
    refuted_by: &["no answer is 4xx", "errors are 5xx: the server's side"],
    look_alikes: &[
        LookAlike {
            cause: "overload-shedding",
            tell: "there the answers are 429, 503 or 529 and come with load",
        },
        LookAlike { cause: "silent-context-truncation", tell: "there the answer is 200 and the text is cut" },
        LookAlike { cause: "engine-crash-5xx", tell: "there the answers are 5xx" },
    ],
    probe: Probe {
        name: "replay-one",
        steps: "Replay one failing request word for word, then with a shorter prompt and a model name from /v1/models.",
        if_so: "The change makes it pass, and the error text names the reason.",
        if_not: "It still fails.",
    },
    remedies: &[
        Remedy::any(
            "in the client: a prompt shorter than the context window (count with /tokenize), max_tokens no larger than it, a model id from /v1/models, a valid key",
            "work in the client",
        ),
        Remedy::of(
            Engine::Vllm,
            "raise --max-model-len if the KV pool allows it; --served-model-name for aliases",
            "one request may take more of the pool",
        ),
        Remedy::of(
            Engine::Sglang,
            "raise --context-length; --served-model-name",
            "one request may take more of the pool",
        ),
        Remedy::of(Engine::LlamaCpp, "raise -c, or use fewer slots (-np): each slot owns its part", "memory"),
    ],
    effect: "The refused share goes to zero.",
    confirm: "http.responses with 4xx stand still.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(told) = told_without_answers(e) {
        return told;
    }
    let refused = refused(e);
    let share = refused.as_ref().map_or(Ratio(0.0), |r| r.share);
    let mut w = Weighing::new()
        .requires(refused.as_ref().map_or_else(|| unknown(e, Signal::HttpResponses), |r| r.test(e)));
    w = w.supports(reason_is_named(e));
    let count = refused.map_or(0.0, |r| r.count);
    let window = e
        .setting(Setting::ContextWindow)
        .filter(|_| may_be_too_long(e))
        .map_or(String::new(), |n| format!("; the context window is {}", Tokens(n)));
    let why = by_status(e).map_or_else(|| " as invalid".to_owned(), |why| format!(": {why}"));
    let says = format!("{} ({share}) were refused{why}{window}", Requests(count));
    let impact =
        Impact { on: ImpactOn::Errors, share, time: None, says: format!("{share} of the requests fail") };
    w.conclude(says, impact)
}

/// How sure an error's own words make, where nothing counts the answers.
const WORDS_ALONE: f64 = 0.6;
/// The same beside a server at work: one client's mistake is refused, too.
const BESIDE_WORK: f64 = 0.42;
/// What the refused requests are taken for where nothing counts them.
const UNCOUNTED: f64 = 0.5;

/// Words with which a request is refused.
const REFUSALS: [Meaning; 4] =
    [Meaning::PromptTooLong, Meaning::TemplateError, Meaning::ChatTemplateMissing, Meaning::ModelNotServed];

/// A log without access lines still holds the words with which a request was refused.
fn told_without_answers(e: &Evidence<'_>) -> Option<Judgement> {
    let o = e.observed;
    let asked = !o.times.is_empty() || !o.failed.is_empty() || !o.log.answers.is_empty();
    // What counts refusals tells more than their words.
    let counted = o.is_told_by_log(Signal::RequestsErrors);
    let line = REFUSALS.iter().find_map(|meaning| lately(e, *meaning)).filter(|_| !asked && !counted)?;
    let finished = o.log.signal(Signal::RequestsFinished).and_then(|s| s.last());
    let share = finished.and_then(|all| Ratio::of(f64::from(line.count), all));
    let rates = o.log.signal(Signal::TokenRateGenerated);
    let works = share.is_some() || rates.is_some_and(|s| s.known().any(|(_, rate)| rate > 0.0));
    // A few requests among those that are served are one client's mistake.
    let few = f64::from(line.count) < e.limit(Limit::FewestRefusals);
    if works && (few || share.is_some_and(|share| share.get() < e.limit(Limit::WorthNaming))) {
        return None;
    }
    let sure = if works { BESIDE_WORK } else { WORDS_ALONE };
    let says = format!("requests are refused: {}", line.excerpt);
    let impact = Impact {
        on: ImpactOn::Errors,
        share: share.unwrap_or(Ratio(UNCOUNTED)),
        time: None,
        says: says.clone(),
    };
    let fact = told_by_log(line, format!("the log says {:?}", line.excerpt));
    Some(Weighing::new().requires(Test::Holds(fact)).at_most_likely(sure).conclude(says, impact))
}

/// What the statuses of the access lines say, the most frequent first; `None` where there are none.
fn by_status(e: &Evidence<'_>) -> Option<String> {
    let mut all: Vec<(u16, u64)> =
        e.observed.log.answers.iter().map(|(s, n)| (*s, *n)).filter(|(s, _)| is_refusal(*s)).collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let words = |(status, count): &(u16, u64)| {
        let why = match status {
            401 | 403 => "the key is missing or wrong",
            404 => "the model name or the path is not served",
            405 => "the method is not allowed",
            413 => "the body is too large",
            _ => "the request is not valid",
        };
        format!("{count} × {status}, {why}")
    };
    (!all.is_empty()).then(|| all.iter().map(words).collect::<Vec<_>>().join("; "))
}

/// 4xx other than 429, which is a queue that is full.
fn is_refusal(status: u16) -> bool {
    (400..500).contains(&status) && status != 429
}

/// Whether any refusal can be of a prompt that is too long: a wrong key or name is refused before it is read.
fn may_be_too_long(e: &Evidence<'_>) -> bool {
    let answers = &e.observed.log.answers;
    let mut refused = answers.keys().copied().filter(|status| is_refusal(*status)).peekable();
    refused.peek().is_none() || refused.any(|status| !matches!(status, 401 | 403 | 404 | 405))
}

struct Refused {
    count: f64,
    share: Ratio,
    told_by: Signal,
}

impl Refused {
    fn test(&self, e: &Evidence<'_>) -> Test {
        let says = format!("{:.0} requests were refused, {} of all", self.count, self.share);
        Test::when(self.share.get() >= e.limit(Limit::RejectShare), e.fact(self.told_by, says, self.count))
    }
}

/// 4xx other than 429; from the metrics, else from the access lines of the log, else from the requests its lines tell of.
fn refused(e: &Evidence<'_>) -> Option<Refused> {
    let invalid = is_refusal;
    if e.observed.metric(Signal::HttpResponses).is_some() {
        let all = e.delta(Signal::HttpResponses)?;
        let count = e.answered(invalid);
        let share = Ratio::of(count, all).unwrap_or(Ratio(0.0));
        return Some(Refused { count, share, told_by: Signal::HttpResponses });
    }
    let answers = &e.observed.log.answers;
    let all: u64 = answers.values().sum();
    let count: u64 = answers.iter().filter(|(s, _)| invalid(**s)).map(|(_, n)| n).sum();
    let share = Ratio::of(count as f64, all as f64);
    let by_access_lines =
        share.map(|share| Refused { count: count as f64, share, told_by: Signal::HttpResponses });
    by_access_lines.or_else(|| by_reason(e))
}

/// An engine that counts no answers and names the reason of each request it does not take.
fn by_reason(e: &Evidence<'_>) -> Option<Refused> {
    if !e.observed.is_told_by_log(Signal::RequestsErrors) {
        return None;
    }
    lately(e, Meaning::PromptTooLong)?;
    let count = e.delta(Signal::RequestsErrors)?;
    Some(Refused { count, share: e.failed_share()?, told_by: Signal::RequestsErrors })
}

fn reason_is_named(e: &Evidence<'_>) -> Test {
    if let Some(event) = lately(e, Meaning::PromptTooLong).filter(|_| may_be_too_long(e)) {
        let mut fact = e.derived(
            format!("the log says: {}", event.excerpt),
            Quantity::new(f64::from(event.count), Unit::Events),
            "log",
        );
        fact.source = event.source();
        return Test::Holds(fact);
    }
    let codes: Vec<String> = e
        .observed
        .log
        .answers
        .iter()
        .filter(|(s, _)| (400..500).contains(*s))
        .map(|(s, n)| format!("{n} × {s}"))
        .collect();
    if codes.is_empty() {
        return Test::Unknown(
            "the error text is in the answers, not in the metrics: look at one failing answer".into(),
        );
    }
    let mut fact = e.derived(format!("the access log has {}", codes.join(", ")), Ratio(1.0), "access lines");
    fact.value = None;
    Test::Holds(fact)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    fn refused(share: f64) -> Given {
        Given::vllm("0.32.0")
            .gauge(RequestsRunning, 2.0)
            .answered("2xx", 100.0 * (1.0 - share))
            .answered("4xx", 100.0 * share)
            .finished("stop", 100.0 * (1.0 - share))
    }

    #[test]
    fn a_third_refused_is_a_finding() {
        let j = refused(0.33).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!((j.impact.unwrap().share.get() - 0.33).abs() < 1e-9);
    }

    #[test]
    fn one_typo_in_a_hundred_is_not() {
        assert_eq!(refused(0.01).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn server_errors_are_the_look_alike() {
        let j = refused(0.0).answered("5xx", 40.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn the_words_of_a_refusal_are_enough_where_no_line_counts_answers() {
        let alone = |log: &str| Given::vllm("0.32.0").without_scrapes().log(log).judge(&CAUSE);
        let ready = "INFO:     Application startup complete.\n";
        for line in [
            "ERROR 11-15 03:32:03 [serving.py:75] This model's maximum context length is 1024 tokens. However, you requested 1300 tokens.\n",
            "jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/...\n",
            "ValueError: As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template\n",
            "ERROR 11-15 03:32:03 [serving_chat.py:140] Error with model error=ErrorInfo(message='The model `gpt-4` does not exist.', type='NotFoundError', param='model', code=404)\n",
        ] {
            for log in [line.to_owned(), format!("{ready}{line}")] {
                let j = alone(&log);
                assert_eq!(j.outcome, Outcome::Likely, "{log}: {j:#?}");
                assert!(j.confidence < 0.7, "{}", j.confidence);
            }
        }
        assert_eq!(alone(ready).outcome, Outcome::CannotTell);
        // Beside a server at work one line is one client's mistake.
        let line =
            "ERROR 11-15 03:32:03 [serving.py:75] This model's maximum context length is 1024 tokens.\n";
        let work = "INFO 11-15 02:00:00 [loggers.py:259] Engine 000: Avg prompt throughput: 400.0 tokens/s, Avg generation throughput: 900.0 tokens/s, Running: 39 reqs, Waiting: 0 reqs, GPU KV cache usage: 68.9%, Prefix cache hit rate: 29.7%\n";
        assert_eq!(alone(&format!("{ready}{work}{line}")).outcome, Outcome::CannotTell);
        assert_eq!(alone(&format!("{ready}{work}{}", line.repeat(9))).outcome, Outcome::Likely);
    }

    #[test]
    fn a_wrong_key_or_name_is_no_prompt_that_is_too_long() {
        let answers = |status: &str| {
            let line = format!("INFO:     10.0.0.1:1 - \"POST /v1/chat/completions HTTP/1.1\" {status}\n");
            let log = format!("INFO Using max model len 8192\n{}", line.repeat(10));
            Given::vllm("0.32.0").without_scrapes().log(&log).judge(&CAUSE)
        };
        for (status, words) in
            [("401 Unauthorized", "the key is missing or wrong"), ("404 Not Found", "model name or the path")]
        {
            let j = answers(status);
            assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
            assert!(j.says.contains(words) && !j.says.contains("context window"), "{}", j.says);
        }
        assert_eq!(answers("429 Too Many Requests").outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_engine_that_counts_no_answers_cannot_tell() {
        let j = Given::engine(intriage_engines::Engine::LlamaCpp, "b10500")
            .gauge(RequestsRunning, 1.0)
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("llama.cpp does not expose"), "{:?}", j.missing);
    }
}
