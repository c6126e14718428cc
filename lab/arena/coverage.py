#!/usr/bin/env python3
"""Does the ± of a certificate hold? Many short runs of `intriage bench`, quiet and disturbed, against the truth.

  coverage.py --intriage PATH [--runs 40] [--out coverage.jsonl] [--real-time]

Of the runs that call themselves VALID, in what share do |said − true| of the median and of the 99th percentile of the
first-token time lie within `certificate.ttft_error`? Runs that call themselves INVALID promise nothing and are counted only.
"""

import argparse
import json
import pathlib

import peers
import tables
from cells import Cell, same
from run import arena, arguments

# Short answers whose tokens come at random within 4 ms, so that quantiles are not trivial; less than the time between
# tokens, so that none waits for the one before it.
SERVER = "mode=paced,ttft_ms=20,itl_ms=5,jitter_ms=4"
TOKENS = 8
# Streams, and requests: more than 100, so that the 99th percentile is not the largest time. Nobody asks for it, so their
# number makes no run INVALID: client and server name the same requests, and how many they are does not matter to ±.
LOADS = [(1, 110), (16, 320), (64, 640), (256, 2_048)]
# What else runs on the client's core: nothing, or a loop that wants a fifth of it.
DISTURBED = [(), (0.2,)]


def settings():
    for streams, requests in LOADS:
        for busy in DISTURBED:
            name = f"{streams} streams" + (", disturbed" if busy else "")
            yield Cell(name, "accuracy", "coverage", SERVER, TOKENS, same(requests), concurrency=streams, busy=busy)


def seeded(cell, seed):
    return Cell(**(vars(cell) | {"server": f"{cell.server},seed={seed}"}))


def summary(rows):
    """A line for each setting, and one for all."""
    lines = [["load", "runs", "VALID", "p50 covered", "p99 covered", "± median", "worst error p50", "worst error p99",
              "INVALID, both covered"]]
    groups = [cell.name for cell in settings()]
    for name in [*groups, "all"]:
        mine = [row for row in rows if name in ("all", row["cell"]) and row["said"].get("certificate")]
        valid = [row for row in mine if row["said"]["certificate"]["status"] == "VALID"]
        invalid = [row for row in mine if row not in valid]
        bound = lambda row: row["said"]["certificate"]["ttft_error"]
        held = lambda which: sum(abs(tables.error(row, which)) <= bound(row) for row in valid)
        worst = lambda which: max((abs(tables.error(row, which)) for row in valid), default=None)
        share = lambda which: f"{held(which)} of {len(valid)}"
        lines.append([name, str(len(mine)), str(len(valid)), share("ttft_p50"), share("ttft_p99"),
                      tables.ms(tables.median(valid, bound)), tables.ms(worst("ttft_p50")), tables.ms(worst("ttft_p99")),
                      f"{sum(map(bool, map(tables.covers, invalid)))} of {len(invalid)}"])
    return "\n".join(tables.row_of(line) for line in [lines[0], ["---"] * len(lines[0]), *lines[1:]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments(parser)
    parser.add_argument("--runs", type=int, default=40, help="in all; the settings take turns")
    parser.add_argument("--out", type=pathlib.Path, help="rows are added to it")
    options = parser.parse_args()
    place, tool, rows = arena(options), peers.Intriage(options.intriage.resolve()), []
    cells = list(settings())
    with place.scheduled():
        for number in range(options.runs):
            cell = cells[number % len(cells)]
            row = place.run(tool, seeded(cell, number + 1), options.timeout)
            rows.append(row)
            if options.out:
                with options.out.open("a") as out:
                    out.write(json.dumps(row) + "\n")
            verdict = row["said"].get("certificate") or {}
            print(f"{number + 1:3} {cell.name:24} {verdict.get('status', row.get('why'))} ±{tables.ms(verdict.get('ttft_error'))} "
                  f"p50 {tables.signed(tables.error(row, 'ttft_p50'))} p99 {tables.signed(tables.error(row, 'ttft_p99'))} "
                  f"foreign {tables.number(row['cost'].get('foreign'), 2)} {'; '.join(verdict.get('reasons', []))}", flush=True)
    print("\n" + summary(rows))


if __name__ == "__main__":
    main()
