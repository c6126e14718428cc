"""Live tests of `intriage check --via`: a real vLLM behind a real nginx, with the fault and without it.

    lab/path --intriage PATH [--keep]

The last line is `N passed, N failed`; the exit status is 1 when anything failed.
"""

import json
import subprocess
import sys
import time
import urllib.request

from labkit.live import Tally, main, named
from labkit.server import LabError, Server

PORT, HOP_PORT = 8437, 8438
HOP = f"http://127.0.0.1:{HOP_PORT}"
WINDOW_S = 30
TIME_LIMIT_S = WINDOW_S + 120
CAUSE = "proxy-response-buffering"

# As people write it: packing switched on for everything that is text, buffering left as it is by default. nginx passes
# vLLM's chunks on at once as long as it does not pack them; the packer waits for a full block or the end, unless
# buffering is off. Only clients that accept gzip get it, and every client library does.
CONFIG = """
worker_processes 1;
pid {work}/nginx.pid;
error_log {work}/nginx.log;
events {{ worker_connections 768; }}
http {{
    access_log off;
    {temporary}
    gzip on;
    gzip_proxied any;
    gzip_types text/plain application/json text/event-stream;
    upstream vllm {{ server 127.0.0.1:{port}; }}
    server {{
        listen 127.0.0.1:{hop_port};
        location / {{
            proxy_pass http://vllm;
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_read_timeout 300s;
            proxy_buffering {buffering};
        }}
    }}
}}
"""
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Nginx:
    """A running nginx with a configuration of its own."""

    def __init__(self, work):
        self.work, self.config = work, work / "nginx.conf"
        self.pid_file = work / "nginx.pid"

    def serve(self, buffering):
        """Starts it, or lets it read its configuration again, and waits until it answers."""
        temporary = " ".join(f"{name}_temp_path {self.work}/{name};" for name in TEMPORARY)
        text = CONFIG.format(work=self.work, temporary=temporary, port=PORT, hop_port=HOP_PORT, buffering=buffering)
        self.config.write_text(text)
        self.call("-s", "reload") if self.pid_file.exists() else self.call()
        # Old workers serve on for a moment after a reload.
        time.sleep(2)
        with urllib.request.urlopen(f"{HOP}/health", timeout=10) as answer:
            if answer.status != 200:
                raise LabError(f"nginx answers {answer.status}")

    def call(self, *arguments):
        """nginx with this configuration."""
        command = ["nginx", "-c", self.config, "-e", self.work / "nginx.log", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"nginx {' '.join(arguments)} failed: {done.stderr}")

    def stop(self):
        """Ends it and waits until it is gone."""
        if not self.pid_file.exists():
            return
        self.call("-s", "quit")
        end = time.monotonic() + 20
        while self.pid_file.exists():
            if time.monotonic() > end:
                raise LabError("nginx does not end")
            time.sleep(0.1)


def check(binary, work, name):
    """One check through the hop: its verdict, its exit code, and the case it saved."""
    case = work / f"{name}.case"
    case.unlink(missing_ok=True)
    case.with_name(f"{case.name}.names.json").unlink(missing_ok=True)
    command = [binary, "check", f"http://127.0.0.1:{PORT}", "--via", HOP, "--window", f"{WINDOW_S}s"]
    command += ["--save", case, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    if "panicked at" in done.stderr or done.returncode not in (0, 1, 3):
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    again = subprocess.run([binary, "check", case, "--format", "json"], capture_output=True, text=True, check=False)
    report, saved = json.loads(done.stdout), json.loads(again.stdout)
    return report, saved, done.returncode


def faults_with(report, saved, code):
    """What is wrong with a verdict about a hop that holds answers back."""
    if named(report) != CAUSE or code != 1:
        yield f"primary {named(report)}, exit {code}, not {CAUSE} and 1"
    elif HOP not in report["verdict"]["answer"]:
        yield f"the answer does not name {HOP}: {report['verdict']['answer']}"
    if named(saved) != named(report):
        yield f"the saved case says {named(saved)}"


def faults_without(report, saved, code):
    """What is wrong with a verdict about a hop that lets answers flow."""
    if any(f["cause"] == CAUSE for f in report["findings"]):
        yield f"{CAUSE} is still found"
    if not any(r["cause"] == CAUSE for r in report["ruled_out"]):
        yield f"{CAUSE} is not ruled out"
    if named(report) is not None or code != 0:
        yield f"primary {named(report)}, exit {code}, with nothing wrong"
    if named(saved) != named(report):
        yield f"the saved case says {named(saved)}"


RUNS = (("buffering-on", "on", faults_with), ("buffering-off", "off", faults_without))


def run(binary, work):
    """Both runs."""
    tally, server, nginx = Tally(), Server(work / "vllm.log", PORT), Nginx(work)
    try:
        server.warm_up()
        for name, buffering, faults in RUNS:
            nginx.serve(buffering)
            server.wait_until_empty()
            kept = {}

            def attempt(name=name, kept=kept):
                report, kept["saved"], kept["code"] = check(binary, work, name)
                return report

            tally.judge(name, server, attempt, lambda r, faults=faults, kept=kept: faults(r, **kept))
    finally:
        try:
            nginx.stop()
        finally:
            server.stop()
    return tally


if __name__ == "__main__":
    sys.exit(main(__doc__, "path", run))
