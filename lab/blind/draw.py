"""Draws deployments from a seed: settings, load, fault, strength, evidence, objective, window. Pure: one seed, one plan.

    draw.py --source cpu|h200|llama --seed N [--draws N] [--speed F] > PLAN.json

A plan is {"source", "seed", "items": [...]} in the order in which it is run; an item is a control (a load without the fault, not
recorded) or a draw. Items beside each other with the same `config` share a server. Which kinds occur is fixed, so that every
batch covers the table; their strengths, loads, times, evidence and order are drawn.
"""

import argparse
import hashlib
import json
import random
import sys

import draw_cpu
import draw_h200
import draw_llama
from faults import TABLE

WINDOW_S = 25
LEAD_S = 2.5
AFTER_S = 1.0  # the load goes on after the window, so that its end is not seen
# What a draw hands out. Half of them leave something out. `flags` are given by hand where nothing else tells them.
EVIDENCE = ((("log", "host"), 9), (("host",), 4), (("log",), 4), (("flags",), 2), ((), 2))
OBJECTIVE_SHARE = 0.4
MODULES = {"cpu": draw_cpu, "h200": draw_h200, "llama": draw_llama}


def load_key(config, load):
    """Name of a control: loads that are the same share one."""
    return hashlib.sha256(json.dumps([config, load], sort_keys=True).encode()).hexdigest()[:10]


def evidence(rng, faults):
    """Which evidence the draw gives."""
    wanted = [e for e in EVIDENCE if "host" in e[0]] if any(TABLE[f["name"]].host for f in faults) else EVIDENCE
    return list(rng.choices([e for e, _ in wanted], [w for _, w in wanted])[0])


def finish(rng, slot):
    """A slot of a source with everything a draw has."""
    faults = slot.get("faults", [])
    window = slot.get("window", WINDOW_S)
    lead = slot.get("lead", LEAD_S)
    seconds = lead + window + AFTER_S
    load = {"seed": rng.randrange(1 << 30) if "seed" not in slot else slot["seed"], "seconds": seconds, "streams": slot["streams"]}
    draw = {
        "kind": "draw",
        "config": slot["config"],
        "faults": faults,
        "load": load,
        "lead": lead,
        "window": window,
        "what": slot["what"],
        "profile": slot.get("profile", "interactive"),
        "evidence": evidence(rng, faults),
        "objective": rng.random() < OBJECTIVE_SHARE,
        "warm": slot.get("warm", True),
        "last": slot.get("last", False),
        "beside": slot.get("beside"),
        "cause": TABLE[faults[0]["name"]].cause if faults else None,
        "accept": sorted({a for f in faults for a in (TABLE[f["name"]].cause, *TABLE[f["name"]].accept)} - {TABLE[faults[0]["name"]].cause})
        if faults
        else [],
    }
    if "control" in slot:
        control = dict(load, streams=slot["control"]["streams"])
        control["seconds"] = slot["control"].get("seconds") or load["seconds"]
        draw["control"] = {"config": slot["control"]["config"], "load": control, "seconds": control["seconds"]}
        draw["control"]["key"] = load_key(slot["control"]["config"], control["streams"])
    return draw


def slowed(streams, speed):
    """The streams for a machine of another speed: rates and crowds in proportion, so that it is as busy; clients in a loop slow down by themselves."""

    def change(key, value):
        if key in ("rate", "rate_end"):
            return round(value * speed, 3)
        return max(10, round(value * speed)) if key == "burst" else value

    return [{key: change(key, value) for key, value in stream.items()} for stream in streams]


def for_speed(slot, speed):
    """A slot for a machine of another speed; on a slower one the window is longer, so that it holds enough requests."""
    slot = dict(slot, streams=slowed(slot["streams"], speed), window=round(WINDOW_S * min(1.3, max(1.0, 1 / speed))))
    slot["what"] += f" (rates and crowds times {speed:g})"
    if "control" in slot:
        slot["control"] = dict(slot["control"], streams=slowed(slot["control"]["streams"], speed))
    return slot


def plan(source, seed, count=None, speed=1.0):
    """All items of a batch, in order. `speed`: of the machine, against the one the module was written for."""
    rng = random.Random(f"{source} {seed}")
    module = MODULES[source]
    configs, slots = module.slots(rng)
    if count:
        slots = slots[:count]
    if speed != 1.0:
        slots = [for_speed(slot, speed) for slot in slots]
    draws = [finish(rng, slot) for slot in slots]
    names = [f"{n:02d}" for n in range(len(draws))]
    rng.shuffle(names)  # the number of a folder says nothing about its fault
    for draw, name in zip(draws, names):
        draw["id"] = name
    return {"source": source, "seed": seed, "speed": speed, "configs": configs, "items": order(configs, draws)}


def order(configs, draws):
    """Configurations in their own order; a control right before the first draw that needs it, or last on its server for a draw elsewhere."""
    items, done = [], set()

    def control(draw):
        wanted = draw["control"]
        if wanted["key"] not in done:
            done.add(wanted["key"])
            items.append({"kind": "control", "id": wanted["key"], "lead": LEAD_S, **wanted})

    for config in configs:
        mine = [d for d in draws if d["config"] == config]
        mine = [d for d in mine if not d["warm"]] + [d for d in mine if d["warm"] and not d["last"]] + [d for d in mine if d["last"]]
        for draw in mine:
            if draw["last"]:
                for other in draws:
                    if other.get("control", {}).get("config") == config:
                        control(other)
            elif draw["warm"] and draw.get("control", {}).get("config") == config:
                control(draw)
            items.append(draw)
        for draw in draws:
            if draw.get("control", {}).get("config") == config:
                control(draw)
    return items


def main():
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", choices=sorted(MODULES), required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--speed", type=float, default=1.0, help="of this machine, against the one the draws were written for (1)")
    args = parser.parse_args()
    json.dump(plan(args.source, args.seed, args.draws, args.speed), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
