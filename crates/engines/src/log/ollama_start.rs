//! Ollama: rows for failed starts, deaths and hangs. Read at fb3076099 (2026-08-21); ranges were read off its tags up to v0.32.15.
//! Since 0.30.0 it runs llama.cpp's own server, so its log holds every line of that, too; before, those of libllama and ggml.

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::Ollama), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    // ---- The runner behind Ollama. What it said last stands behind the colon.
    row(StartFailed, "llama runner process has terminated: ").until("0.24.0").from(
        Wording::Code("ollama/ollama:llm/server.go"),
        "time=2025-03-06T06:24:22.000Z level=ERROR source=sched.go:456 msg=\"error loading llama server\" error=\"llama runner process has terminated: exit status 2\"",
        "time=2025-05-22T10:00:01.000Z level=INFO source=server.go:601 msg=\"llama runner started in 1.51 seconds\"",
    ),
    row(StartFailed, "llama-server process has terminated").since("0.30.0").from(
        Wording::Code("ollama/ollama:llm/llama_server.go"),
        "time=2026-06-17T10:00:01.000Z level=ERROR source=sched.go:734 msg=\"error loading llama server\" error=\"llama-server process has terminated: exit status 1: error loading model: llama_model_loader: failed to load model from /root/.ollama/models/blobs/sha256-667b\"",
        "time=2026-06-17T10:00:01.000Z level=INFO source=llama_server.go:1012 msg=\"llama-server started in 1.51 seconds\"",
    ),
    row(HostKilled, " process has terminated: signal: killed").from(
        Wording::Code("ollama/ollama:llm/server.go"),
        "time=2025-03-06T06:24:22.000Z level=ERROR source=sched.go:456 msg=\"error loading llama server\" error=\"llama runner process has terminated: signal: killed\"",
        "time=2025-03-06T06:24:22.000Z level=ERROR source=sched.go:456 msg=\"error loading llama server\" error=\"llama runner process has terminated: exit status 2\"",
    ),
    row(EngineDied, "llama runner process no longer running").until("0.24.0").from(
        Wording::Code("ollama/ollama:llm/server.go"),
        "time=2024-04-25T18:30:30.049+02:00 level=ERROR source=routes.go:120 msg=\"error loading llama server\" error=\"llama runner process no longer running: 3221226505 \"",
        "time=2025-05-22T10:00:01.000Z level=INFO source=server.go:601 msg=\"llama runner started in 1.51 seconds\"",
    ),
    row(EngineDied, "llama-server process no longer running").since("0.30.0").from(
        Wording::Code("ollama/ollama:llm/llama_server.go"),
        "time=2026-06-17T10:00:01.000Z level=WARN source=llama_server.go:905 msg=\"llama-server process no longer running\" sys=139 string=\"signal: segmentation fault (core dumped)\"",
        "time=2026-06-17T10:00:01.000Z level=INFO source=llama_server.go:1012 msg=\"llama-server started in 1.51 seconds\"",
    ),
    row(EngineDied, "model runner has unexpectedly stopped").since("0.9.1").from(
        Wording::Code("ollama/ollama:llm/llama_server.go"),
        "Error: 500 Internal Server Error: model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, check ollama server logs for details",
        "time=2025-05-22T10:00:01.000Z level=INFO source=server.go:601 msg=\"llama runner started in 1.51 seconds\"",
    ),
    row(StartFailed, "msg=\"error loading llama server\"").from(
        Wording::Code("ollama/ollama:server/sched.go"),
        "time=2025-03-06T06:24:22.000Z level=ERROR source=sched.go:456 msg=\"error loading llama server\" error=\"llama runner process has terminated: exit status 2\"",
        "time=2025-05-22T10:00:01.000Z level=INFO source=server.go:431 msg=\"starting llama server\" cmd=\"/usr/bin/ollama runner --ctx-size 8192\"",
    ),
    row(ModelFiles, "digest mismatch, file must be downloaded again").from(
        Wording::Code("ollama/ollama:server/images.go"),
        "Error: digest mismatch, file must be downloaded again: want sha256:1a64, got sha256:5eef",
        "verifying sha256 digest",
    ),
    // With a dash: no progress for OLLAMA_LOAD_TIMEOUT. With a colon the client went away first.
    row(LoadTimedOut, "timed out waiting for llama runner to start - ").until("0.24.0").from(
        Wording::Code("ollama/ollama:llm/server.go"),
        "time=2025-03-06T06:29:22.000Z level=ERROR source=sched.go:456 msg=\"error loading llama server\" error=\"timed out waiting for llama runner to start - progress 0.00 - \"",
        "time=2025-03-06T06:29:22.000Z level=ERROR source=sched.go:456 msg=\"error loading llama server\" error=\"timed out waiting for llama runner to start: context canceled\"",
    ),
    row(LoadTimedOut, "timed out waiting for llama-server to start - ").since("0.30.0").from(
        Wording::Code("ollama/ollama:llm/llama_server.go"),
        "time=2026-06-17T10:05:01.000Z level=ERROR source=sched.go:734 msg=\"error loading llama server\" error=\"timed out waiting for llama-server to start - \"",
        "time=2026-06-17T10:05:01.000Z level=ERROR source=sched.go:734 msg=\"error loading llama server\" error=\"timed out waiting for llama-server to start: context canceled\"",
    ),
    // Nothing was killed: Ollama refuses to load what the host's memory does not hold. No meaning of the list says this.
    row(StartFailed, "model requires more system memory (").since("0.2.2").until("0.24.0").from(
        Wording::Code("ollama/ollama:llm/server.go"),
        "time=2025-02-12T12:12:03.367Z level=INFO source=sched.go:428 msg=\"NewLlamaServer failed\" model=/x error=\"model requires more system memory (9.1 GiB) than is available (4.2 GiB)\"",
        "time=2025-02-12T12:12:03.367Z level=INFO source=server.go:104 msg=\"system memory\" total=\"31.0 GiB\" free=\"27.4 GiB\" free_swap=\"0 B\"",
    ),
    row(GpuOutOfMemory, "llama-server reported out-of-memory during startup").since("0.30.0").from(
        Wording::Code("ollama/ollama:llm/llama_server.go"),
        "time=2026-06-17T10:00:01.000Z level=ERROR source=sched.go:734 msg=\"error loading llama server\" error=\"llama-server reported out-of-memory during startup: cudaMalloc failed: out of memory\"",
        "time=2026-06-17T10:00:01.000Z level=INFO source=llama_server.go:1012 msg=\"llama-server started in 1.51 seconds\"",
    ),

    // ---- Ollama and GPUs. The first wording ended with 0.12.3. From then on the CPU is told as the only device; a server
    // that is meant to run on the CPU says so, too.
    row(RunsOnCpu, "msg=\"no compatible GPUs were discovered\"").since("0.2.0").until("0.12.3").from(
        Wording::Code("ollama/ollama:discover/gpu.go"),
        "time=2024-10-15T09:18:18.299Z level=INFO source=gpu.go:347 msg=\"no compatible GPUs were discovered\"",
        "time=2024-10-15T09:18:18.264Z level=INFO source=gpu.go:199 msg=\"looking for compatible GPUs\"",
    ),
    row(RunsOnCpu, "msg=\"inference compute\"").with(" library=cpu").from(
        Wording::Code("ollama/ollama:discover/types.go"),
        "time=2025-11-15T09:18:18.299Z level=INFO source=types.go:60 msg=\"inference compute\" id=cpu library=cpu compute=\"\" name=cpu description=cpu libdirs=ollama driver=\"\" pci_id=\"\" type=\"\" total=\"12.7 GiB\" available=\"11.5 GiB\"",
        "time=2025-11-15T09:18:18.299Z level=INFO source=types.go:42 msg=\"inference compute\" id=GPU-1 filter_id=\"\" library=CUDA compute=8.6 name=CUDA0 description=\"NVIDIA GeForce RTX 3060\" libdirs=ollama,cuda_v13 driver=13.0 pci_id=0000:01:00.0 type=discrete total=\"12.0 GiB\" available=\"11.5 GiB\"",
    ),
    // It then leaves the GPU alone as well and goes on with the CPU.
    row(CpuInstruction, "CPU does not have minimum vector extensions").from(
        Wording::Incident("ollama/ollama#8606"),
        "time=2024-10-15T09:18:18.193Z level=WARN source=gpu.go:252 msg=\"CPU does not have minimum vector extensions, GPU inference disabled\" required=avx detected=\"no vector extensions\"",
        "time=2024-10-15T09:18:18.264Z level=INFO source=gpu.go:199 msg=\"looking for compatible GPUs\"",
    ),
    row(QueueFull, "maximum pending requests exceeded").from(
        Wording::Incident("IBM/prompt-declaration-language#702"),
        "{\"error\":\"server busy, please try again.  maximum pending requests exceeded\"}",
        "time=2025-05-22T10:00:01.000Z level=INFO source=server.go:601 msg=\"llama runner started in 1.51 seconds\"",
    ),
    row(DriverTooOld, "msg=\"NVIDIA driver too old\"").since("0.30.0").from(
        Wording::Code("ollama/ollama:discover/cuda_compat.go"),
        "time=2026-06-17T10:00:01.000Z level=WARN source=cuda_compat.go:65 msg=\"NVIDIA driver too old\" device=\"NVIDIA GeForce GTX 1080\" compute=6.1 driver=535 required_driver=\"550 or newer\"",
        "time=2026-06-17T10:00:01.000Z level=WARN source=cuda_compat.go:39 msg=\"could not verify NVIDIA driver compatibility for CUDA\"",
    ),
    row(NoKernelImage, "CUDA GPU is too old. Compute Capability detected: ").until("0.12.3").from(
        Wording::Code("ollama/ollama:discover/gpu.go"),
        "time=2024-10-15T09:18:18.299Z level=INFO source=gpu.go:318 msg=\"[0] CUDA GPU is too old. Compute Capability detected: 3.5\"",
        "time=2024-10-15T09:18:18.264Z level=INFO source=gpu.go:199 msg=\"looking for compatible GPUs\"",
    ),

    // ---- Ollama and models.
    row(ModelUnknown, "this model is not supported by your version of Ollama").since("0.2.0").until("0.24.0").from(
        Wording::Code("ollama/ollama:llm/server.go"),
        "Error: llama runner process has terminated: this model is not supported by your version of Ollama. You may need to upgrade",
        "time=2025-02-12T12:12:03.367Z level=INFO source=routes.go:1237 msg=\"Listening on [::]:11434 (version 0.5.8)\"",
    ),
    row(ModelUnknown, "this model may be incompatible with your version of Ollama").from(
        Wording::Code("ollama/ollama:server/sched.go"),
        "time=2025-02-12T12:12:03.367Z level=INFO source=sched.go:428 msg=\"NewLlamaServer failed\" model=/x error=\"failed to load model: this model may be incompatible with your version of Ollama. If you previously pulled this model, try updating it by running `ollama pull m`\"",
        "time=2025-02-12T12:12:03.367Z level=INFO source=routes.go:1237 msg=\"Listening on [::]:11434 (version 0.5.8)\"",
    ),
    row(ModelFiles, "msg=\"couldn't open model file\"").from(
        Wording::Code("ollama/ollama:server/images.go"),
        "time=2025-11-15T09:18:18.299Z level=ERROR source=images.go:156 msg=\"couldn't open model file\" error=\"open /root/.ollama/models/blobs/sha256-8c62: no such file or directory\"",
        "time=2025-11-15T09:18:18.299Z level=INFO source=images.go:522 msg=\"total blobs: 10\"",
    ),
    row(PromptTruncated, "msg=\"truncating input prompt\"").since("0.5.12").from(
        Wording::Code("ollama/ollama:llm/llama_server.go"),
        "time=2025-11-15T09:18:18.299Z level=WARN source=runner.go:131 msg=\"truncating input prompt\" limit=4096 prompt=12001 keep=4 new=4096",
        "time=2025-05-22T10:00:01.000Z level=INFO source=server.go:601 msg=\"llama runner started in 1.51 seconds\"",
    ),
    row(ContextReduced, "msg=\"requested context size too large for model\"").since("0.9.3").from(
        Wording::Code("ollama/ollama:llm/server.go"),
        "time=2025-11-15T09:18:18.299Z level=WARN source=server.go:114 msg=\"requested context size too large for model\" num_ctx=131072 n_ctx_train=32768",
        "time=2025-11-15T09:18:18.299Z level=INFO source=routes.go:2058 msg=\"vram-based default context\" total_vram=\"23.6 GiB\" default_num_ctx=4096",
    ),
    row(Ready, "Listening on ").with(" (version ").from(
        Wording::Code("ollama/ollama:server/routes.go"),
        "time=2025-02-12T12:12:03.367Z level=INFO source=routes.go:1237 msg=\"Listening on [::]:11434 (version 0.5.8)\"",
        "time=2025-03-06T06:24:21.616Z level=INFO source=runner.go:992 msg=\"Server listening on 127.0.0.1:44397\"",
    ),
];
