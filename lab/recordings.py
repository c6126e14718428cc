"""The wider table of scenarios: what new recordings are made from (`lab/test --suite recordings`).

Different in load and size from the fixtures on purpose, so that a verdict tuned to those is found out.
"""

from labkit.scenario import Load, Scenario, Truth
from labkit.server import freeze_worker, kill_worker, pause_engine

SHORT_CHAT = Load(("chat:prompt=40,max=64",), clients=4, seed=11)
SHARED_PREFIX = Load(("rag:shared=700,prompt=20,max=24",), clients=3, seed=12)
QUESTIONS = Load(("quick:short=1,max=220",), clients=4, seed=13)

RECORDINGS = (
    Scenario(
        "idle",
        Truth("a healthy server that nobody asks anything", "cannot_tell", accept=("healthy",)),
        window=60,
        says=r"nothing|idle|no request",
    ),
    Scenario(
        "healthy6",
        Truth("nothing is wrong: six clients, prompts of ~120 words, plenty of KV cache", "healthy"),
        load=Load(("chat:prompt=120,max=80",), clients=6, seed=14),
        window=60,
    ),
    Scenario(
        "healthy-poisson",
        Truth(
            "nothing is wrong: Poisson arrivals at 0.2/s (0.4/s in the first minute with this seed), short prompts",
            "healthy",
        ),
        load=Load(("chat:prompt=60,max=48",), rate=0.2, seed=15),
        window=60,
    ),
    Scenario(
        "prefixon",
        Truth("control of prefixoff: the same ~700-word shared prefix, prefix caching on (the default)", "healthy"),
        load=SHARED_PREFIX,
        window=60,
    ),
    Scenario(
        "runaway-control",
        Truth("control of runaway: the same short questions with the right end token", "healthy"),
        load=QUESTIONS,
        window=60,
    ),
    Scenario(
        "prefixoff",
        Truth(
            "all requests share a ~700-word prefix but --no-enable-prefix-caching: every prefill is done again",
            cause="prefix-cache-ineffective",
            accept=("long-prompt-compute-bound",),
        ),
        flags=("--no-enable-prefix-caching",),
        load=SHARED_PREFIX,
        window=60,
    ),
    Scenario(
        "runaway",
        Truth(
            "the model directory names <|endoftext|> as end token instead of <|im_end|>: answers run to max_tokens 220",
            cause="missing-stop-token-runaway",
        ),
        wrong_eos=True,
        load=QUESTIONS,
        window=60,
    ),
    Scenario(
        "maxseqs3",
        Truth(
            "--max-num-seqs 3 while 12 clients are busy: requests wait for a sequence slot",
            cause="max-num-seqs-limited-queue",
        ),
        flags=("--max-num-seqs", "3"),
        load=Load(("small:prompt=50,max=56",), clients=12, seed=16),
        window=60,
    ),
    Scenario(
        "kvsmall18",
        Truth(
            "KV cache of 18 blocks x 128 tokens for 8 clients whose requests grow to ~600 tokens each",
            cause="preemption-thrash",
            accept=("kv-capacity-limited-queue",),
        ),
        flags=("--num-gpu-blocks-override", "18", "--max-model-len", "1024"),
        load=Load(("grow:prompt=150,max=380,ignore_eos=1",), clients=8, seed=17),
        window=60,
    ),
    Scenario(
        "toolong",
        Truth(
            "--max-model-len 1024 and a third of the requests have prompts of ~1500 tokens: HTTP 400",
            cause="client-request-rejected",
        ),
        flags=("--max-model-len", "1024"),
        load=Load(("small:weight=2,prompt=45,max=32", "long:weight=1,prompt=1200,max=16"), clients=4, seed=18),
        window=60,
    ),
    Scenario(
        "shedding",
        Truth(
            "--max-num-queued-reqs 4 --max-num-seqs 2 under 16 clients: the server refuses with HTTP 503",
            cause="overload-shedding",
            accept=("max-num-seqs-limited-queue",),
        ),
        flags=("--max-num-queued-reqs", "4", "--max-num-seqs", "2"),
        load=Load(("small:prompt=40,max=64",), clients=16, seed=19),
        window=60,
    ),
    Scenario(
        "killed",
        Truth("the engine's worker process is killed (SIGKILL) 20 s into the window", cause="engine-crash-5xx"),
        fresh=True,
        load=SHORT_CHAT,
        window=50,
        fault=kill_worker,
        fault_at=20,
    ),
    Scenario(
        "paused",
        Truth(
            "POST /pause 20 s into the window: the engine admits nothing, clients hang, /health stays 200",
            cause="engine-stalled-not-admitting",
        ),
        env=(("VLLM_SERVER_DEV_MODE", "1"),),
        load=SHORT_CHAT,
        window=60,
        fault=pause_engine,
        fault_at=20,
    ),
    Scenario(
        "frozen",
        Truth(
            "the worker process is stopped (SIGSTOP) 20 s into the window and stays so: no tokens, /health stays 200",
            cause="engine-stalled-not-admitting",
        ),
        fresh=True,
        load=SHORT_CHAT,
        window=60,
        fault=freeze_worker,
        fault_at=20,
    ),
)
