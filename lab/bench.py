"""Live tests of `intriage bench`: what it counted and measured against what a real vLLM counted and measured.

    lab/bench --intriage PATH

The last line is `N passed, N failed`; the exit status is 1 when anything failed.
"""

import argparse
import itertools
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from jsonschema import Draft202012Validator
from labkit.pulse import Pulse
from labkit.server import LAB, Server

PORT = 8431
TIME_LIMIT_S = 300
COMMON = ["--random-input-len", "96", "--random-output-len", "24", "--ignore-eos", "--check", "--host", "--format", "json"]
RUNS = (
    ("closed", ["--max-concurrency", "4", "--num-prompts", "16", "--num-warmups", "4"]),
    ("open", ["--request-rate", "1", "--duration", "12s"]),
    ("completions", ["--api", "completions", "--max-concurrency", "2", "--num-prompts", "6"]),
    # End tokens to be ignored: generated, counted and streamed, but without text.
    ("silent", ["--extra-body", '{"logit_bias": {"2": 100}}', "--max-concurrency", "2", "--num-prompts", "4"]),
    ("sessions", ["--turns", "3", "--think", "100ms", "--max-concurrency", "2", "--num-prompts", "4"]),
    # Its name is in STOPPED: chunks pile up unread, and the first of them has the stamp of the last.
    ("stopped", ["--max-concurrency", "2", "--num-prompts", "10"]),
    ("prefixes", ["--max-concurrency", "2", "--num-prompts", "12", "--prefix-len", "64", "--prefix-groups", "2"]),
)
# Runs whose client is stopped again and again, as a machine without a CPU to spare does to it: (runs, stands) seconds.
STOPPED = {"stopped": (0.15, 2.0)}


def bench(binary, server, extra, pauses):
    """One run; its JSON and what it said on standard error."""
    command = [binary, "bench", server.base, *COMMON, *extra]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        stopper = threading.Thread(target=stop_and_go, args=(client, pauses)) if pauses else None
        if stopper:
            stopper.start()
        try:
            out, noise = client.communicate(timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            client.kill()
            raise
        finally:
            if stopper:
                stopper.join()
    if client.returncode not in (0, 1, 3):
        raise AssertionError(f"exit {client.returncode}: {noise}")
    return json.loads(out), noise


def try_bench(binary, server, name, extra, schema):
    """What a run says (None where it failed) and what is wrong with it."""
    try:
        said, noise = bench(binary, server, extra, STOPPED.get(name))
        if name == "prefixes" and (said["cached_tokens"] or 0) == 0 and "cached" not in noise:
            print("     the server does not tell cached tokens")
        return said, list(faults(said, schema))
    except (AssertionError, subprocess.TimeoutExpired, KeyError, TypeError, ValueError) as why:
        return None, [f"{type(why).__name__}: {why}"]


def stop_and_go(client, pauses):
    """Lets the client run and stand in turn, until it ends."""
    runs, stands = pauses
    while True:
        try:
            client.wait(runs)
            return
        except subprocess.TimeoutExpired:
            client.send_signal(signal.SIGSTOP)
            time.sleep(stands)
            client.send_signal(signal.SIGCONT)


def stated_share(said):
    """What network, front end and the client's own error may account for, in seconds, as the run states it.

    On two cores the front end shares them with the engine, the client and whatever else runs: kernel 6.18 was seen to keep
    a thread waiting for its turn for 1 to 2.5 s. The run measures that wait (--host) and states it.
    """
    beside = said["beside"]
    return beside["path"] + beside["scrape"] + beside["cpu_wait"] + said["certificate"]["ttft_error"]


def times(said):
    """What a run says of the way between client and server, in words."""
    beside = said["beside"]
    return ", ".join(f"{key} {beside[key] * 1e3:.1f} ms" for key in ("client_ttft", "between", "path", "scrape", "cpu_wait") if beside.get(key))


def faults(said, schema):
    """What is wrong with a run's result, in words."""
    requests, beside = said["requests"], said["beside"]
    if requests["ok"] != requests["planned"] or requests["ok"] == 0:
        yield f"{requests['ok']} of {requests['planned']} answered: {said['errors']}"
    for what in ("output", "input"):
        ours, theirs = beside[f"client_{what}_tokens"], beside[f"server_{what}_tokens"]
        if ours != theirs:
            yield f"{what} tokens: {ours} by the client, {theirs} by the server"
    # The server's clock starts after the request was taken up and stops before the token is delivered, so the client's
    # time is longer, by no more than what the run says of network, front end and itself.
    between, share = beside["between"], stated_share(said)
    if not 0 <= between <= share:
        yield f"{between * 1e3:.1f} ms lie between client and server TTFT, stated are {share * 1e3:.1f} ms ({times(said)})"
    if said["ttft"]["mean"] < said["ttfb"]["mean"]:
        yield "the first token came before the first byte"
    # The diagnosis has a schema of its own.
    said = {key: value for key, value in said.items() if key not in ("diagnosis", "definitions")}
    for error in schema.iter_errors(said):
        yield f"schema: {error.message} at {list(error.path)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--intriage", required=True, type=pathlib.Path)
    binary = parser.parse_args().intriage.resolve()
    schema = Draft202012Validator(json.loads((LAB.parent / "schemas/bench-1.schema.json").read_text()))
    passed = failed = 0
    with tempfile.TemporaryDirectory() as work:
        server = Server(pathlib.Path(work) / "vllm.log", PORT)
        try:
            server.warm_up()
            for name, extra in RUNS:
                for tries in itertools.count(1):
                    server.wait_until_empty()
                    with Pulse() as pulse:
                        said, wrong = try_bench(binary, server, name, extra, schema)
                    if not wrong or not pulse.again(tries):
                        break
                    print(f"again {name} (the machine stood still for {pulse.longest:.1f} s): {'; '.join(wrong)}", flush=True)
                if wrong:
                    failed += 1
                    print(f"FAIL {name}: {'; '.join(wrong)}")
                    continue
                passed += 1
                beside = said["beside"]
                print(
                    f"ok   {name}: {beside['client_output_tokens']:.0f} tokens out, {beside['client_input_tokens']:.0f} in as the server counts; "
                    f"TTFT {beside['client_ttft'] * 1e3:.1f} ms, {beside['between'] * 1e3:.1f} ms more than the server's, "
                    f"stated {stated_share(said) * 1e3:.1f} ms; {said['certificate']['status']}",
                    flush=True,
                )
        finally:
            server.stop()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
