"""The faults a draw can have: what each is in the catalogue, what it needs, and how strong it is made.

Strength runs from 0.25 (may hurt nobody) to 2. `cause` is the true cause by what was *done*; `accept` holds ids that name the
same thing from another side. `host` says that the cause can be seen on the machine alone, so such a draw gives that evidence.
"""

import dataclasses

STRENGTHS = (0.25, 0.5, 1.0, 1.5, 2.0)


@dataclasses.dataclass(frozen=True)
class Fault:
    """One way to hurt a server, and its name in the catalogue."""

    name: str
    cause: str
    how: str
    accept: tuple[str, ...] = ()
    host: bool = False
    timed: bool = False  # it has a start and an end inside the window
    adds_requests: bool = False  # its own requests are no victims: ratios are of the others


TABLE = {
    fault.name: fault
    for fault in (
        Fault("clocks", "gpu-power-or-capability-limit", "nvidia-smi -lgc locks the clock below its maximum", host=True),
        Fault("neighbour", "vram-co-tenant-or-orphan", "another process multiplies matrices on the card, on and off", host=True),
        Fault("stop", "engine-stalled-not-admitting", "SIGSTOP, later SIGCONT, to the engine process", timed=True),
        Fault("pause", "engine-stalled-not-admitting", "POST /pause, later /resume", timed=True),
        Fault("burst", "burst-arrival-transient", "many requests at once beside a low rate", timed=True),
        Fault(
            "long-prompts",
            "prefill-decode-interference",
            "a tenth of the prompts is very long",
            ("long-prompt-compute-bound", "head-of-line-blocking"),
            adds_requests=True,
        ),
        Fault("hangup", "proxy-timeout-or-keepalive-race", "clients close the connection after the first tokens", ("retry-storm",)),
        Fault(
            "ramp",
            "offered-load-exceeds-capacity",
            "the offered rate grows beyond what the server can do",
            ("token-budget-limited-queue",),
        ),
        Fault("cold", "cold-start-warmup", "the window begins with the first request after the start"),
        Fault(
            "one-core",
            "cpu-starvation-cgroup-throttle",
            "all threads of the server on one core, with busy loops beside them",
            ("decode-host-overhead-bound",),
            host=True,
        ),
        Fault("quota", "cpu-starvation-cgroup-throttle", "a CPU quota of a control group around the server", host=True),
        Fault("cap", "max-num-seqs-limited-queue", "--max-num-seqs below what the load keeps in flight"),
        Fault("pool", "kv-capacity-limited-queue", "--num-gpu-blocks-override too small for the prompts in flight"),
        Fault("thrash", "preemption-thrash", "--num-gpu-blocks-override too small for answers as they grow", ("kv-capacity-limited-queue",)),
        Fault(
            "budget",
            "prefill-chunk-budget-too-small",
            "--max-num-batched-tokens 256 to 384 with long prompts",
            ("token-budget-limited-queue", "prefill-decode-interference"),
        ),
        Fault(
            "prefix-off",
            "prefix-cache-ineffective",
            "--no-enable-prefix-caching with a shared prefix",
            ("token-budget-limited-queue",),
        ),
        Fault("eager", "cuda-graph-miss", "--enforce-eager on a GPU", ("decode-host-overhead-bound",)),
        Fault("ngram", "speculation-ineffective", "n-gram speculation on text that repeats nothing"),
        Fault("too-long", "client-request-rejected", "a share of the prompts is longer than the window", adds_requests=False),
        Fault("killed", "engine-crash-5xx", "SIGKILL to the worker", timed=True),
        Fault("runaway", "missing-stop-token-runaway", "a model directory that names the wrong end token"),
    )
}
