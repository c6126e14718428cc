//! Which changes are worth a replay for which cause.

use intriage_case::{Ratio, Tokens};
use intriage_diagnose::Diagnosis;
use intriage_engines::{Engine, Observed, Setting, dialect};

use crate::calibrate::Calibration;
use crate::change::Change;

/// A change to replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The change.
    pub change: Change,
    /// The change in the words of its engine.
    pub says: String,
    /// What the evidence does not tell and must hold.
    pub provided: Option<String>,
}

impl Trial {
    fn new(change: Change, says: impl Into<String>) -> Self {
        Self { change, says: says.into(), provided: None }
    }
}

/// What there is to choose a change by.
struct Ask<'a> {
    observed: &'a Observed,
    diagnosis: &'a Diagnosis,
    calibration: &'a Calibration,
}

/// What can be said about a cause's remedies.
enum Answer {
    /// Changes to replay.
    Try(fn(&Ask<'_>) -> Vec<Trial>),
    /// Why a replay cannot tell.
    Cannot(&'static str),
}
use Answer::{Cannot, Try};

/// Cause by cause. Causes that are not here are no question of speed: nothing is predicted for them.
const TABLE: &[(&str, Answer)] = &[
    ("max-num-seqs-limited-queue", Try(raise_cap)),
    ("kv-capacity-limited-queue", Try(enlarge_pool)),
    ("preemption-thrash", Try(enlarge_pool)),
    ("token-budget-limited-queue", Try(lighten_prompts)),
    ("long-prompt-compute-bound", Try(lighten_prompts)),
    ("prefix-cache-ineffective", Try(switch_cache_on)),
    ("prefill-chunk-budget-too-small", Try(set_budget)),
    ("prefill-decode-interference", Try(set_budget)),
    ("batch-past-knee", Try(spread)),
    ("offered-load-exceeds-capacity", Try(spread)),
    ("burst-arrival-transient", Try(spread)),
    ("missing-stop-token-runaway", Try(end_answers)),
    ("cuda-graph-miss", Cannot("what a step costs inside CUDA graphs is in no recording made outside them")),
    (
        "decode-host-overhead-bound",
        Cannot("how much of a step the host would give back shows only once it does"),
    ),
    (
        "decode-bandwidth-roofline",
        Cannot("other weights or another card have other step times, which this recording does not hold"),
    ),
    (
        "long-context-kv-read-bound",
        Cannot("what a context token costs in another format is not in this recording"),
    ),
    (
        "kernel-fallback-slow-path",
        Cannot("what the fast kernels would take is in no recording made with the slow ones"),
    ),
    ("tp-communication-bound", Cannot("step times over another number of GPUs are not in this recording")),
    (
        "speculation-ineffective",
        Cannot("what a step costs without drafts is not in a recording in which every step has them"),
    ),
    (
        "head-of-line-blocking",
        Cannot(
            "which requests would go to a queue of their own is not in the metrics: they keep no single request",
        ),
    ),
    (
        "frontend-input-processing-bound",
        Cannot("the time in front of the engine is known as a sum only, not by what it is spent on"),
    ),
    (
        "static-batching-sequence-skew",
        Cannot("the model admits a request whenever there is room, which this server does not do"),
    ),
    (
        "overconservative-admission",
        Cannot(
            "the model admits by the prompt alone; how much this server reserves for answers is not recorded",
        ),
    ),
    (
        "deferred-admission-stall",
        Cannot(
            "what the requests wait for (an adapter, a grammar, remote data) has no time in these metrics",
        ),
    ),
    (
        "underbatched-low-throughput",
        Cannot(
            "the remedy is in the client, and how many requests it could send at once is not in the metrics",
        ),
    ),
];

/// The changes worth a replay for the primary finding; the sentence says why there are none. `None` where
/// the finding is no question of speed.
pub fn trials(
    observed: &Observed,
    diagnosis: &Diagnosis,
    calibration: impl FnOnce() -> Result<Calibration, String>,
) -> Option<Result<(Calibration, Vec<Trial>), String>> {
    let cause = diagnosis.verdict.primary.cause.as_deref()?;
    let (_, answer) = TABLE.iter().find(|(id, _)| *id == cause)?;
    Some(match answer {
        Cannot(why) => Err((*why).to_owned()),
        Try(choose) => calibration().and_then(|calibration| {
            let found = choose(&Ask { observed, diagnosis, calibration: &calibration });
            if found.is_empty() {
                Err("none of the remedies is a change the model can make".into())
            } else {
                Ok((calibration, found))
            }
        }),
    })
}

impl Ask<'_> {
    /// The flag and the value the diagnosis itself proposes, as in `--max-num-seqs 4 → 32: …`.
    fn proposed(&self) -> Option<(String, u32)> {
        self.diagnosis.remedies.iter().find_map(|remedy| {
            let change = remedy.change.split(':').next()?;
            let (_, value) = change.split_once('→')?;
            let digits: String = value.trim().chars().take_while(char::is_ascii_digit).collect();
            Some((change.trim().to_owned(), digits.parse().ok()?))
        })
    }

    /// The engine's own flag for a setting.
    fn flag(&self, setting: Setting) -> Option<&'static str> {
        let flags = dialect(self.observed.identity.engine?).flags;
        flags.iter().find(|f| f.setting == setting)?.names.first().copied()
    }

    /// As many servers as the arrivals need by what this one gets done, and one in ten to spare.
    fn replicas(&self) -> Trial {
        let measured = self.calibration.measured();
        let done = measured.first_tokens.get().max(measured.finished.get()) / measured.window.get();
        let needed = (1.1 * self.calibration.rate().0.get() / done.max(1e-6)).ceil().clamp(2.0, 16.0) as u32;
        Trial::new(Change::Replicas(needed), format!("{needed} replicas instead of 1"))
    }
}

fn raise_cap(ask: &Ask<'_>) -> Vec<Trial> {
    let now = ask.calibration.engine().max_sequences;
    let (says, cap) = ask.proposed().unwrap_or_else(|| {
        let flag = ask.flag(Setting::MaxSequences).unwrap_or("sequence cap");
        let doubled = now.saturating_mul(2);
        (format!("{flag} {now} → {doubled}"), doubled)
    });
    vec![Trial::new(Change::SequenceCap(cap), says)]
}

fn enlarge_pool(ask: &Ask<'_>) -> Vec<Trial> {
    let engine = ask.calibration.engine();
    let now = engine.pool_tokens();
    let config = &ask.observed.config;
    let forced = (config.number(Setting::KvBlocksOverride), config.number(Setting::KvBlocksPossible));
    let mut all = Vec::new();
    if let (Some(forced), Some(possible)) = forced
        && possible > forced
        && ask.observed.identity.engine == Some(Engine::Vllm)
    {
        let tokens = Tokens(possible * f64::from(engine.block_tokens));
        all.push(Trial::new(
            Change::Pool(tokens),
            format!("remove --num-gpu-blocks-override {forced:.0}: KV pool {}", larger(now, tokens)),
        ));
    }
    let doubled = Tokens(2.0 * now.get());
    let how = match ask.flag(Setting::KvDtype) {
        Some(flag) if config.text(Setting::Device) != Some("cpu") => format!("{flag} fp8: "),
        _ => String::new(),
    };
    all.push(Trial::new(Change::Pool(doubled), format!("{how}KV pool {}", larger(now, doubled))));
    all.push(ask.replicas());
    all
}

/// `19,200 → 38,400 tokens`.
fn larger(now: Tokens, then: Tokens) -> String {
    let now = now.to_string();
    format!("{} → {then}", now.strip_suffix(" tokens").unwrap_or(&now))
}

fn lighten_prompts(ask: &Ask<'_>) -> Vec<Trial> {
    vec![Trial::new(Change::Prompts(Ratio(0.5)), "prompts half as long"), ask.replicas()]
}

fn switch_cache_on(ask: &Ask<'_>) -> Vec<Trial> {
    if ask.calibration.engine().prefix_cache {
        return Vec::new();
    }
    let says = match ask.observed.identity.engine {
        Some(Engine::Vllm) => "remove --no-enable-prefix-caching",
        _ => "prefix caching on",
    };
    let shares = [(0.5, "half"), (0.9, "nine tenths")];
    let trial = |(share, name): (f64, &str)| Trial {
        provided: Some(format!("{name} of every prompt is text that others begin with too")),
        ..Trial::new(Change::PrefixCache(Ratio(share)), says)
    };
    shares.into_iter().map(trial).collect()
}

fn set_budget(ask: &Ask<'_>) -> Vec<Trial> {
    ask.proposed().map(|(says, budget)| Trial::new(Change::TokenBudget(budget), says)).into_iter().collect()
}

fn spread(ask: &Ask<'_>) -> Vec<Trial> {
    vec![ask.replicas()]
}

fn end_answers(_: &Ask<'_>) -> Vec<Trial> {
    vec![Trial {
        provided: Some("answers that end by themselves are a quarter as long".into()),
        ..Trial::new(Change::Answers(Ratio(0.25)), "the end-of-turn token put right")
    }]
}

#[cfg(test)]
mod tests {
    use intriage_diagnose::find;

    use super::*;

    #[test]
    fn every_cause_here_is_in_the_catalogue() {
        for (id, _) in TABLE {
            assert!(find(id).is_some(), "{id} is no cause");
        }
    }

    #[test]
    fn a_pool_is_written_with_its_unit_once() {
        assert_eq!(larger(Tokens(19_200.0), Tokens(38_400.0)), "19,200 → 38,400 tokens");
    }
}
