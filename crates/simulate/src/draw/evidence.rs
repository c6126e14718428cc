//! What of a deployment the diagnosis is given.

use crate::draw::base::Base;
use crate::metrics::stamp;
use crate::random::Random;
use crate::rehearse::{Recording, started};
use crate::setup::Setup;

/// What is given beside metrics, `/version` and `/v1/models`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// `/server_info` of vLLM's developer mode: settings and card.
    pub server_info: bool,
    /// The clients' records.
    pub client: bool,
    /// The server's log from its start.
    pub log: bool,
    /// Share of scrapes that are missing, or failed.
    pub gaps: f64,
}

impl Evidence {
    /// What is given, in words: `server_info, log`.
    pub fn name(&self) -> String {
        let given = [(self.server_info, "server_info"), (self.client, "client"), (self.log, "log")];
        let given: Vec<&str> = given.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
        if given.is_empty() { "metrics alone".to_owned() } else { given.join(", ") }
    }

    /// Takes out of a recording what is not given.
    pub(crate) fn keep(&self, recording: Recording, random: &mut Random) -> Recording {
        let scrapes = recording.iter().filter(|(name, _)| name.starts_with("metrics/")).count();
        let mut seen = 0;
        let mut kept = Vec::with_capacity(recording.len());
        for (name, bytes) in recording {
            if name.starts_with("metrics/") {
                seen += 1;
                // The first and the last are there: the window is what it is.
                if seen > 1 && seen < scrapes && random.chance(self.gaps) {
                    if random.chance(0.5) {
                        kept.push((name.replace(".txt", ".failed"), b"timed out after 5 s".to_vec()));
                    }
                    continue;
                }
            }
            let wanted = match name.as_str() {
                "endpoints/server_info.json" => self.server_info,
                "client.jsonl" => self.client,
                _ => true,
            };
            if wanted {
                kept.push((name, bytes));
            }
        }
        kept
    }
}

const GIB: f64 = 1_073_741_824.0;

/// What vLLM writes into its log while it starts; wording and order as in the recordings of 0.26 and 0.32.
pub(crate) fn first_lines(base: &Base, setup: &Setup) -> String {
    let Some(engine) = setup.fleet.engines.first() else { return String::new() };
    let begun = started(setup).0;
    let at = |seconds: u64| stamp(begun + seconds * 1000);
    let (identity, model) = (&setup.identity, base.model);
    let kv = base.card.kv_memory(model).map_or(0.0, |bytes| bytes.0);
    let possible = (kv / model.kv.0 / f64::from(engine.block_tokens)) as u32;
    let api = |seconds: u64, line: String| format!("(APIServer pid=1232) INFO {} {line}\n", at(seconds));
    let core = |seconds: u64, line: String| format!("(EngineCore pid=1401) INFO {} {line}\n", at(seconds));
    let mut text = [
        api(0, format!("[model.py:1788] Using max model len {}", engine.context_window)),
        api(0, format!(
            "[scheduler.py:252] Chunked prefill is enabled with max_num_batched_tokens={}.",
            engine.token_budget
        )),
        core(1, format!(
            "[core.py:120] Initializing a V1 LLM engine (v0.32.0) with config: model='{}', speculative_config={}, tokenizer='{}', skip_tokenizer_init=False, trust_remote_code=False, dtype=torch.bfloat16, max_seq_len={}, load_format=auto, tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size={}, quantization=None, enforce_eager={}, kv_cache_dtype=auto, device_config=cuda, seed=0, served_model_name={}, enable_prefix_caching={}, enable_chunked_prefill=True",
            identity.checkpoint,
            engine.speculation.map_or("None".to_owned(), |s| format!("SpeculativeConfig(method='ngram', num_spec_tokens={})", s.draft_tokens)),
            identity.checkpoint,
            engine.context_window,
            setup.fleet.engines.len(),
            python(identity.eager),
            identity.model,
            python(engine.prefix_cache),
        )),
        core(4, format!(
            "[model_runner.py:305] Model loading took {:.2} GiB and 2.219759 seconds",
            model.weights().0 / GIB
        )),
        core(6, format!("[gpu_worker.py:560] Available KV cache memory: {:.2} GiB", kv / GIB)),
    ]
    .concat();
    if engine.pool_blocks < possible {
        text += &core(
            6,
            format!(
                "[kv_cache_utils.py:2115] Overriding num_gpu_blocks={possible} with num_gpu_blocks_override={}",
                engine.pool_blocks
            ),
        );
    }
    let tokens = engine.pool_tokens().0;
    text +=
        &core(6, format!("[kv_cache_utils.py:2177] GPU KV cache size: {} tokens", thousands(tokens as u64)));
    text +=
        &core(9, "[core.py:402] init engine (profile, create kv cache, warmup model) took 5.31 s".to_owned());
    text + "INFO:     Application startup complete.\n"
}

const fn python(on: bool) -> &'static str {
    if on { "True" } else { "False" }
}

/// `46,592`.
fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_vllm_writes_them() {
        assert_eq!(thousands(46_592), "46,592");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_046_592), "1,046,592");
    }

    #[test]
    fn what_is_not_given_is_not_there_and_the_window_stays() {
        let file = |name: &str| (name.to_owned(), Vec::new());
        let mut all: Recording = (10..60).map(|n| file(&format!("metrics/{n}.txt"))).collect();
        all.extend(["endpoints/server_info.json", "endpoints/version.json", "client.jsonl"].map(file));
        let evidence = Evidence { server_info: false, client: true, log: false, gaps: 0.5 };
        let kept = evidence.keep(all, &mut Random::new(1, "gaps"));
        let has = |name: &str| kept.iter().any(|(n, _)| n == name);
        assert!(has("client.jsonl") && has("endpoints/version.json") && !has("endpoints/server_info.json"));
        assert!(has("metrics/10.txt") && has("metrics/59.txt"));
        let whole = kept.iter().filter(|(n, _)| n.contains(".txt")).count();
        assert!((15..40).contains(&whole), "{whole}");
        assert_eq!(evidence.name(), "client");
    }
}
