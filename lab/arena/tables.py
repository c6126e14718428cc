"""The tables of a run, as Markdown: medians over the repeats."""

import statistics

from cells import CELLS


def number(value, digits=3):
    """A number with about three figures, or a dash."""
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return "0" if value == 0 else f"{value:.{digits}g}" if abs(value) >= 0.001 else f"{value:.4f}"


def ms(value):
    return "–" if value is None else f"{value * 1e3:.3f}" if abs(value) < 0.01 else f"{value * 1e3:.1f}"


def signed(value):
    return "–" if value is None else ("+" if value >= 0 else "−") + ms(abs(value))


def times(value, by):
    return "–" if value is None or not by else f"{number(value / by)}×"


def size(miss, other):
    """How many times as large an error is as another."""
    return "–" if miss is None or not other else times(abs(miss), abs(other))


def median(rows, get):
    found = []
    for row in rows:
        try:
            value = get(row)
        except (KeyError, TypeError):
            continue
        if value is not None:
            found.append(value)
    return statistics.median(found) if found else None


def error(row, name):
    """Said less true; None where either is missing."""
    said, true = row["said"].get(name), row["truth"].get(name)
    return None if said is None or true is None else said - true


def certificate(rows):
    """Status, error and whether it covered, of a tool that certifies itself."""
    found = [row["said"]["certificate"] for row in rows if row["said"].get("certificate")]
    if not found:
        return "–"
    valid = sum(one["status"] == "VALID" for one in found)
    text = "VALID" if valid == len(found) else "INVALID" if not valid else f"VALID {valid} of {len(found)}"
    bound = median(rows, lambda row: row["said"]["certificate"]["ttft_error"])
    covered = [covers(row) for row in rows if covers(row) is not None]
    return f"{text} ±{ms(bound)}, covered {sum(covered)} of {len(covered)}"


def covers(row):
    """Whether the certificate's ± holds the true errors of median and 99th percentile; None where none is given."""
    bound = (row["said"].get("certificate") or {}).get("ttft_error")
    errors = [error(row, "ttft_p50"), error(row, "ttft_p99")]
    if bound is None or None in errors:
        return None
    return all(abs(one) <= bound for one in errors)


def cost(rows):
    get = lambda name: median(rows, lambda row: row["cost"][name])
    memory = get("memory")
    return [
        number(get("load_cpu_per_million_tokens")),
        number(get("cpu_per_million_tokens")),
        number(memory and memory / 1e6),
        number(get("start")),
        number(get("client")),
        number(get("server")),
        number(get("foreign")),
    ]


COST = ["CPU s/Mtok in load", "all", "peak MB", "start s", "client core", "server core", "foreign"]


def capacity(by_tool):
    head = ["tool", "tokens/s", "requests/s", "of bare", "intriage is", "said tokens/s", "CPU of bare", *COST]
    rate = {tool: median(rows, lambda row: row["truth"]["tokens_per_second"]) for tool, rows in by_tool.items()}
    # In load: tools send different numbers of requests, and a slow start over few tokens would count many times. A load too
    # short to be sampled is that of a tool whose start is short as well.
    used = lambda row: row["cost"].get("load_cpu_per_million_tokens") or row["cost"]["cpu_per_million_tokens"]
    cpu = {tool: median(rows, used) for tool, rows in by_tool.items()}
    for tool, rows in by_tool.items():
        yield head, [
            tool,
            number(rate[tool]),
            number(median(rows, lambda row: row["truth"]["requests_per_second"])),
            times(rate[tool], rate.get("bare")),
            times(rate.get("intriage"), rate[tool]),
            number(median(rows, lambda row: row["said"]["tokens_per_second"])),
            times(cpu[tool], cpu.get("bare")),
            *cost(rows),
        ]


def accuracy(by_tool):
    head = ["tool", "held", "TTFT true p50", "p99", "said − true p50", "p99", "p99 of bare's", "of ours", "tpot p50", "gap p50",
            "gap p99", "certificate", *COST]
    miss = lambda rows, name: median(rows, lambda row: error(row, name))
    bare, ours = (miss(by_tool.get(name, []), "ttft_p99") for name in ("bare", "intriage"))
    for tool, rows in by_tool.items():
        p99 = miss(rows, "ttft_p99")
        true = lambda name: ms(median(rows, lambda row: row["truth"][name]))
        yield head, [
            tool,
            number(median(rows, lambda row: row["truth"]["held"])),
            true("ttft_p50"),
            true("ttft_p99"),
            signed(miss(rows, "ttft_p50")),
            signed(p99),
            *(size(p99, other) for other in (bare, ours)),
            signed(miss(rows, "tpot_p50")),
            signed(miss(rows, "itl_p50")),
            signed(miss(rows, "itl_p99")),
            certificate(rows),
            *cost(rows),
        ]


def punctual(by_tool):
    head = ["tool", "rate true", "late p50", "late p99", "late most", "late p99 of bare's", "of ours", "TTFT said − true p50",
            "p99", "certificate", *COST]
    late = {tool: median(rows, lambda row: row["truth"]["late_p99"]) for tool, rows in by_tool.items()}
    for tool, rows in by_tool.items():
        yield head, [
            tool,
            number(median(rows, lambda row: row["truth"]["rate"]), 4),
            ms(median(rows, lambda row: row["truth"]["late_p50"])),
            ms(late[tool]),
            ms(median(rows, lambda row: row["truth"]["late_most"])),
            *(times(late[tool], late.get(name)) for name in ("bare", "intriage")),
            signed(median(rows, lambda row: error(row, "ttft_p50"))),
            signed(median(rows, lambda row: error(row, "ttft_p99"))),
            certificate(rows),
            *cost(rows),
        ]


def semantics(by_tool):
    head = ["tool", "answered said / true", "failed said / true", "tokens an answer said / true", "TTFT p50 said / true",
            "tpot p50 said / true"]
    for tool, rows in by_tool.items():
        said = lambda name: median(rows, lambda row: row["said"][name])
        true = lambda name: median(rows, lambda row: row["truth"][name])
        pair = lambda show, a, b: f"{show(said(a))} / {show(true(b))}"
        yield head, [
            tool,
            pair(number, "ok", "ok"),
            pair(number, "failed", "refused"),
            pair(number, "tokens_per_answer", "tokens_per_answer"),
            pair(ms, "ttft_p50", "ttft_p50"),
            pair(ms, "tpot_p50", "tpot_p50"),
        ]


SHOWN = {"capacity": capacity, "accuracy": accuracy, "open": punctual, "semantics": semantics}


def load_of(cell):
    return f"{cell.rate:g} requests/s" if cell.rate else f"{cell.concurrency} at once"


def markdown(results, order):
    """Every table, as one text."""
    lines = []
    for name, cell in CELLS.items():
        rows = [row for row in results if row["cell"] == name]
        if not rows:
            continue
        lines += [f"### {name}: {cell.shows}", "", f"`{cell.server}`, {load_of(cell)}, {cell.tokens} tokens; times in ms.", ""]
        known = [tool for tool in order if any(row["tool"] == tool for row in rows)]
        fine = {tool: [row for row in rows if row["tool"] == tool and row["status"] == 0 and row["truth"]] for tool in known}
        bad = {tool: [row for row in rows if row["tool"] == tool and (row["status"] != 0 or not row["truth"])] for tool in known}
        table = list(SHOWN[cell.kind]({tool: found for tool, found in fine.items() if found}))
        if table:
            lines += [row_of(table[0][0]), row_of(["---"] * len(table[0][0])), *(row_of(row) for _, row in table), ""]
        for tool, rows in bad.items():
            if rows:
                why = "took too long" if rows[0]["timed_out"] else f"ended with {rows[0]['status']}"
                lines += [f"{tool}: {len(rows)} of {len(rows) + len(fine[tool])} runs failed ({why}).", ""]
    return "\n".join(lines)


def row_of(cells):
    return "| " + " | ".join(cells) + " |"
