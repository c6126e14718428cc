"""The clients of a blind draw: streams chat completions as a load file says, and writes what each client saw.

    load.py LOAD.json OUT.jsonl [--base http://127.0.0.1:8000] [--model NAME] [--seconds S] [--text NAME]

A load is {"seed", "seconds", "streams": [...]}; a stream has

    name      goes into the records
    rate      arrivals a second (open loop), or `clients` (closed loop), or `burst` requests at once
    rate_end  the rate grows or falls to this until the stream ends
    cv        variation of the gaps between arrivals: 1 is Poisson, 3 is bursty, 0 is even
    start,    seconds after the load's start between which requests start (0, the end)
    stop
    on, off   seconds of arrivals, seconds of silence, in turn
    prompt    words, mean; `prompt_spread` sigma of a lognormal (0.3); `prompt_max` the most
    answer    tokens, mean; `answer_spread` likewise
    short     true: a question that takes a few words to answer; `prompt` is ignored
    prefix    words that all prompts of the stream begin with (0)
    long_every, long_prompt   every k-th prompt has so many words
    ignore_eos  answers have exactly their length
    hangup    share of clients that leave after `hangup_tokens` (1) tokens
    streamed  false: the whole answer at once, as a batch job asks for it; then there is no first token to see
    temperature (1.0), extra (more fields of the body)

Arrivals and lengths depend on the load's seed, stream and number alone; the words also on --text, so that a control leaves nothing
in the prefix cache for the draw after it. No request starts after `seconds`; what is open DRAIN_S later is cut and
marked `open`. Times in the records are unix milliseconds. The last line holds the tokens that arrived in each second.
"""

import argparse
import asyncio
import json
import math
import pathlib
import random
import signal
import time

import aiohttp

DRAIN_S = 2.0  # what has no first token by then waited at least this long after the end
RETRY_PAUSE_S = 0.5  # after a failed request of a closed loop, so that a dead server is not hammered
CONNECT_LIMIT_S = 10.0

# Common words that are one token each in most vocabularies.
WORDS = (
    "time way year work government day man world life part house course case system place end group company party "
    "information school fact money point example state business night area water thing family head hand order car"
).split()

SHORT_QUESTIONS = (
    "What is 2 plus 3?",
    "Is snow white? Answer yes or no.",
    "Which month comes after May?",
    "Name one fruit.",
    "Say good morning.",
    "What is the opposite of small?",
)


def words(rng, count):
    """`count` words, about as many tokens."""
    return " ".join(rng.choices(WORDS, k=max(1, count)))


def spread(rng, mean, sigma):
    """A lognormal length of the given mean, at least 1."""
    return max(1, round(mean * rng.lognormvariate(0, sigma) / math.exp(sigma * sigma / 2)))


def gap(rng, rate, cv):
    """Seconds to the next arrival: gamma gaps with the given coefficient of variation."""
    if cv <= 0:
        return 1.0 / rate
    shape = 1.0 / (cv * cv)
    return rng.gammavariate(shape, 1.0 / (rate * shape))


def request_of(stream, seed, text, number, model):
    """The body of request `number` of a stream, and whether its client hangs up."""
    rng = random.Random(f"{seed} {stream['name']} {number}")
    every = stream.get("long_every", 0)
    prompt = spread(rng, stream["prompt"], stream.get("prompt_spread", 0.3))
    if every and number % every == every - 1:
        prompt = stream["long_prompt"]
    prompt = min(prompt, stream.get("prompt_max", prompt))
    answer = spread(rng, stream["answer"], stream.get("answer_spread", 0.3))
    leaves = rng.random() < stream.get("hangup", 0.0)
    content = words(random.Random(f"{seed} {text} {stream['name']} {number}"), prompt)
    if stream.get("short"):
        content = rng.choice(SHORT_QUESTIONS)
    if stream.get("prefix"):
        content = words(random.Random(f"{seed} {text} prefix {stream['name']}"), stream["prefix"]) + " " + content
    body = {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        "max_tokens": min(answer, stream.get("answer_max", answer)),
        "temperature": stream.get("temperature", 1.0),
        **stream.get("extra", {}),
    }
    if stream.get("streamed", True):
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if stream.get("ignore_eos"):
        body["ignore_eos"] = True
    return body, leaves


class Run:
    """One run of a load."""

    def __init__(self, load, base, model, text):
        self.load = load
        self.text = text
        self.url = f"{base}/v1/chat/completions"
        self.model = model
        self.records = []
        self.per_second = {}
        self.tasks = set()

    async def one(self, session, stream, number):
        """Sends a request and keeps what became of it."""
        body, leaves = request_of(stream, self.load["seed"], self.text, number, self.model)
        leave_after = stream.get("hangup_tokens", 1) if leaves else None
        record = {"class": stream["name"], "n": number, "sent": time.time() * 1e3, "first": None, "last": None, "end": None}
        record |= {"chunks": 0, "prompt_tokens": None, "output_tokens": None, "status": None, "error": "open", "finish": None}
        self.records.append(record)
        try:
            async with session.post(self.url, json=body) as response:
                record["status"] = response.status
                if response.status != 200:
                    await response.read()
                    record["error"] = f"http_{response.status}"
                elif not body.get("stream"):
                    self.whole(record, await response.json())
                else:
                    await self.read(response, record, leave_after)
        except (aiohttp.ClientError, ConnectionError, TimeoutError) as error:
            record["error"] = type(error).__name__
        record["end"] = time.time() * 1e3
        return record

    async def read(self, response, record, leave_after):
        """Takes the events of an answer into its record."""
        record["error"] = "cut"
        async for line in response.content:
            if not line.startswith(b"data:"):
                continue
            # Most events carry a piece of text and nothing else: no need to parse thousands a second.
            if b'"content":"' in line and b'"content":""' not in line and b'"finish_reason":null' in line and b'"error"' not in line:
                self.token(record)
                if leave_after is None or record["chunks"] < leave_after:
                    continue
                record["error"] = "left"
                response.close()
                return
            data = line[5:].strip()
            if data == b"[DONE]":
                record["error"] = None
                return
            event = json.loads(data)
            if "error" in event:
                record["error"] = f"in_stream_{event['error'].get('code')}"
                return
            if usage := event.get("usage"):
                record["prompt_tokens"], record["output_tokens"] = usage.get("prompt_tokens"), usage.get("completion_tokens")
            for choice in event.get("choices", ()):
                record["finish"] = choice.get("finish_reason") or record["finish"]
                if choice.get("delta", {}).get("content"):
                    self.token(record)

    def whole(self, record, answer):
        """Takes an answer that came in one piece."""
        usage = answer.get("usage") or {}
        record["prompt_tokens"], record["output_tokens"] = usage.get("prompt_tokens"), usage.get("completion_tokens")
        record["finish"] = answer["choices"][0].get("finish_reason")
        record["error"] = None
        second = int(time.time())
        self.per_second[second] = self.per_second.get(second, 0) + (usage.get("completion_tokens") or 0)

    def token(self, record):
        """Counts one event that carries text."""
        now = time.time() * 1e3
        record["first"] = record["first"] or now
        record["last"] = now
        record["chunks"] += 1
        second = int(now // 1000)
        self.per_second[second] = self.per_second.get(second, 0) + 1

    def spawn(self, coroutine):
        """Starts a task that the run waits for."""
        task = asyncio.create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def open_loop(self, session, stream, began, stop):
        """Arrivals at the stream's rate, whatever the server does."""
        rng = random.Random(f"{self.load['seed']} arrivals {stream['name']}")
        start = began + stream.get("start", 0.0)
        first, last = stream["rate"], stream.get("rate_end", stream["rate"])
        on, off = stream.get("on"), stream.get("off", 0.0)
        number, due = 0, start + gap(rng, first, stream.get("cv", 1.0)) * (0.5 if first < 2 else 1)
        while due < stop:
            at = due - start
            if not (on and at % (on + off) >= on):
                await asyncio.sleep(max(0.0, due - time.time()))
                self.spawn(self.one(session, stream, number))
                number += 1
            rate = first + (last - first) * min(1.0, max(0.0, at / max(0.1, stop - start)))
            due += gap(rng, rate, stream.get("cv", 1.0))

    async def closed_loop(self, session, stream, client, began, stop):
        """One client that asks again when it was answered."""
        await asyncio.sleep(max(0.0, began + stream.get("start", 0.0) - time.time()))
        number = client
        while time.time() < stop:
            record = await self.one(session, stream, number)
            number += 100_000
            if record["error"] not in (None, "left"):
                await asyncio.sleep(RETRY_PAUSE_S)

    async def burst(self, session, stream, began):
        """All requests of the stream at once."""
        await asyncio.sleep(max(0.0, began + stream.get("start", 0.0) - time.time()))
        for number in range(stream["burst"]):
            self.spawn(self.one(session, stream, number))

    async def run(self):
        """Runs the load to its end, or to SIGTERM."""
        halt = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, halt.set)
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_LIMIT_S)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
            began = time.time()
            end = began + self.load["seconds"]
            for stream in self.load["streams"]:
                stop = min(end, began + stream.get("stop", self.load["seconds"]))
                if stream.get("burst"):
                    self.spawn(self.burst(session, stream, began))
                elif stream.get("clients"):
                    for client in range(stream["clients"]):
                        self.spawn(self.closed_loop(session, stream, client, began, stop))
                else:
                    self.spawn(self.open_loop(session, stream, began, stop))
            watch = asyncio.create_task(halt.wait())
            while self.tasks and not halt.is_set() and time.time() < end + DRAIN_S:
                left = max(0.01, end + DRAIN_S - time.time())
                await asyncio.wait({*self.tasks, watch}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            cut = time.time() * 1e3
            for record in self.records:
                if record["end"] is None:  # cut off by the end of the load, not by the server
                    record["end"], record["error"] = cut, "open"
            for task in [*self.tasks, watch]:
                task.cancel()
            await asyncio.gather(*self.tasks, watch, return_exceptions=True)
        return {"began": began * 1e3, "ended": cut, "tokens_per_second": self.per_second}


def main():
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("load", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--base", default="http://127.0.0.1:8000")
    parser.add_argument("--model", default="l8b")
    parser.add_argument("--seconds", type=float, help="instead of the load's own")
    parser.add_argument("--text", default="", help="changes the words, not the lengths")
    args = parser.parse_args()
    load = json.loads(args.load.read_text())
    if args.seconds:
        load["seconds"] = args.seconds
    run = Run(load, args.base, args.model, args.text)
    last = asyncio.run(run.run())
    lines = [json.dumps(record) for record in run.records] + [json.dumps({"run": last})]
    args.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
