"""Live tests: real vLLM, real faults, and what `intriage check` says about them.

    lab/test --intriage PATH [--suite live|recordings] [--only NAME]… [--keep] [--record DIR]
    lab/test --record-only --record DIR --suite recordings [--only NAME]…

The last line is `N passed, N failed`; the exit status is 1 when anything failed. See lab/README.md.
"""

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from labkit import badhttp
from labkit.pulse import Pulse
from labkit.recorder import Recorder
from labkit.scenario import EXIT_BY_STATUS, SETTLE_S, BadEndpoint, Check, Load, Scenario, Truth
from labkit.server import (
    LAB,
    PYTHON,
    LabError,
    Server,
    burst_of_30,
    freeze_worker_8s,
    kill_worker,
    pause_engine_8s,
    ten_more,
)
from recordings import RECORDINGS

CHAT = Load(("chat:prompt=60,max=64",), clients=3)

# Scenarios beside each other with the same flags share a server: a start takes 30 to 60 s.
LIVE = (
    Scenario(
        "idle",
        Truth("nobody asks anything", "cannot_tell", accept=("healthy",)),
        window=10,
        says=r"nothing|idle|no request",
    ),
    Scenario("healthy", Truth("three clients, short prompts", "healthy"), load=CHAT, window=40),
    Scenario(
        "frozen8",
        Truth("the worker stands still for 8 s in the middle of the window", cause="engine-stalled-not-admitting"),
        load=CHAT,
        window=35,
        fault=freeze_worker_8s,
        fault_at=12,
        says=r"from \d\d:\d\d:\d\d, for \d.* no token was produced",
    ),
    Scenario(
        "burst",
        Truth("thirty requests at once beside two clients", cause="burst-arrival-transient"),
        load=Load(("chat:prompt=30,max=24",), clients=1),
        window=45,
        fault=burst_of_30,
        fault_at=12,
        says=r"at \d\d:\d\d:\d\d, \d+ requests came within",
    ),
    Scenario(
        "killed",
        Truth("the worker is killed in the middle of the window", cause="engine-crash-5xx"),
        load=CHAT,
        window=25,
        fault=kill_worker,
        checks=(Check("url"), Check("log", ("--log", "{log}"))),
    ),
    Scenario(
        "maxseqs2",
        Truth("two sequence slots for 16 clients", cause="max-num-seqs-limited-queue"),
        flags=("--max-num-seqs", "2"),
        load=Load(("small:prompt=40,max=64",), clients=16),
        window=30,
        checks=(Check("url"), Check("args", ("--engine-args", "--max-num-seqs 2"))),
    ),
    Scenario(
        "latecap",
        Truth(
            "two sequence slots that bind only in the second half of the window",
            cause="max-num-seqs-limited-queue",
            accept=("burst-arrival-transient",),
        ),
        flags=("--max-num-seqs", "2"),
        load=Load(("chat:prompt=30,max=24",), clients=1),
        window=45,
        fault=ten_more,
        fault_at=20,
        checks=(Check("args", ("--engine-args", "--max-num-seqs 2")),),
        says=r"from \d\d:\d\d:\d\d.* requests waited",
    ),
    Scenario(
        "paused8",
        Truth("the engine is paused for 8 s in the middle of the window", cause="engine-stalled-not-admitting"),
        env=(("VLLM_SERVER_DEV_MODE", "1"),),
        load=CHAT,
        window=35,
        fault=pause_engine_8s,
        fault_at=12,
        says=r"from \d\d:\d\d:\d\d, for \d.* no token was produced",
    ),
    Scenario(
        "kvsmall",
        Truth(
            "14 KV blocks for 10 clients that grow to ~600 tokens",
            cause="preemption-thrash",
            accept=("kv-capacity-limited-queue",),
        ),
        flags=("--num-gpu-blocks-override", "14", "--max-model-len", "1024"),
        load=Load(("grow:prompt=150,max=380,ignore_eos=1",), clients=10),
        window=40,
    ),
)

# These must end with exit code 4 or 3, a word on standard error, and no panic.
BAD_ENDPOINTS = (
    BadEndpoint("wrongport", "nobody listens", badhttp.wrong_port),
    BadEndpoint("notmetrics", "a web page", badhttp.not_metrics),
    BadEndpoint("unauthorized", "401 to everything", badhttp.unauthorized),
    BadEndpoint("hang", "accepts and never answers", badhttp.hang),
    BadEndpoint("endless", "a body without end", badhttp.endless),
)

CHECK_GRACE_S = 30  # what `check` may take beyond its window
MEMORY_LIMIT = 4 << 30  # bytes of address space for `check`: an unbounded read fails here, not the machine
BEGAN = time.monotonic()


def say(text):
    """A progress line with the time of day and the time since the start."""
    minutes, seconds = divmod(int(time.monotonic() - BEGAN), 60)
    print(f"[{time.strftime('%H:%M:%S')} +{minutes}:{seconds:02}] {text}", flush=True)


def pinned(command):
    """The command on core 1: the engine's worker sits on core 0."""
    prefix = ["taskset", "-c", "1"] if (os.cpu_count() or 1) > 1 else []
    return [*prefix, *map(str, command)]


@dataclasses.dataclass
class Run:
    """One finished `intriage check`."""

    code: int | None  # None: it was still running at its limit
    stdout: str
    stderr: str
    seconds: float

    def report(self):
        """The parsed output; raises ValueError."""
        return json.loads(self.stdout)

    def transcript(self):
        """All of it, for a failure."""
        try:
            verdict = json.dumps(self.report(), indent=1)
        except ValueError:
            verdict = self.stdout
        return f"--- stdout\n{verdict}\n--- stderr\n{self.stderr[-4000:]}\n---"


def waited_for_cpu(pid):
    """Seconds in which the threads of a process were ready to run and had no CPU; 0 where the kernel does not tell."""
    try:
        tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[1]) for task in tasks) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def threads(pid):
    """Name, state and what each thread of a process waits for in the kernel."""
    told = []
    for folder in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            told.append(f"{name} {rest.split()[0]} {(folder / 'wchan').read_text()}")
        except OSError:
            continue
    return "; ".join(told)


class CheckProcess:
    """A running `intriage check`."""

    def __init__(self, binary, port, window, extra, limit, work):
        url = f"http://127.0.0.1:{port}"
        command = [binary, "check", url, "--interval", "1s", "--window", f"{window}s", "--format", "json", *extra]
        self.limit, self.began = limit, time.monotonic()
        self.files = [tempfile.TemporaryFile("w+", dir=work) for _ in range(2)]
        self.process = subprocess.Popen(
            ["prlimit", f"--as={MEMORY_LIMIT}", *pinned(command)],
            stdin=subprocess.DEVNULL,
            stdout=self.files[0],
            stderr=self.files[1],
        )

    def finish(self):
        """Waits up to the limit; a process that goes on is killed."""
        left = self.began + self.limit - time.monotonic()
        try:
            try:
                code = self.process.wait(max(0.0, left))
            except subprocess.TimeoutExpired:
                # Everything but the worker runs on core 1: who got no CPU there for so long is given as much time again.
                waited = waited_for_cpu(self.process.pid)
                if waited < CHECK_GRACE_S / 3:
                    raise
                say(f"check waited {waited:.0f} s for a CPU: it gets {CHECK_GRACE_S} s more")
                code = self.process.wait(CHECK_GRACE_S)
        except subprocess.TimeoutExpired:
            say("check is still running: " + threads(self.process.pid))
            self.process.kill()
            self.process.wait()
            code = None
        seconds = time.monotonic() - self.began
        texts = []
        for file in self.files:
            file.seek(0)
            texts.append(file.read())
            file.close()
        return Run(code, *texts, seconds)


def strings(value):
    """Every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def common_faults(run, limit):
    """What is wrong with a run whatever the scenario."""
    if run.code is None:
        yield f"still running after {limit} s"
    if "panicked at" in run.stdout + run.stderr:
        yield "it panicked"


def judge_verdict(run, scenario, limit):
    """The list of reasons why the run is wrong for the scenario; empty for a pass."""
    reasons = list(common_faults(run, limit))
    truth = scenario.truth
    if run.code not in truth.exits():
        reasons.append(f"exit code {run.code}, not {sorted(truth.exits())}")
    try:
        report = run.report()
        verdict = report["verdict"]
        status = verdict["status"]
        cause = (verdict.get("primary") or {}).get("cause")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return [*reasons, f"the output is not a verdict: {type(error).__name__}: {error}"]
    if run.code != EXIT_BY_STATUS.get(status):
        reasons.append(f"exit code {run.code} does not belong to status {status}")
    if status not in truth.statuses():
        reasons.append(f"status {status}, not {sorted(truth.statuses())}")
    # With nothing wrong the primary must be empty; for a finding it must be a right one.
    if cause not in truth.causes():
        reasons.append(f"primary cause {cause}, not {sorted(map(str, truth.causes()))}")
    texts = [*strings(verdict), *strings(report.get("timeline")), *strings(report.get("notes"))]
    if scenario.says and not any(re.search(scenario.says, text, re.IGNORECASE) for text in texts):
        reasons.append(f"no text of the verdict or the notes matches {scenario.says!r}")
    return reasons


def judge_bad_endpoint(run, endpoint):
    """The list of reasons why the run is wrong for an address that is no engine."""
    reasons = list(common_faults(run, endpoint.limit))
    if run.code not in (3, 4):
        reasons.append(f"exit code {run.code}, not 3 or 4")
    if not run.stderr.strip():
        reasons.append("nothing on standard error")
    return reasons


class LoadProcess:
    """load.py in the background; without a load it does nothing."""

    def __init__(self, load, port, seconds, work):
        self.process = None
        if load:
            self.output = tempfile.TemporaryFile("w+", dir=work)
            command = pinned([PYTHON, LAB / "load.py", *load.argv(port, seconds)])
            self.process = subprocess.Popen(command, stdout=self.output)
            time.sleep(SETTLE_S)
            if self.process.poll() is not None:
                raise LabError(f"load.py ended at once with {self.process.returncode}")

    def finish(self):
        """Stops the load and returns its summary."""
        if not self.process:
            return None
        self.process.terminate()
        self.process.wait(30)
        self.output.seek(0)
        return json.load(self.output)


class FaultTimer(threading.Thread):
    """Does the scenario's harm at its time; without a fault it does nothing."""

    def __init__(self, scenario, server):
        super().__init__(daemon=True)
        self.scenario, self.server = scenario, server
        self.called_off = threading.Event()
        self.error = None
        if scenario.fault:
            self.start()

    def run(self):
        """Waits, then strikes."""
        if self.called_off.wait(self.scenario.fault_at):
            return
        say(f"{self.scenario.name}: {self.scenario.fault.__name__}")
        try:
            self.scenario.fault(self.server)
        except (LabError, OSError) as error:
            self.error = error

    def finish(self):
        """Raises when the harm was not done."""
        self.called_off.set()
        if self.is_alive():
            self.join()
        if self.error:
            raise LabError(f"{self.scenario.fault.__name__} failed: {self.error}")


class Suite:
    """Runs scenarios one after the other and counts."""

    def __init__(self, args, work):
        self.args, self.work = args, work
        self.server, self.server_key = None, None
        self.passed = self.failed = 0

    def result(self, name, reasons, run=None):
        """Counts and prints one result."""
        took = f" ({run.seconds:.1f} s)" if run else ""
        if not reasons:
            self.passed += 1
            say(f"PASS {name}{took}")
            return
        self.failed += 1
        say(f"FAIL {name}{took}: " + "; ".join(reasons))
        if run:
            print(run.transcript(), flush=True)

    def server_for(self, scenario):
        """The running server if it fits, else a new one."""
        same = self.server and not scenario.fresh and self.server_key == scenario.server_key()
        if same and self.server.alive():
            self.server.wait_until_empty()
            return self.server
        self.stop_server()
        say(f"starting vLLM {' '.join(scenario.flags)}")
        began = time.monotonic()
        log = self.work / f"{scenario.name}.log"
        self.server = Server(log, self.args.port, scenario.flags, scenario.env, scenario.wrong_eos)
        self.server_key = scenario.server_key()
        answer = self.server.warm_up()
        say(f"ready after {time.monotonic() - began:.0f} s; 2 plus 3: {answer[:40]!r}")
        return self.server

    def stop_server(self):
        """Ends the running server, if any."""
        if self.server:
            server, self.server = self.server, None
            server.stop()

    def run_scenario(self, scenario):
        """One scenario on a live server: load, window, fault. Returns (name, reasons against it, run) of each verdict."""
        server = self.server_for(scenario)
        say(f"{scenario.name}: {scenario.truth.what}; window {scenario.window} s")
        recorder = None
        if self.args.record:
            recorder = Recorder(self.args.record / scenario.name, server, scenario, self.args.every)
        load = LoadProcess(scenario.load, server.port, SETTLE_S + scenario.window + CHECK_GRACE_S, self.work)
        try:
            if recorder:
                recorder.start()
            fault = FaultTimer(scenario, server)
            runs = self.watch(scenario, server)
            if recorder:
                recorder.finish()
        finally:
            summary = load.finish()
        fault.finish()
        if summary:
            brief = {k: v for k, v in summary.items() if k != "classes"}
            say(f"{scenario.name}: clients saw {json.dumps(brief)}")
        if recorder:
            recorder.label(summary)
        if scenario.fault:
            self.stop_server()
        if self.args.record_only:
            return [(scenario.name, self.recording_faults(scenario), None)]
        limit = scenario.window + CHECK_GRACE_S
        return [(f"{scenario.name}/{check.label}", judge_verdict(run, scenario, limit), run) for check, run in runs]

    def try_scenario(self, scenario):
        """The same; what broke the lab is a reason, too."""
        try:
            return self.run_scenario(scenario)
        except (LabError, OSError, subprocess.SubprocessError, ValueError) as error:
            self.stop_server()
            return [(scenario.name, [f"the lab failed: {type(error).__name__}: {error}"], None)]

    def judge_scenario(self, scenario):
        """Counts what came of a scenario. A failure is tried again (labkit.pulse says how often), and that is told."""
        for tries in itertools.count(1):
            with Pulse() as pulse:
                results = self.try_scenario(scenario)
            failed = "; ".join(reason for _, reasons, _ in results for reason in reasons)
            if not failed or not pulse.again(tries):
                break
            say(f"again {scenario.name} (the machine stood still for {pulse.longest:.1f} s): {failed}")
            for _, _, run in results:
                print(run.transcript() if run else "", flush=True)
            self.stop_server()
            if self.args.record:
                shutil.rmtree(self.args.record / scenario.name, ignore_errors=True)
        for result in results:
            self.result(*result)

    def watch(self, scenario, server):
        """Runs the checks side by side over the window, or only waits when there is no binary to test."""
        if self.args.record_only:
            time.sleep(scenario.window)
            return []
        limit = scenario.window + CHECK_GRACE_S
        started = []
        for check in scenario.checks:
            extra = [word.replace("{log}", str(server.log)) for word in check.args]
            started.append(CheckProcess(self.args.intriage, server.port, scenario.window, extra, limit, self.work))
        return [(check, process.finish()) for check, process in zip(scenario.checks, started, strict=True)]

    def recording_faults(self, scenario):
        """Whether a recording holds what it should."""
        metrics = self.args.record / scenario.name / "metrics"
        scrapes = list(metrics.glob("*.txt"))
        wanted = (scenario.fault_at if scenario.fault else scenario.window) // self.args.every
        return [] if len(scrapes) >= max(2, wanted - 1) else [f"only {len(scrapes)} scrapes"]

    def run_bad_endpoint(self, endpoint):
        """`check` against an address that is no engine."""
        with endpoint.serve() as port:
            say(f"{endpoint.name}: {endpoint.what}")
            process = CheckProcess(self.args.intriage, port, endpoint.window, (), endpoint.limit, self.work)
            run = process.finish()
        self.result(endpoint.name, judge_bad_endpoint(run, endpoint), run)

    def run(self, scenarios, endpoints):
        """Everything; a broken lab fails its scenario and the rest goes on."""
        try:
            for endpoint in endpoints:
                self.run_bad_endpoint(endpoint)
            for scenario in scenarios:
                self.judge_scenario(scenario)
        finally:
            self.stop_server()


def parse_args(argv):
    """The command line, checked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intriage", type=pathlib.Path, help="the binary to test")
    parser.add_argument("--suite", choices=("live", "recordings"), default="live")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this scenario; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the scenarios and end")
    parser.add_argument("--keep", action="store_true", help="keep the server logs even when all passes")
    parser.add_argument("--record", type=pathlib.Path, metavar="DIR", help="save every scenario as a recording too")
    parser.add_argument("--record-only", action="store_true", help="no verdicts, only recordings")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between the recorder's scrapes (5)")
    parser.add_argument("--port", type=int, default=int(os.environ.get("LAB_PORT", "8000")))
    args = parser.parse_args(argv)
    if args.list:
        return args
    if args.record_only and not args.record:
        parser.error("--record-only needs --record DIR")
    if args.record_only == bool(args.intriage):
        parser.error("give either --intriage PATH or --record-only")
    if args.intriage:
        args.intriage = args.intriage.resolve()
        if not os.access(args.intriage, os.X_OK):
            parser.error(f"{args.intriage} is not a program")
    if args.record:
        args.record = args.record.resolve()
    return args


def select(args):
    """The scenarios and bad endpoints to run; ends the program on an unknown name."""
    live = args.suite == "live"
    scenarios = LIVE if live else RECORDINGS
    endpoints = BAD_ENDPOINTS if live and not args.record_only else ()
    names = {item.name for item in (*scenarios, *endpoints)}
    if unknown := set(args.only) - names:
        raise SystemExit(f"lab/test: no scenario {', '.join(sorted(unknown))} in suite {args.suite}; see --list")
    wanted = set(args.only) or names
    return [s for s in scenarios if s.name in wanted], [e for e in endpoints if e.name in wanted]


def print_list():
    """All scenarios of both suites."""
    for suite, items in (("live", (*BAD_ENDPOINTS, *LIVE)), ("recordings", RECORDINGS)):
        for item in items:
            what = item.what if isinstance(item, BadEndpoint) else item.truth.what
            print(f"{suite:<11} {item.name:<16} {what}")


def main():
    """Command line entry; returns the exit status."""
    args = parse_args(sys.argv[1:])
    if args.list:
        print_list()
        return 0
    scenarios, endpoints = select(args)
    work = pathlib.Path(tempfile.mkdtemp(prefix="intriage-lab-"))
    suite = Suite(args, work)
    suite.run(scenarios, endpoints)
    if args.keep or suite.failed:
        say(f"logs are in {work}")
    else:
        shutil.rmtree(work)
    print(f"{suite.passed} passed, {suite.failed} failed", flush=True)
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
