"""Runs a plan: starts servers, drives loads, makes faults, records with `intriage collect`. It judges nothing.

    runner.py PLAN.json WORK [--intriage BIN] [--seconds S] [--stop-file FILE]

WORK/items/<id>/ gets, of a draw: case/ (what is handed out), client.jsonl, run.json (times); of a control the last two.
What is there already is not run again, so a plan can be run in several calls. No item starts after --seconds, or while
--stop-file does not exist.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import zipfile

import actions
import servers

HERE = pathlib.Path(__file__).resolve().parent
ITEM_S = {"draw": 36.0, "control": 24.0}  # what an item takes at most, to know whether it still fits
START_S = 60.0
EMPTY_LIMIT_S = 6.0


def say(began, text):
    """Progress, with seconds."""
    print(f"[{time.monotonic() - began:6.1f}] {text}", flush=True)


class LogCopy:
    """The log as it would be with this draw alone: the server's start, then what is written from now on."""

    def __init__(self, server, target):
        self.source, self.target, self.done = server.log, target, threading.Event()
        self.at = self.source.stat().st_size
        with self.source.open("rb") as log:
            target.write_bytes(log.read(server.state["ready_at"]))
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        """Copies what is new until told to stop."""
        while not self.done.wait(0.2):
            with self.source.open("rb") as log:
                log.seek(self.at)
                data = log.read()
            data = data[: data.rfind(b"\n") + 1]
            if data:
                with self.target.open("ab") as out:
                    out.write(data)
                self.at += len(data)

    def close(self):
        """Ends the copying."""
        self.done.set()
        self.thread.join()


class Runner:
    """One call."""

    def __init__(self, plan, work, intriage):
        self.plan, self.work, self.intriage = plan, work, intriage
        self.began = time.monotonic()
        self.server, self.config = servers.resume(plan["source"], work / "server.json")
        (work / "items").mkdir(parents=True, exist_ok=True)

    def on_own_core(self, command):
        """On two cores the worker has core 0; clients and collector share the other."""
        return command if self.plan["source"] == "h200" else ["taskset", "-c", "1", *command]

    def start(self, name):
        """A server of a configuration; the one before is ended."""
        if self.server:
            self.server.stop()
        self.server = self.config = None
        kind, config = servers.SOURCES[self.plan["source"]], self.plan["configs"][name]
        number = len(list(self.work.glob("server-*.log")))
        try:
            self.server = kind.start(config, self.work, number)
        except RuntimeError as error:
            say(self.began, f"first try failed: {error}")
            os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"  # the slower, safer way
            self.server = kind.start(config, self.work, number + 1)
        self.config = name
        servers.save(self.server, self.work / "server.json", name)
        say(self.began, f"server {name} is up")

    def load(self, item, folder, seconds):
        """Starts the clients of an item."""
        (folder / "load.json").write_text(json.dumps(item["load"]))
        command = [sys.executable, HERE / "load.py", folder / "load.json", folder / "client.jsonl"]
        command += ["--base", self.server.base, "--model", self.server.model, "--text", item["id"], "--seconds", str(seconds)]
        return subprocess.Popen(self.on_own_core(command))

    def warm_up(self):
        """The first requests of each shape pay for lazy set-up; nobody is measured meanwhile."""
        folder = self.work / "warm"
        folder.mkdir(exist_ok=True)
        gpu = self.plan["source"] == "h200"
        streams = [{"name": "warm", "rate": 12 if gpu else 1, "prompt": 400 if gpu else 40, "answer": 60 if gpu else 16}]
        if gpu:
            streams.append({"name": "long", "rate": 1, "prompt": 4000, "answer": 40})
        seconds = 6 if gpu else 5
        item = {"id": "warm", "load": {"seed": 1, "seconds": seconds, "streams": streams}}
        self.load(item, folder, seconds).wait(timeout=120)
        self.server.wait_until_empty(20)

    def collect(self, draw, folder, log):
        """The recorder with the evidence that this draw gives."""
        command = [self.intriage, "collect", self.server.base, "--window", f"{draw['window']}s", "--interval", "1s"]
        command += ["--save", folder / "case.zip"]
        if "host" in draw["evidence"]:
            command.append("--host")
        if "log" in draw["evidence"]:
            command += ["--log", log]
        if "flags" in draw["evidence"]:
            command += ["--engine-args", " ".join(self.plan["configs"][draw["config"]]["flags"])]
        out = (folder / "collect.txt").open("w")
        return subprocess.Popen(self.on_own_core(command), stdout=out, stderr=out)

    def control(self, item, folder):
        """A load without the fault."""
        began = time.time()
        self.load(item, folder, item["seconds"]).wait(timeout=180)
        window = [(began + item["lead"]) * 1e3, (began + item["seconds"]) * 1e3]
        return {"window_ms": window, "load_at_ms": began * 1e3}

    def draw(self, item, folder):
        """A load with the fault, recorded."""
        log = folder / "server.log"
        copy = LogCopy(self.server, log)
        whole = [f for f in [*item["faults"], item.get("beside")] if f and f["name"] in actions.WHOLE]
        timed = [f for f in item["faults"] if f["name"] in actions.TIMED]
        when = {}
        with contextlib.ExitStack() as stack:
            stack.callback(copy.close)
            for fault in whole:
                stack.enter_context(actions.WHOLE[fault["name"]](self.server, fault))
            began = time.time()
            lead = item["lead"]
            if lead >= 0:
                clients = self.load(item, folder, item["load"]["seconds"])
                time.sleep(lead)
                window = time.time()
                recorder = self.collect(item, folder, log)
            else:
                window = time.time()
                recorder = self.collect(item, folder, log)
                time.sleep(-lead)
                began = time.time()
                clients = self.load(item, folder, item["window"] + lead + 1)
            workers = [threading.Thread(target=self.timed, args=(fault, window, when)) for fault in timed]
            for worker in workers:
                worker.start()
            for fault in item["faults"]:
                if "at" in fault and fault not in timed:  # made by the load
                    when[fault["name"]] = [(window + fault["at"]) * 1e3, (window + fault["at"] + fault["for"]) * 1e3]
            code = recorder.wait(timeout=item["window"] + 40)
            for worker in workers:
                worker.join()
            try:
                clients.wait(timeout=8)
            except subprocess.TimeoutExpired:
                clients.terminate()
                clients.wait(timeout=10)
        result = {"window_ms": [window * 1e3, (window + item["window"]) * 1e3], "load_at_ms": began * 1e3, "when": when}
        return result | {"collect_status": code, "cmdline": self.server.state["cmdline"], "log_bytes": log.stat().st_size}

    def timed(self, fault, window, when):
        """Makes a fault at its time."""
        time.sleep(max(0.0, window + fault["at"] - time.time()))
        try:
            when[fault["name"]] = list(actions.TIMED[fault["name"]](self.server, fault))
        except (OSError, RuntimeError) as error:
            when[fault["name"]] = f"failed: {error}"

    def run(self, item):
        """One item; its folder appears when it is done."""
        partial = self.work / "items" / f".{item['id']}"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        result = self.draw(item, partial) if item["kind"] == "draw" else self.control(item, partial)
        (partial / "run.json").write_text(json.dumps(result))
        if (partial / "case.zip").exists():
            with zipfile.ZipFile(partial / "case.zip") as case:
                case.extractall(partial / "case")
        for name in ("server.log", "case.zip", "case.zip.names.json"):  # what is handed out is in the folder
            (partial / name).unlink(missing_ok=True)
        partial.rename(self.work / "items" / item["id"])
        say(self.began, f"{item['kind']} {item['id']} on {self.config}: {result.get('collect_status', '')} {summary(self.work / 'items' / item['id'])}")

    def ready(self, item):
        """A warm, empty server of the item's configuration."""
        if self.config != item["config"] or not self.server.up() or (item["kind"] == "draw" and item.get("fresh")):
            self.start(item["config"])
            if item.get("warm", True):
                self.warm_up()
        elif not self.server.wait_until_empty(EMPTY_LIMIT_S):
            say(self.began, "requests of the item before are still there")

    def go(self, seconds, stop_file):
        """Runs what fits."""
        broken = set()
        for item in self.plan["items"]:
            if (self.work / "items" / item["id"]).exists() or item["config"] in broken:
                continue
            need = ITEM_S[item["kind"]] + (START_S if item["config"] != self.config else 0)
            if seconds and time.monotonic() - self.began + need > seconds:
                say(self.began, f"no time for {item['id']}")
                return False
            if stop_file and not stop_file.exists():
                say(self.began, f"{stop_file} is gone")
                return False
            try:
                self.ready(item)
                self.run(item)
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                say(self.began, f"{item['kind']} {item['id']} on {item['config']} failed: {error}")
                if self.server is None:
                    broken.add(item["config"])
            if item.get("last") and self.server:
                self.server.stop()
                self.server = self.config = None
        return True


def summary(folder):
    """One line of what the clients saw, to notice a broken run. No verdict."""
    lines = [json.loads(line) for line in (folder / "client.jsonl").read_text().splitlines()]
    records = [line for line in lines if "run" not in line]
    waits = sorted(r["first"] - r["sent"] for r in records if r["first"])
    tokens = sorted((r["last"] - r["first"]) / (r["output_tokens"] - 1) for r in records if r["first"] and (r["output_tokens"] or 0) > 8)
    bad = sum(r["error"] not in (None, "open", "left") for r in records)
    middle = lambda values: f"{values[len(values) // 2]:.1f}" if values else "-"
    high = lambda values: f"{values[int(0.95 * len(values))]:.1f}" if values else "-"
    return f"n={len(records)} bad={bad} ttft {middle(waits)}/{high(waits)} tpot {middle(tokens)}/{high(tokens)} ms"


def main():
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--intriage", type=pathlib.Path, default=pathlib.Path("intriage"))
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--stop-file", type=pathlib.Path)
    parser.add_argument("--keep-server", action="store_true", help="leave the server running for the next call")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    runner = Runner(json.loads(args.plan.read_text()), args.work.resolve(), args.intriage.resolve())
    try:
        done = runner.go(args.seconds, args.stop_file)
    finally:
        if runner.server and not args.keep_server:
            runner.server.stop()
    say(runner.began, "all done" if done else "more to do")
    os._exit(0)


if __name__ == "__main__":
    main()
