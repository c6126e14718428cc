"""Load for the lab's server: chat requests to 127.0.0.1, closed loop or Poisson, and a JSON summary at the end.

    load.py --clients 3 --duration 40 --class chat:prompt=60,max=64
    load.py --rate 0.5 --duration 60 --class rag:shared=700,prompt=20,max=16 --class chat:weight=2

A class is NAME:KEY=VALUE,…

    weight      how often, against the other classes (1)
    prompt      words of text that differ from request to request (40)
    shared      words at the start that all requests of the class have in common (0)
    max         max_tokens (64)
    ignore_eos  1: generate all of max (0)
    short       1: ask a question that takes a few words to answer; prompt is ignored (0)
    temp        temperature (0.8)

The requests depend on --seed alone, not on timing: client 2's fifth request is the same text in every run. A `seed`
parameter is never sent: with a prompt cut into chunks it kills vLLM 0.32 on CPU.

The run is bounded: no request starts after --duration, and what is still open --drain seconds later is given up and
counted as unfinished. SIGTERM and SIGINT end it at once, with the summary.
"""

import argparse
import asyncio
import dataclasses
import json
import random
import signal
import sys
import time

import aiohttp

MODEL = "smollm2-135m"
RETRY_PAUSE_S = 0.5  # after a failed request, so that a dead server is not hammered

ADJECTIVES = "amber broad calm dusty early faint golden hollow idle jolly keen long mild neat old pale".split()
NOUNS = (
    "anchor basket candle drum elm ferry glacier harbour inkwell jacket kettle ladder mill needle orchard pier quarry "
    "ribbon saddle tunnel umbrella valley wagon yard"
).split()
VERBS = "carries draws follows guards hides joins keeps lifts marks nears paints reaches shields turns".split()
TASKS = (
    "Tell me about the {} and the {}.",
    "How would you repair a {} with a {}?",
    "Compare a {} with a {}.",
    "Write a letter to a friend who sold a {} for a {}.",
)
SHORT_QUESTIONS = (
    "What is 2 plus 3?",
    "Is snow white? Answer yes or no.",
    "Which month comes after May?",
    "Name one fruit.",
    "Say good morning.",
    "What is the opposite of small?",
)


@dataclasses.dataclass(frozen=True)
class RequestClass:
    """One kind of request."""

    name: str = "chat"
    weight: float = 1.0
    prompt: int = 40
    shared: int = 0
    max: int = 64
    ignore_eos: bool = False
    short: bool = False
    temp: float = 0.8

    @classmethod
    def parse(cls, text):
        """Reads NAME:KEY=VALUE,…; raises ValueError that says what is wrong."""
        name, _, rest = text.partition(":")
        kinds = {f.name: type(f.default) for f in dataclasses.fields(cls) if f.name != "name"}
        values = {}
        for part in filter(None, rest.split(",")):
            key, _, value = part.partition("=")
            if key not in kinds:
                raise ValueError(f"unknown key {key!r} in class {text!r}; known: {', '.join(kinds)}")
            values[key] = kinds[key](float(value or 1))
        return cls(name=name, **values)


def prose(rng, count):
    """`count` words of made-up sentences."""
    words = []
    while len(words) < count:
        subject, thing = rng.choice(NOUNS), rng.choice(NOUNS)
        words += ["The", rng.choice(ADJECTIVES), subject, rng.choice(VERBS), "the", rng.choice(ADJECTIVES), thing + "."]
    return " ".join(words[:count])


def request_body(kind, rng):
    """The JSON of one chat request of a class."""
    if kind.short:
        task = rng.choice(SHORT_QUESTIONS)
        filler = ""
    else:
        task = rng.choice(TASKS).format(rng.choice(NOUNS), rng.choice(NOUNS))
        filler = prose(rng, kind.prompt - len(task.split()))
    common = prose(random.Random(f"shared {kind.name}"), kind.shared)
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": " ".join(filter(None, (common, filler, task)))}],
        "max_tokens": kind.max,
        "temperature": kind.temp,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if kind.ignore_eos:
        body["ignore_eos"] = True
    return body


@dataclasses.dataclass
class Outcome:
    """What became of one request. `error` is None for a good one."""

    kind: str
    error: str | None = None
    finish: str | None = None
    ttft: float | None = None
    e2e: float | None = None
    prompt_tokens: int = 0
    output_tokens: int = 0


async def read_stream(response, began, outcome):
    """Takes an answer's events into the outcome. Tokens come from usage: one event can carry several."""
    async for line in response.content:
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            return
        event = json.loads(data)
        if "error" in event:  # the engine died, or refused, after the 200 was out
            outcome.error = f"in_stream_{event['error'].get('code')}"
            return
        if usage := event.get("usage"):
            outcome.prompt_tokens = usage.get("prompt_tokens", 0)
            outcome.output_tokens = usage.get("completion_tokens", 0)
        for choice in event.get("choices", ()):
            outcome.finish = choice.get("finish_reason") or outcome.finish
            if outcome.ttft is None and choice.get("delta", {}).get("content"):
                outcome.ttft = time.perf_counter() - began
    outcome.error = "stream_cut"


class Load:
    """One run: sends requests until its time is over and keeps their outcomes."""

    def __init__(self, args):
        self.args = args
        self.url = f"http://127.0.0.1:{args.port}/v1/chat/completions"
        self.outcomes = []
        self.tasks = set()

    async def one(self, session, stream, number):
        """Request `number` of a stream; the two and the seed fix its class and text."""
        rng = random.Random(f"{self.args.seed} {stream} {number}")
        kind = rng.choices(self.args.classes, [c.weight for c in self.args.classes])[0]
        outcome = Outcome(kind.name, error="unfinished")
        self.outcomes.append(outcome)
        began = time.perf_counter()
        try:
            async with session.post(self.url, json=request_body(kind, rng)) as response:
                outcome.error = None if response.status == 200 else f"http_{response.status}"
                if response.status == 200:
                    await read_stream(response, began, outcome)
        except aiohttp.ClientError as error:
            outcome.error = type(error).__name__
        except asyncio.CancelledError:
            outcome.error = "unfinished"
            raise
        outcome.e2e = time.perf_counter() - began
        return outcome

    async def client(self, session, stream, end):
        """One closed-loop client: the next request when the last is answered."""
        number = 0
        while time.perf_counter() < end:
            outcome = await self.one(session, stream, number)
            number += 1
            if outcome.error:
                await asyncio.sleep(RETRY_PAUSE_S)

    async def arrivals(self, session, end):
        """Poisson arrivals, whatever the server does."""
        rng = random.Random(f"{self.args.seed} arrivals")
        number = 0
        due = time.perf_counter() + rng.expovariate(self.args.rate)
        while due < end:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            task = asyncio.create_task(self.one(session, "poisson", number))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            number += 1
            due += rng.expovariate(self.args.rate)

    async def run(self):
        """Runs to the end of the time limit or the first signal; returns the summary."""
        began = time.perf_counter()
        end = began + self.args.duration
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None, connect=10)
        halt = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, halt.set)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            if self.args.rate:
                self.tasks.add(asyncio.create_task(self.arrivals(session, end)))
            else:
                streams = range(self.args.clients)
                self.tasks.update(asyncio.create_task(self.client(session, n, end)) for n in streams)
            watch = asyncio.create_task(halt.wait())
            limit = end + self.args.drain
            while self.tasks and not halt.is_set() and time.perf_counter() < limit:
                waiting = {*self.tasks, watch}
                left = limit - time.perf_counter()
                done, _ = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                self.tasks -= done
                for task in done - {watch}:
                    task.result()  # a bug here is not to pass for a quiet run
            open_tasks = [*self.tasks, watch]
            for task in open_tasks:
                task.cancel()
            await asyncio.gather(*open_tasks, return_exceptions=True)
        return self.summary(time.perf_counter() - began)

    def summary(self, wall):
        """All requests together, and each class on its own when there are several."""
        result = {"wall_s": round(wall, 1), **describe(self.outcomes)}
        result["output_tokens_per_s"] = round(result["output_tokens"] / wall, 1)
        if len(self.args.classes) > 1:
            names = [c.name for c in self.args.classes]
            result["classes"] = {name: describe([o for o in self.outcomes if o.kind == name]) for name in names}
        return result


def quantile(values, q):
    """Nearest rank, None for no values."""
    ranked = sorted(v for v in values if v is not None)
    return round(ranked[min(len(ranked) - 1, int(q * len(ranked)))], 3) if ranked else None


def tally(values):
    """How often each value occurs, without None."""
    counts = {}
    for value in values:
        if value is not None:
            counts[value] = counts.get(value, 0) + 1
    return counts


def describe(outcomes):
    """The figures of a set of outcomes. TTFT counts every first token, of unfinished answers too."""
    good = [o for o in outcomes if o.error is None]
    errors = tally(o.error for o in outcomes)
    unfinished = errors.pop("unfinished", 0)
    return {
        "requests": len(outcomes),
        "ok": len(good),
        "failed": sum(errors.values()),
        "unfinished": unfinished,
        "errors": errors,
        "finish_reasons": tally(o.finish for o in good),
        "ttft_p50_s": quantile((o.ttft for o in outcomes), 0.50),
        "ttft_p95_s": quantile((o.ttft for o in outcomes), 0.95),
        "e2e_p50_s": quantile((o.e2e for o in good), 0.50),
        "e2e_p95_s": quantile((o.e2e for o in good), 0.95),
        "prompt_tokens": sum(o.prompt_tokens for o in good),
        "output_tokens": sum(o.output_tokens for o in good),
    }


def parse_args(argv):
    """The command line, checked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--clients", type=int, default=0, help="closed loop: this many, each waits for its answer")
    parser.add_argument("--rate", type=float, default=0.0, help="open loop: Poisson arrivals per second")
    parser.add_argument("--duration", type=float, default=30.0, help="seconds in which requests start (at most 3600)")
    parser.add_argument("--drain", type=float, default=30.0, help="seconds for open requests afterwards")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--class", dest="classes", action="append", metavar="NAME:KEY=VALUE,…")
    args = parser.parse_args(argv)
    if bool(args.clients) == bool(args.rate):
        parser.error("give either --clients or --rate")
    if args.clients < 0 or args.rate < 0 or not 0 < args.duration <= 3600 or not 0 <= args.drain <= 600:
        parser.error("numbers out of range")
    try:
        args.classes = [RequestClass.parse(text) for text in args.classes or ["chat"]]
    except ValueError as error:
        parser.error(str(error))
    return args


def main():
    """Command line entry."""
    load = Load(parse_args(sys.argv[1:]))
    json.dump(asyncio.run(load.run()), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
