"""Keeps recordings of a judged batch as fixtures: a case file beside its truth, without the machine's snapshots.

    keep.py BATCH PREFIX NN [NN ...]      makes fixtures/blind/PREFIX-NN/{recording.case,truth.json}

A snapshot of a machine is ten times as large as everything else; --host keeps the first, the middle and the last one.
"""

import argparse
import pathlib
import shutil
import zipfile

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures/blind"


def wanted(files, host):
    """Which files of a recording are kept."""
    kept = [f for f in files if f.parts[0] != "host" and f.name != "truth.json"]
    shots = sorted({f.parts[1] for f in files if f.parts[0] == "host"})
    chosen = {shots[0], shots[len(shots) // 2], shots[-1]} if host and shots else set()
    return kept + [f for f in files if f.parts[0] == "host" and f.parts[1] in chosen]


def keep(batch, prefix, number, host):
    """Packs one recording."""
    source, target = batch / number, FIXTURES / f"{prefix}-{number}"
    target.mkdir(parents=True, exist_ok=True)
    files = sorted(p.relative_to(source) for p in source.rglob("*") if p.is_file())
    with zipfile.ZipFile(target / "recording.case", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name in wanted(files, host):
            out.writestr(zipfile.ZipInfo(str(name), (1980, 1, 1, 0, 0, 0)), (source / name).read_bytes(), zipfile.ZIP_DEFLATED, 9)
    shutil.copy(source / "truth.json", target / "truth.json")
    return (target / "recording.case").stat().st_size


def main():
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batch", type=pathlib.Path)
    parser.add_argument("prefix")
    parser.add_argument("numbers", nargs="+")
    parser.add_argument("--host", action="store_true")
    args = parser.parse_args()
    for number in args.numbers:
        print(f"{args.prefix}-{number}: {keep(args.batch, args.prefix, number, args.host) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
