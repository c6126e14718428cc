"""The scheduler of `speed.rs` as a plain Python step loop: what one would write by hand for the same question.

First come first served, a sequence cap, a token budget, chunked prefill, KV blocks, preemption of the last, a closed
loop of clients. Blocks are only counted, which is all it takes without a prefix cache. It keeps the same latencies.

Usage: step_loop.py REQUESTS. Prints a line with the columns of `speed.rs`.
"""

import math
import random
import sys
import time
from collections import deque

SEQUENCES, TOKEN_BUDGET, BLOCKS, BLOCK_TOKENS, CLIENTS = 256, 2048, 26_875, 16, 320
BASE, PER_PROMPT_TOKEN, PER_SEQUENCE, PER_CONTEXT_TOKEN = 6.3e-3, 24e-6, 14e-6, 45e-9
NOISE = math.sqrt(math.log1p(0.05**2))


class Sequence:
    __slots__ = (
        "arrival", "prompt", "output", "known", "end", "computed", "scheduled", "room", "scheduled_at", "last_token",
    )

    def __init__(self, arrival: float, prompt: int, output: int) -> None:
        self.arrival = arrival
        self.prompt = prompt
        self.output = output
        self.known = prompt  # prompt and answer so far
        self.end = prompt + output
        self.computed = 0
        self.scheduled = 0
        self.room = 0  # tokens that its blocks hold
        self.scheduled_at = None
        self.last_token = None


def simulate(requests: int, seed: int = 1) -> dict:
    draw = random.Random(seed)
    randint, gauss = draw.randint, draw.gauss
    waiting: deque[Sequence] = deque()
    running: list[Sequence] = []
    free = BLOCKS
    sent = answered = steps = in_steps = tokens_done = 0
    ttft, itl, e2e, queue, prefill = [], [], [], [], []
    now = 0.0

    def arrive(count: int) -> None:
        nonlocal sent
        for _ in range(min(count, requests - sent)):
            waiting.append(Sequence(now, randint(256, 768), randint(64, 192)))
            sent += 1

    arrive(CLIENTS)
    while running or waiting:
        # Who is in the step: the running ones first.
        budget = TOKEN_BUDGET
        prompt_tokens = context = sequences = index = 0
        preempted = False
        while index < len(running) and budget > 0:
            sequence = running[index]
            tokens = min(sequence.known - sequence.computed, budget)
            needed = sequence.computed + tokens
            if needed > sequence.room:
                more = -(-(needed - sequence.room) // BLOCK_TOKENS)
                if more > free:
                    preempted = True
                    victim = running.pop()
                    free += victim.room // BLOCK_TOKENS
                    budget += victim.scheduled
                    victim.room = victim.computed = victim.scheduled = 0
                    waiting.appendleft(victim)
                    continue
                free -= more
                sequence.room += more * BLOCK_TOKENS
            sequence.scheduled = tokens
            budget -= tokens
            context += sequence.computed
            if tokens > 1 or sequence.known == sequence.prompt:
                prompt_tokens += tokens
            sequences += 1
            index += 1

        # Then as many waiting ones as fit.
        while not preempted and waiting and budget > 0 and len(running) < SEQUENCES:
            sequence = waiting[0]
            if -(-sequence.known // BLOCK_TOKENS) > free:
                break
            waiting.popleft()
            tokens = min(sequence.known, budget)
            more = -(-tokens // BLOCK_TOKENS)
            free -= more
            sequence.room = more * BLOCK_TOKENS
            sequence.scheduled = tokens
            budget -= tokens
            prompt_tokens += tokens
            sequences += 1
            if sequence.scheduled_at is None:
                sequence.scheduled_at = now
                queue.append(now - sequence.arrival)
            running.append(sequence)

        took = BASE + PER_PROMPT_TOKEN * prompt_tokens + PER_SEQUENCE * sequences + PER_CONTEXT_TOKEN * context
        now += took * math.exp(gauss(-NOISE * NOISE / 2, NOISE))
        steps += 1
        in_steps += sequences

        # Tokens come out, finished requests leave.
        left = 0
        for sequence in running:
            sequence.computed += sequence.scheduled
            sequence.scheduled = 0
            if sequence.computed < sequence.known:
                continue
            sequence.known += 1
            tokens_done += 1
            if sequence.last_token is None:
                ttft.append(now - sequence.arrival)
                prefill.append(now - sequence.scheduled_at)
            else:
                itl.append(now - sequence.last_token)
            sequence.last_token = now
            if sequence.known == sequence.end:
                left += 1
                free += sequence.room // BLOCK_TOKENS
                e2e.append(now - sequence.arrival)
                tokens_done += sequence.prompt
        if left:
            running = [sequence for sequence in running if sequence.known < sequence.end]
            answered += left
            arrive(left)

    return {
        "answered": answered, "batch": in_steps / steps, "tokens": tokens_done, "time": now,
        "latencies": (ttft, itl, e2e, queue, prefill),
    }


def main() -> None:
    requests = int(sys.argv[1])
    start = time.perf_counter()
    outcome = simulate(requests)
    wall = time.perf_counter() - start
    print(
        f"Python step loop\t{outcome['answered']}\t{wall:.3f}\t{outcome['answered'] / wall * 60:.0f}"
        f"\t{outcome['batch']:.1f}\t{outcome['tokens'] / wall:.0f}\t{outcome['time'] / wall:.0f}"
    )


if __name__ == "__main__":
    main()
