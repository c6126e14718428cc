"""Makes the batch that is handed out: one folder a draw with its recording and truth.json, numbers for names, and an index.

    assemble.py PLAN.json WORK OUT

OUT/NN/ is the recording as `intriage collect` wrote it, unpacked, with truth.json. What only the truth may know (client records,
times) lies in OUT/raw/NN/. Nothing is judged here.
"""

import argparse
import json
import pathlib
import random
import shutil

import truth
from faults import TABLE

LEAST_SCRAPES = 15
GREY = (1.1, 1.3)  # harm this close to HARMLESS may be noise of run or control: `grey` says so, status and cause keep to the rule
NICE_MS = (10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10000, 20000, 30000)


def nice(value):
    """The next round number of milliseconds."""
    return next((n for n in NICE_MS if n >= value), NICE_MS[-1])


def objectives(draw, reference, seed):
    """What the owner would have asked for: twice what the server does without the fault."""
    if not draw["objective"] or draw["profile"] == "batch":
        return []
    rng = random.Random(f"{seed} objective {draw['id']}")
    given = []
    if reference["ttft_p95"] and rng.random() < 0.75:
        given.append(f"ttft.p95={nice(max(2 * reference['ttft_p95'], 200))}ms")
    if reference["tpot_p95"] and (not given or rng.random() < 0.5):
        given.append(f"itl.p95={nice(max(2 * reference['tpot_p95'], 10))}ms")
    return given


def common_window(run, other):
    """The part of a window, in seconds after the load's start, that both runs have."""
    spans = [[(t - r["load_at_ms"]) / 1e3 for t in r["window_ms"]] for r in (run, other)]
    low, high = max(s[0] for s in spans), min(s[1] for s in spans)
    return [[r["load_at_ms"] + low * 1e3, r["load_at_ms"] + high * 1e3] for r in (run, other)]


def compare(draw, folder, control):
    """(figures of the draw, figures of its control, ratios)."""
    records, run = truth.read(folder / "client.jsonl")
    times = json.loads((folder / "run.json").read_text())
    own = truth.figures(records, run, times["window_ms"])
    if control is None:
        return own, None, {name: 1.0 for name in ("ttft_p50", "ttft_p95", "tpot_p50", "tpot_p95", "throughput", "errors", "completed")}
    control_records, control_run = truth.read(control / "client.jsonl")
    control_times = json.loads((control / "run.json").read_text())
    plain = truth.figures(control_records, control_run, control_times["window_ms"])
    adds = any(TABLE[f["name"]].adds_requests for f in draw["faults"])
    victims = {s["name"] for s in draw["control"]["load"]["streams"]} if adds else None
    hurt = truth.figures(records, run, times["window_ms"], victims)
    # Tokens a second are compared over the same seconds of the same arrivals.
    mine, theirs = common_window(times, control_times)
    hurt["tokens_per_s"] = truth.figures(records, run, mine)["tokens_per_s"]
    plain["tokens_per_s"] = truth.figures(control_records, control_run, theirs)["tokens_per_s"]
    return hurt, plain, truth.ratios(hurt, plain)


def control_start(control):
    """When a control ran, in unix ms."""
    return json.loads((control / "run.json").read_text())["load_at_ms"]


def rounded(figures):
    """Figures a person can read."""
    return None if figures is None else {k: round(v, 4) if isinstance(v, float) else v for k, v in figures.items()}


def truth_of(draw, folder, control, plan):
    """truth.json of one draw."""
    own, plain, found = compare(draw, folder, control)
    harm = truth.harm(found)
    times = json.loads((folder / "run.json").read_text())
    hurts = bool(draw["faults"]) and harm is not None and harm >= truth.HARMLESS
    config = plan["configs"][draw["config"]]
    when = {name: {"start_ms": round(w[0]), "end_ms": round(w[1]) if w[1] else None} for name, w in times["when"].items() if not isinstance(w, str)}
    return {
        "cause": draw["cause"] if hurts else None,
        "accept": draw["accept"] if hurts else [],
        "status": "finding" if hurts else "healthy",
        "what": draw["what"],
        "benign": "" if hurts or not draw["faults"] else f"{draw['what']}: no client saw it",
        "fault": "+".join(f["name"] for f in draw["faults"]) or None,
        "strength": draw["faults"][0]["strength"] if draw["faults"] else None,
        "faults": draw["faults"],
        "ratios": {k: v for k, v in found.items()},
        "harm": harm,
        "grey": bool(draw["faults"]) and harm is not None and GREY[0] <= harm < GREY[1],
        "control_before_s": None if control is None else round((times["load_at_ms"] - control_start(control)) / 1e3),
        "clients": rounded(own),
        "control": rounded(plain),
        "slo": objectives(draw, plain or own, plan["seed"]),
        "profile": draw["profile"],
        "evidence": draw["evidence"],
        "window": {"start_ms": round(times["window_ms"][0]), "seconds": draw["window"], "after_load_start_s": draw["lead"]},
        "when": next(iter(when.values())) if when else None,
        "times": when,
        "problems": [f"{n}: {w}" for n, w in times["when"].items() if isinstance(w, str)],
        "engine": "llama.cpp" if plan["source"] == "llama" else "vllm",
        "flags": " ".join(config["flags"]),
        "config": draw["config"],
        "load": draw["load"],
        "source": plan["source"],
        "seed": plan["seed"],
    }


def scrapes(folder):
    """Pages of metrics, and tries that a dead server did not answer."""
    pages = list((folder / "metrics").iterdir())
    return sum(p.suffix == ".failed" or p.stat().st_size > 1000 for p in pages)


def main():
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    args = parser.parse_args()
    plan = json.loads(args.plan.read_text())
    lines, kept, sizes = [], 0, 0
    for draw in sorted((i for i in plan["items"] if i["kind"] == "draw"), key=lambda d: d["id"]):
        folder = args.work / "items" / draw["id"]
        if not (folder / "case").exists():
            lines.append(f"{draw['id']}  not recorded")
            continue
        control = args.work / "items" / draw["control"]["key"] if draw.get("control") else None
        if control and not control.exists():
            lines.append(f"{draw['id']}  left out: its control was not run")
            continue
        target, raw = args.out / draw["id"], args.out / "raw" / draw["id"]
        shutil.rmtree(target, ignore_errors=True)
        shutil.rmtree(raw, ignore_errors=True)
        shutil.copytree(folder / "case", target)
        pages = scrapes(target)
        if pages < LEAST_SCRAPES:
            lines.append(f"{draw['id']}  left out: {pages} scrapes")
            shutil.rmtree(target)
            continue
        (target / "truth.json").write_text(json.dumps(truth_of(draw, folder, control, plan), indent=1) + "\n")
        raw.mkdir(parents=True)
        shutil.copy(folder / "client.jsonl", raw / "client-truth.jsonl")
        for name in ("run.json", "load.json"):
            shutil.copy(folder / name, raw / name)
        if control:
            shutil.copy(control / "client.jsonl", raw / "control-truth.jsonl")
        size = sum(p.stat().st_size for p in target.rglob("*") if p.is_file())
        lines.append(f"{draw['id']}  {pages} scrapes  {size / 1e6:.1f} MB  gives {'+'.join(draw['evidence']) or 'metrics alone'}")
        kept, sizes = kept + 1, sizes + size
    head = [f"source {plan['source']}  seed {plan['seed']}  {kept} recordings  {sizes / 1e6:.1f} MB"]
    head += [f"configuration: {' '.join(c['flags']) or '(none)'}" for c in plan["configs"].values()]
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "raw").mkdir(exist_ok=True)
    shutil.copy(args.plan, args.out / "raw/plan.json")
    (args.out / "INDEX.txt").write_text("\n".join(head + lines) + "\n")
    print("\n".join(head[:1] + lines))


if __name__ == "__main__":
    main()
