//! Prompts are cut to fit the window, and answered all the same.

use intriage_case::Ratio;
use intriage_engines::{Engine, LogEvent, Meaning};

use crate::causes::shared::{no_line_tells, told_by_log};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::lately;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "silent-context-truncation",
    class: Class::Behaviour,
    layer: Layer::Configuration,
    hurts: &[Aspect::Errors],
    summary: "The prompt is cut to fit the context window and answered without an error, so instructions or documents vanish.",
    symptoms: &[
        "the model forgets the system prompt or the beginning of a document",
        "tools and instructions are ignored in long conversations only",
        "answers are 200, and the counted prompt tokens stop at a round number",
    ],
    confirmed_by: &[
        "the log says that a prompt was cut, or that the oldest tokens of a conversation were dropped",
        "the counted prompt tokens are fewer than the tokenizer counts",
    ],
    refuted_by: &["prompts that are too long are refused with an error"],
    look_alikes: &[
        LookAlike {
            cause: "client-request-rejected",
            tell: "there the request fails and the error names the window",
        },
        LookAlike {
            cause: "missing-stop-token-runaway",
            tell: "there the answer is too long, not the prompt",
        },
    ],
    probe: Probe {
        name: "needle-at-the-start",
        steps: "Put a word at the start of a prompt of the length that fails, ask for it, and compare usage.prompt_tokens with the tokenizer's count.",
        if_so: "The word is not known, and fewer tokens were counted.",
        if_not: "The word comes back.",
    },
    remedies: &[
        Remedy::of(
            Engine::Ollama,
            "a larger window: OLLAMA_CONTEXT_LENGTH=16384, or num_ctx in the request or the Modelfile",
            "GPU memory; layers may move to the CPU",
        ),
        Remedy::of(
            Engine::LlamaCpp,
            "raise -c or lower -np (each slot owns its part); without --context-shift a prompt that is too long is refused; beyond the training window add --rope-scaling yarn with its factor",
            "memory; quality beyond the training window",
        ),
        Remedy::of(
            Engine::Vllm,
            "take truncate_prompt_tokens out of the requests",
            "long prompts are refused",
        ),
        Remedy::any(
            "in the client: count tokens before sending, and drop the oldest turns by choice",
            "work in the client",
        ),
    ],
    effect: "The whole prompt reaches the model.",
    confirm: "the line about the cut no longer appears, and usage.prompt_tokens is the tokenizer's count.",
    explains: &[],
    judge,
};

/// What is cut where nothing counts it.
const UNCOUNTED: f64 = 0.3;
/// How sure a dropped beginning makes: somebody may have asked for it.
const SHIFTED: f64 = 0.6;
/// How sure a window that was made smaller makes, before any prompt met it.
const CAPPED: f64 = 0.42;

fn judge(e: &Evidence<'_>) -> Judgement {
    let cut = lately(e, Meaning::PromptTruncated);
    let shifted = lately(e, Meaning::ContextShifted);
    let capped = capped(e);
    let impact = |says: &str| Impact {
        on: ImpactOn::Errors,
        share: Ratio(UNCOUNTED),
        time: None,
        says: says.to_owned(),
    };
    let Some((line, says, ceiling)) = cut
        .map(|line| (line, "prompts are cut to fit the window, and answered all the same", None))
        .or_else(|| {
            shifted.map(|line| {
                (line, "the oldest tokens of conversations are dropped to fit the window", Some(SHIFTED))
            })
        })
        .or_else(|| capped.map(|line| (line, "the window is smaller than what was asked for", Some(CAPPED))))
    else {
        return Weighing::new().requires(no_line_tells(e, "a prompt that was cut")).conclude("", impact(""));
    };
    let fact = told_by_log(line, format!("{} lines say so, such as {:?}", line.count, line.excerpt));
    let mut w = Weighing::new().requires(Test::Holds(fact));
    if let Some(ceiling) = ceiling {
        w = w.at_most_likely(ceiling);
    }
    w.conclude(format!("{says}: {}", line.excerpt), impact(says))
}

/// The window of a slot was capped, where a log is all there is: beside a server that is watched it is a note at most.
fn capped<'a>(e: &Evidence<'a>) -> Option<&'a LogEvent> {
    let unasked = e.observed.times.is_empty() && e.observed.failed.is_empty();
    let slot =
        |line: &&LogEvent| line.message.contains("capping") || line.message.contains("too large for model");
    lately(e, Meaning::ContextReduced).filter(|_| unasked).filter(slot)
}

#[cfg(test)]
mod tests {
    use intriage_engines::Engine;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    fn alone(engine: Engine, log: &str) -> Given {
        Given::engine(engine, "1.0.0").without_scrapes().log(log)
    }

    #[test]
    fn a_prompt_that_was_cut_is_told_by_the_log() {
        let ollama = "time=2025-05-22T10:00:01.000Z level=WARN source=runner.go:131 msg=\"truncating input prompt\" limit=2048 prompt=10552 keep=4 new=2048\n";
        let given = alone(Engine::Ollama, ollama);
        assert_eq!(given.judge(&CAUSE).outcome, Outcome::Confirmed);
        assert_eq!(given.place_of(&CAUSE), Place::First);
        let llama = "slot update_slots: id  0 | task 7 | input truncated, n_ctx = 2048, n_keep = 0, n_left = 2048, n_prompt_tokens = 1537\n";
        assert_eq!(alone(Engine::LlamaCpp, llama).judge(&CAUSE).outcome, Outcome::Confirmed);
    }

    #[test]
    fn a_window_that_was_capped_is_likely_and_a_refusal_is_the_look_alike() {
        let capped = "srv    load_model: the slot context (65536) exceeds the training context of the model (32768) - capping\n";
        assert_eq!(alone(Engine::LlamaCpp, capped).judge(&CAUSE).outcome, Outcome::Likely);
        let refused = "srv    send_error: task id = 162, error: request (20001 tokens) exceeds the available context size (2048 tokens), try increasing it\n";
        assert_eq!(alone(Engine::LlamaCpp, refused).judge(&CAUSE).outcome, Outcome::CannotTell);
    }
}
