#!/usr/bin/env bash
# Runs one workload through our model, through a plain Python step loop and through vidur 0.0.26 from PyPI, all on one
# core and in turns, and prints the speeds and the ratios.
#
# Usage: speed_vs_python.sh [ROUNDS]. Ours answers REQUESTS requests a round, the others fewer (their time a request is
# what is compared); CORE says on which core. Needs network once, for `pip install vidur`. The figures are those of each
# one's fastest round, so that a busy machine disturbs none; the last column compares within each round.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

rounds=${1:-5}
requests=${REQUESTS:-500000}
python_requests=${PYTHON_REQUESTS:-20000}
vidur_requests=${VIDUR_REQUESTS:-10000}
core=${CORE:-$(($(nproc) - 1))}
venv=${TB:-$HOME/tb}/vidur
python=${PYTHON:-python3.11}

if [[ ! -x $venv/bin/python ]]; then
    "$python" -m venv "$venv"
fi
"$venv/bin/python" -c 'import vidur' 2>/dev/null || "$venv/bin/pip" install --quiet vidur==0.0.26

ours=$(cd "$here" && cargo bench --quiet --bench speed --no-run --message-format=json | sed -n 's/.*"name":"speed".*"executable":"\([^"]*\)".*/\1/p')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

on_one_core() { OMP_NUM_THREADS=1 taskset -c "$core" "$@"; }

for ((round = 1; round <= rounds; round++)); do
    echo "round $round of $rounds on core $core" >&2
    on_one_core "$ours" "$requests" | tail -n +2
    on_one_core "$venv/bin/python" "$here/step_loop.py" "$python_requests"
    on_one_core "$venv/bin/python" "$here/vidur_speed.py" "$vidur_requests" "$work"
    on_one_core "$venv/bin/python" "$here/vidur_speed.py" "$vidur_requests" "$work" metrics
done >"$work/rows"

"$venv/bin/python" - "$work/rows" <<'PYTHON'
import statistics
import sys

rounds = {}
for line in open(sys.argv[1]):
    name, *figures = line.rstrip("\n").split("\t")
    rounds.setdefault(name, []).append([float(figure) for figure in figures])
rates = {name: [figures[2] for figures in all_of_it] for name, all_of_it in rounds.items()}
ours = rates["intriage"]
print(f"{'':22} requests  wall s  mean batch  requests/min    tokens/s  virtual:wall  slower  median of rounds")
for name, all_of_it in rounds.items():
    requests, wall, rate, batch, tokens, speed = max(all_of_it, key=lambda figures: figures[2])
    median = statistics.median(mine / its for mine, its in zip(ours, rates[name]))
    print(
        f"{name:22} {requests:8.0f} {wall:7.2f} {batch:11.1f} {rate:13.0f} {tokens:11.0f} {speed:13.0f}"
        f" {max(ours) / rate:6.1f}x {median:16.1f}x"
    )
PYTHON
