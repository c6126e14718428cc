#!/usr/bin/env bash
# `intriage check` on a folder of 100 scrapes, ten times: the fastest and the median in milliseconds.
#
# Usage: check_100_scrapes.sh. The folder is a real recording of vLLM 0.26 on an H200, its scrapes repeated in time.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
cargo build --release --quiet --manifest-path "$root/Cargo.toml"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$root"/fixtures/recordings/vllm-h200-longprompt2/{server.log,cmdline.txt,dmon.txt,smi_q.txt} "$folder"
mkdir "$folder/metrics"
mapfile -t scrapes < <(ls "$root"/fixtures/recordings/vllm-h200-longprompt2/metrics/*.txt)
for i in $(seq 0 99); do
  cp "${scrapes[$((i * ${#scrapes[@]} / 100))]}" "$folder/metrics/$((1794713507306 + i * 1500)).txt"
done
size=$(du -sh "$folder/metrics" | cut -f1)
for mode in --no-predict ""; do
  for _ in $(seq 10); do
    start=$(date +%s%N)
    "$root/target/release/intriage" check "$folder" --format json $mode >/dev/null || [ $? -le 3 ]
    echo $((($(date +%s%N) - start) / 1000))
  done | sort -n | awk -v what="check ${mode:-with its predictions} on 100 scrapes ($size)" \
    '{ t[NR] = $1 } END { printf "%s: fastest %.0f ms, median %.0f ms\n", what, t[1] / 1000, t[int((NR + 1) / 2)] / 1000 }'
done
