"""Real clients against `intriage simulate`; started by lab/simulate_clients, which installs them."""

import argparse
import contextlib
import itertools
import json
import math
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from labkit.pulse import Pulse

LAB = pathlib.Path(__file__).resolve().parent
TB = pathlib.Path(os.environ.get("TB", "~/tb")).expanduser()
MODEL = "llama-3.1-8b"  # what `intriage simulate` serves unless told otherwise
TOKENIZER = TB / "models/smollm2-135m"
REQUESTS, ANSWER = 40, 32
QUANTILE = "histogram_quantile(0.95, rate(vllm:time_to_first_token_seconds_bucket[30s]))"


class Failed(Exception):
    """A client did not get what it must get."""


def must(holds, what):
    if not holds:
        raise Failed(what)


@contextlib.contextmanager
def process(command, log, **options):
    """A process in a session of its own, ended at the end with Ctrl-C's signal."""
    with log.open("w") as out:
        child = subprocess.Popen(command, stderr=out, start_new_session=True, **options)
        try:
            yield child
        finally:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                raise Failed(f"{command[0]} did not end on SIGINT") from None


@contextlib.contextmanager
def simulated(intriage, folder, *flags):
    """The URL of a simulated server; it must end cleanly."""
    command = [intriage, "simulate", "--port", "0", *flags]
    with process(command, folder / "simulate.log", stdout=subprocess.PIPE, text=True) as child:
        url = child.stdout.readline().strip()
        must(url.startswith("http://"), f"no URL on the first line: {url!r}, {(folder / 'simulate.log').read_text()}")
        yield url
    must(child.returncode == 0, f"intriage simulate ended with {child.returncode}")


def run(command, limit, **environment):
    """Runs a client to its end; its output is the reason if it fails."""
    env = os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"} | environment
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=env, check=False)
    if done.returncode != 0:
        raise Failed(f"status {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def openai_package(intriage, folder):
    """The openai package: streaming and not, chat and completion, its own exceptions for errors."""
    with simulated(intriage, folder) as url:
        return run([TB / "vllm/bin/python", LAB / "labkit/openai_client.py", url, MODEL], 60).strip()


def vllm_bench(intriage, folder):
    """`vllm bench serve` with random prompts: every request answered in full."""
    with simulated(intriage, folder) as url:
        lengths = ["--random-input-len", "200", "--random-output-len", str(ANSWER), "--ignore-eos"]
        target = ["--base-url", url, "--model", MODEL, "--tokenizer", str(TOKENIZER)]
        amount = ["--num-prompts", str(REQUESTS), "--request-rate", "20", "--disable-tqdm"]
        result = ["--save-result", "--result-dir", str(folder), "--result-filename", "bench.json"]
        vllm = [TB / "vllm/bin/vllm", "bench", "serve", "--backend", "vllm", "--dataset-name", "random"]
        run([*vllm, *target, *lengths, *amount, *result], 300)
    told = json.loads((folder / "bench.json").read_text())
    must(told["completed"] == REQUESTS, f"{told['completed']} of {REQUESTS} requests completed")
    must(told["total_output_tokens"] == REQUESTS * ANSWER, f"{told['total_output_tokens']} tokens came out")
    must(0 < told["mean_ttft_ms"] < 1000, f"a mean TTFT of {told['mean_ttft_ms']} ms")
    return f"{REQUESTS} requests, TTFT {told['mean_ttft_ms']:.1f} ms, TPOT {told['mean_tpot_ms']:.2f} ms on average"


def guidellm(intriage, folder):
    """GuideLLM with four streams: every request successful."""
    with simulated(intriage, folder) as url:
        options = {
            "--backend": f"kind=openai_http,target={url},model={MODEL}",
            "--profile": "kind=concurrent,streams=4",
            "--constraint": f"kind=max_requests,count={REQUESTS}",
            "--tokenizer": f"kind=hf_auto,model={TOKENIZER}",
            "--data": f"kind=synthetic_text,prompt_tokens=100,output_tokens={ANSWER}",
            "--output": f"kind=json,path={folder / 'guidellm.json'}",
        }
        words = [word for pair in options.items() for word in pair]
        run([TB / "guidellm/bin/guidellm", "run", *words, "--disable-progress"], 300)
    metrics = json.loads((folder / "guidellm.json").read_text())["benchmarks"][0]["metrics"]
    totals = metrics["request_totals"]
    must(totals["successful"] == REQUESTS and totals["errored"] == 0, f"requests: {totals}")
    mean = metrics["output_token_count"]["successful"]["mean"]
    must(mean == ANSWER, f"{mean} tokens a request")
    return f"{totals['successful']} requests, {mean:.0f} tokens each"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(base, query):
    """The values Prometheus gives for a query."""
    url = f"{base}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with urllib.request.urlopen(url, timeout=5) as response:
        return [float(series["value"][1]) for series in json.load(response)["data"]["result"]]


def prometheus(intriage, folder):
    """Prometheus scrapes it under load and computes a quantile of the time to first token."""
    base = f"http://127.0.0.1:{free_port()}"
    with simulated(intriage, folder, "--load") as url:
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [{"job_name": "vllm", "static_configs": [{"targets": [url.removeprefix("http://")]}]}],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        flags = {
            "--config.file": folder / "prometheus.yml",
            "--storage.tsdb.path": folder / "tsdb",
            "--web.listen-address": base.removeprefix("http://"),
        }
        command = [TB / "prometheus/usr/bin/prometheus", *(f"{name}={value}" for name, value in flags.items())]
        with process(command, folder / "prometheus.log", stdout=subprocess.DEVNULL):
            end, values = time.monotonic() + 60, []
            while not any(math.isfinite(value) for value in values):
                must(time.monotonic() < end, f"no finite answer to {QUANTILE} in 60 s, last {values}")
                time.sleep(1)
                with contextlib.suppress(urllib.error.URLError, ConnectionError):
                    values = ask(base, QUANTILE)
            must(ask(base, 'up{job="vllm"}') == [1.0], "the target is not up")
            served = ask(base, 'sum(http_requests_total{handler="/v1/completions",status="2xx"})')
    return f"p95 of the time to first token {1000 * values[0]:.1f} ms, {served[0]:.0f} requests served"


def intriage_check(intriage, folder):
    """intriage learns the cap from the server and names the fault that was put in."""
    with simulated(intriage, folder, "--fault", "low-sequence-cap", "--load") as url:
        command = [intriage, "check", url, "--window", "15s", "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    must(done.returncode == 1, f"status {done.returncode}: {done.stderr}")
    cause = json.loads(done.stdout)["verdict"]["primary"]["cause"]
    must(cause == "max-num-seqs-limited-queue", f"the verdict is {cause}")
    return cause


CHECKS = {
    "openai": openai_package,
    "vllm-bench": vllm_bench,
    "guidellm": guidellm,
    "prometheus": prometheus,
    "intriage": intriage_check,
}


def try_client(name, intriage, folder):
    """What a client's run says, and whether it passed."""
    try:
        return CHECKS[name](intriage, folder), True
    except (Failed, subprocess.TimeoutExpired, OSError, KeyError, ValueError) as why:
        return f"{type(why).__name__}: {why}", False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--intriage", required=True, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--only", choices=CHECKS, help="one client")
    parser.add_argument("--keep", action="store_true", help="keep the clients' logs and results")
    arguments = parser.parse_args()
    top = pathlib.Path(tempfile.mkdtemp(prefix="simulate-clients."))
    failed = 0
    chosen = [arguments.only] if arguments.only else list(CHECKS)
    for name in chosen:
        began = time.monotonic()
        for tries in itertools.count(1):
            folder = top / f"{name}-{tries}"
            folder.mkdir()
            with Pulse() as pulse:
                said, good = try_client(name, arguments.intriage, folder)
            if good or not pulse.again(tries):
                break
            print(f"{name:11} again (the machine stood still for {pulse.longest:.1f} s): {said}", flush=True)
        failed += not good
        print(f"{name:11} {'ok' if good else 'FAILED':6} {time.monotonic() - began:4.0f} s  {said}", flush=True)
    if arguments.keep or failed:
        print(f"logs and results: {top}")
    else:
        subprocess.run(["rm", "-rf", top], check=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
