"""Judges a set of logs from public threads once, and writes down what came out: ids, truth and verdict, no text of the threads.

    judge.py --intriage BIN --set DIR > first-look.tsv

DIR/NN/server.log is a log as somebody pasted it, DIR/NN/cmdline.txt the command line where one was given, DIR/NN/truth.json says where it is from and what its cause was: {"id", "engine",
"engine_recognisable", "family", "cause", "also_acceptable" (others that are as true), "decidable"}. The logs stay outside the repository.
"""

import argparse
import json
import pathlib
import subprocess
import sys

COLUMNS = ("id", "engine", "family", "decidable", "truth", "status", "named", "confidence", "engine named", "right")
LIMIT_S = 60
SURE = 0.7


def verdict(binary, log):
    """(status, cause, confidence, engine) of one log; the status is the exit code where there is no verdict."""
    run = subprocess.run([binary, "check", log, "--format", "json"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    try:
        said = json.loads(run.stdout)
    except ValueError:
        return f"exit {run.returncode}", None, 0.0, None
    primary = said["verdict"].get("primary") or {}
    return said["verdict"]["status"], primary.get("cause"), primary.get("confidence") or 0.0, said["engine"].get("name")


def judge(binary, folder):
    """One row."""
    truth = json.loads((folder / "truth.json").read_text())
    told = folder if (folder / "cmdline.txt").exists() else folder / "server.log"
    status, named, confidence, engine = verdict(binary, told)
    accepted = {truth["cause"], *truth.get("also_acceptable", ())}
    right = named is None and status != "finding" if truth["family"] == "harmless" else named in accepted
    return truth, (truth["id"], truth["engine"], truth["family"], truth["decidable"], truth["cause"], status, named, confidence, engine, right)


def share(rows, of, what):
    """`n of m what`, over the rows for which `of` holds."""
    chosen = [right for truth, row, right in rows if of(truth, row)]
    return f"{sum(chosen)} of {len(chosen)} {what}"


def main():
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intriage", type=pathlib.Path, required=True)
    parser.add_argument("--set", type=pathlib.Path, required=True)
    args = parser.parse_args()
    folders = sorted(path.parent for path in args.set.glob("*/truth.json"))
    rows = [(truth, row, row[-1]) for truth, row in (judge(args.intriage, folder) for folder in folders)]
    print("\t".join(COLUMNS))
    for _, row, _ in rows:
        print("\t".join(map(str, row)))
    fault = lambda truth, row: truth["decidable"] and truth["family"] != "harmless"
    said = [
        share(rows, fault, "decidable faults named first"),
        share(rows, lambda truth, row: truth["family"] == "harmless", "harmless logs without an alarm"),
        f"{sum(1 for t, row, right in rows if not right and row[6] and row[7] > SURE)} wrong causes above {SURE}",
        f"{sum(1 for t, row, _ in rows if t['engine_recognisable'] and row[8] == t['engine'])} of {sum(1 for t, _, _ in rows if t['engine_recognisable'])} engines recognised",
    ]
    families = sorted({truth["family"] for truth, _, _ in rows} - {"harmless"})
    said += [f"{name}: " + share(rows, lambda truth, row, name=name: fault(truth, row) and truth["family"] == name, "named") for name in families]
    print("\n".join(said), file=sys.stderr)


if __name__ == "__main__":
    main()
