"""What `intriage collect` costs beside a real vLLM on a busy machine, and that a collector that hangs costs no other.

    lab/collect_budget --intriage PATH [--keep]

The last line is `N passed, N failed`; the exit status is 1 when anything failed.
"""

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
import time
import zipfile

from labkit.live import Tally, main
from labkit.server import Server

PORT = 8441
# Issue 5: under 15 s in all, under 5 % of one core averaged, under 100 MB.
MOST_WALL_S = 15.0
MOST_CORE_SHARE = 0.05
MOST_RSS_BYTES = 100e6


@contextlib.contextmanager
def busy_loops(count):
    """Loops that want every core."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextlib.contextmanager
def silent_port():
    """A port that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield listener.getsockname()[1]


def hanging_programs(work):
    """A folder with programs that never end, for each that a collector runs."""
    folder = work / "bin"
    folder.mkdir(exist_ok=True)
    for name in ("journalctl", "nvidia-smi", "ss"):
        program = folder / name
        program.write_text("#!/bin/sh\nexec sleep 600\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


def measured(command, env):
    """(exit code, wall seconds, CPU seconds, largest resident bytes, standard error) of one child."""
    began = time.monotonic()
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        told = child.stderr.read().decode(errors="replace")
        # wait4 gives the usage of this child alone; RUSAGE_CHILDREN would count the busy loops, too.
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - began
    return child.returncode, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, told


def inventory(case):
    """{collector: outcome} of a case file."""
    with zipfile.ZipFile(case) as archive:
        manifest = json.loads(archive.read("case.json"))
    return {part["what"]: part for part in manifest["collected"]}


def faults(name, figures, parts, whole, cut):
    """What is wrong with one run."""
    code, wall, cpu, rss, told = figures
    print(
        f"{name}: {wall:.2f} s (at most {MOST_WALL_S:.0f}), {cpu:.3f} CPU s = {cpu / wall:.2%} of one core "
        f"(at most {MOST_CORE_SHARE:.0%}), {rss / 1e6:.1f} MB (at most {MOST_RSS_BYTES / 1e6:.0f})",
        flush=True,
    )
    if code != 0 or "panicked at" in told:
        yield f"exit {code}: {told}"
    if wall >= MOST_WALL_S:
        yield f"took {wall:.2f} s"
    if cpu / wall >= MOST_CORE_SHARE:
        yield f"took {cpu / wall:.2%} of a core"
    if rss >= MOST_RSS_BYTES:
        yield f"took {rss / 1e6:.1f} MB"
    for part in whole:
        if parts.get(part, {}).get("outcome", {}).get("result") not in ("whole", "partly"):
            yield f"{part} is not there: {parts.get(part)}"
    for part in cut:
        if parts.get(part, {}).get("outcome", {}).get("result") != "skipped":
            yield f"{part} was not cut: {parts.get(part)}"
    for part in parts.values():
        if "budget" not in part:
            yield f"{part['what']} has no budget in the inventory"


def run(binary, work):
    """A plain collection, then one in which everything that can hang does."""
    tally, server = Tally(), Server(work / "vllm.log", PORT)
    pipe = work / "pipe.log"
    os.mkfifo(pipe)
    hung = os.environ | {"PATH": f"{hanging_programs(work)}:{os.environ['PATH']}"}
    url, log = f"http://127.0.0.1:{PORT}", work / "vllm.log"
    collect = [binary, "collect", "--host", "--log", log]
    try:
        server.warm_up()
        with busy_loops(2), silent_port() as dead:
            runs = (
                ("plain", [url], ("metrics", "endpoints", "host", "model", f"log {log}"), (), os.environ),
                (
                    "pipe, journal, nvidia-smi and ss hang",
                    [url, "--log", pipe, "--log", "journal:vllm"],
                    ("metrics", "endpoints", "host", "model", f"log {log}"),
                    (f"log {pipe}", "log journal:vllm", "gpu"),
                    hung,
                ),
                ("server hangs", [f"http://127.0.0.1:{dead}"], ("host", "model", f"log {log}"), ("metrics",), os.environ),
            )
            for name, more, whole, cut, environment in runs:
                case = work / f"{name.replace(' ', '-').replace(',', '')}.case"
                command = [str(word) for word in (*collect, *more, "--save", case)]
                figures = measured(command, environment)
                parts = inventory(case) if case.exists() else {}
                reasons = list(faults(name, figures, parts, whole, cut))
                tally.tell(name, {"verdict": {"answer": f"{len(parts)} collectors"}}, reasons)
    finally:
        server.stop()
    return tally


if __name__ == "__main__":
    sys.exit(main(__doc__, "collect-budget", run))
