#!/usr/bin/env bash
# Parses one scrape with Python's prometheus_client, with the fastest other Rust parser that reads all of it and with
# ours, one after the other, and prints the speeds and the ratios.
#
# Usage: exposition_vs_python.sh [FILE] [SECONDS]. Needs network once, for `pip install prometheus_client`.
# Each side reports its fastest batch, so that a busy machine disturbs neither.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

file=$(realpath "${1:-$here/data/vllm-0.32.txt}")
seconds=${2:-3}
venv=${INTRIAGE_BENCH_VENV:-/tmp/intriage-bench-venv}

if [[ ! -x $venv/bin/python ]]; then
    python3 -m venv "$venv"
fi
"$venv/bin/python" -c 'import prometheus_client' 2>/dev/null || "$venv/bin/pip" install --quiet prometheus_client

both=$(cd "$here/.." && cargo run --quiet --release --example parse_speed -- "$file" "$seconds")

ours=$(head -n 1 <<<"$both")
other=$(tail -n 1 <<<"$both")

python=$("$venv/bin/python" - "$file" "$seconds" <<'PYTHON'
import sys
import time

from prometheus_client.parser import text_string_to_metric_families

text = open(sys.argv[1], encoding="utf-8", newline="").read()
limit = time.perf_counter() + float(sys.argv[2])
fastest = float("inf")
while time.perf_counter() < limit:
    start = time.perf_counter()
    samples = sum(len(family.samples) for family in text_string_to_metric_families(text))
    fastest = min(fastest, time.perf_counter() - start)
print(f"{len(text.encode()) / fastest / 1e6:.1f} MB/s, {samples} samples")
PYTHON
)

ratio() { awk -v ours="${ours%% *}" -v other="${1%% *}" 'BEGIN { printf "%.1f", ours / other }'; }
echo "intriage $ours"
echo "prom_text_format_parser 0.1 $other: $(ratio "$other") times slower"
echo "prometheus_client $python: $(ratio "$python") times slower"
