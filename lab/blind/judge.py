"""Judges a batch: `intriage check` on every recording, with the objectives and the profile of its draw, against its truth.

    judge.py BATCH --intriage BIN [--list]

The first look at a batch goes into SCOREBOARD.md, by a commit that was frozen before; --list shows each recording and is for
learning afterwards.
"""

import argparse
import json
import pathlib
import subprocess

TWICE = 2.0


def verdict(intriage, folder, truth):
    """What `intriage check` says of a recording."""
    command = [intriage, "check", folder, "--format", "json", "--profile", truth.get("profile") or "interactive"]
    for objective in truth.get("slo") or []:
        command += ["--slo", objective]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{folder}: exit {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def judged(intriage, folder):
    """(truth, what was said, whether that is right)."""
    truth = json.loads((folder / "truth.json").read_text())
    said = verdict(intriage, folder, truth)["verdict"]
    cause = said["primary"]["cause"]
    if truth["status"] == "finding":
        right = cause is not None and cause in (truth["cause"], *truth["accept"])
    else:
        right = said["status"] == truth["status"]
    return truth, said, right


def row(name, cases):
    """One line of the table."""
    seen = sum(said["status"] == "finding" for _, said, _ in cases)
    right = sum(right for *_, right in cases)
    return f"| {name} | {len(cases)} | {seen} | {right} |"


def main():
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batch", type=pathlib.Path)
    parser.add_argument("--intriage", type=pathlib.Path, required=True)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    folders = sorted(p.parent for p in args.batch.glob("*/truth.json"))
    cases = [(folder, *judged(args.intriage, folder)) for folder in folders]
    if args.list:
        for folder, truth, said, right in cases:
            mark = "ok  " if right else "MISS"
            print(f"{mark} {folder.name} {truth['cause'] or 'healthy'} (harm {truth['harm']}): {said['status']} {said['primary']['cause']}")
            if not right:
                print(f"        {truth['what']}\n        {said['answer']}")
    plain = [case[1:] for case in cases]
    hurt = [c for c in plain if c[0]["status"] == "finding"]
    print("| | cases | finding | right |\n|---|---|---|---|")
    print(row("harm of 2 and more", [c for c in hurt if c[0]["harm"] >= TWICE]))
    print(row("harm of 1.15 to 2", [c for c in hurt if c[0]["harm"] < TWICE]))
    print(row("healthy (a finding is an alarm)", [c for c in plain if c[0]["status"] != "finding"]))
    print(row("all", plain))


if __name__ == "__main__":
    main()
