#!/usr/bin/env python3
"""Writes what Python's prometheus_client reads from each scrape, for tests/exposition_golden.rs to compare with.

Run in a virtual environment with `pip install prometheus_client` (0.26.0 made the files that are here). Columns:
name, labels sorted by name, value, timestamp in seconds, exemplar as `labels value timestamp`.
"""

import pathlib
import re

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, Summary
from prometheus_client.openmetrics import exposition as openmetrics_writer
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client import parser as text

HERE = pathlib.Path(__file__).parent


def escaped(value):
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def labels(pairs):
    return ",".join(f'{name}="{escaped(value)}"' for name, value in sorted(pairs.items()))


def row(sample, written):
    """One line; `written` holds the names in the text, as the Python client adds `_total` to counters without."""
    name = sample.name if sample.name in written else sample.name.removesuffix("_total")
    exemplar = ""
    if sample.exemplar:
        time = "" if sample.exemplar.timestamp is None else repr(float(sample.exemplar.timestamp))
        exemplar = f"{labels(sample.exemplar.labels)} {sample.exemplar.value!r} {time}"
    time = "" if sample.timestamp is None else repr(float(sample.timestamp))
    return "\t".join([name, labels(sample.labels), repr(float(sample.value)), time, exemplar])


def dump(source, target, read):
    families = read(source.read_text())
    written = set(re.findall(r"(?m)^[\w:]+", source.read_text()))
    rows = [row(sample, written) for family in families for sample in family.samples]
    target.write_text("\n".join(rows) + "\n")


def write_openmetrics(target):
    """No recording is in OpenMetrics, so the Python client writes one, with what vLLM's Rust frontend would use."""
    registry = CollectorRegistry()
    requests = Counter("vllm:request_success", "Finished\nrequests.", ["reason"], registry=registry)
    requests.labels("stop").inc(54, exemplar={"trace_id": "4bf92f3577b34da6"})
    requests.labels('a "quoted" \\ reason').inc(1)
    latency = Histogram("vllm:ttft", "Time to first token.", ["engine"], unit="seconds", registry=registry, buckets=[0.1, 1])
    latency.labels("0").observe(0.05, {"trace_id": "x}#,"})
    latency.labels("0").observe(7.5)
    Gauge("vllm:kv_cache_usage_perc", "1 means full.", registry=registry).set(0.25)
    Gauge("queue_age", "Unset.", registry=registry).set(float("nan"))
    Summary("http_request_size_bytes", "Bodies.", registry=registry).observe(311)
    Info("engine", "Version.", registry=registry).info({"version": "0.32.0", "path": "C:\\models"})
    # By default it would turn the colons of samples, though not of their declarations, into underscores.
    target.write_bytes(openmetrics_writer.generate_latest(registry, escaping="allow-utf-8"))


if __name__ == "__main__":
    vllm = HERE.parent.parent / "benches" / "data" / "vllm-0.32.txt"
    dump(vllm, HERE / "vllm-0.32.tsv", text.text_string_to_metric_families)
    dump(HERE / "llamacpp.txt", HERE / "llamacpp.tsv", text.text_string_to_metric_families)
    write_openmetrics(HERE / "openmetrics.txt")
    dump(HERE / "openmetrics.txt", HERE / "openmetrics.tsv", openmetrics.text_string_to_metric_families)
