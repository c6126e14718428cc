"""What really happened, from the ground-truth server's log. Times in the log are ns, here they are seconds."""

import math


def quantile(values, share, interpolated=False):
    """The value at a share, by the nearest rank, or between the two nearest as NumPy does."""
    if not values:
        return None
    values = sorted(values)
    if interpolated:
        at = share * (len(values) - 1)
        low = math.floor(at)
        high = min(low + 1, len(values) - 1)
        return values[low] + (at - low) * (values[high] - values[low])
    return values[max(0, math.ceil(share * len(values)) - 1)]


def spread(name, values, interpolated):
    return {f"{name}_p50": quantile(values, 0.5, interpolated), f"{name}_p99": quantile(values, 0.99, interpolated)}


def truth(log, cell, asked, interpolated=False):
    """The figures a perfect client would report. `interpolated`: by which rule the client takes its quantiles."""
    wanted = [served for served in log if served["want"] == cell.tokens and served["stream"]]
    wanted.sort(key=lambda served: served["arrived"])
    # Clients try the server with requests of the same kind first; those that count come last.
    wanted = wanted[-asked:]
    if not wanted:
        return {}
    good = [s for s in wanted if s["status"] == 200 and s["writes"] and not s["aborted"]]
    arrived = [s["arrived"] for s in wanted]
    begin, end = arrived[0], max(s["done"] for s in wanted)
    found = {
        "sent": len(wanted),
        "ok": len(good),
        "refused": sum(s["status"] != 200 for s in wanted),
        "aborted": sum(s["aborted"] for s in wanted),
        "tokens": sum(s["tokens"] for s in wanted),
        "connections": len({s["connection"] for s in wanted}),
        "begin": begin,
        "end": end,
        # What the server really had to do at once, on average: a client out of breath quietly sends less.
        "held": sum(s["done"] - s["arrived"] for s in wanted) / max(1, end - begin),
    }
    if good:
        found["tokens_per_answer"] = sum(s["tokens"] for s in good) / len(good)
    if cell.kind == "capacity":
        return found | capacity(arrived, cell)
    times = lambda s: [at for _, at in s["writes"]]
    found |= spread("ttft", [(times(s)[0] - s["arrived"]) / 1e9 for s in good], interpolated)
    gaps = [(b - a) / 1e9 for s in good for a, b in zip(times(s), times(s)[1:])]
    found |= spread("itl", gaps, interpolated)
    means = [(times(s)[-1] - times(s)[0]) / 1e9 / (s["tokens"] - 1) for s in good if s["tokens"] > 1]
    found |= spread("tpot", means, interpolated)
    if cell.rate:
        found |= punctuality(arrived, cell.rate)
    return found


def capacity(arrived, cell):
    """Requests and tokens a second, by arrivals: the opening burst and the tail are outside."""
    first, last = cell.concurrency, len(arrived) - 1
    if last <= first:
        return {}
    rate = (last - first) / ((arrived[last] - arrived[first]) / 1e9)
    return {"requests_per_second": rate, "tokens_per_second": rate * cell.tokens}


def punctuality(arrived, rate):
    """How late requests came against a constant rate. Nobody knows when a client meant to begin, so the most punctual of
    all requests counts as on time."""
    late = [at - i / rate * 1e9 for i, at in enumerate(arrived)]
    on_time = min(late)
    late = [(x - on_time) / 1e9 for x in late]
    return {
        "rate": (len(arrived) - 1) / max(1e-9, (arrived[-1] - arrived[0]) / 1e9),
        "late_p50": quantile(late, 0.5),
        "late_p99": quantile(late, 0.99),
        "late_most": max(late),
    }
