"""Live tests of `intriage check --host`: a real vLLM alone, under a CPU quota, and beside busy neighbours.

    lab/host --intriage PATH [--keep]

The last line is `N passed, N failed`; the exit status is 1 when anything failed.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

from labkit.live import Tally, facts_about, main, named
from labkit.server import LAB, PYTHON, LabError, Server, session_processes

PORT = 8439
WINDOW_S = 20
TIME_LIMIT_S = WINDOW_S + 60
CAUSE = "cpu-starvation-cgroup-throttle"
# One client: two cores are enough for the engine, its front end and the load.
LOAD = ["--clients", "1", "--class", "chat:prompt=64,max=64"]


def quota_group():
    """(folder, file that takes processes) of a new CPU control group, version 1 or 2."""
    for root, period in (("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"), ("/sys/fs/cgroup", "cpu.max")):
        folder = pathlib.Path(root) / "intriage-lab"
        try:
            folder.mkdir(exist_ok=True)
        except OSError:
            continue
        if (folder / period).exists():
            return folder, period
        folder.rmdir()
    raise LabError("no CPU control group can be made here: root is needed")


@contextlib.contextmanager
def alone(_server):
    """Nothing is wrong."""
    yield ()


@contextlib.contextmanager
def quota(server):
    """Half a CPU for the whole server."""
    folder, limit = quota_group()
    tasks = folder.parent / "cgroup.procs"
    try:
        (folder / limit).write_text("50000 100000" if limit == "cpu.max" else "50000")
        processes = session_processes(os.getsid(server.pid))
        for pid in processes:
            (folder / "cgroup.procs").write_text(str(pid))
        yield ()
    finally:
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                tasks.write_text(pid)
        folder.rmdir()


@contextlib.contextmanager
def neighbours(_server):
    """Four loops that want every core."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        yield [loop.pid for loop in loops]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def check(binary, work, name):
    """One check under load: verdict and exit code."""
    case = work / f"{name}.case"
    case.unlink(missing_ok=True)
    case.with_name(f"{case.name}.names.json").unlink(missing_ok=True)
    command = [binary, "check", f"http://127.0.0.1:{PORT}", "--host", "--window", f"{WINDOW_S}s"]
    command += ["--save", case, "--format", "json", "--no-predict"]
    load = [PYTHON, "-B", LAB / "load.py", "--port", str(PORT), "--duration", str(WINDOW_S + 6), *LOAD]
    with subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as client:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
        finally:
            client.terminate()
    if "panicked at" in done.stderr or done.returncode not in (0, 1, 3):
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def faults_with(report):
    """What is wrong with a verdict about a starved server."""
    if named(report) != CAUSE:
        yield f"primary {named(report)}, not {CAUSE}"


def faults_beside(report):
    """What is wrong with a verdict beside busy neighbours: a wait for a CPU that slows no token is a note, not an alarm."""
    told = any(note.startswith(CAUSE) for note in report["notes"])
    if named(report) != CAUSE and not (report["verdict"]["status"] == "healthy" and told):
        yield f"primary {named(report)}, and no note of {CAUSE}"


def faults_without(report):
    """What is wrong with a verdict about a server that has what it needs."""
    if any(f["cause"] == CAUSE for f in report["findings"]):
        yield f"{CAUSE} is found with nothing wrong"
    if not any(r["cause"] == CAUSE for r in report["ruled_out"]):
        missing = [m for c in report["cannot_tell"] if c["cause"] == CAUSE for m in c["missing"]]
        yield f"{CAUSE} is not ruled out: {'; '.join(missing)}"


RUNS = (("alone", alone, faults_without), ("quota", quota, faults_with), ("neighbours", neighbours, faults_beside))


def run(binary, work):
    """All runs."""
    tally, server = Tally(), Server(work / "vllm.log", PORT)
    try:
        server.warm_up()
        for name, fault, faults in RUNS:
            server.wait_until_empty()
            with fault(server) as loops:
                tally.judge(
                    name,
                    server,
                    lambda name=name: check(binary, work, name),
                    faults,
                    lambda report: facts_about(report, CAUSE),
                    loops,
                )
    finally:
        server.stop()
    return tally


if __name__ == "__main__":
    sys.exit(main(__doc__, "host", run))
