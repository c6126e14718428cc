"""What is drawn on an H200: a Llama-3.1-8B shape with made-up weights, about 30,000 prompt tokens a second, 5 to 7 ms a token."""

from faults import STRENGTHS

TPOT_S = 0.0062  # of 20 requests side by side on a healthy server, to size loads by
CAP = 16
CONTROL_S = 20.0  # device time is short: controls are shorter than draws
POOL_BLOCKS = 704  # of 16 tokens

BASE = ["--max-model-len", "16384"]
CONFIGS = {
    "base": BASE,
    "cap": [*BASE, "--max-num-seqs", str(CAP), "--no-enable-prefix-caching"],
    "pool": ["--max-model-len", "8192", "--num-gpu-blocks-override", str(POOL_BLOCKS)],
    "budget": [*BASE, "--max-num-batched-tokens", "{budget}", "--max-num-seqs", "128"],
    "eager": [*BASE, "--enforce-eager"],
    "ngram": [
        *BASE,
        "--speculative-config",
        '{"method":"ngram","num_speculative_tokens":5,"prompt_lookup_max":3,"prompt_lookup_min":1}',
    ],
}


def chat(name, rate, prompt, answer, **more):
    """A stream of chats."""
    return {"name": name, "rate": round(rate, 2), "prompt": int(prompt), "answer": int(answer), **more}


def loads(rng):
    """Three healthy loads that many draws share, so that they share their controls."""
    return [
        [chat("chat", rng.uniform(8, 14), rng.uniform(250, 500), rng.uniform(120, 180))],
        [chat("chat", rng.uniform(18, 26), rng.uniform(150, 400), rng.uniform(70, 110))],
        [chat("chat", rng.uniform(4, 7), rng.uniform(700, 1500), rng.uniform(150, 250))],
    ]


def base_faults(rng, shared):
    """Faults made around an unchanged server."""
    pick = lambda: rng.choice(shared)
    strength = lambda low=0.25: rng.choice([s for s in STRENGTHS if s >= low])
    slots = []

    def add(streams, control, faults, what, **more):
        slots.append(
            {"config": "base", "seed": 11, "streams": streams, "control": {"config": "base", "streams": control, "seconds": CONTROL_S}, "faults": faults, "what": what, **more}
        )

    chats = shared[0]
    add(chats, chats, [{"name": "cold", "strength": 1.0}], "first users right after the start, nothing warmed up", warm=False, lead=0.3)
    s, chats = strength(), pick()
    mhz = {0.25: 1500, 0.5: 1200, 1.0: 900, 1.5: 750, 2.0: 600}
    add(chats, chats, [{"name": "clocks", "strength": s, "mhz": mhz[s]}], f"GPU clock locked at {mhz[s]} MHz")
    s, chats = strength(), pick()
    duty = {0.25: 0.15, 0.5: 0.3, 1.0: 0.6, 1.5: 0.8, 2.0: 1.0}[s]
    add(chats, chats, [{"name": "neighbour", "strength": s, "duty": duty}], f"another process computes on the card {duty:.0%} of the time")
    s, chats = strength(), pick()
    length = round(4.5 + 3.7 * s, 1)
    at = round(rng.uniform(4, 9), 1)
    add(chats, chats, [{"name": "stop", "strength": s, "at": at, "for": length}], f"engine process stopped for {length} s")
    s, chats, mode = strength(), pick(), rng.choice(("keep", "abort"))
    length, at = round(4.5 + 3.7 * s, 1), round(rng.uniform(4, 9), 1)
    add(chats, chats, [{"name": "pause", "strength": s, "at": at, "for": length, "mode": mode}], f"POST /pause?mode={mode} for {length} s")
    s = strength()
    count, at = int(300 + 300 * s), round(rng.uniform(5, 11), 1)
    calm = [chat("chat", 4, 300, 150)]
    crowd = {"name": "crowd", "burst": count, "start": at + 2.5, "prompt": 300, "answer": 150}
    add([*calm, crowd], calm, [{"name": "burst", "strength": s, "at": at, "for": 1.0, "count": count}], f"{count} requests at once beside 4 a second")
    s = strength()
    words = int(3500 + 5500 * s)
    chats = shared[0]
    rate = chats[0]["rate"] / 9
    add(
        [*chats, chat("long", rate, words, 100, prompt_spread=0.02)],
        chats,
        [{"name": "long-prompts", "strength": s, "words": words}],
        f"every tenth prompt has about {words} tokens",
    )
    s, chats = strength(0.5), pick()
    share = min(0.75, 0.5 * s)
    add([dict(chats[0], hangup=share)], chats, [{"name": "hangup", "strength": s, "share": share}], f"{share:.0%} of the clients leave after the first token")
    s = strength(1.0)
    steady = [chat("chat", 10, 1200, 150)]
    add([dict(steady[0], rate_end=round(60 * s))], steady, [{"name": "ramp", "strength": s}], f"the rate grows from 10 to {60 * s:.0f} requests a second, 1,200 in, 150 out")
    s, chats = strength(), pick()
    loops = 1 if s <= 1 else 2
    add(chats, chats, [{"name": "one-core", "strength": s, "loops": loops}], f"all of the server on one core, {loops} busy loop(s) beside it")
    s, chats, at = rng.choice((0.5, 1.0)), shared[0], round(rng.uniform(5, 11), 1)
    crowd = {"name": "crowd", "burst": 300, "start": at + 2.5, "prompt": 300, "answer": 120}
    two = [{"name": "clocks", "strength": s, "mhz": mhz[s]}, {"name": "burst", "strength": s, "at": at, "for": 1.0, "count": 300}]
    add([*chats, crowd], chats, two, f"GPU clock locked at {mhz[s]} MHz, and 300 requests at once")
    return slots


def odd_but_fine(rng):
    """Healthy shapes on the unchanged server; five of them are taken."""
    slots = [
        dict(streams=[chat("chat", rng.uniform(7, 12), 300, 100, cv=3)], what="bursty arrivals (CV 3) that the server takes in its stride", profile=rng.choice(("interactive", "bursty"))),
        dict(streams=[chat("chat", rng.uniform(10, 16), 300, 110, on=4, off=rng.choice((4, 5)))], what="4 s of load, then silence, in turn"),
        dict(streams=[chat("chat", rng.uniform(10, 20), 300, 120)], lead=-rng.choice((7, 9)), what="the load begins inside the window"),
        dict(streams=[chat("chat", rng.uniform(10, 20), 300, 120, stop=rng.choice((13, 16)))], what="the load ends inside the window"),
        dict(
            streams=[chat("mix", rng.uniform(6, 9), 700, 180, prompt_spread=1.1, answer_spread=0.9, prompt_max=6000)],
            what="a wide mix: prompts of 50 to 6,000 tokens, answers of 20 to 1,000",
        ),
        dict(
            streams=[{"name": "job", "clients": rng.choice((200, 240, 280)), "prompt": 300, "answer": 200, "ignore_eos": True, "streamed": False}],
            what="a batch job with over 200 requests in flight",
            profile="batch",
        ),
        dict(streams=[chat("chat", 2, 250, 120, cv=0)], what="two requests a second, evenly"),
        dict(streams=[{"name": "chat", "clients": rng.choice((24, 32)), "prompt": 200, "answer": 250}], what="GPU always busy with some dozens of streams, and fine"),
    ]
    rng.shuffle(slots)
    return [{"config": "base", **slot} for slot in slots[:6]]


def flag_faults(rng, shared):
    """Faults made by flags: their controls run on the unchanged server."""
    strength = lambda low=0.25: rng.choice([s for s in STRENGTHS if s >= low])
    slots = []

    def add(config, streams, fault, what, control_seconds=CONTROL_S, **more):
        control = {"config": "base", "streams": streams, "seconds": control_seconds}
        slots.append({"config": config, "seed": 12, "streams": streams, "control": control, "faults": [fault], "what": what, **more})

    s = strength()
    rate = CAP / (150 * TPOT_S) * (1 + 0.5 * s)
    add("cap", [chat("chat", rate, 300, 150)], {"name": "cap", "strength": s, "cap": CAP}, f"--max-num-seqs {CAP}, {rate:.0f} requests a second need more")
    s = strength(0.5)
    rate = CAP / (150 * TPOT_S) * (1 + 0.5 * s)
    step = [chat("early", 5, 300, 150), chat("late", rate, 300, 150, start=15)]
    add(
        "cap",
        step,
        {"name": "cap", "strength": s, "cap": CAP, "at": 12.5, "for": 12.5},
        f"--max-num-seqs {CAP} binds only in the second half, when the rate steps from 5 to {rate:.0f} a second",
        control_seconds=28.5,
    )
    s = strength()
    prefix = int(2500 + 2500 * s)
    add(
        "cap",
        [chat("rag", 12000 / prefix, 200, 60, prefix=prefix)],
        {"name": "prefix-off", "strength": s, "prefix": prefix},
        f"prefix caching off, all prompts share their first {prefix} tokens",
    )
    slots.append({"config": "cap", "streams": [chat("chat", rng.uniform(3, 5), 300, 100)], "what": f"--max-num-seqs {CAP} that never binds, caching off with nothing shared"})
    s = strength()
    blocks = POOL_BLOCKS * 16
    add("pool", [chat("rag", 2 + 1.6 * s, 3500, 150, prompt_spread=0.1)], {"name": "pool", "strength": s, "blocks": POOL_BLOCKS}, f"a pool of {blocks} tokens, prompts of 3,500")
    s = strength()
    clients = int(18 + 16 * s)
    add(
        "pool",
        [{"name": "writer", "clients": clients, "prompt": 150, "answer": 700, "answer_spread": 0.1, "ignore_eos": True}],
        {"name": "thrash", "strength": s, "blocks": POOL_BLOCKS},
        f"a pool of {blocks} tokens, {clients} clients who ask for answers of 700 tokens",
    )
    prompt = int(0.93 * blocks / 6 - 75 - 30)
    slots.append(
        {
            "config": "pool",
            "streams": [{"name": "reader", "clients": 6, "prompt": prompt, "answer": 150, "prompt_spread": 0.0, "answer_spread": 0.0, "ignore_eos": True}],
            "what": "the KV pool is about 93 % full and nobody waits",
        }
    )
    s = strength()
    add(
        "budget",
        [chat("rag", 1 + 1.0 * s, 4000, 120, prompt_spread=0.1), chat("chat", 4, 200, 120)],
        {"name": "budget", "strength": s},
        "--max-num-batched-tokens {budget}, prompts of 4,000 tokens beside chats",
    )
    slots.append({"config": "budget", "streams": [chat("chat", rng.uniform(4, 8), 120, 120)], "what": "--max-num-batched-tokens {budget}, short prompts alone: it never matters"})
    add("eager", shared[0], {"name": "eager", "strength": 1.0}, "--enforce-eager", seed=11)
    at = round(rng.uniform(5, 9), 1)
    both = [{"name": "eager", "strength": 1.0}, {"name": "stop", "strength": 1.0, "at": at, "for": 8.0}]
    slots.append(
        {"config": "eager", "seed": 11, "streams": shared[2], "control": {"config": "base", "streams": shared[2], "seconds": CONTROL_S}, "faults": both, "what": "--enforce-eager, and the engine process stopped for 8 s"}
    )
    add("ngram", shared[1], {"name": "ngram", "strength": 1.0}, "n-gram speculation, nothing accepted", seed=11)
    return slots


def slots(rng):
    """(configurations, slots in order)."""
    shared = loads(rng)
    budget = rng.choice((256, 384))
    configs = {name: {"flags": [flag.format(budget=budget) if flag == "{budget}" else flag for flag in flags]} for name, flags in CONFIGS.items()}
    configs["base"]["env"] = {"VLLM_SERVER_DEV_MODE": "1"}  # for /pause; the others do not tell their flags at /server_info
    mine = base_faults(rng, shared) + odd_but_fine(rng)
    cold, others = mine[0], mine[1:]
    rng.shuffle(others)
    found = [cold, *others, *flag_faults(rng, shared)]
    for slot in found:
        slot["what"] = slot["what"].replace("{budget}", str(budget))
    return configs, found
