//! A slower kernel runs than the hardware offers.

use intriage_case::Ratio;
use intriage_engines::{Behaviour, Engine, LogEvent, Meaning, Setting};

use super::roof::{step_is_far_above_floor, step_is_near_floor};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "kernel-fallback-slow-path",
    class: Class::Decode,
    layer: Layer::Gpu,
    hurts: &[Aspect::Prefill, Aspect::DecodeStep, Aspect::HostGap],
    summary: "A slow path is in use: a number format this GPU cannot compute, a missing attention kernel, a wrong build, or layers left on the CPU.",
    symptoms: &[
        "prefill or decode is several times slower than the card allows, even idle",
        "high utilisation at low power",
        "the same weights are fast on another image or GPU",
    ],
    confirmed_by: &[
        "an idle stream is three times slower than the bound or more, at normal clocks",
        "the start-up log names the slow path",
        "another backend, format or image restores the speed",
    ],
    refuted_by: &["an idle stream, or the step under load, is within twice the bound"],
    look_alikes: &[
        LookAlike { cause: "gpu-thermal-throttle", tell: "there the clocks are low" },
        LookAlike {
            cause: "decode-host-overhead-bound",
            tell: "there the card is idle between steps instead of slow within them",
        },
        LookAlike {
            cause: "gpu-power-or-capability-limit",
            tell: "there a power cap or a slice of the card is the limit",
        },
        LookAlike { cause: "over-aggressive-quantization", tell: "there the answers suffer, not the speed" },
    ],
    probe: Probe {
        name: "kernel-matrix",
        steps: "On an idle server time one stream with the default, with another attention backend, and unquantized or in another format.",
        if_so: "One of them is several times faster.",
        if_not: "All are equally fast.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "a format the GPU computes itself (FP8 on Ada, Hopper and later; AWQ or GPTQ with Marlin on Ampere)",
            "quality; another checkpoint",
        ),
        Remedy::of(Engine::Vllm, "set VLLM_ATTENTION_BACKEND to another backend", "not every model")
            .until("0.12.0"),
        Remedy::of(Engine::Vllm, "--attention-backend with another backend", "not every model")
            .since("0.13.0"),
        Remedy::of(
            Engine::Vllm,
            "take --cpu-offload-gb away: offloaded weights cross PCIe in every step",
            "the model must fit without it",
        ),
        Remedy::of(
            Engine::Sglang,
            "--attention-backend, --quantization with a format the GPU computes itself",
            "not every model",
        ),
        Remedy::of(
            Engine::LlamaCpp,
            "-ngl 999 and -fa on, in a build for this GPU's architecture",
            "GPU memory",
        ),
        Remedy::of(Engine::Tgi, "another --quantize than bitsandbytes", "another checkpoint"),
        Remedy::of(Engine::TensorRtLlm, "rebuild the engine for this GPU", "time"),
    ],
    effect: "The affected phase becomes two to ten times faster.",
    confirm: "latency.itl or latency.prefill of a single stream comes within twice its bound.",
    explains: &["decode-bandwidth-roofline", "long-prompt-compute-bound"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let says = format!("a slow path is in use: {}", slow_path(e).unwrap_or_default());
    // What share of the time the slow path costs takes the roofline, so it outranks nothing.
    let impact = Impact {
        on: ImpactOn::E2e,
        share: Ratio(0.0),
        time: None,
        says: "how much it costs is not known without the roofline".into(),
    };
    Weighing::new()
        .requires(slow_path_is_named(e))
        .refuted_by(step_is_near_floor(e))
        .supports(step_is_far_above_floor(e))
        .at_most_likely(0.5)
        .conclude(says, impact)
}

/// The log or the configuration names a slow path.
fn slow_path_is_named(e: &Evidence<'_>) -> Test {
    if let Some(event) = fallback(e) {
        let mut fact = e.setting_fact(Setting::Quantization, event.excerpt.clone());
        fact.source = event.source();
        return Test::Holds(fact);
    }
    if let Some((event, said)) = partly_on_cpu(e) {
        let mut fact = e.setting_fact(Setting::CpuOffload, said);
        fact.source = event.source();
        return Test::Holds(fact);
    }
    if let Some(said) = plain_kernel(e) {
        return Test::Holds(e.setting_fact(Setting::Quantization, said));
    }
    if let Some(said) = slow_path(e) {
        return Test::Holds(e.setting_fact(Setting::CpuOffload, said));
    }
    let seen = if e.observed.log.present {
        "the log names no slow path"
    } else {
        "no start-up log was given, which would name a slow path"
    };
    Test::Unknown(format!("{seen}; an idle stream against its lower bound would show one"))
}

fn slow_path(e: &Evidence<'_>) -> Option<String> {
    let offloaded = e.setting(Setting::CpuOffload).filter(|gb| *gb > 0.0);
    let named = fallback(e).map(|event| event.excerpt.clone());
    named.or_else(|| partly_on_cpu(e).map(|(_, said)| said)).or_else(|| plain_kernel(e)).or_else(|| {
        offloaded.map(|gb| format!("{gb} GiB of weights lie in host memory and cross the bus in every step"))
    })
}

/// Fewer layers on the GPU than the model has: the rest computes on the CPU.
fn partly_on_cpu<'a>(e: &Evidence<'a>) -> Option<(&'a LogEvent, String)> {
    let event = e.observed.log.first(Meaning::LayersOffloaded)?;
    let (there, all) = event.layers_on_gpu()?;
    (there < all)
        .then(|| (event, format!("{there} of {all} layers are on the GPU, the rest computes on the CPU")))
}

/// A method named by hand that the engine would replace by its fast kernel if nothing were named.
fn plain_kernel(e: &Evidence<'_>) -> Option<String> {
    let config = &e.observed.config;
    let named = config.was_chosen(Setting::Quantization) && config.text(Setting::Quantization) == Some("awq");
    e.observed.identity.works_by(Behaviour::KeepsNamedKernel).filter(|_| named).map(str::to_owned)
}

fn fallback<'a>(e: &'a Evidence<'_>) -> Option<&'a LogEvent> {
    e.observed.log.first(Meaning::KernelFallback)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_engines::Engine;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    const FP8: &str = "WARNING Your GPU does not have native support for FP8 computation but FP8 quantization is being used.\n";

    fn slow() -> Given {
        Given::vllm("0.28.0").gauge(RequestsRunning, 2.0).observed(LatencyItl, &[(0.09, 20_000.0)])
    }

    #[test]
    fn layers_on_the_cpu_are_read_in_the_words_of_llama_cpp_and_of_ollama() {
        let slow = |log: &str| {
            Given::engine(Engine::LlamaCpp, "b10408").flags("llama-server").log(log).objective("itl.mean=10ms").each_scrape(
                |part| {
                    format!(
                        "llamacpp:requests_processing 1\nllamacpp:tokens_predicted_total {}\nllamacpp:tokens_predicted_seconds_total {}\n",
                        2000.0 * part,
                        50.0 * part
                    )
                },
            )
        };
        for line in [
            "load_tensors: offloaded 31/33 layers to GPU\n",
            "time=2025-02-18T02:29:51.627Z level=INFO source=server.go:130 msg=offload library=cuda layers.requested=-1 layers.model=33 layers.offload=31 layers.split=\"\"\n",
            "31/33 layers offloaded\n",
        ] {
            let j = slow(line).judge(&CAUSE);
            assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
            assert!(j.says.contains("31 of 33 layers"), "{}", j.says);
        }
        assert_ne!(
            slow("load_tensors: offloaded 33/33 layers to GPU\n").judge(&CAUSE).outcome,
            Outcome::Likely
        );
    }

    #[test]
    fn a_named_slow_path_with_a_missed_objective_is_likely_at_most() {
        let missed = slow().log(FP8).objective("itl.p95=30ms");
        assert_eq!(missed.place_of(&CAUSE), Place::First);
        let j = missed.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence <= 0.5 && j.says.contains("FP8"), "{}", j.says);
        let offload = slow().flags("--cpu-offload-gb 20").objective("itl.p95=30ms").judge(&CAUSE);
        assert_eq!(offload.outcome, Outcome::Likely);
    }

    #[test]
    fn layers_on_the_cpu_and_a_plain_kernel_are_slow_paths() {
        let slow = || slow().objective("itl.p95=30ms");
        for (log, named) in [
            ("31/33 layers offloaded\n", "31 of 33 layers"),
            ("memory.available=\"[17.8 GiB]\" layers.offload=49 of 63\n", "49 of 63 layers"),
        ] {
            let j = slow().log(log).judge(&CAUSE);
            assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
            assert!(j.says.contains(named), "{}", j.says);
        }
        assert_eq!(slow().log("33/33 layers offloaded\n").judge(&CAUSE).outcome, Outcome::CannotTell);
        assert_eq!(slow().flags("--quantization awq").judge(&CAUSE).outcome, Outcome::Likely);
        assert_eq!(slow().flags("--quantization awq_marlin").judge(&CAUSE).outcome, Outcome::CannotTell);
    }

    #[test]
    fn a_chosen_format_that_meets_its_objective_is_fine() {
        assert_eq!(slow().log(FP8).objective("itl.p95=250ms").place_of(&CAUSE), Place::Note);
    }

    #[test]
    fn a_slow_path_nobody_complains_of_is_no_finding() {
        assert_eq!(slow().log(FP8).place_of(&CAUSE), Place::Note);
    }

    #[test]
    fn a_step_near_its_floor_takes_no_slow_path() {
        let fast =
            slow().pool(20_000.0).gauge(KvUsage, 0.1).log(FP8).observed(LatencyItl, &[(0.066, 20_000.0)]);
        let j = fast.on_card("NVIDIA L4", "meta-llama/Llama-3.1-8B").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn a_quiet_log_proves_nothing() {
        let j = slow().log("INFO ready\n").objective("itl.p95=30ms").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("the log names no slow path"), "{:?}", j.missing);
    }
}
