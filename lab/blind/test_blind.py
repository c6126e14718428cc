"""Tests of what is pure here: python3 -m unittest discover lab/blind"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import draw
import truth
from faults import STRENGTHS, TABLE

SOURCES = {"cpu": 13, "h200": 13, "llama": 7}  # with the fewest kinds of fault


def draws(source, seed):
    return [item for item in draw.plan(source, seed)["items"] if item["kind"] == "draw"]


class Plans(unittest.TestCase):
    def test_one_seed_is_one_plan_and_another_seed_another(self):
        for source in SOURCES:
            self.assertEqual(draw.plan(source, 7), draw.plan(source, 7))
            self.assertNotEqual(draw.plan(source, 7), draw.plan(source, 8))

    def test_a_third_is_healthy_and_most_kinds_of_fault_occur(self):
        for source in SOURCES:
            for seed in range(20):
                found = draws(source, seed)
                healthy = [d for d in found if not d["faults"]]
                kinds = {f["name"] for d in found for f in d["faults"]}
                self.assertGreaterEqual(len(healthy) / len(found), 0.29)
                self.assertGreaterEqual(len(kinds), SOURCES[source])
                self.assertLessEqual(kinds, set(TABLE))

    def test_numbers_of_folders_are_whole_and_tell_no_order(self):
        for source in SOURCES:
            ids = [d["id"] for d in draws(source, 3)]
            self.assertEqual(sorted(ids), [f"{n:02d}" for n in range(len(ids))])
            self.assertNotEqual(ids, sorted(ids))

    def test_every_fault_has_a_control_that_runs_before_it_or_on_the_same_server(self):
        for source in SOURCES:
            for seed in range(20):
                items = draw.plan(source, seed)["items"]
                at = {item["id"]: n for n, item in enumerate(items)}
                for item in items:
                    if item["kind"] == "draw" and item["faults"]:
                        control = items[at[item["control"]["key"]]]
                        self.assertTrue(at[control["id"]] < at[item["id"]] or control["config"] == item["config"])

    def test_servers_are_started_once_a_configuration(self):
        for source in SOURCES:
            order = [item["config"] for item in draw.plan(source, 5)["items"]]
            changes = [b for a, b in zip([None, *order], order) if a != b]
            self.assertEqual(len(changes), len(set(changes)))

    def test_strengths_are_of_the_table_and_host_faults_give_the_host(self):
        for source in SOURCES:
            for seed in range(20):
                for found in draws(source, seed):
                    for fault in found["faults"]:
                        self.assertIn(fault["strength"], STRENGTHS)
                        if TABLE[fault["name"]].host:
                            self.assertIn("host", found["evidence"])


    def test_a_machine_half_as_fast_gets_half_the_rate_and_the_same_fault(self):
        plain, slow = (sorted((d for d in draw.plan("cpu", 7, speed=speed)["items"] if d["kind"] == "draw"), key=lambda d: d["id"]) for speed in (1.0, 0.5))
        for one, other in zip(plain, slow, strict=True):
            self.assertEqual(one["faults"], other["faults"])
            for stream, slowed in zip(one["load"]["streams"], other["load"]["streams"], strict=True):
                self.assertAlmostEqual(stream.get("rate", 0) / 2, slowed.get("rate", 0), 2)


def record(sent, first, last, tokens, error=None, name="chat"):
    return {"class": name, "sent": sent, "first": first, "last": last, "end": last or 30_000, "chunks": tokens, "prompt_tokens": 10, "output_tokens": tokens, "error": error}


RUN = {"began": 0, "ended": 30_000, "tokens_per_second": {str(s): 10 for s in range(30)}}


class Harm(unittest.TestCase):
    def test_twice_the_time_per_token_is_a_ratio_of_two(self):
        plain = truth.figures([record(t, t + 100, t + 1100, 11) for t in range(0, 20_000, 1000)], RUN, (0, 20_000))
        slow = truth.figures([record(t, t + 100, t + 2100, 11) for t in range(0, 20_000, 1000)], RUN, (0, 20_000))
        found = truth.ratios(slow, plain)
        self.assertEqual(found["tpot_p50"], 2.0)
        self.assertEqual(found["ttft_p95"], 1.0)
        self.assertEqual(truth.harm(found), 2.0)

    def test_who_never_got_a_token_waited_at_least_to_the_end(self):
        waiting = [record(t, None, None, 0, "open") for t in range(0, 10_000, 1000)]
        served = [record(t, t + 100, t + 1100, 11) for t in range(0, 10_000, 1000)]
        self.assertEqual(truth.figures(served + waiting, RUN, (0, 20_000))["ttft_p95"], 30_000)

    def test_one_error_among_many_is_less_than_one_among_few(self):
        good = [record(t, t + 100, t + 1100, 11) for t in range(0, 20_000, 100)]
        few = truth.figures([*good, record(5, None, None, 0, "http_400")], RUN, (0, 20_000))
        many = truth.figures([*good, *(record(5, None, None, 0, "http_400") for _ in range(100))], RUN, (0, 20_000))
        plain = truth.figures(good, RUN, (0, 20_000))
        self.assertLess(truth.ratios(few, plain)["errors"], 1.3)
        self.assertGreater(truth.ratios(many, plain)["errors"], 10)

    def test_a_client_that_leaves_is_no_error_but_not_completed(self):
        left = truth.figures([record(0, 100, 1100, 11), record(1, 100, 110, 1, "left")], RUN, (0, 20_000))
        self.assertEqual((left["errors"], left["completed"]), (0.0, 0.5))


if __name__ == "__main__":
    unittest.main()
