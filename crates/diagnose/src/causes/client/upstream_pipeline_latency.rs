//! Users wait before the model is called.

use intriage_case::{ClientRequest, Ratio, Seconds};

use crate::causes::network::seen;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "upstream-pipeline-latency",
    class: Class::Client,
    layer: Layer::Application,
    hurts: &[Aspect::Client],
    summary: "Time goes by before or between calls of the model: search, ranking, tools, guards, orchestration.",
    symptoms: &[
        "users see their first token late, the engine gives it early",
        "only routes with retrieval or agents are slow, plain chat is not",
    ],
    confirmed_by: &[
        "half or more of what a user waits for the first token is over when the model is called, in 20 traces or more",
        "the plain chat route is fast at the same time",
    ],
    refuted_by: &["the model is called soon after the user asked"],
    look_alikes: &[
        LookAlike { cause: "network-path-latency", tell: "that time comes after the request was sent" },
        LookAlike {
            cause: "long-prompt-compute-bound",
            tell: "there the engine is late because retrieval made the prompt long; both may hold",
        },
    ],
    probe: Probe {
        name: "span-split",
        steps: "Trace one request from the user to the first token, or send the finished prompt to the model directly.",
        if_so: "The direct call is fast.",
        if_not: "It is slow as well.",
    },
    remedies: &[
        Remedy::any(
            "search, rank and call tools side by side, cache what they return, take fewer steps before the model",
            "work in the application; the quality of answers must be measured",
        ),
        Remedy::any("report the user's first token and the model's beside each other", "none"),
    ],
    effect: "The user's first token comes earlier by what is taken out before the call.",
    confirm: "The time before the call in the same traces.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let traced: Vec<&ClientRequest> =
        e.observed.client.iter().filter(|r| r.before.is_some() && r.first.is_some()).collect();
    let mean = |of: &dyn Fn(&ClientRequest) -> Option<Seconds>| {
        let sum: f64 = traced.iter().filter_map(|r| of(r)).map(Seconds::get).sum();
        sum / traced.len().max(1) as f64
    };
    let (before, first) = (mean(&|r| r.before), mean(&|r| r.first));
    let share = Ratio::of(before, before + first).unwrap_or(Ratio(0.0));
    let says = format!("users wait {} before the model is called, then {}", Seconds(before), Seconds(first));
    let impact = Impact {
        on: ImpactOn::Ttft,
        share,
        time: Some(Seconds(before)),
        says: format!("{share} of the user's first-token time lies before the call"),
    };
    // Nothing the server counts tells of it: without such a record it is never guessed.
    let test = if traced.is_empty() {
        Test::Unknown(
            "how long users waited before the call is in no record: give --client with `before`, from traces"
                .into(),
        )
    } else if (traced.len() as f64) < e.limit(Limit::TracedRequests) {
        Test::Unknown(format!(
            "{} requests tell what went before them, {:.0} would show it",
            traced.len(),
            e.limit(Limit::TracedRequests)
        ))
    } else {
        Test::when(share.get() > e.limit(Limit::BeforeShare), seen(says.clone(), share))
    };
    Weighing::new().requires(test).conclude(says, impact)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    fn traced(n: u64, before: Option<f64>) -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 2.0)
            .observed(LatencyTtft, &[(0.3, n as f64)])
            .client(n, 0.32, 0.01, 0.02)
            .each_client(|_, r| r.before = before.map(Seconds))
    }

    #[test]
    fn a_search_that_takes_longer_than_the_model_is_named() {
        let j = traced(40, Some(2.1)).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("2.10 s before the model is called"), "{}", j.says);
    }

    #[test]
    fn a_short_way_to_the_model_rules_it_out() {
        assert_eq!(traced(40, Some(0.05)).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn without_traces_it_is_never_guessed() {
        assert_eq!(traced(40, None).judge(&CAUSE).outcome, Outcome::CannotTell);
        assert_eq!(traced(8, Some(2.1)).judge(&CAUSE).outcome, Outcome::CannotTell);
    }
}
