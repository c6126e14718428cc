"""What a process tree costs while it runs: CPU time, memory, and who else was on the cores."""

import os
import pathlib
import threading
import time

TICK = 1 / os.sysconf("SC_CLK_TCK")
EVERY = 0.2  # seconds between samples
EVERY_MEMORY = 5  # samples between looks at the memory, which cost more


def tree(pid):
    """The process and its descendants."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        try:
            for task in pathlib.Path(f"/proc/{one}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except OSError:
            pass
    return found


def cpu(pid):
    """CPU seconds of one process, without its children."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * TICK


def cores_busy(cores):
    """Seconds for which each of the cores was not idle since boot; time stolen by a hypervisor is among them."""
    busy = 0.0
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        name, *times = line.split()
        if name in cores:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, times[:8])
            busy += (user + nice + system + irq + softirq + steal) * TICK
    return busy


def memory(pids):
    """Bytes of a tree: pages that several of its processes share count once."""
    total = 0
    for pid in pids:
        try:
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            pass
    return total


def high_water(pid):
    """The most memory that a process ever had, in bytes."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class Watch(threading.Thread):
    """Samples (time in ns, CPU of the client's tree, of the server, of the cores) until it is told to stop."""

    def __init__(self, client, server, cores):
        super().__init__(daemon=True)
        self.client, self.server = client, server
        self.cores = {f"cpu{core}" for core in cores}
        self.samples, self.peak_memory, self.processes = [], 0, 0
        self.gone = {}  # the most CPU seen of each process, for those nobody waited for
        self.halt = threading.Event()

    def run(self):
        count = 0
        while True:
            pids = tree(self.client)
            self.processes = max(self.processes, len(pids))
            for pid in pids:
                self.gone[pid] = max(self.gone.get(pid, 0.0), cpu(pid))
            self.samples.append((time.monotonic_ns(), sum(self.gone.values()), cpu(self.server), cores_busy(self.cores)))
            # Often at first: a run of a fast client is over in a second.
            shared = memory(pids) if count < 10 or count % EVERY_MEMORY == 0 else 0
            self.peak_memory = max(self.peak_memory, shared, *map(high_water, pids))
            count += 1
            if self.halt.wait(EVERY if count > 10 else EVERY / 4):
                return

    def stop(self):
        self.halt.set()
        self.join()

    def between(self, begin, end):
        """CPU seconds (client, server, cores) used between two times in ns; None where samples are too few."""
        if end - begin < 500e6 or len(self.samples) < 3:
            return None
        at = lambda when: [self.interpolate(when, column) for column in (1, 2, 3)]
        return [b - a for a, b in zip(at(begin), at(end))]

    def interpolate(self, when, column):
        before = self.samples[0]
        for sample in self.samples:
            if sample[0] >= when:
                span = sample[0] - before[0]
                part = (when - before[0]) / span if span > 0 else 0
                return before[column] + min(1, max(0, part)) * (sample[column] - before[column])
            before = sample
        return before[column]

