"""Real starts that fail: vLLM and llama-server are started with one thing wrong, and `intriage check` must name it.

    lab/starts --intriage PATH [--through log|start|preflight] [--only NAME]… [--keep]

Through `log` the start is run here and its log is judged; through `start` intriage runs it (`check --start`); through `preflight`
nothing is started, and what can be known before must be said, and nothing of a healthy start. llama-server is left out where it
is not built ($TB/llama/bin); a preflight needs its file alone. The last line is `N passed, N failed`; the exit status is 1 when
anything failed.
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Callable

from labkit.pulse import Pulse
from labkit.server import MODEL, TB

VLLM = TB / "vllm/bin/vllm"
LLAMA = TB / "llama/bin/llama-server"
GGUF = TB / "models/gguf/SmolLM2-135M-Instruct.Q4_1.gguf"
PORT = 8451
LIMIT_S = 300
READY = ("Application startup complete.", "server is listening", "listening on http")


@dataclass
class Start:
    """One start: what is wrong with it, and the cause that must be named; no cause for a healthy one."""

    name: str
    cause: str | None
    flags: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    model: Callable | None = None  # makes a model in a folder, and returns what to serve
    beside: Callable | None = None  # a context manager around the start
    engine: str = "vllm"
    preflight: str | None = None  # the cause that can be told before the start
    kill_at: str = ""  # killed with signal 9, through a shell, once the log has this


def copy_of_model(folder, **config):
    """The model with other lines in config.json."""
    path = folder / "model"
    shutil.copytree(MODEL, path, symlinks=True)
    settings = json.loads((path / "config.json").read_text()) | config
    (path / "config.json").unlink()
    (path / "config.json").write_text(json.dumps(settings))
    return path


def without(name):
    """A model that lacks a file."""

    def make(folder):
        path = copy_of_model(folder)
        (path / name).unlink()
        return path

    return make


def cut(name, keep):
    """A model whose file was cut off."""

    def make(folder):
        path = copy_of_model(folder)
        whole = (path / name).read_bytes()
        (path / name).unlink()
        (path / name).write_bytes(whole[: int(len(whole) * keep)])
        return path

    return make


def pointer(folder):
    """Git LFS pointers instead of weights."""
    path = copy_of_model(folder)
    (path / "model.safetensors").unlink()
    (path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 269060552\n")
    return path


def adapter(folder):
    """A LoRA adapter of rank 64, by its configuration alone."""
    path = folder / "adapter"
    path.mkdir()
    settings = {"r": 64, "lora_alpha": 64, "target_modules": ["q_proj"], "peft_type": "LORA", "bias": "none"}
    (path / "adapter_config.json").write_text(json.dumps(settings))
    os.environ["LAB_ADAPTER"] = str(path)
    return MODEL


def broken_python(folder):
    """A module before the real one that does not import."""
    (folder / "transformers.py").write_text("raise ImportError('cannot import name AutoConfig from transformers')\n")
    os.environ["LAB_PYTHONPATH"] = str(folder)
    return MODEL


def gguf(change):
    """A GGUF file whose bytes were changed."""

    def make(folder):
        path = folder / "model.gguf"
        path.write_bytes(change(GGUF.read_bytes()))
        return path

    return make


@contextlib.contextmanager
def taken_port():
    """Somebody else listens."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", PORT))
        other.listen()
        yield


BAD = "bad-launch-argument"
FILES = "model-files-damaged"
UNKNOWN = "model-architecture-unknown"
STARTS = (
    Start("vllm-healthy", None),
    Start("vllm-unknown-flag", BAD, ["--max-num-sequences", "4"], preflight=BAD),
    Start("vllm-bad-choice", BAD, ["--dtype", "int3"], preflight=BAD),
    Start("vllm-not-a-number", BAD, ["--max-num-seqs", "many"], preflight=BAD),
    Start("vllm-budget-below-cap", BAD, ["--max-num-batched-tokens", "16", "--max-num-seqs", "256"], preflight=BAD),
    Start("vllm-no-template", BAD, ["--chat-template", "./no.jinja"], preflight=BAD),
    Start("vllm-quantization-unknown", BAD, ["--quantization", "fp9"], preflight=BAD),
    Start("vllm-quantization-foreign", BAD, ["--quantization", "awq"], model=lambda f: copy_of_model(f, quantization_config={"quant_method": "fp8"}), preflight=BAD),
    Start("vllm-remote-code", BAD, model=lambda f: copy_of_model(f, model_type="own", auto_map={"AutoConfig": "own.OwnConfig"}), preflight=BAD),
    Start("vllm-window", "context-window-exceeds-model", ["--max-model-len", "99999"], preflight="context-window-exceeds-model"),
    Start("vllm-heads", "parallelism-does-not-fit", ["--tensor-parallel-size", "2"], preflight="parallelism-does-not-fit"),
    Start("vllm-offline", "model-hub-unreachable", ["--model", "meta-llama/Llama-3.1-8B-Instruct"], model=lambda f: "meta-llama/Llama-3.1-8B-Instruct", preflight="model-hub-unreachable"),
    Start("vllm-no-weights", FILES, model=without("model.safetensors"), preflight=FILES),
    Start("vllm-cut-weights", FILES, model=cut("model.safetensors", 0.6), preflight=FILES),
    Start("vllm-pointer", FILES, model=pointer, preflight=FILES),
    Start("vllm-no-config", FILES, model=without("config.json"), preflight=FILES),
    Start("vllm-cut-config", FILES, model=cut("config.json", 0.5), preflight=FILES),
    Start("vllm-architecture", UNKNOWN, model=lambda f: copy_of_model(f, architectures=["NewModelForCausalLM"], model_type="llama"), preflight=UNKNOWN),
    Start("vllm-model-type", UNKNOWN, model=lambda f: copy_of_model(f, model_type="newmodel"), preflight=UNKNOWN),
    Start("vllm-port", "port-in-use", beside=taken_port, preflight="port-in-use"),
    Start("vllm-lora-rank", "lora-rank-limit", ["--enable-lora", "--lora-modules", "a={adapter}"], model=adapter, preflight="lora-rank-limit"),
    Start("vllm-python", "python-environment-broken", model=broken_python),
    Start("vllm-killed", "host-oom-kill", kill_at="Initializing a V1 LLM engine"),
    Start("llama-healthy", None, engine="llama"),
    Start("llama-unknown-flag", BAD, ["--max-seqs", "4"], engine="llama"),
    Start("llama-bad-value", BAD, ["-ngl", "some"], engine="llama"),
    Start("llama-no-file", FILES, engine="llama", model=lambda f: f / "absent.gguf", preflight=FILES),
    Start("llama-cut-file", FILES, engine="llama", model=gguf(lambda b: b[: len(b) // 2]), preflight=FILES),
    Start("llama-not-gguf", FILES, engine="llama", model=gguf(lambda b: b"PK\3\4" + b[4:]), preflight=FILES),
    Start("llama-architecture", UNKNOWN, engine="llama", model=gguf(lambda b: b.replace(b"\5\0\0\0\0\0\0\0llama", b"\5\0\0\0\0\0\0\0llamx", 1))),
    Start("llama-port", "port-in-use", engine="llama", beside=taken_port, preflight="port-in-use"),
)


def command_of(start, folder):
    """The command line and what it serves."""
    model = start.model(folder) if start.model else (GGUF if start.engine == "llama" else MODEL)
    if start.engine == "llama":
        return [LLAMA, "-m", model, "--host", "127.0.0.1", "--port", str(PORT), "--no-webui", *start.flags]
    flags = [flag.replace("{adapter}", os.environ.get("LAB_ADAPTER", "")) for flag in start.flags if flag != "--model" and flag != model]
    formats = subprocess.run([pathlib.Path(__file__).parent / "serve", "--number-format"], capture_output=True, text=True, check=True).stdout.split()
    chosen = [] if "--dtype" in flags else formats
    return [VLLM, "serve", model, "--host", "127.0.0.1", "--port", str(PORT), "--enforce-eager", *chosen, *flags]


def prepared(start, folder):
    """(command, environment) of a start."""
    command = list(map(str, command_of(start, folder)))
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"} | start.env
    if path := os.environ.pop("LAB_PYTHONPATH", ""):
        environment["PYTHONPATH"] = path
    return command, environment


def run(start, folder):
    """Starts it, waits until it serves or ends, and returns its log."""
    command, environment = prepared(start, folder)
    log = folder / "server.log"
    with log.open("w") as out, (start.beside or contextlib.nullcontext)():
        # A shell says what a signal did to its child, as in a terminal.
        shell = ["bash", "-c", '"$@"; code=$?; if [ $code -eq 137 ]; then echo Killed; fi; exit $code', "bash", *command]
        process = subprocess.Popen(shell, stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        ends = time.monotonic() + LIMIT_S
        while process.poll() is None and time.monotonic() < ends:
            text = log.read_text(errors="replace")
            if start.kill_at and start.kill_at in text:
                child = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False).stdout.split()
                os.kill(int(child[0]), signal.SIGKILL)
                process.wait(30)
                break
            if any(ready in text for ready in READY):
                break
            time.sleep(0.3)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
    return log


def from_log(binary, start, folder):
    """(what was said, what is wrong with it), from the log of a start that is run here."""
    log = run(start, folder)
    return verdict(start, subprocess.run([binary, "check", log, "--format", "json"], capture_output=True, text=True, timeout=60, check=False))


def kill_when(case, text):
    """Kills the server below intriage once its output, copied to a file, has a text."""
    ends = time.monotonic() + LIMIT_S
    while time.monotonic() < ends and text not in case.read_text(errors="replace"):
        time.sleep(0.2)
    found = subprocess.run(["pgrep", "-f", f"^{VLLM.parent}/python.* --port {PORT}"], capture_output=True, text=True, check=False).stdout.split()
    for pid in found[:1]:
        os.kill(int(pid), signal.SIGKILL)


def from_start(binary, start, folder):
    """(what was said, what is wrong with it), where intriage runs the start."""
    command, environment = prepared(start, folder)
    copy = folder / "server.log"
    with copy.open("w") as out, (start.beside or contextlib.nullcontext)():
        words = [binary, "check", "--start", "--start-timeout", f"{LIMIT_S}s", "--verbose", "--format", "json", "--", *command]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=out, text=True, env=environment)
        if start.kill_at:
            kill_when(copy, start.kill_at)
        stdout, _ = process.communicate(timeout=LIMIT_S + 60)
    done = subprocess.CompletedProcess(words, process.returncode, stdout, copy.read_text(errors="replace"))
    answer, wrong = verdict(start, done)
    if done.returncode != (0 if start.cause is None else 1):
        wrong.append(f"exit code {done.returncode}")
    left = subprocess.run(["pgrep", "-f", "--", f"--port {PORT}"], capture_output=True, text=True, check=False).stdout.split()
    wrong += [f"{len(left)} processes are left behind"] if left else []
    with contextlib.suppress(ValueError, KeyError, TypeError):
        phases = json.loads(stdout)["start"]["phases"]
        answer += " [" + ", ".join(f"{part['phase']} {part['took']:.1f} s" for part in phases) + "]"
    return answer, wrong


def from_preflight(binary, start, folder):
    """(what was said, what is wrong with it), before anything is started."""
    command, environment = prepared(start, folder)
    with (start.beside or contextlib.nullcontext)():
        words = [binary, "check", "--preflight", "--format", "json", "--", *command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=environment)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return done.stderr[-500:], [f"exit code {done.returncode} and no answer"]
    named = said["findings"][0]["cause"] if said["findings"] else None
    wrong = [] if named == start.preflight else [f"foresaw {named}, not {start.preflight}"]
    # A program that is not here leaves the verdict open, not wrong.
    codes = (1,) if start.preflight else (0,) if start.engine == "vllm" else (0, 3)
    if done.returncode not in codes:
        wrong.append(f"exit code {done.returncode}")
    return said["answer"], wrong


THROUGH = {"log": from_log, "start": from_start, "preflight": from_preflight}


def verdict(start, done):
    """(what was said, what is wrong with it) of a diagnosis."""
    try:
        said = json.loads(done.stdout)["verdict"]
    except ValueError:
        return done.stderr[-500:], [f"exit code {done.returncode} and no verdict"]
    named = (said.get("primary") or {}).get("cause")
    wrong = [] if named == start.cause else [f"named {named}, not {start.cause}"]
    if start.cause is None and said["status"] != "healthy":
        wrong.append(f"status {said['status']}, not healthy")
    return said["answer"], wrong


def main():
    """Command line entry; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intriage", required=True, type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--through", choices=THROUGH, default="log", help="who runs the start, if anybody does")
    parser.add_argument("--keep", action="store_true", help="keep the logs")
    args = parser.parse_args()
    binary = args.intriage.resolve()
    top = pathlib.Path(tempfile.mkdtemp(prefix="intriage-starts-"))
    passed = failed = foreseen = 0
    for start in STARTS:
        if (args.only and start.name not in args.only) or (start.engine == "llama" and not LLAMA.exists() and not (args.through == "preflight" and GGUF.exists())):
            continue
        began = time.monotonic()
        for tries in itertools.count(1):
            folder = top / f"{start.name}-{tries}"
            folder.mkdir()
            with Pulse() as pulse:
                answer, wrong = THROUGH[args.through](binary, start, folder)
            if not wrong or not pulse.again(tries):
                break
            print(f"again {start.name} (the machine stood still for {pulse.longest:.1f} s): {'; '.join(wrong)}: {answer}", flush=True)
        foreseen += args.through == "preflight" and start.preflight is not None and not wrong
        passed, failed = passed + (not wrong), failed + bool(wrong)
        word = "FAIL" if wrong else "PASS"
        print(f"{word} {start.name} ({time.monotonic() - began:.0f} s): {'; '.join(wrong) + ': ' if wrong else ''}{answer}", flush=True)
        for large in (folder / "model", folder / "model.gguf"):
            shutil.rmtree(large, ignore_errors=True) if large.is_dir() else large.unlink(missing_ok=True)
    if args.keep or failed:
        print(f"logs are in {top}")
    else:
        shutil.rmtree(top)
    if args.through == "preflight":
        print(f"{foreseen} failures foreseen")
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
