//! Requests are refused as invalid.

use intriage_case::{Quantity, Ratio, Requests, Signal, Tokens, Unit};
use intriage_engines::{Engine, Meaning, Setting};

use crate::causes::shared::unknown;
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
    let refused = refused(e);
    let share = refused.as_ref().map_or(Ratio(0.0), |r| r.share);
    let mut w = Weighing::new()
        .requires(refused.as_ref().map_or_else(|| unknown(e, Signal::HttpResponses), |r| r.test(e)));
    w = w.supports(reason_is_named(e));
    let count = refused.map_or(0.0, |r| r.count);
    let window = e
        .setting(Setting::ContextWindow)
        .map_or(String::new(), |n| format!("; the context window is {}", Tokens(n)));
    let says = format!("{} ({share}) were refused as invalid{window}", Requests(count));
    let impact =
        Impact { on: ImpactOn::Errors, share, time: None, says: format!("{share} of the requests fail") };
    w.conclude(says, impact)
}

struct Refused {
    count: f64,
    share: Ratio,
}

impl Refused {
    fn test(&self, e: &Evidence<'_>) -> Test {
        let says = format!("{:.0} answers were 4xx, {} of all", self.count, self.share);
        Test::when(
            self.share.get() >= e.limit(Limit::RejectShare),
            e.fact(Signal::HttpResponses, says, self.count),
        )
    }
}

/// 4xx other than 429; from the metrics, else from the access lines of the log.
fn refused(e: &Evidence<'_>) -> Option<Refused> {
    let invalid = |status: u16| (400..500).contains(&status) && status != 429;
    if e.observed.metric(Signal::HttpResponses).is_some() {
        let all = e.delta(Signal::HttpResponses)?;
        let count = e.answered(invalid);
        return Some(Refused { count, share: Ratio::of(count, all).unwrap_or(Ratio(0.0)) });
    }
    let answers = &e.observed.log.answers;
    let all: u64 = answers.values().sum();
    let count: u64 = answers.iter().filter(|(s, _)| invalid(**s)).map(|(_, n)| n).sum();
    (all > 0).then(|| Refused { count: count as f64, share: Ratio(count as f64 / all as f64) })
}

fn reason_is_named(e: &Evidence<'_>) -> Test {
    if let Some(event) = lately(e, Meaning::PromptTooLong) {
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
    fn an_engine_that_counts_no_answers_cannot_tell() {
        let j = Given::engine(intriage_engines::Engine::LlamaCpp, "b10500")
            .gauge(RequestsRunning, 1.0)
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("llama.cpp does not expose"), "{:?}", j.missing);
    }
}
