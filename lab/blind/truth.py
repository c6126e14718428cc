"""What a fault did to the clients: the draw's figures over its control's. Nothing of the server is looked at.

A ratio above 1 is worse, for throughput and completed answers too (there it is control over draw). A fault that moved none of
them by HARMLESS is a healthy case with a benign note.
"""

import json
import pathlib

HARMLESS = 1.15  # run-to-run noise of p95 at a few hundred requests; issue 12 calls less than this no harm
ERROR_FLOOR = 0.02  # share of requests added on both sides: one error in 200 is not infinitely worse than none
TTFT_FLOOR_MS = 5.0  # no client sees less than this
LEAST = 8  # answers shorter than this give no time per token


def read(path):
    """(records, run) of a client file."""
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line]
    run = next(line["run"] for line in lines if "run" in line)
    records = [line for line in lines if "run" not in line]
    for record in records:
        # What the end of the load cut off did not fail.
        if record["error"] == "cut" and record["end"] >= run["ended"] - 1:
            record["error"] = "open"
    return records, run


def quantile(values, q):
    """Nearest rank; None without values."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(q * len(ranked)))] if ranked else None


def first_token_waits(records):
    """TTFTs in ms. Who still waited at the end counts with the time waited when that is longer than the median of the others."""
    seen = [r["first"] - r["sent"] for r in records if r["first"]]
    middle = quantile(seen, 0.5) or 0.0
    waited = [r["end"] - r["sent"] for r in records if not r["first"] and r["error"] == "open"]
    return seen + [w for w in waited if w > middle]


def token_times(records):
    """TPOTs in ms, of answers with enough tokens. Answers still open count with the time since their last token."""
    found = []
    for r in records:
        tokens = r["output_tokens"] or r["chunks"]
        if r["first"] and tokens >= LEAST and r["error"] != "left":
            found.append((r["last"] - r["first"]) / (tokens - 1))
    return found


def figures(records, run, window_ms, only=None):
    """What the clients of a window saw. `only` restricts to some classes, as a fault's own requests are not its victims."""
    start, end = window_ms
    inside = [r for r in records if start <= r["sent"] <= end and (only is None or r["class"] in only)]
    ttft, tpot = first_token_waits(inside), token_times(inside)
    failed = [r for r in inside if r["error"] not in (None, "open", "left")]
    left = [r for r in inside if r["error"] == "left"]
    seconds = {int(s): n for s, n in run["tokens_per_second"].items()}
    whole = range(int(start // 1000) + 1, int(end // 1000))
    answered = [r for r in inside if r["error"] != "open"]
    return {
        "requests": len(inside),
        "ttft_p50": quantile(ttft, 0.5),
        "ttft_p95": quantile(ttft, 0.95),
        "tpot_p50": quantile(tpot, 0.5),
        "tpot_p95": quantile(tpot, 0.95),
        "tokens_per_s": sum(seconds.get(s, 0) for s in whole) / max(1, len(whole)),
        "errors": len(failed) / max(1, len(inside)),
        "left": len(left) / max(1, len(inside)),
        "completed": (len(answered) - len(failed) - len(left)) / max(1, len(answered)),
        "prompt_tokens_mean": mean(r["prompt_tokens"] for r in inside),
        "output_tokens_mean": mean(r["output_tokens"] for r in inside),
    }


def mean(values):
    """Mean of what is not None."""
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def over(fault, control, floor=0.0):
    """fault / control, None where one is missing."""
    if fault is None or control is None or max(control, floor) == 0:
        return None
    return round(max(fault, floor) / max(control, floor), 3)


def ratios(fault, control):
    """How much worse each figure is with the fault."""
    return {
        "ttft_p50": over(fault["ttft_p50"], control["ttft_p50"], TTFT_FLOOR_MS),
        "ttft_p95": over(fault["ttft_p95"], control["ttft_p95"], TTFT_FLOOR_MS),
        "tpot_p50": over(fault["tpot_p50"], control["tpot_p50"]),
        "tpot_p95": over(fault["tpot_p95"], control["tpot_p95"]),
        "throughput": over(control["tokens_per_s"], fault["tokens_per_s"]),
        "errors": round((fault["errors"] + ERROR_FLOOR) / (control["errors"] + ERROR_FLOOR), 3),
        "completed": over(control["completed"], fault["completed"]),
    }


def harm(found):
    """The largest ratio."""
    return max((v for v in found.values() if v is not None), default=None)
