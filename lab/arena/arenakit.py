"""One run of one tool in one cell: server up, client run, both watched, log judged."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import judge
import peers
from watch import Watch

HERE = pathlib.Path(__file__).resolve().parent
RR_SLICE = pathlib.Path("/proc/sys/kernel/sched_rr_timeslice_ms")
SLICE = "4"  # ms: processes of one client take turns as often as on an idle core

# Python clients must not ask the hub, and must not report home.
OFFLINE = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false", "DO_NOT_TRACK": "1", "VLLM_NO_USAGE_STATS": "1", "NO_COLOR": "1",
}


class Arena:
    """Where runs happen: which core is whose, and how they are scheduled."""

    def __init__(self, intriage, client_core, server_core, real_time, folder, tokenizer, huggingface):
        self.intriage, self.real_time = intriage, real_time
        self.client_core, self.server_core = client_core, server_core
        self.folder, self.tokenizer = folder, tokenizer
        self.environment = os.environ | OFFLINE | {"HF_HOME": str(huggingface)}

    def on_client_core(self):
        return [*(["chrt", "--rr", "1"] if self.real_time else []), "taskset", "-c", str(self.client_core)]

    def on_server_core(self):
        return [*(["chrt", "--fifo", "2"] if self.real_time else []), "taskset", "-c", str(self.server_core)]

    @contextlib.contextmanager
    def scheduled(self):
        """This process beside the server, and below it: it must not delay tokens."""
        # Whoever ends us shall not keep the client running, nor the slice below.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        os.sched_setaffinity(0, {self.server_core})
        if not self.real_time:
            yield
            return
        before = RR_SLICE.read_text().strip()
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        try:
            RR_SLICE.write_text(SLICE)
            yield
        finally:
            RR_SLICE.write_text(before)

    @contextlib.contextmanager
    def server(self, keys):
        """A fresh ground-truth server: its process and its URL."""
        command = [*self.on_server_core(), self.intriage, "simulate", "--ground-truth", "--port", "0", "--schedule",
                   f"{keys},model={peers.MODEL}"]
        with open(self.folder / "server.log", "wb") as log:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        try:
            url = child.stdout.readline().strip()
            if not url.startswith("http://"):
                raise SystemExit(f"no ground-truth server: {(self.folder / 'server.log').read_text()}")
            yield child, url
        finally:
            child.send_signal(signal.SIGINT)
            child.wait()

    @contextlib.contextmanager
    def busy(self, shares):
        """Loops that take the client's core away, with the client's own priority."""
        loops = [subprocess.Popen([*self.on_client_core(), sys.executable, HERE / "busy.py", str(share)]) for share in shares]
        try:
            yield
        finally:
            for loop in loops:
                loop.terminate()
                loop.wait()

    def run(self, tool, cell, timeout, keep=False):
        """One run, as a row of the results."""
        asked = cell.requests[tool.speed]
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{tool.name}-{cell.name}-", dir=self.folder))
        with self.server(cell.server) as (server, url), self.busy(cell.busy):
            command = [*self.on_client_core(), str(tool.program), *tool.command(cell, asked, folder, url, self.tokenizer)]
            (folder / "command.json").write_text(json.dumps(command))
            with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
                begin = time.monotonic_ns()
                child = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=folder,
                                         env=self.environment, start_new_session=True)
                watch = Watch(child.pid, server.pid, {self.client_core, self.server_core})
                watch.start()
                status, usage, timed_out = wait(child, begin + timeout * 1e9)
                end = time.monotonic_ns()
                watch.stop()
            with urllib.request.urlopen(f"{url}/truth/log") as page:
                log = [json.loads(line) for line in page]
        row = {"cell": cell.name, "tool": tool.name, "version": tool.version(), "when": time.time(), "asked": asked,
               "status": status, "timed_out": timed_out, "real_time": self.real_time, "wall": (end - begin) / 1e9}
        try:
            row["said"] = tool.said(cell, folder)
        except (OSError, ValueError, KeyError, TypeError, IndexError) as why:
            # A tool that says nothing is a finding.
            row["said"], row["why"] = {}, f"{type(why).__name__}: {why}; {tail(folder)}"
        row["truth"] = judge.truth(log, cell, asked, tool.interpolates)
        row["cost"] = cost(row["truth"], watch, usage, begin)
        if not keep and status == 0 and row["said"]:
            shutil.rmtree(folder)
        else:
            row["folder"] = str(folder)
        return row


def wait(child, deadline):
    """Waits for a process; one that takes too long, or outlives us, is killed with its session."""
    timed_out = False
    try:
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                child.returncode = os.waitstatus_to_exitcode(status)
                return child.returncode, usage, timed_out
            if not timed_out and time.monotonic_ns() > deadline:
                timed_out = True
                kill_session(child)
            time.sleep(0.01)
    finally:
        if child.returncode is None:
            kill_session(child)


def kill_session(child):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def cost(truth, watch, usage, begin):
    """What the run cost, in seconds and bytes."""
    seen = max((sample[1] for sample in watch.samples), default=0.0)
    found = {"cpu": max(seen, usage.ru_utime + usage.ru_stime), "processes": watch.processes,
             "memory": watch.peak_memory}
    if not truth:
        return found
    found["start"] = (truth["begin"] - begin) / 1e9
    found["cpu_per_million_tokens"] = found["cpu"] / max(1, truth["tokens"]) * 1e6
    used = watch.between(truth["begin"], truth["end"])
    if used:
        client, server, cores = used
        span = (truth["end"] - truth["begin"]) / 1e9
        found |= {"load_cpu_per_million_tokens": client / max(1, truth["tokens"]) * 1e6, "client": client / span,
                  "server": server / span, "foreign": max(0.0, cores - client - server) / span / len(watch.cores)}
    return found


def tail(folder):
    text = "".join((folder / name).read_text(errors="replace")[-600:] for name in ("stdout", "stderr"))
    return " ".join(text.split())[-900:]
