#!/usr/bin/env bash
# Searches 1 GB of real log lines that hold none of our texts with our scan and with ripgrep for the same texts, one
# after the other on one core, and prints the speeds and the ratio; then a real log as it is.
#
# Usage: log_scan_vs_ripgrep.sh [BYTES] [SECONDS]. Needs Debian's package ripgrep and BYTES of free space in $TMPDIR.
# Each side reports its fastest run, with the file in the page cache, so that a busy machine disturbs neither.
# ripgrep's time is that of its whole process, which maps the file; ours is that of the scan, and of its whole process
# (which also reads the file and checks it to be text) in brackets.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
fixtures=$(cd "$here/../../../fixtures" && pwd)

bytes=${1:-1000000000}
seconds=${2:-6}
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
size=$(stat -c %s "$work/quiet.log")

gigabytes_per_second() { awk -v size="$size" -v time="$1" 'BEGIN { printf "%.2f", size / time / 1e9 }'; }
# The fastest of five runs of a command, in seconds; one that finds nothing may say so with its exit code.
fastest() {
    local best="" start end
    for _ in 1 2 3 4 5; do
        start=$(date +%s%N)
        "${one_core[@]}" "$@" >/dev/null || [[ $? -eq 1 ]]
        end=$(date +%s%N)
        if [[ -z $best ]] || ((end - start < best)); then best=$((end - start)); fi
    done
    awk -v ns="$best" 'BEGIN { printf "%.6f", ns / 1e9 }'
}

cat "$work/quiet.log" >/dev/null
ours=$("${one_core[@]}" "$speed" scan "$work/quiet.log" "$seconds")
process=$(fastest "$speed" scan "$work/quiet.log" 0.000001)
theirs=$(fastest rg --no-config -j1 -F -c -f "$work/texts" "$work/quiet.log")
found=$(rg --no-config -F -c -f "$work/texts" "$work/quiet.log" || true)

echo "$(wc -l <"$work/texts") texts, $size bytes, $(wc -l <"$work/quiet.log") lines, of which ${found:-0} hold one"
echo "intriage $ours [whole process $(gigabytes_per_second "$process") GB/s]"
echo "ripgrep $(rg --version | head -n 1 | cut -d' ' -f2) $(gigabytes_per_second "$theirs") GB/s"
awk -v ours="${ours%% *}" -v theirs="$(gigabytes_per_second "$theirs")" 'BEGIN { printf "ratio %.2f\n", ours / theirs }'

# A real log as it is: access lines are counted and periodic lines read.
real=$fixtures/h200/vllm-h200-healthy30/server.log
for _ in $(seq 1 1000); do tr -d '\r' <"$real"; done >"$work/real.log"
echo "a real log, $(stat -c %s "$work/real.log") bytes: intriage $("${one_core[@]}" "$speed" scan "$work/real.log" "$seconds")"
