"""What is drawn on llama.cpp's llama-server on the CPU: SmolLM2-135M in 4 bits, two threads."""

from draw_cpu import Slots, chat

CONFIGS = {
    "base": {"flags": ["-c", "16384", "-np", "4"]},
    "slots": {"flags": ["-c", "8192", "-np", "{slots}"]},
    "window": {"flags": ["-c", "2048", "-np", "4"]},
}


def loads(rng):
    """Three healthy loads that many draws share, so that they share their controls."""
    return [
        [chat("chat", rng.uniform(0.6, 0.9), rng.uniform(35, 60), rng.uniform(20, 28))],
        [{"name": "chat", "clients": rng.choice((2, 3)), "prompt": 40, "answer": int(rng.uniform(24, 40))}],
        [chat("chat", rng.uniform(0.3, 0.45), rng.uniform(120, 200), rng.uniform(25, 40))],
    ]


def base_faults(slots, shared):
    """Faults made around an unchanged server."""
    rng = slots.rng
    pick = lambda: rng.choice(shared)
    s, chats = slots.strength(), pick()
    length, at = round(5 + 3.5 * s, 1), round(rng.uniform(4, 9), 1)
    slots.fault("base", chats, chats, {"name": "stop", "strength": s, "at": at, "for": length}, f"server stopped for {length} s")
    s, at = slots.strength(), round(rng.uniform(4, 9), 1)
    count = int(20 + 12 * s)
    calm = [chat("chat", 0.5, 40, 24)]
    crowd = {"name": "crowd", "burst": count, "start": at + 2.5, "prompt": 60, "answer": 24}
    slots.fault("base", [*calm, crowd], calm, {"name": "burst", "strength": s, "at": at, "for": 1.0, "count": count}, f"{count} requests at once beside one every two seconds")
    s, chats = slots.strength(), shared[0]
    big = chat("big", 0.25 + 0.2 * s, 4800, 20, prompt_spread=0.05)
    slots.fault("base", [*chats, big], chats, {"name": "too-long", "strength": s}, f"{big['rate']} prompts a second are longer than a slot's window of 4,096")
    s, chats = slots.strength(), shared[0]
    words = int(700 + 1250 * s)
    slots.fault("base", [*chats, chat("long", 0.12, words, 20, prompt_spread=0.05, cv=0.3)], chats, {"name": "long-prompts", "strength": s, "words": words}, f"a tenth of the prompts has about {words} tokens")
    s, chats = slots.strength(), pick()
    loops = {0.25: 1, 0.5: 1, 1.0: 2, 1.5: 2, 2.0: 3}[s]
    slots.fault("base", chats, chats, {"name": "one-core", "strength": s, "loops": loops, "core": 0, "pinned": False}, f"{loops} busy loop(s) on one of the server's cores")
    s, chats = slots.strength(), pick()
    cores = {0.25: 1.4, 0.5: 1.0, 1.0: 0.7, 1.5: 0.5, 2.0: 0.4}[s]
    slots.fault("base", chats, chats, {"name": "quota", "strength": s, "cores": cores}, f"a CPU quota of {cores} cores around the server")


def odd_but_fine(slots):
    """Healthy shapes; three of them are taken."""
    rng = slots.rng
    shapes = [
        ([chat("chat", rng.uniform(0.3, 0.6), 40, 24)], "a low Poisson load", {}),
        ([chat("chat", 1.0, 40, 20, on=3, off=rng.choice((4, 5)))], "3 s of load, then silence, in turn", {}),
        ([chat("chat", 0.8, 40, 24)], "the load begins inside the window", {"lead": -rng.choice((6, 8))}),
        ([{"name": "chat", "clients": 2, "prompt": 150, "answer": 60}], "two steady clients", {}),
        ([{"name": "job", "clients": 4, "prompt": 40, "answer": 24, "streamed": False}], "a batch job that fills the slots", {"profile": "batch"}),
    ]
    rng.shuffle(shapes)
    for streams, what, more in shapes[:3]:
        slots.healthy("base", streams, what, **more)


def flag_faults(slots, count):
    """Faults made by flags; their controls run on the unchanged server."""
    s = slots.strength()
    clients = int(count + 2 + 3 * s)
    crowd = [{"name": "chat", "clients": clients, "prompt": 40, "answer": 32}]
    few = [{"name": "chat", "clients": count, "prompt": 40, "answer": 32}]
    slots.fault("slots", crowd, few, {"name": "cap", "strength": s, "cap": count}, f"{count} slots, {clients} clients")
    slots.healthy("slots", [chat("chat", 0.3, 40, 16)], f"{count} slots that are never full")
    s = slots.strength()
    share = 0.15 + 0.2 * s
    mix = [chat("chat", 0.6, 40, 24), chat("rag", round(share, 2), 700, 20, prompt_spread=0.05)]
    slots.fault("window", mix, mix, {"name": "too-long", "strength": s}, "slots of 512 tokens refuse prompts of 700")


def slots(rng):
    """(configurations, slots in order)."""
    collected = Slots(rng)
    count = rng.choice((1, 2))
    configs = {name: {"flags": [flag.replace("{slots}", str(count)) for flag in config["flags"]]} for name, config in CONFIGS.items()}
    base_faults(collected, loads(rng))
    odd_but_fine(collected)
    rng.shuffle(collected.found)
    flag_faults(collected, count)
    return configs, collected.found
