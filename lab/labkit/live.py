"""What the live tests of `intriage check` share: the binary, a folder for its files, the count of what passed."""

import argparse
import os
import pathlib
import shutil
import tempfile

from labkit.others import Others
from labkit.pulse import TRIES_STANDING_STILL, Pulse


def named(report):
    """The primary cause of a verdict, or None."""
    return (report["verdict"].get("primary") or {}).get("cause")


def facts_about(report, cause):
    """What a verdict says for a cause, or why it is ruled out."""
    told = [f for part in ("findings", "ruled_out") for f in report[part] if f["cause"] == cause]
    facts = told[0].get("for", told[0].get("because", [])) if told else []
    return [fact["says"] for fact in facts]


class Tally:
    """What passed and what failed, told as it comes."""

    def __init__(self):
        self.passed = self.failed = self.unjudged = 0

    def judge(self, name, server, attempt, faults, facts=lambda report: (), fault=()):
        """`attempt()` gives a report; `faults(report)` what is wrong with it. A wrong one is only held against
        intriage if the rest of the machine (without the processes in `fault`) was quiet meanwhile, and the machine ran; else it
        is tried again, and once in any case."""
        for tries in range(1, TRIES_STANDING_STILL + 1):
            with Others(server, fault) as others, Pulse() as pulse:
                report = attempt()
            reasons = list(faults(report))
            unfit = others.too_many() or pulse.stood_still()
            if not reasons or not (unfit or pulse.again(tries)):
                self.tell(name, report, reasons, facts(report))
                return
            told = f"others took {others.share:.0%} of the CPUs, the longest wait was {pulse.longest:.1f} s: {'; '.join(reasons)}"
            print(f"again {name}: {told}", flush=True)
        self.unjudged += 1
        print(f"NOT JUDGED {name}: the machine was busy or stood still {TRIES_STANDING_STILL} times", flush=True)

    def tell(self, name, report, reasons, facts=()):
        """One verdict: its answer, the facts behind it, and what is wrong with it."""
        self.passed, self.failed = self.passed + (not reasons), self.failed + bool(reasons)
        print(f"{'FAIL' if reasons else 'PASS'} {name}: {report['verdict']['answer']}", flush=True)
        for line in (*facts, *reasons):
            print(f"  {line}", flush=True)


def main(doc, name, run):
    """Command line entry: calls `run(binary, folder)`, which returns a Tally; returns the exit status."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intriage", required=True, type=pathlib.Path, help="the binary to test")
    parser.add_argument("--keep", action="store_true", help="keep logs and cases even when all passes")
    args = parser.parse_args()
    binary = args.intriage.resolve()
    if not os.access(binary, os.X_OK):
        parser.error(f"{binary} is not a program")
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"intriage-{name}-"))
    # Servers that run as another user keep their temporary files here.
    work.chmod(0o755)
    tally = run(binary, work)
    if args.keep or tally.failed or tally.unjudged:
        print(f"logs and cases are in {work}")
    else:
        shutil.rmtree(work)
    busy = f", {tally.unjudged} not judged (busy machine)" if tally.unjudged else ""
    print(f"{tally.passed} passed, {tally.failed} failed{busy}", flush=True)
    return 1 if tally.failed else 0
