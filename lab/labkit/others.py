"""What the rest of the machine did meanwhile: some verdicts say how busy a machine is, and are only to be judged on a quiet one."""

import os
import pathlib
import time

from labkit.server import session_processes

# A quiet machine with a server and a load of ours has 1 to 3 % of kernel work that belongs to nobody.
MOST = 0.10
TICKS = os.sysconf("SC_CLK_TCK")


def ticks_of(pid, fields):
    """CPU ticks of a process, by fields of its stat line counted from the state; 0 when it is gone."""
    try:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(words[field]) for field in fields)


def busy_ticks():
    """CPU ticks of the whole machine that were not idle; what a hypervisor took is among them."""
    words = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _wait, irq, soft, steal = (int(word) for word in words[:8])
    return user + nice + system + irq + soft + steal


class Others:
    """`share` of the CPUs used inside the `with` by anything but this program, children it waited for, the server's session
    and the processes of a fault that was put in."""

    def __init__(self, server, fault=()):
        self.session, self.fault = os.getsid(server.pid), list(fault)
        self.share = 0.0

    def _ours(self):
        # Own time and that of ended children; of the server's processes their own time alone.
        running = [*session_processes(self.session), *self.fault]
        return ticks_of(os.getpid(), (11, 12, 13, 14)) + sum(ticks_of(pid, (11, 12)) for pid in running)

    def __enter__(self):
        self.began, self.busy, self.ours = time.monotonic(), busy_ticks(), self._ours()
        return self

    def __exit__(self, *_):
        passed = (time.monotonic() - self.began) * TICKS * os.cpu_count()
        used = (busy_ticks() - self.busy) - (self._ours() - self.ours)
        self.share = max(0.0, used / passed)

    def too_many(self):
        """Whether a verdict of this time says more about them than about the server."""
        return self.share > MOST
