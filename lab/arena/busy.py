"""busy.py SHARE: uses that share of its core, in turns of 10 ms, until whoever started it is gone."""

import os
import sys
import time

PERIOD = 0.010


def main():
    share, parent = float(sys.argv[1]), os.getppid()
    while os.getppid() == parent:
        end = time.monotonic() + PERIOD * share
        while time.monotonic() < end:
            pass
        if share < 1:
            time.sleep(PERIOD * (1 - share))


main()
