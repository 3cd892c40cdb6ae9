"""Times of calls that come at random, on cores that servers and clients share: a simulation beside Erlang's formula.

    python -m benchmarks.waiting

It answers what `benchmarks.growth --load` cannot: whether it matters that cores take turns, that a call takes nearly the same time
each time, and that a client's process computes for one of its calls at a time.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from rich.console import Console
from rich.table import Table

from benchmarks.growth_model import waiting_ms

BUSY = (0.2, 0.4, 0.6, 0.8)
CORES = 2
SECONDS = 400.0
# The parts of a recall, as `benchmarks.growth --check` has found them: milliseconds of the processor.
BEFORE, SERVER, AFTER = 1.75, 3.85, 1.8
TURN = 3.0  # milliseconds after which a core goes on with somebody else, where others wait: Linux's default


@dataclass(frozen=True, slots=True)
class Shape:
    """Properties of the calls. Times are milliseconds."""

    server: float = SERVER
    client: tuple[float, float] = (
        BEFORE,
        AFTER,
    )  # before and after the server's part; none where both are 0
    spread: float = 0.35  # the standard deviation of each part, as a share of its mean; 1.0 is an exponential distribution
    turn: float = TURN
    processes: int = (
        2  # of clients, each of which computes for one of its calls at a time; 0: for all
    )

    @property
    def whole(self) -> float:
        """Time of a call where nobody else is."""
        return self.server + sum(self.client)


@dataclass(slots=True)
class Call:
    """A call on its way through its parts, and when it came."""

    came: float
    process: int
    parts: deque[tuple[bool, float]]  # whether it is a client's, and how much of it is left


@dataclass(slots=True)
class Cores:
    """Cores that work at what is ready in turns, and the clients' processes that let one call at a time compute."""

    shape: Shape
    free: int
    ready: deque[Call] = field(default_factory=deque)
    computing: dict[int, Call] = field(default_factory=dict)  # by process
    waiting: dict[int, deque[Call]] = field(default_factory=dict)

    def enter(self, call: Call) -> None:
        """Make the next part of a call ready, or let it wait for its process."""
        if call.parts[0][0] and self.shape.processes:
            if call.process in self.computing:
                self.waiting.setdefault(call.process, deque()).append(call)
                return
            self.computing[call.process] = call
        self.ready.append(call)

    def leave(self, call: Call) -> None:
        """A client's part is over: another call of its process may compute."""
        if self.computing.get(call.process) is call:
            del self.computing[call.process]
            if left := self.waiting.get(call.process):
                self.enter(left.popleft())

    def turns(self) -> Iterator[tuple[Call, float]]:
        """The calls that get a core now, and for how long."""
        while self.free and self.ready:
            self.free -= 1
            call = self.ready.popleft()
            yield call, min(call.parts[0][1], self.shape.turn)


def simulated(
    rate: float, shape: Shape, *, cores: int = CORES, seconds: float = SECONDS, seed: int = 1
) -> list[float]:
    """Return the time of each call, in milliseconds and sorted, when so many come a second."""
    chance, numbers = random.Random(seed), itertools.count()
    spread = math.sqrt(math.log(1 + shape.spread**2))

    def drawn(mean: float) -> float:
        """The time of one part."""
        if shape.spread == 1.0:
            return chance.expovariate(1 / mean)
        return mean * math.exp(chance.gauss(-spread * spread / 2, spread))

    kinds = [(True, shape.client[0]), (False, shape.server), (True, shape.client[1])]
    at_work, took = Cores(shape, cores), list[float]()
    events: list[tuple[float, int, Call | None, float]] = [
        (chance.expovariate(rate / 1_000), 0, None, 0.0)
    ]
    while events:
        now, _, call, worked = heapq.heappop(events)
        if call is None:  # one more comes
            parts = deque((client, drawn(mean)) for client, mean in kinds if mean)
            at_work.enter(Call(now, chance.randrange(max(1, shape.processes)), parts))
            if now < 1_000 * seconds:
                heapq.heappush(
                    events, (now + chance.expovariate(rate / 1_000), next(numbers), None, 0.0)
                )
        else:
            at_work.free += 1
            client, left = call.parts.popleft()
            if left - worked > 1e-9:
                call.parts.appendleft((client, left - worked))
                at_work.ready.append(call)
            else:
                if client:
                    at_work.leave(call)
                if call.parts:
                    at_work.enter(call)
                else:
                    took.append(now - call.came)
        for started, turn in at_work.turns():
            heapq.heappush(events, (now + turn, next(numbers), started, turn))
    return sorted(took)


Share = Literal[50, 95]


def percentile(took: list[float], share: Share) -> float:
    """The time within which this share of all calls was answered."""
    return took[int(share / 100 * len(took))]


def main() -> None:
    """Print the p95 of each kind of calls beside the formula's."""
    whole = Shape().whole
    shapes = {
        "as the formula has it: exponential times, one after the other": Shape(
            whole, (0, 0), 1.0, math.inf, 0
        ),
        "times that differ by a third": Shape(whole, (0, 0), turn=math.inf, processes=0),
        "… on cores that take turns of 3 ms": Shape(whole, (0, 0), processes=0),
        "… half of it in clients, who compute at once": Shape(processes=0),
        "… of two processes that compute for one call at a time": Shape(),
        "… of eight": Shape(processes=8),
    }
    alone = percentile(simulated(1.0, Shape(whole, (0, 0)), seconds=4_000.0), 95)
    made = Table(
        title=f"p95 of calls of {whole:.1f} ms on {CORES} cores that are so busy; p50 in brackets"
    )
    for name in ("calls", *(f"{busy:.0%}" for busy in BUSY)):
        made.add_column(name, justify="left" if name == "calls" else "right")
    made.add_row(
        "the formula's wait, and p95 alone",
        *(f"{alone + waiting_ms(busy, servers=CORES, service_ms=whole):.1f}" for busy in BUSY),
    )
    for name, shape in shapes.items():
        runs = [simulated(busy * CORES / whole * 1_000, shape) for busy in BUSY]
        made.add_row(
            name, *(f"{percentile(each, 95):.1f} ({percentile(each, 50):.1f})" for each in runs)
        )
    Console(width=130).print(made)


if __name__ == "__main__":
    main()
