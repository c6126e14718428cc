"""Whether a live test that failed is tried again, and whether the machine itself stood still meanwhile: a hypervisor that takes a
virtual machine away for a minute is no fault of ours."""

import threading
import time

BEAT_S = 0.25
# The longest a thread on a busy core was seen to wait for its turn is 2.5 s.
STANDSTILL_S = 5.0
TRIES = 2  # of a live test: real processes on two shared cores fail by chance, too; what fails twice is broken
TRIES_STANDING_STILL = 3  # of a test that failed while the machine stood still


class Pulse:
    """`longest`: the longest time in seconds, inside the `with`, in which a thread that asks for a turn four times a second had none."""

    def __init__(self, clock=time.monotonic):
        self.longest = 0.0
        self._clock, self._ended = clock, threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def _beat(self):
        last = self._clock()
        while not self._ended.wait(BEAT_S):
            now = self._clock()
            self.longest, last = max(self.longest, now - last), now

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def stood_still(self):
        """Whether what was measured meanwhile says more about the machine than about the program."""
        return self.longest > STANDSTILL_S

    def again(self, tries):
        """Whether a test that has failed is tried again after so many tries."""
        return tries < (TRIES_STANDING_STILL if self.stood_still() else TRIES)
