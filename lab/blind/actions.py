"""The faults that are made around a running server, each with its undoing. All need root, none outlives its draw."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
# Control groups of version 1 and 2, by a name that says nothing.
GROUPS = (
    (pathlib.Path("/sys/fs/cgroup/cpu/slice-a"), "cpu.cfs_quota_us"),
    (pathlib.Path("/sys/fs/cgroup/slice-a"), "cpu.max"),
)


def run(*command):
    """A command that must succeed."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=20)


@contextlib.contextmanager
def clocks(_server, fault):
    """The GPU's clock locked."""
    run("nvidia-smi", "-lgc", f"{fault['mhz']},{fault['mhz']}")
    try:
        yield
    finally:
        run("nvidia-smi", "-rgc")


@contextlib.contextmanager
def neighbour(_server, fault):
    """Another process that computes on the card."""
    process = subprocess.Popen([sys.executable, HERE / "embed.py", str(fault["duty"])], stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError("the neighbour did not start")
        yield
    finally:
        process.kill()
        process.wait()


def busy_loop(core, nice=0):
    """A process that keeps a core busy."""
    return subprocess.Popen(["taskset", "-c", str(core), "nice", "-n", str(nice), sys.executable, "-c", "while True: pass"])


def pin(pids, cores):
    """All threads of the processes to these cores. Returns where they were."""
    before = {}
    for pid in pids:
        for task in list(pathlib.Path(f"/proc/{pid}/task").glob("[0-9]*")):
            with contextlib.suppress(OSError):
                before[int(task.name)] = os.sched_getaffinity(int(task.name))
                os.sched_setaffinity(int(task.name), cores)
    return before


@contextlib.contextmanager
def one_core(server, fault):
    """The server on one core, with busy loops beside it; `pinned` false leaves the server where it is."""
    core = fault.get("core", 0)
    before = pin(server.processes(), {core}) if fault.get("pinned", True) else {}
    loops = [busy_loop(core, fault.get("nice", 0)) for _ in range(fault["loops"])]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
        for task, cores in before.items():
            with contextlib.suppress(OSError):
                os.sched_setaffinity(task, cores)


@contextlib.contextmanager
def quota(server, fault):
    """A CPU quota (so many cores) around the server, in control groups of either version."""
    group, limit = next((g, f) for g, f in GROUPS if g.parent.is_dir())
    group.mkdir(exist_ok=True)
    share = str(int(fault["cores"] * 100_000))
    try:
        (group / limit).write_text(share if limit == "cpu.cfs_quota_us" else f"{share} 100000")
        for pid in server.processes():
            (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (group.parent / "cgroup.procs").write_text(pid)
        group.rmdir()


def post(server, path):
    """An empty POST."""
    request = urllib.request.Request(server.base + path, b"", method="POST")
    with urllib.request.urlopen(request, timeout=30) as response:
        response.read()


def stop(server, fault):
    """The engine's process stands still for a while. Returns when, in unix ms."""
    pid = server.engine()
    start = time.time()
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(fault["for"])
    finally:
        os.kill(pid, signal.SIGCONT)
    return start * 1e3, time.time() * 1e3


def pause(server, fault):
    """The engine admits and computes nothing for a while."""
    start = time.time()
    post(server, f"/pause?mode={fault.get('mode', 'abort')}")
    try:
        time.sleep(max(0.0, start + fault["for"] - time.time()))
    finally:
        post(server, "/resume")
    return start * 1e3, time.time() * 1e3


def killed(server, _fault):
    """The worker dies."""
    start = time.time()
    os.kill(server.engine(), signal.SIGKILL)
    return start * 1e3, None


WHOLE = {"clocks": clocks, "neighbour": neighbour, "one-core": one_core, "quota": quota}
TIMED = {"stop": stop, "pause": pause, "killed": killed}
