"""Live tests of `intriage check --host --manifest`: a real vLLM whose configuration is in force, overridden, or stale.

    lab/config --intriage PATH [--keep]

The override is the engine's own: on CPU vLLM reads VLLM_CPU_KVCACHE_SPACE after --kv-cache-memory-bytes and over it.
Blocks of 8,192 tokens make that felt with eight clients: 1 GiB holds four requests, 4 GiB more than twenty (in float32 one and ten). A prompt is computed over
a whole block, which takes a CPU seconds: requests are short, and the load runs before the window begins.
The last line is `N passed, N failed`; the exit status is 1 when anything failed.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass, field

from labkit.live import Tally, facts_about, main, named
from labkit.server import LAB, PYTHON, Server

PORT = 8441
WINDOW_S = 20
LEAD_S = 8
TIME_LIMIT_S = WINDOW_S + 60
CAUSE = "config-not-applied"
LOAD = ["--clients", "8", "--class", "chat:prompt=8,max=24"]
BLOCKS = ["--block-size", "8192", "--kv-cache-memory-bytes", "4G"]


@dataclass
class Run:
    """One server: its flags and variables, what its unit says, and what should be told."""

    name: str
    flags: list
    unit: list
    space: int = 4
    effect: str = ""
    verdicts: dict = field(default_factory=dict)


RUNS = (
    Run("as-asked", BLOCKS, BLOCKS),
    Run(
        "overridden",
        BLOCKS,
        BLOCKS,
        space=1,
        effect="kv-capacity-limited-queue",
        verdicts={"--kv-cache-memory-bytes": "overridden"},
    ),
    Run(
        "stale",
        ["--max-num-seqs", "2"],
        ["--max-num-seqs", "32"],
        effect="max-num-seqs-limited-queue",
        verdicts={"--max-num-seqs": "stale"},
    ),
)


def write_unit(path, run):
    """The unit an administrator would have written; the process runs what lab/serve gives it beside."""
    added = subprocess.run([LAB / "serve", "--number-format"], capture_output=True, text=True, check=True).stdout.split()
    flags = ["--served-model-name", "smollm2-135m", "--host", "127.0.0.1", "--port", str(PORT), *run.unit, *added, "--enforce-eager"]
    pairs = [" ".join(flags[i : i + 2]) for i in range(0, len(flags), 2)]
    path.write_text(
        "[Unit]\nDescription=A language model\n\n[Service]\n"
        + "ExecStart=/opt/vllm/bin/vllm serve smollm2-135m \\\n    "
        + " \\\n    ".join(pairs)
        + "\nRestart=always\n"
    )


def check(binary, work, run, unit):
    """One check under load: the verdict."""
    command = [binary, "check", f"http://127.0.0.1:{PORT}", "--host", "--window", f"{WINDOW_S}s"]
    case = work / f"{run.name}.case"
    case.unlink(missing_ok=True)
    case.with_name(f"{case.name}.names.json").unlink(missing_ok=True)
    command += ["--manifest", unit, "--save", case, "--format", "json", "--no-predict"]
    load = [PYTHON, "-B", LAB / "load.py", "--port", str(PORT), "--duration", str(LEAD_S + WINDOW_S + 8), *LOAD]
    with subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as client:
        try:
            time.sleep(LEAD_S)
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
        finally:
            client.terminate()
    if "panicked at" in done.stderr or done.returncode not in (0, 1, 3):
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def wrong(report, run):
    """What is wrong with a verdict."""
    found = [f["cause"] for f in report["findings"]]
    rows = {row["name"]: row["verdict"] for row in report["config"]["rows"]}
    off = {n: v for n, v in rows.items() if v in ("stale", "overridden", "dropped", "auto-disabled")}
    if off != run.verdicts:
        yield f"rows that are off: {off}, expected {run.verdicts}"
    if not run.verdicts:
        if CAUSE in found:
            yield f"{CAUSE} is found with nothing wrong"
        if not any(r["cause"] == CAUSE for r in report["ruled_out"]):
            yield f"{CAUSE} is not ruled out"
        return
    if named(report) != CAUSE:
        yield f"primary {named(report)}, not {CAUSE}"
    if not any(f["cause"] == run.effect and f["effect_of"] == CAUSE for f in report["findings"]):
        yield f"{run.effect} is not an effect of it: {found}"


def run_all(binary, work):
    """All runs."""
    tally = Tally()
    for run in RUNS:
        env = {"VLLM_CPU_KVCACHE_SPACE": str(run.space)}
        server = Server(work / f"{run.name}.log", PORT, run.flags, env)
        try:
            server.warm_up()
            unit = work / "vllm.service"
            write_unit(unit, run)
            tally.judge(
                run.name,
                server,
                lambda run=run, unit=unit: check(binary, work, run, unit),
                lambda report, run=run: wrong(report, run),
                lambda report: facts_about(report, CAUSE),
            )
        finally:
            server.stop()
    return tally


if __name__ == "__main__":
    sys.exit(main(__doc__, "config", run_all))
