#!/usr/bin/env python3
"""Writes what Apache Otava says of each series in otava.json beside it: pip install apache-otava==0.8.0, then run this."""

import json
from importlib.metadata import version
from pathlib import Path

from otava import analysis

FILE = Path(__file__).with_name("otava.json")
RELEASED = analysis.merge


def both_sides(points, series, max_pvalue, min_magnitude):
    """Otava's merge with one change: both neighbours of a point that is taken away are computed anew.

    As released it computes the point behind it and the one after that, so the point before keeps the figures of a
    stretch that is gone.
    """
    tester = analysis.TTestSignificanceTester(max_pvalue)
    while points:
        weakest = max(points, key=lambda point: point.stats.pvalue)
        if weakest.stats.pvalue < max_pvalue:
            weakest = min(points, key=lambda point: point.stats.change_magnitude())
            if weakest.stats.change_magnitude() > min_magnitude:
                return points
        gone = points.index(weakest)
        del points[gone]
        intervals = tester.get_intervals(points)
        for i in (gone - 1, gone):
            if 0 <= i < len(points):
                points[i] = tester.change_point(points[i].to_candidate(), series, intervals)
    return points


def found(values, merge):
    analysis.merge = merge
    points, _ = analysis.compute_change_points(list(values), window_len=50, max_pvalue=0.001, min_magnitude=0.0)
    figure = lambda number, digits: float(f"{number:.{digits}g}")
    return [
        {
            "at": int(point.index),
            "before": figure(point.stats.mean_1, 6),
            "after": figure(point.stats.mean_2, 6),
            "p": figure(point.stats.pvalue, 3),
        }
        for point in points
    ]


compared = json.loads(FILE.read_text())
for one in compared["series"]:
    one["otava"] = found(one["values"], RELEASED)
    one["otava_both_sides"] = found(one["values"], both_sides)
lines = ",\n".join("  " + json.dumps(one) for one in compared["series"])
made_by = f"ask_otava.py with apache-otava {version('apache-otava')}"
FILE.write_text(f'{{\n "made_by": {json.dumps(made_by)},\n "series": [\n{lines}\n ]\n}}\n')
