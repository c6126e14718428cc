#!/usr/bin/env bash
# Searches 1 GB of real log lines that hold none of our texts with our scan and with ripgrep for the same texts, one
# after the other on one core, and prints the speeds and the ratio; then a real log as it is, and a log of a server at
# work in which every line holds a text. With INTRIAGE set to a built binary, its check of the last one is timed, too.
#
# Usage: log_scan_vs_ripgrep.sh [BYTES]. Needs Debian's package ripgrep and BYTES of free space in $TMPDIR.
# The file is in the page cache. Times are CPU times, of five runs the least, so that a busy machine disturbs little.
# ripgrep maps the file; our whole process reads it and checks it to be text before it scans, and the scan alone is the
# whole process less one that only reads.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
fixtures=$(cd "$here/../../../fixtures" && pwd)

bytes=${1:-1000000000}
command -v rg >/dev/null || { echo "ripgrep is missing: apt-get install ripgrep" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$here/.." && cargo build --quiet --release --example log_speed)
speed=${CARGO_TARGET_DIR:-$here/../../../target}/release/examples/log_speed
one_core=()
command -v taskset >/dev/null && one_core=(taskset -c 0)

"$speed" texts >"$work/texts"
# Lines of the H200 recordings; terminal codes are left out, they would be unwrapped first.
mapfile -t logs < <(grep -LP '\x1b' "$fixtures"/h200/*/server.log)
"$speed" quiet "$bytes" "${logs[@]}" | tr -d '\r' >"$work/quiet.log"

# The least CPU time of five runs of a command, in seconds; one that finds nothing may say so with its exit code.
least_cpu() {
    local TIMEFORMAT='%U %S'
    for _ in 1 2 3 4 5; do
        { time { "${one_core[@]}" "$@" >/dev/null 2>"$work/errors" || [[ $? -eq 1 ]]; }; } 2>&1
    done | awk 'NR == 1 || $1 + $2 < best { best = $1 + $2 } END { print best }'
}
bytes_of() { stat -c %s "$1"; }
speed_of() { awk -v size="$(bytes_of "$1")" -v time="$2" 'BEGIN { printf "%.2f", size / time / 1e9 }'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { print a - b }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# Sets `whole` and `scan`, in GB/s. No scan of a gigabyte ends in the 10 ms given, so there is exactly one.
ours() {
    local once reading
    reading=$(least_cpu "$speed" scan "$1" 0)
    once=$(least_cpu "$speed" scan "$1" 0.01)
    whole=$(speed_of "$1" "$once")
    scan=$(speed_of "$1" "$(less "$once" "$reading")")
}

quiet=$work/quiet.log
ours "$quiet"
theirs=$(speed_of "$quiet" "$(least_cpu rg --no-config -j1 -F -c -f "$work/texts" "$quiet")")
found=$(rg --no-config -F -c -f "$work/texts" "$quiet" || true)
echo "$(wc -l <"$work/texts") texts, $(bytes_of "$quiet") bytes, $(wc -l <"$quiet") lines, of which ${found:-0} hold one"
echo "intriage $scan GB/s, its whole process $whole GB/s"
echo "ripgrep $(rg --version | head -n 1 | cut -d' ' -f2) $theirs GB/s"
echo "ratio $(ratio "$scan" "$theirs"), whole process $(ratio "$whole" "$theirs")"

# A real log as it is: access lines are counted and periodic lines read.
real=$work/real.log
for _ in $(seq 1 1000); do tr -d '\r' <"$fixtures/h200/vllm-h200-healthy30/server.log"; done >"$real"
ours "$real"
theirs=$(speed_of "$real" "$(least_cpu rg --no-config -j1 -F -c -f "$work/texts" "$real")")
echo "a real log, $(bytes_of "$real") bytes: intriage $scan GB/s, ripgrep $theirs GB/s"

# Access lines and statistics alone: every line holds a text.
served=$work/served.log
"$speed" served "$bytes" >"$served"
ours "$served"
theirs=$(speed_of "$served" "$(least_cpu rg --no-config -j1 -F -c -f "$work/texts" "$served")")
echo "a log full of matches, $(bytes_of "$served") bytes: intriage $scan GB/s, ripgrep $theirs GB/s, ratio $(ratio "$scan" "$theirs")"

if [[ -n ${INTRIAGE:-} ]]; then
    whole=$(least_cpu "$INTRIAGE" check "$served")
    peak=$(/usr/bin/time -f %M "${one_core[@]}" "$INTRIAGE" check "$served" 2>&1 >/dev/null | tail -n 1)
    echo "check of it, from the start of the process to its end: $whole s of CPU, $((peak / 1024)) MiB at most"
fi
