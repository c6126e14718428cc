"""The cells of the arena: what the server does, and what load is put on it."""

import dataclasses

# Requests by how fast a tool is, so that no run takes minutes: a bare loop needs many for a second of load.
FAST, MIDDLE, SLOW = "fast", "middle", "slow"

FLOOD = "mode=flood,flood_batch=0"
PACED = "mode=paced,ttft_ms=50,itl_ms=5,headers=early"


@dataclasses.dataclass(frozen=True)
class Cell:
    """One load on one server. Exactly one of `concurrency` and `rate` (requests a second) is set."""

    name: str
    kind: str  # capacity, accuracy, open or semantics: which table it is shown in
    shows: str
    server: str  # KEY=VALUE pairs of `intriage simulate --ground-truth --schedule`
    tokens: int  # of each answer
    requests: dict
    concurrency: int = 0
    rate: float = 0
    busy: tuple = ()  # busy loops on the client's core: the share of it that each asks for


def of_speed(fast, middle, slow):
    return {FAST: fast, MIDDLE: middle, SLOW: slow}


def same(n):
    return of_speed(n, n, n)


def accurate(streams, requests, **more):
    name = f"acc{streams}"
    return Cell(name, "accuracy", "said against true", PACED, 128, same(requests), concurrency=streams, **more)


ALL = [
    Cell("cap256", "capacity", "most tokens a second", FLOOD, 256, of_speed(40_000, 3_000, 512), concurrency=64),
    Cell("cap256w", "capacity", "the same, woken for every token", "mode=flood,flood_batch=1", 256,
         of_speed(4_000, 2_000, 512), concurrency=64),
    Cell("cap1", "capacity", "most requests a second", FLOOD, 1, of_speed(100_000, 20_000, 2_000), concurrency=64),
    # A dozen: alone on the connection a request takes 0.7 s, and there is nothing to queue behind.
    accurate(1, 12),
    accurate(16, 128),
    accurate(64, 384),
    accurate(256, 1_024),
    accurate(1_000, 2_000),
    Cell("open200", "open", "sends on time", PACED, 32, same(2_000), rate=200),
    Cell("open2000", "open", "sends on time", PACED, 8, of_speed(10_000, 10_000, 4_000), rate=2_000),
    dataclasses.replace(accurate(64, 384, busy=(1.0, 1.0)), name="starved", shows="a client without a core of its own"),
    Cell("fail10", "semantics", "every tenth request gets a 503", PACED + ",fault=http503,fault_every=10", 32, same(200),
         concurrency=4),
    Cell("chunk4", "semantics", "four tokens in one event", PACED + ",tokens_per_event=4", 128, same(24), concurrency=4),
    Cell("earlyrole", "semantics", "a chunk with the role, long before the first token",
         PACED + ",role=early,headers=early", 128, same(24), concurrency=4),
]

CELLS = {cell.name: cell for cell in ALL}
