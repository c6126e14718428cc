//! Answers do not stop by themselves.

use intriage_case::{Ratio, Requests, Seconds, Signal, Tokens};
use intriage_engines::{Engine, Setting};

use crate::causes::shared::unknown;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "missing-stop-token-runaway",
    class: Class::Behaviour,
    layer: Layer::Configuration,
    hurts: &[Aspect::AnswerLengths, Aspect::DecodeStep],
    summary: "The set of end tokens is incomplete, so answers run on to their limit instead of stopping.",
    symptoms: &["answers end in mid-sentence at the limit, or ramble on after they were finished", "cost, latency and cache use jump together", "finish reason is length"],
    confirmed_by: &["every answer is as long as its limit and none stops", "the end-of-turn marker appears inside the text", "an end token of the checkpoint is missing from the server's set"],
    refuted_by: &["a fair share of the answers stops by itself", "limits are so short that ordinary answers fill them", "the weights are made up"],
    look_alikes: &[
        LookAlike { cause: "output-budget-exhausted", tell: "there four times the limit lets the answer stop by itself" },
        LookAlike { cause: "workload-mix-shift", tell: "there answers are longer and still stop" },
        LookAlike { cause: "sampling-defaults-drift", tell: "there the model loops until penalties are restored" },
    ],
    probe: Probe {
        name: "stop-probe",
        steps: "Ask a one-word question with max_tokens 512 and temperature 0, and look at the token ids.",
        if_so: "It runs to 512, or the end marker appears as text.",
        if_not: "It stops after a few tokens: then the callers ask for it (ignore_eos, a load test).",
    },
    remedies: &[
        Remedy::of(Engine::Vllm, "complete eos_token_id in the checkpoint's generation_config.json, or --override-generation-config '{\"eos_token_id\": [...]}'; check the chat template's end of turn", "a restart").since("0.7.0"),
        Remedy::of(Engine::Sglang, "send stop_token_ids; --chat-template", "client or restart"),
        Remedy::of(Engine::LlamaCpp, "correct the GGUF's end-of-turn metadata, or -r as a reverse prompt", "re-conversion"),
        Remedy::any("send stop or stop_token_ids with each request, and cap the output per route", "long answers may be cut"),
    ],
    effect: "Answers get as short as they should be; cost, cache use and queue fall with them.",
    confirm: "requests.finished by stop grow and tokens.output_per_request falls.",
    explains: &[],
    judge,
};

/// How sure lengths make: clients may ask for them.
const SURE: f64 = 0.6;
/// The same where nothing tells whether the weights are real.
const UNTOLD: f64 = 0.42;

fn judge(e: &Evidence<'_>) -> Judgement {
    let decode = e.account.decode.unwrap_or(0.0);
    let share = e.account.share_of_life(decode);
    let real = weights_are_real(e);
    // Where nothing tells, a load test over made-up weights looks the same.
    let sure = if matches!(real, Test::Unknown(_)) { UNTOLD } else { SURE };
    let real = match real {
        Test::Fails(fact) => Weighing::new().requires(Test::Fails(fact)),
        told => Weighing::new().supports(told),
    };
    let w = real
        .requires(none_stops(e))
        .requires(limits_are_generous(e))
        .requires(limits_are_filled(e))
        .supports(Test::Unknown(
            "clients that ask to ignore the end token (ignore_eos, a load test) look the same".into(),
        ))
        .at_most_likely(sure);
    let output = Tokens(e.mean(Signal::TokensOutputEach).unwrap_or(0.0));
    let says = format!(
        "no answer stops by itself: all run to their limit of about {output}, as if an end token were missing"
    );
    let impact = Impact {
        on: ImpactOn::E2e,
        share,
        time: Some(Seconds(decode)),
        says: format!("{} of decoding per request, most of it perhaps for nothing", Seconds(decode)),
    };
    w.conclude(says, impact)
}

fn none_stops(e: &Evidence<'_>) -> Test {
    let (Some(all), Some(length)) = (e.finished(), e.delta_by(Signal::RequestsFinished, "length")) else {
        return unknown(e, Signal::RequestsFinished);
    };
    let Some(share) = Ratio::of(length, all.get()) else {
        return Test::Unknown("no request finished in the window".into());
    };
    let holds = share.get() >= e.limit(Limit::RunawayShare);
    let says = if holds {
        format!("{share} of {} ended at their limit", Requests(all.get()))
    } else {
        format!("{} of {} stopped by themselves", Ratio(1.0 - share.get()), Requests(all.get()))
    };
    let fact = e.fact(Signal::RequestsFinished, says, length);
    if all.get() < e.limit(Limit::RunawaySample) {
        return Test::Unknown(format!(
            "only {} finished: too few to say that answers do not stop",
            Requests(all.get())
        ));
    }
    Test::when(holds, fact)
}

fn limits_are_generous(e: &Evidence<'_>) -> Test {
    let Some(limit) = e.mean(Signal::TokensMaxParam) else { return unknown(e, Signal::TokensMaxParam) };
    let holds = limit >= e.limit(Limit::RunawayCap);
    let ordinary = if holds { "" } else { ": ordinary answers fill that" };
    let says = format!("clients allow {} on average{ordinary}", Tokens(limit));
    Test::when(holds, e.fact(Signal::TokensMaxParam, says, limit))
}

fn limits_are_filled(e: &Evidence<'_>) -> Test {
    let (Some(output), Some(limit)) = (e.mean(Signal::TokensOutputEach), e.mean(Signal::TokensMaxParam))
    else {
        return unknown(e, Signal::TokensOutputEach);
    };
    let says = format!("answers are {} long, {} of what is allowed", Tokens(output), Ratio(output / limit));
    Test::when(output >= e.limit(Limit::RunawayShare) * limit, e.fact(Signal::TokensOutputEach, says, output))
}

/// Made-up weights never stop, and a load test over them is no fault: the weights must be known.
fn weights_are_real(e: &Evidence<'_>) -> Test {
    match e.observed.config.text(Setting::LoadFormat) {
        Some("dummy") => Test::Fails(e.setting_fact(
            Setting::LoadFormat,
            "the weights are made up (load format dummy): they never choose to stop",
        )),
        Some(format) => Test::Holds(e.setting_fact(Setting::LoadFormat, format!("real weights (load format {format})"))),
        None => Test::Unknown(
            "whether these are real weights or a load test over made-up ones is stated nowhere: give --log or --engine-args".into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    fn runaway() -> Given {
        Given::vllm("0.32.0")
            .flags("vllm serve m")
            .gauge(RequestsRunning, 4.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(TokensOutputEach, &[(300.0, 16.0)])
            .observed(TokensMaxParam, &[(300.0, 16.0)])
            .observed(LatencyDecode, &[(17.4, 16.0)])
            .observed(LatencyTtft, &[(0.27, 16.0)])
            .finished("length", 16.0)
            .finished("stop", 0.0)
    }

    #[test]
    fn answers_that_all_run_to_300_tokens_are_likely_a_runaway() {
        let j = runaway().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence <= 0.6, "a load test looks the same");
    }

    #[test]
    fn answers_that_stop_rule_it_out() {
        assert_eq!(
            runaway().finished("stop", 15.0).finished("length", 1.0).judge(&CAUSE).outcome,
            Outcome::RuledOut
        );
    }

    #[test]
    fn short_limits_are_filled_by_ordinary_answers() {
        let j = runaway()
            .observed(TokensMaxParam, &[(64.0, 16.0)])
            .observed(TokensOutputEach, &[(64.0, 16.0)])
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn made_up_weights_never_stop() {
        assert_eq!(runaway().flags("--load-format dummy").judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn where_nothing_tells_of_the_weights_it_is_less_sure() {
        let (told, untold) = (runaway().judge(&CAUSE), runaway().flags("").judge(&CAUSE));
        assert_eq!(untold.outcome, Outcome::Likely);
        assert!(untold.confidence < told.confidence, "{} {}", untold.confidence, told.confidence);
        assert!(untold.missing.iter().any(|why| why.contains("--log")), "{:?}", untold.missing);
    }

    #[test]
    fn a_handful_of_answers_proves_nothing() {
        assert_eq!(runaway().finished("length", 3.0).judge(&CAUSE).outcome, Outcome::CannotTell);
    }
}
