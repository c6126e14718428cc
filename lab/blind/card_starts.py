"""Starts of vLLM that fail on a GPU, run on the GPU machine and kept as logs with their truth; one that comes up, too.

    card_starts.py OUT [--parallel 6]      OUT/NAME/ gets server.log, cmdline.txt, nvidia-smi.txt and truth.json

Those that never reach the card's memory run side by side; the others one after the other, on an empty card. Nothing here judges.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from servers import session_processes

VLLM = pathlib.Path(os.environ.get("KIT", "/root/kit")) / "bin/vllm"
MODEL = pathlib.Path("/root/l8b")
READY = "Application startup complete."
LIMIT_S = 100
HOLD = "import torch, time; a = torch.empty({gib} << 30, dtype=torch.uint8, device='cuda'); print('held', flush=True); time.sleep(600)"


def changed(folder, **config):
    """The model with other lines in config.json."""
    path = folder / "l8b"
    shutil.copytree(MODEL, path)
    (path / "config.json").write_text(json.dumps(json.loads((MODEL / "config.json").read_text()) | config))
    return path


def start(name, cause, flags=(), env=None, config=None, what="", hold=0, accept=(), after="", dummy=True):
    """One row of the table."""
    return {"name": name, "cause": cause, "accept": list(accept), "flags": list(flags), "env": env or {}, "config": config or {}, "what": what, "hold": hold, "after": after, "dummy": dummy}


# Those that end before they take memory.
EARLY = (
    start("two-cards", "parallelism-does-not-fit", ["--tensor-parallel-size", "2"], what="two GPUs asked for, one there", accept=["gpu-not-visible"]),
    start("no-card", "gpu-not-visible", env={"CUDA_VISIBLE_DEVICES": ""}, what="CUDA_VISIBLE_DEVICES is empty"),
    start("wrong-card", "gpu-not-visible", env={"CUDA_VISIBLE_DEVICES": "3"}, what="CUDA_VISIBLE_DEVICES names a card that is not there", accept=["parallelism-does-not-fit"]),
    start("foreign-backend", "attention-backend-unsupported", ["--attention-backend", "FLASHMLA"], what="an attention backend for MLA, a model without"),
    start("quantization", "bad-launch-argument", ["--quantization", "awq"], what="--quantization awq, the checkpoint has no such thing", accept=["model-files-damaged", "quantization-unsupported-on-gpu"]),
    start("window", "context-window-exceeds-model", ["--max-model-len", "999999"], what="a window longer than the model's"),
    start("heads", "parallelism-does-not-fit", ["--pipeline-parallel-size", "3"], what="three stages on one GPU", accept=["gpu-not-visible"]),
    start("architecture", "model-architecture-unknown", config={"architectures": ["NewForCausalLM"], "model_type": "newmodel"}, what="a model type nobody knows"),
    start("no-weights", "model-files-damaged", dummy=False, what="a folder without weights"),
)
# Those that take memory.
LATE = (
    start("comes-up", None, ["--max-model-len", "8192", "--enforce-eager"], what="a healthy start"),
    start("little-memory", "weights-leave-no-kv", ["--gpu-memory-utilization", "0.1", "--max-model-len", "8192", "--enforce-eager"], what="10 % of the card: less than the weights", accept=["runtime-oom-non-kv"]),
    start("window-pool", "weights-leave-no-kv", ["--gpu-memory-utilization", "0.16", "--max-model-len", "131072", "--enforce-eager"], what="the pool holds less than one window"),
    start("neighbour", "vram-co-tenant-or-orphan", ["--max-model-len", "8192", "--enforce-eager"], hold=60, what="another process holds 60 GiB of the card"),
    start("killed", "engine-crash-5xx", ["--max-model-len", "8192", "--enforce-eager"], after="kill", what="the engine process is killed with signal 9 after it came up", accept=["host-oom-kill"]),
)


def run(row, out, port):
    """One start, until it serves or ends."""
    folder = out / row["name"]
    folder.mkdir(parents=True)
    model = changed(folder, **row["config"]) if row["config"] else MODEL
    command = [sys.executable, str(VLLM), "serve", str(model), "--host", "127.0.0.1", "--port", str(port), *row["flags"]]
    command += ["--load-format", "dummy"] if row["dummy"] else []
    env = os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_USE_FLASHINFER_SAMPLER": "0", "VLLM_WORKER_MULTIPROC_METHOD": "fork"} | row["env"]
    holder = None
    if row["hold"]:
        holder = subprocess.Popen([sys.executable, "-c", HOLD.format(gib=row["hold"])], stdout=subprocess.PIPE, text=True)
        holder.stdout.readline()
    log, began = folder / "server.log", time.monotonic()
    with log.open("w") as to:
        process = subprocess.Popen(command, stdout=to, stderr=to, stdin=subprocess.DEVNULL, env=env, start_new_session=True)
    killed = False
    while process.poll() is None and time.monotonic() < began + LIMIT_S:
        if READY in log.read_text(errors="replace"):
            if row["after"] != "kill":
                break
            if not killed:
                for pid, title in session_processes(process.pid).items():
                    if title.startswith("VLLM::EngineCore"):
                        os.kill(pid, signal.SIGKILL)
                killed = True
        time.sleep(0.3)
    (folder / "nvidia-smi.txt").write_text(subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=False).stdout)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    if holder:
        holder.kill()
        holder.wait()
    (folder / "cmdline.txt").write_text(" ".join([*(f"{key}={value}" for key, value in row["env"].items()), "vllm", *command[2:]]) + "\n")
    truth = {key: row[key] for key in ("cause", "accept", "what")} | {"status": "finding" if row["cause"] else "healthy", "took_s": round(time.monotonic() - began, 1)}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    shutil.rmtree(folder / "l8b", ignore_errors=True)
    return f"{row['name']} {truth['took_s']} s, {log.stat().st_size} bytes of log, exit {process.returncode}"


def main():
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--parallel", type=int, default=6)
    args = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(args.parallel) as pool:
        for said in pool.map(lambda pair: run(pair[1], args.out, 8700 + pair[0]), enumerate(EARLY)):
            print(said, flush=True)
    for row in LATE:
        print(run(row, args.out, 8790), flush=True)


if __name__ == "__main__":
    main()
