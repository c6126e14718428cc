"""The figures each tool's own code gives for one synthetic run: `python expect_definitions.py TOOL` in that tool's environment.

A fake clock and a fake HTTP response feed the tool's client the same server-sent events at the same instants; its own metric
functions do the rest. Prints JSON; definitions.json holds all of them. See README.md for the versions.
"""

import asyncio
import json
import sys
import time
import types

MS = 1e-3
# sent, [(at, kind, tokens)], ended, status; milliseconds.
RUN = [
    (0, [(10, "role", 0), (50, "content", 1), (60, "content", 1), (75, "content", 1), (80, "content", 1), (81, "finish", 0), (84, "usage", 4), (85, "done", 0)], 85, 200),
    (20, [(30, "role", 0), (100, "content", 4), (140, "content", 4), (190, "content", 4), (191, "finish", 0), (192, "usage", 12), (193, "done", 0)], 193, 200),
    (40, [(50, "role", 0), (90, "reasoning", 1), (100, "reasoning", 1), (130, "content", 1), (142, "content", 1), (143, "finish", 0), (150, "usage", 4), (151, "done", 0)], 151, 200),
    (60, [], 70, 500),
    (70, [(80, "role", 0), (120, "content", 1), (120.5, "finish", 0), (121, "usage", 1), (122, "done", 0)], 122, 200),
    (80, [(90, "role", 0), (130, "content", 1), (140, "error", 0), (141, "done", 0)], 141, 200),
]
LIMITS = {"ttft": 60.0, "tpot": 25.0, "e2el": 170.0}
SPAN = 193 * MS
PERCENTILES = [50.0, 90.0, 95.0, 99.0]

now = 0.0


def event(kind, tokens):
    delta = {"role": {"role": "assistant", "content": ""}, "content": {"content": "w " * tokens}, "reasoning": {"reasoning_content": "w " * tokens}, "finish": {}}
    if kind == "done":
        return b"data: [DONE]\n\n"
    if kind == "error":
        body = {"error": {"message": "broke", "code": 500}}
    elif kind == "usage":
        body = {"object": "chat.completion.chunk", "choices": [], "usage": {"completion_tokens": tokens, "prompt_tokens": 10}}
    else:
        choice = {"index": 0, "delta": delta[kind], "finish_reason": "length" if kind == "finish" else None}
        body = {"object": "chat.completion.chunk", "id": "x", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n".encode()


class Response:
    """What aiohttp or httpx would hand over, at the instants of the run."""

    def __init__(self, request):
        self.sent, self.chunks, self.ended, self.status = request
        self.status_code, self.reason, self.content = self.status, "Internal Server Error", self

    async def iter_any(self):
        global now
        for at, kind, tokens in self.chunks:
            now = at * MS
            yield event(kind, tokens)
        now = self.ended * MS

    async def __aiter__(self):
        async for chunk in self.iter_any():
            yield chunk

    async def aiter_lines(self):
        async for chunk in self.iter_any():
            yield chunk.decode().strip()

    async def text(self):
        return ""

    def raise_for_status(self):
        if self.status != 200:
            raise RuntimeError(self.reason)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return False


class Session:
    def __init__(self, request):
        self.response = Response(request)

    def post(self, **_):
        return self.response

    stream = request = post

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return False


class Words:
    """A tokenizer whose tokens are words."""

    def __call__(self, text, **_):
        return types.SimpleNamespace(input_ids=text.split())

    def encode(self, text, **_):
        return text.split()

    def count_tokens(self, text, **_):
        return len(text.split())


def stats(values, weights=None):
    import numpy as np

    return {"n": len(values), "mean": float(np.mean(values))} | {f"p{p:g}": float(np.percentile(values, p)) for p in PERCENTILES}


def flat(metrics, name, n, divide=1e3):
    one = {f"p{p:g}": v / divide for p, v in getattr(metrics, f"percentiles_{name}_ms")}
    return {"n": n, "mean": getattr(metrics, f"mean_{name}_ms") / divide} | one


def at(sent):
    global now
    now = sent * MS


def vllm():
    import vllm.benchmarks.lib.endpoint_request_func as client
    import vllm.benchmarks.serve as serve

    client.time = types.SimpleNamespace(perf_counter=lambda: now)
    outputs = []
    for request in RUN:
        at(request[0])
        asked = client.RequestFuncInput(prompt="p", api_url="http://h/v1/chat/completions", prompt_len=10, output_len=16, model="m")
        outputs.append(asyncio.run(client.async_request_openai_chat_completions(asked, Session(request))))
    metrics, _ = serve.calculate_metrics([], outputs, SPAN, Words(), PERCENTILES, LIMITS)
    ok = [o for o in outputs if o.success]
    return {
        "TTFT": flat(metrics, "ttft", len(ok)), "TPOT": flat(metrics, "tpot", None), "ITL": flat(metrics, "itl", sum(len(o.itl) for o in ok)), "E2EL": flat(metrics, "e2el", len(ok)),
    }, {
        "Successful requests": metrics.completed, "Failed requests": metrics.failed, "Total generated tokens": metrics.total_output,
        "Request throughput (req/s)": metrics.request_throughput, "Output token throughput (tok/s)": metrics.output_throughput, "Request goodput (req/s)": metrics.request_goodput,
    }


def sglang():
    import sglang.benchmark.serving as serve
    from sglang.benchmark.goodput import calculate_goodput

    serve.time = types.SimpleNamespace(perf_counter=lambda: now, time=lambda: now)
    serve.args = types.SimpleNamespace(disable_stream=False, disable_ignore_eos=False, header=None, print_requests=False, cache_report=False, return_routed_experts=False, return_logprob=False)
    outputs, lengths = [], [4, 12, 4, 16, 1, 5]
    for request, length in zip(RUN, lengths):
        at(request[0])
        serve._create_bench_client_session = lambda request=request: Session(request)
        asked = serve.RequestFuncInput(prompt="p", api_url="http://h/v1/chat/completions", prompt_len=10, output_len=length, model="m", lora_name="", image_data=None, extra_request_body={})
        outputs.append(asyncio.run(serve.async_request_openai_chat_completions(asked)))
    m, _ = serve.calculate_metrics(None, outputs, SPAN, Words(), "vllm-chat")
    good = calculate_goodput(outputs, LIMITS, SPAN)
    ok = [o for o in outputs if o.success]

    def figure(name, n):
        return {"n": n, "mean": getattr(m, f"mean_{name}_ms") / 1e3, "p50": getattr(m, f"median_{name}_ms") / 1e3} | {p: getattr(m, f"{p}_{name}_ms") / 1e3 for p in ("p90", "p95", "p99")}

    return {"E2E Latency": figure("e2e_latency", len(ok)), "TTFT": figure("ttft", len(ok)), "TPOT": figure("tpot", None), "ITL": figure("itl", sum(len(o.itl) for o in ok))}, {
        "Successful requests": m.completed, "Total generated tokens": m.total_output, "Request throughput (req/s)": m.request_throughput,
        "Output token throughput (tok/s)": m.output_throughput, "Request goodput (req/s)": good.request_goodput, "SLO attainment (%)": good.slo_attainment,
    }


def guidellm():
    import guidellm.backends.openai.http as http
    from guidellm.backends.openai.request_handlers import ChatCompletionsRequestHandler
    from guidellm.benchmark.schemas.metrics import GenerativeMetrics
    from guidellm.schemas import GenerationRequest, GenerativeRequestStats, RequestInfo, UsageMetrics
    from guidellm.schemas import GenerationRequestArguments
    from guidellm.schemas.benchmark import GoodputSLO

    http.time = types.SimpleNamespace(time=lambda: now + 1000)
    done = {"completed": [], "errored": [], "incomplete": []}

    async def ask(sent, request):
        at(sent)
        backend = types.SimpleNamespace(
            _async_client=Session(request), _trace_request_start=lambda info: None, _check_tool_call_expectations=lambda *_: None,
            _aiter_lines=lambda stream: http.OpenAIHTTPBackend._aiter_lines(None, stream),
        )
        info, response, status = RequestInfo(), None, "completed"
        try:
            async for response, info in http.OpenAIHTTPBackend._resolve_streaming(backend, GenerationRequest(), info, ChatCompletionsRequestHandler(), GenerationRequestArguments(), {}):
                pass
        except Exception:
            status = "errored"
        info.status, info.timings.resolve_end = status, now + 1000
        used = response.output_metrics if response is not None and status == "completed" else UsageMetrics()
        done[status].append(GenerativeRequestStats(request_id="x", info=info, input_metrics=UsageMetrics(), output_metrics=used))

    for request in RUN:
        asyncio.run(ask(request[0], request))

    def within(kind):
        return types.SimpleNamespace(get_within_range=lambda start, end, start_func=None, end_func=None: [s for s in done[kind] if (end_func is None or end_func(s) is not None)])

    accumulator = types.SimpleNamespace(
        timings=types.SimpleNamespace(finalized_measure_start=1000.0, finalized_measure_end=1000 + SPAN), completed=within("completed"), errored=within("errored"), incomplete=within("incomplete"),
        config=types.SimpleNamespace(confidence=None, strategy=types.SimpleNamespace(defines_arrival_schedule=False), slo=GoodputSLO(ttft_ms=60.0, tpot_ms=25.0, e2el_ms=170.0)),
        scheduler_metrics=None,
    )
    m = GenerativeMetrics.compile(accumulator)

    def figure(summary, n, divide=1e3):
        s = summary.successful
        return {"n": n, "mean": s.mean / divide} | {p: getattr(s.percentiles, p) / divide for p in ("p50", "p90", "p95", "p99")}

    ok = len(done["completed"])
    return {
        "Request Latency": figure(m.request_latency, ok, 1.0), "TTFT": figure(m.time_to_first_token_ms, ok), "TTFOT": figure(m.time_to_first_output_token_ms, ok),
        "ITL": figure(m.inter_token_latency_ms, None), "TPOT": figure(m.time_per_output_token_ms, None),
    }, {
        "Requests successful": m.request_totals.successful, "Requests errored": m.request_totals.errored,
        "Output Tokens Per Sec": m.output_tokens_per_second.total.mean, "Requests Per Sec (successful)": m.requests_per_second.successful.mean,
        "Goodput Attainment": m.slo_attainment, "Goodput Per Sec": m.request_goodput.total.mean,
    }


def aiperf():
    from aiperf.endpoints.openai_chat import ChatEndpoint
    from aiperf.metrics.metric_dicts import metric_result_from_array
    from aiperf.metrics.types.inter_chunk_latency_metric import InterChunkLatencyMetric
    from aiperf.metrics.types.inter_token_latency_metric import InterTokenLatencyMetric
    from aiperf.metrics.types.output_sequence_length_metric import OutputSequenceLengthMetric
    from aiperf.metrics.types.request_latency_metric import RequestLatencyMetric
    from aiperf.metrics.types.time_to_first_output_token_metric import TimeToFirstOutputTokenMetric
    from aiperf.metrics.types.ttft_metric import TTFTMetric
    from aiperf.metrics.types.ttst_metric import TTSTMetric
    from aiperf.common.exceptions import NoMetricValue
    from aiperf.metrics.metric_dicts import MetricRecordDict
    import numpy as np

    endpoint = types.SimpleNamespace(debug=lambda *_: None, make_text_response_data=lambda text: ChatEndpoint.make_text_response_data(text))
    kinds = {"Time to First Token": TTFTMetric, "Time to Second Token": TTSTMetric, "Time to First Output Token": TimeToFirstOutputTokenMetric, "Request Latency": RequestLatencyMetric, "Inter Token Latency": InterTokenLatencyMetric, "Inter Chunk Latency": InterChunkLatencyMetric}
    values, tokens, answered, failed, begin, end, good = {name: [] for name in kinds}, 0, 0, 0, [], [], 0
    for sent, chunks, _, status in RUN:
        responses = []
        for when, kind, n in chunks:
            raw = event(kind, n).decode().removeprefix("data: ").strip()
            data = None if raw == "[DONE]" else ChatEndpoint.extract_chat_response_data(endpoint, json.loads(raw))
            if data:
                responses.append(types.SimpleNamespace(perf_ns=round(when * 1e6), data=data))
        if status != 200 or not responses:
            failed += 1
            continue
        said = sum(n for _, kind, n in chunks if kind in ("content", "reasoning"))
        counts = types.SimpleNamespace(output=said, reasoning=None, first_content_chunk_tokens=None)
        record = types.SimpleNamespace(content_responses=responses, request=types.SimpleNamespace(start_perf_ns=sent * 1_000_000), start_perf_ns=sent * 1_000_000, token_counts=counts)
        of_record = MetricRecordDict()
        for metric in [OutputSequenceLengthMetric, *kinds.values()]:
            try:
                of_record[metric.tag] = metric()._parse_record(record, of_record)
            except NoMetricValue:
                pass
        for name, metric in kinds.items():
            value = of_record.get(metric.tag)
            values[name] += value if isinstance(value, list) else [] if value is None else [value]
        answered, tokens = answered + 1, tokens + of_record[OutputSequenceLengthMetric.tag]
        begin, end = [*begin, sent * 1e6], [*end, sent * 1e6 + of_record[RequestLatencyMetric.tag]]
        held = [(TTFTMetric, 60), (InterTokenLatencyMetric, 25), (RequestLatencyMetric, 170)]
        good += all(of_record.get(metric.tag) is not None and of_record[metric.tag] <= limit * 1e6 for metric, limit in held)
    duration = (max(end) - min(begin)) / 1e9

    def figure(name):
        array = np.array(values[name], dtype=np.float64)
        r = metric_result_from_array("x", "x", "ns", array, float(array.sum()))
        return {"n": r.count, "mean": r.avg / 1e9} | {p: getattr(r, p) / 1e9 for p in ("p50", "p90", "p95", "p99")}

    return {name: figure(name) for name in kinds}, {
        "Request Count": answered, "Error Request Count": failed, "Benchmark Duration (sec)": duration, "Total Output Sequence Length": tokens,
        "Request Throughput (requests/sec)": answered / duration, "Output Token Throughput (tokens/sec)": tokens / duration,
        "Goodput (requests/sec)": good / duration, "GoodRequestFraction": good / (answered + failed),
    }


def inference_perf():
    import inference_perf.apis.streaming_parser as parser
    from inference_perf.apis import ErrorResponseInfo, RequestLifecycleMetric
    from inference_perf.apis.chat import ChatCompletionAPIData, ChatMessage
    from inference_perf.config import APIConfig, GoodputConfig
    from inference_perf.apis.base import InferenceInfo
    from inference_perf.payloads import RequestMetrics, Text
    from inference_perf.reportgen.base import summarize_requests

    parser.time = types.SimpleNamespace(perf_counter=lambda: now)
    metrics = []
    for request in RUN:
        at(request[0])
        data = ChatCompletionAPIData(messages=[ChatMessage(role="user", content="p")])
        info, error = InferenceInfo(request_metrics=RequestMetrics(text=Text(input_tokens=1))), None
        if request[3] == 200:
            info = asyncio.run(data.process_response(Response(request), APIConfig(type="chat", streaming=True), Words()))
        else:
            error = ErrorResponseInfo(error_type="HTTP Error 500", error_msg="x")
        metrics.append(RequestLifecycleMetric(stage_id=0, scheduled_time=request[0] * MS, start_time=request[0] * MS, end_time=request[2] * MS, request_data="{}", info=info, error=error))
    limits = GoodputConfig(constraints={"ttft": 0.06, "tpot": 0.025, "request_latency": 0.17})
    s = summarize_requests(metrics, PERCENTILES, goodput_config=limits, tokenizer=Words())
    latency = s.successes["latency"]
    names = ["request_latency", "time_to_first_token", "time_per_output_token", "inter_token_latency", "normalized_time_per_output_token"]
    figures = {name: {"n": None, "mean": latency[name]["mean"], "p50": latency[name]["median"]} | {p: latency[name][p] for p in ("p90", "p95", "p99")} for name in names}
    good = s.successes["goodput_metrics"]
    return figures, {
        "successes.count": s.successes["count"], "failures.count": s.failures["count"], "benchmark_time_seconds": s.benchmark_time_seconds,
        "requests_per_sec": s.successes["throughput"]["requests_per_sec"], "output_tokens_per_sec": s.successes["throughput"]["output_tokens_per_sec"],
        "request_goodput": good["request_goodput"], "goodput_percentage": good["goodput_percentage"] / 100,
    }


if __name__ == "__main__":
    figures, totals = globals()[sys.argv[1].replace("-", "_")]()
    print(json.dumps({"figures": figures, "totals": totals}, indent=1))
