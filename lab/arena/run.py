#!/usr/bin/env python3
"""The arena: load generators as clients, against a server that knows the truth and a bare read loop.

  run.py run --intriage PATH [--cells a,b] [--tools x,y] [--repeats 3] [--out results.jsonl] [--real-time]
  run.py table results.jsonl...       the tables of earlier runs, as Markdown
  run.py list                         cells and tools, and which tools are here

Runs are interleaved (repeat, cell, tool), so that ratios stay fair on a machine that others use too. README.md says how to
read the figures. Only the standard library is needed here; install puts the tools in place.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

import peers
import tables
import tokenizer
from arenakit import Arena
from cells import CELLS

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"


def names(text, known, what):
    """Names from a list with commas; a wrong one is told."""
    found = text.split(",") if text else list(known)
    wrong = [name for name in found if name not in known]
    if wrong:
        raise SystemExit(f"unknown {what}: {', '.join(wrong)}; known are {', '.join(known)}")
    return found


def arguments(parser):
    parser.add_argument("--intriage", type=pathlib.Path, default=TARGET / "intriage", help="binary: server and client")
    parser.add_argument("--bare", type=pathlib.Path, default=TARGET / "examples/bare", help="the bare read loop")
    parser.add_argument("--client-core", type=int, default=0)
    parser.add_argument("--server-core", type=int, default=1)
    parser.add_argument("--real-time", action="store_true", help="real-time scheduling for client and server; root")
    parser.add_argument("--timeout", type=float, default=300, help="seconds one run may take")
    parser.add_argument("--folder", type=pathlib.Path, help="where runs leave their files; kept")


def arena(options):
    """The arena that the options describe."""
    if not options.intriage.exists():
        raise SystemExit(f"{options.intriage} is missing, and it is the server: lab/arena/install builds it")
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="arena-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    words = tokenizer.write(folder / "tokenizer")
    home = tokenizer.cache(words, folder / "huggingface")
    return Arena(options.intriage.resolve(), options.client_core, options.server_core, options.real_time, folder, words, home)


def run(options):
    known = peers.tools(options.intriage.resolve(), options.bare.resolve())
    place = arena(options)
    chosen = [known[name] for name in names(options.tools, known, "tool")]
    for tool in chosen:
        if not tool.program.exists():
            print(f"{tool.name} is skipped: {tool.program} is missing", flush=True)
    chosen = [tool for tool in chosen if tool.program.exists()]
    cells = [CELLS[name] for name in names(options.cells, CELLS, "cell")]
    results = []
    with place.scheduled(), options.out.open("a") as out:
        for repeat in range(options.repeats):
            for cell in cells:
                for tool in chosen:
                    if not tool.can(cell):
                        continue
                    row = {"repeat": repeat} | place.run(tool, cell, options.timeout, options.keep)
                    results.append(row)
                    out.write(json.dumps(row) + "\n")
                    out.flush()
                    print(told(row), flush=True)
    print("\n" + tables.markdown(results, known))


def told(row):
    """A run in one line."""
    said, truth, cost = row["said"], row["truth"], row["cost"]
    parts = [f"{row['repeat']} {row['cell']:9} {row['tool']:9} {row['wall']:6.1f} s"]
    if row["status"] != 0:
        parts.append(f"status {row['status']}")
    if truth.get("tokens_per_second"):
        parts.append(f"{truth['tokens_per_second']:,.0f} tokens/s")
    if truth.get("late_p99") is not None:
        parts.append(f"late p99 {tables.ms(truth['late_p99'])} ms")
    for name in ("ttft_p50", "ttft_p99"):
        if tables.error(row, name) is not None:
            parts.append(f"{name} {tables.signed(tables.error(row, name))} ms")
    if said.get("certificate"):
        parts.append(f"{said['certificate']['status']} ±{tables.ms(said['certificate']['ttft_error'])} ms")
    parts.append(f"foreign {tables.number(cost.get('foreign'), 2)}")
    if row.get("why"):
        parts.append(row["why"])
    return "  ".join(parts)


def table(options):
    results = [json.loads(line) for path in options.results for line in path.read_text().splitlines()]
    print(tables.markdown(results, peers.tools("", "")))


def listed(options):
    for cell in CELLS.values():
        print(f"{cell.name:10} {tables.load_of(cell):16} {cell.tokens:4} tokens  {cell.shows}  ({cell.server})")
    for tool in peers.tools(options.intriage, options.bare).values():
        here = tool.version() or "here" if tool.program.exists() else "missing"
        print(f"{tool.name:10} {here:10} {tool.program}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run", help="run cells with tools")
    arguments(one)
    one.add_argument("--cells", default="", help="with commas between them; all")
    one.add_argument("--tools", default="", help="with commas between them; all")
    one.add_argument("--repeats", type=int, default=3)
    one.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results.jsonl"), help="rows are added to it")
    one.add_argument("--keep", action="store_true", help="keep the files of runs that went well, too")
    one.set_defaults(does=run)
    one = commands.add_parser("table", help="print the tables")
    one.add_argument("results", type=pathlib.Path, nargs="+")
    one.set_defaults(does=table)
    one = commands.add_parser("list", help="cells and tools")
    arguments(one)
    one.set_defaults(does=listed)
    options = parser.parse_args()
    options.does(options)


if __name__ == "__main__":
    sys.exit(main())
