"""What the live tests of `intriage check` share: the binary, a folder for its files, the count of what passed."""

import argparse
import os
import pathlib
import shutil
import tempfile


def named(report):
    """The primary cause of a verdict, or None."""
    return (report["verdict"].get("primary") or {}).get("cause")


class Tally:
    """What passed and what failed, told as it comes."""

    def __init__(self):
        self.passed = self.failed = 0

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
    if args.keep or tally.failed:
        print(f"logs and cases are in {work}")
    else:
        shutil.rmtree(work)
    print(f"{tally.passed} passed, {tally.failed} failed", flush=True)
    return 1 if tally.failed else 0
