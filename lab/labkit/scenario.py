"""What a scenario is: a server, a load, perhaps a fault, and what is true about it."""

import dataclasses
from collections.abc import Callable

EXIT_BY_STATUS = {"healthy": 0, "finding": 1, "cannot_tell": 3}
SETTLE_S = 5  # the load runs this long before a window begins


@dataclasses.dataclass(frozen=True)
class Load:
    """The arguments of load.py: closed-loop clients or a Poisson rate, and the request classes."""

    classes: tuple[str, ...]
    clients: int = 0
    rate: float = 0.0
    seed: int = 1

    def argv(self, port, seconds):
        """load.py's command line, without the program."""
        pace = ["--rate", str(self.rate)] if self.rate else ["--clients", str(self.clients)]
        classes = [word for text in self.classes for word in ("--class", text)]
        bounds = ["--duration", str(seconds), "--drain", "0"]
        return [*pace, *classes, *bounds, "--port", str(port), "--seed", str(self.seed)]

    def truth(self):
        """The load as truth.json writes it."""
        return {"mix": list(self.classes), "conc": self.clients, "rate": self.rate, "burst": None}


@dataclasses.dataclass(frozen=True)
class Truth:
    """What was done, whatever the metrics show. `accept` holds answers that are right too."""

    what: str
    status: str = "finding"
    cause: str | None = None
    accept: tuple[str, ...] = ()

    def statuses(self):
        """The statuses that count as right."""
        return {self.status, *(set(self.accept) & set(EXIT_BY_STATUS))}

    def causes(self):
        """The primary causes that count as right; {None} when nothing is wrong."""
        return {self.cause, *(set(self.accept) - set(EXIT_BY_STATUS))}

    def exits(self):
        """The exit codes that count as right."""
        return {EXIT_BY_STATUS[status] for status in self.statuses()}


@dataclasses.dataclass(frozen=True)
class Check:
    """One run of `intriage check`; `{log}` in the arguments becomes the server's log file."""

    label: str = "url"
    args: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Scenario:
    """One labelled situation of a real server."""

    name: str
    truth: Truth
    flags: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    wrong_eos: bool = False
    fresh: bool = False  # do not take over the server of the scenario before
    load: Load | None = None
    window: int = 30
    fault: Callable | None = None  # called with the server; such a server is not used again
    fault_at: int = 10  # seconds into the window
    says: str | None = None  # a pattern that some text of the verdict must match
    checks: tuple[Check, ...] = (Check(),)

    def server_key(self):
        """Scenarios with the same key can share a server."""
        return self.flags, self.env, self.wrong_eos


@dataclasses.dataclass(frozen=True)
class BadEndpoint:
    """An address that is no healthy metrics endpoint; `serve` is a context manager that yields its port."""

    name: str
    what: str
    serve: Callable
    window: int = 5
    limit: int = 30  # seconds after which `check` must have given up
