//! Real incidents: what their threads quote of a log is found and means what it meant.
//!
//! The quotes are condensed by those who collected them, so they show that the words are found, not that the whole line
//! looks like this. Incidents without a line of a log are listed with the reason, so that none is forgotten.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::BTreeSet;

use intriage_case::{LogText, Signal};
use intriage_engines::LogReadings;
use intriage_engines::Meaning::{self, *};

/// Incident, line as quoted, what it must be found to mean.
const LINES: &[(&str, &str, Meaning)] = &[
    (
        "vllm-project/vllm#9920",
        "NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct",
        TransportSharedMemory,
    ),
    (
        "vllm-project/vllm#33041",
        "NCCL_P2P_DISABLE=1 + --disable-custom-all-reduce works as workaround",
        TransportForbidden,
    ),
    ("vllm-project/vllm#51513", "ACSCtl: SrcValid+ ReqRedir+ CmpltRedir+", AcsRedirects),
    ("ollama/ollama#17916", "cmn init: llama threadpool init, n_threads = 8", ThreadsSet),
    ("ollama/ollama#17916", "nr_periods 4567 / nr_throttled 3115", CpuThrottled),
    (
        "vllm-project/vllm#44688",
        "Using default MoE config. Performance might be sub-optimal!",
        MoeConfigDefault,
    ),
    (
        "syv-ai/qwen38-27b-rtx3090#155",
        "jit_monitor: This causes a latency spike; consider extending warmup",
        Compiling,
    ),
    (
        "vllm-project/vllm#18115",
        "--preemption-mode is not supported by the V1 Engine. Falling back to V0.",
        FlagOverridden,
    ),
    (
        "huggingface/open-r1#339",
        "Sequence group 224 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space",
        Preempted,
    ),
    (
        "ggml-org/llama.cpp#14157",
        "forcing full prompt re-processing due to lack of cache data (likely due to SWA, see https://github.com/ggml-org/llama.cpp/pull/13194#issuecomment-2868343055)",
        PrefixLost,
    ),
    (
        "ggml-org/llama.cpp#21468",
        "slot update_slots: forcing full prompt re-processing due to lack of cache data",
        PrefixLost,
    ),
    ("ai-dynamo/dynamo#1314", "Time to init xfer: 1800.3110489808023 ms", KvTransferTimed),
    ("ai-dynamo/dynamo#1314", "after: Time to init xfer: 0.16039889305830002 ms", KvTransferTimed),
    ("ai-dynamo/dynamo#1314", "Total time for write: 1803.43 ms -> 3.08 ms", KvTransferTimed),
    (
        "vllm-project/vllm#13847",
        "extra_body={\"guided_grammar\": simplified_sql_grammar} without guided_decoding_backend: guided_decoding=None in the request log",
        GrammarUnset,
    ),
    ("vllm-project/vllm#25818", "VLLM_CPU_OMP_THREADS_BIND=\"0-30|32-62\"", ThreadsBound),
    (
        "casper-hansen/AutoAWQ#545",
        "awq quantization is not fully optimized yet. The speed can be slower than non-quantized models",
        KernelFallback,
    ),
    (
        "llm-d/llm-d-router#1552",
        "default 30s vllm.mmTimeout resulted in tokenproducer timeout errors at 30 and 35 RPS",
        RouterTimeout,
    ),
    ("1CatAI/1Cat-vLLM#431", "6x Xid 79 (fell off the bus)", Xid),
    ("NVIDIA/open-gpu-kernel-modules#1355", "Xid 145 (NVLink RLW)", Xid),
    ("vllm-project/vllm#1710", "ncclShmOpen error", SharedMemoryShort),
    (
        "NVIDIA/nccl#525",
        "NCCL WARN Call to posix_fallocate failed : No space left on device",
        SharedMemoryShort,
    ),
    (
        "NVIDIA/nccl#525",
        "Error while creating shared memory segment nccl-shm-recv-... (size 9637888)",
        SharedMemoryShort,
    ),
    ("NVIDIA/nccl#525", "NCCL_SHM_DISABLE=1 works", TransportForbidden),
    (
        "ollama/ollama#5821",
        "memory.available=\"[22.7 GiB]\" memory.required.full=\"23.5 GiB\"",
        OffloadEstimate,
    ),
    ("ollama/ollama#5821", "31/33 layers offloaded", LayersOffloaded),
    ("ollama/ollama#10823", "memory.available=\"[17.8 GiB]\" layers.offload=49 of 63", LayersOffloaded),
    (
        "Blackwellboy/model-serving-minefield#trap-47",
        "enable_prefix_caching=False (startup log, once)",
        PrefixCachingOff,
    ),
    (
        "radianvector/inferlint#live-0.28",
        "attention block size forced to 784 tokens (requested 16)",
        FlagOverridden,
    ),
];

/// Incident, periodic line with what was cut from its front put back, the signal and value it must give.
const SERIES: &[(&str, &str, Signal, f64)] = &[
    (
        "vllm-project/vllm#18115",
        "Avg prompt throughput: 0.0 tokens/s, Running: 8 reqs, Waiting: 0 reqs, GPU KV cache usage: 91.2%",
        Signal::KvUsage,
        0.912,
    ),
    (
        "vllm-project/vllm#13204",
        "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 6.5 tokens/s",
        Signal::TokenRateGenerated,
        6.5,
    ),
];

const CLIENT: &str = "what clients or a benchmark measured";
const OUTPUT: &str = "the text or the token numbers of an answer";
const FLAGS: &str = "the command line and its effect";
const CODE: &str = "the engine's code or its authors' words";
const HOST: &str = "readings of the host or the GPU, from no log";

/// Incidents whose evidence holds no line of a log, and what it holds instead.
const WITHOUT: &[(&str, &str)] = &[
    ("vllm-project/vllm#5458", FLAGS),
    ("tobocop2/lilbee#660", HOST),
    ("vllm-project/vllm#40542", CLIENT),
    ("confidential-dot-ai/c8s#140", CLIENT),
    ("BerriAI/litellm#26102", CLIENT),
    ("mostlygeek/llama-swap#236", "a proxy's configuration"),
    ("vllm-project/vllm#39790", CLIENT),
    ("gpustack/gpustack#4969", CODE),
    ("princeton-pli/retaining-by-doing#5", OUTPUT),
    ("vllm-project/vllm#55288", OUTPUT),
    ("vllm-project/vllm#52304", OUTPUT),
    ("vllm-project/vllm#2012", OUTPUT),
    ("vllm-project/vllm-ascend#562", OUTPUT),
    ("vllm-project/vllm#13232", FLAGS),
    ("vllm-project/vllm#40290", CODE),
    ("vllm-project/vllm#8017", OUTPUT),
    ("vllm-project/vllm#13582", FLAGS),
    ("sgl-project/sglang#40094", CLIENT),
    ("vllm-project/vllm#52607", CLIENT),
    ("vllm-project/vllm#39963", CLIENT),
    ("gpustack/gpustack#1842", CLIENT),
    ("tenstorrent/tt-inference-server#259", CLIENT),
    ("vllm-project/vllm#43078", CLIENT),
    ("vllm-project/vllm-ascend#12041", CLIENT),
    ("vllm-project/vllm#12122", CLIENT),
    ("vllm-project/vllm#44175", HOST),
    ("vllm-project/vllm#43639", HOST),
    ("vllm-project/vllm#24469", FLAGS),
    ("sgl-project/sglang#37806", HOST),
    ("modelplaneai/modelplane#204", "the pace of a progress bar, in words"),
    ("NVIDIA/TensorRT-LLM#16916", OUTPUT),
    ("vllm-project/vllm#42580", OUTPUT),
    ("vllm-project/vllm#13133", OUTPUT),
    ("vllm-project/vllm#42179", FLAGS),
    ("vllm-project/vllm#4180", OUTPUT),
    ("vllm-project/vllm#45591", FLAGS),
    ("vllm-project/vllm#8439", CLIENT),
    ("1CatAI/1Cat-vLLM#678", HOST),
    ("NVIDIA/TensorRT-LLM#18117", HOST),
    ("vllm-project/vllm#51875", CODE),
    ("dingodb/DingoCache#77", CODE),
    ("tonyd2wild/GLM-5.3-Flash-NVFP4-DFlash2-2x-DGX-Spark#13", CODE),
    ("NVIDIA/Model-Optimizer#2300", FLAGS),
    ("NVIDIA/TensorRT-LLM#12188", CODE),
    ("vllm-project/vllm#49259", FLAGS),
    ("vllm-project/vllm#21376", CLIENT),
    ("vllm-project/vllm#22782", CODE),
    ("sgl-project/sglang#35349", CLIENT),
    ("vllm-project/vllm#44404", CLIENT),
    ("MakazhanAlpamys/Soup#360", OUTPUT),
    ("Blackwellboy/model-serving-minefield#trap-46", HOST),
    ("Blackwellboy/model-serving-minefield#trap-48", CLIENT),
    ("Blackwellboy/model-serving-minefield#trap-106", "metrics over hours"),
    ("Blackwellboy/model-serving-minefield#trap-11", CLIENT),
];

fn read(line: &str) -> LogReadings {
    LogReadings::of(&LogText { name: "server.log".into(), text: format!("{line}\n") })
}

#[test]
fn lines_quoted_in_incidents_are_found() {
    for (id, line, meaning) in LINES {
        let found: Vec<Meaning> = read(line).events.iter().map(|e| e.meaning).collect();
        assert!(found.contains(meaning), "{id}: {line}: {found:?}");
    }
}

#[test]
fn the_xids_of_two_incidents_have_their_numbers() {
    assert_eq!(read("6x Xid 79 (fell off the bus)").first(Xid).unwrap().number, Some(79));
    assert_eq!(read("Xid 145 (NVLink RLW)").first(Xid).unwrap().number, Some(145));
}

#[test]
fn periodic_lines_quoted_in_incidents_give_their_values() {
    for (id, line, signal, value) in SERIES {
        let series = read(&format!("INFO 02-10 11:12:13 [loggers.py:1] {line}")).signal(*signal);
        let last = series.and_then(|s| s.last());
        assert!(last.is_some_and(|last| (last - value).abs() < 1e-9), "{id}: {last:?}");
    }
}

#[test]
fn every_incident_known_is_judged_once() {
    let with: BTreeSet<&str> = LINES.iter().map(|row| row.0).chain(SERIES.iter().map(|row| row.0)).collect();
    let without: BTreeSet<&str> = WITHOUT.iter().map(|row| row.0).collect();
    assert_eq!(without.len(), WITHOUT.len());
    assert_eq!(with.intersection(&without).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert_eq!((with.len(), without.len()), (24, 54), "78 incidents were collected");
}
