//! How engines work where no metric and no flag says so: one row for an engine, its releases and a habit.

use crate::detect::Identity;
use crate::dialect::Engine;
use crate::version::VersionRange;

/// A habit of an engine that decides what its figures mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Requests join and leave the batch at every step, and nothing turns that off.
    BatchesContinuously,
    /// The same, unless its command line turns it off.
    BatchesContinuouslyUnlessTold,
    /// KV for output that a request declares is set aside when it is admitted.
    ReservesOutput,
    /// KV is taken as a request grows; what it declares reserves nothing.
    ReservesNothing,
    /// A prompt is admitted as soon as its first chunk fits.
    AdmitsFirstChunk,
    /// A prompt is admitted when all of it fits.
    AdmitsWholePrompt,
    /// Requests are admitted by their tokens; there is no sequence cap unless one is given.
    AdmitsByTokens,
    /// Prompts and tokens share a step up to the token budget, so half the budget makes a full step half as long.
    BudgetBoundsStep,
    /// The KV pool takes what a memory fraction leaves, so a smaller fraction gives room to everything else.
    FractionSizesPool,
    /// The KV pool has the size that was asked for, whatever the weights leave.
    AllocatesPoolAsked,
    /// The slots share one context of a given size, so more slots need a larger one.
    SlotsShareContext,
    /// A quantization method named by hand keeps its plain kernel where a fast one exists.
    KeepsNamedKernel,
    /// A model is loaded when the first request for it comes: a server that is up can still fail to load one.
    LoadsOnRequest,
}

struct Row {
    engine: Engine,
    range: VersionRange,
    behaviour: Behaviour,
    says: &'static str,
}

const fn row(engine: Engine, behaviour: Behaviour, says: &'static str) -> Row {
    Row { engine, range: VersionRange::ALL, behaviour, says }
}

impl Row {
    const fn between(self, since: &'static str, until: &'static str) -> Self {
        Self { range: VersionRange { since, until }, ..self }
    }
}

/// From the schedulers' sources and documentation; knowledge/engines.md lists them by engine.
const ROWS: &[Row] = &[
    row(
        Engine::Vllm,
        Behaviour::BatchesContinuously,
        "vLLM batches continuously and cannot be told otherwise",
    ),
    row(
        Engine::Sglang,
        Behaviour::BatchesContinuously,
        "SGLang batches continuously and cannot be told otherwise",
    ),
    row(Engine::Tgi, Behaviour::BatchesContinuously, "TGI batches continuously and cannot be told otherwise"),
    row(
        Engine::Lmdeploy,
        Behaviour::BatchesContinuously,
        "LMDeploy batches continuously and cannot be told otherwise",
    ),
    row(
        Engine::LlamaCpp,
        Behaviour::BatchesContinuouslyUnlessTold,
        "llama.cpp batches continuously unless -nocb is given, and it is not",
    ),
    row(
        Engine::Vllm,
        Behaviour::ReservesNothing,
        "vLLM takes KV blocks as a request grows; declared output reserves nothing",
    ),
    row(
        Engine::LlamaCpp,
        Behaviour::ReservesNothing,
        "each llama.cpp slot owns its part of the context, whatever a request declares",
    ),
    row(
        Engine::Sglang,
        Behaviour::ReservesOutput,
        "SGLang reserves a part of the declared output at admission",
    ),
    row(Engine::Tgi, Behaviour::ReservesOutput, "TGI reserves the declared output at admission"),
    row(
        Engine::TensorRtLlm,
        Behaviour::ReservesOutput,
        "TensorRT-LLM reserves the declared output unless its capacity policy is MAX_UTILIZATION",
    ),
    row(
        Engine::Vllm,
        Behaviour::AdmitsFirstChunk,
        "vLLM up to 0.18 admits a prompt when its first chunk fits",
    )
    .between("0.8.0", "0.18.1"),
    row(Engine::Vllm, Behaviour::AdmitsWholePrompt, "vLLM since 0.19 admits a prompt when all of it fits")
        .between("0.19.0", ""),
    row(Engine::Tgi, Behaviour::AdmitsByTokens, "no sequence cap is set: admission is by tokens"),
    row(
        Engine::Vllm,
        Behaviour::BudgetBoundsStep,
        "prompts and tokens share a step up to --max-num-batched-tokens",
    ),
    row(
        Engine::Vllm,
        Behaviour::FractionSizesPool,
        "--gpu-memory-utilization bounds weights, activations and pool",
    ),
    row(
        Engine::LlamaCpp,
        Behaviour::AllocatesPoolAsked,
        "llama.cpp allocates the pool -c asks for, not what the weights leave",
    ),
    row(
        Engine::LlamaCpp,
        Behaviour::SlotsShareContext,
        "each slot owns its part of -c, so that -c must grow with -np",
    ),
    row(
        Engine::Vllm,
        Behaviour::KeepsNamedKernel,
        "--quantization awq keeps the plain kernel; without the flag vLLM takes awq_marlin where the GPU has it",
    ),
    row(
        Engine::Ollama,
        Behaviour::LoadsOnRequest,
        "Ollama loads a model when the first request for it comes",
    ),
];

impl Identity {
    /// The sentence about a habit this engine has in this release; none where it has another one or where that is not known.
    ///
    /// A habit of some releases needs the release to be known.
    pub fn works_by(&self, behaviour: Behaviour) -> Option<&'static str> {
        let engine = self.engine?;
        let fits = |row: &&Row| {
            let always = row.range == VersionRange::ALL;
            row.engine == engine
                && row.behaviour == behaviour
                && (always || self.version.as_ref().is_some_and(|v| row.range.holds(v)))
        };
        ROWS.iter().find(fits).map(|row| row.says)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::Version;

    fn engine(engine: Engine, version: &str) -> Identity {
        Identity { engine: Some(engine), version: Version::parse(version), ..Identity::default() }
    }

    #[test]
    fn a_habit_of_some_releases_needs_the_release() {
        let admits = |version| engine(Engine::Vllm, version).works_by(Behaviour::AdmitsFirstChunk).is_some();
        assert!(admits("0.18.0"));
        assert!(!admits("0.19.0"));
        assert!(!admits(""));
    }

    #[test]
    fn a_habit_of_all_releases_does_not() {
        assert!(engine(Engine::Tgi, "").works_by(Behaviour::ReservesOutput).is_some());
        assert!(engine(Engine::Vllm, "").works_by(Behaviour::ReservesOutput).is_none());
        assert!(Identity::default().works_by(Behaviour::ReservesNothing).is_none());
    }
}
