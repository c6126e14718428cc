"""The tools: how each is called, and where it says what. Times are seconds."""

import json
import os
import pathlib

import cells
from tokenizer import NAME

TB = pathlib.Path(os.environ.get("TB", "~/tb")).expanduser()
MODEL = "mock"
WORDS = 64  # tokens of a prompt


def load_json(path):
    return json.loads(pathlib.Path(path).read_text())


def put(found, name, p50, p99, scale=1e-3):
    """Notes a median and a 99th percentile; what a tool does not say stays out."""
    for share, value in (("p50", p50), ("p99", p99)):
        if value is not None:
            found[f"{name}_{share}"] = value * scale


class Tool:
    """A client. `said` has any of: ttft, itl (between events) and tpot (mean of a request) with _p50 and _p99, ok, failed,
    tokens_per_second, tokens_per_answer, certificate."""

    name = ""
    speed = cells.SLOW
    interpolates = False  # quantiles between two samples, as NumPy takes them
    kinds = ("capacity", "accuracy", "open", "semantics")
    not_cells = ()

    def __init__(self, program):
        self.program = pathlib.Path(program)

    def can(self, cell):
        return cell.kind in self.kinds and cell.name not in self.not_cells

    def version(self):
        """From the metadata of its environment: starting some of them takes half a minute."""
        for found in self.program.parent.parent.glob(f"lib/python3*/site-packages/{self.name}-*.dist-info"):
            return found.name.removesuffix(".dist-info").partition("-")[2]
        return None


class Bare(Tool):
    """The bare read loop, crates/truth/examples/bare.rs."""

    name, speed = "bare", cells.FAST
    # It counts events and knows neither tokens nor roles.
    not_cells = ("chunk4", "earlyrole")

    def command(self, cell, requests, folder, url, tokenizer):
        # Making connections would block its only thread, so it has them before it begins.
        load = ["--rate", str(cell.rate), "--concurrency", "1024"] if cell.rate else ["--concurrency", str(cell.concurrency)]
        stats = [] if cell.kind == "capacity" else ["--stats"]
        return [url.removeprefix("http://"), *load, "--requests", str(requests), "--tokens", str(cell.tokens),
                "--words", str(WORDS), "--model", MODEL, *stats]

    def said(self, cell, folder):
        out = load_json(folder / "stdout")
        found = {"ok": out["requests"]["ok"], "failed": out["requests"]["failed"],
                 "tokens_per_second": out["output_tokens_per_second"], "tokens_per_answer": cell.tokens}
        for name in ("ttft", "itl", "tpot"):
            put(found, name, out[name]["p50"], out[name]["p99"], 1)
        return found


class Intriage(Tool):
    """`intriage bench`, with every chunk recorded."""

    name, speed = "intriage", cells.FAST

    def command(self, cell, requests, folder, url, tokenizer):
        if cell.rate:
            load = ["--request-rate", str(cell.rate), "--arrival", "constant"]
        else:
            load = ["--max-concurrency", str(cell.concurrency)]
        return ["bench", url, "--model", MODEL, *load, "--num-prompts", str(requests), "--random-input-len", str(WORDS),
                "--random-output-len", str(cell.tokens), "--ignore-eos", "--format", "json",
                "--record", str(folder / "record")]

    def said(self, cell, folder):
        out = load_json(folder / "stdout")
        found = {"ok": out["requests"]["ok"], "failed": out["requests"]["failed"],
                 "tokens_per_second": out["output_tokens_per_second"],
                 "tokens_per_answer": out["output_tokens"] / max(1, out["requests"]["ok"]), "certificate": out["certificate"]}
        for name in ("ttft", "itl", "tpot"):
            times = out.get(name) or {}
            put(found, name, times.get("p50"), times.get("p99"), 1)
        return found


class Vllm(Tool):
    """`vllm bench serve`."""

    name, interpolates = "vllm", True

    def command(self, cell, requests, folder, url, tokenizer):
        # So even a gamma distribution is a constant.
        load = ["--request-rate", str(cell.rate), "--burstiness", "1e9"] if cell.rate else ["--max-concurrency", str(cell.concurrency)]
        return ["bench", "serve", "--backend", "openai-chat", "--base-url", url, "--endpoint", "/v1/chat/completions",
                "--model", MODEL, "--tokenizer", str(tokenizer), "--dataset-name", "random", "--random-input-len", str(WORDS),
                "--random-output-len", str(cell.tokens), "--num-prompts", str(requests), *load, "--ignore-eos",
                "--disable-tqdm", "--percentile-metrics", "ttft,tpot,itl", "--metric-percentiles", "50,99",
                "--save-result", "--result-dir", str(folder), "--result-filename", "said.json"]

    def said(self, cell, folder):
        out = load_json(folder / "said.json")
        found = {"ok": out["completed"], "failed": out.get("failed"), "tokens_per_second": out["output_throughput"],
                 "tokens_per_answer": out["total_output_tokens"] / max(1, out["completed"])}
        for name in ("ttft", "itl", "tpot"):
            put(found, name, out.get(f"p50_{name}_ms"), out.get(f"p99_{name}_ms"))
        return found


class GuideLlm(Tool):
    """GuideLLM."""

    name = "guidellm"

    def command(self, cell, requests, folder, url, tokenizer):
        load = f"kind=constant,rate={cell.rate}" if cell.rate else f"kind=concurrent,streams={cell.concurrency}"
        return ["run", "--backend", f"kind=openai_http,target={url},model={MODEL}", "--profile", load,
                "--constraint", f"kind=max_requests,count={requests}", "--tokenizer", f"kind=hf_auto,model={tokenizer}",
                "--data", f"kind=synthetic_text,prompt_tokens={WORDS},output_tokens={cell.tokens}",
                "--output", f"kind=json,path={folder / 'said.json'}", "--disable-console"]

    def said(self, cell, folder):
        metrics = load_json(folder / "said.json")["benchmarks"][0]["metrics"]
        good = lambda name: metrics[name]["successful"]
        found = {"ok": metrics["request_totals"]["successful"], "failed": metrics["request_totals"]["errored"],
                 "tokens_per_second": good("output_tokens_per_second")["mean"],
                 "tokens_per_answer": good("output_token_count")["mean"]}
        # What it calls inter-token latency is the mean of a request.
        for name, theirs in (("ttft", "time_to_first_token_ms"), ("tpot", "inter_token_latency_ms")):
            put(found, name, good(theirs)["percentiles"]["p50"], good(theirs)["percentiles"]["p99"])
        return found


class AiPerf(Tool):
    """NVIDIA's AIPerf. Offline it takes the name of a tokenizer, but no path."""

    name, interpolates = "aiperf", True

    def command(self, cell, requests, folder, url, tokenizer):
        if cell.rate:
            load = ["--request-rate", str(cell.rate), "--arrival-pattern", "constant"]
        else:
            load = ["--concurrency", str(cell.concurrency)]
        return ["profile", "--model", MODEL, "--tokenizer", NAME, "--url", url, "--endpoint-type", "chat",
                "--streaming", *load, "--request-count", str(requests), "--isl", str(WORDS), "--isl-stddev", "0",
                "--osl", str(cell.tokens), "--osl-stddev", "0", "--artifact-dir", str(folder / "said"), "--ui", "none"]

    def said(self, cell, folder):
        out = load_json(folder / "said/profile_export_aiperf.json")
        get = lambda name, part: (out.get(name) or {}).get(part)
        found = {"ok": get("request_count", "avg"), "failed": get("error_request_count", "avg") or 0,
                 "tokens_per_second": get("output_token_throughput", "avg"),
                 "tokens_per_answer": get("output_sequence_length", "avg")}
        for name, theirs in (("ttft", "time_to_first_token"), ("itl", "inter_chunk_latency"), ("tpot", "inter_token_latency")):
            put(found, name, get(theirs, "p50"), get(theirs, "p99"))
        return found


class Oha(Tool):
    """oha: a general HTTP load generator. It times whole answers, so it has no place where tokens are timed."""

    name, speed = "oha", cells.FAST
    kinds = ("capacity", "open")

    def command(self, cell, requests, folder, url, tokenizer):
        body = {"model": MODEL, "messages": [{"role": "user", "content": " ".join(["word"] * WORDS)}],
                "max_tokens": cell.tokens, "stream": True, "stream_options": {"include_usage": True}}
        load = ["-q", str(cell.rate), "-c", "1024"] if cell.rate else ["-c", str(cell.concurrency)]
        return ["-n", str(requests), *load, "-m", "POST", "-T", "application/json", "-d", json.dumps(body), "--no-tui",
                "--output-format", "json", "-o", str(folder / "said.json"), f"{url}/v1/chat/completions"]

    def said(self, cell, folder):
        out = load_json(folder / "said.json")
        good = sum(count for status, count in out["statusCodeDistribution"].items() if status == "200")
        return {"ok": good, "failed": sum(out["errorDistribution"].values()),
                "tokens_per_second": out["summary"]["requestsPerSec"] * cell.tokens}


def tools(intriage, bare):
    """Every tool, at the place where lab/arena/install puts it."""
    return {tool.name: tool for tool in (
        Bare(bare), Intriage(intriage), Vllm(TB / "vllm/bin/vllm"), GuideLlm(TB / "guidellm/bin/guidellm"),
        AiPerf(TB / "aiperf/bin/aiperf"), Oha(TB / "tools/bin/oha"),
    )}
