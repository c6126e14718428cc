"""What is drawn on the lab's CPU vLLM: SmolLM2-135M, about 20 tokens a second for one stream, 120 for sixteen, 450 prompt tokens a second."""

from faults import STRENGTHS

POOL_BLOCKS = 20  # of 128 tokens, 19 of them usable
CONFIGS = {
    "base": {"flags": ["--max-model-len", "4096"], "env": {"VLLM_SERVER_DEV_MODE": "1"}},  # for /pause
    "cap": {"flags": ["--max-model-len", "4096", "--max-num-seqs", "{cap}"]},
    "pool": {"flags": ["--max-model-len", "2048", "--num-gpu-blocks-override", str(POOL_BLOCKS)]},
    "budget": {"flags": ["--max-model-len", "4096", "--max-num-batched-tokens", "256", "--no-enable-prefix-caching"]},
    "ngram": {
        "flags": ["--max-model-len", "4096", "--speculative-config", '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":2,"prompt_lookup_min":1}']
    },
    "runaway": {"flags": ["--max-model-len", "4096"], "wrong_eos": True},
}


def chat(name, rate, prompt, answer, **more):
    """A stream of chats."""
    return {"name": name, "rate": round(rate, 2), "prompt": int(prompt), "answer": int(answer), **more}


def loads(rng):
    """Three healthy loads that many draws share, so that they share their controls."""
    return [
        [chat("chat", rng.uniform(0.8, 1.1), rng.uniform(35, 60), rng.uniform(20, 28))],
        [{"name": "chat", "clients": rng.choice((3, 4)), "prompt": 40, "answer": int(rng.uniform(24, 40))}],
        [chat("chat", rng.uniform(0.4, 0.55), rng.uniform(120, 200), rng.uniform(25, 40))],
    ]


class Slots:
    """Collects the slots of a batch."""

    def __init__(self, rng):
        self.rng = rng
        self.found = []

    def strength(self, low=0.25):
        """How strong a fault is."""
        return self.rng.choice([s for s in STRENGTHS if s >= low])

    def fault(self, config, streams, control, faults, what, **more):
        """A draw with a fault; its control runs on the unchanged server."""
        faults = faults if isinstance(faults, list) else [faults]
        slot = {"config": config, "seed": 11, "streams": streams, "control": {"config": "base", "streams": control}}
        self.found.append(slot | {"faults": faults, "what": what, **more})

    def healthy(self, config, streams, what, **more):
        """A draw without a fault."""
        self.found.append({"config": config, "streams": streams, "what": what, **more})


def base_faults(slots, shared):
    """Faults made around an unchanged server."""
    rng = slots.rng
    pick = lambda: rng.choice(shared)
    s, chats = slots.strength(), pick()
    length, at = round(5 + 3.5 * s, 1), round(rng.uniform(4, 9), 1)
    slots.fault("base", chats, chats, {"name": "stop", "strength": s, "at": at, "for": length}, f"worker stopped for {length} s")
    s, chats, mode = slots.strength(), pick(), rng.choice(("keep", "abort"))
    length, at = round(5 + 3.5 * s, 1), round(rng.uniform(4, 9), 1)
    slots.fault("base", chats, chats, {"name": "pause", "strength": s, "at": at, "for": length, "mode": mode}, f"POST /pause?mode={mode} for {length} s")
    s, at = slots.strength(), round(rng.uniform(4, 9), 1)
    count = int(15 + 8 * s)
    calm = [chat("chat", 0.5, 40, 24)]
    crowd = {"name": "crowd", "burst": count, "start": at + 2.5, "prompt": 60, "answer": 24}
    slots.fault("base", [*calm, crowd], calm, {"name": "burst", "strength": s, "at": at, "for": 1.0, "count": count}, f"{count} requests at once beside one every two seconds")
    s, chats = slots.strength(0.5), shared[0]
    share = min(0.75, 0.5 * s)
    slots.fault("base", [dict(chats[0], hangup=share)], chats, {"name": "hangup", "strength": s, "share": share}, f"{share:.0%} of the clients leave after the first token")
    s, chats = slots.strength(), shared[0]
    big = chat("big", 0.25 + 0.2 * s, 4800, 20, prompt_spread=0.05)
    slots.fault("base", [*chats, big], chats, {"name": "too-long", "strength": s}, f"{big['rate']} prompts a second are longer than the window of 4,096")
    s, chats = slots.strength(), shared[0]
    words = int(700 + 1250 * s)
    slots.fault("base", [*chats, chat("long", 0.12, words, 20, prompt_spread=0.05, cv=0.3)], chats, {"name": "long-prompts", "strength": s, "words": words}, f"a tenth of the prompts has about {words} tokens")
    s = slots.strength(1.0)
    top = round(2 + 3 * s, 1)
    steady = [chat("chat", 0.8, 40, 40)]
    slots.fault("base", [dict(steady[0], rate_end=top)], steady, {"name": "ramp", "strength": s}, f"the rate grows from 0.8 to {top} requests a second")
    s, chats = slots.strength(), pick()
    loops = {0.25: 1, 0.5: 1, 1.0: 2, 1.5: 2, 2.0: 3}[s]
    slots.fault("base", chats, chats, {"name": "one-core", "strength": s, "loops": loops, "core": 0, "pinned": False}, f"{loops} busy loop(s) on the worker's core")
    s, chats = slots.strength(), pick()
    cores = {0.25: 1.4, 0.5: 1.0, 1.0: 0.7, 1.5: 0.5, 2.0: 0.4}[s]
    slots.fault("base", chats, chats, {"name": "quota", "strength": s, "cores": cores}, f"a CPU quota of {cores} cores around the server")
    s, chats, at = 1.0, shared[2], round(rng.uniform(5, 10), 1)
    both = [{"name": "stop", "strength": s, "at": at, "for": 6.0}, {"name": "hangup", "strength": s, "share": 0.4}]
    slots.fault("base", [dict(chats[0], hangup=0.4)], chats, both, "worker stopped for 6 s, and 40% of the clients leave")
    chats = shared[0]
    slots.fault("base", chats, chats, {"name": "killed", "strength": 1.0, "at": round(rng.uniform(6, 14), 1)}, "worker killed", last=True)


def odd_but_fine(slots):
    """Healthy shapes; seven of them are taken."""
    rng = slots.rng
    shapes = [
        (dict(streams=[chat("chat", rng.uniform(0.3, 0.6), 40, 24)]), "a low Poisson load", {}),
        (dict(streams=[chat("chat", rng.uniform(0.5, 0.8), 40, 20, cv=2)]), "bursty arrivals (CV 2) that the server takes in its stride", {"profile": rng.choice(("interactive", "bursty"))}),
        (dict(streams=[chat("chat", 1.2, 40, 20, on=3, off=rng.choice((4, 5)))]), "3 s of load, then silence, in turn", {}),
        (dict(streams=[chat("chat", 1.0, 40, 24)]), "the load begins inside the window", {"lead": -rng.choice((6, 8))}),
        (dict(streams=[chat("chat", 1.0, 40, 24, stop=rng.choice((13, 17)))]), "the load ends inside the window", {}),
        (
            dict(streams=[chat("mix", 0.4, 100, 30, prompt_spread=0.9, answer_spread=0.8, prompt_max=500), chat("ask", 0.4, 10, 40, short=True)]),
            "a wide mix: short questions, prompts up to 500 tokens",
            {},
        ),
        (
            dict(streams=[{"name": "job", "clients": rng.choice((10, 12, 14)), "prompt": 40, "answer": 24, "streamed": False}]),
            "a batch job of short requests",
            {"profile": "batch"},
        ),
        (dict(streams=[{"name": "chat", "clients": 2, "prompt": 150, "answer": 60}]), "a slow machine: two steady clients, every token takes its time", {}),
        (
            dict(streams=[chat("chat", 0.7, 40, 24)], faults=[]),
            "a busy, nice loop on the other core that hurts nobody",
            {"beside": {"name": "one-core", "strength": 0, "loops": 1, "core": 1, "pinned": False, "nice": 19}},
        ),
    ]
    rng.shuffle(shapes)
    for shape, what, more in shapes[:7]:
        slots.healthy("base", shape["streams"], what, **more)


def flag_faults(slots, shared, cap):
    """Faults made by flags; their controls run on the unchanged server."""
    rng = slots.rng
    s = slots.strength()
    rate = round(0.45 * cap * (1 + 0.4 * s), 2)
    chats = [chat("chat", rate, 40, 32)]
    slots.fault("cap", chats, chats, {"name": "cap", "strength": s, "cap": cap}, f"--max-num-seqs {cap}, {rate} requests a second need more")
    s = slots.strength(0.5)
    rate = round(0.45 * cap * (1 + 0.5 * s), 2)
    step = [chat("early", 0.35, 40, 24), chat("late", rate, 40, 32, start=14.5)]
    fault = {"name": "cap", "strength": s, "cap": cap, "at": 12.0, "for": 13.0}
    slots.fault("cap", step, step, fault, f"--max-num-seqs {cap} binds only in the second half, when {rate} requests a second are added")
    slots.healthy("cap", [chat("chat", 0.3, 40, 16)], f"--max-num-seqs {cap} that never binds")
    s = slots.strength()
    rag = [chat("rag", 0.3 + 0.07 * s, 500, 80, prompt_spread=0.1)]
    slots.fault("pool", rag, rag, {"name": "pool", "strength": s, "blocks": POOL_BLOCKS}, "a pool of 19 blocks of 128, prompts of 500 tokens")
    s = slots.strength()
    clients = int(6 + 2 * s)
    long = [{"name": "writer", "clients": clients, "prompt": 220, "answer": 300, "prompt_spread": 0.05, "answer_spread": 0.1, "ignore_eos": True}]
    slots.fault("pool", long, long, {"name": "thrash", "strength": s, "blocks": POOL_BLOCKS}, f"a pool of 19 blocks of 128, {clients} clients who ask for 300 tokens", lead=5.0)
    reader = [{"name": "reader", "clients": 3, "prompt": 620, "answer": 70, "prompt_spread": 0.0, "answer_spread": 0.0}]
    slots.healthy("pool", reader, "the KV pool is about 95 % full and nobody waits")
    s = slots.strength()
    mix = [chat("rag", 0.08 + 0.03 * s, 2000, 20, prompt_spread=0.05, cv=0.3), chat("chat", 0.5, 40, 24)]
    slots.fault("budget", mix, mix, {"name": "budget", "strength": s}, "--max-num-batched-tokens 256, prompts of 2,000 tokens beside chats")
    s = slots.strength()
    prefix = int(500 + 400 * s)
    rag = [chat("rag", 300 / prefix, 30, 20, prefix=prefix)]
    slots.fault("budget", rag, rag, {"name": "prefix-off", "strength": s, "prefix": prefix}, f"prefix caching off, all prompts share their first {prefix} tokens")
    slots.fault("ngram", shared[1], shared[1], {"name": "ngram", "strength": 1.0}, "n-gram speculation, next to nothing accepted")
    ask = [chat("ask", 0.5, 10, 120, short=True, answer_spread=0.1)]
    slots.fault("runaway", ask, ask, {"name": "runaway", "strength": 1.0}, "a model directory that names the wrong end token: answers run to their limit")


def slots(rng):
    """(configurations, slots in order)."""
    collected = Slots(rng)
    shared = loads(rng)
    cap = rng.choice((2, 3, 4))
    configs = {name: dict(config, flags=[flag.replace("{cap}", str(cap)) for flag in config["flags"]]) for name, config in CONFIGS.items()}
    base_faults(collected, shared)
    odd_but_fine(collected)
    rng.shuffle(collected.found)
    flag_faults(collected, shared, cap)
    return configs, collected.found
