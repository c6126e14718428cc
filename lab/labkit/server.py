"""A real vLLM, started and stopped by lab/serve and lab/stop, and the ways to hurt it."""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

LAB = pathlib.Path(__file__).resolve().parent.parent
TB = pathlib.Path(os.environ.get("TB", "~/tb")).expanduser()
PYTHON = TB / "vllm/bin/python"
MODEL = TB / "models/smollm2-135m"
WRONG_EOS_MODEL = TB / "models/smollm2-135m-copy"  # a name that does not give the fault away


class LabError(Exception):
    """The lab itself failed: no statement about intriage."""


def session_processes(session):
    """{pid: command} of all live processes in a session."""
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


def make_wrong_eos_model():
    """The model directory with the wrong end token, made when missing."""
    if not (WRONG_EOS_MODEL / "config.json").exists():
        subprocess.run([PYTHON, LAB / "wrong_eos.py", MODEL, WRONG_EOS_MODEL], check=True, stdout=subprocess.DEVNULL)
    return WRONG_EOS_MODEL


class Server:
    """One running server."""

    def __init__(self, log, port, flags=(), env=(), wrong_eos=False):
        self.log = pathlib.Path(log)
        self.port = port
        self.base = f"http://127.0.0.1:{port}"
        self.ready_at = 0  # size of the log when the server was ready
        model = make_wrong_eos_model() if wrong_eos else MODEL
        environment = os.environ | dict(env) | {"LAB_PORT": str(port), "LAB_MODEL": str(model)}
        command = [LAB / "serve", "--background", self.log, *flags]
        # Output to a file: a pipe would stay open in the server and never end.
        answer = self.log.with_suffix(".start")
        with answer.open("w") as out:
            code = subprocess.run(command, env=environment, stdout=out, stderr=out, check=False).returncode
        text = answer.read_text()
        if code != 0:
            raise LabError(f"lab/serve failed:\n{text}")
        self.pid = int(text.split()[-1])
        self.cmdline = self._cmdline()

    def _cmdline(self):
        """`vllm serve …` as it was started, without directories."""
        words = pathlib.Path(f"/proc/{self.pid}/cmdline").read_text().rstrip("\0").split("\0")
        return " ".join(["vllm", *words[words.index("serve") :]])

    def get(self, path, timeout=10):
        """The body of a GET; raises OSError."""
        with urllib.request.urlopen(self.base + path, timeout=timeout) as response:
            return response.read().decode(errors="replace")

    def post(self, path, body, timeout=60):
        """The body of a POST of JSON; raises OSError."""
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return response.read().decode(errors="replace")

    def warm_up(self):
        """The first request pays for lazy set-up; it is made before anything is measured."""
        message = {"role": "user", "content": "What is 2 plus 3?"}
        body = {"model": "smollm2-135m", "messages": [message], "max_tokens": 16, "temperature": 0}
        answer = json.loads(self.post("/v1/chat/completions", body))
        self.ready_at = self.log.stat().st_size
        return answer["choices"][0]["message"]["content"]

    def wait_until_empty(self, limit=30):
        """Waits until no request of an earlier load is left, nor anything of it to be counted."""
        pattern = re.compile(r"^vllm:num_requests_(?:running|waiting)\{[^}]*\} ([0-9.e+]+)$", re.MULTILINE)
        tokens = re.compile(r"^vllm:(?:prompt|generation)_tokens_total.*$", re.MULTILINE)
        end = time.monotonic() + limit
        # The server counts an answer after it has sent its end: idle is what stays the same.
        before = None
        while True:
            counted = tokens.findall(metrics := self.get("/metrics"))
            if counted == before and not any(float(n) for n in pattern.findall(metrics)):
                return
            if time.monotonic() > end:
                raise LabError(f"requests of the scenario before are still there after {limit} s")
            before = counted
            time.sleep(0.5)

    def alive(self):
        """Whether the API server still runs."""
        return self.pid in session_processes(self.pid)

    def worker(self):
        """The pid of the process that computes."""
        for pid, command in session_processes(self.pid).items():
            if command.startswith("VLLM::Worker"):
                return pid
        raise LabError("the server has no worker process")

    def stop(self):
        """Ends everything; raises if something is left."""
        done = subprocess.run([LAB / "stop", f"{self.log}.pid"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"lab/stop failed: {done.stderr}")


def kill_worker(server):
    """The computing process dies, as after an out-of-memory kill."""
    os.kill(server.worker(), signal.SIGKILL)


def freeze_worker(server):
    """The computing process stands still, as with a hung driver; `stop` wakes it."""
    os.kill(server.worker(), signal.SIGSTOP)


def freeze_worker_8s(server):
    """The computing process stands still for 8 s and goes on."""
    worker = server.worker()
    os.kill(worker, signal.SIGSTOP)
    time.sleep(8)
    os.kill(worker, signal.SIGCONT)


def pause_engine(server):
    """The engine admits nothing more; needs VLLM_SERVER_DEV_MODE=1."""
    server.post("/pause", {})


def pause_engine_8s(server):
    """The engine is paused for 8 s, requests in it are kept; needs VLLM_SERVER_DEV_MODE=1."""
    server.post("/pause?mode=keep", {})
    time.sleep(8)
    server.post("/resume", {})


def crowd(server, requests, tokens, words):
    """So many requests at once; returns when all are answered."""
    body = {"model": "smollm2-135m", "prompt": "word " * words, "max_tokens": tokens, "ignore_eos": True}
    send = lambda number: server.post("/v1/completions", {**body, "prompt": f"{number} {body['prompt']}"}, timeout=120)
    with concurrent.futures.ThreadPoolExecutor(requests) as pool:
        list(pool.map(send, range(requests)))


def burst_of_30(server):
    """Thirty requests at once beside the usual load."""
    crowd(server, 30, 12, 60)


def ten_more(server):
    """Ten requests more than before, and ten again: more than two sequences can take."""
    crowd(server, 10, 40, 30)
    crowd(server, 10, 40, 30)
