"""Real servers that draws are run on: vLLM of the lab on the CPU, one on a GPU machine without network, and llama.cpp."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PORT = int(os.environ.get("LAB_PORT", "8000"))
BUSY = re.compile(r"^(?:vllm:num_requests_(?:running|waiting)\{[^}]*\}|llamacpp:requests_(?:processing|deferred)) ([0-9.e+]+)$", re.MULTILINE)


def session_processes(session):
    """{pid: command} of all live processes of a session: a server is one, with its orphans."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            state, _, _, sid = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if int(sid) == session and state != "Z":
            found[int(folder.name)] = command
    return found


class Server:
    """A running server. `state` survives the program that started it, so that a later one can go on with it."""

    base = f"http://127.0.0.1:{PORT}"
    model = ""
    engine_title = "VLLM::EngineCore"
    start_limit_s = 60

    def __init__(self, state):
        self.state = state

    @property
    def log(self):
        """The server's log."""
        return pathlib.Path(self.state["log"])

    def get(self, path, timeout=5):
        """The body of a GET; raises OSError."""
        with urllib.request.urlopen(self.base + path, timeout=timeout) as response:
            return response.read().decode(errors="replace")

    def up(self):
        """Whether /health answers 200."""
        try:
            self.get("/health")
        except (OSError, ValueError):
            return False
        return True

    def when_up(self, process):
        """Waits for /health; raises RuntimeError with the log's end."""
        end = time.monotonic() + self.start_limit_s
        while not self.up():
            if process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise RuntimeError("no server: " + self.log.read_text(errors="replace")[-3000:])
            time.sleep(0.25)
        self.state["ready_at"] = self.log.stat().st_size
        return self

    def processes(self):
        """{pid: command}."""
        return session_processes(self.state["pid"])

    def engine(self):
        """The process that computes."""
        for pid, command in self.processes().items():
            if command.startswith(self.engine_title):
                return pid
        raise RuntimeError(f"no {self.engine_title} process")

    def wait_until_empty(self, limit):
        """Waits until no request of an earlier load is left."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            try:
                if not any(float(n) for n in BUSY.findall(self.get("/metrics"))):
                    return True
            except (OSError, ValueError):
                return False
            time.sleep(0.25)
        return False


class GpuServer(Server):
    """vLLM on a GPU, a made-up model."""

    model = "l8b"
    start_limit_s = 170

    @classmethod
    def start(cls, config, work, number):
        """Starts a server and waits for it; raises RuntimeError with the log's end."""
        log = work / f"server-{number}.log"
        command = [sys.executable, str(HERE / "bin/vllm"), "serve", "l8b", "--served-model-name", "l8b", "--load-format", "dummy"]
        command += ["--host", "127.0.0.1", "--port", str(PORT), *config["flags"]]
        # No FlashInfer sampler: it would be compiled for 90 s. Fork: the engine need not import everything again.
        env = os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
        env |= {"VLLM_USE_FLASHINFER_SAMPLER": "0", **config.get("env", {})}
        env.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "fork")
        with log.open("w") as out:
            process = subprocess.Popen(
                command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=work.parent, env=env, start_new_session=True
            )
        server = cls({"pid": process.pid, "log": str(log), "cmdline": " ".join(command), "ready_at": 0})
        return server.when_up(process)

    def stop(self):
        """Ends every process of the server and waits for the card's memory."""
        for _ in range(40):
            left = self.processes()
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.25)
        query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        for _ in range(20):
            used = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split()
            if not used or int(used[0]) < 3000:
                return
            time.sleep(0.5)


class CpuServer(Server):
    """The lab's vLLM on the CPU."""

    model = "smollm2-135m"
    engine_title = "VLLM::Worker"

    @classmethod
    def start(cls, config, work, number):
        """Starts a server by lab/serve."""
        log = work / f"server-{number}.log"
        env = os.environ | {"LAB_PORT": str(PORT), **config.get("env", {})}
        if config.get("wrong_eos"):
            env["LAB_MODEL"] = str(wrong_eos_model())
        # To a file: a pipe would stay open in the server and never end.
        answer = log.with_suffix(".start")
        with answer.open("w") as out:
            code = subprocess.run(
                [HERE.parent / "serve", "--background", log, *config["flags"]], env=env, stdout=out, stderr=out, check=False
            ).returncode
        if code != 0:
            raise RuntimeError("no server: " + answer.read_text()[-3000:])
        pid = int(answer.read_text().split()[-1])
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")
        cmdline = " ".join(["vllm", *words[words.index("serve") :]])
        return cls({"pid": pid, "log": str(log), "cmdline": cmdline, "ready_at": log.stat().st_size})

    def stop(self):
        """Ends everything by lab/stop."""
        subprocess.run([HERE.parent / "stop", f"{self.log}.pid"], check=False, stdout=subprocess.DEVNULL)


class LlamaServer(Server):
    """llama.cpp's llama-server, built into $TB/llama."""

    model = "smollm2-135m"
    engine_title = "llama-server"

    @classmethod
    def start(cls, config, work, number):
        """Starts a server and waits for it."""
        top = pathlib.Path(os.environ.get("TB", "~/tb")).expanduser()
        model = next((top / "models/gguf").glob("*.gguf"))
        log = work / f"server-{number}.log"
        command = ["llama-server", "-m", str(model), "--alias", cls.model, "--host", "127.0.0.1", "--port", str(PORT), "--metrics", *config["flags"]]
        with log.open("w") as out:
            process = subprocess.Popen(
                command, executable=top / "llama/bin/llama-server", stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True
            )
        server = cls({"pid": process.pid, "log": str(log), "cmdline": " ".join(command), "ready_at": 0})
        return server.when_up(process)

    def stop(self):
        """Ends the server and waits for its port."""
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        for _ in range(40):
            if not self.processes():
                return
            time.sleep(0.25)


def wrong_eos_model():
    """A copy of the model that names the wrong end token, under a name that does not tell."""
    top = pathlib.Path(os.environ.get("TB", "~/tb")).expanduser()
    target = top / "models/smollm2-135m-copy"
    if not (target / "config.json").exists():
        subprocess.run([top / "vllm/bin/python", HERE.parent / "wrong_eos.py", top / "models/smollm2-135m", target], check=True)
    return target


SOURCES = {"h200": GpuServer, "cpu": CpuServer, "llama": LlamaServer}


def save(server, path, config):
    """Keeps a server's state for a later call."""
    path.write_text(json.dumps({"config": config, "state": server.state}))


def resume(source, path):
    """(server, its configuration) of an earlier call, (None, None) if it is gone."""
    if not path.exists():
        return None, None
    kept = json.loads(path.read_text())
    server = SOURCES[source](kept["state"])
    return (server, kept["config"]) if server.processes() and server.up() else (None, None)
